//! XML without the parts of XML that hurt: no document types, no entities but the five, no bottomless nesting.

use encoding_rs::UTF_8;
use quick_xml::NsReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;

use crate::document::error::{ReadError, Reason};

/// How deep elements may nest.
const DEPTH: usize = 256;

/// Which vocabulary an element is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// Word processing, transitional or strict.
    Word,
    /// Packages: relationships.
    Other,
}

/// An element that begins.
pub(super) struct Element<'a> {
    pub(super) vocabulary: Vocabulary,
    start: &'a BytesStart<'a>,
}

impl Element<'_> {
    /// Its name without its prefix.
    pub(super) fn name(&self) -> &[u8] {
        self.start.local_name().into_inner()
    }

    /// The value of an attribute by its name without prefix.
    pub(super) fn attribute(&self, name: &[u8]) -> Option<String> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        attributes
            .flatten()
            .find(|attribute| attribute.key.local_name().into_inner() == name)
            .and_then(|attribute| attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok())
            .map(|value| value.into_owned())
    }

    /// The identifier of a relation, which has the prefix of its vocabulary: `r:id`.
    pub(super) fn relation(&self) -> Option<String> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        let found = attributes.flatten().find(|attribute| {
            attribute.key.prefix().is_some() && attribute.key.local_name().into_inner() == b"id"
        });
        found.map(|attribute| String::from_utf8_lossy(&attribute.value).into_owned())
    }

    /// The value of a switch (`w:b`, `w:vanish`): present and not turned off.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.attribute(b"val").as_deref(), Some("0" | "false" | "off" | "none"))
    }
}

/// Who hears what is in a document.
pub(super) trait Visitor {
    /// Start of an element. `false` skips the element and its content, including the call for its end.
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError>;
    /// An element of this name ends.
    fn end(&mut self, vocabulary: Vocabulary, name: &[u8]) -> Result<(), ReadError>;
    /// Text, with references resolved; it may come in pieces.
    fn text(&mut self, text: &str);
}

/// Tells a visitor all of a document.
pub(super) fn walk(bytes: &[u8], visitor: &mut impl Visitor) -> Result<(), ReadError> {
    let text = UTF_8.decode(bytes).0;
    let mut reader = NsReader::from_str(&text);
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0_usize;
    // The depth at which an element is left out, while it lasts.
    let mut skipping = None;
    loop {
        let (namespace, event) = reader.read_resolved_event().map_err(|_| ReadError::DAMAGED)?;
        let vocabulary = vocabulary(&namespace);
        match event {
            Event::Start(start) => {
                depth += 1;
                if depth > DEPTH {
                    return Err(ReadError::STRUCTURE);
                }
                if skipping.is_none() && !visitor.start(&Element { vocabulary, start: &start })? {
                    skipping = Some(depth);
                }
            }
            Event::End(end) => {
                match skipping {
                    Some(level) if level == depth => skipping = None,
                    Some(_) => {}
                    None => visitor.end(vocabulary, end.local_name().into_inner())?,
                }
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) if skipping.is_none() => {
                visitor.text(&text.decode().map_err(|_| ReadError::DAMAGED)?);
            }
            Event::CData(text) if skipping.is_none() => {
                visitor.text(&text.decode().map_err(|_| ReadError::DAMAGED)?);
            }
            Event::GeneralRef(reference) if skipping.is_none() => {
                let mut buffer = [0; 4];
                if let Some(character) = reference.resolve_char_ref().map_err(|_| ReadError::DAMAGED)? {
                    visitor.text(character.encode_utf8(&mut buffer));
                } else {
                    let name = reference.decode().map_err(|_| ReadError::DAMAGED)?;
                    visitor
                        .text(quick_xml::escape::resolve_predefined_entity(&name).ok_or(ReadError::DAMAGED)?);
                }
            }
            Event::DocType(_) => return Err(ReadError::Unreadable(Reason::Doctype)),
            Event::Eof if depth == 0 => return Ok(()),
            Event::Eof => return Err(ReadError::DAMAGED),
            _ => {}
        }
    }
}

fn vocabulary(namespace: &ResolveResult<'_>) -> Vocabulary {
    const TRANSITIONAL: &[u8] = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    const STRICT: &[u8] = b"http://purl.oclc.org/ooxml/wordprocessingml/main";
    match namespace {
        ResolveResult::Bound(name) if matches!(name.into_inner(), TRANSITIONAL | STRICT) => Vocabulary::Word,
        _ => Vocabulary::Other,
    }
}
