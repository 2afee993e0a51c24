//! A page as an image, for OCR.

use hayro::hayro_interpret::InterpreterSettings;
use hayro::hayro_syntax::page::Page;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};

use crate::document::ocr::Raster;

/// Dots per inch that OCR likes best.
const DPI: f32 = 200.0;
/// Sides of a page that are drawn at all, in points: the largest that PDF knows.
const PAGE: f32 = 14_400.0;
/// Pixels of an image, and of one of its sides.
const PIXELS: f32 = 25e6;
const SIDE: f32 = 10_000.0;

/// Draws a page in shades of grey; `None` if it is too large or small to be one.
pub(super) fn draw<'a>(page: &'a Page<'a>) -> Option<Raster> {
    let (width, height) = page.render_dimensions();
    if !(1.0..=PAGE).contains(&width) || !(1.0..=PAGE).contains(&height) {
        return None;
    }
    let scale = (DPI / 72.0).min((PIXELS / (width * height)).sqrt()).min(SIDE / width.max(height));
    if width * scale < 8.0 || height * scale < 8.0 {
        return None;
    }
    let settings = PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE };
    let pixmap = render(
        page,
        &RenderCache::new(),
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &settings,
    );
    let pixels = pixmap
        .data_as_u8_slice()
        .chunks_exact(4)
        .map(|pixel| {
            let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u32::from);
            ((red * 299 + green * 587 + blue * 114) / 1000) as u8
        })
        .collect();
    Some(Raster {
        width: u32::from(pixmap.width()),
        height: u32::from(pixmap.height()),
        dpi: scale * 72.0,
        pixels,
    })
}
