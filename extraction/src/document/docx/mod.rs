//! DOCX: headers, body, footers and notes as a reader sees them.

mod lists;
mod story;
mod styles;

use self::lists::Lists;
use self::story::Story;
use self::styles::Styles;
use super::error::ReadError;
use super::limits::Limits;
use super::model::{Document, Page, Warning};
use super::package::Package;
use super::xml;

/// Reads a DOCX: headers first, then the body, footers, footnotes and endnotes.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let mut package = Package::open(bytes, limits)?;
    let main = package.main_part()?;
    let relations = package.relations(&main)?;
    let parts = |kind: &str| -> Vec<String> {
        relations
            .iter()
            .filter(|relation| relation.kind == kind)
            .map(|relation| relation.target.clone())
            .collect()
    };

    let mut styles = Styles::default();
    let mut lists = Lists::default();
    for name in parts("styles") {
        if let Some(part) = package.part(&name)? {
            xml::walk(&part, &mut styles)?;
        }
    }
    for name in parts("numbering") {
        if let Some(part) = package.part(&name)? {
            xml::walk(&part, &mut lists)?;
        }
    }

    let mut story = Story::new(&styles, &mut lists, limits);
    let mut margins: Vec<Vec<u8>> = Vec::new();
    let mut order = parts("header");
    let body = order.len();
    order.push(main);
    order.extend(["footer", "footnotes", "endnotes"].into_iter().flat_map(parts));
    for (index, name) in order.iter().enumerate() {
        let Some(part) = package.part(name)? else {
            if index == body {
                return Err(ReadError::DAMAGED);
            }
            continue;
        };
        // Sections repeat their headers and footers.
        if index != body && margins.contains(&part) {
            continue;
        }
        xml::walk(&part, &mut story)?;
        if index != body {
            margins.push(part);
        } else if !story.is_document() {
            // Without this, a main part that was lost or replaced would be a document without text.
            return Err(ReadError::DAMAGED);
        }
    }
    let (lines, tables, hidden) = story.finish();
    let warnings = if hidden { vec![Warning::HiddenText { page: 1 }] } else { Vec::new() };
    let page = Page { number: 1, lines, tables, ..Page::default() };
    Ok(Document { pages: vec![page], page_count: None, warnings, ..Document::default() })
}
