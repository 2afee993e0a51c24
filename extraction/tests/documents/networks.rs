//! OCR by the networks: in this process, in the worker without another engine, and together with another one.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use extraction::document::ocr::{Networks, OcrEngine, OcrError, OcrWord, Raster, Stop, WithNetworks};
use extraction::document::{Document, Limits, PageSource, Warning, read_with};
use extraction::worker::Worker;
use image::imageops::{rotate90, rotate180, rotate270};
use image::{GrayImage, ImageFormat};
use proptest::prelude::*;
use recognition::{Image, Letters, Recogniser, Threads, Weights};

use crate::files::{drawn, scan};
use crate::lines;
use crate::worker::PROGRAM;

const WEIGHTS: Weights = Weights {
    detector: recognition_weights::DETECTOR,
    recogniser: recognition_weights::RECOGNISER,
    characters: recognition_weights::CHARACTERS,
};
const TEXTS: [&str; 2] = ["Invoice number RE-2043", "Total amount 1234.50"];

fn networks() -> Networks {
    Networks::new(WEIGHTS, Threads::start(), Letters::of(&["eng"]).expect("Latin letters"))
}

fn worker(languages: &[&str]) -> Worker {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../recognition-weights");
    Worker::at(PROGRAM)
        .allow_unconfined(!cfg!(target_os = "linux"))
        .with_variable("EXTRACTION_NETWORKS", folder)
        .with_networks(languages)
        // Cleaning an image is slow without optimisation.
        .with_timeout(Duration::from_secs(60))
}

fn png(image: GrayImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).expect("a PNG");
    bytes.into_inner()
}

fn raster(image: GrayImage) -> Raster {
    Raster { width: image.width(), height: image.height(), dpi: 300.0, pixels: image.into_raw() }
}

async fn read(languages: &[&str], document: &[u8]) -> Document {
    worker(languages).read(document, Limits::default(), None).await.expect("it is read")
}

#[tokio::test]
async fn a_worker_reads_a_scan_without_another_engine() {
    let document = read(&["eng"], &scan(&TEXTS)).await;
    assert_eq!(lines(&document), TEXTS);
    assert_eq!(document.pages[0].source, PageSource::Ocr);
    let word = &document.pages[0].lines[0].words[0];
    assert!(word.confidence > 0.8, "{word:?}");
    let position = word.bbox.expect("it has a position");
    assert!((position.x - 60.0).abs() < 6.0 && (position.y - 88.0).abs() < 12.0, "{position:?}");
}

#[tokio::test]
async fn a_worker_reads_no_language_whose_letters_are_unknown() {
    let document = read(&["eng", "rus"], &scan(&TEXTS)).await;
    assert!(matches!(document.warnings[..], [Warning::OcrUnavailable { .. }]), "{:?}", document.warnings);
    assert!(lines(&document).is_empty());
}

#[test]
fn pages_that_lie_or_stand_on_their_head_are_read() {
    let networks = networks();
    let page = drawn(&TEXTS);
    for (turned, turn) in [(rotate90(&page), 270), (rotate180(&page), 180), (rotate270(&page), 90)] {
        let document = read_with(&png(turned), &Limits::default(), Some(&networks)).expect("it is read");
        assert_eq!((document.pages[0].turn, lines(&document)), (turn, TEXTS.map(str::to_owned).to_vec()));
    }
}

/// Noise looks like many lines. The worker lives on and stays within its limits.
#[tokio::test]
async fn noise_ends() {
    let shade = |at: u64| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    let pixels = (0..1_200_u64 * 1_200).map(shade).collect();
    let image = GrayImage::from_raw(1_200, 1_200, pixels).expect("a shade each");
    let document = read(&["eng"], &png(image)).await;
    assert_eq!(document.page_count, Some(1));
}

/// Reads the same words in every image, or says that there is no engine, and counts the images.
#[derive(Default)]
struct Planted {
    words: Option<Vec<OcrWord>>,
    asked: AtomicUsize,
}

impl OcrEngine for &Planted {
    fn words(&self, _: &Raster, _: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.words.clone().ok_or(OcrError::Unavailable)
    }

    fn turn(&self, _: &Raster, _: &Stop) -> Result<u16, OcrError> {
        self.words.as_ref().map(|_| 0).ok_or(OcrError::Unavailable)
    }
}

impl Planted {
    fn says(words: Vec<OcrWord>) -> Self {
        Self { words: Some(words), ..Self::default() }
    }
}

/// An image of three lines, what the networks read in it, and what each line costs.
static READ: LazyLock<(Raster, Vec<OcrWord>, Vec<u32>)> = LazyLock::new(|| {
    let raster =
        raster(drawn(&["Invoice number RE-2043", "Total amount 1234.50", "Payable within two weeks"]));
    let words = networks().words(&raster, &Stop::default()).expect("it is read");
    let recogniser = Recogniser::new(&WEIGHTS, &Threads::start()).expect("the project's weights");
    let image = Image { width: raster.width, height: raster.height, pixels: &raster.pixels };
    let lines = recogniser.find(image).expect("lines");
    let cost = |line: u32| {
        let first = words.iter().find(|word| word.line == line).expect("a line");
        let (x, y) = (first.left + first.width / 2, first.top + first.height / 2);
        lines.iter().find(|line| line.contains(x as f32, y as f32)).expect("its line").cost()
    };
    let costs = vec![cost(1), cost(2), cost(3)];
    assert_eq!((lines.len(), words.iter().map(|word| word.line).max()), (3, Some(3)), "{words:?}");
    (raster, words, costs)
});

#[test]
fn the_networks_alone_read_an_image_of_few_lines() {
    let (raster, words, _) = &*READ;
    let other = Planted::says(Vec::new());
    let engine = WithNetworks::new(&other, networks());
    assert_eq!(engine.words(raster, &Stop::default()).as_ref(), Ok(words));
    assert_eq!(engine.again(raster, words, &Stop::default()), None, "they are probable");
    assert_eq!(other.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn the_other_engine_reads_what_the_networks_cannot() {
    let (raster, words, _) = &*READ;
    let other = Planted::says(words.clone());
    let engine = WithNetworks::new(&other, networks());
    let doubtful: Vec<OcrWord> =
        words.iter().map(|word| OcrWord { confidence: 50.0, text: "?".to_owned(), ..word.clone() }).collect();
    for poor in [Vec::new(), doubtful.clone()] {
        assert_eq!(engine.again(raster, &poor, &Stop::default()).as_ref(), Some(words));
    }
    let other = Planted::says(doubtful.clone());
    let engine = WithNetworks::new(&other, networks());
    assert_eq!(engine.again(raster, &doubtful, &Stop::default()), None, "it reads no better");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Of an image of many lines, the networks read the doubtful ones again, the most doubtful first, up to the limit. The
    /// other lines stay as they were read, and no two lines become one.
    #[test]
    fn doubtful_lines_of_many_are_read_again(
        confidences in Just(vec![20.0_f32, 75.0, 99.0]).prop_shuffle(), missing in proptest::option::of(0_usize..3),
        share in 0.0_f32..0.99,
    ) {
        let (raster, words, costs) = &*READ;
        let limit = (costs.iter().sum::<u32>() as f32 * share) as u32;
        let at = |word: &OcrWord| word.line as usize - 1;
        let first: Vec<OcrWord> = words
            .iter()
            .filter(|word| missing != Some(at(word)))
            .map(|word| {
                let text = format!("{}x", word.text.to_uppercase());
                OcrWord { text, confidence: confidences[at(word)], ..word.clone() }
            })
            .collect();
        let mut doubtful: Vec<usize> =
            (0..3).filter(|line| missing == Some(*line) || confidences[*line] < 90.0).collect();
        doubtful.sort_by(|a, b| {
            let doubt = |line: usize| if missing == Some(line) { 0.0 } else { confidences[line] };
            doubt(*a).total_cmp(&doubt(*b))
        });
        let again: Vec<usize> = doubtful
            .into_iter()
            .scan(0, |cost, line| {
                *cost += costs[line];
                (*cost <= limit).then_some(line)
            })
            .collect();
        // Where most is wrong, the image may be turned: it is read again once that is known.
        let other = Planted::says(first.clone());
        let engine = WithNetworks::new(&other, networks()).with_limit(limit);
        let read = engine.words(raster, &Stop::default()).expect("it is read");
        prop_assert_eq!(other.asked.load(Ordering::Relaxed), 1);
        let both = engine.again(raster, &read, &Stop::default()).unwrap_or(read);
        let on_line = |of: &[OcrWord], line: usize| -> Vec<String> {
            let top = words.iter().find(|word| at(word) == line).expect("a line").top;
            of.iter().filter(|word| word.top.abs_diff(top) < 20).map(|word| word.text.clone()).collect()
        };
        for line in 0..3 {
            let wanted = if again.contains(&line) { on_line(words, line) } else { on_line(&first, line) };
            prop_assert_eq!(on_line(&both, line), wanted, "line {} of {:?}, again {:?}", line, confidences, again);
        }
        let numbers: std::collections::BTreeSet<u32> = both.iter().map(|word| word.line).collect();
        let lines = (0..3).filter(|line| !on_line(&both, *line).is_empty()).count();
        prop_assert_eq!(numbers.len(), lines);
    }
}

#[test]
fn the_networks_read_alone_where_there_is_no_engine() {
    let (raster, ..) = &*READ;
    let other = Planted::default();
    let engine = WithNetworks::new(&other, networks()).with_limit(0);
    let words = engine.words(raster, &Stop::default()).expect("it is read");
    assert!(words.iter().any(|word| word.text == "RE-2043"), "{words:?}");
    assert_eq!(engine.turn(raster, &Stop::default()), Ok(0));
    let stopped = Stop::default();
    stopped.stop();
    assert_eq!(engine.words(raster, &stopped), Ok(Vec::new()), "nobody waits any more");
}

/// On a busy machine.
#[test]
fn the_other_engine_reads_where_the_networks_run_out_of_time() {
    let (raster, words, _) = &*READ;
    let other = Planted::says(words.clone());
    let engine = WithNetworks::new(&other, networks().with_time(Duration::ZERO));
    assert_eq!(engine.words(raster, &Stop::default()).as_ref(), Ok(words));
    let other = Planted::default();
    let engine = WithNetworks::new(&other, networks().with_time(Duration::ZERO));
    assert_eq!(engine.words(raster, &Stop::default()), Ok(Vec::new()), "there is no other");
}

#[test]
fn the_time_for_an_image_is_bounded() {
    let (raster, ..) = &*READ;
    let words = networks().with_time(Duration::ZERO).words(raster, &Stop::default());
    assert_eq!(words, Ok(Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Words lie where lines may be found, and an image whose pixels are not as many as its sides say is refused.
    #[test]
    fn any_image_is_read_or_refused(
        width in 1_u32..200, height in 1_u32..200, missing in 0_usize..2, seed in any::<u64>(), blocks in 1_u64..40,
    ) {
        let shade = |at: u64| ((at / blocks).wrapping_mul(seed | 1) >> 56) as u8;
        let length = (width * height) as usize - missing;
        let pixels = (0..length as u64).map(shade).collect();
        let read = networks().words(&Raster { width, height, dpi: 72.0, pixels }, &Stop::default());
        prop_assert_eq!(read.is_ok(), missing == 0);
        for word in read.unwrap_or_default() {
            prop_assert!((0.0..=100.0).contains(&word.confidence) && !word.text.is_empty());
            prop_assert!(word.left < 2 * width + 100 && word.top < 2 * height + 100, "{:?}", word);
        }
    }
}
