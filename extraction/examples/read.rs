//! Reads a document and prints what was found: `cargo run -p extraction --release --example read -- FILE`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use extraction::document::ocr::{OcrEngine, Tesseract};
use extraction::document::{Document, Limits, Line};
use extraction::worker::{Reader, Worker, run_if_asked};

#[derive(clap::Parser)]
#[command(name = "read", about = "Reads a document and prints what was found")]
struct Options {
    file: PathBuf,
    /// Print the document as JSON
    #[arg(long)]
    json: bool,
    /// Read in this process instead of a worker
    #[arg(long)]
    in_process: bool,
    #[arg(long)]
    no_ocr: bool,
}

fn main() -> ExitCode {
    if let Some(code) = run_if_asked() {
        return code;
    }
    let options = Options::parse();
    let file = &options.file;
    let bytes: Arc<[u8]> = match std::fs::read(file) {
        Ok(bytes) => bytes.into(),
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    };
    let reader = match Worker::own() {
        Ok(worker) if !options.in_process => Reader::Worker(worker),
        _ => Reader::InProcess,
    };
    let engine = (!options.no_ocr).then(|| Arc::new(Tesseract::default()) as Arc<dyn OcrEngine>);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    #[expect(clippy::disallowed_methods, reason = "an example measures time")]
    let begin = std::time::Instant::now();
    let result = runtime.block_on(reader.read(bytes, Limits::default(), engine));
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    match result {
        Ok(document) if options.json => {
            println!("{}", serde_json::to_string_pretty(&document).expect("a document serialises"));
        }
        Ok(document) => {
            print(&document);
            println!("-- {elapsed:.1} ms");
        }
        Err(error) => {
            println!("{error} ({elapsed:.1} ms)");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn print(document: &Document) {
    for page in &document.pages {
        println!("== page {} ({:.0} x {:.0}, {:?})", page.number, page.width, page.height, page.source);
        let mut block = None;
        for line in &page.lines {
            if block.is_some_and(|block| block != line.block) {
                println!();
            }
            block = Some(line.block);
            println!("{}", text(line));
        }
        for table in &page.tables {
            println!("-- table of {} columns", table.columns);
            for row in &table.rows {
                let cells: Vec<String> = row
                    .iter()
                    .map(|cell| {
                        cell.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
                    })
                    .collect();
                println!("| {} |", cells.join(" | "));
            }
        }
    }
    for warning in &document.warnings {
        println!("-- {warning:?}");
    }
}

fn text(line: &Line) -> String {
    let mut text = String::new();
    for word in &line.words {
        text.extend(std::iter::repeat_n(' ', usize::from(word.gap.min(40))));
        text.push_str(&word.text);
    }
    text
}
