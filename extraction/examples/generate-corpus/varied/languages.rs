//! The same bill in each language of `languages.txt`: nine fields that the schema asks for in English.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::pieces::{Document, Piece};
use crate::random::Random;

type Block = HashMap<&'static str, &'static str>;

static LANGUAGES: LazyLock<Vec<Block>> = LazyLock::new(|| {
    let blocks = include_str!("languages.txt").split("\n\n");
    let lines = |block: &'static str| block.lines().filter(|line| !line.starts_with('#'));
    blocks.map(|block| lines(block).filter_map(|line| line.split_once(": ")).collect()).collect()
});

/// How bills of a language write dates and amounts.
struct Form {
    date: &'static str,
    months: Vec<&'static str>,
    /// The mark before the decimals; `0` where amounts have none.
    mark: char,
    /// The currency before or after the amount, as a space shows.
    currency: &'static str,
    code: &'static str,
}

impl Form {
    fn of(block: &Block) -> Self {
        let [date, mark, currency, code] = block["form"].split('|').collect::<Vec<_>>()[..] else {
            panic!("four parts: {}", block["form"])
        };
        Form {
            date: date.trim(),
            months: block["months"].split(' ').collect(),
            mark: mark.trim().chars().next().unwrap_or('.'),
            // The blanks around the bar are part of the file's form.
            currency: currency.strip_prefix(' ').and_then(|it| it.strip_suffix(' ')).unwrap_or(currency),
            code: code.trim(),
        }
    }

    fn date(&self, random: &mut Random) -> (String, String) {
        let (year, month, day) = (random.range(2019, 2027), random.range(1, 12), random.range(1, 28));
        let name = self.months[month as usize - 1];
        let mut written = String::new();
        for letter in self.date.chars() {
            match letter {
                'D' => written.push_str(&day.to_string()),
                'M' => written.push_str(name),
                'Y' => written.push_str(&year.to_string()),
                other => written.push(other),
            }
        }
        let numbers = format!("{day:02}.{month:02}.{year}");
        let is_signed = self.months[0] == "1";
        let shown = if random.chance(30) && !is_signed { numbers } else { written };
        (shown, format!("{year}-{month:02}-{day:02}"))
    }

    fn number(&self, hundredths: u64) -> String {
        let thousands = match self.mark {
            ',' => ".",
            _ => ",",
        };
        let digits = (hundredths / 100).to_string();
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                grouped.push_str(thousands);
            }
            grouped.push(digit);
        }
        if self.mark == '0' { grouped } else { format!("{grouped}{}{:02}", self.mark, hundredths % 100) }
    }

    fn money(&self, hundredths: u64) -> String {
        let number = self.number(hundredths);
        if self.currency.starts_with(' ') {
            format!("{number}{}", self.currency)
        } else {
            format!("{}{number}", self.currency)
        }
    }

    fn value(&self, hundredths: u64) -> Value {
        if self.mark == '0' { json!(hundredths / 100) } else { json!(hundredths as f64 / 100.0) }
    }
}

/// A bill, each language in turn, with the code of its language.
pub fn make(number: u64, random: &mut Random) -> (String, Document) {
    let block = &LANGUAGES[(number % LANGUAGES.len() as u64) as usize];
    let form = Form::of(block);
    let label = |name: &str, random: &mut Random| {
        let labels: Vec<&str> = block[name].split("; ").collect();
        *random.pick(&labels)
    };
    let firms: Vec<&str> = block["firms"].split("; ").collect();
    let (seller, buyer) = if random.chance(50) { (firms[0], firms[1]) } else { (firms[1], firms[0]) };
    let bill = format!("{}-{}", random.pick(&["HX", "2026", "F", "A7"]), random.range(1_000, 99_999));
    let ((issued, issued_day), (due, due_day)) = (form.date(random), form.date(random));
    let mut document = Document::default();
    document.pieces.push(Piece::Title(block["title"].to_owned()));
    document.blank();
    document.pair(label("number", random), bill.as_str());
    document.pair(label("issued", random), issued);
    document.pair(label("due", random), due);
    document.blank();
    document.pair(label("seller", random), seller);
    document.pair(label("buyer", random), buyer);
    document.blank();
    let heads: Vec<String> = block["heads"].split("; ").map(str::to_owned).collect();
    let mut rows = vec![heads];
    let mut net = 0;
    for thing in block["things"].split("; ").take(random.range(2, 3) as usize) {
        let (count, price) = (random.range(1, 9), random.range(3, 900) * 100 + random.range(0, 1) * 50);
        let price = if form.mark == '0' { price / 100 * 100_000 } else { price };
        net += count * price;
        rows.push(vec![thing.to_owned(), count.to_string(), form.number(price), form.number(count * price)]);
    }
    document.pieces.push(Piece::Table(rows, vec![false, true, true, true]));
    document.blank();
    let mut tax = net * *random.pick(&[10, 19, 20, 25]) / 100;
    if form.mark == '0' {
        tax = tax / 100 * 100;
    }
    document.pair(label("net", random), form.money(net));
    document.pair(label("tax", random), form.money(tax));
    document.pair(label("total", random), form.money(net + tax));
    document.field("invoiceNumber", "string", "Invoice number as printed", bill.into());
    document.field("invoiceDate", "date", "Date of issue", issued_day.into());
    document.field("dueDate", "date", "Last day for payment", due_day.into());
    document.field("sellerName", "string", "Company that sells", seller.into());
    document.field("buyerName", "string", "Customer who is billed", buyer.into());
    document.field("netTotal", "number", "Total without tax", form.value(net));
    document.field("taxAmount", "number", "Tax amount", form.value(tax));
    document.field("total", "number", "Amount payable", form.value(net + tax));
    document.field("currency", "string", "Currency (ISO 4217)", form.code.into());
    (block["lang"].to_owned(), document)
}
