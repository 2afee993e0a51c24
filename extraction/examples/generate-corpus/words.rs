//! The words of `words.txt`, by the name of their list.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::random::Random;

/// An entry of a list, by its parts.
type Entry = Vec<&'static str>;

static LISTS: LazyLock<HashMap<&'static str, Vec<Entry>>> = LazyLock::new(|| {
    let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    let lists = lines.filter_map(|line| line.split_once(": "));
    lists
        .map(|(name, entries)| {
            (name, entries.split(" | ").map(|entry| entry.split(", ").collect()).collect())
        })
        .collect()
});

/// The entries of a list.
pub fn list(name: &str) -> &'static [Entry] {
    &LISTS[name]
}

/// An entry of one part.
pub fn any(name: &str, random: &mut Random) -> &'static str {
    random.pick(list(name))[0]
}

/// A language of labels, by its position in the lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
}

use Language::{English, French, German, Italian, Spanish};

impl Language {
    pub fn any(random: &mut Random) -> Self {
        *random.pick(&[English, English, German, French, Spanish, Italian])
    }

    /// Whether a comma separates the decimals.
    pub fn comma(self) -> bool {
        self != English
    }

    /// The words of a list in this language.
    pub fn words(self, name: &str) -> &'static [&'static str] {
        &list(name)[self as usize]
    }

    /// A label, one of several with the same meaning.
    pub fn label(self, name: &str, random: &mut Random) -> &'static str {
        random.pick::<&str>(self.words(name))
    }
}
