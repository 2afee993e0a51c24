//! Reads the text of an image with two small neural networks: one finds lines, one reads a line.
//!
//! | Module | What it does |
//! |---|---|
//! | `detector` | finds the lines of an image, as turned rectangles |
//! | `regions` | the connected parts of a map, and the least rectangle around each |
//! | `line` | reads a line: the most probable characters, and where each of its words is |
//! | `letters` | which characters the chosen languages have |
//! | `model` | loads a network and runs it on one thread |
//!
//! ```
//! use recognition::{Image, Letters, Recogniser, Threads, Weights};
//!
//! let weights = Weights {
//!     detector: recognition_weights::DETECTOR,
//!     recogniser: recognition_weights::RECOGNISER,
//!     characters: recognition_weights::CHARACTERS,
//! };
//! let recogniser = Recogniser::new(&weights, &Threads::start()).expect("weights");
//! let letters = Letters::of(&["eng", "deu"]).expect("Latin letters");
//! let white = [255; 64 * 32];
//! let words = recogniser.read(Image { width: 64, height: 32, pixels: &white }, &letters, &mut || true);
//! assert!(words.expect("it is read").is_empty());
//! ```

mod detector;
mod letters;
mod line;
mod model;
mod regions;

use thiserror::Error;

pub use self::letters::Letters;
use self::model::Network;
pub use self::model::Threads;
pub use self::regions::Region as Line;

/// Pixels of an image that is read.
const PIXELS: usize = 40_000_000;
/// A line that is so many times as high as wide stands upright only on an image that does not.
const UPRIGHT: f32 = 1.5;

/// The two networks, and the characters that the second knows.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// The network that finds lines, as ONNX.
    pub detector: &'static [u8],
    /// The network that reads a line, as ONNX.
    pub recogniser: &'static [u8],
    /// The characters of its results, in their order.
    pub characters: &'static str,
}

/// An image in shades of grey, row by row from the top, 0 black.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// `width` times `height` bytes.
    pub pixels: &'a [u8],
}

/// A word of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// Its characters.
    pub text: String,
    /// Left edge in pixels.
    pub left: u32,
    /// Upper edge in pixels.
    pub top: u32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The mean probability of its characters, as the network has it. It says too much of itself.
    pub probability: f32,
    /// The row that it is in, from the top.
    pub row: u32,
}

/// Why an image was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecognitionError {
    /// The weights are not those of the two networks.
    #[error("these are no weights of the recogniser ({0}); scripts/recognition-weights writes them")]
    Weights(String),
    /// The image has no pixels, too many, or others than its sides say.
    #[error("an image of {width} × {height} pixels is not read")]
    Image {
        /// The width that was given.
        width: u32,
        /// The height that was given.
        height: u32,
    },
    /// A network failed on this image.
    #[error("the recogniser failed: {0}")]
    Network(String),
}

/// The two networks, ready to read.
#[derive(Debug)]
pub struct Recogniser {
    detector: Network,
    recogniser: Network,
    /// The characters of the second network's results: nothing first, a blank last.
    characters: Vec<char>,
}

impl Recogniser {
    /// Loads the networks, to run on this thread.
    ///
    /// # Errors
    /// [`RecognitionError::Weights`].
    pub fn new(weights: &Weights, threads: &Threads) -> Result<Self, RecognitionError> {
        let listed = weights.characters.trim_end_matches('\n').chars();
        let characters = std::iter::once('\0').chain(listed).chain([' ']).collect();
        Ok(Self {
            detector: Network::load(weights.detector, threads)?,
            recogniser: Network::load(weights.recogniser, threads)?,
            characters,
        })
    }

    /// The words of an upright image, row by row, in these letters. Before each line it asks whether to go on, and
    /// returns what it has read when it is not to.
    ///
    /// # Errors
    /// See [`RecognitionError`].
    pub fn read(
        &self,
        image: Image<'_>,
        letters: &Letters,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Word>, RecognitionError> {
        self.read_lines(image, &self.find(image)?, letters, goes_on)
    }

    /// The lines of an upright image, at most 1,000, the larger first. Finding them takes a small part of the time that
    /// reading them takes.
    ///
    /// # Errors
    /// See [`RecognitionError`].
    pub fn find(&self, image: Image<'_>) -> Result<Vec<Line>, RecognitionError> {
        image.check()?;
        detector::lines(&self.detector, image)
    }

    /// The words of these lines of an image, as [`read`](Self::read) returns those of all its lines.
    ///
    /// # Errors
    /// See [`RecognitionError`].
    pub fn read_lines(
        &self,
        image: Image<'_>,
        lines: &[Line],
        letters: &Letters,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Word>, RecognitionError> {
        image.check()?;
        let allowed = letters.mask(&self.characters);
        let mut words = Vec::new();
        for (row, lines) in rows(lines.to_vec()).into_iter().enumerate() {
            for line in lines {
                if !goes_on() {
                    return Ok(words);
                }
                let read = line::read(&self.recogniser, image, &line, &self.characters, &allowed)?;
                words.extend(read.into_iter().map(|word| Word { row: row as u32, ..word }));
            }
        }
        Ok(words)
    }

    /// Whether the lines of an image run from top to bottom, as those of an image on its side do; `None` if it has none.
    ///
    /// # Errors
    /// See [`RecognitionError`].
    pub fn is_on_its_side(&self, image: Image<'_>) -> Result<Option<bool>, RecognitionError> {
        let lines = self.find(image)?;
        let length = |upright: bool| -> f32 {
            let alike = lines.iter().filter(|line| is_upright(line) == upright);
            alike.map(|line| line.length.max(line.height)).sum()
        };
        Ok((!lines.is_empty()).then(|| length(true) > length(false)))
    }
}

impl Image<'_> {
    fn check(self) -> Result<(), RecognitionError> {
        let Image { width, height, pixels } = self;
        let all = (width as usize).checked_mul(height as usize);
        match all.is_some_and(|all| all > 0 && all <= PIXELS && all == pixels.len()) {
            true => Ok(()),
            false => Err(RecognitionError::Image { width, height }),
        }
    }
}

impl Line {
    /// What reading it costs: its length in pixels at the height at which the network reads. Time grows with the sum.
    #[must_use]
    pub fn cost(&self) -> u32 {
        line::wide(self)
    }
}

fn is_upright(line: &Line) -> bool {
    line.height > UPRIGHT * line.length
}

/// Lines in rows from top to bottom, each from left to right: those are in one row whose middles lie in each other.
fn rows(mut lines: Vec<Line>) -> Vec<Vec<Line>> {
    lines.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut rows: Vec<Vec<Line>> = Vec::new();
    for line in lines {
        // Of the rows above, only the last ones reach down to it.
        let near =
            rows.iter_mut().rev().take(4).find(|row| row.iter().all(|other| line.is_level_with(other)));
        match near {
            Some(row) => row.push(line),
            None => rows.push(vec![line]),
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    rows
}
