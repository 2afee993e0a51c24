//! Values without a label, identified by their form and their position on the page.

use openapi_core::extraction::ExtractionType;
use rust_decimal::Decimal;

use super::candidate::{Candidate, Fit, Provenance};
use super::field_query::{FieldQuery, Role};
use super::scoring::unlabelled as weights;
use super::source::Source;
use super::text::{has_digit, tidy};
use super::view::Span;
use super::vocabulary::{
    BEFORE_DATE, DATED, EMAIL_OWNERS, NO_TOTALS, OTHER_COMPANIES, OTHER_PEOPLE, OWN_DATE, TO_BUYER,
};
use super::{address, entities};

/// The most dates, e-mail addresses and equal amounts that are candidates, and the most dates that are counted.
const MAX_DATES: usize = 6;
const MAX_EMAILS: usize = 5;
const MAX_AMOUNTS: usize = 3;
const MAX_COUNTED_DATES: usize = 50;
const MAX_DATES_OF_NUMBERS: usize = 20;
/// The most words that are looked through for a number.
const MAX_WORDS: usize = 60_000;
/// The lines of a document's head, in which its company, address, city or name may be, and of its title.
const HEAD: usize = 14;
const HEAD_WITH_ADDRESS: usize = 16;
const HEAD_OF_RESUME: usize = 6;
const TITLE: usize = 15;
/// The most words of a company's name, of the second line of one, of a line of an address, of a job title, of a city.
const COMPANY_WORDS: usize = 10;
const COMPANY_REST_WORDS: usize = 6;
const ADDRESS_WORDS: usize = 20;
const JOB_TITLE_WORDS: usize = 6;
const CITY_WORDS: usize = 3;
/// The fewest letters of a word in lower case that no name has.
const PLAIN_LETTERS: usize = 4;

/// Whether text is words of a language and no name, as `Goods sent out` is: one of them is long and in lower case, or is
/// next to a number.
fn is_phrase(text: &str) -> bool {
    let most = if has_digit(text) { 1 } else { PLAIN_LETTERS };
    let is_plain = |word: &str| word.starts_with(char::is_lowercase) && word.chars().count() >= most;
    text.split_whitespace().skip(1).any(is_plain)
}

impl Source<'_, '_> {
    pub(crate) fn unlabelled(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        match query.kind {
            ExtractionType::Date | ExtractionType::Datetime => self.unlabelled_dates(query, found),
            ExtractionType::Number | ExtractionType::Currency
                if query.name.has("total")
                    && query.wants_money()
                    && !query.name.has_any(&["subtotal", "tax", "net"]) =>
            {
                self.unlabelled_totals(query, found);
            }
            ExtractionType::Boolean => self.kind_of_document(query, found),
            ExtractionType::Email => self.emails(query, found),
            // A number without a label is no fax.
            ExtractionType::Phone if query.name.has("fax") => {}
            ExtractionType::Phone => {
                found.extend(
                    self.prose_phone().map(|(span, phone)| {
                        Candidate::quoting(*span, phone, Fit::unlabelled(weights::PHONE))
                    }),
                );
            }
            ExtractionType::String => {
                self.of_resume(query, found);
                self.unlabelled_text(query, found);
            }
            _ => {}
        }
    }

    fn unlabelled_text(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        match query.role {
            Role::Company if !OTHER_COMPANIES.has_any(query.name.iter()) => {
                self.company(found);
            }
            Role::Address => found.extend(self.head_address()),
            Role::Email => {
                let first = self.annotations.emails.first();
                found.extend(first.map(|(span, email)| {
                    Candidate::quoting(*span, email, Fit::unlabelled(weights::EMAIL_TEXT))
                }));
            }
            Role::Phone => {
                found.extend(self.prose_phone().map(|(span, phone)| {
                    Candidate::quoting(*span, phone, Fit::unlabelled(weights::PHONE_TEXT))
                }));
            }
            Role::Iban => self.unlabelled_iban(query, found),
            Role::Currency => {
                found.extend(self.annotations.currency.map(|(code, span)| {
                    let fit = Fit::unlabelled(weights::CURRENCY);
                    Candidate { shares: true, ..Candidate::normalised(span, code.into(), fit) }
                }));
            }
            Role::Vat => found.extend(self.unlabelled_vat()),
            Role::Person
                if !OTHER_PEOPLE.has_any(query.name.iter())
                    && (query.all.has_any(&["candidate", "full"])
                        || *query.name.iter().collect::<Vec<_>>() == ["name"]) =>
            {
                found.extend(self.head());
            }
            Role::City => found.extend(self.city()),
            Role::JobTitle => found.extend(self.job_title()),
            _ => {}
        }
    }

    fn unlabelled_dates(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        // Agreements name many dates: sentences tell which is theirs.
        let in_sentences = query.name.has_any(&["effective", "contract"]);
        if in_sentences || query.name.iter().any(|term| !OWN_DATE.has(term)) {
            return;
        }
        let mut seen: Vec<String> = self
            .annotations
            .dates
            .iter()
            .take(MAX_COUNTED_DATES)
            .filter_map(|date| date.iso(self.annotations.order))
            .map(|(iso, _)| iso)
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let base = match seen.len() {
            0 | 1 => weights::ONLY_DATE,
            2 => weights::ONE_OF_TWO_DATES,
            _ => weights::ONE_OF_MANY_DATES,
        };
        let (similarity, score) = weights::DATE_OF_NUMBER;
        for date in self.annotations.dates.iter().take(MAX_DATES_OF_NUMBERS) {
            if self.is_dated(date.span) {
                found.extend(self.date(query, date, Fit::new(Provenance::Sentence, similarity, score)));
            }
        }
        for (nth, date) in self.annotations.dates.iter().take(MAX_DATES).enumerate() {
            let score = base - weights::DATE_STEP * nth as f64;
            found.extend(self.date(query, date, Fit::unlabelled(score)));
        }
    }

    /// The greatest amounts of money.
    fn unlabelled_totals(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let money = || self.annotations.amounts.iter().filter(|amount| amount.is_money);
        let greatest = money().map(|amount| amount.value).max();
        // A document without a word for a total may have none.
        let is_total = |label: &super::labels::Label| {
            label.terms.has_any(&["total", "gross"]) && !NO_TOTALS.has_any(label.terms.iter())
        };
        let has_total = self.labels.all.iter().any(is_total);
        let score = if has_total { weights::GREATEST_AMOUNT } else { weights::GREATEST_AMOUNT_ALONE };
        for amount in money().filter(|amount| Some(amount.value) == greatest).take(MAX_AMOUNTS) {
            found.extend(self.amount(query, amount, Fit::unlabelled(score)));
        }
    }

    /// The first amount after the rows that is their sum.
    pub(crate) fn sum_of_rows(&self, query: &FieldQuery<'_>, sum: Decimal) -> Option<Candidate> {
        let after = self.taken.last().map_or(0, |last| last.end);
        let all = Span { start: after, end: self.view.words.len() };
        let amounts = self.annotations.amounts_in(all).iter();
        let amount =
            amounts.filter(|amount| amount.is_money || amount.has_mark).find(|amount| amount.value == sum)?;
        self.amount(query, amount, Fit::unlabelled(weights::SUM_OF_ROWS))
    }

    fn unlabelled_iban(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let all = Span { start: 0, end: self.view.words.len() };
        let mut from = all.start;
        while let Some(at) = self.view.words[from..].iter().take(MAX_WORDS).position(|word| {
            matches!(word.text.as_bytes(), [a, b, c, d, ..] if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit())
        }) {
            let region = Span { start: from + at, end: (from + at + 9).min(all.end) };
            let values = self.values(query, region, Fit::unlabelled(weights::IBAN));
            if !values.is_empty() {
                found.extend(values);
                break;
            }
            from += at + 1;
        }
    }

    fn unlabelled_vat(&self) -> Option<Candidate> {
        self.view.words.iter().enumerate().take(MAX_WORDS).find_map(|(at, word)| {
            let bare = word.text.trim_matches(|c: char| !c.is_alphanumeric());
            let is_vat = (10..=14).contains(&bare.len())
                && bare.is_ascii()
                && bare[..2].bytes().all(|b| b.is_ascii_uppercase())
                && bare[2..].bytes().filter(u8::is_ascii_digit).count() + 1 >= bare.len() - 2;
            let fit = Fit::unlabelled(weights::VAT_NUMBER);
            is_vat.then(|| Candidate::quoting(Span { start: at, end: at + 1 }, bare, fit))
        })
    }

    /// Whether a date follows the name and number of a document: `Invoice no. 7 of 1 May 2026`.
    fn is_dated(&self, date: Span) -> bool {
        let line = &self.view.lines[self.view.words[date.start].line];
        let Some(before) = date.start.checked_sub(1).filter(|before| *before > line.start) else {
            return false;
        };
        BEFORE_DATE.has(&self.view.words[before].folded)
            && self
                .labels
                .of_line(self.view.words[date.start].line)
                .any(|label| label.span.end <= before && DATED.has_any(label.terms.iter()))
    }

    /// Whether the document is of the requested kind, by the word that names its kind in its head.
    fn kind_of_document(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        const KINDS: [&[&str]; 5] =
            [&["credit", "note"], &["invoice"], &["order"], &["receipt"], &["contract"]];
        let asked = KINDS
            .iter()
            .position(|kind| query.name.len() == kind.len() && kind.iter().all(|term| query.name.has(term)));
        let Some(asked) = asked else { return };
        let mut named: Option<(usize, Span)> = None;
        for label in self.labels.all.iter().take(400).filter(|label| label.line < TITLE) {
            let kind = KINDS.iter().position(|kind| kind.iter().all(|term| label.terms.has(term)));
            if let Some(kind) = kind
                && named.is_none_or(|(before, _)| kind == asked && before != asked)
            {
                named = Some((kind, label.span));
            }
        }
        if let Some((kind, span)) = named {
            let weight = weights::KIND_OF_DOCUMENT;
            let fit = Fit::new(Provenance::Unlabelled, weight, weight);
            found.push(Candidate::normalised(span, (kind == asked).into(), fit));
        }
    }

    /// An e-mail address belongs to a person or party if it is near their words or contains their name.
    fn emails(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let own = query.all.without(&["email", "address", "name", "full"]);
        let emails = &self.annotations.emails;
        for (nth, (span, email)) in emails.iter().take(MAX_EMAILS).enumerate() {
            let line = self.view.words[span.start].line;
            let mut score = match emails.len() {
                1 => weights::ONLY_EMAIL,
                _ => weights::ONE_OF_EMAILS - weights::EMAIL_STEP * nth as f64,
            };
            for label in self.labels.of_line(line).filter(|label| label.span.end <= span.start) {
                if label.terms.has("email") {
                    score += weights::EMAIL_LABEL;
                }
                if label.terms.iter().any(|term| own.has(term)) {
                    score += weights::EMAIL_OF_FIELD;
                } else if EMAIL_OWNERS.has_any(label.terms.iter()) {
                    score += weights::EMAIL_OF_OTHER;
                }
            }
            found.push(Candidate::quoting(*span, email, Fit::unlabelled(score)));
        }
    }

    /// The company that a document is from: at its head, with the ending of one, or else its first line.
    fn company(&self, found: &mut Vec<Candidate>) {
        let mut fallback = None;
        let mut seen = 0;
        // The issuer stands over the data of the document; a company under them is another one.
        let mut is_under_data = false;
        for line in 0..self.view.lines.len().min(HEAD) {
            let whole = self.view.line_span(line);
            is_under_data |= !self.annotations.dates_in(whole).is_empty()
                || TO_BUYER.has(&self.view.words[whole.start].folded) && line > 0;
            for segment in self.view.segments_of(line).iter().take(2) {
                let mut span = segment.span();
                let text = self.view.text(span);
                // The number of a register after the name.
                while span.end > span.start + 1
                    && self.view.words[span.end - 1].text.bytes().filter(u8::is_ascii_digit).count() >= 5
                {
                    span.end -= 1;
                }
                if let Some(at) = (span.start + 1..span.end).find(|&at| {
                    self.view.words[at].text.starts_with('(')
                        && self.view.words[at].text.bytes().filter(u8::is_ascii_digit).count() >= 3
                }) {
                    span.end = at;
                }
                if !entities::is_wordy(self.view, span) || span.end - span.start > COMPANY_WORDS {
                    continue;
                }
                let is_label =
                    self.labels.of_line(line).any(|label| label.is_marked && label.span.start == span.start);
                if is_label || entities::is_title(&text) || address::looks(&text) {
                    continue;
                }
                let tidied = tidy(&self.view.text(span));
                let large = self.view.placed
                    && self.view.words[span.start].size > weights::LARGE * self.typical_size();
                let score = weights::COMPANY - weights::COMPANY_STEP * seen as f64
                    + if large { weights::LARGE_COMPANY } else { 0.0 }
                    - if is_under_data && fallback.is_some() { weights::COMPANY_UNDER_DATA } else { 0.0 };
                let candidate = |score: f64| Candidate::quoting(span, &tidied, Fit::unlabelled(score));
                let ends = line > 0 && entities::is_rest_of_company(&tidied) && self.names_company(line - 1);
                if entities::is_company(&tidied) && !ends {
                    let mut candidate = candidate(score);
                    // The ending may stand on a line of its own.
                    let next =
                        (line + 1 < self.view.lines.len()).then(|| self.view.segments_of(line + 1)[0].span());
                    let goes_on = |next: &Span| {
                        let below = tidy(&self.view.text(*next));
                        let is_rest = !entities::ends_as_company(&tidied)
                            && entities::ends_as_company(&below)
                            && next.end - next.start <= COMPANY_REST_WORDS
                            && !self.begins_marked(next.start);
                        entities::is_ending(&below) || is_rest
                    };
                    if let Some(next) = next.filter(goes_on) {
                        let value = format!("{tidied}\n{}", tidy(&self.view.text(next)));
                        candidate.value = value.replace('\n', " ").as_str().into();
                        candidate.quote = Some(value);
                        candidate.pieces.push(next);
                    }
                    found.push(candidate);
                } else if ends {
                    let above = self.view.segments_of(line - 1)[0].span();
                    let value = format!("{}\n{tidied}", tidy(&self.view.text(above)));
                    let mut candidate = candidate(score + weights::ENDING_BELOW_COMPANY);
                    candidate.value = value.replace('\n', " ").as_str().into();
                    candidate.quote = Some(value);
                    candidate.pieces.insert(0, above);
                    found.push(candidate);
                } else if fallback.is_none() && !is_phrase(&tidied) {
                    fallback = Some(candidate(weights::FIRST_LINE));
                }
                seen += 1;
            }
        }
        found.extend(fallback);
    }

    /// Whether a line can be the beginning of a company's name that the next line ends.
    fn names_company(&self, line: usize) -> bool {
        let span = self.view.segments_of(line)[0].span();
        let text = self.view.text(span);
        entities::is_wordy(self.view, span)
            && !entities::is_title(&text)
            && !address::looks(&text)
            && !self.begins_marked(span.start)
    }

    pub(crate) fn typical_size(&self) -> f32 {
        let sizes: Vec<f32> =
            self.view.words.iter().take(400).map(|word| word.size).filter(|size| *size > 0.0).collect();
        if sizes.is_empty() { f32::MAX } else { sizes.iter().sum::<f32>() / sizes.len() as f32 }
    }

    /// The address in the head of a document: the lines under its name.
    fn head_address(&self) -> Option<Candidate> {
        for line in 0..self.view.lines.len().min(HEAD_WITH_ADDRESS) {
            for segment in self.view.segments_of(line) {
                let text = self.view.text(segment.span());
                let other = address::ends(self, segment.span())
                    || text.contains('@')
                    || segment.end - segment.start > ADDRESS_WORDS;
                if !address::looks(&text) || other {
                    continue;
                }
                let Some(pieces) = address::region(self, address::start(self, segment.span())) else {
                    continue;
                };
                let score = weights::ADDRESS - weights::ADDRESS_STEP * line as f64;
                return Some(self.lines_of(pieces, Fit::unlabelled(score)));
            }
        }
        None
    }

    /// The name at the head of a resume.
    fn head(&self) -> Option<Candidate> {
        (0..self.view.lines.len().min(HEAD_OF_RESUME)).find_map(|line| {
            let segment = self.view.segments_of(line).first()?;
            let text = self.view.text(segment.span());
            let score = weights::PERSON - weights::PERSON_STEP * line as f64;
            let is_person = entities::is_person(&text);
            is_person.then(|| Candidate::quoting(segment.span(), &tidy(&text), Fit::unlabelled(score)))
        })
    }

    /// The line under the name at the head of a resume.
    fn job_title(&self) -> Option<Candidate> {
        let line = self.view.words[self.head()?.key().start].line;
        (line + 1..(line + 3).min(self.view.lines.len())).find_map(|next| {
            let segment = self.view.segments_of(next).first()?;
            let text = self.view.text(segment.span());
            let fits = entities::is_wordy(self.view, segment.span())
                && segment.end - segment.start <= JOB_TITLE_WORDS
                && !text.contains(',')
                && !has_digit(&text);
            let fit = Fit::unlabelled(weights::JOB_TITLE);
            fits.then(|| Candidate::quoting(segment.span(), &tidy(&text), fit))
        })
    }

    /// `Portland, United States`, at the head.
    fn city(&self) -> Option<Candidate> {
        for line in 0..self.view.lines.len().min(HEAD) {
            for segment in self.view.segments_of(line) {
                let mut start = segment.start;
                for at in segment.start..segment.end {
                    let word = self.view.words[at].text;
                    if matches!(word, "|" | "·" | "•") {
                        start = at + 1;
                    }
                    let city = Span { start, end: at + 1 };
                    if !word.ends_with(',') || at + 1 >= segment.end || city.end - city.start > CITY_WORDS {
                        continue;
                    }
                    let rest_end = (at + 1..segment.end)
                        .find(|&at| matches!(self.view.words[at].text, "|" | "·" | "•"))
                        .unwrap_or(segment.end);
                    let rest = self.view.text(Span { start: at + 1, end: rest_end });
                    let state = rest.len() == 2 && rest.chars().all(char::is_uppercase);
                    if entities::country(&rest).is_some() || state {
                        let text = tidy(&self.view.text(city));
                        return Some(Candidate::quoting(city, &text, Fit::unlabelled(weights::CITY)));
                    }
                }
            }
        }
        None
    }
}
