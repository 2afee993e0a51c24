//! Dates in the world's usual notations, with the order of day and month that the document itself shows.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::text::{ascii_digits, has_digit};
use super::view::{Span, View, fold};
use super::vocabulary::BEFORE_DATE_OF_TIME;

/// The names of months in their folded forms, from January.
const MONTHS: [&str; 12] = [
    "jan january januar janner janvier janv enero ene gennaio gen januari janeiro leden ledna stycznia styczen ianuarie \
     tammikuu tammikuuta ocak января январь січня січень ιανουαριου ιανουαριος يناير ינואר בינואר",
    "feb february februar feber fevrier fevr fev febrero febbraio februari fevereiro unor unora lutego luty februarie \
     helmikuu helmikuuta subat февраля февраль лютого лютий φεβρουαριου φεβρουαριος فبراير פברואר בפברואר",
    "mar march marz maerz mrz mars marzo maart marco brezen brezna marca marzec marcius martie marts maaliskuu \
     maaliskuuta maret mart марта март березня березень μαρτιου μαρτιος مارس מרץ במרץ מרס במרס",
    "apr april avril avr abril abr aprile duben dubna kwietnia kwiecien aprilis aprilie huhtikuu huhtikuuta nisan \
     апреля апрель квітня квітень απριλιου απριλιος أبريل ابريل إبريل אפריל באפריל",
    "may mai mayo maggio mag mei maio kveten kvetna maja maj majus toukokuu toukokuuta mayis mayıs мая май травня \
     травень μαιου μαιος مايو מאי במאי",
    "jun june juni juin junio giugno giu junho cerven cervna czerwca czerwiec junius iunie kesakuu kesakuuta haziran \
     июня июнь червня червень ιουνιου ιουνιος يونيو יוני ביוני",
    "jul july juli juillet juil julio luglio lug julho cervenec cervence lipca lipiec julius iulie heinakuu heinakuuta \
     temmuz июля июль липня липень ιουλιου ιουλιος يوليو יולי ביולי",
    "aug august aout agosto ago augustus srpen srpna sierpnia sierpien augusztus augusti elokuu elokuuta agustus agustos \
     августа август серпня серпень αυγουστου αυγουστος أغسطس אוגוסט באוגוסט",
    "sep sept september septembre septiembre settembre set setembro zari wrzesnia wrzesien szeptember septembrie syyskuu \
     syyskuuta eylul сентября сентябрь вересня вересень σεπτεμβριου σεπτεμβριος سبتمبر ספטמבר בספטמבר",
    "oct october okt oktober octobre octubre ottobre ott outubro rijen rijna pazdziernika pazdziernik octombrie lokakuu \
     lokakuuta ekim октября октябрь жовтня жовтень οκτωβριου οκτωβριος أكتوبر אוקטובר באוקטובר",
    "nov november novembre noviembre novembro listopadu listopad listopada noiembrie marraskuu marraskuuta nopember \
     kasim kasım ноября ноябрь листопада листопад νοεμβριου νοεμβριος نوفمبر נובמבר בנובמבר",
    "dec december dez dezember decembre diciembre dic dicembre dezembro prosinec prosince grudnia grudzien decembrie \
     joulukuu joulukuuta desember aralik aralık декабря декабрь грудня грудень δεκεμβριου δεκεμβριος ديسمبر דצמבר בדצמבר",
];
/// Other years are misread.
const YEARS: std::ops::RangeInclusive<i16> = 1700..=2199;

/// Whether the day or the month is written first in dates of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    DayFirst,
    MonthFirst,
}

/// A date as the document writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) span: Span,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Year, month, day.
    Certain(i16, i8, i8),
    /// Two numbers of at most 12 or one of them over 12, and the year.
    Numbers(i8, i8, i16),
}

impl Written {
    /// The day as `YYYY-MM-DD`, and whether the other order would be a date as well.
    pub(crate) fn iso(&self, order: Order) -> Option<(String, bool)> {
        let (year, month, day, other) = match self.form {
            Form::Certain(year, month, day) => (year, month, day, false),
            Form::Numbers(first, second, year) => match order {
                Order::DayFirst if second <= 12 => (year, second, first, first <= 12 && first != second),
                Order::MonthFirst if first <= 12 => (year, first, second, second <= 12 && first != second),
                Order::DayFirst => (year, first, second, false),
                Order::MonthFirst => (year, second, first, false),
            },
        };
        let date = jiff::civil::Date::new(year, month, day).ok()?;
        Some((date.to_string(), other))
    }
}

pub(crate) fn month_of(word: &str) -> Option<i8> {
    let folded = fold(word);
    if folded.len() < 3 {
        return None;
    }
    static NUMBERS: OnceLock<HashMap<String, i8>> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| {
        let months = (1..).zip(MONTHS);
        months.flat_map(|(month, names)| names.split(' ').map(move |name| (fold(name), month))).collect()
    });
    numbers.get(folded.as_str()).copied()
}

/// Whether text is a day with the name of its month, and nothing else.
pub(crate) fn is_spelt(text: &str) -> bool {
    let mut months = 0;
    let is_part = |word: &str| {
        let bare = word.trim_matches([',', '.']);
        let is_month = month_of(bare).is_some();
        months += i32::from(is_month);
        is_month || bare.starts_with(|c: char| c.is_ascii_digit())
    };
    text.split_whitespace().all(is_part) && months == 1
}

fn year_of(text: &str) -> Option<i16> {
    let text = text.trim_start_matches(['\'', '’']);
    let year: i16 = text.parse().ok()?;
    match text.len() {
        4 if YEARS.contains(&year) => Some(year),
        2 if year < 70 => Some(2000 + year),
        2 => Some(1900 + year),
        _ => None,
    }
}

fn day_of(text: &str) -> Option<i8> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let ending = &text[digits.len()..];
    let known = matches!(
        ending.trim_matches(['.', ',']).to_ascii_lowercase().as_str(),
        "" | "st" | "nd" | "rd" | "th" | "er" | "º" | "°"
    );
    let day: i8 = digits.parse().ok().filter(|_| digits.len() <= 2 && known)?;
    (1..=31).contains(&day).then_some(day)
}

/// `2026年3月9日`, `2026년3월9일`
fn of_signs(text: &str) -> Option<Form> {
    let (year, rest) = text.split_once(['年', '년'])?;
    let (month, rest) = rest.split_once(['月', '월'])?;
    let day = rest.strip_suffix(['日', '일']).unwrap_or(rest);
    certain(year_of(year.trim())?, month.trim().parse().ok()?, day.trim().parse().ok()?)
}

/// The day that eight digits write, `20260309`; only a label tells that they are a date.
pub(crate) fn of_digits(text: &str, span: Span) -> Option<Written> {
    let text = ascii_digits(trimmed(text));
    let is_date = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (year, rest) = text.split_at_checked(4).filter(|_| is_date)?;
    let form = certain(year_of(year)?, rest[..2].parse().ok()?, rest[2..].parse().ok()?)?;
    Some(Written { span, form })
}

/// A date of numbers in one word: `18/01/2018`, `2018-01-18T10:00`, `24-11-17`.
fn numeric(text: &str) -> Option<Form> {
    let text: &str = &ascii_digits(text);
    if let Some(form) = of_signs(text) {
        return Some(form);
    }
    // The time of an ISO timestamp follows a digit.
    let time = text
        .char_indices()
        .find(|(at, c)| matches!(c, 'T' | 't') && text[..*at].ends_with(|c: char| c.is_ascii_digit()));
    let text = time.map_or(text, |(at, _)| &text[..at]);
    for mark in ['/', '-', '.', '–'] {
        let parts: Vec<&str> = text.split(mark).filter(|part| !part.is_empty()).collect();
        let [a, b, c] = parts.as_slice() else { continue };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if digits(a) && digits(b) && digits(c) {
            if a.len() == 4 && b.len() <= 2 && c.len() <= 2 {
                return certain(year_of(a)?, b.parse().ok()?, c.parse().ok()?);
            }
            if a.len() > 2 || b.len() > 2 || !matches!(c.len(), 2 | 4) {
                return None;
            }
            let (first, second) = (a.parse().ok()?, b.parse().ok()?);
            let fits =
                (1..=31).contains(&first) && (1..=31).contains(&second) && (first <= 12 || second <= 12);
            return fits.then_some(Form::Numbers(first, second, year_of(c)?));
        }
        // `15-Nov-2020`, `Nov-15-2020`
        if let (Some(month), true, true) = (month_of(b), digits(a), digits(c)) {
            return if a.len() == 4 {
                certain(year_of(a)?, month, day_of(c)?)
            } else {
                certain(year_of(c)?, month, day_of(a)?)
            };
        }
        if let (Some(month), true, true) = (month_of(a), digits(b), digits(c)) {
            return certain(year_of(c)?, month, day_of(b)?);
        }
    }
    None
}

/// A date of letters and digits without marks: `19MAR2018`.
fn fused(text: &str) -> Option<Form> {
    if !text.is_ascii() || !(7..=14).contains(&text.len()) {
        return None;
    }
    let letters = text.find(|c: char| c.is_ascii_alphabetic())?;
    let rest = &text[letters..];
    let digits = rest.find(|c: char| c.is_ascii_digit())?;
    let (month, year) = rest.split_at(digits);
    if letters == 0 {
        return None;
    }
    certain(year_of(year)?, month_of(month)?, day_of(&text[..letters])?)
}

fn certain(year: i16, month: i8, day: i8) -> Option<Form> {
    jiff::civil::Date::new(year, month, day).ok().map(|_| Form::Certain(year, month, day))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| {
        matches!(c, ',' | ';' | ':' | '-' | '–' | '(' | ')' | '[' | ']' | '"' | '“' | '”' | '*' | '.' | '|')
    })
}

/// The date that begins at the first of some words of a line, and how many words it has.
fn at(words: &[&str]) -> Option<(Form, usize)> {
    let first = trimmed(words.first()?);
    if first.is_empty() {
        return None;
    }
    // `2026년 3월 9일`, `2026 年 3 月 9 日`
    if words[0].contains(['年', '년']) || words.get(1).is_some_and(|word| word.starts_with(['年', '년']))
    {
        let dated = (1..=words.len().min(6)).find_map(|length| {
            let joined = ascii_digits(&words[..length].concat()).into_owned();
            let form = joined.contains(['日', '일']).then(|| of_signs(trimmed(&joined))).flatten()?;
            Some((form, length))
        });
        if dated.is_some() {
            return dated;
        }
    }
    // A label may touch its date: `DATE:18/01/2018`.
    if let Some(form) = numeric(first).or_else(|| fused(first)) {
        return Some((form, 1));
    }
    if let Some((_, last)) = first.rsplit_once(':')
        && let Some(form) = numeric(trimmed(last)).or_else(|| fused(last))
    {
        return Some((form, 1));
    }
    let filler = |word: &str| matches!(fold(word).as_str(), "of" | "de" | "day" | "del" | "di" | "");
    let next = |mut at: usize| {
        while at < words.len().min(6) && filler(words[at]) {
            at += 1;
        }
        words.get(at).map(|word| (at, trimmed(word)))
    };
    // `18 / 01 / 2018`
    if let [a, s1, b, s2, c, ..] = words
        && s1 == s2
        && matches!(*s1, "/" | "-" | ".")
    {
        return numeric(&format!("{a}/{b}/{}", trimmed(c))).map(|form| (form, 5));
    }
    // `18 January 2018`, `1st day of March, 2018`, `12 de enero de 2018`
    if let Some(day) = day_of(first) {
        let (at_month, month) = next(1)?;
        // `19 Mar-2018`
        if let Some((month, year)) = month.split_once(['-', '/', '.', ','])
            && let (Some(month), Some(year)) = (month_of(month), year_of(trimmed(year)))
        {
            return certain(year, month, day).map(|form| (form, at_month + 1));
        }
        let month = month_of(month)?;
        let (at_year, year) = next(at_month + 1)?;
        return certain(year_of(year)?, month, day).map(|form| (form, at_year + 1));
    }
    // `2026. március 9.`, `2026 年 3 月 9 日`
    if let Some(year) = year_of(&ascii_digits(first)).filter(|_| first.chars().count() == 4) {
        let (at_month, month) = next(1)?;
        let month = month_of(month)?;
        let (at_day, day) = next(at_month + 1)?;
        return certain(year, month, day_of(day)?).map(|form| (form, at_day + 1));
    }
    // `January 18, 2018`, `January 18th 2018`, `Jan 18,2018`
    if let Some(month) = month_of(first) {
        let (at_day, day) = next(1)?;
        if let Some((day, year)) = day.split_once(',')
            && let (Some(day), Some(year)) = (day_of(day), year_of(year))
        {
            return certain(year, month, day).map(|form| (form, at_day + 1));
        }
        let day = day_of(day)?;
        let (at_year, year) = next(at_day + 1)?;
        return certain(year_of(year).filter(|_| year.len() == 4)?, month, day)
            .map(|form| (form, at_year + 1));
    }
    None
}

/// Whether a line that ends before a word ends within a date: `the 4th day of`, `on March 4,`, `4 March`.
fn runs_on(view: &View<'_>, end: usize) -> bool {
    let last = view.words[end - 1].text;
    let of_month = |at: usize| month_of(trimmed(view.words[at].text)).is_some();
    matches!(fold(last).as_str(), "of" | "de")
        || of_month(end - 1)
        || last.ends_with(',') && end > 1 && of_month(end - 2)
}

/// Every date of the document, each word looked at with the few that follow.
pub(crate) fn find(view: &View<'_>) -> Vec<Written> {
    let mut found = Vec::new();
    for line in 0..view.lines.len() {
        let span = view.line_span(line);
        let mut start = span.start;
        while start < span.end {
            // A date may run over the end of a line of prose.
            let end = (start + 7).min(view.words.len());
            let candidate = &view.words[start].text;
            let is_worth = has_digit(candidate) || month_of(candidate).is_some();
            let date = is_worth.then(|| {
                let words: Vec<&str> = view.words[start..end]
                    .iter()
                    .take_while(|word| word.line <= line + 1)
                    .map(|word| word.text)
                    .collect();
                at(&words)
            });
            match date.flatten() {
                Some((form, length)) if start + length <= span.end || runs_on(view, span.end) => {
                    found.push(Written { span: Span { start, end: start + length }, form });
                    start += length;
                }
                _ => start += 1,
            }
        }
    }
    found
}

/// The order of day and month that the document shows by dates that can be read one way only; else what its language
/// and currency suggest.
pub(crate) fn order(dates: &[Written], suggested: Order) -> Order {
    let (mut day, mut month) = (0, 0);
    for date in dates {
        if let Form::Numbers(first, second, _) = date.form {
            day += u32::from(first > 12);
            month += u32::from(second > 12);
        }
    }
    match day.cmp(&month) {
        std::cmp::Ordering::Greater => Order::DayFirst,
        std::cmp::Ordering::Less => Order::MonthFirst,
        std::cmp::Ordering::Equal => suggested,
    }
}

/// A time of day: hour, minute, second.
pub(crate) type Clock = (i8, i8, i8);

/// The time of day in the words after a date: `10:27:03`, `3:43 PM`.
#[cfg(any(test, feature = "model"))]
pub(crate) fn time(words: &[&str]) -> Option<Clock> {
    (0..words.len().min(3)).find_map(|at| clock(&words[at..])).map(|(clock, _)| clock)
}

/// The time of day that begins at the first of some words, and how many words it has.
fn clock(words: &[&str]) -> Option<(Clock, usize)> {
    let word = trimmed(words.first()?).to_ascii_lowercase();
    let (digits, own_half) = match (word.strip_suffix("pm"), word.strip_suffix("am")) {
        (Some(digits), _) => (digits, Some(true)),
        (_, Some(digits)) => (digits, Some(false)),
        _ => (word.as_str(), None),
    };
    let is_whole_hour = own_half.is_some()
        || matches!(
            words.get(1).map(|next| fold(next)).as_deref(),
            Some("pm" | "am" | "p.m" | "a.m" | "uhr")
        );
    let (hour, minute, second) = written_clock(digits).or_else(|| {
        digits.parse().ok().filter(|_| is_whole_hour && digits.len() <= 2).map(|hour| (hour, 0, 0))
    })?;
    let next_half = || match trimmed(words.get(1)?).to_ascii_lowercase().as_str() {
        "pm" | "p.m" => Some(true),
        "am" | "a.m" => Some(false),
        _ => None,
    };
    let (half, length) = match own_half {
        Some(half) => (Some(half), 1),
        None => next_half().map_or((None, 1), |half| (Some(half), 2)),
    };
    let hour = match half {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        _ => hour,
    };
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    is_time.then_some(((hour, minute, second), length))
}

/// Hour, minute and second as they are written, `10:27` or `10:27:03`; they may be no time of a day.
fn written_clock(text: &str) -> Option<Clock> {
    // `14h30`
    let parts: Vec<i8> = text
        .split([':', 'h'])
        .filter(|part| !part.is_empty() || text.contains(':'))
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    match parts.as_slice() {
        [hour, minute] => Some((*hour, *minute, 0)),
        [hour, minute, second] => Some((*hour, *minute, *second)),
        _ => None,
    }
}

/// The time and the offset of RFC 3339, after the `T`: `10:00:00Z`, `10:00+02:00`.
pub(crate) fn iso_time(text: &str) -> Option<(Clock, String)> {
    let (_, time) = text.split_once(['T', 't'])?;
    let is_clock = |c: char| c == ':' || c.is_ascii_digit();
    let clock = time.get(..time.find(|c| !is_clock(c)).unwrap_or(time.len()))?;
    let rest = time.get(clock.len()..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    Some((written_clock(clock)?, offset(rest)?))
}

/// An offset as RFC 3339 has it; nothing is `Z`.
fn offset(text: &str) -> Option<String> {
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "" | "Z" | "z" | "UTC" | "GMT" => Some("Z".to_owned()),
        _ => {
            let (sign, rest) = text.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-"))?;
            let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
            (digits(hours) && digits(minutes)).then(|| format!("{sign}{hours}:{minutes}"))
        }
    }
}

/// The time of a date, as RFC 3339 writes it after the day, and the words of both; `None` if the text has only the date.
pub(crate) fn with_time(view: &View<'_>, date: Span) -> Option<(String, Span)> {
    let line = view.line_span(view.words[date.start].line);
    let shown = |((hour, minute, second), offset): (Clock, String)| {
        format!("T{hour:02}:{minute:02}:{second:02}{offset}")
    };
    if let Some(time) = iso_time(trimmed(view.words[date.end - 1].text)) {
        return Some((shown(time), date));
    }
    let after: Vec<&str> =
        view.words[date.end..(date.end + 4).min(line.end)].iter().map(|word| word.text).collect();
    for at in 0..after.len().min(3) {
        // `2026-01-15 10:00:00+02:00`
        if let Some(time) = iso_time(&format!("T{}", trimmed(after[at]))) {
            let mut until = at + 1;
            let next = after
                .get(until)
                .and_then(|next| offset(trimmed_of_offset(next)).filter(|_| !next.is_empty()));
            let time = match next {
                Some(offset) if time.1 == "Z" => {
                    until += 1;
                    (time.0, offset)
                }
                _ => time,
            };
            // `3:43 PM` is no time of RFC 3339.
            if clock(&after[at..]).is_none_or(|(clock, length)| length == 1 && clock == time.0) {
                return Some((shown(time), Span { start: date.start, end: date.end + until }));
            }
        }
        if let Some((clock, length)) = clock(&after[at..]) {
            let end = date.end + at + length;
            return Some((shown((clock, "Z".to_owned())), Span { start: date.start, end }));
        }
    }
    // `10:30 15.01.2026`, `at 14:30 on 3 May 2024`, `2 p.m., Monday, 3 May 2024`
    let least = date.start.saturating_sub(WORDS_BEFORE).max(line.start);
    (least..date.start).rev().find_map(|before| {
        let words: Vec<&str> = view.words[before..date.start].iter().map(|word| word.text).collect();
        let (clock, length) = clock(&words)?;
        let is_joined = words[length..]
            .iter()
            .all(|word| BEFORE_DATE_OF_TIME.has(&fold(word)) || !has_digit(word) && word.ends_with(','));
        is_joined.then(|| (shown((clock, "Z".to_owned())), Span { start: before, end: date.end }))
    })
}

/// The most words before a date in which its time may be.
const WORDS_BEFORE: usize = 6;

/// A word that may be an offset, without what separates it from others.
fn trimmed_of_offset(word: &str) -> &str {
    word.trim_matches([',', ';', '(', ')'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, order: Order) -> Option<(String, bool, usize)> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (form, length) = at(&words)?;
        let written = Written { span: Span { start: 0, end: length }, form };
        written.iso(order).map(|(iso, other)| (iso, other, length))
    }

    #[test]
    fn usual_notations() {
        for text in [
            "18/01/2018",
            "2018-01-18",
            "18.01.2018",
            "18-Jan-2018",
            "18 January 2018",
            "January 18, 2018",
            "18JAN2018",
            "18. Januar 2018",
            "18 janvier 2018",
            "18 de enero de 2018",
            "18 gennaio 2018,",
            "18/01/18",
            "Jan 18,2018",
            "18th day of January, 2018",
            "18 / 01 / 2018",
            "DATE:18/01/2018",
            "2018-01-18T10:00:00Z",
            "(18.1.2018)",
        ] {
            assert_eq!(read(text, Order::DayFirst).unwrap().0, "2018-01-18", "{text}");
        }
        for text in [
            "32/01/2018",
            "18/13/2018",
            "1.234.567",
            "10:27:03",
            "Mai",
            "may be 2 or",
            "30.02.2018",
            "1-2-3",
            "12.50",
        ] {
            assert_eq!(read(text, Order::DayFirst), None, "{text}");
        }
    }

    #[test]
    fn the_order_decides_where_both_are_dates() {
        assert_eq!(read("03/04/2026", Order::DayFirst).unwrap(), ("2026-04-03".to_owned(), true, 1));
        assert_eq!(read("03/04/2026", Order::MonthFirst).unwrap(), ("2026-03-04".to_owned(), true, 1));
        assert_eq!(read("13/04/2026", Order::MonthFirst).unwrap(), ("2026-04-13".to_owned(), false, 1));
        assert_eq!(read("04/04/2026", Order::MonthFirst).unwrap(), ("2026-04-04".to_owned(), false, 1));
    }

    #[test]
    fn times_of_day() {
        assert_eq!(time(&["10:27:03"]), Some((10, 27, 3)));
        assert_eq!(time(&["3:43", "PM"]), Some((15, 43, 0)));
        assert_eq!(time(&["12:05am"]), Some((0, 5, 0)));
        assert_eq!(time(&["25:00"]), None);
        let utc = |clock| Some((clock, "Z".to_owned()));
        assert_eq!(iso_time("2026-01-15T10:00:00Z"), utc((10, 0, 0)));
        assert_eq!(iso_time("2026-01-15T10:00:07.123Z"), utc((10, 0, 7)));
        assert_eq!(iso_time("2026-01-15T10:00"), utc((10, 0, 0)));
        assert_eq!(iso_time("2026-01-15T10:00:00-0530"), Some(((10, 0, 0), "-05:30".to_owned())));
        for text in ["2026-01-15", "T10", "T10:00:00X", "T10:00+2", "Tuesday"] {
            assert_eq!(iso_time(text), None, "{text}");
        }
    }
}
