//! What styles and lists add to a paragraph: type, weight, and the number before it.

use std::collections::HashMap;

use crate::document::error::ReadError;
use crate::document::xml::{Element, Visitor, Vocabulary};

/// How many styles may be based on one another; a chain of more is a loop.
const CHAIN: usize = 16;

/// Which list a paragraph is in, and how deep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListLevel {
    pub(super) list: Option<u32>,
    pub(super) level: Option<usize>,
}

/// An attribute of a style, own or inherited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) size: Option<f32>,
    pub(super) bold: Option<bool>,
    pub(super) list: ListLevel,
}

#[derive(Default)]
struct Style {
    look: Look,
    base: Option<String>,
}

/// The styles of a document.
#[derive(Default)]
pub(super) struct Styles {
    styles: HashMap<String, Style>,
    default_size: Option<f32>,
    default_style: Option<String>,
    current: Option<(String, Style)>,
    in_defaults: bool,
}

impl Styles {
    /// How text of a style looks; of the default style if none is named.
    pub(super) fn look(&self, name: Option<&str>) -> Look {
        let mut look = Look::default();
        let mut next = name.or(self.default_style.as_deref());
        for _ in 0..CHAIN {
            let Some(style) = next.and_then(|name| self.styles.get(name)) else { break };
            look.size = look.size.or(style.look.size);
            look.bold = look.bold.or(style.look.bold);
            look.list.list = look.list.list.or(style.look.list.list);
            look.list.level = look.list.level.or(style.look.list.level);
            next = style.base.as_deref();
        }
        look.size = look.size.or(self.default_size);
        look
    }
}

impl Visitor for Styles {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        let value = || element.attribute(b"val");
        match element.name() {
            b"docDefaults" => self.in_defaults = true,
            b"style" => {
                let name = element.attribute(b"styleId").unwrap_or_default();
                let default = element.attribute(b"default");
                if element.attribute(b"type").as_deref() == Some("paragraph")
                    && matches!(default.as_deref(), Some("1" | "true" | "on"))
                {
                    self.default_style = Some(name.clone());
                }
                self.current = Some((name, Style::default()));
            }
            // Conditional formats of a table's style are for parts of the table.
            b"tblStylePr" => return Ok(false),
            b"sz" => {
                let size =
                    value().and_then(|value| value.parse::<f32>().ok()).map(|half_points| half_points / 2.0);
                match &mut self.current {
                    Some((_, style)) => style.look.size = size,
                    None if self.in_defaults => self.default_size = size,
                    None => {}
                }
            }
            name => {
                if let Some((_, style)) = &mut self.current {
                    match name {
                        b"basedOn" => style.base = value(),
                        b"b" => style.look.bold = Some(element.is_on()),
                        b"numId" => style.look.list.list = value().and_then(|value| value.parse().ok()),
                        b"ilvl" => style.look.list.level = value().and_then(|value| value.parse().ok()),
                        _ => {}
                    }
                }
            }
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        match name {
            b"docDefaults" => self.in_defaults = false,
            b"style" => self.styles.extend(self.current.take()),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}
