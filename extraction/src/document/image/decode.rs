//! One image out of JPEG, PNG, WebP, BMP or GIF, in shades of grey.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

use crate::document::error::ReadError;
use crate::document::kind::Kind;
use crate::document::limits::Limits;
use crate::document::ocr::Raster;

/// Bytes that decoding an image may take for each of its pixels.
const PIXEL: u64 = 16;

pub(super) fn decode(bytes: &[u8], kind: Kind, limits: &Limits) -> Result<Raster, ReadError> {
    let format = match kind {
        Kind::Jpeg => ImageFormat::Jpeg,
        Kind::Png => ImageFormat::Png,
        Kind::WebP => ImageFormat::WebP,
        Kind::Bmp => ImageFormat::Bmp,
        Kind::Gif => ImageFormat::Gif,
        _ => return Err(ReadError::Unsupported),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut allowed = image::Limits::default();
    // The side of an image of one row; what counts is checked below, before anything is decoded.
    allowed.max_image_width = Some(u32::MAX / 4);
    allowed.max_alloc = Some(limits.pixels * PIXEL);
    reader.limits(allowed);
    let mut decoder = reader.into_decoder().map_err(|_| ReadError::DAMAGED)?;
    let (width, height) = decoder.dimensions();
    limits.check_pixels(width, height)?;
    let orientation = decoder.orientation().unwrap_or(image::metadata::Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(|_| ReadError::DAMAGED)?;
    image.apply_orientation(orientation);
    grey(&image)
}

/// Shades of grey; what is transparent shows white paper.
pub(super) fn grey(image: &DynamicImage) -> Result<Raster, ReadError> {
    let (width, height) = (image.width(), image.height());
    if width == 0 || height == 0 {
        return Err(ReadError::DAMAGED);
    }
    let pixels = if image.color().has_alpha() {
        image
            .to_luma_alpha8()
            .pixels()
            .map(|pixel| {
                let [luma, alpha] = pixel.0.map(u32::from);
                ((luma * alpha + 255 * (255 - alpha)) / 255) as u8
            })
            .collect()
    } else {
        image.to_luma8().into_raw()
    };
    Ok(Raster { width, height, dpi: 72.0, pixels })
}
