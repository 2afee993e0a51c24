//! Recognition of characters in pictures: what it is given and what it says.

use super::{Line, Table};

/// A picture in shades of grey, row by row from the top, 0 black.
#[derive(Clone, Debug)]
pub struct Raster {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Pixels in an inch of the page.
    pub dpi: f32,
    /// `width` times `height` octets.
    pub pixels: Vec<u8>,
}

/// Something that recognises characters.
pub trait Recognise {}

/// Recognition for the pages of one document.
pub(super) struct Recognition<'a> {
    engine: Option<&'a dyn Recognise>,
}

impl<'a> Recognition<'a> {
    pub(super) fn new(engine: Option<&'a dyn Recognise>) -> Self {
        Self { engine }
    }

    pub(super) fn is_available(&self) -> bool {
        self.engine.is_some()
    }

    pub(super) fn page(
        &mut self,
        raster: Raster,
        width: f32,
        height: f32,
    ) -> Option<(Vec<Line>, Vec<Table>)> {
        let _ = (raster, width, height);
        None
    }
}
