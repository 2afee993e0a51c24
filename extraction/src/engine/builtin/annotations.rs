//! Annotations of a document, independent of any schema: its language, dates, amounts, addresses of mail, numbers of
//! telephones, boxes.

use std::collections::HashMap;

use openapi_core::values::{Email, TextValue};

use super::dates::{self, Order, Written};
use super::numbers::{self, Amount, Mark};
use super::text::has_digit;
use super::view::{Span, View};

/// What the engine finds once for all fields; each list is in the order of the document.
pub(crate) struct Annotations {
    pub(crate) language: Option<&'static str>,
    pub(crate) dates: Vec<Written>,
    pub(crate) order: Order,
    pub(crate) amounts: Vec<Amount>,
    pub(crate) emails: Vec<(Span, String)>,
    pub(crate) phones: Vec<(Span, String)>,
    pub(crate) urls: Vec<(Span, String)>,
    /// The currency that most amounts are written with.
    pub(crate) currency: Option<(&'static str, Span)>,
}

/// Frequent words of the languages that the engine detects by them.
const FREQUENT: [(&str, &str); 17] = [
    (
        "en",
        "the and of to in for is this with by be or as any shall you your total date number thank please from not",
    ),
    (
        "de",
        "der die das und ist nicht mit von zu den ein eine für auf im bei nach wir sie bitte betrag datum rechnung str \
         kunde menge bezeichnung gesamtbetrag",
    ),
    (
        "fr",
        "le la les et des est une dans pour par sur au du que nous vous date montant facture rue ne pas avec tva client \
         prix quantité",
    ),
    (
        "es",
        "el los las y del una por con para que se su fecha importe factura calle no más es al cliente cantidad precio",
    ),
    (
        "it",
        "il gli di della che per con una non sono del dei data importo fattura via nel alla ed cliente quantità prezzo",
    ),
    (
        "pt",
        "os as do da em uma não com para que se seu data valor fatura rua dos das ao cliente quantidade preço emissão",
    ),
    (
        "nl",
        "het een van en niet met voor op te zijn dat wij uw datum bedrag factuur straat aan bij klant aantal btw",
    ),
    (
        "pl",
        "i w na z się nie jest do od oraz dla przez są faktury nr ilość cena zapłaty sprzedawca nabywca razem termin \
         płatności wystawienia kwota ul",
    ),
    (
        "cs",
        "a v na se je že s z do pro není datum číslo faktury dph splatnosti množství popis celkem dodavatel odběratel cena",
    ),
    (
        "da",
        "og i af til den det er ikke på med som der har for beløb moms antal fakturadato sælger køber alt beskrivelse vi",
    ),
    (
        "sv",
        "och i av till den det är inte på med som för att har belopp moms antal fakturadatum säljare köpare betala summa \
         beskrivning vi",
    ),
    (
        "nb",
        "og i av til den det er ikke på med som for har beløp mva antall fakturadato selger kjøper sum beskrivelse vi",
    ),
    (
        "fi",
        "ja on ei että se oli myös sekä joka laskun päiväys eräpäivä yhteensä määrä myyjä ostaja alv asiakas kuvaus",
    ),
    (
        "hu",
        "a az és hogy nem egy is van számla összesen fizetési határidő mennyiség vevő eladó áfa nettó bruttó kelte összeg",
    ),
    (
        "ro",
        "și de la în cu pe nu este care din pentru sau factura facturii data furnizor cumpărător cantitate preț tva plată",
    ),
    (
        "tr",
        "ve bir bu için ile de da olarak tarihi fatura toplam kdv miktar alıcı satıcı tutar açıklama genel birim ödeme",
    ),
    (
        "id",
        "dan yang di ke dari untuk dengan tidak ini pada adalah tanggal faktur jumlah harga penjual pembeli keterangan ppn \
         bayar",
    ),
];

/// The language that the letters of a text show, if most of them are of one script with one language, or few.
fn by_script(view: &View<'_>) -> Option<&'static str> {
    let (
        mut letters,
        mut japanese,
        mut kana,
        mut han,
        mut hangul,
        mut hebrew,
        mut arabic,
        mut greek,
        mut cyrillic,
        mut ukrainian,
    ) = (0_u32, 0_u32, 0_u32, 0_u32, 0_u32, 0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
    for letter in
        view.words.iter().take(20_000).flat_map(|word| word.text.chars()).filter(|c| c.is_alphabetic())
    {
        letters += 1;
        match letter {
            '\u{3041}'..='\u{30ff}' => kana += 1,
            '\u{3400}'..='\u{9fff}' => {
                han += 1;
                japanese += u32::from(JAPANESE.contains(letter));
            }
            '\u{ac00}'..='\u{d7a3}' => hangul += 1,
            '\u{590}'..='\u{5ff}' => hebrew += 1,
            '\u{600}'..='\u{6ff}' => arabic += 1,
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => greek += 1,
            '\u{400}'..='\u{4ff}' => {
                cyrillic += 1;
                ukrainian += u32::from(matches!(letter.to_lowercase().next(), Some('і' | 'ї' | 'є' | 'ґ')));
            }
            _ => {}
        }
    }
    let is_most = |count: u32| count * 5 >= letters * 2 && count >= MIN_LETTERS;
    match () {
        () if is_most(kana + han) => Some(if kana * 20 >= han || japanese > 0 { "ja" } else { "zh" }),
        () if is_most(hangul) => Some("ko"),
        () if is_most(hebrew) => Some("he"),
        () if is_most(arabic) => Some("ar"),
        () if is_most(greek) => Some("el"),
        () if is_most(cyrillic) => Some(if ukrainian * 50 >= cyrillic { "uk" } else { "ru" }),
        () => None,
    }
}

/// Characters that Japanese writes otherwise than Chinese does, in either of its forms.
const JAPANESE: &str = "払発円売図価駅広桜沢変単検済";
/// A text of fewer letters of a script is none of its languages.
const MIN_LETTERS: u32 = 12;

fn language(view: &View<'_>) -> Option<&'static str> {
    if let Some(language) = by_script(view) {
        return Some(language);
    }
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let of_word: HashMap<&str, Vec<&'static str>> =
        FREQUENT.iter().fold(HashMap::new(), |mut map, (language, words)| {
            for word in words.split_whitespace() {
                map.entry(word).or_insert_with(Vec::new).push(*language);
            }
            map
        });
    for word in view.words.iter().take(20_000) {
        let bare = word.text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        for language in of_word.get(bare.as_str()).into_iter().flatten() {
            *counts.entry(language).or_default() += 1;
        }
    }
    // Ties follow the order of the table, so the result is deterministic.
    let mut best: Option<(&'static str, u32)> = None;
    for (language, _) in &FREQUENT {
        let count = counts.get(language).copied().unwrap_or(0);
        let least = if LARGE.contains(language) { 1 } else { 2 };
        if count > best.map_or(least, |(_, most)| most) {
            best = Some((*language, count));
        }
    }
    best.map(|(language, _)| language)
}

/// Currencies that share their sign, and the one that each language means by it.
const SHARED_SIGNS: [(&str, &str, &str); 4] =
    [("da", "SEK", "DKK"), ("nb", "SEK", "NOK"), ("zh", "JPY", "CNY"), ("is", "SEK", "ISK")];

/// Languages that two words show; of others it takes three.
const LARGE: [&str; 7] = ["en", "de", "fr", "es", "it", "pt", "nl"];

/// The currency that a sign means in a language, by the one that it means elsewhere.
fn currency_in(language: Option<&str>, code: &'static str) -> &'static str {
    let other = SHARED_SIGNS.iter().find(|(of, from, _)| language == Some(of) && *from == code);
    other.map_or(code, |(_, _, to)| to)
}

/// Languages with a comma before the decimals, wherever they are spoken.
const COMMA: [&str; 17] =
    ["de", "fr", "es", "it", "pt", "nl", "pl", "cs", "da", "sv", "nb", "fi", "hu", "ro", "tr", "ru", "uk"];

/// The decimal mark: as the document's numbers show, otherwise as its language suggests.
pub(crate) fn mark(view: &View<'_>, language: Option<&str>) -> Mark {
    match (numbers::mark(view), language) {
        (Mark::Unknown, Some(language)) if COMMA.contains(&language) => Mark::Comma,
        (mark, _) => mark,
    }
}

impl Annotations {
    /// Looks the document through; `hint` is the order of day and month that a schema asks for.
    pub(crate) fn new(view: &View<'_>, hint: Option<Order>) -> Self {
        let language = language(view);
        let dates = dates::find(view);
        let mark = mark(view, language);
        let mut amounts = numbers::find(view, mark);
        amounts.retain(|amount| {
            let near = dates.partition_point(|date| date.span.end <= amount.span.start);
            amount.is_money || !dates.get(near).is_some_and(|date| date.span.overlaps(amount.span))
        });
        for amount in &mut amounts {
            let words = &view.words[amount.span.start..amount.span.end];
            amount.currency = amount.currency.map(|code| {
                let is_written = words.iter().any(|word| word.text.to_uppercase().contains(code));
                if is_written { code } else { currency_in(language, code) }
            });
        }
        let mut by_currency: HashMap<&'static str, (u32, Span)> = HashMap::new();
        for amount in &amounts {
            if let Some(code) = amount.currency {
                by_currency.entry(code).or_insert((0, amount.span)).0 += 1;
            }
        }
        let currency = by_currency
            .into_iter()
            .max_by_key(|(code, (count, _))| (*count, std::cmp::Reverse(*code)))
            .map(|(code, (_, span))| (code, span))
            .or_else(|| loose_currency(view));
        let dollars = amounts.iter().filter(|amount| amount.currency == Some("USD")).take(2).count() == 2;
        let american = language == Some("en") && dollars && currency.is_some_and(|(code, _)| code == "USD");
        let suggested = hint.unwrap_or(if american { Order::MonthFirst } else { Order::DayFirst });
        let order = dates::order(&dates, suggested);
        Annotations {
            language,
            order,
            amounts,
            emails: emails(view),
            phones: phones(view, &dates),
            urls: urls(view),
            currency,
            dates,
        }
    }

    /// The members of a list that lie within a span.
    pub(crate) fn within<T>(list: &[T], span: Span, of: impl Fn(&T) -> Span) -> &[T] {
        let from = list.partition_point(|item| of(item).start < span.start);
        let to = from + list[from..].partition_point(|item| of(item).end <= span.end);
        &list[from..to]
    }

    pub(crate) fn amounts_in(&self, span: Span) -> &[Amount] {
        Annotations::within(&self.amounts, span, |amount| amount.span)
    }

    pub(crate) fn dates_in(&self, span: Span) -> &[Written] {
        Annotations::within(&self.dates, span, |date| date.span)
    }
}

/// A currency code or sign on its own, as in the head of a table.
fn loose_currency(view: &View<'_>) -> Option<(&'static str, Span)> {
    view.words.iter().enumerate().take(50_000).find_map(|(at, word)| {
        let bare = word.text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '€' | '$' | '£'));
        let is_code =
            bare.len() == 3 && bare.chars().all(char::is_uppercase) || matches!(bare, "€" | "$" | "£" | "RM");
        let code = numbers::currency(bare).filter(|_| is_code)?;
        Some((code, Span { start: at, end: at + 1 }))
    })
}

fn emails(view: &View<'_>) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    for (at, word) in view.words.iter().enumerate() {
        if word.text.len() > 300 || !word.text.contains('@') {
            continue;
        }
        for part in word.text.split([',', ';', '|', '<', '>', '(', ')', '[', ']', '"']) {
            let part = part.trim_matches(|c: char| matches!(c, '.' | ':' | '\'' | '*' | '/'));
            let part = part.strip_prefix("mailto:").unwrap_or(part);
            let part = part.rsplit_once(':').map_or(part, |(_, last)| last);
            let is_named = part
                .rsplit('.')
                .next()
                .is_some_and(|end| end.len() >= 2 && end.chars().all(char::is_alphabetic));
            if is_named && Email::parse(part).is_ok() {
                found.push((Span { start: at, end: at + 1 }, part.to_owned()));
            }
        }
    }
    found
}

fn urls(view: &View<'_>) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    for (at, word) in view.words.iter().enumerate() {
        let part = word.text.trim_matches(|c: char| {
            matches!(c, ',' | ';' | '|' | '<' | '>' | '(' | ')' | '[' | ']' | '"' | '.')
        });
        let lower = part.get(..8).unwrap_or(part).to_ascii_lowercase();
        if (lower.starts_with("http://") || lower.starts_with("https://") || lower.starts_with("www."))
            && part.len() < 2_048
        {
            found.push((Span { start: at, end: at + 1 }, part.to_owned()));
        }
    }
    found
}

/// Groups of digits with the marks of telephone numbers: 7 to 15 digits, beginning with `+`, `0`, `(` or a few digits
/// and a mark.
fn phones(view: &View<'_>, dates: &[Written]) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let fits = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '+' | '(' | ')' | '-' | '/' | '.' | '–'))
            && has_digit(text)
    };
    let mut at = 0;
    while at < view.words.len() {
        let line = view.words[at].line;
        let bare =
            |index: usize| view.words[index].text.trim_matches(|c: char| matches!(c, ',' | ';' | '|' | '.'));
        if !fits(bare(at)) || dates.binary_search_by_key(&at, |date| date.span.start).is_ok() {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < view.words.len()
            && end < at + 7
            && view.words[end].line == line
            && view.words[end].gap <= 2
            && (fits(bare(end)) || matches!(bare(end), "-" | "/"))
        {
            end += 1;
        }
        let text = view.text(Span { start: at, end });
        let text = text.trim_matches(|c: char| matches!(c, ',' | ';' | '|' | '.' | '-' | '/')).to_owned();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let begins = text.starts_with(['+', '0', '(']);
        let has_marks = text.contains(['-', ' ', '/', '(']) || text.matches('.').count() >= 2;
        let looks = (7..=15).contains(&digits)
            && (begins && (has_marks || text.starts_with('+') || digits >= 9) || has_marks && digits >= 9);
        if looks && text.len() <= 32 {
            found.push((Span { start: at, end }, text));
        }
        at = end;
    }
    found
}

/// The boxes in a region: their first word, the word after them, and whether they are ticked.
pub(crate) fn boxes(view: &View<'_>, region: Span) -> Vec<(usize, usize, bool)> {
    let mut found = Vec::new();
    let mut at = region.start;
    while at < region.end {
        let length = box_at(view, at, region.end);
        if let Some((length, ticked)) = length {
            found.push((at, at + length, ticked));
            at += length;
        } else {
            at += 1;
        }
    }
    found
}

/// The box that begins at a word: how many words it has, and whether it is ticked.
pub(crate) fn box_at(view: &View<'_>, at: usize, end: usize) -> Option<(usize, bool)> {
    let word = |at: usize| (at < end).then(|| view.words[at].text);
    let lower = view.words[at].text.to_lowercase();
    let bare = lower.trim_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '*' | '_' | '"'));
    if let Some(ticked) = box_of(bare) {
        return Some((1, ticked));
    }
    let opens = matches!(view.words[at].text, "[" | "(");
    match (word(at + 1), word(at + 2)) {
        (Some("]" | ")"), _) if opens => Some((2, false)),
        (Some("x" | "X" | "✓" | "✔"), Some("]" | ")")) if opens => Some((3, true)),
        _ => None,
    }
}

/// What a region answers: the boxes that are ticked, or a word for yes or no.
pub(crate) fn answer(view: &View<'_>, region: Span) -> Option<(bool, Span)> {
    let mut boxes: Vec<(usize, usize, bool)> = Vec::new();
    let mut words: Vec<(usize, bool)> = Vec::new();
    let end = region.end.min(region.start + 14);
    let mut at = region.start;
    while at < end {
        let text = view.words[at].text;
        let lower = text.to_lowercase();
        let bare = lower.trim_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '*' | '_' | '"'));
        if let Some((length, ticked)) = box_at(view, at, end) {
            boxes.push((at, at + length, ticked));
            at += length - 1;
        } else if let Some((mark, word)) = bare.split_at_checked(3).filter(|(mark, _)| box_of(mark).is_some())
            && let (Some(ticked), Some(yes)) = (box_of(mark), truth(word))
        {
            boxes.push((at, at + 1, ticked));
            words.push((at, yes));
        } else if let Some(yes) = truth(bare) {
            words.push((at, yes));
        }
        at += 1;
    }
    if boxes.is_empty() {
        let &(at, yes) = words.first()?;
        // Only at the beginning: `No 5` is no answer, `no later than` neither.
        let alone = at == region.start
            && (region.end - at == 1
                || view.words[at].text.ends_with(['.', ',', ';'])
                || view.words[at + 1].gap >= 2);
        return alone.then_some((yes, Span { start: at, end: at + 1 }));
    }
    let ticked: Vec<&(usize, usize, bool)> = boxes.iter().filter(|(_, _, ticked)| *ticked).collect();
    if words.is_empty() {
        // A single box that decides.
        let [(from, to, ticked)] = boxes.as_slice() else { return None };
        return Some((*ticked, Span { start: *from, end: *to }));
    }
    let [(from, to, _)] = ticked.as_slice() else { return None };
    let before_words = boxes[0].0 <= words[0].0;
    let chosen = if before_words {
        words.iter().find(|(at, _)| *at + 1 >= *to)
    } else {
        words.iter().rev().find(|(at, _)| *at <= *from)
    };
    chosen.map(|&(at, yes)| (yes, Span { start: at.min(*from), end: (at + 1).max(*to) }))
}

fn box_of(text: &str) -> Option<bool> {
    match text {
        "☒" | "☑" | "✓" | "✔" | "✗" | "✘" | "[x]" | "(x)" | "[✓]" | "[v]" | "■" | "▣" | "🗹" | "|x|"
        | "[*]" => Some(true),
        "☐" | "□" | "[]" | "()" | "[_]" | "▢" | "❏" | "[-]" => Some(false),
        _ => None,
    }
}

/// A word for yes or no.
pub(crate) fn truth(word: &str) -> Option<bool> {
    match word {
        "yes" | "y" | "true" | "ja" | "oui" | "si" | "sí" | "sì" | "sim" | "wahr" | "vrai" | "vero"
        | "verdadero" | "checked" | "x" | "✓" | "allowed" | "on" => Some(true),
        "no" | "n" | "false" | "nein" | "non" | "não" | "nao" | "nee" | "falsch" | "faux" | "falso"
        | "unchecked" | "none" | "off" => Some(false),
        _ => None,
    }
}
