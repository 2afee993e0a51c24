//! Pictures of pages for whoever looks at them: as small as their text stays readable.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageBuffer, Luma, imageops};

use super::{Picture, Raster};

/// Pixels of the longer side: what models that take pictures scale larger ones down to.
const SIDE: u32 = 1_600;
/// At this quality (1 to 100) small type stays sharp.
const QUALITY: u8 = 80;

/// The pictures that are kept.
#[derive(Debug)]
pub(super) struct Album {
    room: u64,
    pictures: Vec<Picture>,
}

impl Album {
    /// One with room for so many octets.
    pub(super) fn new(room: u64) -> Self {
        Self { room, pictures: Vec::new() }
    }

    pub(super) fn has_room(&self) -> bool {
        self.room > 0
    }

    /// Keeps the picture of a page if there is room for it. After the first that has none, none is kept: the first pages
    /// of a document are worth more than some of all.
    pub(super) fn add(&mut self, page: u32, raster: &Raster) {
        if !self.has_room() {
            return;
        }
        match jpeg(raster).filter(|octets| octets.len() as u64 <= self.room) {
            Some(octets) => {
                self.room -= octets.len() as u64;
                self.pictures.push(Picture { page, media_type: "image/jpeg", octets });
            }
            None => self.room = 0,
        }
    }

    pub(super) fn into_pictures(self) -> Vec<Picture> {
        self.pictures
    }
}

fn jpeg(raster: &Raster) -> Option<Vec<u8>> {
    let Raster { width, height, .. } = *raster;
    let picture = ImageBuffer::<Luma<u8>, &[u8]>::from_raw(width, height, &raster.pixels)?;
    let longer = width.max(height);
    let (width, height) = match longer > SIDE {
        true => {
            let scaled = |side: u32| (u64::from(side) * u64::from(SIDE) / u64::from(longer)).max(1) as u32;
            (scaled(width), scaled(height))
        }
        false => (width, height),
    };
    // A thumbnail is the mean of the pixels that become one, which keeps thin strokes.
    let picture = imageops::thumbnail(&picture, width, height);
    let mut octets = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut octets, QUALITY);
    encoder.encode(&picture, width, height, ExtendedColorType::L8).ok()?;
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raster(width: u32, height: u32) -> Raster {
        let pixels = (0..width * height).map(|at| (at % 251) as u8).collect();
        Raster { width, height, dpi: 200.0, pixels }
    }

    #[test]
    fn pictures_are_jpeg_of_the_same_shape_and_end_where_there_is_no_room() {
        let mut album = Album::new(10 << 20);
        album.add(3, &raster(3_200, 800));
        album.add(4, &raster(40, 9));
        let pictures = album.into_pictures();
        let sizes: Vec<_> = pictures
            .iter()
            .map(|picture| {
                let decoded = image::load_from_memory_with_format(&picture.octets, image::ImageFormat::Jpeg);
                let decoded = decoded.expect("it is JPEG");
                (picture.page, decoded.width(), decoded.height())
            })
            .collect();
        assert_eq!(sizes, [(3, 1_600, 400), (4, 40, 9)]);

        let first = pictures[0].octets.len() as u64;
        let mut album = Album::new(first + 10);
        album.add(1, &raster(3_200, 800));
        album.add(2, &raster(3_200, 800));
        album.add(3, &raster(2, 2));
        let pages: Vec<u32> = album.into_pictures().iter().map(|picture| picture.page).collect();
        assert_eq!(pages, [1]);
        assert!(!Album::new(0).has_room());
    }
}
