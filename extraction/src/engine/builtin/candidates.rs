//! Candidates: values that could be the one a field asks for, each with the words that say it and how well they fit.

use openapi_core::extraction::ExtractionType;
use openapi_core::json::{Json, parse};

use super::entities;
use super::facts::{self, Facts};
use super::labels::{Label, Labels};
use super::terms::Terms;
use super::view::{Span, View};
use super::wanted::{Role, Wanted};

/// Below this a label says something else.
const LEAST_LIKENESS: f64 = 0.34;

/// How a candidate was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// After its label in the same segment.
    Beside,
    /// In a segment further on the line.
    Across,
    /// Under its label.
    Below,
    /// In a sentence that says it.
    Prose,
    /// By its form and place alone.
    Free,
    /// In a table.
    Table,
}

/// A value that could be the one.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The words that say it; more than one piece for text of several lines.
    pub(crate) pieces: Vec<Span>,
    pub(crate) value: Json,
    /// Part of the words' text, where the value is less than whole words.
    pub(crate) quote: Option<String>,
    pub(crate) how: How,
    pub(crate) likeness: f64,
    pub(crate) score: f64,
    pub(crate) ambiguous: bool,
    /// Whether the value is not verbatim what the words say.
    pub(crate) normalised: bool,
    /// How many candidates of other values came close.
    pub(crate) rivals: u8,
    /// How much better it fits than the best candidate of another value.
    pub(crate) lead: f64,
    /// Whether sums confirm it.
    pub(crate) confirmed: bool,
}

impl Candidate {
    pub(crate) fn new(span: Span, value: Json, how: How, likeness: f64, score: f64) -> Self {
        Candidate {
            pieces: vec![span],
            value,
            quote: None,
            how,
            likeness,
            score,
            ambiguous: false,
            normalised: false,
            rivals: 0,
            lead: 0.6,
            confirmed: false,
        }
    }

    /// What two fields cannot both have.
    pub(crate) fn key(&self) -> Span {
        self.pieces[0]
    }
}

/// What candidates are made of.
pub(crate) struct Source<'v, 'd> {
    pub(crate) view: &'v View<'d>,
    pub(crate) facts: &'v Facts,
    pub(crate) labels: &'v Labels,
    /// Words that belong to rows of tables, where labels of single values are not looked for.
    pub(crate) taken: Vec<Span>,
}

pub(crate) fn number_json(value: rust_decimal::Decimal) -> Json {
    parse(value.normalize().to_string().as_bytes()).unwrap_or(Json::Null)
}

impl Source<'_, '_> {
    /// The candidates for a field, best first, at most a dozen.
    pub(crate) fn of(&self, wanted: &Wanted<'_>) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let labels = self.labels.with_terms(&self.searched(wanted));
        for index in labels {
            let label = &self.labels.all[index as usize];
            let likeness = wanted.fits(label);
            if likeness >= LEAST_LIKENESS && !self.is_taken(label.span) {
                self.after(wanted, label, likeness, &mut found);
            }
        }
        self.prose(wanted, &mut found);
        self.free(wanted, &mut found);
        for candidate in &mut found {
            if wanted.field.check(&candidate.value).is_err() {
                candidate.score *= 0.2;
            } else if !wanted.field.options.is_empty() || wanted.field.pattern.is_some() {
                candidate.score = (candidate.score * 1.15).min(1.2);
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key().cmp(&b.key())));
        found.dedup_by(|a, b| a.pieces == b.pieces && a.value == b.value);
        found.truncate(12);
        found
    }

    fn searched(&self, wanted: &Wanted<'_>) -> Terms {
        wanted.readings.iter().fold(Terms::default(), |all, (terms, _)| all.joined(terms))
    }

    pub(crate) fn is_taken(&self, span: Span) -> bool {
        let at = self.taken.partition_point(|taken| taken.end <= span.start);
        self.taken.get(at).is_some_and(|taken| taken.overlaps(span))
    }

    /// Where on the label's line the next label stands.
    fn stop(&self, label: &Label) -> usize {
        let line_end = self.view.lines[label.line].end;
        self.labels
            .of_line(label.line)
            .filter(|other| {
                other.is_marked && other.span.start >= label.after && other.span.start > label.span.start
            })
            .map(|other| {
                // The words between are the value's, but for the label's own.
                other.span.start
            })
            .min()
            .unwrap_or(line_end)
            .min(line_end)
    }

    /// The regions where a label's value may stand, each with how usual that is.
    fn regions(&self, label: &Label) -> Vec<(Span, How, f64)> {
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
            let (how, share) = match (own, is_near) {
                (true, _) => (How::Beside, 1.0),
                (false, true) => (How::Across, 0.98),
                (false, false) => (How::Across, 0.72),
            };
            is_near = false;
            regions.push((Span { start, end }, how, share));
        }
        
        let page = self.view.lines[label.line].page;
        let mut share = 0.9;
        let mut seen = 0;
        for line in label.line + 1..(label.line + 7).min(self.view.lines.len()) {
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
                    regions.push((first.span(), How::Below, share * 0.95));
                    seen += 1;
                    share *= 0.75;
                }
                continue;
            };
            if self.begins_marked(under.start) {
                share *= 0.97;
                continue;
            }
            regions.push((under.span(), How::Below, share));
            share *= 0.7;
            seen += 1;
            if seen >= 2 {
                break;
            }
        }
        regions
    }

    /// Whether a marked label begins at a word.
    fn begins_marked(&self, word: usize) -> bool {
        self.labels
            .of_line(self.view.words[word].line)
            .any(|label| label.is_marked && label.span.start == word)
    }

    fn after(&self, wanted: &Wanted<'_>, label: &Label, likeness: f64, found: &mut Vec<Candidate>) {
        if wanted.kind == ExtractionType::Boolean {
            return self.answers(wanted, label, likeness, found);
        }
        let mut best = 0.0_f64;
        let mut is_beside = false;
        for (region, how, share) in self.regions(label) {
            let is_label = self
                .labels
                .of_line(self.view.words[region.start].line)
                .any(|other| other.is_marked && other.span.start == region.start && other.span != label.span);
            if share < best || is_label && how != How::Beside {
                continue;
            }
            let marked = if label.is_marked && how != How::Below { 1.04 } else { 1.0 };
            let score = likeness * share * marked;
            let score = if how == How::Below && is_beside { score * 0.65 } else { score };
            let before = found.len();
            self.values(wanted, region, how, likeness, score, found);
            if found[before..].iter().any(|candidate| candidate.score >= 0.7 * score) {
                best = share * 0.6;
                is_beside |= how != How::Below;
            }
        }
    }

    /// The values of the field's type in a region.
    pub(crate) fn values(
        &self,
        wanted: &Wanted<'_>,
        region: Span,
        how: How,
        likeness: f64,
        score: f64,
        found: &mut Vec<Candidate>,
    ) {
        match wanted.kind {
            ExtractionType::Date | ExtractionType::Datetime => {
                let dates = self.facts.dates_in(region);
                let is_range =
                    matches!(dates, [first, second, ..] if second.span.start - first.span.end <= 2);
                for (nth, date) in dates.iter().take(3).enumerate() {
                    let share = match (nth, is_range && wanted.name.has("end")) {
                        (0, false) | (1, true) => 1.0,
                        (0, true) => 0.6,
                        _ => 0.85,
                    };
                    found.extend(self.date(wanted, date, how, likeness, score * share));
                }
            }
            ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency => {
                for (nth, amount) in self.facts.amounts_in(region).iter().take(4).enumerate() {
                    let mut share = 1.0 - 0.06 * nth as f64;
                    if amount.is_percent != wanted.all.has("rate") {
                        share *= 0.35;
                    }
                    if wants_money(wanted) && !amount.is_money && !amount.has_mark {
                        share *= 0.75;
                    }
                    if !amount.is_clean && !amount.is_money {
                        share *= 0.6;
                    }
                    found.extend(self.amount(wanted, amount, how, likeness, score * share));
                }
            }
            ExtractionType::Email => {
                for (span, email) in
                    Facts::within(&self.facts.emails, region, |(span, _)| *span).iter().take(2)
                {
                    let mut candidate = Candidate::new(*span, email.as_str().into(), how, likeness, score);
                    candidate.quote = Some(email.clone());
                    found.push(candidate);
                }
            }
            ExtractionType::Phone => self.phones_in(region, how, likeness, score, found),
            ExtractionType::Url => {
                for (span, url) in Facts::within(&self.facts.urls, region, |(span, _)| *span).iter().take(2) {
                    if url.to_ascii_lowercase().starts_with("http") {
                        let mut candidate = Candidate::new(*span, url.as_str().into(), how, likeness, score);
                        candidate.quote = Some(url.clone());
                        found.push(candidate);
                    }
                }
            }
            ExtractionType::String => found.extend(self.text_in(wanted, region, how, likeness, score)),
            ExtractionType::Boolean | ExtractionType::Array | ExtractionType::Object => {}
        }
    }

    pub(crate) fn date(
        &self,
        wanted: &Wanted<'_>,
        date: &super::dates::Written,
        how: How,
        likeness: f64,
        score: f64,
    ) -> Option<Candidate> {
        let (mut iso, ambiguous) = date.iso(self.facts.order)?;
        let mut span = date.span;
        if wanted.kind == ExtractionType::Datetime {
            let end = (span.end + 3).min(self.view.lines[self.view.words[span.start].line].end);
            let words: Vec<&str> =
                self.view.words[span.end..end.max(span.end)].iter().map(|word| word.text).collect();
            let (hour, minute, second) = super::dates::time(&words).unwrap_or((0, 0, 0));
            if (hour, minute, second) != (0, 0, 0) {
                span.end = end;
            }
            iso = format!("{iso}T{hour:02}:{minute:02}:{second:02}Z");
        }
        let mut candidate = Candidate::new(span, iso.as_str().into(), how, likeness, score);
        candidate.ambiguous = ambiguous;
        candidate.normalised = self.view.text(span) != iso;
        Some(candidate)
    }

    pub(crate) fn amount(
        &self,
        wanted: &Wanted<'_>,
        amount: &super::numbers::Amount,
        how: How,
        likeness: f64,
        score: f64,
    ) -> Option<Candidate> {
        let value = number_json(amount.value);
        if wanted.kind == ExtractionType::Integer && !amount.value.fract().is_zero() {
            return None;
        }
        let shown = value.to_text();
        let value = if wanted.kind == ExtractionType::Currency {
            let code = amount.currency.or(self.facts.currency.map(|(code, _)| code));
            let code = code.map_or(Json::Null, Json::from);
            Json::Object([("amount".to_owned(), value), ("currency".to_owned(), code)].into_iter().collect())
        } else {
            value
        };
        let mut candidate = Candidate::new(amount.span, value, how, likeness, score);
        candidate.normalised = self.view.text(amount.span) != shown;
        Some(candidate)
    }

    fn phones_in(&self, region: Span, how: How, likeness: f64, score: f64, found: &mut Vec<Candidate>) {
        for (span, phone) in Facts::within(&self.facts.phones, region, |(span, _)| *span).iter().take(2) {
            let mut candidate = Candidate::new(*span, phone.as_str().into(), how, likeness, score);
            candidate.quote = Some(phone.clone());
            found.push(candidate);
        }
    }

    /// The text of a region that the role of the field allows.
    fn text_in(
        &self,
        wanted: &Wanted<'_>,
        region: Span,
        how: How,
        likeness: f64,
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
        let make = |span: Span, score: f64| Candidate::new(span, Json::Null, how, likeness, score);
        let text = |mut candidate: Candidate, text: String| {
            let text = tidy(&text);
            candidate.value = text.as_str().into();
            candidate.quote = Some(text);
            candidate
        };
        match wanted.role {
            Role::Email => {
                let emails = Facts::within(&self.facts.emails, region, |(span, _)| *span);
                emails.iter().take(1).map(|(span, email)| text(make(*span, score), email.clone())).collect()
            }
            Role::Phone => {
                let mut found = Vec::new();
                self.phones_in(region, how, likeness, score, &mut found);
                found
            }
            Role::Iban => self
                .iban(region)
                .map(|(span, share)| text(make(span, score * share), self.view.text(span)))
                .into_iter()
                .collect(),
            Role::Vat | Role::Identifier => self
                .identifier(region, wanted.role == Role::Vat)
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
            Role::Address => super::address::region(self, region, how)
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
            Role::Duration => super::prose::duration(self.view, region)
                .map(|(span, value)| {
                    let mut candidate = make(span, score);
                    candidate.normalised = value != self.view.text(span);
                    candidate.value = value.as_str().into();
                    candidate
                })
                .into_iter()
                .collect(),
            _ => {
                let words = region.end - region.start;
                let mut share = 1.0;
                if !entities::is_wordy(self.view, region) {
                    share *= match wanted.role {
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
                if matches!(wanted.role, Role::Company | Role::Person) {
                    let lower = self.view.words[region.start..region.end]
                        .iter()
                        .filter(|word| word.text.chars().next().is_some_and(char::is_lowercase))
                        .count();
                    if words > 8 || lower >= 3 || first.is_some_and(char::is_lowercase) && how != How::Table {
                        share *= 0.4;
                    }
                }
                if words <= 3 && self.is_words_of_labels(region) {
                    share *= 0.35;
                } else if how == How::Across && self.is_mostly_words_of_labels(region) {
                    share *= 0.5;
                }
                let mut end = region.end;
                if matches!(wanted.role, Role::Person | Role::Company) {
                    end = self.name_end(region);
                }
                let span = Span { start: region.start, end: end.min(region.start + 60) };
                vec![text(make(span, score * share), self.view.text(span))]
            }
        }
    }

    /// Whether a region is made of words of labels alone, as `Code` after `Advertiser`.
    fn is_words_of_labels(&self, region: Span) -> bool {
        let lexicon = super::lexicon::Lexicon::shared();
        let words: Vec<&str> =
            self.view.words[region.start..region.end].iter().map(|word| word.folded.as_str()).collect();
        let mut at = 0;
        while at < words.len() {
            match lexicon.phrase(&words[at..]) {
                Some((terms, length)) if !terms.contains(&"company") => at += length,
                _ if words[at].chars().all(|c| !c.is_alphanumeric()) => at += 1,
                _ => return false,
            }
        }
        true
    }

    /// Whether half of the words of a region or more are words of labels: the next head of a grid of heads and values.
    fn is_mostly_words_of_labels(&self, region: Span) -> bool {
        let lexicon = super::lexicon::Lexicon::shared();
        let words = self.view.words[region.start..region.end].iter().filter(|word| word.folded.chars().any(char::is_alphabetic));
        let (mut known, mut count) = (0, 0);
        for word in words {
            count += 1;
            known += usize::from(lexicon.word(&word.folded).is_some_and(|terms| !terms.contains(&"-") && !terms.contains(&"company")));
        }
        known >= 2 && known * 2 >= count
    }

    /// Whether all terms of a label are words of business documents.
    pub(crate) fn is_known(&self, terms: &Terms) -> bool {
        let lexicon = super::lexicon::Lexicon::shared();
        terms.iter().all(|term| lexicon.word(term).is_some() || term.contains('-'))
    }

    /// Where a name ends: before a bracket, a number of a register or an address after a comma.
    fn name_end(&self, region: Span) -> usize {
        for at in region.start + 1..region.end {
            let text = self.view.words[at].text;
            if text.starts_with('(') && !text.ends_with("M)")
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
                if text.chars().any(|c| c.is_lowercase() || c == ':') {
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
            if self.facts.dates_in(span).iter().any(|date| date.span == span) {
                share *= 0.2;
            }
            if self
                .facts
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

    fn answers(&self, wanted: &Wanted<'_>, label: &Label, likeness: f64, found: &mut Vec<Candidate>) {
        let mut regions = self.regions(label);
        // A box may stand before its label.
        let before = label.span.start.saturating_sub(3).max(self.view.lines[label.line].start);
        if before < label.span.start {
            regions.push((Span { start: before, end: label.span.start }, How::Across, 0.8));
        }
        // Boxes and words may stand in segments of their own.
        let stop = self.stop(label);
        if label.after < stop {
            regions.insert(0, (Span { start: label.after, end: stop }, How::Beside, 1.0));
        }
        for (region, how, share) in regions {
            if let Some((yes, span)) = facts::answer(self.view, region) {
                let mut candidate = Candidate::new(span, Json::Bool(yes), how, likeness, likeness * share);
                candidate.normalised = true;
                found.push(candidate);
                return;
            }
        }
        let _ = wanted;
    }
}

/// Whether a number is an amount of money.
pub(crate) fn wants_money(wanted: &Wanted<'_>) -> bool {
    wanted.kind == ExtractionType::Currency
        || wanted.all.has_any(&[
            "total", "amount", "tax", "net", "gross", "subtotal", "price", "charge", "discount", "cash",
            "change", "rent", "deposit", "salary", "paid", "payment",
        ])
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

/// Text without the marks that separate it from what is around.
pub(crate) fn tidy(text: &str) -> String {
    let trimmed = text.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, ',' | ';' | ':' | '|' | '*' | '=' | '·' | '•' | '"' | '“' | '”' | '_')
    });
    let trimmed = if trimmed.starts_with('(') && trimmed.ends_with(')') && trimmed.matches('(').count() == 1 {
        &trimmed[1..trimmed.len() - 1]
    } else {
        trimmed
    };
    trimmed.to_owned()
}
