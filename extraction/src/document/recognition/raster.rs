//! The image that recognition reads.

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
