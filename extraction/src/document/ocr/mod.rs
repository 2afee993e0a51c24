//! Optical character recognition (OCR): prepares page images, runs the engine and weighs its result.

mod album;
mod choice;
mod clean;
mod engine;
mod geometry;
mod lines;
mod networks;
mod prepare;
mod raster;
mod tesseract;

pub use self::choice::WithNetworks;
pub use self::engine::{OcrEngine, OcrError, OcrWord, Stop};
pub use self::networks::Networks;
pub use self::raster::Raster;
#[cfg(feature = "worker")]
pub(crate) use self::tesseract::{Launcher, PROGRAM_FOLDERS, exit};
pub use self::tesseract::{Tesseract, TesseractError};

use self::album::Album;
use self::prepare::{Prepared, prepare};
use super::layout::{self, Piece};
use super::model::{Line, Page, PageImage, PageSource, Rect, Table};
use super::words::normal;

/// Below this mean confidence the image may be turned.
const DOUBTFUL: f32 = 60.0;
/// Fewer words than this say nothing about an image.
const FEW_WORDS: usize = 4;

/// The number of horizontal strips of an image, one of which is tried.
const PARTS: usize = 3;

/// What was recognised on a page, in points of the upright page.
#[derive(Debug)]
pub(super) struct OcrPage {
    lines: Vec<Line>,
    tables: Vec<Table>,
    turn: u16,
}

impl OcrPage {
    /// A page of this width and height.
    pub(super) fn into_page(self, number: u32, width: f32, height: f32) -> Page {
        let Self { lines, tables, turn } = self;
        let (width, height) = if turn % 180 == 0 { (width, height) } else { (height, width) };
        Page { number, width, height, turn, source: PageSource::Ocr, lines, tables }
    }
}

/// OCR for the pages of one document.
pub(super) struct Ocr<'a> {
    engine: Option<&'a dyn OcrEngine>,
    stop: Stop,
    album: Album,
}

impl<'a> Ocr<'a> {
    /// Limits the images to so many bytes.
    pub(super) fn new(engine: Option<&'a dyn OcrEngine>, images: u64) -> Self {
        Self { engine, stop: Stop::default(), album: Album::new(images) }
    }

    /// Whether a page need be drawn at all.
    pub(super) fn wants_pages(&self) -> bool {
        self.engine.is_some() || self.album.has_room()
    }

    /// The images of the pages that were given.
    pub(super) fn into_images(self) -> Vec<PageImage> {
        self.album.into_images()
    }

    /// What is on a page; `None` if there is nothing that recognises. A page on which it fails has no text.
    pub(super) fn page(&mut self, number: u32, raster: Raster) -> Option<OcrPage> {
        let image = self.album.image(&raster);
        let recognised = self.recognise(raster);
        self.album.add(number, image, recognised.as_ref().map_or(0, |recognised| recognised.turn));
        recognised
    }

    fn recognise(&mut self, raster: Raster) -> Option<OcrPage> {
        let engine = self.engine?;
        let scale = 72.0 / f64::from(raster.dpi);
        let mut prepared = prepare(raster);
        let mut words = match engine.words(&prepared.raster, &self.stop) {
            Ok(words) => words,
            Err(OcrError::Unavailable) => {
                self.engine = None;
                return None;
            }
            Err(OcrError::Failed) => Vec::new(),
        };
        if is_doubtful(&words)
            && let Some(turn) = self.direction(engine, prepared.small(), score(&words))
        {
            let turned = prepared.turned(turn);
            if let Ok(again) = engine.words(&turned.raster, &self.stop)
                && score(&again) > score(&words)
            {
                (prepared, words) = (turned, again);
            }
        }
        if let Some(again) = engine.again(&prepared.raster, &words, &self.stop) {
            words = again;
        }
        Some(arrange(&prepared, &whole_addresses(words), scale))
    }

    /// By how many degrees an image is to be turned, of which so much was recognised as it is; `None` if it stands
    /// upright, as poor images may.
    ///
    /// What the engine says of a photograph is nearly always right about the axis and often wrong about the direction
    /// on it. Reading tells, and a part is enough: the whole of an image that is not upright takes long.
    fn direction(&self, engine: &dyn OcrEngine, raster: &Raster, read: f32) -> Option<u16> {
        let turns: &[u16] = match self.turn(engine, raster) {
            Ok(0 | 180) => &[180],
            Ok(90 | 270) => &[90, 270],
            _ => &[90, 180, 270],
        };
        let read_in = |turn: u16| {
            let part = prepare(fullest_part(&geometry::turned(raster, turn)));
            engine.words(&part.raster, &self.stop).map_or(0.0, |words| score(&words))
        };
        let tried = turns.iter().map(|turn| (*turn, read_in(*turn)));
        let (turn, most) = tried.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (most * PARTS as f32 > read).then_some(turn)
    }

    /// What the engine says of the way up: of a part of an image, or of the whole where there is too little in it.
    fn turn(&self, engine: &dyn OcrEngine, raster: &Raster) -> Result<u16, OcrError> {
        engine.turn(&fullest_part(raster), &self.stop).or_else(|_| engine.turn(raster, &self.stop))
    }
}

/// The part of an image that has most ink.
fn fullest_part(raster: &Raster) -> Raster {
    let width = raster.width as usize;
    let rows = (raster.height as usize).div_ceil(PARTS).max(1);
    let parts = raster.pixels.chunks(rows * width.max(1));
    let ink = |part: &[u8]| part.iter().filter(|shade| clean::is_ink(**shade)).count();
    let pixels = parts.max_by_key(|part| ink(part)).unwrap_or_default().to_vec();
    Raster { height: (pixels.len() / width.max(1)) as u32, pixels, ..*raster }
}

/// How much of a page OCR recognised: the letters of words that are more likely right than wrong, weighted by confidence.
/// Other words do not count, because OCR reads a sideways image as many of them.
fn score(words: &[OcrWord]) -> f32 {
    let sure = |word: &OcrWord| Some(calibrated(word.confidence)).filter(|sure| *sure > 0.5);
    words.iter().filter_map(|word| Some(sure(word)? * word.text.chars().count() as f32)).sum()
}

/// How often the words of a reading are right, on average by letters; nothing for none.
fn sure<'a>(words: impl IntoIterator<Item = &'a OcrWord>) -> f32 {
    let (mut letters, mut right) = (0.0, 0.0);
    for word in words {
        let count = word.text.chars().count() as f32;
        letters += count;
        right += calibrated(word.confidence) * count;
    }
    right / f32::max(letters, 1.0)
}

fn is_doubtful(words: &[OcrWord]) -> bool {
    let letters: f32 = words.iter().map(|word| word.text.chars().count() as f32).sum();
    let sum: f32 = words.iter().map(|word| word.confidence * word.text.chars().count() as f32).sum();
    words.len() < FEW_WORDS || sum / letters.max(1.0) < DOUBTFUL
}

/// How often a word is right that the engine is so sure of: measured on 15,321 words with known truth.
pub(super) fn calibrated(confidence: f32) -> f32 {
    const MEASURED: [(f32, f32); 9] = [
        (0.0, 0.06),
        (45.0, 0.16),
        (55.0, 0.17),
        (65.0, 0.27),
        (75.0, 0.42),
        (85.0, 0.69),
        (92.5, 0.96),
        (97.0, 0.995),
        (100.0, 0.995),
    ];
    interpolated(&MEASURED, confidence)
}

/// The value of a line through these points.
fn interpolated(points: &[(f32, f32)], at: f32) -> f32 {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0.0 };
    let at = at.clamp(first.0, last.0);
    let within = points.windows(2).find(|pair| at <= pair[1].0);
    let [(x0, y0), (x1, y1)] = within.map_or([*first, *last], |pair| [pair[0], pair[1]]);
    y0 + (y1 - y0) * ((at - x0) / (x1 - x0)).clamp(0.0, 1.0)
}

/// Lines and tables out of words. A pixel of the image that was given is `scale` points.
fn arrange(prepared: &Prepared, words: &[OcrWord], scale: f64) -> OcrPage {
    let sizes = line_sizes(words);
    let pieces = words
        .iter()
        .filter(|word| !is_speck(word))
        .map(|word| {
            let (left, top) = (f64::from(word.left), f64::from(word.top));
            Piece {
                text: normal(&word.text),
                x0: left,
                x1: left + f64::from(word.width),
                top,
                bottom: top + f64::from(word.height),
                size: sizes.get(&word.line).copied().unwrap_or_else(|| f64::from(word.height)),
                confidence: calibrated(word.confidence),
                row: Some(word.line),
                ..Piece::default()
            }
        })
        .collect();
    let mut arranged = layout::arrange(pieces, &prepared.rules);
    let in_lines = arranged.lines.iter_mut().flat_map(|line| &mut line.words);
    let cells = arranged.tables.iter_mut().flat_map(|table| table.rows.iter_mut().flatten());
    for word in in_lines.chain(cells.flat_map(|cell| &mut cell.words)) {
        word.bbox = word.bbox.map(|rect| {
            let [x, y, width, height] = prepared.origin(rect).map(|value| (value * scale) as f32);
            Rect { x, y, width, height }
        });
        word.size = (f64::from(word.size) * prepared.unit() * scale) as f32;
    }
    OcrPage { lines: arranged.lines, tables: arranged.tables, turn: prepared.turn }
}

/// Puts electronic addresses together again: engines read the white around an `@` as a space.
fn whole_addresses(words: Vec<OcrWord>) -> Vec<OcrWord> {
    let mut whole: Vec<OcrWord> = Vec::with_capacity(words.len());
    for word in words {
        match whole.last_mut() {
            Some(before) if is_cut_at_sign(before, &word) => {
                let bottom =
                    before.top.saturating_add(before.height).max(word.top.saturating_add(word.height));
                before.top = before.top.min(word.top);
                before.height = bottom - before.top;
                before.width = word.left.saturating_add(word.width).saturating_sub(before.left);
                before.confidence = before.confidence.min(word.confidence);
                before.text.push_str(&word.text);
            }
            _ => whole.push(word),
        }
    }
    whole
}

/// Whether these are the two sides of an address: the sign at the end of the first or the beginning of the second, a
/// dot in what follows, and no more than the white of a letter between them.
fn is_cut_at_sign(before: &OcrWord, word: &OcrWord) -> bool {
    let Some(gap) = word.left.checked_sub(before.left.saturating_add(before.width)) else { return false };
    let near = word.line == before.line && f64::from(gap) < 0.7 * f64::from(before.height.max(word.height));
    let name = before.text.strip_suffix('@');
    let domain = word.text.strip_prefix('@');
    let named = name.unwrap_or(&before.text).ends_with(|last: char| last.is_ascii_alphanumeric());
    near && named
        && !before.text.trim_end_matches('@').contains('@')
        && name.is_some() != domain.is_some()
        && domain.unwrap_or(&word.text).trim_matches('.').contains('.')
}

/// Height of the type of each line: words of small letters are lower than it, so the higher ones tell.
fn line_sizes(words: &[OcrWord]) -> std::collections::HashMap<u32, f64> {
    let mut heights: std::collections::HashMap<u32, Vec<u32>> = std::collections::HashMap::new();
    for word in words {
        heights.entry(word.line).or_default().push(word.height);
    }
    let mut of_all: Vec<u32> = words.iter().map(|word| word.height).collect();
    of_all.sort_unstable();
    let usual = of_all.get(of_all.len() * 2 / 3).copied().unwrap_or(10);
    heights
        .into_iter()
        .map(|(line, mut heights)| {
            heights.sort_unstable();
            let high = heights[heights.len() * 2 / 3];
            // A speck or a frame that was taken for a letter makes a line no higher.
            (line, f64::from(high.clamp(usual / 2, usual * 4).max(1)) * 1.15)
        })
        .collect()
}

/// Dirt and remains of lines that the engine has taken for characters.
fn is_speck(word: &OcrWord) -> bool {
    let meaningless = !word.text.chars().any(char::is_alphanumeric) && word.confidence < 60.0;
    word.text.trim().is_empty() || meaningless
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str, left: u32, width: u32, line: u32) -> OcrWord {
        OcrWord { text: text.to_owned(), left, top: 100, width, height: 20, confidence: 80.0, line }
    }

    #[test]
    fn addresses_that_were_cut_at_the_sign_are_whole_again() {
        let joined = |words: &[OcrWord]| -> Vec<String> {
            whole_addresses(words.to_vec()).into_iter().map(|word| word.text).collect()
        };
        let before = word("ada7", 10, 40, 1);
        for (text, left) in [("@example.org", 58), ("@example.org", 63)] {
            assert_eq!(joined(&[before.clone(), word(text, left, 90, 1)]), ["ada7@example.org"]);
        }
        assert_eq!(joined(&[word("ada7@", 10, 50, 1), word("example.org", 66, 90, 1)]), ["ada7@example.org"]);
        let whole = whole_addresses(vec![before.clone(), word("@example.org", 58, 90, 1)]);
        assert_eq!((whole[0].left, whole[0].width, whole[0].height), (10, 138, 20));
        // Another line, too far, no domain, a label, a second sign, overlapping words.
        for (first, second) in [
            (before.clone(), word("@example.org", 58, 90, 2)),
            (before.clone(), word("@example.org", 64, 90, 1)),
            (before.clone(), word("@ada", 58, 90, 1)),
            (word("Mail:", 10, 40, 1), word("@example.org", 58, 90, 1)),
            (word("a@b.example", 10, 40, 1), word("@example.org", 58, 90, 1)),
            (word("7@", 10, 40, 1), word("@example.org", 58, 90, 1)),
            (before.clone(), word("@example.org", 40, 90, 1)),
        ] {
            assert_eq!(joined(&[first, second]).len(), 2);
        }
    }

    #[test]
    fn the_part_with_most_ink_is_tried() {
        let mut raster = Raster { width: 4, height: 7, dpi: 300.0, pixels: vec![255; 28] };
        raster.pixels[16..20].fill(0);
        let part = fullest_part(&raster);
        assert_eq!((part.width, part.height, part.pixels.len()), (4, 3, 12));
        assert_eq!(part.pixels.iter().filter(|shade| **shade == 0).count(), 4);
        raster.pixels[24..].fill(0);
        raster.pixels[20] = 0;
        assert_eq!(fullest_part(&raster).height, 3, "rows 3 to 5 have one more");
        raster.pixels[16..24].fill(255);
        assert_eq!(fullest_part(&raster).height, 1);
        let empty = Raster { width: 0, height: 0, dpi: 300.0, pixels: Vec::new() };
        assert_eq!(fullest_part(&empty).height, 0);
    }

    #[test]
    fn confidence_is_what_was_measured() {
        assert!((calibrated(85.0) - 0.69).abs() < 1e-6);
        assert!((calibrated(99.0) - 0.995).abs() < 1e-6);
        assert!(calibrated(30.0) < 0.17 && calibrated(f32::NAN).is_nan());
        let rising = (0..1000).map(|step| calibrated(step as f32 / 10.0)).collect::<Vec<_>>();
        assert!(rising.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
