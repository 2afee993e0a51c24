//! Messages (RFC 5322): what a reader sees of the head, the body, and the attachments as documents.

use mail_parser::{Address, MessageParser, MessagePart, MimeHeaders, PartType};

use super::error::{ReadError, Unit};
use super::flow::Flow;
use super::limits::Limits;
use super::model::{Document, Warning};
use super::{html, kind, ocr, read_with};

/// Attachments beyond are not read.
const MAX_ATTACHMENTS: usize = 50;
/// Messages within messages are read so deep.
const DEPTH: usize = 3;

/// Reads a message. Its attachments follow as pages of their own.
pub(super) fn read(
    bytes: &[u8],
    limits: &Limits,
    ocr: Option<&dyn ocr::OcrEngine>,
    depth: usize,
) -> Result<Document, ReadError> {
    let message = MessageParser::default().parse(bytes).ok_or(ReadError::DAMAGED)?;
    let mut flow = Flow::new(limits);
    let mut head = |name: &str, value: Option<String>| -> Result<(), ReadError> {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            flow.text(&format!("{name}: {value}"));
            flow.end_line()?;
        }
        Ok(())
    };
    head("From", message.from().map(shown))?;
    head("To", message.to().map(shown))?;
    head("Cc", message.cc().map(shown))?;
    head(
        "Date",
        message.date().map(|date| {
            format!("{:04}-{:02}-{:02} {:02}:{:02}", date.year, date.month, date.day, date.hour, date.minute)
        }),
    )?;
    head("Subject", message.subject().map(str::to_owned))?;
    flow.end_block()?;
    let of_html = |part: &MessagePart<'_>| match &part.body {
        PartType::Html(text) => Some(text.to_string()),
        _ => None,
    };
    let plain = message.text_body.iter().filter_map(|id| message.part(*id));
    let bodies: Vec<&MessagePart<'_>> = plain.collect();
    let mut document = match bodies.iter().find_map(|part| of_html(part)) {
        // A body that is HTML alone.
        Some(page) if bodies.iter().all(|part| !matches!(part.body, PartType::Text(_))) => {
            let body = html::read_text(&page, limits)?;
            let mut head = flow.document()?;
            append(&mut head, body, limits, true)?;
            head
        }
        _ => {
            for part in bodies {
                if let PartType::Text(text) = &part.body {
                    for paragraph in text.split("\n\n").flat_map(|part| part.split("\r\n\r\n")) {
                        flow.paragraph(paragraph)?;
                    }
                }
            }
            flow.document()?
        }
    };
    let has_page =
        message.html_body.iter().filter_map(|id| message.part(*id)).any(|part| of_html(part).is_some());
    let attachments = message.attachments().filter(|part| {
        // An image that the body shows: a logo.
        !(has_page && part.content_id().is_some() && matches!(part.body, PartType::InlineBinary(_)))
    });
    for (nth, part) in attachments.enumerate() {
        let page = document.pages.len() as u32 + 1;
        let left_out = Warning::PageFailed { page };
        let content = part.contents();
        if nth >= MAX_ATTACHMENTS || depth >= DEPTH {
            document.warnings.push(left_out);
            break;
        }
        match read_attachment(content, limits, ocr, depth) {
            Ok(attached) => append(&mut document, attached, limits, false)?,
            Err(error @ ReadError::TooLarge { .. }) => return Err(error),
            // It is no document, or a damaged one: the message is one without it.
            Err(_) => document.warnings.push(left_out),
        }
    }
    Ok(document)
}

fn read_attachment(
    content: &[u8],
    limits: &Limits,
    ocr: Option<&dyn ocr::OcrEngine>,
    depth: usize,
) -> Result<Document, ReadError> {
    match kind::Kind::of(content) {
        Some(kind::Kind::Message) => read(content, limits, ocr, depth + 1),
        _ => read_with(content, limits, ocr),
    }
}

/// Adds the pages of another document; its first one to the last one here, if it is a part of it.
fn append(into: &mut Document, from: Document, limits: &Limits, is_part: bool) -> Result<(), ReadError> {
    let offset = into.pages.len() as u32 - u32::from(is_part);
    for mut warning in from.warnings {
        let (Warning::OcrUnavailable { page } | Warning::PageFailed { page } | Warning::HiddenText { page }) =
            &mut warning;
        *page += offset;
        into.warnings.push(warning);
    }
    for mut image in from.images {
        image.page += offset;
        into.images.push(image);
    }
    for (nth, mut page) in from.pages.into_iter().enumerate() {
        match into.pages.last_mut().filter(|_| is_part && nth == 0) {
            Some(last) => {
                let block = last.lines.last().map_or(0, |line| line.block + 1);
                last.lines.extend(page.lines.into_iter().map(|mut line| {
                    line.block += block;
                    line
                }));
                last.tables.append(&mut page.tables);
            }
            None => {
                page.number += offset;
                into.pages.push(page);
            }
        }
    }
    limits.check_pages(into.pages.len())?;
    if into.characters() > limits.characters {
        return Err(ReadError::TooLarge { unit: Unit::Characters, limit: limits.characters, actual: None });
    }
    Ok(())
}

/// How a reader shows addresses.
fn shown(address: &Address<'_>) -> String {
    let each = address.iter().map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    });
    each.collect::<Vec<_>>().join(", ")
}
