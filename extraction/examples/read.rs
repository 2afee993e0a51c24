//! Reads a document and prints what was found: `cargo run -p extraction --release --example read -- FILE [--json]`.

use std::process::ExitCode;

use extraction::document::recognition::{Recognise, Tesseract};
use extraction::document::{Document, Limits, Line, read_with};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = arguments.iter().find(|argument| !argument.starts_with("--")) else {
        eprintln!("Usage: read FILE [--json]");
        return ExitCode::from(2);
    };
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let engine = Tesseract::default();
    #[expect(clippy::disallowed_methods, reason = "an example measures time")]
    let begin = std::time::Instant::now();
    let result = read_with(&bytes, &Limits::default(), Some(&engine as &dyn Recognise));
    let elapsed = begin.elapsed();
    match result {
        Ok(document) if arguments.iter().any(|argument| argument == "--json") => {
            println!("{}", serde_json::to_string_pretty(&document).expect("a document serialises"));
        }
        Ok(document) => {
            print(&document);
            println!("-- {:.1} ms", elapsed.as_secs_f64() * 1e3);
        }
        Err(error) => {
            println!("{error} ({:.1} ms)", elapsed.as_secs_f64() * 1e3);
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
