//! What every kind of document becomes: pages of lines of words, in reading order, with their places and tables.

mod model;

pub use model::{Cell, Document, Line, Page, PageSource, Rect, Table, Warning, Word};
