//! Which of two engines reads an image.
//!
//! The networks read better, but take time for each line, so they read an image of few lines. They also read the
//! doubtful lines of an image of many, which the other engine reads in less time. Probabilities decide between two readings
//! of the same text.

use recognition::Line;

use super::engine::{OcrEngine, OcrError, OcrWord, Stop};
use super::networks::Networks;
use super::raster::Raster;
use super::{score, sure};

/// What the networks read of an image at most, as a sum of [`Line::cost`]: it bounds the time, not the quality.
const COST: u32 = 30_000;
/// Below this probability of its words a line of many is read again.
const UNSURE: f32 = 0.9;
/// Below this probability of its words an image may be turned, or be of a kind that its reader does not know.
const WRONG: f32 = 0.5;

/// The networks, and an engine for what they cannot read in time.
#[derive(Debug)]
pub struct WithNetworks<E> {
    other: E,
    networks: Networks,
    limit: u32,
}

impl<E: OcrEngine> WithNetworks<E> {
    /// The networks read images of few lines, the engine reads others.
    pub fn new(other: E, networks: Networks) -> Self {
        Self { other, networks, limit: COST }
    }

    /// The limit of what the networks read of an image, as the sum of [`Line::cost`]. Default: 30,000.
    #[must_use]
    pub fn with_limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Whether the networks read all lines in the time for an image.
    fn are_few(&self, lines: &[Line]) -> bool {
        lines.iter().map(Line::cost).sum::<u32>() <= self.limit
    }

    /// What the networks read in these lines, or the other engine where they fail or, on a busy machine, run out of time
    /// and the other reads more.
    fn in_time(&self, raster: &Raster, lines: &[Line], stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        let mut is_whole = true;
        let mut in_time = self.networks.goes_on(stop);
        let read = self.networks.read(raster, lines, &mut || {
            is_whole = in_time();
            is_whole
        });
        match read {
            Ok(words) if is_whole || stop.is_stopped() => Ok(words),
            Ok(words) => Ok(self
                .other
                .words(raster, stop)
                .ok()
                .filter(|other| score(other) > score(&words))
                .unwrap_or(words)),
            Err(_) => self.other.words(raster, stop),
        }
    }

    /// These words of an image, but with what the networks read in its doubtful lines where that is more probable. The most
    /// doubtful are read first, for as long as an image of few lines may take.
    fn reread(&self, raster: &Raster, mut words: Vec<OcrWord>, lines: &[Line], stop: &Stop) -> Vec<OcrWord> {
        let mut goes_on = self.networks.goes_on(stop);
        let probability = |line: &Line| sure(words.iter().filter(|word| is_in(word, line)));
        let mut doubtful: Vec<(f32, &Line)> = lines.iter().map(|line| (probability(line), line)).collect();
        doubtful.retain(|(probability, _)| *probability < UNSURE);
        doubtful.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut cost = 0;
        for (probability, line) in doubtful {
            cost += line.cost();
            if cost > self.limit {
                break;
            }
            match self.networks.read(raster, std::slice::from_ref(line), &mut goes_on) {
                Ok(read) if sure(&read) > probability => replace(&mut words, line, read),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        words
    }
}

impl<E: OcrEngine> OcrEngine for WithNetworks<E> {
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        let Ok(lines) = self.networks.find(raster) else { return self.other.words(raster, stop) };
        if self.are_few(&lines) {
            return self.in_time(raster, &lines, stop);
        }
        match self.other.words(raster, stop) {
            Ok(words) if sure(&words) >= WRONG => Ok(self.reread(raster, words, &lines, stop)),
            Err(OcrError::Unavailable) => {
                self.networks.read(raster, &lines, &mut self.networks.goes_on(stop))
            }
            read => read,
        }
    }

    fn turn(&self, raster: &Raster, stop: &Stop) -> Result<u16, OcrError> {
        match self.other.turn(raster, stop) {
            Err(OcrError::Unavailable) => self.networks.turn(raster, stop),
            turn => turn,
        }
    }

    fn again(&self, raster: &Raster, words: &[OcrWord], stop: &Stop) -> Option<Vec<OcrWord>> {
        let before = sure(words);
        if before >= WRONG {
            return None;
        }
        let lines = self.networks.find(raster).ok()?;
        let again = match self.are_few(&lines) {
            true => self.other.words(raster, stop).ok()?,
            false => self.reread(raster, words.to_vec(), &lines, stop),
        };
        (sure(&again) > before).then_some(again)
    }
}

fn is_in(word: &OcrWord, line: &Line) -> bool {
    let middle = |from: u32, length: u32| from as f32 + length as f32 / 2.0;
    line.contains(middle(word.left, word.width), middle(word.top, word.height))
}

/// Replaces the words in a line by others. They stay on the line that the first engine numbered, and are on one of their own
/// where it saw none.
fn replace(words: &mut Vec<OcrWord>, line: &Line, read: Vec<OcrWord>) {
    let first = words.iter().position(|word| is_in(word, line));
    let number = match (first, read.first()) {
        (Some(first), _) => words[first].line,
        (None, Some(read)) => words.iter().find(|word| are_level(word, read)).map_or_else(
            || words.iter().map(|word| word.line).max().unwrap_or(0).saturating_add(1),
            |word| word.line,
        ),
        (None, None) => return,
    };
    words.retain(|word| !is_in(word, line));
    let at = first.unwrap_or(words.len()).min(words.len());
    words.splice(at..at, read.into_iter().map(|word| OcrWord { line: number, ..word }));
}

/// Whether the middle of each is within the height of the other.
fn are_level(a: &OcrWord, b: &OcrWord) -> bool {
    let middle = |word: &OcrWord| word.top as f32 + word.height as f32 / 2.0;
    (middle(a) - middle(b)).abs() < a.height.min(b.height) as f32 / 2.0
}
