//! Images: decoding, OCR by a planted engine, and by the real one if it is installed.

use std::io::Cursor;
use std::sync::Mutex;

use extraction::document::ocr::{OcrEngine, OcrError, OcrWord, Raster, Stop, Tesseract};
use extraction::document::{Document, Limits, PageSource, ReadError, Unit, Warning, read_with};
use image::imageops::{rotate90, rotate180, rotate270};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage};

use crate::{lines, read_default};

/// Whether an image is upright.
type Upright = fn(&Raster) -> bool;

/// Reads the same words in every image, with more confidence in upright ones, and records the images.
#[derive(Default)]
struct Planted {
    words: Vec<OcrWord>,
    /// What it says when it is asked for the way up; it fails where there is nothing.
    turn: Option<u16>,
    upright: Option<Upright>,
    shown: Mutex<Vec<Raster>>,
}

impl Planted {
    fn says(texts: &[(&str, u32, u32, u32, f32)]) -> Self {
        let words = texts
            .iter()
            .map(|(text, left, top, line, confidence)| OcrWord {
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

impl OcrEngine for Planted {
    fn words(&self, raster: &Raster, _: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        self.shown.lock().expect("no test panics with it").push(raster.clone());
        let mut words = self.words.clone();
        if self.upright.is_some_and(|upright| upright(raster)) {
            words.iter_mut().for_each(|word| word.confidence = 96.0);
        }
        Ok(words)
    }

    fn turn(&self, _: &Raster, _: &Stop) -> Result<u16, OcrError> {
        self.turn.ok_or(OcrError::Failed)
    }
}

fn encoded(sample_image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    sample_image.write_to(&mut bytes, format).expect("memory takes it");
    bytes.into_inner()
}

/// A dark square in the upper left quarter of a light image.
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
fn every_format_decodes_to_the_same_image() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Bmp, ImageFormat::Gif, ImageFormat::WebP]
    {
        let sample_image = if format == ImageFormat::Gif || format == ImageFormat::WebP {
            DynamicImage::from(marked().to_rgba8())
        } else {
            marked()
        };
        let engine = Planted::says(&[("Total", 20, 20, 1, 96.0), ("12.00", 100, 20, 1, 91.0)]);
        let document = read(&encoded(&sample_image, format), &engine);
        assert_eq!(lines(&document), ["Total 12.00"], "{format:?}");
        let page = &document.pages[0];
        assert_eq!((document.page_count, page.source), (Some(1), PageSource::Ocr));
        let shown = &engine.shown()[0];
        assert_eq!((shown.width, shown.height), (200, 160), "{format:?}");
        assert!(shade(shown, 40, 35) < 80 && shade(shown, 150, 120) > 230, "{format:?}");
        let words = &page.lines[0].words;
        assert!(words[0].confidence > 0.98 && words[1].confidence > 0.8 && words[1].confidence < 0.96);
        let position = words[1].bbox.expect("it has a position");
        assert!((position.x / page.width - 0.5).abs() < 0.01, "{position:?}");
    }
}

#[test]
fn transparency_shows_white_paper() {
    let clear = |x, _| if x < 100 { Rgba([0, 0, 0, 0]) } else { Rgba([0, 0, 0, 255]) };
    let sample_image = DynamicImage::from(RgbaImage::from_fn(200, 160, clear));
    let engine = Planted::default();
    read(&encoded(&sample_image, ImageFormat::Png), &engine);
    let shown = &engine.shown()[0];
    assert!(shade(shown, 30, 80) > 230, "{}", shade(shown, 30, 80));
}

/// By how many degrees [`marked`] is to be turned, and what tells that it was: where its square is.
const TURNED: [(u16, Upright); 3] = [
    (90, |raster| raster.width == 160 && middle(raster) > 80),
    (180, |raster| raster.width == 200 && middle(raster) > 100),
    (270, |raster| raster.width == 160 && middle(raster) < 80),
];

/// How far from the left the middle of what is dark is.
fn middle(raster: &Raster) -> u32 {
    let dark = (0..).zip(&raster.pixels).filter(|(_, shade)| **shade < 100);
    let (count, sum) = dark.fold((0, 0), |(count, sum), (at, _)| (count + 1, sum + at % raster.width));
    sum / count.max(1)
}

#[test]
fn a_doubtful_image_is_rotated_and_positions_are_mapped_back() {
    let positions = [((125, 40), (20, 100)), ((160, 125), (140, 128)), ((35, 160), (168, 20))];
    for ((turn, upright), (dark, back)) in TURNED.into_iter().zip(positions) {
        let mut engine = Planted::says(&[("upside", 20, 20, 1, 30.0), ("down", 80, 20, 1, 30.0)]);
        (engine.turn, engine.upright) = (Some(turn), Some(upright));
        let document = read(&encoded(&marked(), ImageFormat::Png), &engine);
        // As it is, a third of it turned, of one on its side a third each way, all of it turned.
        let shown = engine.shown();
        let last = if turn == 180 { 2 } else { 3 };
        assert_eq!(shown.len(), last + 1, "{turn}");
        assert!(shade(&shown[0], 40, 35) < 80 && shade(&shown[last], dark.0, dark.1) < 80, "{turn}");
        let whole = &shown[last];
        let part = |part: &Raster| part.width == whole.width && part.height <= whole.height.div_ceil(3);
        assert!(shown[1..last].iter().all(part), "{turn}");
        let page = &document.pages[0];
        let upright = if turn == 180 { (200, 160) } else { (160, 200) };
        assert_eq!((whole.width, whole.height), upright);
        assert_eq!((page.turn, lines(&document)), (turn, vec!["upside down".to_owned()]));
        assert!((page.width / page.height - upright.0 as f32 / upright.1 as f32).abs() < 0.01);
        // On the upright page words stay where they were found; on the one that was given they lie as it does.
        let scale = page.width / upright.0 as f32;
        let position = page.lines[0].words[0].bbox.expect("it has a position");
        assert!(
            (position.x / scale - 20.0).abs() < 0.5 && (position.y / scale - 20.0).abs() < 0.5,
            "{position:?}"
        );
        let shown = page.as_shown(position);
        assert!((shown.x / scale - back.0 as f32).abs() < 0.5, "{turn}: {shown:?}");
        assert!((shown.y / scale - back.1 as f32).abs() < 0.5, "{turn}: {shown:?}");
    }
}

#[test]
fn reading_tells_the_direction_that_the_engine_has_wrong() {
    for (turn, upright) in TURNED {
        for said in [Some((turn + 180) % 360), None] {
            let mut engine = Planted::says(&[("upside", 20, 20, 1, 30.0), ("down", 80, 20, 1, 30.0)]);
            (engine.turn, engine.upright) = (said, Some(upright));
            let document = read(&encoded(&marked(), ImageFormat::Png), &engine);
            assert_eq!(document.pages[0].turn, turn, "{said:?}");
        }
    }
}

#[test]
fn a_poor_upright_image_is_not_rotated() {
    for said in [Some(0), Some(90), Some(180), Some(270), None] {
        let mut engine = Planted::says(&[("poorly", 20, 20, 1, 30.0), ("printed", 80, 20, 1, 30.0)]);
        engine.turn = said;
        let document = read(&encoded(&marked(), ImageFormat::Png), &engine);
        assert_eq!(document.pages[0].turn, 0, "{said:?}");
        // No more than parts of it are read once more.
        let shown = engine.shown();
        assert!(
            shown.len() > 1 && shown[1..].iter().all(|part| part.height <= 200_u32.div_ceil(3)),
            "{said:?}"
        );
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

/// A TIFF of one frame that says so often that another follows; the last one leads to `then`.
fn chained(frames: u32, then: u32) -> Vec<u8> {
    const ENTRIES: [(u16, u16, u32); 9] = [
        (256, 4, 1),
        (257, 4, 1),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8),
        (277, 3, 1),
        (278, 4, 1),
        (279, 4, 1),
    ];
    const LENGTH: u32 = 2 + 12 * ENTRIES.len() as u32 + 4;
    let mut bytes = b"II*\0".to_vec();
    bytes.extend(12_u32.to_le_bytes());
    bytes.extend([255; 4]);
    for frame in 1..=frames {
        bytes.extend((ENTRIES.len() as u16).to_le_bytes());
        for (tag, kind, value) in ENTRIES {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend([1_u32, value].into_iter().flat_map(u32::to_le_bytes));
        }
        let next = if frame < frames { 12 + frame * LENGTH } else { then };
        bytes.extend(next.to_le_bytes());
    }
    bytes
}

#[test]
fn too_many_frames_are_counted_where_their_chain_has_an_end() {
    let too_many = |actual| Err(ReadError::TooLarge { unit: Unit::Pages, limit: 50, actual });
    assert_eq!(read_default(&chained(50, 0)).expect("it is read").page_count, Some(50));
    assert_eq!(read_default(&chained(60, 0)), too_many(Some(60)));
    assert_eq!(read_default(&chained(20_000, 0)), too_many(Some(20_000)));
    assert_eq!(read_default(&chained(60, 12)), too_many(None), "a circle");
    assert_eq!(read_default(&chained(60, u32::MAX)), too_many(None), "beyond the end");

    let mut big = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new_big(&mut big).expect("memory takes it");
    for _ in 0..52 {
        encoder.write_image::<tiff::encoder::colortype::Gray8>(1, 1, &[255]).expect("memory takes it");
    }
    assert_eq!(read_default(&big.into_inner()), too_many(Some(52)));
}

#[test]
fn without_ocr_an_image_has_no_text_and_a_warning() {
    let document = read_default(&encoded(&marked(), ImageFormat::Png)).expect("it is read");
    assert!(lines(&document).is_empty());
    assert_eq!(document.warnings, [Warning::OcrUnavailable { page: 1 }]);
    let page = &document.pages[0];
    assert_eq!((page.number, page.source), (1, PageSource::Flow), "nothing was recognised");
    assert!(page.width > 800.0 && page.height > 600.0, "{page:?}");
}

#[test]
fn an_image_of_too_many_pixels_is_rejected_by_its_header() {
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
fn the_real_engine_reads_pages_that_lie_or_stand_on_their_head() {
    let engine = Tesseract::default();
    if engine.check().is_err() {
        eprintln!("tesseract is not installed: left out");
        return;
    }
    // Too few letters for it to say which way is up: only reading tells.
    let texts = ["Total amount 1234.50"];
    let page = crate::files::drawn(&texts);
    for (turned, turn) in [(rotate90(&page), 270), (rotate180(&page), 180), (rotate270(&page), 90)] {
        let document =
            read_with(&encoded(&turned.into(), ImageFormat::Png), &Limits::default(), Some(&engine));
        let document = document.expect("it is read");
        assert_eq!((document.pages[0].turn, lines(&document)), (turn, texts.map(str::to_owned).to_vec()));
    }
}

#[test]
fn the_real_engine_reads_a_scanned_page() {
    let engine = Tesseract::default();
    if engine.check().is_err() {
        eprintln!("tesseract is not installed: left out");
        return;
    }
    let scan = crate::files::scan(&["Invoice number RE-2043", "Total amount 1234.50"]);
    let document = read_with(&scan, &Limits::default(), Some(&engine)).expect("it is read");
    assert_eq!(lines(&document), ["Invoice number RE-2043", "Total amount 1234.50"]);
    assert_eq!(document.pages[0].source, PageSource::Ocr);
    let word = &document.pages[0].lines[0].words[0];
    assert!(word.confidence > 0.8);
    let position = word.bbox.expect("it has a position");
    assert!((position.x - 60.0).abs() < 6.0 && (position.y - 88.0).abs() < 12.0, "{position:?}");
}
