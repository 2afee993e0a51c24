//! Values of resumes: from the history of work and studies, and from the head.

use openapi_core::extraction::ExtractionType;

use super::candidate::{Candidate, Fit, Provenance};
use super::field_query::FieldQuery;
use super::histories::{self, Entry};
use super::periods::Point;
use super::rows::{MAX_ROWS, Row, Rows};
use super::scoring::resume;
use super::source::Source;
use super::terms::Terms;
use super::text::{number_json, tidy};
use super::view::Span;
use super::vocabulary::{
    DEGREE_FIELDS, EMPLOYER_FIELDS, JOB_FIELDS, SCHOOL_FIELDS, STUDY_FIELDS, WORK_FIELDS, Words,
};

/// A part of an entry that a field can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Employer,
    Job,
    School,
    Degree,
    Town,
    Start,
    End,
    Period,
}

impl Slot {
    fn is_of_studies(self) -> bool {
        matches!(self, Slot::School | Slot::Degree)
    }

    /// The part that some terms ask for.
    fn of(terms: &Terms) -> Option<Slot> {
        let has = |words: Words| words.has_any(terms.iter());
        let slots = [
            (DEGREE_FIELDS, Slot::Degree),
            (SCHOOL_FIELDS, Slot::School),
            (EMPLOYER_FIELDS, Slot::Employer),
            (JOB_FIELDS, Slot::Job),
        ];
        slots.into_iter().find(|(words, _)| has(*words)).map(|(_, slot)| slot)
    }

    /// The part that a property of an entry asks for.
    fn of_property(property: &FieldQuery<'_>) -> Option<Slot> {
        let name = &property.name;
        Slot::of(name).or_else(|| {
            if name.has_any(&["city", "address", "country"]) {
                Some(Slot::Town)
            } else if name.has("start") {
                Some(Slot::Start)
            } else if name.has_any(&["end", "year", "years", "graduation", "date"]) {
                Some(Slot::End)
            } else if name.has_any(&["period", "term", "date"]) {
                Some(Slot::Period)
            } else {
                None
            }
        })
    }

    fn span(self, entry: &Entry) -> Option<Span> {
        let point = |of: Option<Point>| of.map(|point| point.span);
        match self {
            Slot::Employer | Slot::School => entry.organisation,
            Slot::Job | Slot::Degree => entry.title,
            Slot::Town => entry.town,
            Slot::Start => point(entry.period?.start),
            Slot::End => point(entry.period?.end),
            Slot::Period => entry.period.map(|period| period.span),
        }
    }
}

impl Source<'_, '_> {
    /// The elements of a list of employers, job titles, schools or degrees.
    pub(crate) fn of_history(&self, array: &FieldQuery<'_>) -> Vec<(Span, String)> {
        let Some(slot) = Slot::of(&array.name).or_else(|| Slot::of(&array.all)) else { return Vec::new() };
        let mut found: Vec<(Span, String)> = Vec::new();
        for entry in self.entries(slot.is_of_studies()) {
            let Some(span) = slot.span(entry) else { continue };
            let text = name_of(&self.view.text(span));
            let folded = text.to_lowercase();
            if !text.is_empty() && found.iter().all(|(_, known)| known.to_lowercase() != folded) {
                found.push((span, text));
            }
        }
        found
    }

    fn entries(&self, of_studies: bool) -> &[Entry] {
        if of_studies { &self.history.studies } else { &self.history.work }
    }

    /// The rows of an array of positions or courses of study.
    pub(crate) fn history_rows(&self, array: &FieldQuery<'_>, properties: &[FieldQuery<'_>]) -> Option<Rows> {
        let slots: Vec<Option<Slot>> = properties.iter().map(Slot::of_property).collect();
        let is_named = |words: Words| words.has_any(array.all.iter());
        let of_studies = slots.iter().flatten().any(|slot| slot.is_of_studies());
        let of_work = slots.iter().flatten().any(|slot| matches!(slot, Slot::Employer | Slot::Job));
        let is_history = of_studies && is_named(STUDY_FIELDS) || of_work && is_named(WORK_FIELDS);
        if !is_history || slots.iter().flatten().count() < properties.len().min(2) {
            return None;
        }
        let mut found = Rows::default();
        for entry in self.entries(of_studies).iter().take(MAX_ROWS) {
            let mut row: Row = Vec::new();
            for (index, property) in properties.iter().enumerate() {
                let candidate = slots[index].and_then(|slot| self.part(slot, entry, property));
                row.extend(candidate.map(|candidate| (index, candidate)));
            }
            if !row.is_empty() {
                found.rows.push(row);
            }
        }
        (!found.rows.is_empty()).then_some(found)
    }

    fn part(&self, slot: Slot, entry: &Entry, property: &FieldQuery<'_>) -> Option<Candidate> {
        let span = slot.span(entry)?;
        let fit = Fit::new(Provenance::Table, resume::SIMILARITY, resume::PART);
        match property.kind {
            ExtractionType::String => {
                let text = name_of(&self.view.text(span));
                (!text.is_empty()).then(|| Candidate::quoting(span, &text, fit))
            }
            ExtractionType::Number | ExtractionType::Integer => {
                let point = if slot == Slot::Start { entry.period?.start } else { entry.period?.end };
                let year = number_json(point?.year.into());
                Some(Candidate::normalised(span, year, fit))
            }
            // A month alone is no date.
            _ => self.values(property, span, fit).into_iter().next(),
        }
    }

    /// The newest entry's part, and the town in the head, for single fields.
    pub(crate) fn of_resume(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        if self.history.is_empty() {
            return;
        }
        let is_town = query.name.has_any(&["city", "address"]) && query.name.len() == 1;
        if is_town {
            let with_region = !query.all.has("city");
            found.extend(histories::town_of_head(self.view, self.history.head, with_region).map(|span| {
                Candidate::quoting(span, &name_of(&self.view.text(span)), Fit::unlabelled(resume::TOWN))
            }));
            return;
        }
        let Some(slot) = Slot::of(&query.name) else { return };
        let span = self.entries(slot.is_of_studies()).iter().find_map(|entry| slot.span(entry));
        found.extend(span.map(|span| {
            Candidate::quoting(span, &name_of(&self.view.text(span)), Fit::unlabelled(resume::NEWEST))
        }));
    }
}

/// The text of a piece without the marks that end it.
fn name_of(text: &str) -> String {
    let tidied = tidy(text);
    let bare = tidied.trim_matches(|c: char| matches!(c, '-' | '–' | '—' | '|') || c.is_whitespace());
    let is_short = bare
        .rsplit(' ')
        .next()
        .is_some_and(|last| last.chars().count() <= 5 || last.trim_end_matches('.').contains('.'));
    if is_short { bare.to_owned() } else { bare.trim_end_matches('.').to_owned() }
}
