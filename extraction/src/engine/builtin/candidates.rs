//! Candidates: values that could be the one a field asks for, each with the words that say it and how well they fit.

use openapi_core::extraction::ExtractionType;
use openapi_core::json::Json;

use super::annotations;
use super::candidate::{Candidate, Fit, Provenance};
use super::field_query::FieldQuery;
use super::labels::Label;
use super::scoring::label as weights;
use super::source::Source;
use super::text::{is_nothing, tidy};
use super::view::Span;

/// More words than this from a label without a mark to the end of its segment are a sentence.
const SENTENCE: usize = 12;
/// A longer text is not a mistyped value.
const REFUSED_WORDS: usize = 6;
/// The most candidates of a field.
const MAX_CANDIDATES: usize = 12;
/// How many lines below a label, and how many values there, may be its value.
const LINES_BELOW: usize = 6;
const VALUES_BELOW: usize = 2;
/// How many words before a label may be a box that is ticked.
const BOX_WORDS: usize = 3;

impl Source<'_, '_> {
    /// The candidates for a field, best first.
    pub(crate) fn of(&self, query: &FieldQuery<'_>) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let labels = self.labels.with_terms(&query.searched());
        for index in labels {
            let label = &self.labels.all[index as usize];
            let similarity = query.fits(label);
            if similarity >= weights::MIN_SIMILARITY && !self.is_taken(label.span) {
                self.after(query, label, similarity, &mut found);
            }
        }
        self.prose(query, &mut found);
        self.unlabelled(query, &mut found);
        for candidate in &mut found {
            if query.field.check(&candidate.value).is_err() {
                candidate.score *= weights::EXCLUDED;
                candidate.excluded = true;
            } else if !query.field.options.is_empty() || query.field.pattern.is_some() {
                candidate.score = (candidate.score * weights::ALLOWED).min(weights::MAX_ALLOWED);
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key().cmp(&b.key())));
        found.dedup_by(|a, b| a.pieces == b.pieces && a.value == b.value);
        found.truncate(MAX_CANDIDATES);
        found
    }

    /// The text after a field's own label that is not a value of it.
    pub(crate) fn refused(&self, query: &FieldQuery<'_>) -> Option<Span> {
        let labels = self.labels.with_terms(&query.searched()).into_iter();
        let own = labels.map(|index| &self.labels.all[index as usize]).filter(|label| {
            label.is_marked && !self.is_taken(label.span) && query.fits(label) >= weights::OWN
        });
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
            .map(|other| other.span.start)
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
                (true, _) => (Provenance::SameSegment, weights::SAME_SEGMENT),
                (false, true) => (Provenance::SameLine, weights::NEXT_SEGMENT),
                (false, false) => (Provenance::SameLine, weights::FURTHER_SEGMENT),
            };
            is_near = false;
            regions.push((Span { start, end }, provenance, share));
        }

        let page = self.view.lines[label.line].page;
        let mut share = weights::BELOW;
        let mut seen = 0;
        for line in label.line + 1..(label.line + 1 + LINES_BELOW).min(self.view.lines.len()) {
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
                    regions.push((first.span(), Provenance::Below, share * weights::BELOW_IN_TEXT));
                    seen += 1;
                    share *= weights::NEXT_BELOW_IN_TEXT;
                }
                continue;
            };
            if self.begins_marked(under.start) {
                share *= weights::LABEL_BETWEEN;
                continue;
            }
            regions.push((under.span(), Provenance::Below, share));
            share *= weights::NEXT_BELOW;
            seen += 1;
            if seen >= VALUES_BELOW {
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
            let is_below = provenance == Provenance::Below;
            let mut fit = Fit::new(provenance, similarity, similarity * share);
            if label.is_marked && !is_below {
                fit = fit.times(weights::MARKED);
            }
            if is_below && is_adjacent {
                fit = fit.times(weights::BELOW_AND_ADJACENT);
            }
            // The first words of a sentence are no label of the rest.
            let is_sentence = provenance == Provenance::SameSegment
                && !label.is_marked
                && region.end - label.span.start > SENTENCE;
            if is_sentence {
                fit = fit.times(weights::SENTENCE);
            }
            let values = self.values(query, region, fit);
            if values.iter().any(|candidate| candidate.score >= weights::IS_VALUE * fit.score) {
                best = share * weights::LESSER_REGION;
                is_adjacent |= !is_below;
            }
            found.extend(values);
        }
    }

    fn answers(&self, label: &Label, similarity: f64, found: &mut Vec<Candidate>) {
        let mut regions = self.regions(label);
        // A box may stand before its label.
        let before = label.span.start.saturating_sub(BOX_WORDS).max(self.view.lines[label.line].start);
        if before < label.span.start {
            let before = Span { start: before, end: label.span.start };
            regions.push((before, Provenance::SameLine, weights::BEFORE));
        }
        // Boxes and words may stand in segments of their own.
        let stop = self.stop(label);
        if label.after < stop {
            let after = Span { start: label.after, end: stop };
            regions.insert(0, (after, Provenance::SameSegment, weights::SAME_SEGMENT));
        }
        for (region, provenance, share) in regions {
            if let Some((yes, span)) = annotations::answer(self.view, region) {
                let fit = Fit::new(provenance, similarity, similarity * share);
                found.push(Candidate::normalised(span, Json::Bool(yes), fit));
                return;
            }
        }
    }
}
