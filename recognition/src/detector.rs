//! Finds the lines of an image.

use fast_image_resize::images::{Image as Pixels, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use crate::model::Network;
use crate::regions::{Region, regions};
use crate::{Image, RecognitionError};

/// Pixels of the shorter side at least, of the longer one at most, and of what both are multiples.
const SHORT: f32 = 736.0;
const LONG: f32 = 1_600.0;
const STEP: f32 = 32.0;
/// Mean and deviation of the three colours that the network was trained with.
const COLOURS: [(f32, f32); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];

/// The lines of an image, in its pixels, the larger first.
pub(crate) fn lines(network: &Network, image: Image<'_>) -> Result<Vec<Region>, RecognitionError> {
    let (width, height) = (image.width as f32, image.height as f32);
    let (wide, high) = sides(width, height);
    let pixels = scaled(image, wide as u32, high as u32)?;
    let mut planes = Vec::with_capacity(COLOURS.len() * pixels.len());
    for (mean, deviation) in COLOURS {
        planes.extend(pixels.iter().map(|shade| (f32::from(*shade) / 255.0 - mean) / deviation));
    }
    let map = network.run(NdTensor::from_data([1, COLOURS.len(), high, wide], planes))?;
    let map = map.to_vec();
    if map.len() != wide * high {
        return Err(RecognitionError::Network("its map is of another size".to_owned()));
    }
    let found = regions(&map, wide);
    Ok(found.into_iter().map(|region| region.scaled(width / wide as f32, height / high as f32)).collect())
}

/// The sides of the map of an image: its memory and its time do not grow with the image.
fn sides(width: f32, height: f32) -> (usize, usize) {
    let factor = (SHORT / width.min(height)).max(1.0).min(LONG / width.max(height));
    let side = |length: f32| ((length * factor / STEP).round() * STEP).clamp(STEP, LONG) as usize;
    (side(width), side(height))
}

/// The pixels of an image at another size.
pub(crate) fn scaled(image: Image<'_>, width: u32, height: u32) -> Result<Vec<u8>, RecognitionError> {
    let failed = |error: &dyn std::fmt::Display| RecognitionError::Network(error.to_string());
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
    let given = ImageRef::new(image.width, image.height, image.pixels, PixelType::U8)
        .map_err(|error| failed(&error))?;
    let mut scaled = Pixels::new(width, height, PixelType::U8);
    Resizer::new().resize(&given, &mut scaled, Some(&options)).map_err(|error| failed(&error))?;
    Ok(scaled.into_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_map_is_small_however_large_or_narrow_the_image(width in 1_u32..=u32::MAX, height in 1_u32..=u32::MAX) {
            for (width, height) in [(width, height), (width % 4_000 + 1, height % 4_000 + 1), (1, height), (width, 1)] {
                let (wide, high) = sides(width as f32, height as f32);
                let (least, most) = (STEP as usize, LONG as usize);
                prop_assert!((least..=most).contains(&wide) && (least..=most).contains(&high));
                prop_assert!(wide.is_multiple_of(least) && high.is_multiple_of(least));
            }
        }
    }
}
