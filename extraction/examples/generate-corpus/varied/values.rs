//! Values as the varied documents write them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::random::Random;

pub const WORDS: &str = include_str!("words.txt");

static LISTS: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let lines = WORDS.lines().filter(|line| !line.starts_with('#'));
    let lists = lines.filter_map(|line| line.split_once(": "));
    lists.map(|(name, entries)| (name, entries.split(" | ").collect())).collect()
});

/// An entry of a list.
pub fn any(list: &str, random: &mut Random) -> &'static str {
    random.pick::<&str>(&LISTS[list])
}

/// A label in a language, one of several.
pub fn label(list: &str, language: usize, random: &mut Random) -> &'static str {
    let labels: Vec<&str> = LISTS[list][language].split("; ").collect();
    random.pick::<&str>(&labels)
}

const MONTHS: [&str; 6] = [
    "January February March April May June July August September October November December",
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "ledna února března dubna května června července srpna září října listopadu prosince",
];

/// How one document writes.
pub struct Style {
    /// English, German, French, Dutch.
    pub language: usize,
    date: u64,
    number: u64,
    currency: (&'static str, bool),
    foreign_month: bool,
}

impl Style {
    pub fn any(random: &mut Random) -> Self {
        let language = *random.pick(&[0, 0, 0, 1, 2, 3]);
        let currency = match language {
            0 => *random.pick(&[("£", true), ("$", true), ("NZ$", true), (" GBP", false), ("", true)]),
            _ => *random.pick(&[(" €", false), ("€ ", true), (" CHF", false), ("EUR ", true)]),
        };
        let number = if language == 0 { *random.pick(&[0, 0, 0, 3]) } else { *random.pick(&[1, 1, 2]) };
        Style { language, date: random.below(5), number, currency, foreign_month: random.chance(12) }
    }

    pub fn number(&self, hundredths: u64) -> String {
        let (thousands, mark) = [(",", "."), (".", ","), (" ", ","), ("'", ".")][self.number as usize];
        let digits = (hundredths / 100).to_string();
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                grouped.push_str(thousands);
            }
            grouped.push(digit);
        }
        format!("{grouped}{mark}{:02}", hundredths % 100)
    }

    pub fn money(&self, hundredths: u64) -> String {
        let (sign, before) = self.currency;
        let number = self.number(hundredths);
        if before { format!("{sign}{number}") } else { format!("{number}{sign}") }
    }

    /// A date as it is written, and as it is.
    pub fn date(&self, random: &mut Random) -> (String, String) {
        let (year, month, day) = (random.range(1998, 2031), random.range(1, 12), random.range(1, 28));
        let of = if self.foreign_month && self.language == 0 {
            4 + random.below(2) as usize
        } else {
            self.language
        };
        let name = MONTHS[of].split(' ').nth(month as usize - 1).unwrap_or_default();
        let written = match self.date {
            0 => format!("{day} {name} {year}"),
            1 => format!("{year}-{month:02}-{day:02}"),
            2 if self.language == 0 => format!("{name} {day}, {year}"),
            3 if self.language == 1 => format!("{day}. {name} {year}"),
            _ if self.language == 1 => format!("{day:02}.{month:02}.{year}"),
            _ => format!("{day:02}/{month:02}/{year}"),
        };
        (written, format!("{year}-{month:02}-{day:02}"))
    }

    pub fn yes(&self, yes: bool) -> &'static str {
        [["No", "Yes"], ["Nein", "Ja"], ["Non", "Oui"], ["Nee", "Ja"]][self.language][usize::from(yes)]
    }

    /// A value of a kind: as it is written, and as it is.
    pub fn value(&self, kind: &str, random: &mut Random) -> (String, Value) {
        let same = |text: String| (text.clone(), Value::from(text));
        match kind {
            "company" => same(company(random)),
            "person" => same(person(random)),
            "date" => {
                let (written, day) = self.date(random);
                (written, day.into())
            }
            "money" => {
                let amount = random.range(500, 900_000);
                (self.money(amount), hundredths(amount))
            }
            "decimal" => {
                let amount = random.range(50, 90_000);
                (self.number(amount), hundredths(amount))
            }
            "count" => {
                let count = random.range(100, 250_000);
                (count.to_string(), count.into())
            }
            "code" => {
                let letters = random.pick(&["K", "ZX", "PR", "8", "Q7", "TL"]);
                same(format!("{letters}{}{}", random.pick(&["-", "/", ""]), random.range(10_000, 9_999_999)))
            }
            "yes" => {
                let yes = random.chance(50);
                (self.yes(yes).to_owned(), yes.into())
            }
            "phone" => same(format!(
                "+{} {} {}",
                random.range(31, 49),
                random.range(20, 99),
                random.range(100_000, 999_999)
            )),
            "email" => {
                let name = format!("{}.{}", any("given", random), any("family", random)).to_lowercase();
                same(format!("{name}@{}.example", any("given", random).to_lowercase()))
            }
            list => same(any(list, random).to_owned()),
        }
    }
}

pub fn hundredths(amount: u64) -> Value {
    json!(amount as f64 / 100.0)
}

pub fn company(random: &mut Random) -> String {
    format!("{} {}", any("firm", random), any("form", random))
}

pub fn person(random: &mut Random) -> String {
    format!("{} {}", any("given", random), any("family", random))
}
