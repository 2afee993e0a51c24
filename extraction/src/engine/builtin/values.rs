//! The values in a region of the document: of the type and role that a field asks for.

use openapi_core::extraction::ExtractionType;
use openapi_core::json::Json;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{TextValue, Timestamp};

use super::annotations::Annotations;
use super::candidate::{Candidate, Fit, Provenance};
use super::entities;
use super::field_query::{FieldQuery, Role};
use super::scoring::{text, value as weights};
use super::source::Source;
use super::terms::Terms;
use super::text::{has_digit, is_capitalised, is_nothing, number_json, tidy};
use super::view::{Span, is_leader};
use super::vocabulary::{
    ABSENT_AS_NAME, AND, GREETINGS, LEGAL_FORMS, NAME_PARTICLES, NAME_SUFFIXES, NO_JURISDICTION, PARTIES,
};

/// Whether text says that a field has no value; `Na` is a surname as well.
pub(crate) fn says_nothing(query: &FieldQuery<'_>, text: &str) -> bool {
    let is_name = query.role == Role::Person || query.name.has_any(&["surname", "given-name"]);
    is_nothing(text) && !(is_name && ABSENT_AS_NAME.has(&text.to_lowercase()))
}

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

/// Lines that begin within as many points of each other begin together.
const SAME_START: f32 = 3.0;
/// A line that is so long, in words, characters and points, has no room for the next word.
const FULL_LINE_WORDS: usize = 7;
const FULL_LINE: usize = 60;
const FULL_LINE_WIDTH: f32 = 300.0;
/// The words after a period that may say that it is one of notice.
const NOTICE_WORDS: usize = 4;
/// The most lines of a value.
const MAX_LINES: usize = 7;
/// The most words of a value.
const MAX_TEXT_WORDS: usize = 60;

/// The first two members of a list of annotations within a region.
fn listed(list: &[(Span, String)], region: Span, fit: Fit) -> Vec<Candidate> {
    let within = Annotations::within(list, region, |(span, _)| *span).iter().take(2);
    within.map(|(span, text)| Candidate::quoting(*span, text, fit)).collect()
}

impl Source<'_, '_> {
    /// The values of the field's type in a region.
    pub(crate) fn values(&self, query: &FieldQuery<'_>, region: Span, fit: Fit) -> Vec<Candidate> {
        match query.kind {
            ExtractionType::Date | ExtractionType::Datetime => {
                let dates = self.annotations.dates_in(region);
                let digits = super::dates::of_digits(
                    self.view.words[region.start].text,
                    Span { start: region.start, end: region.start + 1 },
                );
                if let Some(date) = digits.filter(|_| dates.is_empty()) {
                    return self.date(query, &date, fit.times(weights::DATE_OF_DIGITS)).into_iter().collect();
                }
                let is_range =
                    matches!(dates, [first, second, ..] if second.span.start - first.span.end <= 2);
                let dates = dates.iter().take(3).enumerate();
                dates
                    .filter_map(|(nth, date)| {
                        let share = match (nth, is_range && query.name.has("end")) {
                            (0, false) | (1, true) => 1.0,
                            (0, true) => weights::START_OF_RANGE,
                            _ => weights::LATER_DATE,
                        };
                        self.date(query, date, fit.times(share))
                    })
                    .collect()
            }
            ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency => {
                let line = self.view.lines[self.view.words[region.start].line].end;
                let rest = self.annotations.amounts_in(Span { start: region.start, end: line });
                let has_money = rest.iter().any(|amount| amount.is_money);
                let amounts = self.annotations.amounts_in(region).iter().take(4).enumerate();
                amounts
                    .filter_map(|(nth, amount)| {
                        let mut share = 1.0 - weights::LATER_NUMBER_STEP * nth as f64;
                        let is_only = rest.len() == 1 && self.follows_mark(region);
                        if amount.is_percent != query.all.has("rate") {
                            share *= if is_only { weights::ONLY_PERCENTAGE } else { weights::WRONG_UNIT };
                        }
                        if query.wants_money() && !amount.is_money && !amount.has_mark {
                            share *= if has_money {
                                weights::BARE_NUMBER_NEXT_TO_MONEY
                            } else {
                                weights::BARE_NUMBER
                            };
                        }
                        if !amount.is_clean && !amount.is_money {
                            share *= weights::UNCLEAN_NUMBER;
                        }
                        self.amount(query, amount, fit.times(share))
                    })
                    .collect()
            }
            ExtractionType::Email => listed(&self.annotations.emails, region, fit),
            ExtractionType::Phone => listed(&self.annotations.phones, region, fit),
            ExtractionType::Url => {
                let mut urls = listed(&self.annotations.urls, region, fit);
                if urls.is_empty() && self.follows_mark(region) && region.end - region.start == 1 {
                    let text = tidy(self.view.words[region.start].text);
                    urls.extend(is_domain(&text).then(|| Candidate::quoting(region, &text, fit)));
                }
                for url in &mut urls {
                    let text = url.quote.as_deref().unwrap_or_default();
                    if !text.to_ascii_lowercase().starts_with("http") {
                        url.value = format!("https://{text}").as_str().into();
                        url.normalised = true;
                    }
                }
                urls
            }
            ExtractionType::String => self.text_in(query, region, fit),
            ExtractionType::Boolean | ExtractionType::Array | ExtractionType::Object => Vec::new(),
        }
    }

    pub(crate) fn date(
        &self,
        query: &FieldQuery<'_>,
        date: &super::dates::Written,
        fit: Fit,
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
        let mut candidate = Candidate::new(span, iso.as_str().into(), fit);
        candidate.ambiguous = ambiguous;
        candidate.normalised = self.view.text(span) != iso;
        Some(candidate)
    }

    pub(crate) fn amount(
        &self,
        query: &FieldQuery<'_>,
        amount: &super::numbers::Amount,
        fit: Fit,
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
        let mut candidate = Candidate::new(amount.span, value, fit);
        candidate.normalised = self.view.text(amount.span) != shown;
        Some(candidate)
    }

    /// The text of a region that the role of the field allows.
    fn text_in(&self, query: &FieldQuery<'_>, region: Span, fit: Fit) -> Vec<Candidate> {
        let mut region = region;
        let is_mark = |at: usize| !self.view.words[at].text.chars().any(char::is_alphanumeric);
        while region.start < region.end && is_mark(region.start) && self.view.words[region.start].text != "["
        {
            region.start += 1;
        }
        while region.start < region.end && is_leader(self.view.words[region.end - 1].text) {
            region.end -= 1;
        }
        if region.start >= region.end {
            return Vec::new();
        }
        let tidied = |(span, share): (Span, f64)| {
            Candidate::quoting(span, &tidy(&self.view.text(span)), fit.times(share))
        };
        let text = self.view.text(region);
        let found = match query.role {
            Role::Email => listed(&self.annotations.emails, region, fit).into_iter().next(),
            Role::Phone => return listed(&self.annotations.phones, region, fit),
            Role::Iban => self.iban(region).map(tidied),
            Role::Vat | Role::Identifier => self.identifier(region, query.role == Role::Vat).map(tidied),
            Role::Currency => (region.start..region.end).find_map(|at| {
                let code = super::numbers::currency(self.view.words[at].text)?;
                Some(Candidate::normalised(Span { start: at, end: at + 1 }, code.into(), fit))
            }),
            Role::Address => super::address::region(self, region).map(|pieces| self.lines_of(pieces, fit)),
            Role::Duration => super::durations::duration(self.view, region).map(|(span, value)| {
                let near = if span.start <= region.start + 3 { 1.0 } else { weights::DISTANT_DURATION };
                let whole = if value.contains("day") { weights::DURATION_IN_DAYS } else { 1.0 };
                // How long a notice takes is no term.
                let is_notice = !query.all.has("notice")
                    && self.view.folded_from(span.end, NOTICE_WORDS).contains(&"notice");
                let whole = if is_notice { weights::NOTICE } else { whole };
                let mut candidate = Candidate::new(span, value.as_str().into(), fit.times(near).times(whole));
                candidate.normalised = value != self.view.text(span);
                candidate
            }),
            Role::Law if !self.is_jurisdiction(region) => None,
            // A town with its postal code is no street.
            Role::Street if entities::has_postal(&text) && !text.contains(',') => None,
            Role::City if self.is_no_town(region) => None,
            _ if says_nothing(query, &text) => None,
            _ if GREETINGS.occur_at_start(&text.to_lowercase())
                && (matches!(query.role, Role::Person | Role::Company)
                    || PARTIES.has_any(query.name.iter())) =>
            {
                None
            }
            _ => Some(self.plain_text_in(query, region, fit)),
        };
        found.into_iter().collect()
    }

    /// The text of several lines as one value.
    pub(crate) fn lines_of(&self, pieces: Vec<Span>, fit: Fit) -> Candidate {
        let lines: Vec<String> = pieces.iter().map(|piece| tidy(&self.view.text(*piece))).collect();
        let mut candidate = Candidate::quoting(pieces[0], &lines.join("\n"), fit);
        candidate.pieces = pieces;
        candidate
    }

    /// The text of a region as a value, by how much it looks like one.
    fn plain_text_in(&self, query: &FieldQuery<'_>, region: Span, fit: Fit) -> Candidate {
        let provenance = fit.provenance;
        let words = region.end - region.start;
        let mut end = region.end;
        if matches!(query.role, Role::Person | Role::Company) {
            end = self.name_end(region, query.role == Role::Person);
        }
        let mut share = 1.0;
        if !entities::is_wordy(self.view, region) {
            share *= match query.role {
                Role::Text | Role::Postal => text::FEW_LETTERS,
                _ => text::FEW_LETTERS_AS_NAME,
            };
        }
        // What follows a colon is a value, whatever its words mean elsewhere: `Status: Paid`.
        let is_stated = provenance == Provenance::SameSegment && self.follows_mark(region)
            || self.option(&query.field.options, region).is_some();
        if !is_stated
            && self.labels.of_line(self.view.words[region.start].line).any(|label| {
                label.span.start == region.start
                    && label.span.end >= region.end
                    && label.terms.iter().count() > 0
                    && self.is_known(&label.terms)
            })
        {
            share *= text::IS_LABEL;
        }
        if words > text::LONG_WORDS {
            share *= text::LONG;
        }
        let plain = self.view.text(region);
        let first = plain.trim_start_matches(|c: char| !c.is_alphanumeric()).chars().next();
        if matches!(query.role, Role::Company | Role::Person) {
            let numbers = self.annotations.amounts_in(Span { start: region.start, end });
            if numbers.iter().any(|amount| amount.is_percent || amount.is_money) {
                share *= text::NUMBERS_AS_NAME;
            }
            let lower = self.view.words[region.start..end]
                .iter()
                .filter(|word| word.text.chars().next().is_some_and(char::is_lowercase))
                .filter(|word| !LEGAL_FORMS.has(&word.folded))
                .count();
            if end - region.start > text::MAX_NAME_WORDS
                || lower >= text::NO_NAME_LOWER_CASE + usize::from(is_stated)
                || first.is_some_and(char::is_lowercase) && provenance != Provenance::Table
            {
                share *= text::NO_NAME;
            }
        }
        if is_stated {
            // It has been said.
        } else if words <= 3 && self.is_words_of_labels(region, provenance == Provenance::SameLine) {
            share *= text::LABEL_WORDS;
        } else if provenance == Provenance::SameLine && self.is_mostly_words_of_labels(region) {
            share *= text::MOSTLY_LABEL_WORDS;
        }
        let span = Span { start: region.start, end: end.min(region.start + MAX_TEXT_WORDS) };
        let candidate = Candidate::quoting(span, &tidy(&self.view.text(span)), fit.times(share));
        match query.role {
            Role::Person | Role::Company if end == region.end => self.with_next_line(candidate),
            Role::Text if span.end == region.end && is_stated => self.with_sentence(candidate),
            _ => candidate,
        }
    }

    /// Text of a full line with the lines below it, while its sentence goes on.
    fn with_sentence(&self, mut candidate: Candidate) -> Candidate {
        let view = self.view;
        let first = view.words[candidate.key().start].line;
        let is_full = |line: usize| {
            let span = view.line_span(line);
            let (x0, x1) = view.extent(span);
            let letters = view.text(span).chars().count();
            span.end - span.start >= FULL_LINE_WORDS
                && if view.placed { x1 - x0 >= FULL_LINE_WIDTH } else { letters >= FULL_LINE }
        };
        let mut text = candidate.quote.clone().unwrap_or_default();
        let mut value = text.clone();
        for line in first + 1..view.lines.len().min(first + MAX_LINES) {
            let (above, this) = (&view.lines[line - 1], &view.lines[line]);
            let span = view.line_span(line);
            let said = tidy(&view.text(span));
            let goes_on = is_full(line - 1)
                && !value.ends_with(['.', '!', '?'])
                && above.page == this.page
                && above.block == this.block
                && view.segments_of(line).len() == 1
                && !self.labels.of_line(line).any(|label| label.is_marked)
                && said.starts_with(char::is_alphanumeric);
            if !goes_on || view.segment_of(view.lines[line - 1].end - 1).1.end != view.lines[line - 1].end {
                break;
            }
            // A word goes on after its hyphen.
            if value.ends_with('-') && said.starts_with(char::is_lowercase) {
                value.pop();
                value.push_str(&said);
            } else {
                value = format!("{value} {said}");
            }
            text = format!("{text}\n{said}");
            candidate.pieces.push(span);
        }
        if candidate.pieces.len() > 1 {
            candidate.value = value.as_str().into();
            candidate.quote = Some(text);
        }
        candidate
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
            if view.placed { (x0 - y0).abs() < SAME_START } else { segment.start == next.start }
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
        let words: Vec<&str> = self.view.folded(region).collect();
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

    /// Whether a region begins right after a colon.
    pub(crate) fn follows_mark(&self, region: Span) -> bool {
        let before = region.start.checked_sub(1).map(|before| &self.view.words[before]);
        before.is_some_and(|before| {
            before.line == self.view.words[region.start].line && before.text.ends_with([':', '：', '=', '?'])
        })
    }

    /// Whether a region is no town: it has a number, or a month in a period.
    fn is_no_town(&self, region: Span) -> bool {
        let words = || self.view.words[region.start..region.end].iter();
        words().any(|word| super::dates::month_of(word.text).is_some()) && has_digit(&self.view.text(region))
            || words().all(|word| !word.text.chars().any(char::is_alphabetic))
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
        let text = self.view.text(region);
        region.end - region.start <= 5
            && !NO_JURISDICTION.has_any(self.view.folded(region))
            && !has_digit(&text)
            && is_capitalised(&text)
    }

    /// Where a name ends: before a bracket, a number of a register or an address after a comma.
    fn name_end(&self, region: Span, is_person: bool) -> usize {
        for at in region.start + 1..region.end {
            let text = self.view.words[at].text;
            // The number of a customer, `(16834)`, is written as a part of the name; that of a register, `(883421-K)`, is not.
            let is_code = text.starts_with('(')
                && text.ends_with(')')
                && text.bytes().filter(u8::is_ascii_digit).count() >= 3
                && !text[1..text.len() - 1].bytes().all(|byte| byte.is_ascii_digit());
            if is_person && text.starts_with('(')
                || is_code && at + 1 == region.end
                || text.starts_with('|')
                || text.contains('@')
                || text == "·"
                || text == "•"
                || self.is_description(Span { start: region.start, end: at }, is_person)
            {
                return at;
            }
        }
        region.end
    }

    /// Whether the word after a name begins what describes its bearer: `Ann Lee of 2 Elm Row`, `Acme Ltd, whose office …`.
    fn is_description(&self, name: Span, is_person: bool) -> bool {
        let word = &self.view.words[name.end];
        let is_new = word.text.starts_with(char::is_lowercase)
            && !NAME_PARTICLES.has(&word.folded)
            && !AND.has(&word.folded)
            && !NAME_SUFFIXES.has(&word.folded)
            && !LEGAL_FORMS.has(&word.folded);
        let is_whole = name.end - name.start >= 2
            && (self.view.words[name.end - 1].text.ends_with(',')
                || is_person && entities::is_person(&self.view.text(name)));
        is_new && is_whole
    }
}

/// Whether text is the name of a host, perhaps with a path: `halden.example/about`.
fn is_domain(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or(text);
    let mut parts = host.rsplit('.');
    let ends =
        parts.next().is_some_and(|end| end.len() >= 2 && end.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    ends && host.contains('.') && parts.all(is_part)
}
