//! Letters, and bills that are laid out like them: who sends and who gets them, by their blocks of addresses, the day over
//! the greeting, and who signs.

use openapi_core::extraction::ExtractionType;

use super::address;
use super::candidate::{Candidate, Fit};
use super::entities;
use super::field_query::{FieldQuery, Role};
use super::scoring::correspondence as weights;
use super::source::Source;
use super::text::{has_digit, tidy};
use super::view::Span;
use super::vocabulary::{CLOSINGS, Fragments, GREETINGS, OWN_DATE};

/// The lines in which addresses and a greeting may be, and the most lines of a block.
const HEAD: usize = 40;
const BLOCK: usize = 6;
/// The most words of a greeting or closing, of a name, and of the rest of a line with the date.
const GREETING_WORDS: usize = 8;
const NAME_WORDS: usize = 9;
const DATE_WORDS: usize = 5;
/// The lines after the closing in which the name is.
const LINES_OF_SIGNER: usize = 3;

impl Source<'_, '_> {
    pub(crate) fn correspondence(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        match query.kind {
            ExtractionType::Date if query.name.iter().all(|term| OWN_DATE.has(term)) => {
                found.extend(self.date_of_letter(query));
            }
            ExtractionType::String if is_asked_for_name(query) => {
                if query.all.has("signer") {
                    found.extend(self.signer_of_letter());
                } else if let Some((block, score)) = self.block_of_party(query) {
                    found.extend(self.name_of_block(&block, score));
                }
            }
            _ => {}
        }
    }

    /// The name of whom a letter is to.
    pub(crate) fn addressee(&self) -> Option<Span> {
        self.greeting()?;
        let name = self.name_line(self.blocks().last()?)?;
        let text = tidy(&self.view.text(name));
        (entities::is_company(&text) || entities::is_person(&text)).then_some(name)
    }

    /// The lines of the address of the party that a field is about.
    pub(crate) fn address_of_party(&self, query: &FieldQuery<'_>) -> Option<Vec<Span>> {
        self.block_of_party(query).map(|(block, _)| block)
    }

    fn block_of_party(&self, query: &FieldQuery<'_>) -> Option<(Vec<Span>, f64)> {
        let is_of = |terms: &[&str]| query.name.has_any(terms) || query.all.has_any(terms);
        let is_receiver = is_of(&["buyer", "customer"]);
        if !is_receiver && !is_of(&["seller"]) {
            return None;
        }
        let blocks = self.blocks();
        let greeting = self.greeting();
        match (blocks.as_slice(), is_receiver) {
            ([_, receiver, ..], true) => Some((receiver.clone(), weights::RECEIVER)),
            // The sender may stand in the head or foot.
            ([only], true) if greeting.is_some() && self.view.words[only[0].start].line > 0 => {
                Some((only.clone(), weights::RECEIVER))
            }
            ([sender, _, ..], false) if self.view.words[sender[0].start].line <= 1 => {
                Some((sender.clone(), weights::SENDER))
            }
            _ => None,
        }
    }

    /// The line of the greeting.
    fn greeting(&self) -> Option<usize> {
        (0..self.view.lines.len().min(HEAD)).find(|&line| self.begins_with(line, GREETINGS))
    }

    /// Whether a line begins with one of some phrases and is short.
    fn begins_with(&self, line: usize, phrases: Fragments) -> bool {
        let span = self.view.line_span(line);
        phrases.occur_at_start(&self.view.text(span).to_lowercase())
            && span.end - span.start <= GREETING_WORDS
    }

    /// The blocks of lines over the greeting that end in a postal code and a town, in their order; not those under a label.
    fn blocks(&self) -> Vec<Vec<Span>> {
        let view = self.view;
        let end = self.greeting().unwrap_or(HEAD).min(view.lines.len());
        let mut found: Vec<Vec<Span>> = Vec::new();
        for line in 0..end {
            for segment in view.segments_of(line) {
                let text = view.text(segment.span());
                let is_town = entities::has_postal(&text)
                    && self.annotations.dates_in(segment.span()).is_empty()
                    && !text.contains(':');
                if is_town {
                    found.extend(self.block_over(segment.span()));
                }
            }
        }
        found
    }

    /// The lines of a block, from its name to its town; nothing where a label is over them.
    fn block_over(&self, town: Span) -> Option<Vec<Span>> {
        let view = self.view;
        let mut lines = vec![town];
        let last = view.words[town.start].line;
        for line in (last.saturating_sub(BLOCK - 1)..last).rev() {
            let is_same = view.lines[line].page == view.lines[last].page
                && view.lines[line].block == view.lines[last].block;
            let above = view.segments_of(line).iter().find(|above| view.aligned(above.span(), lines[0]));
            let Some(above) = above.filter(|_| is_same) else { break };
            let text = view.text(above.span());
            if text.ends_with(':') {
                return None;
            }
            if entities::has_postal(&text) {
                break;
            }
            let is_label = self.labels.of_line(line).any(|label| {
                label.span.start == above.start && label.span.end >= above.end && self.is_known(&label.terms)
            });
            let is_addressed = entities::is_salutation(&text);
            if is_label && !is_addressed || self.begins_marked(above.start) {
                return None;
            }
            lines.insert(0, above.span());
        }
        (lines.len() >= 2).then_some(lines)
    }

    /// The name at the beginning of a block, after how its bearer is addressed.
    fn name_of_block(&self, block: &[Span], score: f64) -> Option<Candidate> {
        let name = self.name_line(block)?;
        Some(Candidate::quoting(name, &tidy(&self.view.text(name)), Fit::unlabelled(score)))
    }

    fn name_line(&self, block: &[Span]) -> Option<Span> {
        let name = block.iter().find(|line| !entities::is_salutation(&self.view.text(**line)))?;
        let text = tidy(&self.view.text(*name));
        let is_name = entities::is_wordy(self.view, *name)
            && name.end - name.start <= NAME_WORDS
            && !has_digit(&text)
            && !address::looks(&text)
            && !entities::is_title(&text);
        is_name.then_some(*name)
    }

    /// The date on a line of its own over the greeting, perhaps after a town.
    fn date_of_letter(&self, query: &FieldQuery<'_>) -> Option<Candidate> {
        let view = self.view;
        let greeting = self.greeting()?;
        (0..greeting).find_map(|line| {
            let date = self.annotations.dates_in(view.line_span(line)).first()?;
            let (_, segment) = view.segment_of(date.span.start);
            let others = segment.end - segment.start - (date.span.end - date.span.start);
            let is_alone = others < DATE_WORDS
                && !self
                    .labels
                    .of_line(line)
                    .any(|label| label.is_marked && label.span.start >= segment.start);
            is_alone.then(|| self.date(query, date, Fit::unlabelled(weights::DATE))).flatten()
        })
    }

    /// The name under the closing of a letter.
    fn signer_of_letter(&self) -> Option<Candidate> {
        let view = self.view;
        let from = self.greeting()?;
        let closing = (from + 1..view.lines.len()).rev().find(|&line| self.begins_with(line, CLOSINGS))?;
        (closing + 1..view.lines.len().min(closing + 1 + LINES_OF_SIGNER)).find_map(|line| {
            let segment = view.segments_of(line)[0].span();
            let text = tidy(&view.text(segment));
            entities::is_person(&text)
                .then(|| Candidate::quoting(segment, &text, Fit::unlabelled(weights::SIGNER)))
        })
    }
}

/// Whether a field asks for the name of a party: by its role, or because nothing says what else of it is meant.
fn is_asked_for_name(query: &FieldQuery<'_>) -> bool {
    let is_name = |term: &str| {
        matches!(term, "seller" | "buyer" | "customer" | "signer" | "name" | "person" | "company")
    };
    matches!(query.role, Role::Company | Role::Person)
        || query.role == Role::Text && query.name.iter().all(is_name)
}
