//! One model of a document, whatever it was read from.
//!
//! Plain data that serialises: a parser in a process of its own hands it over as JSON.

use serde::{Deserialize, Serialize};

/// A document as text with layout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The pages, in order. Text and DOCX, which have none, are one page of [`PageSource::Flow`].
    pub pages: Vec<Page>,
    /// The number of pages that the document declares; `None` for text and DOCX (contract 12.2, `pageCount`).
    pub page_count: Option<u32>,
    /// Warnings about the reading.
    pub warnings: Vec<Warning>,
    /// Images of the pages that have no text of their own, with or without OCR, up to the size of
    /// [`Limits::images`](super::Limits) has room.
    #[serde(skip)]
    pub images: Vec<PageImage>,
}

/// The image of a page, for models that take images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageImage {
    /// The page, counted from 1.
    pub page: u32,
    /// `image/png` or `image/jpeg`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// One page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Counted from 1.
    pub number: u32,
    /// The width of the upright page in points (1/72 inch); 0 for running text.
    pub width: f32,
    /// Height in points.
    pub height: f32,
    /// By how many degrees, clockwise, the page as it is shown was turned to stand upright: 0, 90, 180 or 270. Images
    /// and scans are turned; the rotation that a PDF itself names is part of how its page is shown. All positions are those
    /// on the upright page; [`Page::as_shown`] leads back.
    #[serde(default)]
    pub turn: u16,
    /// The source of the text.
    pub source: PageSource,
    /// The lines in reading order: a column is read to its end before the next one begins.
    pub lines: Vec<Line>,
    /// The tables, in reading order, for programs that want cells: the engines do without, because they find rows and
    /// columns in `lines` also where no reader is sure of a table. Their text is in `lines` as well.
    pub tables: Vec<Table>,
}

/// The source of a page's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageSource {
    /// Running text without positions: TXT and DOCX. Boxes are absent. Also of a page without text, because no OCR
    /// is installed.
    #[default]
    Flow,
    /// The text layer of a PDF.
    TextLayer,
    /// OCR; the words carry its confidence.
    Ocr,
}

/// One line of text. A label and its value that stand on one line of the page are in one line here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its words, in reading order; never empty.
    pub words: Vec<Word>,
    /// The block (paragraph, column piece, table) of the page that the line belongs to, counted from 0.
    pub block: u32,
}

/// One word: characters without white space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// Its characters in logical order, normalised to NFC.
    pub text: String,
    /// Its position on the page; `None` in running text.
    pub bbox: Option<Rect>,
    /// The confidence from 0 to 1; 1 unless the word comes from OCR.
    pub confidence: f32,
    /// How many characters of white space, tabs included, a reader would see before it on its line: 0 for the first,
    /// 1 for an ordinary space, more for a gap as between columns.
    pub gap: u16,
    /// Height of its type in points; 0 where unknown.
    pub size: f32,
    /// Whether it is set bold.
    pub bold: bool,
}

/// A table whose cells the reader is sure of: ruled, aligned in columns, or marked as one in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// How many columns it has.
    pub columns: u32,
    /// The rows from top to bottom, each with its cells from left to right. An empty cell is there with no text.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its words; those of several lines follow one another.
    pub words: Vec<Word>,
    /// The column it begins in, counted from 0.
    pub column: u32,
    /// How many columns it covers, at least 1.
    pub span: u32,
}

/// A rectangle on a page: points from the top left corner, x to the right, y down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// Left edge.
    pub x: f32,
    /// Upper edge.
    pub y: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
}

/// What the reader could not read or omitted on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// A page needs OCR, and none is installed.
    OcrUnavailable {
        /// The page, counted from 1.
        page: u32,
    },
    /// A page could not be read; the others were.
    PageFailed {
        /// The page, counted from 1.
        page: u32,
    },
    /// Invisible text (white on white, under one point, off the page) was omitted.
    HiddenText {
        /// The page, counted from 1.
        page: u32,
    },
}

impl Page {
    /// Maps a position on the upright page to the page as it is shown.
    #[must_use]
    pub fn as_shown(&self, rect: Rect) -> Rect {
        let Rect { x, y, width, height } = rect;
        let (right, below) = (self.width - x - width, self.height - y - height);
        match self.turn {
            90 => Rect { x: y, y: right, width: height, height: width },
            180 => Rect { x: right, y: below, width, height },
            270 => Rect { x: below, y: x, width: height, height: width },
            _ => rect,
        }
    }

    /// Its text: a line for each line, an empty one between two blocks, and one blank for every gap within a line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut block = None;
        for line in &self.lines {
            match block {
                None => {}
                Some(block) if block == line.block => text.push('\n'),
                Some(_) => text.push_str("\n\n"),
            }
            block = Some(line.block);
            for (nth, word) in line.words.iter().enumerate() {
                if nth > 0 && word.gap > 0 {
                    text.push(' ');
                }
                text.push_str(&word.text);
            }
        }
        text
    }
}

impl Document {
    /// How many characters its text has (contract 12.2, `characterCount`): those of its words, and one between two of
    /// them.
    pub fn characters(&self) -> u64 {
        let words = self.pages.iter().flat_map(|page| &page.lines).flat_map(|line| &line.words);
        let with_separators: u64 = words.map(|word| word.text.chars().count() as u64 + 1).sum();
        with_separators.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_page_has_its_lines_and_blocks() {
        let word = |text: &str, gap| Word { text: text.to_owned(), gap, ..Word::default() };
        let line = |words: Vec<Word>, block| Line { words, block };
        let page = Page {
            lines: vec![
                line(vec![word("Home", 0), word("visits", 4)], 0),
                line(vec![word("in", 0), word("Leeds", 1)], 0),
                line(vec![word("予約", 2), word("制", 0)], 3),
            ],
            ..Page::default()
        };
        assert_eq!(page.text(), "Home visits\nin Leeds\n\n予約制");
        assert_eq!(Page::default().text(), "");
    }

    #[test]
    fn positions_are_turned_back() {
        let rect = |x, y, width, height| Rect { x, y, width, height };
        // Upright it is 200 wide and 100 high, with a word at the beginning of its first line.
        let word = rect(10.0, 5.0, 60.0, 12.0);
        for (turn, shown) in [
            (0, word),
            // The top was on the left, so the line ran upwards from the lower left corner.
            (90, rect(5.0, 130.0, 12.0, 60.0)),
            (180, rect(130.0, 83.0, 60.0, 12.0)),
            // The top was on the right, so the line ran downwards from the upper right corner.
            (270, rect(83.0, 10.0, 12.0, 60.0)),
        ] {
            let page = Page { width: 200.0, height: 100.0, turn, ..Page::default() };
            assert_eq!(page.as_shown(word), shown, "{turn}");
        }
    }
}
