//! PDF: positioned text where a page has text, an image for OCR where it has none. Only this folder uses `hayro`.

mod checks;
mod collect;
mod forms;
mod raster;
mod streams;
mod symbols;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro::hayro_interpret::{
    Context, InterpreterCache, InterpreterSettings, RenderContent, TransformExt, interpret_page,
};
use hayro::hayro_syntax::page::Page as PdfPage;
use hayro::hayro_syntax::{LoadPdfError, Pdf};
use hayro::kurbo::{Affine, Rect as KurboRect};

use self::collect::Collected;
use super::error::{ReadError, Unit};
use super::layout::{self, Piece};
use super::limits::Characters;
use super::limits::Limits;
use super::model::{Document, Line, Page, PageSource, Rect, Table, Warning};
use super::ocr::{Ocr, OcrEngine};

/// A page of fewer glyphs has no text layer worth the name, if an image covers it.
const FEW: usize = 20;
/// The same where the image covers nearly all: stamps of mail and signing services are text.
const STAMP: usize = 150;

/// Reads a PDF.
pub(super) fn read(
    bytes: &[u8],
    limits: &Limits,
    ocr: Option<&dyn OcrEngine>,
) -> Result<Document, ReadError> {
    streams::check(bytes, limits)?;
    let pdf =
        catch_unwind(|| Pdf::new(bytes.to_vec())).map_err(|_| ReadError::DAMAGED)?.map_err(|error| {
            match error {
                LoadPdfError::Decryption(_) => ReadError::Encrypted,
                LoadPdfError::Invalid => ReadError::DAMAGED,
            }
        })?;
    let pages = pdf.pages();
    if pages.is_empty() {
        return Err(ReadError::DAMAGED);
    }
    limits.check_pages(pages.len())?;

    let mut document = Document { page_count: Some(pages.len() as u32), ..Document::default() };
    let mut characters = Characters::new(limits);
    let mut ocr = Ocr::new(ocr, limits.images);
    let mut cache = InterpreterCache::new();
    let mut failed = 0;
    for (number, page) in (1..).zip(pages.iter()) {
        let read = catch_unwind(AssertUnwindSafe(|| read_page(page, number, &cache, &mut ocr, limits)));
        let (page, warnings) = read.unwrap_or_else(|_| {
            // What the page has left in the cache may be half done.
            cache = InterpreterCache::new();
            failed += 1;
            Ok((Page { number, ..Page::default() }, vec![Warning::PageFailed { page: number }]))
        })?;
        for word in page.lines.iter().flat_map(|line| &line.words) {
            characters.word(&word.text)?;
        }
        document.pages.push(page);
        document.warnings.extend(warnings);
    }
    if failed == pages.len() {
        return Err(ReadError::DAMAGED);
    }
    document.images = ocr.into_images();
    Ok(document)
}

fn read_page<'a>(
    page: &'a PdfPage<'a>,
    number: u32,
    cache: &InterpreterCache<'a>,
    ocr: &mut Ocr<'_>,
    limits: &Limits,
) -> Result<(Page, Vec<Warning>), ReadError> {
    let (width, height) = page.render_dimensions();
    let transform = page.initial_transform(true).to_kurbo();
    let mut drawn = collect(page, transform, RenderContent::PAGE, cache, limits);
    let annotations = collect(page, transform, RenderContent::ANNOTATIONS, cache, limits);
    if drawn.overfull || annotations.overfull {
        return Err(ReadError::TooLarge { unit: Unit::Characters, limit: limits.characters, actual: None });
    }
    drawn.hide_covered();
    forms::add(page, transform, annotations, &mut drawn);

    let mut warnings = Vec::new();
    let scan = drawn.image_share();
    let visible = drawn
        .glyphs
        .iter()
        .filter(|glyph| !glyph.hidden && !glyph.invisible && !is_blank(&glyph.text))
        .count();
    let invisible = drawn.glyphs.iter().filter(|glyph| glyph.invisible && !is_blank(&glyph.text)).count();
    // Invisible text over a scan is what OCR found in it; elsewhere it is there to deceive.
    let keep_invisible = scan >= 0.5 && visible < STAMP;
    let garbled = drawn.unmapped >= FEW && drawn.unmapped * 5 > drawn.glyphs.len();
    let no_layer = visible < FEW && scan >= 0.5 || visible < STAMP && scan >= 0.85;
    let poor_layer = no_layer && invisible > 0 && is_poor(&drawn);

    let hidden = drawn
        .glyphs
        .iter()
        .any(|glyph| !is_blank(&glyph.text) && (glyph.hidden || glyph.invisible && !keep_invisible));
    if hidden {
        warnings.push(Warning::HiddenText { page: number });
    }
    drawn.glyphs.retain(|glyph| !glyph.hidden && (keep_invisible || !glyph.invisible));

    let needs_ocr = garbled || no_layer && invisible < FEW || poor_layer;
    if needs_ocr {
        if ocr.wants_pages() {
            let recognised = raster::draw(page).and_then(|raster| ocr.page(number, raster));
            if let Some(recognised) = recognised {
                return Ok((recognised.into_page(number, width, height), warnings));
            }
        }
        warnings.push(Warning::OcrUnavailable { page: number });
    }
    checks::find(&mut drawn);
    let (lines, tables) = arrange(&drawn);
    let page = Page { number, width, height, turn: 0, source: PageSource::TextLayer, lines, tables };
    Ok((page, warnings))
}

fn collect<'a>(
    page: &'a PdfPage<'a>,
    transform: Affine,
    content: RenderContent,
    cache: &InterpreterCache<'a>,
    limits: &Limits,
) -> Collected {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let settings = InterpreterSettings { render_content: content, ..InterpreterSettings::default() };
    let bounds = KurboRect::new(0.0, 0.0, width, height);
    let mut context = Context::new(transform, bounds, cache, page.xref(), settings);
    let mut collected =
        Collected::new(width, height, usize::try_from(limits.characters).unwrap_or(usize::MAX));
    interpret_page(page, &mut context, &mut collected);
    collected
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether the words of a hidden layer are hardly words.
fn is_poor(drawn: &Collected) -> bool {
    let text: Vec<char> =
        drawn.glyphs.iter().flat_map(|glyph| glyph.text.chars()).filter(|c| !c.is_whitespace()).collect();
    let good = text.iter().filter(|character| character.is_alphanumeric()).count();
    good * 10 < text.len() * 6
}

/// The lines and tables of the text, direction by direction.
fn arrange(drawn: &Collected) -> (Vec<Line>, Vec<Table>) {
    let (mut lines, mut tables) = (Vec::new(), Vec::new());
    for direction in words::directions(&drawn.glyphs) {
        let frame = direction.frame;
        let rules: Vec<_> = if frame.is_upright() {
            drawn.rules.iter().map(|rule| frame.rule(*rule)).collect()
        } else {
            Vec::new()
        };
        let pieces: Vec<Piece> = direction.pieces;
        let mut arranged = layout::arrange(pieces, &rules);
        let first_block = lines.last().map_or(0, |line: &Line| line.block + 1);
        for line in &mut arranged.lines {
            line.block += first_block;
        }
        let words = arranged.lines.iter_mut().flat_map(|line| &mut line.words);
        let cells = arranged.tables.iter_mut().flat_map(|table| table.rows.iter_mut().flatten());
        for word in words.chain(cells.flat_map(|cell| &mut cell.words)) {
            word.bbox = word.bbox.map(|rect| map_rect(rect, |rect| frame.turn_back_rect(rect)));
        }
        lines.append(&mut arranged.lines);
        tables.append(&mut arranged.tables);
    }
    (lines, tables)
}

fn map_rect(rect: Rect, map: impl Fn(KurboRect) -> KurboRect) -> Rect {
    let (x, y) = (f64::from(rect.x), f64::from(rect.y));
    let placed = map(KurboRect::new(x, y, x + f64::from(rect.width), y + f64::from(rect.height)));
    Rect {
        x: placed.x0 as f32,
        y: placed.y0 as f32,
        width: placed.width() as f32,
        height: placed.height() as f32,
    }
}
