//! What sentences say: parties, dates of effect, applicable law, years of experience.

use openapi_core::extraction::ExtractionType;

use super::annotations::Annotations;
use super::candidate::{Candidate, Fit, Provenance};
use super::field_query::{FieldQuery, Role};
use super::scoring::{effective, law, party, years};
use super::source::{MAX_HITS, Source};
use super::terms::Terms;
use super::text::{is_capitalised, tidy};
use super::view::{Span, View, fold};
use super::vocabulary::{
    AFTER_PARTIES, AND, BEFORE_JURISDICTION, BETWEEN, DENIED, DOCUMENTS, EXPERIENCE, GOVERNING, IS,
    LEGAL_FORMS, NAME_SUFFIXES, NO_NAME, OTHERS, PARTY_PARTICLES, PERMITTED, PROHIBITED, SIDES, STATED, THIS,
    TRADING_AS, YEARS,
};

/// Whether a word joins names, in capitals too.
fn is_and(word: &str) -> bool {
    AND.has(word) || matches!(word, "AND" | "UND" | "ET")
}

/// Whether a word begins with a capital or a digit, perhaps after a quotation mark.
fn begins_like_name(text: &str) -> bool {
    let first = text.trim_start_matches(['“', '"', '\'']).chars().next();
    first.is_some_and(|c| c.is_uppercase() || c.is_ascii_digit())
}

/// The most amounts that may be years.
const MAX_AMOUNTS: usize = 4_000;
/// The most words of a list of parties, and the most parties.
const LIST_WORDS: usize = 220;
pub(super) const MAX_PARTIES: usize = 6;
/// The most words of the name of a party, and of the words before its end that a full stop may abbreviate.
const NAME_WORDS: usize = 9;
const ABBREVIATION: usize = 4;
/// The words that are looked through for brackets that define a term, those of such a bracket, and of the clause before.
const MAX_DEFINED_WORDS: usize = 20_000;
const BRACKET_WORDS: usize = 8;
const CLAUSE_WORDS: usize = 40;
/// The most words of the name of a document, with the article before it.
const DOCUMENT_WORDS: usize = 6;
/// The words of a statement after its subject.
const STATEMENT_WORDS: usize = 9;
const QUOTES: [char; 6] = ['"', '“', '”', '„', '«', '\''];
/// The words in which a document's telephone number may be.
const PHONE_WORDS: usize = 60;

/// The index of the word after each occurrence of a phrase.
fn phrases(view: &View<'_>, phrase: &str) -> Vec<usize> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let last = (view.words.len() + 1).saturating_sub(phrase.len());
    (0..last)
        .filter(|&at| phrase.iter().enumerate().all(|(offset, word)| view.words[at + offset].folded == *word))
        .map(|at| at + phrase.len())
        .take(MAX_HITS)
        .collect()
}

impl Source<'_, '_> {
    pub(crate) fn prose(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        match query.kind {
            ExtractionType::Boolean => self.statements(query, found),
            ExtractionType::String if query.role == Role::Law => self.law(found),
            ExtractionType::String if query.role == Role::Duration => self.terms_of_time(found),
            ExtractionType::Date if query.name.has("effective") || query.name.has("contract") => {
                self.effective(query, found);
            }
            ExtractionType::Number | ExtractionType::Integer
                if query.all.has_any(&["years", "experience"]) =>
            {
                self.years(query, found);
            }
            ExtractionType::String if matches!(query.role, Role::Company | Role::Person | Role::Text) => {
                self.defined(query, found);
            }
            _ => {}
        }
    }

    /// `Acme Ltd (the "Supplier")`: the name of the party that a term defines.
    fn defined(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let view = self.view;
        for at in 1..view.words.len().min(MAX_DEFINED_WORDS) {
            let text = view.words[at].text;
            if !text.starts_with('(') {
                continue;
            }
            let end = (at..view.words.len().min(at + BRACKET_WORDS))
                .find(|&end| view.words[end].text.contains(')'))
                .map(|end| end + 1);
            let Some(end) = end else { continue };
            let said = view.text(Span { start: at, end });
            if !said.contains(QUOTES) {
                continue;
            }
            let terms = Terms::of(&view.folded(Span { start: at, end }).collect::<Vec<_>>());
            let similarity = query.similarity(&terms);
            if similarity < party::MIN_SIMILARITY {
                continue;
            }
            if let Some(name) = self.name_before(at) {
                let text = tidy(&view.text(name));
                if !super::entities::is_company(&text) && !super::entities::is_person(&text) {
                    continue;
                }
                let fit = Fit::new(Provenance::Sentence, similarity, party::DEFINED * similarity);
                found.push(Candidate::quoting(name, text.trim_end_matches(','), fit));
            }
        }
    }

    /// The name that a bracket is about: it begins after `between`, `and` or the bracket or full stop before it, and what
    /// describes the party may stand between.
    fn name_before(&self, bracket: usize) -> Option<Span> {
        let words = &self.view.words;
        let least = bracket.saturating_sub(CLAUSE_WORDS);
        let begins = |at: usize| {
            let word = &words[at];
            let is_suffix =
                NAME_SUFFIXES.has(word.folded.trim_end_matches('.')) || LEGAL_FORMS.has(&word.folded);
            let is_day = self.annotations.dates_in(Span { start: least, end: at + 1 });
            is_day.last().is_some_and(|date| date.span.end == at + 1)
                || BETWEEN.has(&word.folded)
                || is_and(word.text) && word.text != "&"
                || word.text.ends_with([';', ':', ')'])
                || word.text.ends_with('.') && !is_suffix && word.text.chars().count() > ABBREVIATION
                || matches!(word.folded.as_str(), "by" | "with" | "from")
        };
        // The nearest beginning after which a name follows.
        let starts = (least..bracket).rev().filter(|&at| begins(at)).map(|at| at + 1);
        let line = self.view.lines[words[bracket].line].start.max(least);
        starts.chain(std::iter::once(line)).find_map(|start| {
            let is_name =
                start < bracket && begins_like_name(words[start].text) && !NO_NAME.has(&words[start].folded);
            let name = is_name.then(|| self.names_after(start).into_iter().next()).flatten()?;
            (name.start == start && name.end <= bracket).then_some(name)
        })
    }

    /// `Pets are not permitted`, `Smoking is prohibited`, `Breakfast is included`: what is said of a thing.
    fn statements(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let things: Vec<&str> = query.name.iter().filter(|term| !STATED.has(term)).collect();
        let words = &self.view.words;
        let mut hits = 0;
        for at in 0..words.len().min(MAX_DEFINED_WORDS) {
            let is_thing = Terms::of(&[words[at].folded.as_str()]).has_any(&things);
            if !is_thing || things.is_empty() {
                continue;
            }
            let end = (at..words.len().min(at + STATEMENT_WORDS))
                .find(|&end| words[end].text.ends_with(['.', ';', ':', '?']))
                .map_or((at + STATEMENT_WORDS).min(words.len()), |end| end + 1);
            let folded = self.view.folded_from(at + 1, end.saturating_sub(at + 1));
            let Some(said) = folded.iter().position(|word| PERMITTED.has(word) || PROHIBITED.has(word))
            else {
                continue;
            };
            let has_verb = folded[..said].iter().any(|word| IS.has(word));
            let before = self.view.folded_before(at, 2);
            let is_denied = folded[..said].iter().any(|word| DENIED.has(word))
                || before.iter().any(|word| DENIED.has(word));
            if !has_verb && !before.iter().any(|word| DENIED.has(word)) {
                continue;
            }
            hits += 1;
            if hits > MAX_HITS {
                break;
            }
            let yes = PERMITTED.has(folded[said]) != is_denied;
            let span = Span { start: at, end: at + 2 + said };
            let fit = Fit::new(Provenance::Sentence, party::STATEMENT, party::STATEMENT);
            found.push(Candidate::normalised(span, yes.into(), fit));
        }
    }

    /// The state or country whose law governs.
    fn law(&self, found: &mut Vec<Candidate>) {
        for (phrase, base) in law::PHRASES {
            for at in phrases(self.view, phrase) {
                let before = self.view.folded_before(at, law::BEFORE);
                let governs = GOVERNING.has_any(before.iter().copied());
                // `the laws and public policies of the State of Oregon`, and not where a company is registered.
                let is_state = phrase == "state of";
                if is_state && !(governs && before.iter().any(|word| matches!(*word, "law" | "laws"))) {
                    continue;
                }
                let Some(span) = self.jurisdiction(at) else { continue };
                let nation = self.view.text(span).starts_with("United");
                let score = if governs { base } else { base - law::NOT_GOVERNING }
                    - if nation { law::NATION } else { 0.0 };
                found.push(self.law_of(span, score));
            }
        }
        self.governing_law(found);
    }

    fn law_of(&self, jurisdiction: Span, score: f64) -> Candidate {
        let fit = Fit::new(Provenance::Sentence, law::SIMILARITY, score);
        Candidate::quoting(jurisdiction, &self.jurisdiction_name(jurisdiction), fit)
    }

    /// `governed by Kansas law`
    fn governing_law(&self, found: &mut Vec<Candidate>) {
        for at in phrases(self.view, "governed by") {
            let start = at + usize::from(self.view.words.get(at).is_some_and(|word| word.folded == "the"));
            let is_name = |at: usize| {
                self.view.words.get(at).is_some_and(|word| {
                    is_capitalised(word.text) && word.text.chars().all(char::is_alphabetic)
                })
            };
            let end = (start..start + 3).take_while(|&at| is_name(at)).count() + start;
            let is_law =
                self.view.words.get(end).is_some_and(|word| matches!(word.folded.as_str(), "law" | "laws"));
            if end > start && is_law {
                found.push(self.law_of(Span { start, end }, law::GOVERNED_BY));
            }
        }
    }

    /// The name of a jurisdiction, without the full stop of its sentence.
    fn jurisdiction_name(&self, span: Span) -> String {
        let text = tidy(&self.view.text(span));
        match text.strip_suffix('.') {
            Some(name) if !name.contains('.') => name.to_owned(),
            _ => text,
        }
    }

    /// The name of a jurisdiction after `of`: capitalised words, after the words for state.
    fn jurisdiction(&self, from: usize) -> Option<Span> {
        let named = |at: usize| {
            let word = self.view.words.get(at);
            word.is_some_and(|word| is_capitalised(word.text))
        };
        // `Republic of Korea` keeps its name, `State of Oregon` does not.
        let before = self.view.folded_from(from, 5);
        let mut at = from + before.iter().take_while(|word| BEFORE_JURISDICTION.has(word)).count();
        let start = at;
        while at < start + 4 {
            let word = self.view.words.get(at)?;
            let text = word.text;
            let ended =
                |at: usize| self.view.words.get(at).is_some_and(|next| next.text.ends_with([',', '.', ';']));
            if text == "and" && at > start && named(at + 1) && ended(at + 1) {
                at += 2;
                break;
            }
            let joins = text == "of" && at > start && named(at + 1);
            if !named(at) && !joins {
                break;
            }
            at += 1;
            if text.ends_with([',', '.', ';', ')']) {
                break;
            }
        }
        (at > start).then_some(Span { start, end: at })
    }

    /// The date on which an agreement was made or takes effect.
    fn effective(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        for (nth, date) in self.annotations.dates.iter().take(MAX_HITS).enumerate() {
            let before = self.view.folded_before(date.span.start, effective::BEFORE);
            let after = self.view.folded_from(date.span.end, effective::AFTER);
            if self.is_of_another_document(date.span, &before) {
                continue;
            }
            let mut score = effective::BASE;
            for cue in effective::EFFECT.iter().filter(|cue| cue.applies(&before, &after)) {
                score += cue.weight;
            }
            if before.ends_with(&["of"]) || before.ends_with(&["on"]) || before.contains(&"as") {
                score += effective::PREPOSITION;
            }
            if date.span.start < effective::OPENING_WORDS {
                score += effective::OPENING;
            }
            if effective::OTHER_EVENT.applies(&before, &after) {
                score += effective::OTHER_EVENT.weight;
            }
            score -= effective::STEP * nth as f64;
            let score = score.min(effective::MAX);
            let fit = Fit::new(Provenance::Sentence, effective::SIMILARITY, score);
            found.extend(self.date(query, date, fit));
        }
    }

    /// Whether a date is that of a document which the agreement only mentions: `a Plan of Merger dated May 4, 2019 (the
    /// “Merger Plan”)`, `the end of the Consulting Agreement dated May 4, 2019`.
    fn is_of_another_document(&self, date: Span, before: &[&str]) -> bool {
        let next = self.view.words.get(date.end).map_or("", |word| word.text);
        let words = (date.end..self.view.words.len()).take(BRACKET_WORDS);
        let end =
            words.clone().find(|at| self.view.words[*at].text.contains(')')).map_or(date.end, |at| at + 1);
        let defined = self.view.folded(Span { start: date.end, end });
        if next.eq_ignore_ascii_case("(the") && DOCUMENTS.has_any(defined) {
            return true;
        }
        let Some(named) = before.iter().rposition(|word| DOCUMENTS.has(word)) else { return false };
        let name = &before[named.saturating_sub(DOCUMENT_WORDS)..named];
        // The word next to the name decides: `this agreement ends with the Consulting Agreement dated …`.
        let determiner = name.iter().rev().find(|word| THIS.has(word) || OTHERS.has(word));
        determiner.is_some_and(|word| OTHERS.has(word))
    }

    /// `25 years of experience`, `over 10 years' experience`
    fn years(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        for amount in self.annotations.amounts.iter().take(MAX_AMOUNTS) {
            let words = self.view.folded_from(amount.span.end, 6);
            let unit = words.first().is_some_and(|word| YEARS.has(word.trim_end_matches(['\'', '’'])));
            if unit {
                let is_experience = EXPERIENCE.has_any(words);
                let (similarity, score) =
                    if is_experience { years::OF_EXPERIENCE } else { years::OF_ANYTHING };
                found.extend(self.amount(query, amount, Fit::new(Provenance::Sentence, similarity, score)));
            }
        }
    }

    /// The names in a list that begins at a word: parted by `and` and commas, ended by a full stop.
    pub(super) fn names_after(&self, from: usize) -> Vec<Span> {
        let mut found: Vec<Span> = Vec::new();
        let mut start = None;
        let mut depth = 0_i32;
        let mut at = from;
        let end = self.view.words.len().min(from + LIST_WORDS);
        let mut skipping = false;
        while at < end && found.len() < MAX_PARTIES {
            let word = &self.view.words[at];
            let text = word.text;
            let opens = text.matches(['(', '[']).count() as i32;
            let closes = text.matches([')', ']']).count() as i32;
            let inside = depth > 0 || opens > 0;
            depth = (depth + opens - closes).max(0);
            let capital = begins_like_name(text);
            let joins = is_and(text);
            let next_is_suffix = (self.view.words.get(at + 1))
                .is_some_and(|next| NAME_SUFFIXES.has(next.folded.trim_end_matches('.')));
            let bare = text.trim_end_matches([',', ';', '.', ':']);
            if inside {
                if let Some(start) = start.take() {
                    found.push(Span { start, end: at });
                }
                skipping = false;
                // A name in the bracket's shadow may follow at once.
            } else if joins && !(start.is_some() && text == "&") {
                if let Some(start) = start.take() {
                    found.push(Span { start, end: at });
                }
                skipping = false;
            } else if skipping {
                // What describes a party, to its end.
            } else if capital && start.is_none() && (!NO_NAME.has(&word.folded) || self.is_article(at)) {
                start = Some(at);
                if text.ends_with([',', ';']) && !next_is_suffix {
                    found.push(Span { start: at, end: at + 1 });
                    start = None;
                    skipping = true;
                }
            } else if let Some(begin) = start {
                // `Wharf -Side Ltd`: a hyphen that layout parted from its word.
                let continues = (capital || begins_like_name(text.trim_start_matches('-')))
                    && !TRADING_AS.has(&word.folded)
                    || PARTY_PARTICLES.has(bare);
                if !continues {
                    found.push(Span { start: begin, end: at });
                    start = None;
                    skipping = true;
                } else if text.ends_with([',', ';']) && !next_is_suffix {
                    found.push(Span { start: begin, end: at + 1 });
                    start = None;
                    skipping = true;
                }
            }
            if inside && depth == 0 && text.ends_with('.') {
                break;
            }
            // The sentence ends.
            let is_short =
                bare.chars().count() <= ABBREVIATION || next_is_suffix || LEGAL_FORMS.has(&word.folded);
            if AFTER_PARTIES.has(&word.folded) {
                break;
            }
            at += 1;
            if text.ends_with('.') && !inside && !is_short {
                break;
            }
        }
        if let Some(start) = start {
            found.push(Span { start, end: at.min(end) });
        }
        let mut names: Vec<String> = Vec::new();
        found.retain(|span| self.is_party_name(*span, &mut names));
        found
    }

    /// Whether a word is the article of a name, `The Anvil Group LLC`.
    fn is_article(&self, at: usize) -> bool {
        let words = &self.view.words;
        let is_name = |at: usize| words.get(at).is_some_and(|word| begins_like_name(word.text));
        words[at].folded == "the" && is_name(at + 1) && is_name(at + 2)
    }

    /// Whether a span is the name of a party; `names` are the names before it.
    fn is_party_name(&self, span: Span, names: &mut Vec<String>) -> bool {
        let text = tidy(&self.view.text(span));
        let lower = text.to_lowercase();
        // A short form of a name that was there, or the word for a side.
        let repeats = names.iter().any(|name| name.starts_with(&lower));
        names.push(lower);
        let folded = fold(&text);
        if repeats
            || SIDES.has(folded.strip_prefix("the ").unwrap_or(&folded))
            || folded.split(' ').any(|word| word.contains("agreement"))
            || text.chars().any(|c| c.is_ascii_digit())
                && text.contains('.')
                && !super::entities::is_company(&text)
        {
            return false;
        }
        let words = span.end - span.start;
        words <= NAME_WORDS
            && text.chars().filter(|c| c.is_alphabetic()).count() >= 3
            && self.annotations.dates_in(span).is_empty()
            && (words > 1 || super::entities::is_company(&text) || text.chars().count() > 5)
            && !text.starts_with(|c: char| c.is_ascii_digit())
    }

    pub(crate) fn prose_phone(&self) -> Option<&(Span, String)> {
        Annotations::within(
            &self.annotations.phones,
            Span { start: 0, end: PHONE_WORDS.min(self.view.words.len()) },
            |(span, _)| *span,
        )
        .first()
    }
}
