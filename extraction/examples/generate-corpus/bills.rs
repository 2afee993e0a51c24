//! Amounts, dates and names as a document writes them.

use serde_json::{Value, json};

use super::random::Random;
use super::words::{Language, any, list};

/// How one document writes.
pub struct Style {
    pub language: Language,
    date: u64,
    currency: &'static str,
    before: bool,
}

impl Style {
    pub fn any(random: &mut Random) -> Self {
        let language = Language::any(random);
        let english = [("£", true), ("$", true), ("GBP ", true), ("", true)];
        let other = [(" €", false), ("€ ", true), (" EUR", false), ("", true)];
        let (currency, before) = *random.pick(if language == Language::English { &english } else { &other });
        Style { language, date: random.below(4), currency, before }
    }

    /// Hundredths, as they are written.
    pub fn number(&self, hundredths: u64) -> String {
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let digits = whole.to_string();
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                grouped.push(if self.language.comma() { '.' } else { ',' });
            }
            grouped.push(digit);
        }
        format!("{grouped}{}{rest:02}", if self.language.comma() { ',' } else { '.' })
    }

    pub fn money(&self, hundredths: u64) -> String {
        let number = self.number(hundredths);
        if self.before { format!("{}{number}", self.currency) } else { format!("{number}{}", self.currency) }
    }

    /// A date as it is written, and as it is.
    pub fn date(&self, random: &mut Random) -> (String, String) {
        let (year, month, day) = (random.range(2012, 2027), random.range(1, 12), random.range(1, 28));
        let name = self.language.words("months")[(month - 1) as usize];
        let written = match (self.date, self.language) {
            (0, Language::English) => format!("{day} {name} {year}"),
            (1, Language::English) => format!("{name} {day}, {year}"),
            (0, Language::German) => format!("{day}. {name} {year}"),
            (0, Language::Spanish) => format!("{day} de {name} de {year}"),
            (0, _) => format!("{day} {name} {year}"),
            (2, _) => format!("{year}-{month:02}-{day:02}"),
            (_, Language::German) => format!("{day:02}.{month:02}.{year}"),
            _ => format!("{day:02}/{month:02}/{year}"),
        };
        (written, format!("{year}-{month:02}-{day:02}"))
    }
}

pub fn amount(hundredths: u64) -> Value {
    json!(hundredths as f64 / 100.0)
}

pub fn person(random: &mut Random) -> String {
    format!("{} {}", any("first name", random), any("last name", random))
}

pub fn company(style: &Style, random: &mut Random) -> String {
    format!("{} {}", any("company", random), style.language.words("legal form")[0])
}

pub fn email(random: &mut Random) -> String {
    let name = any("last name", random).to_lowercase();
    format!(
        "{}{}@{}",
        name,
        random.range(1, 99),
        random.pick(&["example.com", "mail.example.org", "post.example.net"])
    )
}

pub fn code(random: &mut Random) -> String {
    let letters = *random.pick(&["INV", "R", "A", "2026", "FA", "NX"]);
    let mark = *random.pick(&["-", "", "/"]);
    format!("{letters}{mark}{}", random.range(1_000, 999_999))
}

/// An address: its lines as written, and its parts.
pub fn address(random: &mut Random) -> (Vec<String>, Value) {
    let street = any("street", random);
    let town = random.pick(list("town"));
    let (postal, city, country) = (town[0], town[1], town[2]);
    let town = if postal.contains(' ') { format!("{city} {postal}") } else { format!("{postal} {city}") };
    let parts = json!({ "street": street, "postal_code": postal, "city": city, "country": country });
    (vec![street.to_owned(), town, country.to_owned()], parts)
}
