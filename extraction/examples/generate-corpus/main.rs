//! Makes a corpus of labelled documents for the evaluation: invoices, receipts, laboratory reports, resumes, contracts
//! and forms, in five languages and several layouts, as text, DOCX, PDF and scanned pages, some of which are turned. The
//! same seed makes the same corpus. `--varied` makes 15 other kinds, in words of their own.
//!
//! `cargo run -p extraction --release --example generate-corpus -- FOLDER [--count N] [--seed N]`

mod bills;
mod kinds;
mod pieces;
mod random;
mod scan;
mod varied;
mod words;
mod write;

use std::io::Write;
use std::path::PathBuf;

use clap::Parser as _;
use random::Random;
use serde_json::json;

#[derive(clap::Parser)]
#[command(name = "generate-corpus", about = "Makes a corpus of labelled documents")]
struct Options {
    folder: PathBuf,
    /// How many documents
    #[arg(long, default_value_t = 240)]
    count: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Make the varied documents instead: words and layouts that the engine was not made on
    #[arg(long)]
    varied: bool,
    /// Make the same bill in each language instead, as text and DOCX
    #[arg(long, conflicts_with = "varied")]
    languages: bool,
    /// Make no scans, which take a second each to recognise
    #[arg(long)]
    no_scans: bool,
    /// Leave the pages of scans printed, as PDF: the truth about their words
    #[arg(long)]
    printed: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    generate(&options)
}

fn generate(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let (folder, count, seed) = (&options.folder, options.count, options.seed);
    std::fs::create_dir_all(folder.join("docs"))?;
    // The fonts of PDF have no letters of other scripts.
    let formats = if options.languages { 2 } else { 4 - u64::from(options.no_scans) };
    let mut manifest = std::fs::File::create(folder.join("manifest.jsonl"))?;
    for number in 0..count {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let (kind, document) = if options.languages {
            varied::languages::make(number, &mut random)
        } else if options.varied {
            varied::make(number, &mut random)
        } else {
            let kind = kinds::KINDS[(number % kinds::KINDS.len() as u64) as usize];
            (kind.name.to_owned(), (kind.make)(&mut random))
        };
        let own = match () {
            () if options.languages => "language",
            () if options.varied => "varied",
            () => "own",
        };
        let mut set = format!("{own}_{kind}");
        let (format, media_type, bytes) = match random.below(formats) {
            0 => ("txt", "text/plain", write::text(&document.pieces, &mut random).into_bytes()),
            1 => (
                "docx",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                write::docx(&document.pieces)?,
            ),
            2 => ("pdf", "application/pdf", write::pdf(&document.pieces, &mut random)),
            _ => {
                let printed = write::pdf(&document.pieces, &mut random);
                if options.printed {
                    ("pdf", "application/pdf", printed)
                } else {
                    let scan = scan::scan(printed, &mut random)?;
                    set = if scan.turned { format!("{own}_turned") } else { format!("{own}_scan_{kind}") };
                    (scan.format, scan.media_type, scan.bytes)
                }
            }
        };
        let file = format!("docs/{kind}_{number:04}.{format}");
        std::fs::write(folder.join(&file), bytes)?;
        let line = json!({
            "id": format!("{own}_{kind}/{kind}_{number:04}"),
            "set": set,
            "media_type": media_type,
            "file": file,
            "schema": document.schema,
            "expected": document.expected,
        });
        writeln!(manifest, "{line}")?;
    }
    println!("{count} documents in {}", folder.display());
    Ok(())
}
