//! Arrays of scalars: what stands after or under the label of a list.

use openapi_core::extraction::ExtractionType;

use super::candidate::{Candidate, Fit, Provenance};
use super::field_query::FieldQuery;
use super::scoring::{list, resume};
use super::source::Source;
use super::text::tidy;
use super::view::Span;
use super::vocabulary::AND;

const MAX_ELEMENTS: usize = 200;
/// A longer line without a bullet is no element.
const MAX_WORDS: usize = 14;

fn is_bullet(text: &str) -> bool {
    // The second line is what a recogniser takes bullets for.
    matches!(text, "-" | "–" | "•" | "·" | "*" | "●" | "▪" | "◦" | "o" | "‣" | "—" | "➢" | "✓" | "")
        || matches!(
            text,
            "¢" | "«" | "»" | "°" | "©" | "®" | "+" | "~" | "e" | "¢." | "*." | "■" | "□" | "⁃" | "∙"
        )
        || text.len() <= 4
            && text.ends_with(['.', ')'])
            && text[..text.len() - 1].bytes().all(|byte| byte.is_ascii_digit())
            && text.len() > 1
}

impl Source<'_, '_> {
    /// The elements of a list.
    pub(crate) fn list(&self, array: &FieldQuery<'_>, item: &FieldQuery<'_>) -> Vec<Candidate> {
        if item.kind == ExtractionType::String && array.all.has("parties") {
            let parties = self.parties();
            if !parties.is_empty() {
                let fit = Fit::new(Provenance::Sentence, list::PARTY, list::PARTY);
                return parties.into_iter().filter_map(|span| self.element_with(item, span, fit)).collect();
            }
        }
        if item.kind == ExtractionType::String {
            let history = self.of_history(array);
            if !history.is_empty() {
                let fit = Fit::new(Provenance::Table, resume::SIMILARITY, resume::PART);
                return history
                    .into_iter()
                    .map(|(span, text)| Candidate::quoting(span, &text, fit))
                    .collect();
            }
        }
        let mut best: Option<(f64, Vec<Candidate>)> = None;
        for index in self.labels.with_terms(&array.searched()) {
            let label = &self.labels.all[index as usize];
            let similarity = array.fits(label);
            if similarity < list::MIN_SIMILARITY || best.as_ref().is_some_and(|(most, _)| *most >= similarity)
            {
                continue;
            }
            let line = self.view.line_span(label.line);
            // A heading or a label at the beginning of its piece of the line.
            let (_, segment) = self.view.segment_of(label.span.start);
            if label.span.start != segment.start {
                continue;
            }
            if let Some(items) = self.ticked_items(label) {
                let elements: Vec<Candidate> =
                    items.into_iter().filter_map(|span| self.element(item, span, similarity)).collect();
                best = Some((similarity, elements));
                continue;
            }
            let mut elements = Vec::new();
            let after = Span { start: label.after, end: line.end };
            if after.start < after.end && (label.is_marked || segment.end <= after.start) {
                for span in self.split(after) {
                    elements.extend(self.element(item, span, similarity));
                }
                if self.view.text(after).ends_with(',') && label.line + 1 < self.view.lines.len() {
                    for span in self.split(self.view.line_span(label.line + 1)) {
                        elements.extend(self.element(item, span, similarity));
                    }
                }
            } else if after.start >= after.end {
                elements = self.below(item, label.line, label.span, similarity);
            }
            if !elements.is_empty() {
                best = Some((similarity, elements));
            }
        }
        let mut elements = best.map(|(_, elements)| elements).unwrap_or_default();
        if array.all.has("parties") {
            elements = elements.into_iter().filter_map(|element| self.party(item, &element)).collect();
        }
        elements
    }

    /// The name at the beginning of the text of a party.
    fn party(&self, item: &FieldQuery<'_>, element: &Candidate) -> Option<Candidate> {
        let mut span = element.pieces[0];
        if let Some(at) = (span.start + 1..span.end).find(|&at| self.view.words[at].text.starts_with('(')) {
            span.end = at;
        }
        let text = self.view.text(span);
        let is_name = super::entities::is_company(&text) || super::entities::is_person(&text);
        if is_name && !super::entities::is_ending(&tidy(&text)) {
            self.element(item, span, element.similarity)
        } else {
            None
        }
    }

    fn below(&self, item: &FieldQuery<'_>, line: usize, label: Span, similarity: f64) -> Vec<Candidate> {
        let mut elements = Vec::new();
        let mut bulleted = None;
        for next in line + 1..self.view.lines.len() {
            if elements.len() >= MAX_ELEMENTS {
                break;
            }
            let Some(segment) = self
                .view
                .segments_of(next)
                .iter()
                .find(|segment| self.view.aligned(segment.span(), label))
                .or_else(|| self.view.segments_of(next).first())
            else {
                break;
            };
            let mut span = segment.span();
            let first = self.view.words[span.start].text;
            let has_bullet = is_bullet(first);
            // A recogniser loses bullets.
            let is_recognised = self.view.quality(span) < 1.0;
            if *bulleted.get_or_insert(has_bullet) != has_bullet
                && (!is_recognised || self.starts_label(next))
            {
                if bulleted == Some(true) && self.view.words[span.start].gap > 1 && !self.starts_label(next) {
                    continue;
                }
                break;
            }
            if !has_bullet {
                let heading = self.starts_label(next);
                let far = self.view.lines[next].block != self.view.lines[line].block && !elements.is_empty();
                if heading || far && elements.len() >= 2 || span.end - span.start > MAX_WORDS {
                    break;
                }
            }
            // Entries with a period are no items.
            let has_period = super::periods::find(self.view, next).is_some_and(|period| period.is_range);
            if has_period && item.kind == ExtractionType::String {
                break;
            }
            if has_bullet {
                span.start += 1;
            }
            if span.start >= span.end {
                continue;
            }
            let pieces = if has_bullet { vec![span] } else { self.split(span) };
            for piece in pieces {
                elements.extend(self.element(item, piece, similarity * list::BELOW));
            }
            if !has_bullet && elements.len() >= 3 && self.split(span).len() >= 3 {
                break;
            }
        }
        elements
    }

    fn starts_label(&self, line: usize) -> bool {
        let start = self.view.lines[line].start;
        self.labels
            .of_line(line)
            .any(|label| label.span.start == start && (label.is_marked || self.is_known(&label.terms)))
    }

    /// A line parted at commas, semicolons and bullets; wide gaps part where there are none.
    fn split(&self, span: Span) -> Vec<Span> {
        let mut parts = Vec::new();
        let mut start = span.start;
        let mut depth = 0_i32;
        for at in span.start..span.end {
            let text = self.view.words[at].text;
            depth += text.matches('(').count() as i32 - text.matches(')').count() as i32;
            let alone = matches!(
                text,
                "," | ";" | "|" | "•" | "·" | "/" | "and" | "und" | "et" | "y" | "●" | "▪" | "-" | "–"
            ) && (text.len() == 1 || !text.is_ascii() || parts.len() + 1 > 1);
            // `Ann Lee and Tom Poe` are two.
            let is_between_names = AND.has(text)
                && super::entities::is_person(&self.view.text(Span { start, end: at }))
                && super::entities::is_person(&self.view.text(Span { start: at + 1, end: span.end }));
            let alone = alone || is_between_names;
            let ends = text.ends_with([',', ';']) && depth <= 0;
            let gap = at > start && self.view.words[at].gap >= 3;
            if gap && !alone {
                parts.push(Span { start, end: at });
                start = at;
            }
            if alone && depth <= 0 {
                if at > start {
                    parts.push(Span { start, end: at });
                }
                start = at + 1;
            } else if ends {
                parts.push(Span { start, end: at + 1 });
                start = at + 1;
            }
        }
        if start < span.end {
            parts.push(Span { start, end: span.end });
        }
        parts
    }

    fn element(&self, item: &FieldQuery<'_>, span: Span, similarity: f64) -> Option<Candidate> {
        self.element_with(item, span, Fit::new(Provenance::Table, similarity, similarity))
    }

    fn element_with(&self, item: &FieldQuery<'_>, span: Span, fit: Fit) -> Option<Candidate> {
        if span.start >= span.end {
            return None;
        }
        if item.kind != ExtractionType::String {
            return self.values(item, span, fit).into_iter().next();
        }
        let text = tidy(&self.view.text(span));
        let is_short = text
            .rsplit(' ')
            .next()
            .is_some_and(|last| last.chars().count() <= 5 || last.trim_end_matches('.').contains('.'));
        let text = if is_short { text.as_str() } else { text.trim_end_matches('.') };
        if text.is_empty() || !text.chars().any(char::is_alphanumeric) {
            return None;
        }
        Some(Candidate::quoting(span, text, fit))
    }
}
