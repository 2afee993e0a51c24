//! Presentations of Office Open XML: the text and tables of the slides that are shown, in their order.

use super::error::ReadError;
use super::flow::Flow;
use super::limits::Limits;
use super::model::Document;
use super::package::Package;
use super::xml::{Element, Visitor, Vocabulary, walk};

/// Slides beyond are not read.
const MAX_SLIDES: usize = 1_000;

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let mut package = Package::open(bytes, limits)?;
    let main = package.main_part()?;
    let relations = package.relations(&main)?;
    let mut order = Order::default();
    walk(&package.part(&main)?.ok_or(ReadError::DAMAGED)?, &mut order)?;
    if !order.is_presentation {
        return Err(ReadError::DAMAGED);
    }
    let mut flow = Flow::new(limits);
    for id in order.slides.iter().take(MAX_SLIDES) {
        let Some(relation) = relations.iter().find(|relation| relation.id == *id) else { continue };
        let Some(part) = package.part(&relation.target)? else { continue };
        let mut slide = Slide { flow: &mut flow, rows: None, row: Vec::new(), cell: None, in_text: false };
        walk(&part, &mut slide)?;
        flow.end_block()?;
    }
    flow.document()
}

#[derive(Default)]
struct Order {
    is_presentation: bool,
    slides: Vec<String>,
}

impl Visitor for Order {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        match element.name() {
            b"presentation" => self.is_presentation = true,
            b"sldId" => self.slides.extend(element.relation()),
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, _: &[u8]) -> Result<(), ReadError> {
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}

struct Slide<'a> {
    flow: &'a mut Flow,
    rows: Option<Vec<Vec<String>>>,
    row: Vec<String>,
    cell: Option<String>,
    in_text: bool,
}

impl Slide<'_> {
    fn end_line(&mut self) -> Result<(), ReadError> {
        match &mut self.cell {
            Some(cell) => {
                if !cell.is_empty() {
                    cell.push('\n');
                }
                Ok(())
            }
            None => self.flow.end_line(),
        }
    }
}

impl Visitor for Slide<'_> {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        match element.name() {
            // A slide that is not shown.
            b"sld"
                if element
                    .attribute(b"show")
                    .is_some_and(|shown| matches!(shown.as_str(), "0" | "false")) =>
            {
                return Ok(false);
            }
            b"Fallback" => return Ok(false),
            b"tbl" => self.rows = Some(Vec::new()),
            b"tc" => self.cell = Some(String::new()),
            b"t" => self.in_text = true,
            b"br" => self.end_line()?,
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        match name {
            b"t" => self.in_text = false,
            b"p" => self.end_line()?,
            b"sp" => self.flow.end_block()?,
            b"tc" => self.row.extend(self.cell.take().map(|cell| cell.trim_end().to_owned())),
            b"tr" => {
                let row = std::mem::take(&mut self.row);
                if let Some(rows) = &mut self.rows {
                    rows.push(row);
                }
            }
            b"tbl" => self.flow.table(self.rows.take().unwrap_or_default())?,
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.in_text {
            match &mut self.cell {
                Some(cell) => cell.push_str(text),
                None => self.flow.text(text),
            }
        }
    }
}
