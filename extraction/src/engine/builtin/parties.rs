//! The parties of an agreement: those that its opening lists, those that sign it, and the addressee of a letter.

use super::entities::{is_company, is_person};
use super::prose::MAX_PARTIES;
use super::source::Source;
use super::text::{is_capitalised, tidy};
use super::view::{Span, fold};
use super::vocabulary::{AGREES, BETWEEN, OFFICES, SIDES, SIGNS};

/// The words of an agreement that may name its parties, and those before `between` that say what is agreed.
const HEAD_WORDS: usize = 900;
const OPENING_WORDS: usize = 40;
/// The last lines that may be signatures, and the lines around a signature that say for whom somebody signs.
const LINES_OF_SIGNATURES: usize = 80;
const LINES_AROUND: usize = 3;
/// The most words of the name of a person who signs.
const SIGNER_WORDS: usize = 5;

impl Source<'_, '_> {
    /// The parties of an agreement.
    pub(crate) fn parties(&self) -> Vec<Span> {
        let limit = self.view.words.len().min(HEAD_WORDS);
        let opening = self.opening(limit, true).or_else(|| self.heading_of_parties(limit));
        let mut found = opening.map_or_else(Vec::new, |at| self.sure_names_after(at + 1));
        // An agreement has two parties: `by and between Acme Inc. and the undersigned`, or the sender of a letter.
        if found.len() < 2 {
            let others = self.addressee().into_iter().chain(self.signatures());
            for other in others {
                if found.len() < MAX_PARTIES && !found.iter().any(|known| self.is_same_name(*known, other)) {
                    found.push(other);
                }
            }
            found.sort_unstable();
        }
        if found.is_empty() {
            found.extend(self.defined_company(limit));
        }
        if found.is_empty() {
            found = self.opening(limit, false).map_or_else(Vec::new, |at| self.sure_names_after(at + 1));
        }
        found
    }

    /// The word before a list of parties: `between X and Y`, `by and among X, Y and Z`; `agreed` if the words before it
    /// speak of an agreement, as `a transaction between X and Y` does not.
    fn opening(&self, limit: usize, agreed: bool) -> Option<usize> {
        (0..limit).find(|&at| {
            let words = &self.view.words;
            BETWEEN.has(&words[at].folded)
                && words[at + 1..limit.min(at + 6)].iter().any(|word| is_capitalised(word.text))
                && (!agreed || AGREES.has_any(self.view.folded_before(at, OPENING_WORDS)))
        })
    }

    /// The names of a list. Where some are sure to be names of parties, the others are none.
    fn sure_names_after(&self, from: usize) -> Vec<Span> {
        let mut found = self.names_after(from);
        let is_sure = |span: &Span| {
            let text = self.view.text(*span);
            let next = self.view.words.get(span.end).map_or("", |word| word.text);
            is_company(&text) || is_person(tidy(&text).as_str()) || next.starts_with(['(', '“'])
        };
        if found.iter().any(is_sure) {
            found.retain(is_sure);
        }
        found
    }

    /// Whether one of two names begins with the other, whatever their letters' case and their marks.
    fn is_same_name(&self, one: Span, other: Span) -> bool {
        let letters = |span: Span| -> String {
            let text = self.view.text(span).to_lowercase();
            text.chars().filter(|letter| letter.is_alphanumeric()).collect()
        };
        let (one, other) = (letters(one), letters(other));
        one.starts_with(&other) || other.starts_with(&one)
    }

    /// The parties over their signatures: a company, and `By:` on the next line, or a person who signs for nobody else.
    fn signatures(&self) -> Vec<Span> {
        let view = self.view;
        let mut found: Vec<Span> = Vec::new();
        for line in (1..view.lines.len()).rev().take(LINES_OF_SIGNATURES) {
            for segment in view.segments_of(line) {
                let segment = segment.span();
                let company = self.is_caption(segment).then(|| self.company_over(line, segment)).flatten();
                let party = company.or_else(|| self.person_who_signs(line, segment));
                if let Some(party) = party
                    && found.len() < MAX_PARTIES
                    && !found.iter().any(|known| self.is_same_name(*known, party))
                {
                    found.push(party);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Whether a segment asks for a signature, such as `By:`.
    fn is_caption(&self, segment: Span) -> bool {
        let word = &self.view.words[segment.start];
        SIGNS.has(&word.folded) && word.text.ends_with(':')
    }

    /// The company over a line for its signature.
    fn company_over(&self, line: usize, signature: Span) -> Option<Span> {
        let above = self.over(line, signature, LINES_AROUND - 1).next()?;
        let text = tidy(&self.view.text(above));
        (is_company(&text) && !text.contains(':')).then_some(above)
    }

    /// The segments over a segment, the nearest first.
    fn over(&self, line: usize, segment: Span, lines: usize) -> impl Iterator<Item = Span> {
        (line.saturating_sub(lines)..line).rev().filter_map(move |above| {
            let mut segments = self.view.segments_of(above).iter().map(|above| above.span());
            segments.find(|above| self.view.aligned(*above, segment))
        })
    }

    /// The name after `/s/` of a person who is a party: under a word for a side, or without a company and an office.
    fn person_who_signs(&self, line: usize, segment: Span) -> Option<Span> {
        let view = self.view;
        let mark =
            (segment.start..segment.end).find(|&at| view.words[at].text.eq_ignore_ascii_case("/s/"))?;
        let name = Span { start: mark + 1, end: segment.end.min(mark + 1 + SIGNER_WORDS) };
        if name.start >= name.end || !is_person(&tidy(&view.text(name))) {
            return None;
        }
        let text = |span: Span| tidy(&view.text(span));
        let over: Vec<Span> = self.over(line, segment, LINES_AROUND).collect();
        let head = over.iter().find(|span| !self.is_caption(**span)).map(|span| text(*span));
        let is_side = |head: &String| SIDES.has(&fold(head));
        if head.as_ref().is_some_and(is_side) {
            return Some(name);
        }
        // `By: /s/ Name` is for a company; under a line `By:` a person may sign alone.
        let is_for_another =
            view.words[segment.start].folded == "by" || over.iter().any(|span| is_company(&text(*span)));
        let last = view.lines.len().min(line + 1 + LINES_AROUND);
        let has_office = (line..last).any(|line| OFFICES.has_any(view.folded(view.line_span(line))));
        (!is_for_another && !has_office).then_some(name)
    }

    /// `Parties:` over their names.
    fn heading_of_parties(&self, limit: usize) -> Option<usize> {
        (0..limit).find(|&at| {
            let word = &self.view.words[at];
            word.folded == "parties" && word.text.ends_with(':')
        })
    }

    /// The company that a document names first and gives a short name: `Acme Inc., a Delaware corporation (“Acme”)`.
    fn defined_company(&self, limit: usize) -> Option<Span> {
        let bracket = (1..limit).find(|&at| {
            let text = self.view.words[at].text;
            text.starts_with("(“") || text.starts_with("(\"")
        })?;
        let line = self.view.lines[self.view.words[bracket].line].start;
        let name = self.names_after(line).into_iter().next()?;
        (name.end <= bracket && is_company(&self.view.text(name))).then_some(name)
    }
}
