//! Postal addresses: the lines that are one, and the parts of it.

use super::entities;
use super::scoring::object;
use super::source::Source;
use super::terms::Terms;
use super::text::{has_digit, tidy};
use super::view::{Span, View};
use super::vocabulary::{ADDRESS_ENDS, ADDRESS_PARTS, STREETS};

/// The most lines of an address.
const MAX_LINES: usize = 6;
/// The most lines above the first sure line of an address that belong to it.
const LINES_ABOVE: usize = 3;
/// A gap of more than so many heights of a line, and of lines of this height at least, ends an address.
const GAP: f32 = 2.6;
const MIN_HEIGHT: f32 = 6.0;
/// The lines that are looked at for addresses without a label, and the most of them.
const HEAD: usize = 400;
const MAX_UNLABELLED: usize = 4;
/// The most words of a line with a street.
const STREET_WORDS: usize = 6;
/// The most words of the number of a flat or house before the name of its street.
const PART_OF_STREET: usize = 2;
/// Words in lower case before a house number that describe the premises.
const PLAIN_WORDS: usize = 2;
/// The most words of a town.
const CITY_WORDS: usize = 5;
/// How far below its label an address may begin.
const LINES_BELOW: usize = 6;

/// The parts of an address, each with the words that say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parts {
    pub(crate) street: Option<Span>,
    pub(crate) postal: Option<Span>,
    pub(crate) city: Option<Span>,
    pub(crate) country: Option<Span>,
    pub(crate) state: Option<Span>,
}

/// Whether a line ends an address: it has another label, a mail address, a telephone number, a register.
pub(crate) fn ends(source: &Source<'_, '_>, span: Span) -> bool {
    let text = source.view.text(span).to_lowercase();
    ADDRESS_ENDS.occur_in(&text)
        || source
            .labels
            .of_line(source.view.words[span.start].line)
            .any(|label| label.is_marked && label.span.start == span.start)
        || super::annotations::Annotations::within(&source.annotations.phones, span, |(phone, _)| *phone)
            .iter()
            .any(|(phone, _)| phone.start == span.start)
        || !source.annotations.dates_in(span).is_empty()
        || source.annotations.amounts_in(span).iter().any(|amount| amount.is_money && amount.has_mark)
        || (text.starts_with('(') && text.ends_with(')'))
        || heads_bill(source, span)
}

/// Whether a line is a word of the head of a bill with its number: `Table 4`.
fn heads_bill(source: &Source<'_, '_>, span: Span) -> bool {
    let words = &source.view.words[span.start..span.end];
    let [word, number] = words else { return false };
    let of_word = Terms::of(&[&word.folded]);
    of_word.has_any(&["table", "cashier", "invoice", "receipt", "order"]) && has_digit(number.text)
}

/// Where an address begins whose first sure line is known: lines above it may be floors, lots and names of buildings.
pub(crate) fn start(source: &Source<'_, '_>, sure: Span) -> Span {
    let view = source.view;
    let mut first = sure;
    for _ in 0..LINES_ABOVE {
        let Some(line) = view.words[first.start].line.checked_sub(1) else { break };
        let above = view
            .segments_of(line)
            .iter()
            .find(|segment| view.aligned(segment.span(), first))
            .map(|segment| segment.span());
        let Some(above) = above else { break };
        let text = view.text(above);
        let parts = text.contains(',')
            || has_digit(&text) && text.contains(['-', '(', '&', '/'])
            || above.end - above.start <= STREET_WORDS && is_street(&text);
        // The number of a register: `1000131-K`.
        let is_word =
            |word: &str| word.chars().filter(|c| c.is_alphabetic()).count() >= 2 && !has_digit(word);
        let is_number = !text.split_whitespace().any(is_word);
        // The first line is the name.
        let is_name = line == 0 && !looks(&text);
        if !parts
            || is_number
            || is_name
            || text.contains(':')
            || entities::is_company(&text)
            || entities::is_title(&text)
            || ends(source, above)
            || view.lines[line].page != view.lines[view.words[sure.start].line].page
        {
            break;
        }
        first = above;
    }
    first
}

/// The lines of an address that begins in a region: those under it in the same column belong to it.
pub(crate) fn region(source: &Source<'_, '_>, region: Span) -> Option<Vec<Span>> {
    let mut lines = block(source, region, MAX_LINES);
    // `2. The property` is the heading of its paragraph.
    let view = source.view;
    let is_heading = |line: &Span| {
        let number = view.words[line.start].text;
        number.strip_suffix('.').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
            && !looks(&view.text(*line))
    };
    if lines.len() > 1 && is_heading(&lines[0]) {
        lines.remove(0);
    }
    lines[0].start = start_in_sentence(view, lines[0]);
    lines.iter().any(|line| looks(&source.view.text(*line))).then_some(lines)
}

/// Where an address begins in a line that describes it: `The flat known as 6 Mill Row, Leeds`.
fn start_in_sentence(view: &View<'_>, line: Span) -> usize {
    let house = (line.start..line.end).find(|&at| has_digit(view.words[at].text));
    let is_plain = |at: &usize| view.words[*at].text.starts_with(char::is_lowercase);
    house
        .filter(|&house| {
            let before = (line.start..house).filter(is_plain).count();
            before >= PLAIN_WORDS && is_street(&view.text(Span { start: house, end: line.end }))
        })
        .unwrap_or(line.start)
}

/// The pieces of the column that begins with a region, until it ends or something else begins.
pub(crate) fn block(source: &Source<'_, '_>, region: Span, most: usize) -> Vec<Span> {
    let view = source.view;
    let first = view.words[region.start].line;
    let mut pieces = vec![region];
    let mut has_postal = false;
    if closes(&view.text(region)) && region.end - region.start > 3 {
        return pieces;
    }
    let page = view.lines[first].page;
    for line in first + 1..view.lines.len().min(first + most + 2) {
        if pieces.len() >= most || view.lines[line].page != page {
            break;
        }
        let segment =
            view.segments_of(line).iter().find(|segment| view.aligned(segment.span(), pieces[0])).or_else(
                || (!view.placed && view.segments_of(line).len() == 1).then(|| &view.segments_of(line)[0]),
            );
        let Some(segment) = segment else { break };
        let span = segment.span();
        let far = match (view.words[span.start].bbox, view.words[pieces[pieces.len() - 1].start].bbox) {
            (Some(this), Some(last)) => this.y - last.y > GAP * last.height.max(this.height).max(MIN_HEIGHT),
            _ => view.lines[line].block != view.lines[first].block,
        };
        if far || ends(source, span) || entities::is_title(&view.text(span)) {
            break;
        }
        // Only the state or country may be below the town.
        let text = view.text(span);
        if has_postal && has_digit(&text) {
            break;
        }
        has_postal |= entities::has_postal(&text);
        pieces.push(span);
        if closes(&text) {
            break;
        }
    }
    pieces
}

/// Whether a line is the last of an address: a country.
fn closes(text: &str) -> bool {
    entities::country(text.rsplit(',').next().unwrap_or(text)).is_some() && !has_digit(text)
}

/// Whether a line looks like one of an address.
pub(crate) fn looks(text: &str) -> bool {
    let folded = super::view::fold(text);
    let has_digit = has_digit(text);
    entities::has_postal(text)
        || ADDRESS_PARTS.occur_in(&format!(" {folded} ")) && (has_digit || text.contains(','))
}

/// Whether a span is the two capital letters of a state.
fn is_state(view: &View<'_>, span: Span) -> bool {
    span.end - span.start == 1
        && view.words[span.start].text.trim_matches([',', '.']).len() == 2
        && view.words[span.start].text.chars().take(2).all(char::is_uppercase)
}

/// Pieces of an address, cut at commas and other marks.
fn split_at_marks(view: &View<'_>, pieces: &[Span]) -> Vec<Span> {
    let mut lines: Vec<Span> = Vec::new();
    for piece in pieces {
        let mut start = piece.start;
        for at in piece.start..piece.end {
            let text = view.words[at].text;
            let separates = matches!(text, "·" | "•" | "|" | "-" | "–" | "," | ";" | "*");
            if separates || text.ends_with([',', ';']) {
                let end = if separates { at } else { at + 1 };
                if end > start {
                    lines.push(Span { start, end });
                }
                start = at + 1;
            }
        }
        if start < piece.end {
            lines.push(Span { start, end: piece.end });
        }
    }
    lines
}

/// The parts of the address in some pieces of text.
pub(crate) fn parts(view: &View<'_>, pieces: &[Span]) -> Parts {
    let lines = split_at_marks(view, pieces);
    let mut parts = Parts::default();
    let postal_line = town(view, &lines, &mut parts);
    for (index, line) in lines.iter().enumerate() {
        let text = view.text(*line);
        if parts.country.is_none() && index > 0 && entities::country(&text).is_some() {
            parts.country = Some(*line);
        } else if parts.street.is_none()
            && postal_line.is_none_or(|postal| index < postal)
            && Some(*line) != parts.city
            && is_street(&text)
        {
            // `Flat 3, 27 Alma Road`, `12 bis, rue Haute`
            let next = lines.get(index + 1).filter(|next| {
                let text = view.text(**next);
                next.start == line.end
                    && view.words[next.start].line == view.words[line.start].line
                    && postal_line.is_none_or(|postal| index + 1 < postal)
                    && Some(**next) != parts.city
                    && looks_street(&text)
                    && (line.end - line.start <= PART_OF_STREET)
            });
            parts.street = Some(Span { start: line.start, end: next.map_or(line.end, |next| next.end) });
        }
    }
    if parts.street.is_none()
        && let Some(postal) = postal_line
    {
        // A street without a number: the line before the town, unless it is the name above it.
        let at =
            postal.checked_sub(if parts.city == postal.checked_sub(1).map(|at| lines[at]) { 2 } else { 1 });
        parts.street =
            at.filter(|at| *at > 0).map(|at| lines[at]).filter(|line| looks_street(&view.text(*line)));
    }
    parts.city = parts.city.filter(|city| {
        let text = view.text(*city);
        !super::dates::is_spelt(&text) && city.end - city.start <= CITY_WORDS && !entities::is_title(&text)
    });
    if parts.postal.is_none() && parts.city.is_none() {
        // `Portland, United States`
        parts.city = parts.country.and_then(|country| {
            let at = lines.iter().position(|line| *line == country)?.checked_sub(1)?;
            (Some(lines[at]) != parts.street).then(|| lines[at])
        });
    }
    parts
}

/// Reads the postal code, and the town and state next to it. Returns the line of the code.
fn town(view: &View<'_>, lines: &[Span], parts: &mut Parts) -> Option<usize> {
    for (index, line) in lines.iter().enumerate() {
        let words: Vec<&str> = view.words[line.start..line.end].iter().map(|word| word.text).collect();
        if let Some((at, length)) = entities::postal(&words) {
            // A number before the name of a street is no postal code.
            let is_house = at == 0
                && length == 1
                && words.len() > 1
                && looks_street(&words.join(" "))
                && index + 1 < lines.len();
            if is_house {
                continue;
            }
            let postal = Span { start: line.start + at, end: line.start + at + length };
            parts.postal = Some(postal);
            let after = Span { start: postal.end, end: line.end };
            let before = Span { start: line.start, end: postal.start };
            if after.start < after.end {
                parts.city = Some(after);
            } else if before.start < before.end && !is_state(view, before) && !has_digit(&view.text(before)) {
                let last = Span { start: before.end - 1, end: before.end };
                if before.end - before.start > 1 && is_state(view, last) {
                    parts.state = Some(last);
                    parts.city = Some(Span { start: before.start, end: before.end - 1 });
                } else {
                    parts.city = Some(before);
                }
            } else if index > 0 && !has_digit(&view.text(lines[index - 1])) {
                if is_state(view, before) {
                    parts.state = Some(before);
                }
                parts.city = Some(lines[index - 1]);
            }
            return Some(index);
        }
    }
    None
}

/// Whether text is a street with its house number, or has the word of a street.
fn is_street(text: &str) -> bool {
    if !has_digit(text)
        || !text.chars().any(char::is_alphabetic)
        || super::dates::is_spelt(text)
        || text.contains(':')
    {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches([',', '.', '#']).to_owned();
    let is_house = |word: &str| {
        let word = bare(word);
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        (1..=5).contains(&digits) && word.chars().filter(|c| c.is_alphabetic()).count() <= 2
    };
    looks_street(text)
        || looks(text)
        || !entities::is_title(text)
            && words.len() <= 7
            && (is_house(words[0]) || words.iter().skip(1).any(|word| is_house(word)))
}

fn looks_street(text: &str) -> bool {
    STREETS.occur_in(&format!(" {} ", super::view::fold(text)))
}

/// The text of a part, without the commas around it.
pub(crate) fn part_text(view: &View<'_>, span: Span) -> String {
    tidy(&view.text(span)).trim_matches(['.', '-']).trim().to_owned()
}

impl Source<'_, '_> {
    /// The addresses that a label may refer to: next to it, and below it.
    pub(crate) fn address_regions(&self, label: &super::labels::Label) -> Vec<(Vec<Span>, f64)> {
        let view = self.view;
        let mut found = Vec::new();
        let line_end = view.lines[label.line].end;
        let segment = view.segments_of(label.line).iter().find(|segment| segment.end > label.after);
        if label.after < line_end
            && !self.heads_block(label)
            && let Some(segment) = segment
        {
            let region = Span { start: label.after.max(segment.start), end: segment.end };
            found.push((block(self, region, MAX_LINES), object::NEXT_TO_LABEL));
        }
        for line in label.line + 1..(label.line + 1 + LINES_BELOW).min(view.lines.len()) {
            let under = view
                .segments_of(line)
                .iter()
                .find(|segment| view.aligned(segment.span(), label.span))
                .or_else(|| view.segments_of(line).first());
            let marked = under.is_some_and(|under| {
                self.labels.of_line(line).any(|other| other.is_marked && other.span.start == under.start)
            });
            if let Some(under) = under.filter(|_| !marked) {
                let pieces = block(self, under.span(), MAX_LINES);
                // The name above an address is no part of it.
                found.push((pieces, object::BELOW_LABEL));
                break;
            }
        }
        found
    }

    /// Addresses without a label, in the order of the document: a line with a postal code and what is above it.
    pub(crate) fn loose_addresses(&self) -> Vec<Vec<Span>> {
        let view = self.view;
        let mut found: Vec<Vec<Span>> = Vec::new();
        for line in 0..view.lines.len().min(HEAD) {
            for segment in view.segments_of(line) {
                let text = view.text(segment.span());
                if !entities::has_postal(&text) || text.contains('@') || found.len() >= MAX_UNLABELLED {
                    continue;
                }
                let single = parts(view, &[segment.span()]);
                if single.street.is_some() && single.city.is_some() {
                    found.push(vec![segment.span()]);
                    continue;
                }
                let above = line.checked_sub(1).and_then(|above| {
                    view.segments_of(above)
                        .iter()
                        .find(|other| view.aligned(other.span(), segment.span()))
                        .copied()
                });
                if let Some(above) = above {
                    let mut pieces = vec![above.span(), segment.span()];
                    let below = (line + 1 < view.lines.len()).then(|| view.segments_of(line + 1));
                    let below = below.and_then(|segments| {
                        segments.iter().find(|other| view.aligned(other.span(), segment.span()))
                    });
                    pieces.extend(below.map(|below| below.span()).filter(|below| closes(&view.text(*below))));
                    found.push(pieces);
                }
            }
        }
        found
    }
}
