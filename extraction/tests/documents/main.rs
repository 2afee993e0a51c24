//! Documents that are made here, well formed and hostile, and what reading them comes to.

mod alone;
mod docx;
mod files;
mod hostile;
mod images;
mod memory;
mod mutations;
mod networks;
mod office;
mod pdf;
#[cfg(target_os = "linux")]
mod sandbox;
mod worker;

use extraction::document::{Document, Limits, Line, Page, ReadError, Word, read};

fn text(line: &Line) -> String {
    line.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn lines(document: &Document) -> Vec<String> {
    document.pages.iter().flat_map(|page| &page.lines).map(text).collect()
}

fn cells(document: &Document, table: usize) -> Vec<Vec<String>> {
    let tables: Vec<_> = document.pages.iter().flat_map(|page| &page.tables).collect();
    let words = |words: &[Word]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    tables[table].rows.iter().map(|row| row.iter().map(|cell| words(&cell.words)).collect()).collect()
}

fn read_default(bytes: &[u8]) -> Result<Document, ReadError> {
    let document = read(bytes, &Limits::default())?;
    document.pages.iter().for_each(assert_tables);
    Ok(document)
}

/// What the tables of every page keep to: their text is in the lines, each row goes from left to right, and no cell
/// reaches into another one or beyond the last column.
fn assert_tables(page: &Page) {
    let mut words: Vec<&Word> = page.lines.iter().flat_map(|line| &line.words).collect();
    for table in &page.tables {
        assert!(!table.rows.is_empty(), "{table:?}");
        for row in &table.rows {
            let mut free = 0;
            for cell in row {
                assert!(cell.column >= free && cell.span >= 1, "{row:?}");
                free = cell.column + cell.span;
                for word in &cell.words {
                    let at = words.iter().position(|it| (&it.text, it.bbox) == (&word.text, word.bbox));
                    let at = at.unwrap_or_else(|| panic!("{word:?} is in no line, or twice in tables"));
                    words.swap_remove(at);
                }
            }
            assert!(free <= table.columns, "{row:?} of {} columns", table.columns);
        }
    }
}
