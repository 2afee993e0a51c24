//! OCR by the two networks of the crate `recognition`.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use recognition::{Image, Letters, Line, Recogniser, RecognitionError, Threads, Weights, Word};

use super::calibrated;
use super::engine::{OcrEngine, OcrError, OcrWord, Stop};
use super::raster::Raster;

/// The longest time for an image. What has been read by then is the result.
pub(crate) const TIME: Duration = Duration::from_secs(15);
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
    time: Duration,
    /// Called before each line of an image.
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
        let going_on = Box::new(|| ());
        Self { weights, threads, loaded: OnceLock::new(), letters, time: TIME, going_on }
    }

    /// Reads an image for so long. Default: 15 s.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Calls this before each line of an image.
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

impl Networks {
    /// The lines of an image.
    pub(super) fn find(&self, raster: &Raster) -> Result<Vec<Line>, OcrError> {
        self.recogniser()?.find(image(raster)).map_err(failed)
    }

    /// The words of lines of an image, while it goes on.
    pub(super) fn read(
        &self,
        raster: &Raster,
        lines: &[Line],
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<OcrWord>, OcrError> {
        let read = self.recogniser()?.read_lines(image(raster), lines, &self.letters, goes_on);
        Ok(read.map_err(failed)?.into_iter().map(word).collect())
    }

    /// Whether the reading of an image that begins now goes on: asked before each line.
    pub(super) fn goes_on<'a>(&'a self, stop: &'a Stop) -> impl FnMut() -> bool + 'a {
        #[expect(clippy::disallowed_methods, reason = "the time for an image is bounded")]
        let begun = Instant::now();
        move || {
            (self.going_on)();
            !stop.is_stopped() && begun.elapsed() < self.time
        }
    }
}

impl OcrEngine for Networks {
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        let mut goes_on = self.goes_on(stop);
        self.read(raster, &self.find(raster)?, &mut goes_on)
    }

    fn turn(&self, raster: &Raster, _: &Stop) -> Result<u16, OcrError> {
        match self.recogniser()?.is_on_its_side(image(raster)) {
            Ok(Some(is_on_its_side)) => Ok(if is_on_its_side { 90 } else { 0 }),
            _ => Err(OcrError::Failed),
        }
    }
}

fn failed(_: RecognitionError) -> OcrError {
    OcrError::Failed
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
