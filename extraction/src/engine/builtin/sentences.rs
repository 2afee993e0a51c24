//! Dates, numbers and periods in sentences: the words next to them say what they are.

use openapi_core::extraction::ExtractionType;

use super::candidate::{Candidate, Fit, Provenance};
use super::field_query::{FieldQuery, Role};
use super::lexicon::Lexicon;
use super::scoring::sentence as weights;
use super::source::{MAX_HITS, Source};
use super::terms::Terms;
use super::text::has_digit;
use super::view::Span;
use super::vocabulary::{AND, DAY_BEFORE, PAYS, SPOKEN_OF, Words};

/// The words before and after a value that may say what it is.
const BEFORE: usize = 8;
const AFTER: usize = 4;
/// The words around a period in which its kind is named.
const AROUND: usize = 9;
/// Words with as many letters that begin alike are one: `probation`, `probationary`.
const MIN_ALIKE: usize = 5;

/// Terms that say of which type a value is and not which one.
const GENERAL: Words = Words("date time number amount value name full total day gross period term currency");

impl Source<'_, '_> {
    /// Candidates that the words of their sentence name.
    pub(crate) fn in_sentences(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let own: Vec<&str> = query.name.iter().filter(|term| !GENERAL.has(term)).collect();
        let own =
            if own.is_empty() { query.all.iter().filter(|term| !GENERAL.has(term)).collect() } else { own };
        if own.is_empty() {
            return;
        }
        match query.kind {
            ExtractionType::Date => {
                for date in self.annotations.dates.iter().take(MAX_HITS) {
                    if let Some(fit) = self.fit_of_sentence(query, &own, date.span, false) {
                        found.extend(self.date(query, date, fit));
                    }
                }
            }
            ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency => {
                for amount in self.annotations.amounts.iter().take(MAX_HITS) {
                    if amount.is_percent != query.all.has("rate") || query.wants_money() && !amount.is_money {
                        continue;
                    }
                    if let Some(fit) = self.fit_of_sentence(query, &own, amount.span, !amount.is_money) {
                        found.extend(self.amount(query, amount, fit));
                    }
                }
            }
            ExtractionType::String if query.role == Role::Text && SPOKEN_OF.has_any(query.name.iter()) => {
                self.periods_of(&own, found);
            }
            _ => {}
        }
    }

    /// How well the words next to a value name the field: those before it, or those after it that it counts.
    fn fit_of_sentence(
        &self,
        query: &FieldQuery<'_>,
        own: &[&str],
        value: Span,
        counts: bool,
    ) -> Option<Fit> {
        if self.is_taken(value) {
            return None;
        }
        let lexicon = Lexicon::shared();
        let words = &self.view.words;
        let starts = |at: usize| {
            let word = &words[at];
            word.text.ends_with([':', ';', ')', '?'])
                || word.text.ends_with('.') && word.text.chars().count() > 3
                || has_digit(word.text)
                || words[at + 1].gap > 2
                // The line above is a line of its own.
                || words[at + 1].line != word.line && !self.continues(at + 1)
        };
        let least = value.start.saturating_sub(BEFORE);
        let start = (least..value.start).rev().find(|&at| starts(at)).map_or(least, |at| at + 1);
        let mut best: Option<(f64, usize)> = None;
        let mut consider = |said: &[&str], distance: usize| {
            // Verbs and adjectives between say nothing else.
            let means = |term: &&str| query.all.has(term) || lexicon.word(term).is_some();
            let terms: Terms = Terms::of(said).iter().filter(means).map(str::to_owned).collect();
            let similarity = query.similarity(&terms);
            let names = own.iter().any(|term| terms.has(term));
            if names && best.is_none_or(|(most, _)| similarity > most) {
                best = Some((similarity, distance));
            }
        };
        // A single word next to a value is its label, which is looked at elsewhere.
        if value.start - start >= 2 && !AND.has(words[value.start - 1].text) {
            for from in (start..value.start - 1).rev() {
                let said: Vec<&str> = self.view.folded(Span { start: from, end: value.start }).collect();
                consider(&said, value.start - from);
            }
        }
        if counts {
            let line = self.view.lines[words[value.start].line].end;
            let mut said: Vec<&str> = Vec::new();
            for word in words[value.end..line.min(value.end + AFTER)].iter().take_while(|word| word.gap <= 2)
            {
                said.push(&word.folded);
                consider(&said, said.len());
                if word.text.ends_with(['.', ',', ';', ':']) {
                    break;
                }
            }
        }
        if value.start - start >= 2 {
            let pays = query.name.has("due")
                && DAY_BEFORE.has(&words[value.start - 1].folded)
                && (PAYS.has_any(self.view.folded_before(value.start, AROUND))
                    || PAYS.has_any(self.view.folded_from(value.end, AFTER)));
            if pays {
                best = Some((weights::PAYABLE, 1));
            }
        }
        let (similarity, distance) = best.filter(|(similarity, _)| *similarity >= weights::MIN_SIMILARITY)?;
        let score = similarity * weights::SHARE - weights::STEP * distance as f64;
        Some(Fit::new(Provenance::Sentence, similarity, score))
    }

    /// Whether a line goes on the sentence of the line above.
    fn continues(&self, first: usize) -> bool {
        let (this, above) = (&self.view.words[first], &self.view.words[first - 1]);
        let block = |line: usize| self.view.lines[line].block;
        block(this.line) == block(above.line)
            && self.view.segments_of(this.line).len() == 1
            && self.view.segments_of(above.line).len() == 1
            && self.view.lines[above.line].end - self.view.lines[above.line].start >= BEFORE
    }

    /// `at least four weeks' notice`, `The first three months are a probationary period`
    fn periods_of(&self, own: &[&str], found: &mut Vec<Candidate>) {
        let alike = |word: &str, term: &str| {
            word == term
                || term.len() >= MIN_ALIKE && word.starts_with(term)
                || word.len() >= MIN_ALIKE && term.starts_with(word)
        };
        for (span, value, sentence) in self.durations() {
            let near = |word: &str| own.iter().any(|term| alike(word, term));
            let words = Span {
                start: sentence.start.max(span.start.saturating_sub(AROUND)),
                end: sentence.end.min(span.end + AROUND),
            };
            let Some(at) = (words.start..words.end).find(|at| near(&self.view.words[*at].folded)) else {
                continue;
            };
            let distance = if at < span.start { span.start - at } else { at - span.end };
            let score = weights::PERIOD - weights::STEP * distance as f64;
            let fit = Fit::new(Provenance::Sentence, weights::PERIOD, score);
            let mut candidate = Candidate::new(span, value.as_str().into(), fit);
            candidate.normalised = self.view.text(span) != value;
            found.push(candidate);
        }
    }
}
