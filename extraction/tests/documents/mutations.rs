//! Documents that are broken at random: each is read or refused, and nothing else happens.

use std::time::Duration;

use extraction::document::{Limits, ReadError, read};
use extraction::worker::{Worker, WorkerError};

use crate::files::{docx_of, paragraph, pdf_with, picture, scan, show, tiff, word_document};

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
        picture(image::ImageFormat::Png),
        picture(image::ImageFormat::Bmp),
        picture(image::ImageFormat::Gif),
        picture(image::ImageFormat::Jpeg),
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

/// `cargo nextest run -p extraction --release --run-ignored only campaign`
#[tokio::test]
#[ignore = "a campaign of thousands"]
async fn campaign_of_broken_documents_in_workers() {
    let worker = Worker::at(env!("CARGO_BIN_EXE_extraction-worker"));
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let seeds = seeds();
    let mut tally = std::collections::BTreeMap::<String, u32>::new();
    let mut at_rest = None;
    for round in 0..3000 {
        if round == 100 {
            at_rest = resident();
        }
        let document = mutate(&seeds[round % seeds.len()], &mut numbers);
        let read = worker.read(&document, Limits::default(), None);
        let result = tokio::time::timeout(Duration::from_secs(10), read).await.expect("it ends in time");
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
    println!("{tally:#?}\ngrowth of this process {growth:?} octets");
    assert!(growth.is_none_or(|growth| growth <= 16 << 20), "{growth:?}");
}

/// Resident memory of this process in octets, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
