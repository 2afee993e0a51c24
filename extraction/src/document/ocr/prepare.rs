//! A image made ready for OCR: even ground, right size, upright, without ruling lines.

use super::raster::Raster;
use super::{clean, geometry, lines};
use crate::document::layout::Rule;
use crate::document::model::Rect;

/// Pixels that are worked on; more of them make nothing more legible.
const PIXELS: f64 = 9e6;
/// Pixels up to which an image is enlarged: OCR takes its time by the pixel.
const ENLARGED: f64 = 8e6;
/// Height of small letters, in pixels, below which the image is enlarged, by how much.
const ENLARGE: [(f64, f64); 2] = [(9.0, 3.0), (14.0, 2.0)];
/// Letters that are higher are made lower, which saves time.
const HIGH: f64 = 48.0;

/// A prepared image, and the way back to the one it was made of.
pub(super) struct Prepared {
    pub(super) raster: Raster,
    /// The lines that were taken out, in its pixels.
    pub(super) rules: Vec<Rule>,
    /// Its pixels in one of the image given.
    scale: f64,
    /// By how much it was turned to make its rows level, in radians.
    angle: f64,
    /// By how many degrees, clockwise, it was turned before that.
    pub(super) turn: u16,
    /// The given image, cleaned but not yet enlarged or made level, and its pixels in one of the image given.
    level: Raster,
    level_scale: f64,
}

impl Prepared {
    /// The image as it was before it was enlarged, which is enough to tell which way is up.
    pub(super) fn small(&self) -> &Raster {
        &self.level
    }

    /// The same image, first rotated clockwise by so many degrees.
    pub(super) fn turned(&self, degrees: u16) -> Self {
        let mut prepared = prepare(geometry::turned(&self.level, degrees));
        prepared.turn = degrees;
        prepared.scale *= self.level_scale;
        prepared.level_scale *= self.level_scale;
        prepared
    }

    /// A length of the given image for one of the prepared one.
    pub(super) fn unit(&self) -> f64 {
        1.0 / self.scale
    }

    /// A box of the prepared image on the given one, turned upright: x, y, width, height.
    pub(super) fn origin(&self, rect: Rect) -> [f64; 4] {
        let (wide, high) = (f64::from(self.raster.width), f64::from(self.raster.height));
        let (half_width, half_height) = (f64::from(rect.width) / 2.0, f64::from(rect.height) / 2.0);
        let (x, y) = (f64::from(rect.x) + half_width, f64::from(rect.y) + half_height);
        // Levelling turned the image about its middle.
        let (sin, cos) = self.angle.sin_cos();
        let (dx, dy) = (x - wide / 2.0, y - high / 2.0);
        let (x, y) = (
            (cos * dx - sin * dy + wide / 2.0) / self.scale,
            (sin * dx + cos * dy + high / 2.0) / self.scale,
        );
        let (half_width, half_height) = (half_width / self.scale, half_height / self.scale);
        [x - half_width, y - half_height, half_width * 2.0, half_height * 2.0]
    }
}

/// Prepares an image.
pub(super) fn prepare(given: Raster) -> Prepared {
    let pixels = f64::from(given.width) * f64::from(given.height);
    let mut scale = 1.0;
    let mut raster = given;
    if pixels > PIXELS {
        scale = (PIXELS / pixels).sqrt();
        raster = geometry::scaled(&raster, scale);
    }
    clean::denoise(&mut raster);
    clean::level_ground(&mut raster);
    let letters = clean::letter_height(&raster);
    let factor = match letters {
        Some(height) if height > HIGH => 0.5,
        Some(height) => ENLARGE.iter().find(|(below, _)| height < *below).map_or(1.0, |(_, factor)| *factor),
        None => 1.0,
    };
    let pixels = f64::from(raster.width) * f64::from(raster.height);
    let factor = factor.min((ENLARGED / pixels).sqrt().max(1.0));
    let level = raster.clone();
    if (factor - 1.0).abs() > 0.01 {
        raster = geometry::scaled(&raster, factor);
    }
    let angle = geometry::skew(&raster);
    if angle.abs() > 0.0025 {
        raster = geometry::rotated(&raster, angle);
    }
    let letters = letters.map_or(20.0, |height| height * factor);
    let rules = lines::remove(&mut raster, letters);
    raster.dpi = 300.0;
    Prepared { raster, rules, scale: scale * factor, angle, turn: 0, level, level_scale: scale }
}
