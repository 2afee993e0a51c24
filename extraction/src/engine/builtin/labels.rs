//! Labels: runs of words that may name what the words after, next to or below them are.

use std::collections::HashMap;

use super::annotations::box_at;
use super::lexicon::Lexicon;
use super::scoring::similarity::MIN_COMPARED;
use super::terms::{Terms, akin, nearly};
use super::text::has_digit;
use super::view::{COLONS, Span, View, is_leader};
use super::vocabulary::{AND, ANSWERS, ARTICLES, PARTIES, RECEIVERS, SENDERS};

/// The longest label, in words.
const MAX_WORDS: usize = 7;
/// The most labels of a document.
const MAX_LABELS: usize = 60_000;
/// The most labels that are looked at for one field.
const MAX_PER_FIELD: usize = 1_500;
/// The most different words that are compared with the terms of the schema.
const MAX_COMPARED: usize = 6_000;

/// The words of a sentence before an amount that may name it.
const WORDS_IN_SENTENCE: usize = 5;

/// One possible label.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) span: Span,
    pub(crate) line: usize,
    pub(crate) terms: Terms,
    /// Whether a colon ends it.
    pub(crate) is_marked: bool,
    /// Where on its line the value could begin.
    pub(crate) after: usize,
    /// The section of the label: the terms of the heading above it.
    pub(crate) section: Terms,
}

/// How many lines a heading counts for.
const SECTION: usize = 14;

/// The labels of a document and where each term occurs in them.
pub(crate) struct Labels {
    pub(crate) all: Vec<Label>,
    by_term: HashMap<String, Vec<u32>>,
    /// The labels of each line, in order.
    by_line: HashMap<usize, Vec<u32>>,
}

/// Whether words are what a template asks for: `[Enter client]`.
fn is_open(view: &View<'_>, span: Span) -> bool {
    let (first, last) = (view.words[span.start].text, view.words[span.end - 1].text);
    first.starts_with(['[', '{', '<', '«']) && last.ends_with([']', '}', '>', '»'])
}

/// Where a label begins between the value of another one and its own colon: `City: Leeds Postal code:`.
fn label_after_value(view: &View<'_>, run: Span) -> usize {
    let lexicon = Lexicon::shared();
    let is_known = |at: usize| lexicon.word(&view.words[at].folded).is_some();
    let known = (run.start..run.end).rev().take_while(|&at| is_known(at)).count();
    // Articles and prepositions begin no label.
    let mut start = run.end - known.max(1);
    while start + 1 < run.end && lexicon.word(&view.words[start].folded).is_some_and(|terms| terms == ["-"]) {
        start += 1;
    }
    start
}

impl Labels {
    /// Finds the labels; words that are nearly one of the schema's own terms count as it.
    pub(crate) fn new(view: &View<'_>, query: &[&str]) -> Self {
        let mut labels = Labels { all: Vec::new(), by_term: HashMap::new(), by_line: HashMap::new() };
        for segment in &view.segments {
            if labels.all.len() >= MAX_LABELS {
                break;
            }
            labels.of_segment(view, segment.span());
        }
        labels.correct(query);
        labels.sections(view);
        for (index, label) in labels.all.iter().enumerate() {
            let index = index as u32;
            labels.by_line.entry(label.line).or_default().push(index);
            for term in label.terms.iter() {
                labels.by_term.entry(term.to_owned()).or_default().push(index);
            }
        }
        labels
    }

    /// Gives each label the heading above it, if there is one in its column.
    fn sections(&mut self, view: &View<'_>) {
        let mut heading: Option<(Span, usize, Terms)> = None;
        for label in &mut self.all {
            let line = &view.lines[label.line];
            if let Some((span, from, terms)) = &heading {
                let near =
                    label.line > *from && label.line <= from + SECTION && view.lines[*from].page == line.page;
                let alone = line.last_segment - line.first_segment == 1;
                if near && (alone || view.aligned(*span, label.span)) {
                    label.section = terms.clone();
                } else if !near && label.line > *from {
                    heading = None;
                }
            }
            let (_, segment) = view.segment_of(label.span.start);
            let is_whole = label.span.start == segment.start && label.after >= segment.end;
            let is_last = label.after >= line.end;
            if is_whole && is_last && PARTIES.has_any(label.terms.iter()) && label.terms.len() <= 4 {
                let terms = label.terms.iter().filter(|term| PARTIES.has(term)).map(str::to_owned);
                heading = Some((label.span, label.line, terms.collect()));
            }
        }
    }

    fn of_segment(&mut self, view: &View<'_>, segment: Span) {
        let lexicon = Lexicon::shared();
        let mut run = segment.start;
        let mut is_marked_before = false;
        let mut line_to_write_on: Option<usize> = None;
        for at in segment.start..segment.end {
            let word = &view.words[at];
            // A box is no part of a label.
            if let Some((length, _)) = box_at(view, at, segment.end) {
                if run < at && at - run <= MAX_WORDS {
                    self.push(view, Span { start: run, end: at }, at, false);
                }
                run = run.max(at + length);
                continue;
            }
            if at < run {
                continue;
            }
            if is_leader(word.text) {
                line_to_write_on = self.before_leader(view, run, at, line_to_write_on);
                run = at + 1;
                continue;
            }
            let is_mark = matches!(word.text, ":" | "：" | "=" | "-" | "–");
            if word.text.ends_with(COLONS)
                || word.text.len() > 1 && word.text.ends_with('?') && at + 1 < segment.end
                || word.text.len() > 2 && word.text.ends_with('=')
                || is_mark && at > run
            {
                let end = if is_mark { at } else { at + 1 };
                let mut start = run.max(end.saturating_sub(MAX_WORDS));
                let is_marked = word.text.ends_with([':', '：', '=', '?']);
                if is_marked && is_marked_before {
                    start = label_after_value(view, Span { start, end });
                }
                self.push(view, Span { start, end }, at + 1, is_marked);
                is_marked_before |= is_marked;
                run = at + 1;
                continue;
            }
            // `MwSt. 19 %:` is a label as a whole.
            let is_rate = at + 1 < segment.end
                && matches!(view.words[at + 1].text, "%:" | "%：")
                && has_digit(word.text);
            let is_value = !is_rate
                && !in_question(view, Span { start: at + 1, end: segment.end.min(run + 2 * MAX_WORDS) })
                && has_digit(word.text)
                && !word.text.contains('%')
                && lexicon.word(&word.folded).is_none()
                || super::numbers::currency(word.text).is_some() && word.text != "Rp" && at > run;
            if is_value {
                // `14 crates and 3 drums`: what is before a conjunction names nothing after it.
                let is_new = run < at && AND.has(view.words[at - 1].text);
                if is_new {
                    run = at;
                }
                if run < at && at - run <= MAX_WORDS {
                    self.push(view, Span { start: run, end: at }, at, false);
                } else if run < at {
                    // `The Tenant shall pay to the Landlord a monthly rent of EUR 900`: what the article before it begins.
                    let last = at - WORDS_IN_SENTENCE;
                    let start =
                        (last..at).rev().find(|&word| ARTICLES.has(&view.words[word].folded)).unwrap_or(last);
                    self.push(view, Span { start, end: at }, at, false);
                }
                run = at + 1;
            }
        }
        if run < segment.end {
            self.rest_of_segment(view, Span { start: run, end: segment.end });
        }
    }

    /// The label that ends before dots or a line to write on. Returns where a text that fills the line would begin.
    fn before_leader(
        &mut self,
        view: &View<'_>,
        run: usize,
        at: usize,
        before: Option<usize>,
    ) -> Option<usize> {
        // `....Joiner....` is filled in: the second line only ends the first.
        let is_filled = before.is_some_and(|from| {
            from + 1 == run && run < at && view.words[at].gap == 0 && view.words[run].gap == 0
        });
        if !is_filled && run < at {
            let start = run.max(at.saturating_sub(MAX_WORDS));
            self.push(view, Span { start, end: at }, at, true);
        }
        (!is_filled).then_some(at)
    }

    /// Labels of what is left after the last mark or value of a segment.
    fn rest_of_segment(&mut self, view: &View<'_>, rest: Span) {
        // `Smoker Yes`
        let last = rest.end - 1;
        if last > rest.start && rest.end - rest.start <= MAX_WORDS && ANSWERS.has(&view.words[last].folded) {
            self.push(view, Span { start: rest.start, end: last }, last, false);
        }
        // Of a long question the end says what is asked.
        let is_question = view.words[last].text.ends_with('?');
        if rest.end - rest.start <= MAX_WORDS {
            self.push(view, rest, rest.end, false);
        } else if is_question {
            self.push(view, Span { start: rest.end - MAX_WORDS, end: rest.end }, rest.end, false);
        }
        self.prefixes(view, rest);
    }

    /// Labels without a mark before text: the known words at the beginning.
    fn prefixes(&mut self, view: &View<'_>, rest: Span) {
        let words: Vec<&str> = view.folded(rest).take(MAX_WORDS).collect();
        let lexicon = Lexicon::shared();
        let mut at = 0;
        while at < words.len() {
            let Some((terms, length)) = lexicon.phrase(&words[at..]) else { break };
            at += length;
            let end = rest.start + at;
            if terms.iter().any(|term| *term != "-") && end < rest.end {
                self.push(view, Span { start: rest.start, end }, end, false);
            }
        }
    }

    fn push(&mut self, view: &View<'_>, span: Span, after: usize, is_marked: bool) {
        if span.start >= span.end || is_open(view, span) {
            return;
        }
        let mut terms = Terms::of(&view.folded(span).collect::<Vec<_>>());
        // `EIN` is no article.
        let word = &view.words[span.start];
        let is_code = span.end - span.start == 1
            && word.folded.len() >= 2
            && word.text.chars().filter(|c| c.is_alphabetic()).all(char::is_uppercase);
        if terms.is_empty() && is_code {
            terms.add(word.folded.clone());
        }
        // Alone before a colon, `from` and `to` name parties.
        if terms.is_empty() && is_marked && span.end - span.start == 1 {
            let role = SENDERS.has(&word.folded).then_some("seller");
            let role = role.or_else(|| RECEIVERS.has(&word.folded).then_some("buyer"));
            role.into_iter().for_each(|role| terms.add(role.to_owned()));
        }
        if terms.is_empty() || terms.len() > MAX_WORDS + 2 {
            return;
        }
        let line = view.words[span.start].line;
        self.all.push(Label { span, line, terms, is_marked, after, section: Terms::default() });
    }

    fn correct(&mut self, query: &[&str]) {
        let mut known: HashMap<String, Option<String>> = HashMap::new();
        for label in &mut self.all {
            let mut corrected = Terms::default();
            let mut changed = false;
            for term in label.terms.iter() {
                if term.len() < MIN_COMPARED
                    || query.contains(&term)
                    || known.len() >= MAX_COMPARED && !known.contains_key(term)
                {
                    corrected.add(term.to_owned());
                    continue;
                }
                let near = known.entry(term.to_owned()).or_insert_with(|| {
                    query
                        .iter()
                        .find(|other| nearly(other, term) || akin(other, term))
                        .map(|other| (*other).to_owned())
                });
                changed |= near.is_some();
                corrected.add(near.clone().unwrap_or_else(|| term.to_owned()));
            }
            if changed {
                label.terms = corrected;
            }
        }
    }

    /// The labels that have one of some terms, in the order of the document.
    pub(crate) fn with_terms(&self, terms: &Terms) -> Vec<u32> {
        let mut found: Vec<u32> = terms
            .iter()
            .filter_map(|term| self.by_term.get(term))
            .flat_map(|list| list.iter().copied())
            .take(MAX_PER_FIELD * 8)
            .collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MAX_PER_FIELD);
        found
    }

    pub(crate) fn of_line(&self, line: usize) -> impl Iterator<Item = &Label> {
        self.by_line.get(&line).into_iter().flatten().map(|&index| &self.all[index as usize])
    }
}

/// Whether the words that follow end a question: `Any surgery in the last 12 months?`
fn in_question(view: &View<'_>, after: Span) -> bool {
    let words = &view.words[after.start..after.end.max(after.start)];
    let end = words.iter().find(|word| word.text.ends_with('?') || word.text.ends_with(COLONS));
    end.is_some_and(|word| word.text.ends_with('?'))
}
