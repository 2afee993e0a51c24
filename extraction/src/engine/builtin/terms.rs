//! Terms: what names of fields and labels of documents mean, and how much two of them have in common.

use super::letters::{fold, is_unspaced};
use super::lexicon::Lexicon;
use super::scoring::similarity as weights;
use super::vocabulary::{ENDINGS, Words};

/// A set of terms with no order; terms that the lexicon does not know are their own stem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms(Vec<String>);

/// The terms of folded words, in order; each with the words it came from.
pub(crate) fn terms_of(words: &[&str]) -> Vec<(String, usize, usize)> {
    let lexicon = Lexicon::shared();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        // The rate of a tax is no part of its name.
        let is_digit = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        if is_digit(words[at]) {
            if words[at].ends_with('%') {
                at += 1;
                continue;
            }
            if words.get(at + 1).is_some_and(|next| *next == "%") {
                at += 2;
                continue;
            }
        }
        let (terms, length): (Vec<String>, usize) = match lexicon.phrase(&words[at..]) {
            Some((terms, length)) => (terms.iter().map(|&term| term.to_owned()).collect(), length),
            None => (single(lexicon, words[at]), 1),
        };
        for term in terms.into_iter().filter(|term| term != "-" && !term.is_empty()) {
            found.push((term, at, at + length));
        }
        at += length;
    }
    found
}

fn single(lexicon: &Lexicon, word: &str) -> Vec<String> {
    let owned = |terms: &[&'static str]| terms.iter().map(|&term| term.to_owned()).collect();
    if word.is_empty() || word.chars().all(|c| !c.is_alphanumeric() && c != '#' && c != '%') {
        return Vec::new();
    }
    if let Some(terms) = lexicon.compound(word) {
        return owned(&terms);
    }
    if word.chars().any(is_unspaced) {
        let terms = lexicon.unspaced(word);
        return if terms.is_empty() { vec![word.to_owned()] } else { owned(&terms) };
    }
    // `E-Mail/Web`, `Tel.Nr`
    let parts: Vec<&str> =
        word.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    if parts.len() > 1 && parts.len() <= 4 {
        let found: Vec<String> = parts
            .iter()
            .flat_map(|part| lexicon.word(part).map_or_else(|| vec![stem(part)], owned))
            .collect();
        return found;
    }
    if word.len() > 3
        && let Some(terms) = word.strip_suffix('s').and_then(|word| lexicon.word(word))
    {
        return owned(terms);
    }
    vec![stem(word)]
}

/// Plurals and simple endings are one with their word.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 || word.ends_with("ss") {
        return word.to_owned();
    }
    if let Some(head) = word.strip_suffix("ies") {
        return format!("{head}y");
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

impl Terms {
    pub(crate) fn of(words: &[&str]) -> Self {
        let terms: Terms = terms_of(words).into_iter().map(|(term, _, _)| term).collect();
        // `Total excluding VAT`, `Net total`
        if terms.has("total") && terms.has("net") && !terms.has("gross") {
            return terms.without(&["total", "net"]).joined(&Terms(vec!["subtotal".to_owned()]));
        }
        terms
    }

    pub(crate) fn add(&mut self, term: String) {
        if !self.0.contains(&term) {
            self.0.push(term);
        }
    }

    pub(crate) fn has(&self, term: &str) -> bool {
        self.0.iter().any(|known| known == term)
    }

    pub(crate) fn has_any(&self, terms: &[&str]) -> bool {
        terms.iter().any(|term| self.has(term))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn without(&self, dropped: &[&str]) -> Terms {
        Terms(self.0.iter().filter(|term| !dropped.contains(&term.as_str())).cloned().collect())
    }

    pub(crate) fn joined(&self, other: &Terms) -> Terms {
        self.0.iter().chain(&other.0).cloned().collect()
    }

    /// How well a label says what is wanted, from 0 to 1: `implied` terms follow from the type of the value and count
    /// little.
    pub(crate) fn similarity(&self, label: &Terms, implied: &[&str]) -> f64 {
        let of = |term: &str| {
            let known = weights::TERMS.iter().find(|(terms, _)| Words(terms).has(term));
            let weight = known.map_or(1.0, |(_, weight)| *weight);
            if implied.contains(&term) { weight.min(weights::MAX_IMPLIED) } else { weight }
        };
        let (mut both, mut missing, mut extra) = (0.0, 0.0, 0.0);
        let mut matched = vec![false; label.0.len()];
        for term in &self.0 {
            match label.0.iter().position(|other| like(term, other)) {
                Some(at) => {
                    matched[at] = true;
                    both += of(term);
                }
                None => missing += of(term),
            }
        }
        for (at, term) in label.0.iter().enumerate() {
            if !matched[at] {
                extra += of(term);
            }
        }
        if both <= 0.0 { 0.0 } else { both / (both + missing + weights::EXTRA * extra) }
    }
}

impl FromIterator<String> for Terms {
    fn from_iter<I: IntoIterator<Item = String>>(terms: I) -> Self {
        let mut all = Terms::default();
        terms.into_iter().for_each(|term| all.add(term));
        all
    }
}

/// Whether two terms are the same, but for a slip of the pen or of OCR, or mean the same sum.
fn like(a: &str, b: &str) -> bool {
    a == b || matches!((a, b), ("net", "subtotal") | ("subtotal", "net")) || nearly(a, b)
}

/// Whether two words of some length differ little.
pub(crate) fn nearly(a: &str, b: &str) -> bool {
    a.len().min(b.len()) >= weights::MIN_COMPARED
        && a.len().abs_diff(b.len()) <= 1
        && strsim::jaro_winkler(a, b) >= weights::SAME_WORD
}

/// The fewest letters of what is left.
const MIN_ROOT: usize = 5;

/// A word without its ending.
fn root(word: &str) -> &str {
    let without = |ending: &str| word.strip_suffix(ending).filter(|root| root.len() >= MIN_ROOT);
    ENDINGS.iter().find_map(without).unwrap_or(word)
}

/// Whether two words that the lexicon does not know are of one family: `departed` and `departure`.
pub(crate) fn akin(a: &str, b: &str) -> bool {
    let lexicon = Lexicon::shared();
    let is_free = |word: &str| word.is_ascii() && word.len() >= MIN_ROOT && lexicon.word(word).is_none();
    is_free(a) && is_free(b) && root(a) == root(b)
}

/// The words of a field's name: `dueDate`, `due_date`, `Due-Date` and `DUE DATE` are two.
pub(crate) fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut current = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            words.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
            continue;
        }
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase()));
        if begins && !current.is_empty() {
            words.push(std::mem::take(&mut current));
        }
        current.push(letter);
    }
    words.extend((!current.is_empty()).then_some(current));
    words.iter().map(|word| fold(word)).collect()
}
