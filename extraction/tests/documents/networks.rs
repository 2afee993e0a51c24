//! OCR by the networks: in this process, in the worker without another engine, and as the second reader.

use std::time::Duration;

use extraction::document::ocr::{Networks, OcrEngine, OcrError, OcrWord, Raster, Stop, WithNetworks};
use extraction::document::{Document, Limits, PageSource, Warning, read_with};
use extraction::worker::Worker;
use image::imageops::{rotate90, rotate180, rotate270};
use image::{GrayImage, ImageFormat};
use proptest::prelude::*;
use recognition::{Letters, Threads, Weights};

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

/// Reads the same word in every image, or says that there is no engine.
struct Planted(Option<OcrWord>);

impl OcrEngine for Planted {
    fn words(&self, _: &Raster, _: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        Ok(vec![self.0.clone().ok_or(OcrError::Unavailable)?])
    }

    fn turn(&self, _: &Raster, _: &Stop) -> Result<u16, OcrError> {
        self.0.as_ref().map(|_| 0).ok_or(OcrError::Unavailable)
    }
}

#[test]
fn the_networks_read_again_what_an_engine_is_unsure_of() {
    let raster = raster(drawn(&TEXTS));
    let read = |confidence: f32, count: usize| {
        let text = "Tota1".to_owned();
        let word = OcrWord { text, left: 10, top: 10, width: 40, height: 12, confidence, line: 1 };
        let engine = WithNetworks::new(Planted(Some(word.clone())), networks());
        engine.again(&raster, &vec![word; count], &Stop::default())
    };
    let again = read(80.0, 1).expect("it is better");
    assert!(again.iter().any(|word| word.text == "1234.50"), "{again:?}");
    assert_eq!(read(90.0, 1), None, "the engine is sure");
    assert_eq!(read(80.0, 251), None, "the page is dense");
}

#[test]
fn the_networks_read_alone_where_there_is_no_engine() {
    let raster = raster(drawn(&TEXTS));
    let engine = WithNetworks::new(Planted(None), networks());
    let words = engine.words(&raster, &Stop::default()).expect("it is read");
    assert!(words.iter().any(|word| word.text == "RE-2043"), "{words:?}");
    assert_eq!(engine.turn(&raster, &Stop::default()), Ok(0));
    let stopped = Stop::default();
    stopped.stop();
    assert_eq!(engine.words(&raster, &stopped), Ok(Vec::new()), "nobody waits any more");
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
