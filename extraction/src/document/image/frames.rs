//! The frames of a TIFF, in shades of grey.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, GrayAlphaImage, GrayImage, RgbImage, RgbaImage};
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::Tag;

use super::decode::grey;
use crate::document::error::{ReadError, Unit};
use crate::document::limits::Limits;
use crate::document::ocr::Raster;

type Frames<'a> = Decoder<Cursor<&'a [u8]>>;

/// Hands each frame on, after all of them were counted and measured.
pub(super) fn each(
    bytes: &[u8],
    limits: &Limits,
    mut page: impl FnMut(Raster) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut frames = open(bytes, limits)?;
    let mut count = 1;
    loop {
        let (width, height) = frames.dimensions().map_err(|_| ReadError::DAMAGED)?;
        limits.check_pixels(width, height)?;
        if !frames.more_images() {
            break;
        }
        count += 1;
        if limits.check_pages(count).is_err() {
            let (unit, limit) = (Unit::Pages, u64::from(limits.pages));
            return Err(ReadError::TooLarge { unit, limit, actual: in_chain(bytes) });
        }
        frames.next_image().map_err(|_| ReadError::DAMAGED)?;
    }
    let mut frames = open(bytes, limits)?;
    for index in 0..count {
        if index > 0 {
            frames.next_image().map_err(|_| ReadError::DAMAGED)?;
        }
        page(frame(&mut frames)?)?;
    }
    Ok(())
}

/// How many frames there are, by the chain of their directories alone, of which nothing else is read; `None` where it
/// is broken or a circle.
fn in_chain(bytes: &[u8]) -> Option<u64> {
    /// Bytes of the smallest directory.
    const SMALLEST: usize = 6;
    let is_little = bytes.starts_with(b"II");
    let is_big = bytes.get(2..4)?.contains(&b'+');
    let number = |at: u64, length: usize| {
        let at = usize::try_from(at).ok()?;
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        let joined = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if is_little { bytes.iter().rev().fold(0, joined) } else { bytes.iter().fold(0, joined) })
    };
    let (first, counter, entry, pointer) = if is_big { (8, 8, 20, 8) } else { (4, 2, 12, 4) };
    let mut directory = number(first, pointer)?;
    let mut count = 0;
    while directory != 0 {
        count += 1;
        if count > bytes.len() / SMALLEST {
            return None;
        }
        let entries = number(directory, counter)?.checked_mul(entry)?;
        directory = number(directory.checked_add(counter as u64)?.checked_add(entries)?, pointer)?;
    }
    Some(count as u64)
}

fn open<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Frames<'a>, ReadError> {
    let mut allowed = tiff::decoder::Limits::default();
    allowed.decoding_buffer_size = (limits.pixels * 4) as usize;
    allowed.intermediate_buffer_size = (limits.pixels * 4) as usize;
    Ok(Decoder::new(Cursor::new(bytes)).map_err(|_| ReadError::DAMAGED)?.with_limits(allowed))
}

fn frame(frames: &mut Frames<'_>) -> Result<Raster, ReadError> {
    let damaged = |_| ReadError::DAMAGED;
    let (width, height) = frames.dimensions().map_err(damaged)?;
    let color = frames.colortype().map_err(damaged)?;
    let orientation = frames.find_tag_unsigned::<u8>(Tag::Orientation).ok().flatten();
    let palette = match color {
        ColorType::Palette(_) => frames.get_tag_u16_vec(Tag::ColorMap).map_err(damaged)?,
        _ => Vec::new(),
    };
    let samples = match frames.read_image().map_err(damaged)? {
        DecodingResult::U8(samples) => samples,
        DecodingResult::U16(samples) => samples.into_iter().map(|sample| (sample >> 8) as u8).collect(),
        // Measurements, not images of text.
        _ => return Err(ReadError::DAMAGED),
    };
    let image = match color {
        ColorType::Gray(8 | 16) => GrayImage::from_raw(width, height, samples).map(DynamicImage::from),
        ColorType::Gray(bits @ (1 | 2 | 4)) => {
            GrayImage::from_raw(width, height, unpack(&samples, width, height, bits, true))
                .map(DynamicImage::from)
        }
        ColorType::GrayA(_) => GrayAlphaImage::from_raw(width, height, samples).map(DynamicImage::from),
        ColorType::RGB(_) | ColorType::YCbCr(8) => {
            RgbImage::from_raw(width, height, samples).map(DynamicImage::from)
        }
        ColorType::RGBA(_) => RgbaImage::from_raw(width, height, samples).map(DynamicImage::from),
        ColorType::CMYK(_) => {
            let light = |ink: u8, black: u8| (u32::from(255 - ink) * u32::from(255 - black) / 255) as u8;
            let pixels =
                samples.chunks_exact(4).flat_map(|ink| [0, 1, 2].map(|index| light(ink[index], ink[3])));
            RgbImage::from_raw(width, height, pixels.collect()).map(DynamicImage::from)
        }
        ColorType::Palette(bits @ (1 | 2 | 4 | 8)) => {
            let indices = if bits == 8 { samples } else { unpack(&samples, width, height, bits, false) };
            let colors = palette.len() / 3;
            let shade = |index: u8, channel: usize| {
                palette.get(channel * colors + usize::from(index)).map_or(255, |value| (value >> 8) as u8)
            };
            let pixels = indices.iter().flat_map(|index| [0, 1, 2].map(|channel| shade(*index, channel)));
            RgbImage::from_raw(width, height, pixels.collect()).map(DynamicImage::from)
        }
        _ => None,
    };
    let mut image = image.ok_or(ReadError::DAMAGED)?;
    if let Some(orientation) = orientation.and_then(Orientation::from_exif) {
        image.apply_orientation(orientation);
    }
    grey(&image)
}

/// Samples of less than a byte, each row beginning with a new one.
fn unpack(samples: &[u8], width: u32, height: u32, bits: u8, full_range: bool) -> Vec<u8> {
    let per_byte = usize::from(8 / bits);
    let stride = (width as usize).div_ceil(per_byte);
    let largest = (1_u16 << bits) - 1;
    let mut pixels = Vec::with_capacity(width as usize * height as usize);
    for row in samples.chunks_exact(stride).take(height as usize) {
        for column in 0..width as usize {
            let shift = 8 - bits as usize * (column % per_byte + 1);
            let sample = u16::from(row[column / per_byte] >> shift) & largest;
            pixels.push(if full_range { (sample * 255 / largest) as u8 } else { sample as u8 });
        }
    }
    pixels
}
