//! Candidates: values that could be the one a field asks for, each with the words that say it and how well they fit.

use openapi_core::extraction::ExtractionType;
use openapi_core::json::Json;

use super::annotations;
use super::candidate::{Candidate, Fit, Provenance};
use super::entities;
use super::field_query::{FieldQuery, Role};
use super::labels::Label;
use super::numbers::Amount;
use super::scoring::label as weights;
use super::source::Source;
use super::text::{is_nothing, tidy};
use super::ticks::option;
use super::values::says_nothing;
use super::view::Span;
use super::vocabulary::{GREETINGS, PARTIES};
use crate::document::PageSource;

/// More words than this from a label without a mark to the end of its segment are a sentence.
const SENTENCE: usize = 12;
/// A longer text is not a mistyped value.
const REFUSED_WORDS: usize = 6;
/// The most labels that are looked through for values that are left over.
const MAX_LEFT_LABELS: usize = 2_000;
/// The most candidates of a field.
const MAX_CANDIDATES: usize = 12;
/// How many lines below a label, and how many values there, may be its value.
const LINES_BELOW: usize = 6;
const VALUES_BELOW: usize = 2;
/// The lines under the head of a column that show it to be one.
const ROWS_UNDER_HEAD: usize = 4;
/// The rows between the head of a column and its sum.
const MAX_ROWS_TO_SUM: usize = 80;
/// From as many words after it on its line on, a label is the heading of a paragraph.
const RUN_IN_WORDS: usize = 7;
/// The lines under the heads of columns in which an address shows them to be heads of blocks.
const BLOCK_LINES: usize = 4;
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
        self.signature(query, &mut found);
        self.prose(query, &mut found);
        self.in_sentences(query, &mut found);
        self.correspondence(query, &mut found);
        self.unlabelled(query, &mut found);
        for candidate in &mut found {
            let option = candidate.value.as_str().and_then(|said| option(&query.field.options, said));
            if let Some(option) = option.filter(|option| candidate.value.as_str() != Some(option)) {
                candidate.value = option.into();
                candidate.normalised = true;
            }
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

    /// The only value of a field's type at a label with a colon that no field asks for, outside of what is used.
    pub(crate) fn left_over(
        &self,
        query: &FieldQuery<'_>,
        used: &[Span],
        is_asked: impl Fn(&Label) -> bool,
    ) -> Option<Candidate> {
        let mut left: Option<Candidate> = None;
        for label in self
            .labels
            .all
            .iter()
            .take(MAX_LEFT_LABELS)
            .filter(|label| label.is_marked && !self.is_taken(label.span))
        {
            let region =
                self.regions(label).into_iter().find(|(_, provenance, _)| *provenance != Provenance::Below);
            let Some((region, ..)) = region.filter(|(region, ..)| region.start == label.after) else {
                continue;
            };
            // What recognition made of a form is too uncertain for that.
            let page = self.view.page_of(region.start);
            if page.is_some_and(|page| page.source == PageSource::Ocr) {
                continue;
            }
            let fit = Fit::new(Provenance::Leftover, 0.0, weights::LEFTOVER);
            let Some(candidate) = self.values(query, region, fit).into_iter().next() else { continue };
            let is_whole = candidate.key().start == region.start;
            let fits = match query.role {
                Role::Person => entities::is_person(&self.view.text(region)),
                Role::Company => entities::is_company(&self.view.text(region)),
                _ => is_whole && query.field.check(&candidate.value).is_ok(),
            };
            let is_free = used.iter().all(|used| !used.overlaps(candidate.key()));
            if !fits || !is_free || is_asked(label) {
                continue;
            }
            if left.as_ref().is_some_and(|other| other.value != candidate.value) {
                return None;
            }
            left = Some(candidate);
        }
        left
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

        // The heading of a paragraph that begins on its line has nothing below.
        let (_, own) = self.view.segment_of(label.span.start);
        if own.end.min(stop).saturating_sub(label.after) >= RUN_IN_WORDS {
            return regions;
        }
        let page = self.view.lines[label.line].page;
        regions.extend(self.above_caption(label).map(|above| (above, Provenance::Below, weights::ABOVE)));
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

    /// Whether a label is the head of a column of lines that end in an address, next to another head.
    pub(crate) fn heads_block(&self, label: &Label) -> bool {
        let view = self.view;
        let segments = view.segments_of(label.line);
        let (at, own) = view.segment_of(label.span.start);
        if label.is_marked || own.start != label.span.start || segments.len() < 2 || at + 1 >= segments.len()
        {
            return false;
        }
        let block = (label.line + 1..view.lines.len()).take(BLOCK_LINES);
        block.take_while(|line| view.lines[*line].block == view.lines[label.line].block).skip(1).any(|line| {
            let under = view.segments_of(line).iter().find(|under| view.aligned(under.span(), own.span()));
            // The other block ends next to it.
            let is_block = view.segments_of(line).len() >= 2;
            is_block && under.is_some_and(|under| super::address::looks(&view.text(under.span())))
        })
    }

    /// What stands on the line over a caption in brackets: `(Signature)`, `(Name and title)`.
    fn above_caption(&self, label: &Label) -> Option<Span> {
        let view = self.view;
        let (_, segment) = view.segment_of(label.span.start);
        let bare = view.text(segment.span());
        let is_caption = bare.starts_with('(') && bare.trim_end_matches(['.', ':']).ends_with(')');
        let line = label
            .line
            .checked_sub(1)
            .filter(|line| is_caption && view.lines[*line].page == view.lines[label.line].page)?;
        let above = view.segments_of(line).iter().find(|above| view.aligned(above.span(), segment.span()))?;
        (!self.begins_marked(above.start) && !view.text(above.span()).starts_with('('))
            .then_some(above.span())
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
        // `(the "Supplier")` names what is before it.
        if !label.is_marked && self.view.words[label.span.end - 1].text.ends_with(['"', '”', ')']) {
            let said = self.view.text(label.span);
            if said.contains(['"', '“']) && said.contains(')') {
                return;
            }
        }
        if query.is_text()
            && let Some(items) = self.ticked_items(label)
        {
            if let [item] = items.as_slice() {
                let fit = Fit::new(Provenance::SameSegment, similarity, similarity);
                found.push(self.chosen(query, *item, fit));
            }
            return;
        }
        let mut best = 0.0_f64;
        let mut is_adjacent = false;
        for (region, provenance, share) in self.regions(label) {
            if provenance == Provenance::SameLine && self.heads_block(label) {
                continue;
            }
            let is_label = self
                .labels
                .of_line(self.view.words[region.start].line)
                .any(|other| other.is_marked && other.span.start == region.start && other.span != label.span);
            if share < best || is_label && provenance != Provenance::SameSegment {
                continue;
            }
            let is_below = provenance == Provenance::Below;
            if is_below && query.kind.is_numeric() && self.heads_column(label) {
                // Of the rows of a table only the one with the sums has a value of the document.
                if let Some(amount) = self.sum_of_column(label) {
                    let fit = Fit::new(provenance, similarity, similarity * weights::SUM_OF_COLUMN);
                    found.extend(self.amount(query, amount, fit));
                    return;
                }
                continue;
            }
            // It says that there is no value.
            let is_first = label.is_marked && !is_below && region.start == label.after;
            if is_first && self.is_no_answer(query, &self.view.text(region)) {
                return;
            }
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

    /// Whether the text after a label says that there is no value; a letter may begin after the name of a party.
    fn is_no_answer(&self, query: &FieldQuery<'_>, text: &str) -> bool {
        let is_party = PARTIES.has_any(query.name.iter());
        says_nothing(query, text) || is_party && GREETINGS.occur_at_start(&text.to_lowercase())
    }

    /// Whether a label is the head of a column of a table: several numbers follow under it, of which none is its value.
    fn heads_column(&self, label: &Label) -> bool {
        let view = self.view;
        let below = (label.line + 1..view.lines.len()).take(ROWS_UNDER_HEAD);
        let is_number = |line: usize| {
            let amounts = self.annotations.amounts_in(view.line_span(line));
            amounts.iter().any(|amount| view.aligned(amount.span, label.span))
                && view.segments_of(line).len() >= 2
        };
        !label.is_marked
            && view.segments_of(label.line).len() >= 3
            && below.filter(|&line| is_number(line)).count() >= 2
    }

    /// The number of a column in the row that begins with a word for sums.
    fn sum_of_column(&self, label: &Label) -> Option<&Amount> {
        let view = self.view;
        let page = view.lines[label.line].page;
        let rows = (label.line + 1..view.lines.len()).take(MAX_ROWS_TO_SUM);
        rows.take_while(|&line| view.lines[line].page == page).find_map(|line| {
            let span = view.line_span(line);
            let is_sum = self.labels.of_line(line).any(|other| {
                other.span.start == span.start
                    && other.terms.has("total")
                    && other.span.end - other.span.start <= 2
            });
            let amounts = self.annotations.amounts_in(span);
            is_sum.then(|| amounts.iter().find(|amount| view.aligned(amount.span, label.span))).flatten()
        })
    }

    /// A ticked item as a value, as the field's options write it.
    fn chosen(&self, query: &FieldQuery<'_>, item: Span, fit: Fit) -> Candidate {
        match self.option(&query.field.options, item) {
            Some(option) => Candidate::normalised(item, option.into(), fit),
            None => Candidate::quoting(item, &tidy(&self.view.text(item)), fit),
        }
    }

    fn answers(&self, label: &Label, similarity: f64, found: &mut Vec<Candidate>) {
        if let Some((yes, span)) = self.tick_of(label) {
            let fit = Fit::new(Provenance::SameSegment, similarity, similarity);
            found.push(Candidate::normalised(span, Json::Bool(yes), fit));
            return;
        }
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
            // Boxes of a line with words of its own belong to these.
            let is_others = provenance == Provenance::Below
                && self.ticks(self.view.line_span(self.view.words[region.start].line)).iter().any(|ticked| {
                    self.view
                        .folded(ticked.words)
                        .next()
                        .is_some_and(|word| annotations::truth(word).is_none())
                });
            if is_others {
                continue;
            }
            if let Some((yes, span)) = annotations::answer(self.view, region) {
                let fit = Fit::new(provenance, similarity, similarity * share);
                found.push(Candidate::normalised(span, Json::Bool(yes), fit));
                return;
            }
        }
    }
}
