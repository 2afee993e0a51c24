//! The lines and rows of a file, and their numbers, whatever ends them: CRLF, LF or CR.

use openapi_core::json::Object;

/// A line: its number, and its contact or the problem with it.
pub type Line = (u64, Result<Object, String>);

/// A row of a table: the number of its first line, and its cells or the problem with it.
pub type Row = (u64, Result<Vec<String>, String>);

/// Counts lines.
#[derive(Clone, Copy, Debug)]
pub struct LineCounter {
    line: u64,
    is_after_return: bool,
}

impl LineCounter {
    /// At the first line.
    pub fn new() -> Self {
        LineCounter { line: 1, is_after_return: false }
    }

    /// The line of the next byte.
    pub fn line(self) -> u64 {
        self.line
    }

    /// Passes over bytes.
    pub fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.line += u64::from(*byte == b'\r' || *byte == b'\n' && !self.is_after_return);
            self.is_after_return = *byte == b'\r';
        }
    }
}
