//! The values in a region of the document: of the type and role that a field asks for.

use openapi_core::extraction::ExtractionType;
use openapi_core::json::Json;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{TextValue, Timestamp};

use super::annotations::Annotations;
use super::candidate::{Candidate, Provenance};
use super::entities;
use super::field_query::{FieldQuery, Role};
use super::source::Source;
use super::terms::Terms;
use super::text::{is_nothing, number_json, tidy};
use super::view::Span;

/// Why text is no value of a type.
pub(crate) fn fault(kind: ExtractionType) -> ValidationIssue {
    match kind {
        ExtractionType::Boolean => ValidationIssue::wrong_type("a boolean"),
        ExtractionType::Integer => ValidationIssue::wrong_type("a whole number"),
        ExtractionType::Number | ExtractionType::Currency => ValidationIssue::wrong_type("a number"),
        ExtractionType::Date => ValidationIssue::new(ValidationCode::Format, "must be a date"),
        ExtractionType::Datetime => ValidationIssue::new(ValidationCode::Format, "must be a date and time"),
        ExtractionType::Email => ValidationIssue::new(ValidationCode::Format, "must be an email address"),
        ExtractionType::Phone => ValidationIssue::new(ValidationCode::Format, "must be a telephone number"),
        ExtractionType::Url => {
            ValidationIssue::new(ValidationCode::Format, "must be an absolute http or https URL")
        }
        ExtractionType::String | ExtractionType::Array | ExtractionType::Object => {
            ValidationIssue::wrong_type("a string")
        }
    }
}

impl Source<'_, '_> {
    /// The values of the field's type in a region.
    pub(crate) fn values(
        &self,
        query: &FieldQuery<'_>,
        region: Span,
        provenance: Provenance,
        similarity: f64,
        score: f64,
        found: &mut Vec<Candidate>,
    ) {
        match query.kind {
            ExtractionType::Date | ExtractionType::Datetime => {
                let dates = self.annotations.dates_in(region);
                let is_range =
                    matches!(dates, [first, second, ..] if second.span.start - first.span.end <= 2);
                for (nth, date) in dates.iter().take(3).enumerate() {
                    let share = match (nth, is_range && query.name.has("end")) {
                        (0, false) | (1, true) => 1.0,
                        (0, true) => 0.6,
                        _ => 0.85,
                    };
                    found.extend(self.date(query, date, provenance, similarity, score * share));
                }
            }
            ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency => {
                let line = self.view.lines[self.view.words[region.start].line].end;
                let rest = self.annotations.amounts_in(Span { start: region.start, end: line });
                let has_money = rest.iter().any(|amount| amount.is_money);
                for (nth, amount) in self.annotations.amounts_in(region).iter().take(4).enumerate() {
                    let mut share = 1.0 - 0.06 * nth as f64;
                    if amount.is_percent != query.all.has("rate") {
                        share *= 0.35;
                    }
                    if query.wants_money() && !amount.is_money && !amount.has_mark {
                        // Next to an amount with a currency, a bare number counts something else.
                        share *= if has_money { 0.5 } else { 0.75 };
                    }
                    if !amount.is_clean && !amount.is_money {
                        share *= 0.6;
                    }
                    found.extend(self.amount(query, amount, provenance, similarity, score * share));
                }
            }
            ExtractionType::Email => {
                for (span, email) in
                    Annotations::within(&self.annotations.emails, region, |(span, _)| *span).iter().take(2)
                {
                    let mut candidate =
                        Candidate::new(*span, email.as_str().into(), provenance, similarity, score);
                    candidate.quote = Some(email.clone());
                    found.push(candidate);
                }
            }
            ExtractionType::Phone => self.phones_in(region, provenance, similarity, score, found),
            ExtractionType::Url => {
                for (span, url) in
                    Annotations::within(&self.annotations.urls, region, |(span, _)| *span).iter().take(2)
                {
                    if url.to_ascii_lowercase().starts_with("http") {
                        let mut candidate =
                            Candidate::new(*span, url.as_str().into(), provenance, similarity, score);
                        candidate.quote = Some(url.clone());
                        found.push(candidate);
                    }
                }
            }
            ExtractionType::String => {
                found.extend(self.text_in(query, region, provenance, similarity, score));
            }
            ExtractionType::Boolean | ExtractionType::Array | ExtractionType::Object => {}
        }
    }

    pub(crate) fn date(
        &self,
        query: &FieldQuery<'_>,
        date: &super::dates::Written,
        provenance: Provenance,
        similarity: f64,
        score: f64,
    ) -> Option<Candidate> {
        let (mut iso, ambiguous) = date.iso(self.annotations.order)?;
        let mut span = date.span;
        if query.kind == ExtractionType::Datetime {
            match super::dates::with_time(self.view, span) {
                Some((time, both)) => {
                    iso.push_str(&time);
                    span = both;
                }
                None => iso.push_str("T00:00:00Z"),
            }
            // What is written may be no time of a day.
            Timestamp::parse(&iso).ok()?;
        }
        let mut candidate = Candidate::new(span, iso.as_str().into(), provenance, similarity, score);
        candidate.ambiguous = ambiguous;
        candidate.normalised = self.view.text(span) != iso;
        Some(candidate)
    }

    pub(crate) fn amount(
        &self,
        query: &FieldQuery<'_>,
        amount: &super::numbers::Amount,
        provenance: Provenance,
        similarity: f64,
        score: f64,
    ) -> Option<Candidate> {
        let value = number_json(amount.value);
        if query.kind == ExtractionType::Integer && !amount.value.fract().is_zero() {
            return None;
        }
        let shown = value.to_text();
        let value = if query.kind == ExtractionType::Currency {
            let code = amount.currency.or(self.annotations.currency.map(|(code, _)| code));
            let code = code.map_or(Json::Null, Json::from);
            Json::Object([("amount".to_owned(), value), ("currency".to_owned(), code)].into_iter().collect())
        } else {
            value
        };
        let mut candidate = Candidate::new(amount.span, value, provenance, similarity, score);
        candidate.normalised = self.view.text(amount.span) != shown;
        Some(candidate)
    }

    fn phones_in(
        &self,
        region: Span,
        provenance: Provenance,
        similarity: f64,
        score: f64,
        found: &mut Vec<Candidate>,
    ) {
        for (span, phone) in
            Annotations::within(&self.annotations.phones, region, |(span, _)| *span).iter().take(2)
        {
            let mut candidate = Candidate::new(*span, phone.as_str().into(), provenance, similarity, score);
            candidate.quote = Some(phone.clone());
            found.push(candidate);
        }
    }

    /// The text of a region that the role of the field allows.
    fn text_in(
        &self,
        query: &FieldQuery<'_>,
        region: Span,
        provenance: Provenance,
        similarity: f64,
        score: f64,
    ) -> Vec<Candidate> {
        let mut region = region;
        let is_mark = |at: usize| !self.view.words[at].text.chars().any(char::is_alphanumeric);
        while region.start < region.end && is_mark(region.start) && self.view.words[region.start].text != "["
        {
            region.start += 1;
        }
        if region.start >= region.end {
            return Vec::new();
        }
        let make = |span: Span, score: f64| Candidate::new(span, Json::Null, provenance, similarity, score);
        let text = |candidate: Candidate, text: String| with_text(candidate, &text);
        match query.role {
            Role::Email => {
                let emails = Annotations::within(&self.annotations.emails, region, |(span, _)| *span);
                emails.iter().take(1).map(|(span, email)| text(make(*span, score), email.clone())).collect()
            }
            Role::Phone => {
                let mut found = Vec::new();
                self.phones_in(region, provenance, similarity, score, &mut found);
                found
            }
            Role::Iban => self
                .iban(region)
                .map(|(span, share)| text(make(span, score * share), self.view.text(span)))
                .into_iter()
                .collect(),
            Role::Vat | Role::Identifier => self
                .identifier(region, query.role == Role::Vat)
                .map(|(span, share)| text(make(span, score * share), self.view.text(span)))
                .into_iter()
                .collect(),
            Role::Currency => self.view.words[region.start..region.end]
                .iter()
                .position(|word| super::numbers::currency(word.text).is_some())
                .map(|at| {
                    let span = Span { start: region.start + at, end: region.start + at + 1 };
                    let code = super::numbers::currency(self.view.words[span.start].text).unwrap_or_default();
                    let mut candidate = make(span, score);
                    candidate.value = code.into();
                    candidate.normalised = true;
                    candidate
                })
                .into_iter()
                .collect(),
            Role::Address => super::address::region(self, region)
                .map(|pieces| {
                    let joined: Vec<String> =
                        pieces.iter().map(|piece| tidy(&self.view.text(*piece))).collect();
                    let mut candidate = text(make(pieces[0], score), joined.join("\n"));
                    candidate.value = joined.join("\n").as_str().into();
                    candidate.pieces = pieces;
                    candidate
                })
                .into_iter()
                .collect(),
            Role::Duration => super::durations::duration(self.view, region)
                .map(|(span, value)| {
                    // In a sentence the words next to `term` say more than those further on.
                    let near = if span.start <= region.start + 3 { 1.0 } else { 0.5 };
                    let whole = if value.contains("day") { 0.6 } else { 1.0 };
                    let mut candidate = make(span, score * near * whole);
                    candidate.normalised = value != self.view.text(span);
                    candidate.value = value.as_str().into();
                    candidate
                })
                .into_iter()
                .collect(),
            Role::Law if !self.is_jurisdiction(region) => Vec::new(),
            _ if is_nothing(&self.view.text(region)) => Vec::new(),
            _ => vec![self.plain_text_in(query, region, provenance, similarity, score)],
        }
    }

    /// The text of a region as a value, by how much it looks like one.
    fn plain_text_in(
        &self,
        query: &FieldQuery<'_>,
        region: Span,
        provenance: Provenance,
        similarity: f64,
        score: f64,
    ) -> Candidate {
        let words = region.end - region.start;
        let mut share = 1.0;
        if !entities::is_wordy(self.view, region) {
            share *= match query.role {
                Role::Text | Role::Postal => 0.75,
                _ => 0.25,
            };
        }
        if self.labels.of_line(self.view.words[region.start].line).any(|label| {
            label.span.start == region.start
                && label.span.end >= region.end
                && label.terms.iter().count() > 0
                && self.is_known(&label.terms)
        }) {
            share *= 0.45;
        }
        if words > 12 {
            share *= 0.5;
        }
        let plain = self.view.text(region);
        let first = plain.trim_start_matches(|c: char| !c.is_alphanumeric()).chars().next();
        if matches!(query.role, Role::Company | Role::Person) {
            let lower = self.view.words[region.start..region.end]
                .iter()
                .filter(|word| word.text.chars().next().is_some_and(char::is_lowercase))
                .count();
            if words > 8
                || lower >= 3
                || first.is_some_and(char::is_lowercase) && provenance != Provenance::Table
            {
                share *= 0.4;
            }
        }
        if words <= 3 && self.is_words_of_labels(region, provenance == Provenance::SameLine) {
            share *= 0.35;
        } else if provenance == Provenance::SameLine && self.is_mostly_words_of_labels(region) {
            share *= 0.5;
        }
        let mut end = region.end;
        if matches!(query.role, Role::Person | Role::Company) {
            end = self.name_end(region, query.role == Role::Person);
        }
        let span = Span { start: region.start, end: end.min(region.start + 60) };
        let candidate = with_text(
            Candidate::new(span, Json::Null, provenance, similarity, score * share),
            &self.view.text(span),
        );
        match query.role {
            Role::Person | Role::Company if end == region.end => self.with_next_line(candidate),
            _ => candidate,
        }
    }

    /// A name with the line below it, where that is the rest of it: after how somebody is addressed, and where only the
    /// line below says what kind of company it is.
    fn with_next_line(&self, mut candidate: Candidate) -> Candidate {
        let view = self.view;
        let above = candidate.key();
        let at = view.words[above.start].line;
        let (Some(line), Some(next)) = (view.lines.get(at), view.lines.get(at + 1)) else { return candidate };
        let is_whole = view.segment_of(above.start).1.end == above.end;
        if !is_whole || line.page != next.page || line.block != next.block {
            return candidate;
        }
        let below = view.segments_of(at + 1).iter().find(|segment| {
            let ((x0, _), (y0, _)) = (view.extent(above), view.extent(segment.span()));
            if view.placed { (x0 - y0).abs() < 3.0 } else { segment.start == next.start }
        });
        let Some(below) = below.map(|segment| segment.span()) else { return candidate };
        let (name, rest) = (tidy(&view.text(above)), tidy(&view.text(below)));
        let is_addressed = entities::is_salutation(&name) && entities::is_wordy(view, below);
        let is_rest = !entities::ends_as_company(&name)
            && entities::ends_as_company(&rest)
            && entities::is_wordy(view, below)
            && below.end - below.start <= 6
            && !self.begins_marked(below.start);
        if is_addressed || is_rest {
            candidate.value = format!("{name} {rest}").as_str().into();
            candidate.quote = Some(format!("{name}\n{rest}"));
            candidate.pieces.push(below);
        }
        candidate
    }

    /// Whether a region is made of words of labels alone, as `Code` after `Advertiser`; where numbers may stand among them,
    /// as in `Product 1/2`, of one of them at least.
    fn is_words_of_labels(&self, region: Span, with_numbers: bool) -> bool {
        let lexicon = super::lexicon::Lexicon::shared();
        let words: Vec<&str> =
            self.view.words[region.start..region.end].iter().map(|word| word.folded.as_str()).collect();
        let (mut at, mut known) = (0, !with_numbers);
        while at < words.len() {
            match lexicon.phrase(&words[at..]) {
                Some((terms, length)) if !terms.contains(&"company") => {
                    at += length;
                    known = true;
                }
                _ if words[at].chars().all(|c| !c.is_alphanumeric()) => at += 1,
                _ if with_numbers && known && words[at].chars().all(|c| !c.is_alphabetic()) => at += 1,
                _ => return false,
            }
        }
        known
    }

    /// Whether half of the words of a region or more are words of labels: the next head of a grid of heads and values.
    fn is_mostly_words_of_labels(&self, region: Span) -> bool {
        let lexicon = super::lexicon::Lexicon::shared();
        let words = self.view.words[region.start..region.end]
            .iter()
            .filter(|word| word.folded.chars().any(char::is_alphabetic));
        let (mut known, mut count) = (0, 0);
        for word in words {
            count += 1;
            known += usize::from(
                lexicon
                    .word(&word.folded)
                    .is_some_and(|terms| !terms.contains(&"-") && !terms.contains(&"company")),
            );
        }
        known >= 2 && known * 2 >= count
    }

    /// Whether all terms of a label are words of business documents.
    pub(crate) fn is_known(&self, terms: &Terms) -> bool {
        let lexicon = super::lexicon::Lexicon::shared();
        terms.iter().all(|term| lexicon.word(term).is_some() || term.contains('-'))
    }

    /// Whether a region could be the name of a state or country.
    fn is_jurisdiction(&self, region: Span) -> bool {
        const NEVER: &str = " not and or to for with this which shall agreement covenant ";
        let text = self.view.text(region);
        region.end - region.start <= 5
            && !self.view.words[region.start..region.end]
                .iter()
                .any(|word| NEVER.contains(&format!(" {} ", word.folded)))
            && !text.bytes().any(|byte| byte.is_ascii_digit())
            && text.chars().next().is_some_and(char::is_uppercase)
    }

    /// Where a name ends: before a bracket, a number of a register or an address after a comma.
    fn name_end(&self, region: Span, is_person: bool) -> usize {
        for at in region.start + 1..region.end {
            let text = self.view.words[at].text;
            let is_code = text.starts_with('(')
                && text.ends_with(')')
                && text.bytes().filter(u8::is_ascii_digit).count() >= 3;
            if is_person && text.starts_with('(')
                || is_code && at + 1 == region.end
                || text.starts_with('|')
                || text.contains('@')
                || text == "·"
                || text == "•"
            {
                return at;
            }
        }
        region.end
    }

    /// An international account number; one whose check digits are wrong only at the beginning of a region.
    fn iban(&self, region: Span) -> Option<(Span, f64)> {
        for start in region.start..region.end.min(region.start + 12) {
            let mut joined = String::new();
            let mut whole = None;
            for end in start..region.end.min(start + 9) {
                let text = self.view.words[end].text;
                if text.chars().any(|c| c.is_lowercase() || c == ':')
                    || self.view.words[end].line != self.view.words[start].line
                {
                    break;
                }
                joined.extend(text.chars().filter(char::is_ascii_alphanumeric));
                if joined.len() > 34
                    || joined.len() < 4
                    || !joined.as_bytes()[2..4].iter().all(u8::is_ascii_digit)
                    || !joined.as_bytes()[..2].iter().all(u8::is_ascii_uppercase)
                {
                    break;
                }
                let span = Span { start, end: end + 1 };
                if is_iban(&joined) {
                    return Some((span, 1.0));
                }
                if joined.len() >= 14 && self.view.words[end].text.bytes().any(|byte| byte.is_ascii_digit()) {
                    whole = Some(span);
                }
            }
            if let Some(span) = whole {
                return Some((span, 0.8));
            }
        }
        None
    }

    /// A number of letters and digits, and how much it looks like one.
    fn identifier(&self, region: Span, is_vat: bool) -> Option<(Span, f64)> {
        for at in region.start..region.end.min(region.start + 5) {
            let word = &self.view.words[at];
            let bare = word.text.trim_matches(|c: char| !c.is_alphanumeric());
            let digits = bare.bytes().filter(u8::is_ascii_digit).count();
            let aside = word.text.starts_with('(') && word.text.ends_with(')') && at + 1 < region.end;
            if digits == 0 || bare.is_empty() || aside {
                continue;
            }
            let mut end = at + 1;
            let is_group = |text: &str| text.len() >= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            while end < region.end
                && end < at + 5
                && self.view.words[end].gap == 1
                && is_group(self.view.words[end].text)
                && (is_group(bare) || is_vat)
            {
                end += 1;
            }
            let mut start = at;
            if is_vat
                && at > region.start
                && self.view.words[at - 1].text.len() == 2
                && self.view.words[at - 1].text.chars().all(char::is_uppercase)
            {
                start = at - 1;
            }
            let span = Span { start, end };
            let total: usize = self.view.words[start..end]
                .iter()
                .flat_map(|word| word.text.bytes())
                .filter(u8::is_ascii_digit)
                .count();
            let mut share = 1.0;
            if self.annotations.dates_in(span).iter().any(|date| date.span == span) {
                share *= 0.2;
            }
            if self
                .annotations
                .amounts_in(span)
                .iter()
                .any(|amount| amount.is_money && (amount.has_mark || amount.currency.is_some()))
            {
                share *= 0.3;
            }
            if is_vat && total < 7 {
                share *= 0.4;
            }
            if bare.len() < 2 {
                share *= 0.6;
            }
            if bare.contains('%') || word.text.contains('%') || bare.contains('@') {
                continue;
            }
            return Some((span, share));
        }
        None
    }
}

/// A candidate with the tidy form of a text as its value and its quotation.
fn with_text(mut candidate: Candidate, text: &str) -> Candidate {
    let text = tidy(text);
    candidate.value = text.as_str().into();
    candidate.quote = Some(text);
    candidate
}

fn is_iban(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !(15..=34).contains(&bytes.len())
        || !bytes[..2].iter().all(u8::is_ascii_uppercase)
        || !bytes[2..4].iter().all(u8::is_ascii_digit)
    {
        return false;
    }
    let rest = bytes[4..].iter().chain(&bytes[..4]).try_fold(0_u32, |rest, byte| match byte {
        b'0'..=b'9' => Some((rest * 10 + u32::from(byte - b'0')) % 97),
        b'A'..=b'Z' => Some((rest * 100 + u32::from(byte - b'A') + 10) % 97),
        _ => None,
    });
    rest == Some(1)
}
