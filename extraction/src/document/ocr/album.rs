//! Page images for the result, as small as their text stays readable.

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use super::geometry;
use super::raster::Raster;
use crate::document::model::PageImage;

/// Pixels of the longer side: what models that take images scale larger ones down to.
const SIDE: u32 = 1_600;
/// At this quality (1 to 100) small type stays sharp.
const QUALITY: u8 = 80;

/// The images of the result.
#[derive(Debug)]
pub(super) struct Album {
    room: u64,
    images: Vec<PageImage>,
}

impl Album {
    /// An album of at most so many bytes.
    pub(super) fn new(room: u64) -> Self {
        Self { room, images: Vec::new() }
    }

    pub(super) fn has_room(&self) -> bool {
        self.room > 0
    }

    /// The image of a page; `None` if no space is left.
    pub(super) fn image(&self, raster: &Raster) -> Option<Raster> {
        self.has_room().then(|| small(raster))
    }

    /// Keeps the image of a page, turned clockwise by so many degrees, if there is room for it. After the first that
    /// has none, the album keeps none: the first pages of a document are worth more than some of all.
    pub(super) fn add(&mut self, page: u32, image: Option<Raster>, turn: u16) {
        let Some(image) = image else { return };
        match jpeg(&geometry::turned(&image, turn)).filter(|bytes| bytes.len() as u64 <= self.room) {
            Some(bytes) => {
                self.room -= bytes.len() as u64;
                self.images.push(PageImage { page, media_type: "image/jpeg", bytes });
            }
            None => self.room = 0,
        }
    }

    pub(super) fn into_images(self) -> Vec<PageImage> {
        self.images
    }
}

fn small(raster: &Raster) -> Raster {
    let longer = raster.width.max(raster.height);
    if longer > SIDE { geometry::scaled(raster, f64::from(SIDE) / f64::from(longer)) } else { raster.clone() }
}

fn jpeg(image: &Raster) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    encoder.encode(&image.pixels, image.width, image.height, ExtendedColorType::L8).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raster(width: u32, height: u32) -> Raster {
        let pixels = (0..width * height).map(|at| (at % 251) as u8).collect();
        Raster { width, height, dpi: 200.0, pixels }
    }

    #[test]
    fn images_are_jpeg_of_the_same_shape_and_end_where_there_is_no_room() {
        let add = |album: &mut Album, page, raster: &Raster, turn| {
            let image = album.image(raster);
            album.add(page, image, turn);
        };
        let mut album = Album::new(10 << 20);
        add(&mut album, 3, &raster(3_200, 800), 0);
        add(&mut album, 4, &raster(40, 9), 0);
        add(&mut album, 5, &raster(40, 9), 270);
        let images = album.into_images();
        let sizes: Vec<_> = images
            .iter()
            .map(|image| {
                let decoded = image::load_from_memory_with_format(&image.bytes, image::ImageFormat::Jpeg);
                let decoded = decoded.expect("it is JPEG");
                (image.page, decoded.width(), decoded.height())
            })
            .collect();
        assert_eq!(sizes, [(3, 1_600, 400), (4, 40, 9), (5, 9, 40)]);

        let first = images[0].bytes.len() as u64;
        let mut album = Album::new(first + 10);
        add(&mut album, 1, &raster(3_200, 800), 0);
        add(&mut album, 2, &raster(3_200, 800), 0);
        add(&mut album, 3, &raster(2, 2), 0);
        let pages: Vec<u32> = album.into_images().iter().map(|image| image.page).collect();
        assert_eq!(pages, [1]);
        assert!(Album::new(0).image(&raster(2, 2)).is_none());
    }
}
