//! Who signs a form and when: a row of captions (date, name and title, signature) with what is written under or over it.

use openapi_core::extraction::ExtractionType;

use super::candidate::{Candidate, Fit, Provenance};
use super::entities;
use super::field_query::{FieldQuery, Role};
use super::scoring::signature as weights;
use super::source::Source;
use super::terms::Terms;
use super::text::{has_digit, tidy};
use super::view::Span;

/// The lines under or over the captions that may be filled in, and the most lines that are looked through for captions.
const LINES: usize = 6;
const LINES_OVER: usize = 2;
const MAX_LINES: usize = 20_000;
/// The most words of a caption, and the reach of a column to the left of its caption, in points.
const CAPTION_WORDS: usize = 8;
const REACH: f32 = 24.0;

/// A row of captions: each with its terms and the horizontal extent of its column.
struct Captions {
    line: usize,
    columns: Vec<(Terms, f32, f32)>,
}

impl Source<'_, '_> {
    /// Candidates for who signed, the title, and the day.
    pub(crate) fn signature(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let is_asked = query.all.has("signer") || query.name.has("filed");
        if !is_asked || !self.view.placed {
            return;
        }
        for captions in (0..self.view.lines.len().min(MAX_LINES)).filter_map(|line| self.captions(line)) {
            let fit = Fit::new(Provenance::Below, weights::SIMILARITY, weights::UNDER_CAPTION);
            let before = found.len();
            match query.kind {
                ExtractionType::Date => {
                    let cells = self.cells(&captions, "date");
                    let dates = cells.iter().flat_map(|cell| self.annotations.dates_in(*cell));
                    found.extend(dates.take(1).filter_map(|date| self.date(query, date, fit)));
                }
                ExtractionType::String if query.name.has_any(&["title", "job"]) => {
                    let cells = self.cells(&captions, "title");
                    let is_shared =
                        captions.columns.iter().any(|(terms, ..)| terms.has("title") && terms.has("name"));
                    let title =
                        cells.into_iter().skip(usize::from(is_shared)).find(|cell| self.is_written(*cell));
                    found.extend(
                        title.map(|cell| Candidate::quoting(cell, &written(&self.view.text(cell)), fit)),
                    );
                }
                ExtractionType::String if query.role == Role::Person => {
                    let name = self.cells(&captions, "name").into_iter().find(|cell| self.is_written(*cell));
                    found.extend(
                        name.map(|cell| Candidate::quoting(cell, &written(&self.view.text(cell)), fit)),
                    );
                }
                _ => {}
            }
            if found.len() > before {
                break;
            }
        }
    }

    /// The captions of a line: one of them asks for a signature, another for a date, name or title.
    fn captions(&self, line: usize) -> Option<Captions> {
        let view = self.view;
        let segments = view.segments_of(line);
        if segments.len() < 2 {
            return None;
        }
        let mut columns: Vec<(Terms, f32, f32)> = Vec::new();
        for (nth, segment) in segments.iter().enumerate() {
            let (x0, _) = view.extent(segment.span());
            let next = segments.get(nth + 1).map_or(f32::MAX, |next| view.extent(next.span()).0);
            if segment.end - segment.start <= CAPTION_WORDS && !has_digit(&view.text(segment.span())) {
                let terms = Terms::of(&view.folded(segment.span()).collect::<Vec<_>>());
                columns.push((terms, x0 - REACH, next - REACH / 2.0));
            }
        }
        let signs = columns.iter().any(|(terms, ..)| terms.has("signer"));
        let others = columns.iter().any(|(terms, ..)| terms.has_any(&["date", "name", "title"]));
        (signs && others && columns.len() >= 2).then_some(Captions { line, columns })
    }

    /// What is written in the column of a caption: under it, or over it where nothing is under it.
    fn cells(&self, captions: &Captions, term: &str) -> Vec<Span> {
        let view = self.view;
        let Some((_, x0, x1)) = captions.columns.iter().find(|(terms, ..)| terms.has(term)) else {
            return Vec::new();
        };
        let page = view.lines[captions.line].page;
        let in_column = |line: usize| {
            view.segments_of(line).iter().map(|segment| segment.span()).find(|span| {
                let (from, _) = view.extent(*span);
                (*x0..*x1).contains(&from)
            })
        };
        let of = |lines: &mut dyn Iterator<Item = usize>| -> Vec<Span> {
            lines.filter(|&line| view.lines[line].page == page).filter_map(in_column).collect()
        };
        let end = view.lines.len().min(captions.line + 1 + LINES);
        let under = of(&mut (captions.line + 1..end));
        if under.iter().any(|cell| self.is_written(*cell)) {
            return under.into_iter().filter(|cell| self.is_written(*cell)).collect();
        }
        of(&mut (captions.line.saturating_sub(LINES_OVER)..captions.line))
    }

    fn is_written(&self, cell: Span) -> bool {
        let text = written(&self.view.text(cell));
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let is_date = self
            .annotations
            .dates_in(cell)
            .iter()
            .any(|date| date.span.end - date.span.start == cell.end - cell.start);
        is_date || letters >= 4 && entities::is_wordy(self.view, cell) && text.chars().any(char::is_uppercase)
    }
}

/// Text without what the line under it and the edge of its box are read as.
fn written(text: &str) -> String {
    tidy(text).trim_matches(['|', '\'', '‘', '’', '.', '-', '—', '_', ' ', '[', ']']).to_owned()
}
