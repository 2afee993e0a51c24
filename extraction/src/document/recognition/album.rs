//! Pictures of pages for whoever looks at them: as small as their text stays readable.

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use super::geometry;
use super::raster::Raster;
use crate::document::model::Picture;

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

    /// What would be kept of a page; `None` where there is no room for anything.
    pub(super) fn picture(&self, raster: &Raster) -> Option<Raster> {
        self.has_room().then(|| small(raster))
    }

    /// Keeps the picture of a page, turned clockwise by so many degrees, if there is room for it. After the first that
    /// has none, none is kept: the first pages of a document are worth more than some of all.
    pub(super) fn add(&mut self, page: u32, picture: Option<Raster>, turn: u16) {
        let Some(picture) = picture else { return };
        match jpeg(&geometry::turned(&picture, turn)).filter(|octets| octets.len() as u64 <= self.room) {
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

fn small(raster: &Raster) -> Raster {
    let longer = raster.width.max(raster.height);
    if longer > SIDE { geometry::scaled(raster, f64::from(SIDE) / f64::from(longer)) } else { raster.clone() }
}

fn jpeg(picture: &Raster) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut octets, QUALITY);
    encoder.encode(&picture.pixels, picture.width, picture.height, ExtendedColorType::L8).ok()?;
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
        let add = |album: &mut Album, page, raster: &Raster, turn| {
            let picture = album.picture(raster);
            album.add(page, picture, turn);
        };
        let mut album = Album::new(10 << 20);
        add(&mut album, 3, &raster(3_200, 800), 0);
        add(&mut album, 4, &raster(40, 9), 0);
        add(&mut album, 5, &raster(40, 9), 270);
        let pictures = album.into_pictures();
        let sizes: Vec<_> = pictures
            .iter()
            .map(|picture| {
                let decoded = image::load_from_memory_with_format(&picture.octets, image::ImageFormat::Jpeg);
                let decoded = decoded.expect("it is JPEG");
                (picture.page, decoded.width(), decoded.height())
            })
            .collect();
        assert_eq!(sizes, [(3, 1_600, 400), (4, 40, 9), (5, 9, 40)]);

        let first = pictures[0].octets.len() as u64;
        let mut album = Album::new(first + 10);
        add(&mut album, 1, &raster(3_200, 800), 0);
        add(&mut album, 2, &raster(3_200, 800), 0);
        add(&mut album, 3, &raster(2, 2), 0);
        let pages: Vec<u32> = album.into_pictures().iter().map(|picture| picture.page).collect();
        assert_eq!(pages, [1]);
        assert!(Album::new(0).picture(&raster(2, 2)).is_none());
    }
}
