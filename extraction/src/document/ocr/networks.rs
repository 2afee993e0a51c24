//! OCR by the two networks of the crate `recognition`: alone, or as a second reader where another engine is unsure.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use recognition::{Image, Letters, Recogniser, Threads, Weights, Word};

use super::engine::{OcrEngine, OcrError, OcrWord, Stop};
use super::raster::Raster;
use super::{calibrated, sure};

/// The longest time for an image. What has been read by then is the result.
pub(crate) const TIME: Duration = Duration::from_secs(15);
/// Below this mean confidence of the first reading the networks read again.
const UNSURE: f32 = 85.0;
/// More words than this make a page dense: a second reading would take several times as long as the first, and is
/// rarely better.
const DENSE: usize = 250;

/// How often a word is right whose characters have so high a mean probability: measured on 546 words of generated scans
/// (docs/extraction.md). The networks are nearly always sure, so that little doubt is much.
const MEASURED: [(f32, f32); 9] = [
    (0.0, 0.06),
    (0.7, 0.08),
    (0.85, 0.15),
    (0.9, 0.25),
    (0.95, 0.35),
    (0.98, 0.45),
    (0.99, 0.6),
    (0.995, 0.85),
    (1.0, 0.987),
];

/// The two networks as an engine. They are loaded with the first image.
pub struct Networks {
    weights: Weights,
    threads: Threads,
    loaded: OnceLock<Option<Recogniser>>,
    letters: Letters,
    /// Asked between two lines of an image.
    going_on: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Networks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Networks").field("letters", &self.letters).finish_non_exhaustive()
    }
}

impl Networks {
    /// Networks of these weights, on this thread, that read these letters.
    #[must_use]
    pub fn new(weights: Weights, threads: Threads, letters: Letters) -> Self {
        Self { weights, threads, loaded: OnceLock::new(), letters, going_on: Box::new(|| ()) }
    }

    /// Calls this between two lines of an image.
    #[cfg(feature = "worker")]
    pub(crate) fn with_going_on(mut self, going_on: impl Fn() + Send + Sync + 'static) -> Self {
        self.going_on = Box::new(going_on);
        self
    }

    fn recogniser(&self) -> Result<&Recogniser, OcrError> {
        (self.going_on)();
        let load = || Recogniser::new(&self.weights, &self.threads).ok();
        self.loaded.get_or_init(load).as_ref().ok_or(OcrError::Unavailable)
    }
}

impl OcrEngine for Networks {
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        #[expect(clippy::disallowed_methods, reason = "the time for an image is bounded")]
        let begun = Instant::now();
        let mut goes_on = || {
            (self.going_on)();
            !stop.is_stopped() && begun.elapsed() < TIME
        };
        let read = self.recogniser()?.read(image(raster), &self.letters, &mut goes_on);
        Ok(read.map_err(|_| OcrError::Failed)?.into_iter().map(word).collect())
    }

    fn turn(&self, raster: &Raster, _: &Stop) -> Result<u16, OcrError> {
        match self.recogniser()?.is_on_its_side(image(raster)) {
            Ok(Some(is_on_its_side)) => Ok(if is_on_its_side { 90 } else { 0 }),
            _ => Err(OcrError::Failed),
        }
    }
}

/// An engine, and the networks that read again what it is unsure of.
#[derive(Debug)]
pub struct WithNetworks<E> {
    first: E,
    networks: Networks,
}

impl<E: OcrEngine> WithNetworks<E> {
    /// The engine reads first.
    pub fn new(first: E, networks: Networks) -> Self {
        Self { first, networks }
    }
}

impl<E: OcrEngine> OcrEngine for WithNetworks<E> {
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        match self.first.words(raster, stop) {
            Err(OcrError::Unavailable) => self.networks.words(raster, stop),
            read => read,
        }
    }

    fn turn(&self, raster: &Raster, stop: &Stop) -> Result<u16, OcrError> {
        match self.first.turn(raster, stop) {
            Err(OcrError::Unavailable) => self.networks.turn(raster, stop),
            turn => turn,
        }
    }

    fn again(&self, raster: &Raster, words: &[OcrWord], stop: &Stop) -> Option<Vec<OcrWord>> {
        let mean = words.iter().map(|word| word.confidence).sum::<f32>() / words.len().max(1) as f32;
        if mean >= UNSURE || words.len() > DENSE {
            return None;
        }
        let again = self.networks.words(raster, stop).ok()?;
        (sure(&again) > sure(words)).then_some(again)
    }
}

fn image(raster: &Raster) -> Image<'_> {
    Image { width: raster.width, height: raster.height, pixels: &raster.pixels }
}

fn word(word: Word) -> OcrWord {
    let Word { text, left, top, width, height, probability, row } = word;
    OcrWord { text, left, top, width, height, confidence: confidence(probability), line: row + 1 }
}

/// The score that `tesseract` has for words that are as often right, so that one calibration serves for both.
fn confidence(probability: f32) -> f32 {
    let right = super::interpolated(&MEASURED, probability);
    // The calibration rises with the score, so halving finds it.
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..20 {
        let middle = (low + high) / 2.0;
        if calibrated(middle) < right { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_worth_as_much_as_that_of_tesseract() {
        let mut before = 0.0;
        for (probability, right) in MEASURED {
            let score = confidence(probability);
            assert!(score >= before, "{probability}");
            before = score;
            let worth = calibrated(score);
            assert!((worth - right.clamp(0.06, 0.995)).abs() < 0.01, "{probability}: {worth} is not {right}");
        }
    }
}
