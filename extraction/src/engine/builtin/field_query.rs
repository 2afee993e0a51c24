//! What a field asks for: the terms of its name and description, and the role that follows from them.

use openapi_core::extraction::{ExtractionField, ExtractionType};

use super::scoring::reading;
use super::terms::{Terms, name_words};
use super::view::fold;
use super::vocabulary::{COMPANY_ROLES, DOCUMENT_WORDS, MONEY, NO_TOTALS, PARTIES, PERSON_ROLES, Words};

/// What a text value is, beyond its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Whatever follows the label.
    Text,
    Identifier,
    Company,
    Person,
    Address,
    Street,
    City,
    Postal,
    Country,
    Currency,
    Iban,
    Vat,
    Phone,
    Email,
    Law,
    Duration,
    JobTitle,
}

/// A field with its meaning.
#[derive(Clone, Debug)]
pub(crate) struct FieldQuery<'s> {
    pub(crate) field: &'s ExtractionField,
    pub(crate) kind: ExtractionType,
    /// Readings of name and description, each with how much it is trusted.
    pub(crate) readings: Vec<(Terms, f64)>,
    /// All terms of all readings.
    pub(crate) all: Terms,
    /// The terms of the name.
    pub(crate) name: Terms,
    /// Terms that follow from the type.
    pub(crate) implied: &'static [&'static str],
    pub(crate) role: Role,
}

/// Words after which a description gives an example or a condition.
const ASIDES: [&str; 5] = [", if any", " e.g", " such as", " (", ", for example"];

impl<'s> FieldQuery<'s> {
    /// What the field of a name asks for; `parent` are the terms of the object that it belongs to.
    pub(crate) fn new(name: &str, field: &'s ExtractionField, parent: Option<&Terms>) -> Self {
        let words = name_words(name);
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !matches!(*word, "is" | "has")).collect();
        let mut of_name = Terms::of(&words);
        match words.last() {
            Some(&("from" | "start" | "since" | "von" | "desde" | "begin")) => {
                of_name.add("start".to_owned());
            }
            Some(&("to" | "until" | "till" | "end" | "bis" | "hasta")) => of_name.add("end".to_owned()),
            _ => {}
        }
        if of_name.is_empty() {
            of_name.add(fold(name));
        }
        let mut readings = vec![(of_name.clone(), reading::NAME)];
        // Both ends of a period often stand under one label.
        let whole = of_name.without(&["start", "end"]);
        if whole.len() < of_name.len() && whole.iter().any(|term| term != "date") {
            readings.push((whole, reading::WHOLE_PERIOD));
        }
        let mut all = of_name.clone();
        if let Some(description) = &field.description {
            read_description(description, &of_name, field.kind, &mut readings, &mut all);
        }
        if let Some(parent) = parent {
            let joined =
                readings.iter().map(|(terms, trust)| (parent.joined(terms), trust * reading::IN_OBJECT));
            readings.extend(joined.collect::<Vec<_>>());
        }
        let kind = field.kind;
        // Where no table is, the label of a line's total is that of the sum before tax: `Nettobetrag`, `Montant HT`.
        if kind.is_numeric() && readings.iter().any(|(terms, _)| terms.has("subtotal") || terms.has("net")) {
            readings.push((["line", "total"].map(str::to_owned).into_iter().collect(), reading::LINE_AS_SUM));
        }
        let implied: &'static [&'static str] = match kind {
            ExtractionType::Date | ExtractionType::Datetime => &["date", "time"],
            ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency => {
                &["amount", "value", "number"]
            }
            ExtractionType::Email => &["email", "address", "contact"],
            ExtractionType::Phone => &["phone", "number", "contact"],
            ExtractionType::Url => &["website", "address"],
            _ => &["name", "full"],
        };
        let role = role(kind, &of_name, &all);
        if matches!(role, Role::Company) && of_name.has("buyer") {
            for other in ["customer", "buyer"] {
                readings.push((Terms::of(&[other]), reading::OTHER_NAME_OF_BUYER));
            }
        }
        // Who buys the time of a station is its client.
        if of_name.has("advertiser") {
            readings.push((Terms::of(&["client"]), reading::CLIENT_OF_STATION));
        }
        // Goods go to who gets them.
        if of_name.has("buyer") && !all.has("delivery") {
            readings.push((Terms::of(&["delivery"]), reading::WHERE_GOODS_GO));
        }
        FieldQuery { field, kind, readings, all, name: of_name, implied, role }
    }

    /// The similarity of a label to the query.
    pub(crate) fn similarity(&self, label: &Terms) -> f64 {
        self.readings
            .iter()
            .map(|(terms, trust)| trust * terms.similarity(label, self.implied))
            .fold(0.0, f64::max)
    }

    /// The similarity of a label to the query, given the section of the label.
    pub(crate) fn fits(&self, label: &super::labels::Label) -> f64 {
        let mut plain = self.similarity(&label.terms);
        let is_total = self.name.has("total") && self.kind.is_numeric();
        if is_total && NO_TOTALS.has_any(label.terms.iter()) && !NO_TOTALS.has_any(self.all.iter()) {
            plain *= reading::NO_TOTAL;
        }
        if label.section.is_empty() {
            return plain;
        }
        let own = |term: &str| {
            self.all.has(term)
                || matches!(term, "buyer" | "customer") && self.all.has_any(&["buyer", "customer"])
        };
        if label.section.iter().any(own) {
            let mut joined = label.terms.joined(&label.section);
            if self.all.has("buyer") && joined.has("customer") {
                joined.add("buyer".to_owned());
                joined = joined.without(&["customer"]);
            }
            return plain.max(reading::IN_SECTION * self.similarity(&joined));
        }
        let is_someones = PARTIES.has_any(self.all.iter());
        if is_someones || self.role != Role::Text { plain * reading::OTHER_SECTION } else { plain }
    }

    /// Whether the field asks for an amount of money.
    pub(crate) fn wants_money(&self) -> bool {
        self.kind == ExtractionType::Currency || MONEY.has_any(self.all.iter())
    }

    /// The terms of all readings.
    pub(crate) fn searched(&self) -> Terms {
        let mut all = self.readings.iter().fold(Terms::default(), |all, (terms, _)| all.joined(terms));
        // They mean the same sum.
        if all.has_any(&["net", "subtotal"]) {
            ["net", "subtotal"].map(str::to_owned).into_iter().for_each(|term| all.add(term));
        }
        all
    }

    pub(crate) fn is_text(&self) -> bool {
        self.kind == ExtractionType::String
    }
}

/// Adds the readings of a description, and its terms to all.
fn read_description(
    description: &str,
    name: &Terms,
    kind: ExtractionType,
    readings: &mut Vec<(Terms, f64)>,
    all: &mut Terms,
) {
    let lower: String = description.to_lowercase().chars().take(160).collect();
    let end = ASIDES.iter().filter_map(|aside| lower.find(aside)).min().unwrap_or(lower.len());
    let head = &lower[..end];
    let whole = terms_in(head);
    if !whole.is_empty() {
        if whole.len() <= 5 {
            readings.push((whole.clone(), reading::DESCRIPTION));
            readings.push((name.joined(&whole), reading::NAME_AND_DESCRIPTION));
        }
        *all = all.joined(&whole);
    }
    // `Total of the order`: what the document is says nothing about the value.
    if let Some((thing, of)) = head.split_once(" of the ")
        && DOCUMENT_WORDS.has_all_of(terms_in(of).iter())
        && let thing = terms_in(thing)
        && !thing.is_empty()
    {
        readings.push((thing, reading::OF_DOCUMENT));
    }
    let parts: Vec<&str> = head.split([',', '/', ';']).flat_map(|part| part.split(" or ")).collect();
    if parts.len() > 1 {
        for part in parts {
            let terms = terms_in(part);
            // The number of an `invoice` is no `total of the order or invoice`.
            let is_document = kind != ExtractionType::String && DOCUMENT_WORDS.has_all_of(terms.iter());
            if !terms.is_empty() && terms.len() <= 4 && !is_document {
                readings.push((terms, reading::ALTERNATIVE));
            }
        }
    }
}

fn terms_in(text: &str) -> Terms {
    let words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || c == '(' || c == ')')
        .map(|word| fold(word.trim_end_matches("'s").trim_end_matches("’s")))
        .filter(|word| !word.is_empty())
        .collect();
    Terms::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The roles of text: one of the first terms, one of the second if there are any, none of the third.
const ROLES: [(&str, &str, &str, Role); 15] = [
    ("iban", "", "", Role::Iban),
    ("vat", "", "", Role::Vat),
    ("email", "", "", Role::Email),
    ("phone fax", "", "", Role::Phone),
    ("currency", "", "amount", Role::Currency),
    ("street", "", "", Role::Street),
    ("postal", "", "", Role::Postal),
    ("city", "", "", Role::City),
    ("country", "", "", Role::Country),
    ("address", "", "", Role::Address),
    ("law", "", "", Role::Law),
    ("job", "", "", Role::JobTitle),
    ("title", "current candidate", "", Role::JobTitle),
    ("term", "", "terms", Role::Duration),
    ("number bic passport", "", "", Role::Identifier),
];

fn role(kind: ExtractionType, name: &Terms, all: &Terms) -> Role {
    match kind {
        ExtractionType::Email => return Role::Email,
        ExtractionType::Phone => return Role::Phone,
        ExtractionType::String => {}
        _ => return Role::Text,
    }
    let by = |terms: &Terms| {
        let has = |words: Words| words.has_any(terms.iter());
        let rule = ROLES.iter().find(|(one, also, without, _)| {
            has(Words(one)) && (also.is_empty() || has(Words(also))) && !has(Words(without))
        });
        rule.map(|(_, _, _, role)| *role)
    };
    // Where the name says nothing, the description does: `headline`, `Current job title`.
    let lexicon = super::lexicon::Lexicon::shared();
    let is_unknown = !name.iter().any(|term| lexicon.word(term).is_some());
    by(name).or_else(|| is_unknown.then(|| by(all)).flatten()).unwrap_or_else(|| {
        let is_one = |words: Words, terms: &Terms| words.has_any(terms.iter());
        if is_one(COMPANY_ROLES, name) {
            Role::Company
        } else if name.has("title") {
            Role::Text
        } else if is_one(PERSON_ROLES, name)
            || name.has("name") && is_one(PERSON_ROLES, all)
            || *name == Terms::of(&["full", "name"])
            || *name == Terms::of(&["name"])
        {
            Role::Person
        } else if is_one(COMPANY_ROLES, all) && name.has("name") {
            Role::Company
        } else {
            Role::Text
        }
    })
}
