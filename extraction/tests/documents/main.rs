//! Documents that are made here, well formed and hostile, and what reading them comes to.

mod docx;
mod files;
mod hostile;
mod mutations;
mod pdf;
mod pictures;
mod worker;

use extraction::document::{Document, Limits, Line, ReadError, read};

fn text(line: &Line) -> String {
    line.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn lines(document: &Document) -> Vec<String> {
    document.pages.iter().flat_map(|page| &page.lines).map(text).collect()
}

fn cells(document: &Document, table: usize) -> Vec<Vec<String>> {
    let tables: Vec<_> = document.pages.iter().flat_map(|page| &page.tables).collect();
    let words = |words: &[extraction::document::Word]| {
        words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    tables[table].rows.iter().map(|row| row.iter().map(|cell| words(&cell.words)).collect()).collect()
}

fn read_default(bytes: &[u8]) -> Result<Document, ReadError> {
    read(bytes, &Limits::default())
}
