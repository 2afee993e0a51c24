//! Values without a label, identified by their form and their position on the page.

use openapi_core::extraction::ExtractionType;

use super::candidate::{Candidate, Provenance};
use super::field_query::{FieldQuery, Role};
use super::source::Source;
use super::text::tidy;
use super::view::Span;
use super::{address, entities};

/// Terms that do not tell one date of a document from its own date.
const OWN_DATE: [&str; 14] = [
    "date",
    "invoice",
    "order",
    "receipt",
    "contract",
    "document",
    "issue",
    "purchase",
    "time",
    "effective",
    "report",
    "buyer",
    "sale",
    "company",
];

/// A candidate that only its form supports.
fn unlabelled_text(span: Span, text: &str, score: f64) -> Candidate {
    let mut candidate = Candidate::new(span, text.into(), Provenance::Unlabelled, 0.0, score);
    candidate.quote = Some(text.to_owned());
    candidate
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
            ExtractionType::Email => self.free_email(query, found),
            ExtractionType::Phone => {
                if let Some((span, phone)) = self.prose_phone() {
                    found.push(unlabelled_text(*span, phone, 0.55));
                }
            }
            ExtractionType::String => match query.role {
                Role::Company
                    if !query.name.has_any(&[
                        "buyer",
                        "customer",
                        "agency",
                        "advertiser",
                        "principal",
                        "registrant",
                    ]) =>
                {
                    self.free_company(found);
                }
                Role::Address => self.free_address(found),
                Role::Email => {
                    if let Some((span, email)) = self.annotations.emails.first() {
                        found.push(unlabelled_text(*span, email, 0.5));
                    }
                }
                Role::Phone => {
                    if let Some((span, phone)) = self.prose_phone() {
                        found.push(unlabelled_text(*span, phone, 0.6));
                    }
                }
                Role::Iban => self.unlabelled_iban(query, found),
                Role::Currency => {
                    if let Some((code, span)) = self.annotations.currency {
                        let mut candidate =
                            Candidate::new(span, code.into(), Provenance::Unlabelled, 0.0, 0.75);
                        candidate.normalised = true;
                        found.push(candidate);
                    }
                }
                Role::Vat => self.unlabelled_vat(found),
                Role::Person
                    if !query.name.has_any(&[
                        "patient",
                        "claimant",
                        "tenant",
                        "landlord",
                        "signer",
                        "physician",
                        "adjuster",
                        "guarantor",
                        "contact",
                    ]) && (query.all.has_any(&["candidate", "full"])
                        || *query.name.iter().collect::<Vec<_>>() == ["name"]) =>
                {
                    self.head(found);
                }
                Role::City => self.free_city(found),
                Role::JobTitle => self.free_title(found),
                _ => {}
            },
            _ => {}
        }
    }

    fn unlabelled_dates(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        // Agreements name many dates: sentences tell which is theirs.
        let in_sentences = query.name.has_any(&["effective", "contract"]);
        if in_sentences || query.name.iter().any(|term| !OWN_DATE.contains(&term)) {
            return;
        }
        let mut seen: Vec<String> = self
            .annotations
            .dates
            .iter()
            .take(50)
            .filter_map(|date| date.iso(self.annotations.order))
            .map(|(iso, _)| iso)
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let base = match seen.len() {
            0 | 1 => 0.66,
            2 => 0.5,
            _ => 0.43,
        };
        for date in self.annotations.dates.iter().take(20) {
            if self.is_dated(date.span) {
                found.extend(self.date(query, date, Provenance::Sentence, 0.8, 0.78));
            }
        }
        for (nth, date) in self.annotations.dates.iter().take(6).enumerate() {
            found.extend(self.date(query, date, Provenance::Unlabelled, 0.0, base - 0.015 * nth as f64));
        }
    }

    /// The greatest amounts of money.
    fn unlabelled_totals(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let greatest =
            self.annotations.amounts.iter().filter(|amount| amount.is_money).map(|amount| amount.value).max();
        for amount in self
            .annotations
            .amounts
            .iter()
            .filter(|amount| amount.is_money && Some(amount.value) == greatest)
            .take(3)
        {
            found.extend(self.amount(query, amount, Provenance::Unlabelled, 0.0, 0.41));
        }
    }

    fn unlabelled_iban(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let all = Span { start: 0, end: self.view.words.len() };
        let mut from = all.start;
        while let Some(at) = self.view.words[from..].iter().take(60_000).position(|word| {
            matches!(word.text.as_bytes(), [a, b, c, d, ..] if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit())
        }) {
            let region = Span { start: from + at, end: (from + at + 9).min(all.end) };
            let mut values = Vec::new();
            self.values(query, region, Provenance::Unlabelled, 0.0, 0.8, &mut values);
            if !values.is_empty() {
                found.append(&mut values);
                break;
            }
            from += at + 1;
        }
    }

    fn unlabelled_vat(&self, found: &mut Vec<Candidate>) {
        for (at, word) in self.view.words.iter().enumerate().take(60_000) {
            let bare = word.text.trim_matches(|c: char| !c.is_alphanumeric());
            let is_vat = (10..=14).contains(&bare.len())
                && bare.is_ascii()
                && bare[..2].bytes().all(|b| b.is_ascii_uppercase())
                && bare[2..].bytes().filter(u8::is_ascii_digit).count() + 1 >= bare.len() - 2;
            if is_vat {
                found.push(unlabelled_text(Span { start: at, end: at + 1 }, bare, 0.5));
                break;
            }
        }
    }

    /// Whether a date follows the name and number of a document: `Invoice no. 7 of 1 May 2026`.
    fn is_dated(&self, date: Span) -> bool {
        let line = &self.view.lines[self.view.words[date.start].line];
        let Some(before) = date.start.checked_sub(1).filter(|before| *before > line.start) else {
            return false;
        };
        let joins = matches!(self.view.words[before].folded.as_str(), "vom" | "dated" | "du" | "del" | "of");
        joins
            && self.labels.of_line(self.view.words[date.start].line).any(|label| {
                label.span.end <= before
                    && label.terms.has_any(&["invoice", "order", "contract", "receipt", "document", "credit"])
            })
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
        for label in self.labels.all.iter().take(400).filter(|label| label.line < 15) {
            let kind = KINDS.iter().position(|kind| kind.iter().all(|term| label.terms.has(term)));
            if let Some(kind) = kind
                && named.is_none_or(|(before, _)| kind == asked && before != asked)
            {
                named = Some((kind, label.span));
            }
        }
        if let Some((kind, span)) = named {
            let mut candidate =
                Candidate::new(span, (kind == asked).into(), Provenance::Unlabelled, 0.6, 0.6);
            candidate.normalised = true;
            found.push(candidate);
        }
    }

    /// An e-mail address belongs to a person or party if it is near their words or contains their name.
    fn free_email(&self, query: &FieldQuery<'_>, found: &mut Vec<Candidate>) {
        let count = self.annotations.emails.len();
        for (nth, (span, email)) in self.annotations.emails.iter().take(5).enumerate() {
            let line = self.view.words[span.start].line;
            let mut score = if count == 1 { 0.58 } else { 0.47 - 0.04 * nth as f64 };
            for label in self.labels.of_line(line).filter(|label| label.span.end <= span.start) {
                let own = query.all.without(&["email", "address", "name", "full"]);
                if label.terms.has("email") {
                    score += 0.08;
                }
                if label.terms.iter().any(|term| own.has(term)) {
                    score += 0.2;
                } else if label.terms.has_any(&[
                    "seller",
                    "buyer",
                    "landlord",
                    "tenant",
                    "adjuster",
                    "physician",
                    "bank",
                ]) {
                    score -= 0.25;
                }
            }
            let mut candidate =
                Candidate::new(*span, email.as_str().into(), Provenance::Unlabelled, 0.0, score);
            candidate.quote = Some(email.clone());
            found.push(candidate);
        }
    }

    /// The company that a document is from: at its head, with the ending of one, or else its first line.
    fn free_company(&self, found: &mut Vec<Candidate>) {
        let mut fallback = None;
        let mut seen = 0;
        for line in 0..self.view.lines.len().min(14) {
            for segment in self.view.segments_of(line).iter().take(2) {
                let mut span = segment.span();
                let text = self.view.text(span);
                if let Some(at) = (span.start + 1..span.end).find(|&at| {
                    self.view.words[at].text.starts_with('(')
                        && self.view.words[at].text.bytes().filter(u8::is_ascii_digit).count() >= 3
                }) {
                    span.end = at;
                }
                if !entities::is_wordy(self.view, span) || span.end - span.start > 10 {
                    continue;
                }
                let is_label =
                    self.labels.of_line(line).any(|label| label.is_marked && label.span.start == span.start);
                if is_label || entities::is_title(&text) || address::looks(&text) {
                    continue;
                }
                let tidied = tidy(&self.view.text(span));
                let large = self.view.placed && self.view.words[span.start].size > 1.25 * self.typical_size();
                let score = 0.68 - 0.025 * seen as f64 + if large { 0.04 } else { 0.0 };
                let candidate = |score: f64| {
                    let mut candidate =
                        Candidate::new(span, tidied.as_str().into(), Provenance::Unlabelled, 0.0, score);
                    candidate.quote = Some(tidied.clone());
                    candidate
                };
                if entities::is_company(&tidied) && !entities::is_ending(&tidied) {
                    let mut candidate = candidate(score);
                    // The ending may stand on a line of its own.
                    let next =
                        (line + 1 < self.view.lines.len()).then(|| self.view.segments_of(line + 1)[0].span());
                    let goes_on = |next: &Span| {
                        let below = tidy(&self.view.text(*next));
                        let is_rest = !entities::ends_as_company(&tidied)
                            && entities::ends_as_company(&below)
                            && next.end - next.start <= 6
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
                } else if entities::is_ending(&tidied) && line > 0 {
                    let above = self.view.segments_of(line - 1)[0].span();
                    let value = format!("{}\n{tidied}", tidy(&self.view.text(above)));
                    let mut candidate = candidate(score + 0.03);
                    candidate.value = value.replace('\n', " ").as_str().into();
                    candidate.quote = Some(value);
                    candidate.pieces.insert(0, above);
                    found.push(candidate);
                } else if fallback.is_none() {
                    fallback = Some(candidate(0.52));
                }
                seen += 1;
            }
        }
        found.extend(fallback);
    }

    pub(crate) fn typical_size(&self) -> f32 {
        let sizes: Vec<f32> =
            self.view.words.iter().take(400).map(|word| word.size).filter(|size| *size > 0.0).collect();
        if sizes.is_empty() { f32::MAX } else { sizes.iter().sum::<f32>() / sizes.len() as f32 }
    }

    /// The address in the head of a document: the lines under its name.
    fn free_address(&self, found: &mut Vec<Candidate>) {
        for line in 0..self.view.lines.len().min(16) {
            for segment in self.view.segments_of(line) {
                let text = self.view.text(segment.span());
                let other = address::ends(self, segment.span())
                    || text.contains('@')
                    || segment.end - segment.start > 20;
                if !address::looks(&text) || other {
                    continue;
                }
                let Some(pieces) = address::region(self, address::start(self, segment.span())) else {
                    continue;
                };
                let joined: Vec<String> = pieces.iter().map(|piece| tidy(&self.view.text(*piece))).collect();
                let value = joined.join("\n");
                let mut candidate = Candidate::new(
                    pieces[0],
                    value.as_str().into(),
                    Provenance::Unlabelled,
                    0.0,
                    0.62 - 0.015 * line as f64,
                );
                candidate.pieces = pieces;
                candidate.quote = Some(value);
                found.push(candidate);
                return;
            }
        }
    }

    /// The name at the head of a resume.
    fn head(&self, found: &mut Vec<Candidate>) {
        for line in 0..self.view.lines.len().min(6) {
            let Some(segment) = self.view.segments_of(line).first() else { continue };
            let text = self.view.text(segment.span());
            if entities::is_person(&text) {
                let tidied = tidy(&text);
                let mut candidate = Candidate::new(
                    segment.span(),
                    tidied.as_str().into(),
                    Provenance::Unlabelled,
                    0.0,
                    0.66 - 0.03 * line as f64,
                );
                candidate.quote = Some(tidied);
                found.push(candidate);
                return;
            }
        }
    }

    /// The line under the name at the head of a resume.
    fn free_title(&self, found: &mut Vec<Candidate>) {
        let mut names = Vec::new();
        self.head(&mut names);
        let Some(name) = names.first() else { return };
        let line = self.view.words[name.pieces[0].start].line;
        for next in line + 1..(line + 3).min(self.view.lines.len()) {
            let Some(segment) = self.view.segments_of(next).first() else { continue };
            let text = self.view.text(segment.span());
            let fits = entities::is_wordy(self.view, segment.span())
                && segment.end - segment.start <= 6
                && !text.contains(',')
                && !text.bytes().any(|byte| byte.is_ascii_digit());
            if fits {
                let tidied = tidy(&text);
                let mut candidate =
                    Candidate::new(segment.span(), tidied.as_str().into(), Provenance::Unlabelled, 0.0, 0.58);
                candidate.quote = Some(tidied);
                found.push(candidate);
                return;
            }
        }
    }

    /// `Portland, United States`, at the head.
    fn free_city(&self, found: &mut Vec<Candidate>) {
        for line in 0..self.view.lines.len().min(14) {
            for segment in self.view.segments_of(line) {
                let mut start = segment.start;
                for at in segment.start..segment.end {
                    let word = self.view.words[at].text;
                    if matches!(word, "|" | "·" | "•") {
                        start = at + 1;
                    }
                    let city = Span { start, end: at + 1 };
                    if !word.ends_with(',') || at + 1 >= segment.end || city.end - city.start > 3 {
                        continue;
                    }
                    let rest_end = (at + 1..segment.end)
                        .find(|&at| matches!(self.view.words[at].text, "|" | "·" | "•"))
                        .unwrap_or(segment.end);
                    let rest = self.view.text(Span { start: at + 1, end: rest_end });
                    let state = rest.len() == 2 && rest.chars().all(char::is_uppercase);
                    if entities::country(&rest).is_some() || state {
                        let tidied = tidy(&self.view.text(city));
                        let mut candidate =
                            Candidate::new(city, tidied.as_str().into(), Provenance::Unlabelled, 0.0, 0.6);
                        candidate.quote = Some(tidied);
                        found.push(candidate);
                        return;
                    }
                }
            }
        }
    }
}
