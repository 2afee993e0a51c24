//! Images as documents: decoded here, within limits, and recognised.

mod decode;
mod frames;

use super::error::ReadError;
use super::kind::Kind;
use super::limits::Characters;
use super::limits::Limits;
use super::model::{Document, Page, Warning};
use super::ocr::{Ocr, OcrEngine, Raster};

/// Height in points of the sheet that an image without a size is taken for: A4.
const SHEET: f32 = 842.0;

/// Reads an image; each frame of a TIFF is a page.
pub(super) fn read(
    bytes: &[u8],
    kind: Kind,
    limits: &Limits,
    ocr: Option<&dyn OcrEngine>,
) -> Result<Document, ReadError> {
    let mut pages = Pages {
        document: Document::default(),
        ocr: Ocr::new(ocr, limits.images),
        characters: Characters::new(limits),
    };
    if kind == Kind::Tiff {
        frames::each(bytes, limits, |raster| pages.add(raster))?;
    } else {
        pages.add(decode::decode(bytes, kind, limits)?)?;
    }
    let mut document = pages.document;
    document.images = pages.ocr.into_images();
    document.page_count = Some(document.pages.len() as u32);
    Ok(document)
}

struct Pages<'a> {
    document: Document,
    ocr: Ocr<'a>,
    characters: Characters,
}

impl Pages<'_> {
    fn add(&mut self, mut raster: Raster) -> Result<(), ReadError> {
        let number = self.document.pages.len() as u32 + 1;
        raster.dpi = raster.width.max(raster.height) as f32 / SHEET * 72.0;
        let (width, height) =
            (raster.width as f32 / raster.dpi * 72.0, raster.height as f32 / raster.dpi * 72.0);
        let page = match self.ocr.page(number, raster) {
            Some(recognised) => recognised.into_page(number, width, height),
            None => {
                self.document.warnings.push(Warning::OcrUnavailable { page: number });
                // OCR found nothing, so the page is not marked as read by OCR.
                Page { number, width, height, ..Page::default() }
            }
        };
        for word in page.lines.iter().flat_map(|line| &line.words) {
            self.characters.word(&word.text)?;
        }
        self.document.pages.push(page);
        Ok(())
    }
}
