//! When a value counts as found.
//!
//! Numbers within half a hundredth, dates and truths equal, mail addresses equal but for case, text equal but for case,
//! white space and punctuation at its ends, or nine tenths alike by edit distance. Arrays count by element, objects by
//! member, arrays of objects by member of the rows that fit best.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::manifest::Field;

/// From this similarity on, texts are the same.
const ALIKE: f64 = 0.9;

/// True positives, false positives, false negatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub right: u32,
    pub wrong: u32,
    pub missed: u32,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.missed += other.missed;
    }

    pub fn precision(self) -> f64 {
        share(self.right, self.right + self.wrong)
    }

    pub fn recall(self) -> f64 {
        share(self.right, self.right + self.missed)
    }

    pub fn f1(self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }
}

fn share(part: u32, of: u32) -> f64 {
    if of == 0 { 0.0 } else { f64::from(part) / f64::from(of) }
}

fn text(value: &Value) -> String {
    let raw = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let folded: String = raw
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '‘' | '’' | '`' | '´' => '\'',
            '“' | '”' => '"',
            '\u{2010}'..='\u{2015}' => '-',
            c => c,
        })
        .collect();
    let folded = folded.replace('ß', "ss");
    let spaced = folded.split_whitespace().collect::<Vec<_>>().join(" ");
    spaced.trim_matches([' ', '.', ',', ';', ':']).to_owned()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => !members.contains_key("any") && members.values().all(is_empty),
        _ => false,
    }
}

fn same(kind: &str, gold: &Value, found: &Value) -> bool {
    if let Some(any) = gold.get("any").and_then(Value::as_array) {
        return any.iter().any(|gold| same(kind, gold, found));
    }
    match kind {
        "number" | "integer" => {
            matches!((number(gold), number(found)), (Some(a), Some(b)) if (a - b).abs() < 0.005 + 1e-9)
        }
        "date" => {
            gold == found
                || matches!((gold.as_str(), found.as_str()), (Some(gold), Some(found)) if found.get(..10) == Some(gold))
        }
        "boolean" => gold == found,
        "email" => text(gold) == text(found),
        _ => {
            let (gold, found) = (text(gold), text(found));
            gold == found || strsim::normalized_levenshtein(&gold, &found) >= ALIKE
        }
    }
}

fn object(properties: &[Field], gold: &Value, found: &Value) -> Counts {
    let mut counts = Counts::default();
    for property in properties {
        if let Some(gold) = gold.get(&property.name) {
            counts.add(compare(property, gold, found.get(&property.name).unwrap_or(&Value::Null)));
        }
    }
    counts
}

/// The pairs of greatest gain, one after another.
fn align(gain: &[Vec<u32>]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(u32, usize, usize)> = gain
        .iter()
        .enumerate()
        .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, gain)| (*gain, i, j)))
        .filter(|(gain, _, _)| *gain > 0)
        .collect();
    pairs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for (_, i, j) in pairs {
        if !chosen.iter().any(|(a, b)| *a == i || *b == j) {
            chosen.push((i, j));
        }
    }
    chosen
}

/// What was found of a field, counted.
pub fn compare(field: &Field, gold: &Value, found: &Value) -> Counts {
    match field.kind.as_str() {
        "array" => array(field, gold, found),
        "object" if is_empty(gold) => Counts { wrong: u32::from(!is_empty(found)), ..Counts::default() },
        "object" => object(&field.properties, gold, found),
        kind => match (is_empty(gold), is_empty(found)) {
            (true, found_none) => Counts { wrong: u32::from(!found_none), ..Counts::default() },
            (false, true) => Counts { missed: 1, ..Counts::default() },
            _ if same(kind, gold, found) => Counts { right: 1, ..Counts::default() },
            _ => Counts { wrong: 1, missed: 1, ..Counts::default() },
        },
    }
}

fn array(field: &Field, gold: &Value, found: &Value) -> Counts {
    let elements = |value: &Value| -> Vec<Value> {
        let items = match value {
            Value::Array(items) => items.clone(),
            other if is_empty(other) => Vec::new(),
            other => vec![other.clone()],
        };
        items.into_iter().filter(|item| !is_empty(item)).collect()
    };
    let (gold, found) = (elements(gold), elements(found));
    let properties =
        field.items.as_ref().filter(|item| item.kind == "object").map(|item| item.properties.as_slice());
    let kind = field.items.as_ref().map_or("string", |item| item.kind.as_str());
    let gain: Vec<Vec<u32>> = gold
        .iter()
        .map(|gold| {
            found
                .iter()
                .map(|found| match properties {
                    Some(properties) => object(properties, gold, found).right,
                    None => u32::from(same(kind, gold, found)),
                })
                .collect()
        })
        .collect();
    let pairs = align(&gain);
    let width = |value: &Value| {
        value.as_object().map_or(1, |members| members.values().filter(|value| !is_empty(value)).count())
            as u32
    };
    let mut counts = Counts::default();
    for &(i, j) in &pairs {
        counts.add(match properties {
            Some(properties) => object(properties, &gold[i], &found[j]),
            None => Counts { right: 1, ..Counts::default() },
        });
    }
    for (i, gold) in gold.iter().enumerate() {
        if !pairs.iter().any(|(a, _)| *a == i) {
            counts.missed += width(gold);
        }
    }
    for (j, found) in found.iter().enumerate() {
        if !pairs.iter().any(|(_, b)| *b == j) {
            counts.wrong += width(found);
        }
    }
    counts
}
