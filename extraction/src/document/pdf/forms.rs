//! Fields of forms: their values, also those that no viewer has drawn yet, and their boxes.

use hayro::hayro_syntax::object::{Array, Dict, Name, Object, Rect as PdfRect, Stream, String as PdfString};
use hayro::hayro_syntax::page::Page;
use hayro::kurbo::{Affine, Point, Rect};

use super::checks;
use super::collect::{Collected, Glyph};
use crate::document::words::is_unseen;

/// How many fields of a page are read.
const FIELDS: usize = 5000;
/// How deep fields may be in fields.
const DEPTH: usize = 16;
/// Characters of one value.
const VALUE: usize = 20_000;

/// A field where it shows on the page.
struct Field {
    rect: Rect,
    kind: Kind,
}

enum Kind {
    Box { ticked: bool },
    Text { value: String, lines: bool },
}

/// Adds the values of a page's fields to what the page draws. `drawn` is what the annotations draw themselves.
pub(super) fn add(page: &Page<'_>, transform: Affine, mut drawn: Collected, onto: &mut Collected) {
    let fields = fields(page, transform);
    drawn.glyphs.retain(|glyph| {
        let center = glyph.center();
        !fields.iter().any(|field| matches!(field.kind, Kind::Box { .. }) && field.rect.contains(center))
    });
    for field in &fields {
        match &field.kind {
            Kind::Box { ticked } => {
                // The page may draw the box itself.
                onto.boxes.retain(|painted| {
                    !field.rect.inflate(3.0, 3.0).contains(painted.rect.center()) || painted.filled
                });
                onto.glyphs.push(checks::glyph(field.rect, *ticked));
            }
            Kind::Text { value, lines } => {
                let shown =
                    |glyph: &Glyph| field.rect.contains(glyph.center()) && !glyph.text.trim().is_empty();
                if !drawn.glyphs.iter().any(shown) {
                    write(value, field.rect, *lines, &mut onto.glyphs);
                }
            }
        }
    }
    onto.unmapped += drawn.unmapped;
    onto.glyphs.append(&mut drawn.glyphs);
}

fn fields(page: &Page<'_>, transform: Affine) -> Vec<Field> {
    let Some(annotations) = page.raw().get::<Array<'_>>("Annots") else { return Vec::new() };
    annotations
        .iter::<Dict<'_>>()
        .take(FIELDS)
        .filter_map(|annotation| field(&annotation, transform))
        .collect()
}

fn field(annotation: &Dict<'_>, transform: Affine) -> Option<Field> {
    const HIDDEN: u32 = 1 << 1 | 1 << 5;
    const PUSH_BUTTON: u32 = 1 << 16;
    const PASSWORD: u32 = 1 << 13;
    const MULTILINE: u32 = 1 << 12;
    if annotation.get::<u32>("F").unwrap_or(0) & HIDDEN != 0 {
        return None;
    }
    let rect = annotation.get::<PdfRect>("Rect")?;
    let rect = transform.transform_rect_bbox(Rect::new(rect.x0, rect.y0, rect.x1, rect.y1));
    if !rect.is_finite() || rect.area() <= 0.0 {
        return None;
    }
    let subtype = annotation.get::<Name<'_>>("Subtype")?;
    if subtype.as_str() == "FreeText" && !annotation.contains_key("AP") {
        let value = text(&annotation.get::<Object<'_>>("Contents")?)?;
        return Some(Field { rect, kind: Kind::Text { value, lines: true } });
    }
    if subtype.as_str() != "Widget" {
        return None;
    }
    let kind = inherited(annotation, "FT")?.into_name()?;
    let flags = inherited(annotation, "Ff").and_then(Object::into_i32).unwrap_or(0) as u32;
    let kind = match kind.as_str() {
        "Btn" if flags & PUSH_BUTTON == 0 => {
            let state = annotation.get::<Name<'_>>("AS").or_else(|| inherited(annotation, "V")?.into_name());
            Kind::Box { ticked: state.is_some_and(|state| !matches!(state.as_str(), "Off" | "")) }
        }
        "Tx" if flags & PASSWORD == 0 => {
            Kind::Text { value: text(&inherited(annotation, "V")?)?, lines: flags & MULTILINE != 0 }
        }
        "Ch" => Kind::Text { value: choice(annotation)?, lines: false },
        _ => return None,
    };
    Some(Field { rect, kind })
}

/// An attribute of a field, own or inherited.
fn inherited<'a>(field: &Dict<'a>, key: &str) -> Option<Object<'a>> {
    let mut field = field.clone();
    for _ in 0..DEPTH {
        if let Some(value) = field.get::<Object<'_>>(key) {
            return Some(value);
        }
        field = field.get::<Dict<'_>>("Parent")?;
    }
    None
}

/// What a choice shows for its value.
fn choice(field: &Dict<'_>) -> Option<String> {
    let value = match inherited(field, "V")? {
        Object::Array(values) => {
            values.iter::<Object<'_>>().filter_map(|value| text(&value)).collect::<Vec<_>>().join(", ")
        }
        value => text(&value)?,
    };
    let options = match inherited(field, "Opt") {
        Some(Object::Array(options)) => options,
        _ => return Some(value),
    };
    for option in options.iter::<Object<'_>>() {
        if let Object::Array(pair) = option {
            let mut pair = pair.iter::<Object<'_>>();
            if let (Some(export), Some(shown)) = (pair.next(), pair.next())
                && text(&export).as_deref() == Some(&value)
            {
                return text(&shown);
            }
        }
    }
    Some(value)
}

fn text(value: &Object<'_>) -> Option<String> {
    match value {
        Object::String(value) => Some(decode(value)),
        Object::Name(value) => Some(value.as_str().to_owned()),
        Object::Stream(value) => stream_text(value),
        _ => None,
    }
}

fn stream_text(stream: &Stream<'_>) -> Option<String> {
    let data = stream.decoded_data().ok()?;
    Some(decode_bytes(&data[..data.len().min(VALUE)]))
}

fn decode(value: &PdfString<'_>) -> String {
    decode_bytes(value.as_bytes())
}

/// Text of a PDF: UTF-16 or UTF-8 by its byte order mark, else PDFDocEncoding, which is Latin but for a few.
fn decode_bytes(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(VALUE)];
    if encoding_rs::Encoding::for_bom(bytes).is_some() {
        return encoding_rs::UTF_8.decode(bytes).0.into_owned();
    }
    const FROM_80: [char; 32] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ',
        'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{fffd}',
    ];
    let decode = |byte: &u8| match byte {
        0x80..=0x9f => FROM_80[usize::from(byte - 0x80)],
        0xa0 => '€',
        byte => char::from(*byte),
    };
    bytes.iter().map(decode).collect()
}

/// Writes a value into its field as a viewer would.
fn write(value: &str, rect: Rect, lines: bool, glyphs: &mut Vec<Glyph>) {
    let rows: Vec<&str> = value.split(['\r', '\n']).filter(|row| !row.trim().is_empty()).collect();
    let size = if lines { 10.0_f64.min(rect.height()) } else { (rect.height() * 0.7).clamp(4.0, 11.0) };
    for (index, row) in rows.iter().enumerate() {
        let count = row.chars().count().max(1) as f64;
        let advance = (size * 0.5).min(rect.width() / count);
        let base = if lines {
            rect.y0 + size * (1.0 + 1.15 * index as f64)
        } else {
            rect.center().y + 0.3 * size + size * 1.15 * index as f64
        };
        for (position, character) in row.chars().filter(|character| !is_unseen(*character)).enumerate() {
            let origin = Point::new(rect.x0 + 1.0 + advance * position as f64, base);
            glyphs.push(Glyph::standing_for(character.encode_utf8(&mut [0; 4]), origin, advance, size));
        }
    }
}
