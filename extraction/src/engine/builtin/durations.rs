//! How long something lasts: numbers with units of time, and the sentences that say the term of an agreement.

use super::candidate::{Candidate, Fit, Provenance};
use super::scoring::term;
use super::source::{MAX_HITS, Source};
use super::view::{Span, View};
use super::vocabulary::{
    AFTER_EVENT, BEFORE_UNIT, ENDS_OF_EMPLOYMENT, EXCEPTIONS, FORBIDDEN, LASTING, LOOKING_BACK, SECRECY,
    TERM, UNITS_OF_TIME, Words,
};

/// The words of a region that are looked through for a period.
const REGION_WORDS: usize = 40;
/// The words to either side of a period that its sentence is looked for in.
const SENTENCE_WORDS: usize = 30;
/// The words at the beginning of a line, after its number, and the lines above a period in which its heading may be.
const HEADING_WORDS: usize = 2;
const HEADING_LINES: usize = 4;

/// Number words up to twelve and some tens, in the languages of the lexicon.
fn number_word(word: &str) -> Option<u32> {
    let words: [(&str, u32); 19] = [
        ("one einem einer ein einen un une una uno", 1),
        ("two zwei deux dos due", 2),
        ("three drei trois tres tre", 3),
        ("four vier quatre cuatro quattro", 4),
        ("five funf cinq cinco cinque", 5),
        ("six sechs seis sei", 6),
        ("seven sieben sept siete sette", 7),
        ("eight acht huit ocho otto", 8),
        ("nine neun neuf nueve nove", 9),
        ("ten zehn dix diez dieci", 10),
        ("eleven elf onze once undici", 11),
        ("twelve zwolf douze doce dodici", 12),
        ("fifteen", 15),
        ("eighteen", 18),
        ("twenty zwanzig", 20),
        ("twenty-four", 24),
        ("thirty dreissig", 30),
        ("sixty", 60),
        ("ninety", 90),
    ];
    words.iter().find(|(names, _)| names.split(' ').any(|name| name == word)).map(|(_, number)| *number)
}

/// A number and a unit of time in a region: `two (2) years` is 2 years.
pub(crate) fn duration(view: &View<'_>, region: Span) -> Option<(Span, String)> {
    (region.start..region.end.min(region.start + REGION_WORDS))
        .find_map(|at| duration_at(view, at, region.end))
}

fn duration_at(view: &View<'_>, at: usize, end: usize) -> Option<(Span, String)> {
    let folded = |index: usize| view.words[index].folded.as_str();
    let of_text = |text: &str| text.parse::<u32>().ok().filter(|number| *number < 1_000);
    let mut number = of_text(folded(at)).or_else(|| number_word(folded(at)))?;
    let mut next = at + 1;
    if next < end && view.words[next].text.starts_with('(') {
        number = of_text(folded(next))?;
        next += 1;
    }
    if next < end && BEFORE_UNIT.has(folded(next)) {
        next += 1;
    }
    let unit = (next < end).then(|| folded(next))?;
    // `3-year term`
    let unit = unit.trim_end_matches("'s").trim_end_matches('’');
    UNITS_OF_TIME.has(unit).then(|| (Span { start: at, end: next + 1 }, format!("{number} {unit}")))
}

/// Whether a sentence says what somebody must not do for a while, besides telling a secret.
fn is_covenant(sentence: &[&str]) -> bool {
    let has = |words: Words| words.has_any(sentence.iter().copied());
    let is_forbidden = sentence.windows(2).any(|pair| matches!(pair, ["shall" | "will" | "must", "not"]));
    has(FORBIDDEN) || is_forbidden && !has(SECRECY)
}

/// `the third anniversary of the Effective Date` is 3 years after it.
fn anniversary_at(view: &View<'_>, at: usize) -> Option<(Span, String)> {
    let next = view.words.get(at + 1).is_some_and(|next| next.folded == "anniversary");
    let number = ordinal(&view.words[at].folded).filter(|_| next)?;
    let unit = if number == 1 { "year" } else { "years" };
    Some((Span { start: at, end: at + 2 }, format!("{number} {unit}")))
}

fn ordinal(word: &str) -> Option<usize> {
    let words =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    words.iter().position(|known| *known == word).map(|at| at + 1)
}

/// Whether a sentence says how long an agreement, or the duty of secrecy in it, lasts.
fn is_lasting(sentence: &[&str]) -> bool {
    LASTING.has_any(sentence.iter().copied()) || SECRECY.has_any(sentence.iter().copied())
}

impl Source<'_, '_> {
    /// Candidates for the term of an agreement.
    pub(super) fn terms_of_time(&self, found: &mut Vec<Candidate>) {
        let mut hits = 0;
        for at in 0..self.view.words.len() {
            let folded = self.view.words[at].folded.as_str();
            let is_number = || folded.parse::<u16>().is_ok() || number_word(folded).is_some();
            let end = (at + 5).min(self.view.words.len());
            let period = anniversary_at(self.view, at)
                .or_else(|| is_number().then(|| duration_at(self.view, at, end)).flatten());
            let Some((span, value)) = period else { continue };
            hits += 1;
            if hits > MAX_HITS {
                break;
            }
            let before = self.view.folded_before(at, term::BEFORE);
            let after = self.view.folded_from(span.end, term::AFTER);
            let mut score = term::BASE;
            for cue in term::CUES.iter().filter(|cue| cue.applies(&before, &after)) {
                score += cue.weight;
            }
            if term::NOTICE.applies(&before, &after) || value.ends_with("days") {
                score += term::NOTICE.weight;
            }
            // What lasts beyond an employment or looks back from its end is no term of an agreement.
            // `two years unless terminated earlier` says so of the exception alone.
            let own = || after.iter().take(6).copied().take_while(|word| !EXCEPTIONS.has(word));
            let has = |list: Words| list.has_any(own());
            let is_beyond = has(LOOKING_BACK) || has(AFTER_EVENT) && has(ENDS_OF_EMPLOYMENT);
            // Nor is how long somebody must not compete or hire, or the most that is given of something.
            let of_number = before.iter().rev().take_while(|word| number_word(word).is_some()).count();
            let is_most = before[..before.len() - of_number].ends_with(&["up", "to"]);
            let is_term = TERM.has_any(before.iter().copied());
            let sentence = self.sentence(at);
            if is_beyond || is_most || is_covenant(&sentence) && !is_term {
                continue;
            }
            // A period of something else is no answer, however often the agreement is mentioned around it.
            if !is_term && !is_lasting(&sentence) && !self.is_under_heading(at) {
                continue;
            }
            let mut candidate = Candidate::new(
                span,
                value.as_str().into(),
                Fit::new(Provenance::Sentence, term::SIMILARITY, score),
            );
            candidate.normalised = self.view.text(span) != value;
            found.push(candidate);
        }
    }

    /// The periods that sentences say, each with its value and its sentence.
    pub(crate) fn durations(&self) -> Vec<(Span, String, Span)> {
        let words = self.view.words.len();
        let spans = (0..words).filter_map(|at| duration_at(self.view, at, (at + 5).min(words)));
        // `thirty (30) days` is one.
        let mut found: Vec<(Span, String, Span)> = Vec::new();
        for (span, value) in spans {
            if found.last().is_none_or(|(before, ..)| !before.overlaps(span)) {
                found.push((span, value, self.sentence_span(span.start)));
            }
            if found.len() >= MAX_HITS {
                break;
            }
        }
        found
    }

    /// Whether the paragraph of a word, or the line above it, begins with a heading such as `5. Term.`
    fn is_under_heading(&self, at: usize) -> bool {
        let view = self.view;
        let line = view.words[at].line;
        let is_heading = |line: usize| {
            let words: Vec<&str> = view.folded(view.line_span(line)).collect();
            let is_number = |word: &&&str| {
                word.len() <= 1
                    || word.bytes().all(|byte| byte.is_ascii_digit() || b".ivx".contains(&byte))
                    || matches!(**word, "section" | "article" | "clause")
            };
            let begin = words.iter().take_while(is_number).count();
            words[begin..].iter().take(HEADING_WORDS).any(|word| TERM.has(word) || *word == "duration")
        };
        (line.saturating_sub(HEADING_LINES)..=line).rev().any(is_heading)
    }

    /// The words of the sentence around a word.
    fn sentence(&self, at: usize) -> Vec<&str> {
        self.view.folded(self.sentence_span(at)).collect()
    }

    fn sentence_span(&self, at: usize) -> Span {
        let words = &self.view.words;
        let ends = |word: usize| self.view.words[word].text.ends_with(['.', ';']);
        let least = at.saturating_sub(SENTENCE_WORDS);
        let start = (least..at).rev().find(|word| ends(*word)).map_or(least, |it| it + 1);
        let most = (at + SENTENCE_WORDS).min(words.len());
        let end = (at..most).find(|word| ends(*word)).map_or(most, |it| it + 1);
        Span { start, end }
    }
}
