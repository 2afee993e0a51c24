//! What sentences say: parties, dates of effect, applicable law, years of experience.

use openapi_core::extraction::ExtractionType;

use super::annotations::Annotations;
use super::candidate::{Candidate, Provenance};
use super::field_query::{FieldQuery, Role};
use super::source::{MAX_HITS, Source};
use super::text::tidy;
use super::view::{Span, View, fold};

/// Whether a word begins with a capital or a digit, perhaps after a quotation mark.
fn begins_like_name(text: &str) -> bool {
    let first = text.trim_start_matches(['“', '"', '\'']).chars().next();
    first.is_some_and(|c| c.is_uppercase() || c.is_ascii_digit())
}

/// Words after the name of a company.
const COMPANY_SUFFIXES: [&str; 18] = [
    "inc",
    "llc",
    "ltd",
    "corp",
    "l.p",
    "lp",
    "co",
    "n.a",
    "plc",
    "gmbh",
    "ag",
    "s.a",
    "llp",
    "jr",
    "sr",
    "incorporated",
    "limited",
    "l.l.c",
];

/// Words for a party, which are no names.
const PARTY_WORDS: [&str; 16] = [
    "employee",
    "company",
    "recipient",
    "receiving party",
    "disclosing party",
    "employer",
    "executive",
    "consultant",
    "party",
    "parties",
    "discloser",
    "buyer",
    "seller",
    "background",
    "agreement",
    "effective date",
];

/// The index of the first word of each occurrence of a phrase.
fn phrases(view: &View<'_>, phrase: &[&str]) -> Vec<usize> {
    let Some(first) = phrase.first() else { return Vec::new() };
    let mut found = Vec::new();
    for at in 0..view.words.len().saturating_sub(phrase.len() - 1) {
        if view.words[at].folded == *first
            && phrase.iter().enumerate().all(|(offset, word)| view.words[at + offset].folded == *word)
        {
            found.push(at + phrase.len());
            if found.len() >= MAX_HITS {
                break;
            }
        }
    }
    found
}

impl Source<'_, '_> {
    pub(crate) fn prose(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        match query.kind {
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
            _ => {}
        }
    }

    /// The state or country whose law governs.
    fn law(&self, found: &mut Vec<Candidate>) {
        let starts = [
            (&["laws", "of"][..], 0.8),
            (&["law", "of"][..], 0.72),
            (&["recht", "der"][..], 0.6),
            (&["courts", "of"][..], 0.5),
            (&["recht", "von"][..], 0.6),
            (&["legge"][..], 0.4),
            (&["leyes", "de"][..], 0.7),
            (&["lois", "de"][..], 0.7),
            (&["droit"][..], 0.5),
            (&["state", "of"][..], 0.7),
        ];
        for (phrase, base) in starts {
            for at in phrases(self.view, phrase) {
                let before: Vec<&str> = self.view.words[at.saturating_sub(16)..at]
                    .iter()
                    .map(|word| word.folded.as_str())
                    .collect();
                let governs = before.iter().any(|word| {
                    matches!(
                        *word,
                        "governed"
                            | "governing"
                            | "construed"
                            | "interpreted"
                            | "accordance"
                            | "unterliegt"
                            | "regi"
                            | "regira"
                            | "regolato"
                            | "subject"
                            | "enforced"
                    )
                });
                // `the laws and public policies of the State of Oregon`, and not where a company is registered.
                let is_state = phrase[0] == "state";
                if is_state && !(governs && before.iter().any(|word| matches!(*word, "law" | "laws"))) {
                    continue;
                }
                let Some(span) = self.jurisdiction(at) else { continue };
                let nation = self.view.text(span).starts_with("United");
                let score = if governs { base } else { base - 0.35 } - if nation { 0.3 } else { 0.0 };
                let text = self.jurisdiction_name(span);
                let mut candidate =
                    Candidate::new(span, text.as_str().into(), Provenance::Sentence, 0.8, score);
                candidate.quote = Some(text);
                found.push(candidate);
            }
        }
        self.governing_law(found);
    }

    /// `governed by Kansas law`
    fn governing_law(&self, found: &mut Vec<Candidate>) {
        for at in phrases(self.view, &["governed", "by"]) {
            let start = at + usize::from(self.view.words.get(at).is_some_and(|word| word.folded == "the"));
            let is_name = |at: usize| {
                self.view.words.get(at).is_some_and(|word| {
                    word.text.chars().next().is_some_and(char::is_uppercase)
                        && word.text.chars().all(char::is_alphabetic)
                })
            };
            let end = (start..start + 3).take_while(|&at| is_name(at)).count() + start;
            let is_law =
                self.view.words.get(end).is_some_and(|word| matches!(word.folded.as_str(), "law" | "laws"));
            if end > start && is_law {
                let span = Span { start, end };
                let text = self.jurisdiction_name(span);
                let mut candidate =
                    Candidate::new(span, text.as_str().into(), Provenance::Sentence, 0.8, 0.75);
                candidate.quote = Some(text);
                found.push(candidate);
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
        let folded = |at: usize| self.view.words.get(at).map_or("", |word| word.folded.as_str());
        let mut at = from;
        while at < from + 5
            && matches!(
                folded(at),
                "the"
                    | "state"
                    | "commonwealth"
                    | "province"
                    | "of"
                    | "republic"
                    | "federal"
                    | "la"
                    | "el"
                    | "estado"
            )
        {
            // `Republic of Korea` keeps its name, `State of Oregon` does not.
            at += 1;
        }
        let start = at;
        while at < start + 4 {
            let word = self.view.words.get(at)?;
            let text = word.text;
            let capital = text.chars().next().is_some_and(char::is_uppercase);
            let named = |at: usize| {
                self.view
                    .words
                    .get(at)
                    .is_some_and(|next| next.text.chars().next().is_some_and(char::is_uppercase))
            };
            let ended =
                |at: usize| self.view.words.get(at).is_some_and(|next| next.text.ends_with([',', '.', ';']));
            if text == "and" && at > start && named(at + 1) && ended(at + 1) {
                at += 2;
                break;
            }
            let joins = matches!(text, "and" | "of" | "the")
                && at > start
                && self
                    .view
                    .words
                    .get(at + 1)
                    .is_some_and(|next| next.text.chars().next().is_some_and(char::is_uppercase))
                && text == "of";
            if !capital && !joins {
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
            let before: Vec<&str> = self.view.words[date.span.start.saturating_sub(12)..date.span.start]
                .iter()
                .map(|word| word.folded.as_str())
                .collect();
            let after: Vec<&str> = self.view.words
                [date.span.end..(date.span.end + 6).min(self.view.words.len())]
                .iter()
                .map(|word| word.folded.as_str())
                .collect();
            let has = |list: &[&str]| before.iter().any(|word| list.contains(word));
            let mut score: f64 = 0.22;
            if has(&["effective", "dated", "commencing", "wirksam", "date"]) || after.contains(&"effective") {
                score += 0.25;
            }
            if has(&["entered", "made", "executed", "geschlossen", "conclu", "celebrado", "stipulato"]) {
                score += 0.2;
            }
            if before.ends_with(&["of"]) || before.ends_with(&["on"]) || before.contains(&"as") {
                score += 0.1;
            }
            if date.span.start < 250 {
                score += 0.12;
            }
            if has(&["merger", "plan", "expire", "until", "terminate", "amended", "born"]) {
                score -= 0.2;
            }
            score -= 0.02 * nth as f64;
            found.extend(self.date(query, date, Provenance::Sentence, 0.6, score.min(0.85)));
        }
    }

    /// `25 years of experience`, `over 10 years' experience`
    fn years(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        for amount in self.annotations.amounts.iter().take(4_000) {
            let words: Vec<String> = self.view.words
                [amount.span.end..(amount.span.end + 6).min(self.view.words.len())]
                .iter()
                .map(|word| fold(word.text))
                .collect();
            let unit = words.first().is_some_and(|word| {
                matches!(
                    word.trim_end_matches(['\'', '’']),
                    "years" | "year" | "jahre" | "ans" | "anos" | "anni" | "yrs" | "jahren"
                )
            });
            let topic = words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "experience"
                        | "erfahrung"
                        | "berufserfahrung"
                        | "experiencia"
                        | "esperienza"
                        | "d'experience"
                )
            });
            if unit && topic {
                found.extend(self.amount(query, amount, Provenance::Sentence, 0.9, 0.9));
            } else if unit {
                found.extend(self.amount(query, amount, Provenance::Sentence, 0.6, 0.45));
            }
        }
    }

    /// The parties of an agreement.
    pub(crate) fn parties(&self) -> Vec<Span> {
        let mut found: Vec<Span> = Vec::new();
        let limit = self.view.words.len().min(900);
        // `between X and Y`, `by and among X, Y and Z`
        let opening = (0..limit).find(|&at| {
            matches!(self.view.words[at].folded.as_str(), "between" | "among" | "zwischen" | "entre" | "tra")
                && self.view.words[at + 1..limit.min(at + 6)]
                    .iter()
                    .any(|word| word.text.chars().next().is_some_and(char::is_uppercase))
        });
        if let Some(opening) = opening.or_else(|| self.heading_of_parties(limit)) {
            found = self.names_after(opening + 1);
        }
        if found.is_empty() {
            found.extend(self.defined_company(limit));
        }
        found
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
        (name.end <= bracket && super::entities::is_company(&self.view.text(name))).then_some(name)
    }

    /// The names in a list that begins at a word: parted by `and` and commas, ended by a full stop.
    fn names_after(&self, from: usize) -> Vec<Span> {
        let mut found: Vec<Span> = Vec::new();
        let mut start = None;
        let mut depth = 0_i32;
        let mut at = from;
        let end = self.view.words.len().min(from + 220);
        let mut skipping = false;
        while at < end && found.len() < 6 {
            let word = &self.view.words[at];
            let text = word.text;
            let opens = text.matches(['(', '[']).count() as i32;
            let closes = text.matches([')', ']']).count() as i32;
            let inside = depth > 0 || opens > 0;
            depth = (depth + opens - closes).max(0);
            let capital = begins_like_name(text);
            let joins = matches!(text, "and" | "und" | "et" | "y" | "e" | "&");
            let next_is_suffix = (self.view.words.get(at + 1))
                .is_some_and(|next| COMPANY_SUFFIXES.contains(&next.folded.trim_end_matches('.')));
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
            } else if capital
                && start.is_none()
                && !matches!(
                    word.folded.as_str(),
                    "the" | "each" | "whereas" | "now" | "this" | "a" | "an" | "on"
                )
            {
                start = Some(at);
                if text.ends_with([',', ';']) && !next_is_suffix {
                    found.push(Span { start: at, end: at + 1 });
                    start = None;
                    skipping = true;
                }
            } else if let Some(begin) = start {
                let continues = capital || matches!(bare, "of" | "&" | "de" | "la" | "von" | "for");
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
            let is_short = bare.chars().count() <= 4 || next_is_suffix;
            if text.ends_with('.') && !inside && !is_short
                || matches!(
                    word.folded.as_str(),
                    "whereas" | "recitals" | "witnesseth" | "hereby" | "background"
                )
            {
                break;
            }
            at += 1;
        }
        if let Some(start) = start {
            found.push(Span { start, end: at.min(end) });
        }
        let mut names: Vec<String> = Vec::new();
        found.retain(|span| self.is_party_name(*span, &mut names));
        found
    }

    /// Whether a span is the name of a party; `names` are the names before it.
    fn is_party_name(&self, span: Span, names: &mut Vec<String>) -> bool {
        let text = tidy(&self.view.text(span));
        let lower = text.to_lowercase();
        // A short form of a name that was there, or the word for a side.
        let repeats = names.iter().any(|name| name.starts_with(&lower));
        names.push(lower);
        if repeats
            || PARTY_WORDS.contains(&fold(&text).as_str())
            || text.chars().any(|c| c.is_ascii_digit())
                && text.contains('.')
                && !super::entities::is_company(&text)
        {
            return false;
        }
        let words = span.end - span.start;
        let folded = fold(&text);
        words <= 9
            && text.chars().filter(|c| c.is_alphabetic()).count() >= 3
            && self.annotations.dates_in(span).is_empty()
            && (words > 1 || super::entities::is_company(&text) || text.chars().count() > 5)
            && !matches!(
                folded.as_str(),
                "effective date" | "agreement" | "company" | "party" | "parties" | "recipient" | "discloser"
            )
            && !text.starts_with(|c: char| c.is_ascii_digit())
    }

    pub(crate) fn prose_phone(&self) -> Option<&(Span, String)> {
        Annotations::within(
            &self.annotations.phones,
            Span { start: 0, end: 60.min(self.view.words.len()) },
            |(span, _)| *span,
        )
        .first()
    }
}
