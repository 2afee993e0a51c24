//! Documents that are broken at random: each is read or refused, and nothing else happens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use extraction::document::ocr::{OcrEngine, OcrError, OcrWord, Raster, Stop};
use extraction::document::{Limits, ReadError, read};
use extraction::worker::{Worker, WorkerError};

use crate::alone::alone;
use crate::files::{
    deflated, docx, docx_of, paragraph, pdf, pdf_of, pdf_with, sample_image, scan, show, stream, tiff,
    word_document, zip,
};
use crate::memory::{Watch, resident};
use crate::worker::PROGRAM;

/// A generator of numbers that says the same at every run: xorshift.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn mutate(document: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut mutated = document.to_vec();
    for _ in 0..=numbers.below(8) {
        let at = numbers.below(mutated.len());
        match numbers.below(6) {
            0 => mutated[at] = numbers.next() as u8,
            1 => mutated[at] ^= 1 << numbers.below(8),
            2 => mutated.truncate(at.max(16)),
            3 => {
                let end = (at + numbers.below(64)).min(mutated.len());
                let part = mutated[at..end].to_vec();
                let to = numbers.below(mutated.len());
                mutated.splice(to..to, part);
            }
            4 => {
                let end = (at + numbers.below(32)).min(mutated.len());
                mutated.drain(at..end);
            }
            _ => {
                // Numbers are lengths, offsets and references.
                if let Some(digit) = mutated[at..].iter().position(u8::is_ascii_digit) {
                    mutated[at + digit] = b'0' + numbers.below(10) as u8;
                }
            }
        }
        if mutated.len() < 16 {
            mutated = document.to_vec();
        }
    }
    mutated
}

fn seeds() -> Vec<Vec<u8>> {
    let fields = vec![
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ada)/Rect[200 695 400 712]>>".to_vec(),
        b"<</Type/Annot/Subtype/Widget/FT/Btn/AS/On/Rect[200 670 212 682]>>".to_vec(),
    ];
    let content =
        show(50.0, 700.0, 10.0, "Name") + "50 650 10 10 re S q 1 0 0 1 5 5 cm 1 1 1 rg 0 0 9 9 re f Q\n";
    let table =
        format!("<w:tbl><w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr></w:tbl>", paragraph("a"), paragraph("b"));
    vec![
        pdf_with(&[&content, &content], "/Annots[5 0 R 6 0 R]/Rotate 90", &fields),
        scan(&["text"]),
        docx_of(
            &word_document(&(paragraph("text") + &table)),
            &[("header1.xml", "header", "<w:hdr></w:hdr>")],
        ),
        tiff(),
        sample_image(image::ImageFormat::Png),
        sample_image(image::ImageFormat::Bmp),
        sample_image(image::ImageFormat::Gif),
        sample_image(image::ImageFormat::Jpeg),
    ]
}

#[test]
fn documents_broken_at_random_are_read_or_refused() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut read_count, mut refused) = (0, 0);
    for seed in seeds() {
        assert!(read(&seed, &Limits::default()).is_ok());
        let count = if seed.len() > 20_000 { 10 } else { 50 };
        for _ in 0..count {
            match read(&mutate(&seed, &mut numbers), &Limits::default()) {
                Ok(_) => read_count += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read_count > 50 && refused > 50, "{read_count} read, {refused} refused");
}

/// Documents that want more than one may.
fn hostile() -> Vec<Vec<u8>> {
    let spaces = |mebibytes| std::iter::repeat_n(vec![b' '; 1 << 20], mebibytes);
    let many_parts: Vec<String> = (0..5000).map(|index| format!("word/media/{index}")).collect();
    let kids = "<</Type/Page/MediaBox[0 0 9 9]>>".repeat(10_000);
    let pages = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{kids}]/Count 10000>>").into_bytes(),
    ];
    let circle = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R 2 0 R]/Count 1>>".to_vec(),
        b"<</Type/Pages/Parent 2 0 R/Kids[2 0 R 3 0 R]/Count 1>>".to_vec(),
    ];
    let bomb = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R>>".to_vec(),
        stream("/Filter[/FlateDecode/FlateDecode]", &deflated(std::iter::once(deflated(spaces(70))))),
    ];
    let nested = [b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), "[".repeat(1_000_000).into_bytes()];
    let mut huge = sample_image(image::ImageFormat::Bmp);
    huge[18..22].copy_from_slice(&20_000_u32.to_le_bytes());
    huge[22..26].copy_from_slice(&20_000_u32.to_le_bytes());
    vec![
        docx(&paragraph(&" ".repeat(3 << 20))),
        docx(&"<w:p>".repeat(100_000)),
        zip(many_parts.iter().map(|name| (name.as_str(), Vec::new()))),
        pdf_of(&pages),
        pdf_of(&circle),
        pdf_of(&bomb),
        pdf_of(&nested),
        pdf(&["[".repeat(2_000_000).as_str()]),
        pdf(&[&show(50.0, 700.0, 10.0, "aaa").repeat(50_000)]),
        crate::worker::laughs(),
        huge,
    ]
}

/// Reads nothing with confidence, so that images are tried in each rotation.
struct Doubting;

impl OcrEngine for Doubting {
    fn words(&self, raster: &Raster, _: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        // One of them lies outside.
        let positions = [(0, 0), (raster.width, raster.height), (u32::MAX, u32::MAX)];
        let word = |(at, (left, top)): (usize, (u32, u32))| OcrWord {
            text: "perhaps".to_owned(),
            left,
            top,
            width: raster.width,
            height: 9,
            confidence: raster.height as f32 % 101.0,
            line: at as u32,
        };
        Ok(positions.into_iter().enumerate().map(word).collect())
    }

    fn turn(&self, raster: &Raster, _: &Stop) -> Result<u16, OcrError> {
        [Ok(0), Ok(90), Ok(180), Ok(270), Err(OcrError::Failed)][raster.height as usize % 5]
    }
}

/// Bytes that the process that reads a document may hold.
const CHILD: u64 = 768 << 20;
/// Bytes by which this process may grow while others read.
const GROWTH: u64 = 16 << 20;
/// Reads so many documents, each in its own process: broken ones, and one hostile one in ten. Whatever they contain, this
/// process survives, no document takes longer than `timeout`, and neither side uses too much memory.
#[expect(clippy::disallowed_methods, reason = "it measures how long documents take")]
async fn campaign(documents: usize, worker: &Worker, timeout: Duration) {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let (seeds, hostile) = (seeds(), hostile());
    let mut tally = std::collections::BTreeMap::<String, u32>::new();
    let (mut at_rest, mut slowest) = (None, Duration::ZERO);
    let watch = Watch::begin();
    for round in 0..documents {
        if round == documents / 30 {
            at_rest = resident();
        }
        let document = match (round / 10, round % 10) {
            // Each as it is before it is broken.
            (nth, 9) if nth < hostile.len() => hostile[nth].clone(),
            (nth, 9) => mutate(&hostile[nth % hostile.len()], &mut numbers),
            _ => mutate(&seeds[round % seeds.len()], &mut numbers),
        };
        let begun = Instant::now();
        // Some without recognition, which takes most of the time.
        let engine = (round % 3 == 0).then(|| Arc::new(Doubting) as Arc<dyn OcrEngine>);
        let read = worker.read(&document, Limits::default(), engine);
        let result = tokio::time::timeout(timeout, read).await.expect("it ends in time");
        slowest = slowest.max(begun.elapsed());
        let outcome = match result {
            Ok(_) => "read".to_owned(),
            Err(WorkerError::Document(error @ (ReadError::Unreadable(_) | ReadError::Encrypted))) => {
                error.to_string()
            }
            Err(WorkerError::Document(ReadError::TooLarge { unit, .. })) => format!("too many {unit}"),
            Err(WorkerError::Document(ReadError::Unsupported)) => "unsupported".to_owned(),
            Err(error) => panic!("{error}"),
        };
        *tally.entry(outcome).or_default() += 1;
    }
    let growth = resident().zip(at_rest).map(|(now, before)| now.saturating_sub(before));
    let held = watch.end();
    println!("{tally:#?}\nslowest {slowest:?}");
    println!("a child held at most {held:?} bytes, growth of this process {growth:?} bytes");
    // A process that holds nothing was not looked at.
    assert!(held.is_none_or(|held| (1 << 20..=CHILD).contains(&held)), "{held:?}");
    assert!(growth.is_none_or(|growth| growth <= GROWTH), "{growth:?}");
}

#[test]
fn broken_documents_end_in_their_workers() {
    alone("mutations::broken_documents_end_in_their_workers", async {
        // Bombs end sooner than with the worker's own timeout, and what is slow without optimisation, later.
        let worker = Worker::at(PROGRAM).with_timeout(Duration::from_secs(4));
        campaign(120, &worker, Duration::from_secs(40)).await;
    });
}

/// `cargo nextest run -p extraction --release --run-ignored only campaign --no-capture`
#[test]
#[ignore = "a campaign of thousands"]
fn campaign_of_broken_documents_in_workers() {
    alone("mutations::campaign_of_broken_documents_in_workers", async {
        campaign(3000, &Worker::at(PROGRAM), Duration::from_secs(10)).await;
    });
}
