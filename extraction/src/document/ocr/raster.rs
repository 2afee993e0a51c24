//! The image that OCR reads.

/// A image in shades of grey, row by row from the top, 0 black.
#[derive(Clone, Debug)]
pub struct Raster {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// The resolution in pixels per inch of the page.
    pub dpi: f32,
    /// `width` times `height` bytes.
    pub pixels: Vec<u8>,
}
