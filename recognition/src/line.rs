//! Reads a line.

use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use crate::detector::scaled;
use crate::model::Network;
use crate::regions::Region;
use crate::{Image, RecognitionError, Word};

/// Pixels of the height of a line that the network reads, and of its length at least and at most.
const HEIGHT: u32 = 48;
const SHORT: f32 = 48.0;
const LONG: f32 = 3_200.0;
/// Colours that the network takes.
const COLOURS: usize = 3;
/// The share of a region's height that its letters have: it was found with white around it.
const LETTERS: f32 = 0.72;
/// Pixels of a side of what is cut out at most.
const SIDE: f32 = 12_000.0;

/// The words of a line, none of whose rows is known yet.
pub(crate) fn read(
    network: &Network,
    image: Image<'_>,
    region: &Region,
    characters: &[char],
    allowed: &[bool],
) -> Result<Vec<Word>, RecognitionError> {
    let (length, height) = (side(region.length), side(region.height));
    let cut = cut(image, region, length, height);
    let wide = wide(region);
    let pixels = scaled(Image { width: length, height, pixels: &cut }, wide, HEIGHT)?;
    let plane: Vec<f32> = pixels.iter().map(|shade| f32::from(*shade) / 127.5 - 1.0).collect();
    let input = NdTensor::from_data([1, COLOURS, HEIGHT as usize, wide as usize], plane.repeat(COLOURS));
    let results = network.run(input)?;
    let (steps, known) = match *results.shape() {
        [1, steps, known] if known == characters.len() => (steps, known),
        _ => return Err(RecognitionError::Network("its results are of another size".to_owned())),
    };
    let results = results.to_vec();
    let read = results.chunks(known).map(|step| most_probable(step, allowed));
    Ok(words(read, characters).into_iter().map(|found| found.placed(region, steps)).collect())
}

/// Pixels of a side of what is cut out.
fn side(length: f32) -> u32 {
    // What is no number is none, which is no side.
    (length.round().clamp(1.0, SIDE) as u32).max(1)
}

/// Pixels of the length of a region at the height that the network reads.
pub(crate) fn wide(region: &Region) -> u32 {
    let (length, height) = (side(region.length) as f32, side(region.height) as f32);
    (length * HEIGHT as f32 / height).round().clamp(SHORT, LONG) as u32
}

/// The pixels of a region, turned level.
fn cut(image: Image<'_>, region: &Region, length: u32, height: u32) -> Vec<u8> {
    let (sin, cos) = region.angle.sin_cos();
    let (wide, high) = (image.width as usize, image.height as usize);
    let shade = |x: f32, y: f32| {
        let (x, y) = (x.clamp(0.0, (wide - 1) as f32), y.clamp(0.0, (high - 1) as f32));
        let (left, top) = (x as usize, y as usize);
        let (right, bottom) = ((left + 1).min(wide - 1), (top + 1).min(high - 1));
        let (over, under) = (x - left as f32, y - top as f32);
        let at = |x: usize, y: usize| f32::from(image.pixels[y * wide + x]);
        let upper = at(left, top) * (1.0 - over) + at(right, top) * over;
        let lower = at(left, bottom) * (1.0 - over) + at(right, bottom) * over;
        (upper * (1.0 - under) + lower * under).round() as u8
    };
    let mut pixels = Vec::with_capacity(length as usize * height as usize);
    for row in 0..height {
        let across = row as f32 + 0.5 - height as f32 / 2.0;
        for column in 0..length {
            let along = column as f32 + 0.5 - length as f32 / 2.0;
            let (x, y) = (region.x + along * cos - across * sin, region.y + along * sin + across * cos);
            pixels.push(shade(x - 0.5, y - 0.5));
        }
    }
    pixels
}

/// The most probable of the allowed characters of a step, and its probability among them.
fn most_probable(step: &[f32], allowed: &[bool]) -> (usize, f32) {
    let results = || step.iter().zip(allowed).enumerate().filter(|(_, (_, allowed))| **allowed);
    let most = results().max_by(|a, b| a.1.0.total_cmp(b.1.0));
    let Some((number, (most, _))) = most else { return (0, 0.0) };
    let sum: f32 = results().map(|(_, (result, _))| (result - most).exp()).sum();
    (number, 1.0 / sum)
}

/// A word of a line, in steps.
struct Found {
    text: String,
    probabilities: Vec<f32>,
    first: usize,
    last: usize,
}

/// The words that steps spell: the same character in following steps is one, and the first character is none.
fn words(steps: impl Iterator<Item = (usize, f32)>, characters: &[char]) -> Vec<Found> {
    let mut words: Vec<Found> = Vec::new();
    let (mut before, mut in_word) = (0, false);
    for (at, (number, probability)) in steps.enumerate() {
        let character = characters[number];
        let is_same = number == before;
        before = number;
        match (number, character) {
            (0, _) => {}
            (_, ' ') => in_word = false,
            _ if is_same => {
                if let Some(word) = words.last_mut() {
                    word.last = at;
                    if let Some(last) = word.probabilities.last_mut() {
                        *last = last.max(probability);
                    }
                }
            }
            _ => {
                if !in_word {
                    let (text, probabilities) = Default::default();
                    words.push(Found { text, probabilities, first: at, last: at });
                }
                in_word = true;
                if let Some(word) = words.last_mut() {
                    word.text.push(character);
                    word.probabilities.push(probability);
                    word.last = at;
                }
            }
        }
    }
    words
}

impl Found {
    /// The word where it stands on the image.
    fn placed(self, region: &Region, steps: usize) -> Word {
        let step = region.length / steps.max(1) as f32;
        let along = |steps: f32| (steps * step).clamp(0.0, region.length) - region.length / 2.0;
        // A character is known at its middle, so a word reaches a little further.
        let (from, to) = (along(self.first as f32 - 0.5), along(self.last as f32 + 1.5));
        let (sin, cos) = region.angle.sin_cos();
        let middle = region.y + (from + to) / 2.0 * sin;
        let (left, right) = (region.x + from * cos, region.x + to * cos);
        let height = region.height * LETTERS;
        let pixel = |value: f32| value.round().max(0.0) as u32;
        let count = self.probabilities.len().max(1) as f32;
        Word {
            text: self.text,
            left: pixel(left),
            top: pixel(middle - height / 2.0),
            width: pixel(right - left).max(1),
            height: pixel(height).max(1),
            // Not a number is not sure either.
            probability: (self.probabilities.iter().sum::<f32>() / count).max(0.0),
            row: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Memory and time of a line are bounded, whatever the detector finds.
        #[test]
        fn any_region_is_cut_and_read_within_bounds(
            x in any::<f32>(), y in any::<f32>(), length in any::<f32>(), height in any::<f32>(), angle in any::<f32>(),
            near in 0.0_f32..40.0, pixels in proptest::collection::vec(any::<u8>(), 12),
        ) {
            let region = Region { x, y, length, height, angle };
            prop_assert!(side(length) <= 12_000 && side(height) <= 12_000);
            prop_assert!((48..=3_200).contains(&wide(&region)), "{}", wide(&region));
            let image = Image { width: 4, height: 3, pixels: &pixels };
            let small = Region { x, y, length: near, height: near, angle };
            prop_assert_eq!(cut(image, &small, 7, 5).len(), 35);
        }
    }

    #[test]
    fn steps_spell_words() {
        let characters: Vec<char> = "\0ab ".chars().collect();
        let spelt = |steps: &[usize]| -> Vec<(String, usize, usize)> {
            let found = words(steps.iter().map(|number| (*number, 0.5)), &characters);
            found.into_iter().map(|word| (word.text, word.first, word.last)).collect()
        };
        let word = |text: &str, first, last| (text.to_owned(), first, last);
        assert_eq!(spelt(&[0, 1, 1, 2, 0, 2, 0]), [word("abb", 1, 5)]);
        assert_eq!(spelt(&[1, 3, 3, 1, 0, 3, 2]), [word("a", 0, 0), word("a", 3, 3), word("b", 6, 6)]);
        assert_eq!(spelt(&[0, 3, 0]), []);
    }

    #[test]
    fn only_allowed_characters_count() {
        let (number, probability) = most_probable(&[0.0, 9.0, 1.0], &[true, false, true]);
        assert_eq!(number, 2);
        assert!((probability - 1.0 / (1.0 + (-1.0_f32).exp())).abs() < 1e-6);
    }
}
