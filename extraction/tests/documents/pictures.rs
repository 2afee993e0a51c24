//! Pictures: decoding, recognition by an engine that is planted, and by the real one where it is installed.

use std::io::Cursor;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use extraction::document::recognition::{Raster, Recognise, RecogniseError, RecognisedWord, Stop, Tesseract};
use extraction::document::{Document, Limits, PageSource, ReadError, Unit, Warning, read_with};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage};

use crate::{lines, read_default};

/// Says the same words of every picture, surer ones once it was asked which way is up, and remembers what it was shown.
#[derive(Default)]
struct Planted {
    words: Vec<RecognisedWord>,
    turn: u16,
    asked: AtomicBool,
    shown: Mutex<Vec<Raster>>,
}

impl Planted {
    fn says(texts: &[(&str, u32, u32, u32, f32)]) -> Self {
        let words = texts
            .iter()
            .map(|(text, left, top, line, confidence)| RecognisedWord {
                text: (*text).to_owned(),
                left: *left,
                top: *top,
                width: 40,
                height: 12,
                confidence: *confidence,
                line: *line,
            })
            .collect();
        Self { words, ..Self::default() }
    }

    fn shown(&self) -> Vec<Raster> {
        self.shown.lock().expect("no test panics with it").clone()
    }
}

impl Recognise for Planted {
    fn words(&self, raster: &Raster, _: &Stop) -> Result<Vec<RecognisedWord>, RecogniseError> {
        self.shown.lock().expect("no test panics with it").push(raster.clone());
        let mut words = self.words.clone();
        if self.asked.load(Ordering::Relaxed) {
            words.iter_mut().for_each(|word| word.confidence = 96.0);
        }
        Ok(words)
    }

    fn turn(&self, _: &Raster, _: &Stop) -> Result<u16, RecogniseError> {
        self.asked.store(true, Ordering::Relaxed);
        Ok(self.turn)
    }
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("memory takes it");
    bytes.into_inner()
}

/// A dark square in the upper left quarter of a light picture.
fn marked() -> DynamicImage {
    let dark = |x, y| if (20..60).contains(&x) && (20..50).contains(&y) { Luma([10]) } else { Luma([240]) };
    GrayImage::from_fn(200, 160, dark).into()
}

fn read(bytes: &[u8], engine: &Planted) -> Document {
    read_with(bytes, &Limits::default(), Some(engine)).expect("it is read")
}

fn shade(raster: &Raster, x: u32, y: u32) -> u8 {
    raster.pixels[(y * raster.width + x) as usize]
}

#[test]
fn every_format_comes_to_the_same_picture() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Bmp, ImageFormat::Gif, ImageFormat::WebP]
    {
        let picture = if format == ImageFormat::Gif || format == ImageFormat::WebP {
            DynamicImage::from(marked().to_rgba8())
        } else {
            marked()
        };
        let engine = Planted::says(&[("Total", 20, 20, 1, 96.0), ("12.00", 100, 20, 1, 91.0)]);
        let document = read(&encoded(&picture, format), &engine);
        assert_eq!(lines(&document), ["Total 12.00"], "{format:?}");
        let page = &document.pages[0];
        assert_eq!((document.page_count, page.source), (Some(1), PageSource::Recognised));
        let shown = &engine.shown()[0];
        assert_eq!((shown.width, shown.height), (200, 160), "{format:?}");
        assert!(shade(shown, 40, 35) < 80 && shade(shown, 150, 120) > 230, "{format:?}");
        let words = &page.lines[0].words;
        assert!(words[0].confidence > 0.98 && words[1].confidence > 0.8 && words[1].confidence < 0.96);
        let place = words[1].bbox.expect("it has a place");
        assert!((place.x / page.width - 0.5).abs() < 0.01, "{place:?}");
    }
}

#[test]
fn transparency_shows_white_paper() {
    let clear = |x, _| if x < 100 { Rgba([0, 0, 0, 0]) } else { Rgba([0, 0, 0, 255]) };
    let picture = DynamicImage::from(RgbaImage::from_fn(200, 160, clear));
    let engine = Planted::default();
    read(&encoded(&picture, ImageFormat::Png), &engine);
    let shown = &engine.shown()[0];
    assert!(shade(shown, 30, 80) > 230, "{}", shade(shown, 30, 80));
}

#[test]
fn a_doubtful_picture_is_turned_and_places_come_back() {
    for (turn, dark, back) in
        [(90, (125, 40), (20, 100)), (180, (160, 125), (140, 128)), (270, (35, 160), (168, 20))]
    {
        let mut engine = Planted::says(&[("upside", 20, 20, 1, 30.0), ("down", 80, 20, 1, 30.0)]);
        engine.turn = turn;
        let document = read(&encoded(&marked(), ImageFormat::Png), &engine);
        // As it is, a third of it turned, all of it turned.
        let shown = engine.shown();
        assert_eq!(shown.len(), 3);
        assert!(shade(&shown[0], 40, 35) < 80 && shade(&shown[2], dark.0, dark.1) < 80, "{turn}");
        assert!(shown[1].width == shown[2].width && shown[1].height <= shown[2].height.div_ceil(3));
        let page = &document.pages[0];
        let upright = if turn == 180 { (200, 160) } else { (160, 200) };
        assert_eq!((shown[2].width, shown[2].height), upright);
        assert_eq!((page.turn, lines(&document)), (turn, vec!["upside down".to_owned()]));
        assert!((page.width / page.height - upright.0 as f32 / upright.1 as f32).abs() < 0.01);
        // On the upright page words stay where they were found; on the one that was given they lie as it does.
        let scale = page.width / upright.0 as f32;
        let place = page.lines[0].words[0].bbox.expect("it has a place");
        assert!((place.x / scale - 20.0).abs() < 0.5 && (place.y / scale - 20.0).abs() < 0.5, "{place:?}");
        let shown = page.as_shown(place);
        assert!((shown.x / scale - back.0 as f32).abs() < 0.5, "{turn}: {shown:?}");
        assert!((shown.y / scale - back.1 as f32).abs() < 0.5, "{turn}: {shown:?}");
    }
}

#[test]
fn frames_of_a_tiff_are_pages() {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut bytes).expect("memory takes it");
    for shade in [255_u8, 200, 128] {
        encoder
            .write_image::<tiff::encoder::colortype::Gray8>(30, 20, &vec![shade; 600])
            .expect("memory takes it");
    }
    let engine = Planted::says(&[("page", 1, 1, 1, 96.0)]);
    let document = read(&bytes.into_inner(), &engine);
    assert_eq!((document.page_count, document.pages.len()), (Some(3), 3));
    assert_eq!(document.pages[2].number, 3);
}

#[test]
fn without_recognition_a_picture_has_no_text_and_says_so() {
    let document = read_default(&encoded(&marked(), ImageFormat::Png)).expect("it is read");
    assert!(lines(&document).is_empty());
    assert_eq!(document.warnings, [Warning::OcrUnavailable { page: 1 }]);
}

#[test]
fn a_picture_of_too_many_pixels_is_refused_by_its_head() {
    let mut png = encoded(&marked(), ImageFormat::Png);
    png[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
    png[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
    let head = crc(&png[12..29]);
    png[29..33].copy_from_slice(&head.to_be_bytes());
    let limit = Limits::default().pixels;
    let too_large = ReadError::TooLarge { unit: Unit::Pixels, limit, actual: Some(3_600_000_000) };
    assert_eq!(read_default(&png), Err(too_large));
    let mut bmp = encoded(&marked(), ImageFormat::Bmp);
    bmp[18..22].copy_from_slice(&20_000_u32.to_le_bytes());
    bmp[22..26].copy_from_slice(&20_000_u32.to_le_bytes());
    let too_large = ReadError::TooLarge { unit: Unit::Pixels, limit, actual: Some(400_000_000) };
    assert_eq!(read_default(&bmp), Err(too_large));
}

fn crc(bytes: &[u8]) -> u32 {
    let mut hasher = flate2::Crc::new();
    hasher.update(bytes);
    hasher.sum()
}

#[test]
fn the_real_engine_reads_a_scanned_page() {
    let engine = Tesseract::default();
    if !engine.is_installed() {
        eprintln!("tesseract is not installed: left out");
        return;
    }
    let scan = crate::files::scan(&["Invoice number RE-2043", "Total amount 1234.50"]);
    let document = read_with(&scan, &Limits::default(), Some(&engine)).expect("it is read");
    assert_eq!(lines(&document), ["Invoice number RE-2043", "Total amount 1234.50"]);
    assert_eq!(document.pages[0].source, PageSource::Recognised);
    let word = &document.pages[0].lines[0].words[0];
    assert!(word.confidence > 0.8);
    let place = word.bbox.expect("it has a place");
    assert!((place.x - 60.0).abs() < 6.0 && (place.y - 88.0).abs() < 12.0, "{place:?}");
}
