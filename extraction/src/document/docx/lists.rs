//! Lists: the label that Word counts up and writes before a paragraph, and that stands nowhere in the text.

use std::collections::HashMap;

use super::styles::ListLevel;
use crate::document::error::ReadError;
use crate::document::xml::{Element, Visitor, Vocabulary};

/// Levels that a list can have.
const LEVELS: usize = 9;

#[derive(Clone, Default)]
struct Level {
    start: u32,
    format: String,
    text: String,
}

#[derive(Default)]
struct Instance {
    definition: String,
    starts: HashMap<usize, u32>,
}

/// The lists of a document, and how far each has been counted.
#[derive(Default)]
pub(super) struct Lists {
    definitions: HashMap<String, Vec<Level>>,
    instances: HashMap<u32, Instance>,
    counters: HashMap<String, [Option<u32>; LEVELS]>,
    started: HashMap<(u32, usize), ()>,
    definition: Option<String>,
    instance: Option<u32>,
    level: usize,
}

impl Lists {
    /// The label of the next paragraph of a list: `3.`, `(a)`, `•`. `None` where nothing is written.
    pub(super) fn label(&mut self, position: ListLevel) -> Option<String> {
        let list = position.list.filter(|list| *list != 0)?;
        let level = position.level.unwrap_or(0).min(LEVELS - 1);
        let instance = self.instances.get(&list)?;
        let levels = self.definitions.get(&instance.definition)?;
        let shape = levels.get(level)?;
        let counters = self.counters.entry(instance.definition.clone()).or_default();
        if let Some(start) = instance.starts.get(&level)
            && self.started.insert((list, level), ()).is_none()
        {
            counters[level] = Some(*start);
        } else {
            counters[level] = Some(counters[level].map_or(shape.start, |number| number.saturating_add(1)));
        }
        counters[level + 1..].fill(None);
        if shape.format == "none" {
            return None;
        }
        if shape.format == "bullet" {
            return Some(bullet(&shape.text).to_owned());
        }
        let mut label = String::new();
        let mut characters = shape.text.chars();
        while let Some(character) = characters.next() {
            if character != '%' {
                label.push(character);
                continue;
            }
            let Some(number) = characters.next().and_then(|digit| digit.to_digit(10)) else { continue };
            let Some(other) = (number as usize).checked_sub(1).filter(|other| *other < LEVELS) else {
                continue;
            };
            let format = levels.get(other).map_or("decimal", |level| level.format.as_str());
            let start = levels.get(other).map_or(1, |level| level.start);
            label.push_str(&numeral(counters[other].unwrap_or(start), format));
        }
        Some(label).filter(|label| !label.trim().is_empty())
    }
}

impl Visitor for Lists {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        let value = || element.attribute(b"val").unwrap_or_default();
        match element.name() {
            b"abstractNum" => {
                let name = element.attribute(b"abstractNumId").unwrap_or_default();
                self.definitions.insert(name.clone(), Vec::new());
                self.definition = Some(name);
            }
            b"num" => {
                let number = element.attribute(b"numId").and_then(|number| number.parse().ok()).unwrap_or(0);
                self.instances.insert(number, Instance::default());
                self.instance = Some(number);
            }
            b"abstractNumId" => {
                if let Some(instance) = self.instance.and_then(|number| self.instances.get_mut(&number)) {
                    instance.definition = value();
                }
            }
            b"lvl" | b"lvlOverride" => {
                let level = element.attribute(b"ilvl").and_then(|level| level.parse().ok()).unwrap_or(0);
                self.level = LEVELS.min(level);
                if let Some(levels) = self.definition.as_ref().and_then(|name| self.definitions.get_mut(name))
                    && levels.len() <= self.level
                {
                    levels.resize_with((self.level + 1).min(LEVELS), Level::default);
                }
            }
            b"startOverride" => {
                let start = value().parse().unwrap_or(1);
                if let Some(instance) = self.instance.and_then(|number| self.instances.get_mut(&number)) {
                    instance.starts.insert(self.level, start);
                }
            }
            name => {
                let levels =
                    self.definition.as_ref().and_then(|definition| self.definitions.get_mut(definition));
                if let Some(level) = levels.and_then(|levels| levels.get_mut(self.level)) {
                    match name {
                        b"start" => level.start = value().parse().unwrap_or(1),
                        b"numFmt" => level.format = value(),
                        b"lvlText" => level.text = value(),
                        _ => {}
                    }
                }
            }
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        match name {
            b"abstractNum" => self.definition = None,
            b"num" => self.instance = None,
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}

/// Bullets are often characters of a symbol font without a meaning elsewhere.
fn bullet(text: &str) -> &str {
    match text.chars().next() {
        Some('\u{e000}'..='\u{f8ff}' | 'o') | None => "•",
        Some(_) => text,
    }
}

fn numeral(number: u32, format: &str) -> String {
    match format {
        "lowerLetter" => letters(number).to_lowercase(),
        "upperLetter" => letters(number),
        "lowerRoman" => roman(number).to_lowercase(),
        "upperRoman" => roman(number),
        "decimalZero" => format!("{number:02}"),
        _ => number.to_string(),
    }
}

/// A to Z, then AA to ZZ.
fn letters(number: u32) -> String {
    let index = number.saturating_sub(1);
    let letter = char::from(b'A' + (index % 26) as u8);
    std::iter::repeat_n(letter, (index / 26 + 1).min(8) as usize).collect()
}

fn roman(number: u32) -> String {
    const NUMERALS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number > 3999 {
        return number.to_string();
    }
    let mut left = number;
    let mut text = String::new();
    for (value, letters) in NUMERALS {
        while left >= value {
            text.push_str(letters);
            left -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_are_those_of_the_formats() {
        assert_eq!(numeral(4, "upperRoman"), "IV");
        assert_eq!(numeral(28, "lowerLetter"), "bb");
        assert_eq!(numeral(7, "decimalZero"), "07");
        assert_eq!(numeral(7, "decimal"), "7");
        assert_eq!(roman(1994), "MCMXCIV");
    }
}
