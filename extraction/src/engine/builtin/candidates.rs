//! Candidates: values that could be the one a field asks for, each with the words that say it and how well they fit.

use openapi_core::extraction::ExtractionType;
use openapi_core::json::Json;

use super::annotations;
use super::candidate::{Candidate, Provenance};
use super::field_query::FieldQuery;
use super::labels::Label;
use super::source::Source;
use super::terms::Terms;
use super::text::{is_nothing, tidy};
use super::view::Span;

/// More words than this from a label without a mark to the end of its segment are a sentence.
const SENTENCE: usize = 12;
/// A label with a lower similarity means something else.
const MIN_SIMILARITY: f64 = 0.34;

/// From this similarity on, a label belongs to a field, and the text after it is meant as the field's value.
pub(crate) const OWN_LABEL: f64 = 0.8;
/// A longer text is not a mistyped value.
const REFUSED_WORDS: usize = 6;

impl Source<'_, '_> {
    /// The candidates for a field, best first, at most a dozen.
    pub(crate) fn of(&self, query: &FieldQuery<'_>) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let labels = self.labels.with_terms(&self.searched(query));
        for index in labels {
            let label = &self.labels.all[index as usize];
            let similarity = query.fits(label);
            if similarity >= MIN_SIMILARITY && !self.is_taken(label.span) {
                self.after(query, label, similarity, &mut found);
            }
        }
        self.prose(query, &mut found);
        self.unlabelled(query, &mut found);
        for candidate in &mut found {
            if query.field.check(&candidate.value).is_err() {
                candidate.score *= 0.2;
                candidate.excluded = true;
            } else if !query.field.options.is_empty() || query.field.pattern.is_some() {
                candidate.score = (candidate.score * 1.15).min(1.2);
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key().cmp(&b.key())));
        found.dedup_by(|a, b| a.pieces == b.pieces && a.value == b.value);
        found.truncate(12);
        found
    }

    /// The text after a field's own label that is not a value of it.
    pub(crate) fn refused(&self, query: &FieldQuery<'_>) -> Option<Span> {
        let labels = self.labels.with_terms(&self.searched(query)).into_iter();
        let own = labels
            .map(|index| &self.labels.all[index as usize])
            .filter(|label| label.is_marked && !self.is_taken(label.span) && query.fits(label) >= OWN_LABEL);
        own.filter_map(|label| {
            let stop = self.stop(label);
            let segments = self.view.segments_of(label.line).iter();
            let adjacent = segments
                .map(|segment| Span { start: segment.start.max(label.after), end: segment.end.min(stop) });
            adjacent.into_iter().find(|region| region.start < region.end)
        })
        .find(|region| {
            let text = self.view.text(*region);
            // A hint, as `(dd/mm/yyyy)`, or a line to write on is no value that somebody has given.
            text.starts_with(char::is_alphanumeric)
                && region.end - region.start <= REFUSED_WORDS
                && !is_nothing(&tidy(&text))
                && !self.begins_marked(region.start)
        })
    }

    fn searched(&self, query: &FieldQuery<'_>) -> Terms {
        query.readings.iter().fold(Terms::default(), |all, (terms, _)| all.joined(terms))
    }

    pub(crate) fn is_taken(&self, span: Span) -> bool {
        let at = self.taken.partition_point(|taken| taken.end <= span.start);
        self.taken.get(at).is_some_and(|taken| taken.overlaps(span))
    }

    /// The position of the next label on the label's line.
    fn stop(&self, label: &Label) -> usize {
        let line_end = self.view.lines[label.line].end;
        self.labels
            .of_line(label.line)
            .filter(|other| {
                other.is_marked && other.span.start >= label.after && other.span.start > label.span.start
            })
            .map(|other| {
                // The words between are the value's, but for the label's own.
                other.span.start
            })
            .min()
            .unwrap_or(line_end)
            .min(line_end)
    }

    /// The regions where a label's value may be, each with its likelihood.
    fn regions(&self, label: &Label) -> Vec<(Span, Provenance, f64)> {
        let mut regions = Vec::new();
        let stop = self.stop(label);
        let segments = self.view.segments_of(label.line);
        let mut is_near = true;
        for segment in segments {
            let (start, end) = (segment.start.max(label.after), segment.end.min(stop));
            if start >= end {
                continue;
            }
            let own = label.span.start >= segment.start && label.span.start < segment.end;
            let (provenance, share) = match (own, is_near) {
                (true, _) => (Provenance::SameSegment, 1.0),
                (false, true) => (Provenance::SameLine, 0.98),
                (false, false) => (Provenance::SameLine, 0.72),
            };
            is_near = false;
            regions.push((Span { start, end }, provenance, share));
        }

        let page = self.view.lines[label.line].page;
        let mut share = 0.9;
        let mut seen = 0;
        for line in label.line + 1..(label.line + 7).min(self.view.lines.len()) {
            if self.view.lines[line].page != page {
                break;
            }
            let under = self
                .view
                .segments_of(line)
                .iter()
                .find(|segment| self.view.aligned(segment.span(), label.span));
            let Some(under) = under else {
                if !self.view.placed && seen == 0 && segments.len() == 1 {
                    let first = self.view.segments_of(line)[0];
                    regions.push((first.span(), Provenance::Below, share * 0.95));
                    seen += 1;
                    share *= 0.75;
                }
                continue;
            };
            if self.begins_marked(under.start) {
                share *= 0.97;
                continue;
            }
            regions.push((under.span(), Provenance::Below, share));
            share *= 0.7;
            seen += 1;
            if seen >= 2 {
                break;
            }
        }
        regions
    }

    /// Whether a marked label begins at a word.
    pub(crate) fn begins_marked(&self, word: usize) -> bool {
        self.labels
            .of_line(self.view.words[word].line)
            .any(|label| label.is_marked && label.span.start == word)
    }

    fn after(&self, query: &FieldQuery<'_>, label: &Label, similarity: f64, found: &mut Vec<Candidate>) {
        if query.kind == ExtractionType::Boolean {
            return self.answers(label, similarity, found);
        }
        let mut best = 0.0_f64;
        let mut is_adjacent = false;
        for (region, provenance, share) in self.regions(label) {
            let is_label = self
                .labels
                .of_line(self.view.words[region.start].line)
                .any(|other| other.is_marked && other.span.start == region.start && other.span != label.span);
            if share < best || is_label && provenance != Provenance::SameSegment {
                continue;
            }
            let marked = if label.is_marked && provenance != Provenance::Below { 1.04 } else { 1.0 };
            let score = similarity * share * marked;
            let score = if provenance == Provenance::Below && is_adjacent { score * 0.65 } else { score };
            // The first words of a sentence are no label of the rest.
            let is_sentence = provenance == Provenance::SameSegment
                && !label.is_marked
                && region.end - label.span.start > SENTENCE;
            let score = if is_sentence { score * 0.6 } else { score };
            let before = found.len();
            self.values(query, region, provenance, similarity, score, found);
            if found[before..].iter().any(|candidate| candidate.score >= 0.7 * score) {
                best = share * 0.6;
                is_adjacent |= provenance != Provenance::Below;
            }
        }
    }

    fn answers(&self, label: &Label, similarity: f64, found: &mut Vec<Candidate>) {
        let mut regions = self.regions(label);
        // A box may stand before its label.
        let before = label.span.start.saturating_sub(3).max(self.view.lines[label.line].start);
        if before < label.span.start {
            regions.push((Span { start: before, end: label.span.start }, Provenance::SameLine, 0.8));
        }
        // Boxes and words may stand in segments of their own.
        let stop = self.stop(label);
        if label.after < stop {
            regions.insert(0, (Span { start: label.after, end: stop }, Provenance::SameSegment, 1.0));
        }
        for (region, provenance, share) in regions {
            if let Some((yes, span)) = annotations::answer(self.view, region) {
                let mut candidate =
                    Candidate::new(span, Json::Bool(yes), provenance, similarity, similarity * share);
                candidate.normalised = true;
                found.push(candidate);
                return;
            }
        }
    }
}
