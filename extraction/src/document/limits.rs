//! Limits on the size of a document.

use serde::{Deserialize, Serialize};

use super::error::{ReadError, Unit};

/// Limits on the size of a document, in the units of contract 9, and on its decompressed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The size of the document in bytes.
    pub bytes: u64,
    /// Pages of a PDF, frames of a TIFF.
    pub pages: u32,
    /// Characters of text: those of all words, and one between two words.
    pub characters: u64,
    /// Pixels of one image.
    pub pixels: u64,
    /// The decompressed size of one part in bytes.
    pub part: u64,
    /// The decompressed size of all parts in bytes.
    pub unpacked: u64,
    /// The maximum size of the page images in the result ([`Document::images`](super::Document));
    /// 0 for none.
    pub images: u64,
}

impl Default for Limits {
    /// The limits of contract 9, and no images.
    fn default() -> Self {
        Self {
            bytes: 20 << 20,
            pages: 50,
            characters: 1_000_000,
            pixels: 40_000_000,
            part: 64 << 20,
            unpacked: 128 << 20,
            images: 0,
        }
    }
}

impl Limits {
    pub(crate) fn check_bytes(&self, actual: usize) -> Result<(), ReadError> {
        check(Unit::Bytes, self.bytes, actual as u64)
    }

    pub(crate) fn check_pages(&self, actual: usize) -> Result<(), ReadError> {
        check(Unit::Pages, u64::from(self.pages), actual as u64)
    }

    pub(crate) fn check_pixels(&self, width: u32, height: u32) -> Result<(), ReadError> {
        check(Unit::Pixels, self.pixels, u64::from(width) * u64::from(height))
    }
}

fn check(unit: Unit, limit: u64, actual: u64) -> Result<(), ReadError> {
    if actual > limit {
        return Err(ReadError::TooLarge { unit, limit, actual: Some(actual) });
    }
    Ok(())
}

/// Counts the characters of a document as it is read, and stops at the limit.
pub(crate) struct Characters {
    limit: u64,
    found: u64,
}

impl Characters {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { limit: limits.characters, found: 0 }
    }

    /// Counts one more word and what separates it from the next.
    pub(crate) fn word(&mut self, text: &str) -> Result<(), ReadError> {
        self.found += text.chars().count() as u64 + 1;
        // No separator follows the last word.
        if self.found > self.limit + 1 {
            return Err(ReadError::TooLarge { unit: Unit::Characters, limit: self.limit, actual: None });
        }
        Ok(())
    }
}
