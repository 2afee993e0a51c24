//! Turning, levelling and scaling of images.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::{GrayImage, ImageBuffer, imageops};

use super::clean::is_ink;
use super::raster::Raster;

/// Rows of text may be so far from level, in degrees.
const SKEW: f64 = 6.0;
/// Pixels across of the image in which the skew is looked for.
const WIDTH: usize = 800;

fn image_of(raster: &Raster) -> GrayImage {
    ImageBuffer::from_raw(raster.width, raster.height, raster.pixels.clone())
        .unwrap_or_else(|| ImageBuffer::new(raster.width, raster.height))
}

fn raster_of(image: GrayImage, dpi: f32) -> Raster {
    Raster { width: image.width(), height: image.height(), dpi, pixels: image.into_raw() }
}

/// The image, larger or smaller.
pub(super) fn scaled(raster: &Raster, factor: f64) -> Raster {
    let side = |length: u32| ((f64::from(length) * factor).round() as u32).max(1);
    let (width, height) = (side(raster.width), side(raster.height));
    let filter = if factor < 1.0 { FilterType::Box } else { FilterType::CatmullRom };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter));
    let mut scaled = Image::new(width, height, PixelType::U8);
    // It fails on an image whose pixels are not as many as its sides say: then nothing can be read in it.
    let done = ImageRef::new(raster.width, raster.height, &raster.pixels, PixelType::U8)
        .is_ok_and(|given| Resizer::new().resize(&given, &mut scaled, Some(&options)).is_ok());
    let pixels = if done { scaled.into_vec() } else { vec![255; width as usize * height as usize] };
    Raster { width, height, dpi: raster.dpi * factor as f32, pixels }
}

/// The image turned clockwise by a quarter, a half or three quarters.
pub(super) fn turned(raster: &Raster, degrees: u16) -> Raster {
    let image = image_of(raster);
    let turned = match degrees {
        90 => imageops::rotate90(&image),
        180 => imageops::rotate180(&image),
        270 => imageops::rotate270(&image),
        _ => image,
    };
    raster_of(turned, raster.dpi)
}

/// The image rotated about its centre, so that rows with this slope (in radians) become level.
pub(super) fn rotated(raster: &Raster, angle: f64) -> Raster {
    let (width, height) = (raster.width as usize, raster.height as usize);
    let (sin, cos) = angle.sin_cos();
    let (middle_x, middle_y) = (width as f64 / 2.0, height as f64 / 2.0);
    let mut pixels = vec![255; width * height];
    for y in 0..height {
        let dy = y as f64 - middle_y;
        for x in 0..width {
            let dx = x as f64 - middle_x;
            let from_x = cos * dx - sin * dy + middle_x;
            let from_y = sin * dx + cos * dy + middle_y;
            if from_x < 0.0 || from_y < 0.0 || from_x >= (width - 1) as f64 || from_y >= (height - 1) as f64 {
                continue;
            }
            let (left, top) = (from_x as usize, from_y as usize);
            let (right_part, low_part) = ((from_x - left as f64) as f32, (from_y - top as f64) as f32);
            let at = top * width + left;
            let upper = mix(raster.pixels[at], raster.pixels[at + 1], right_part);
            let lower = mix(raster.pixels[at + width], raster.pixels[at + width + 1], right_part);
            pixels[y * width + x] = (upper + (lower - upper) * low_part) as u8;
        }
    }
    Raster { width: raster.width, height: raster.height, dpi: raster.dpi, pixels }
}

fn mix(a: u8, b: u8, part: f32) -> f32 {
    f32::from(a) + (f32::from(b) - f32::from(a)) * part
}

/// The angle by which rows of text fall to the right, in radians: the one at which rows and the space between them
/// differ most.
pub(super) fn skew(raster: &Raster) -> f64 {
    let step = (raster.width as usize / WIDTH).max(1);
    let (width, height) = (raster.width as usize / step, raster.height as usize / step);
    let mut ink: Vec<(i32, i32)> = Vec::new();
    for y in 0..height {
        for x in 0..width {
            // The darkest of a square: thin letters stay.
            let square = (0..step).map(|row| {
                let begin = (y * step + row) * raster.width as usize + x * step;
                raster.pixels[begin..begin + step].iter().min().copied().unwrap_or(255)
            });
            if square.min().is_some_and(is_ink) {
                ink.push((x as i32, y as i32));
            }
        }
    }
    // A image, or nothing to go by.
    if ink.len() < 200 || ink.len() * 5 > width * height * 2 {
        return 0.0;
    }
    let sharpness = |degrees: f64| {
        let slope = degrees.to_radians().tan();
        let offset = (width as f64 * slope.abs()) as usize + 1;
        let mut rows = vec![0_u32; height + 2 * offset + 2];
        for (x, y) in &ink {
            let row = f64::from(*y) - f64::from(*x) * slope + offset as f64;
            rows[row.max(0.0) as usize] += 1;
        }
        rows.windows(2).map(|pair| (f64::from(pair[0]) - f64::from(pair[1])).powi(2)).sum::<f64>()
    };
    let best = |angles: &mut dyn Iterator<Item = f64>| {
        angles.map(|angle| (sharpness(angle), angle)).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0.0))
    };
    let level = sharpness(0.0);
    let (_, coarse) = best(&mut (-12..=12).map(|step| f64::from(step) * SKEW / 12.0));
    let (sharp, fine) = best(&mut (-8..=8).map(|step| coarse + f64::from(step) * 0.0625));
    if sharp < level * 1.05 { 0.0 } else { fine.to_radians() }
}
