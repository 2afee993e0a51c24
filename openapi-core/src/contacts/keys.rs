//! What a contact is searched, sorted and compared by. Core computes these keys, so that every backend sorts and
//! searches alike and only compares bytes.

use crate::values::fold;
use crate::values::phone_forms::sought;

/// The keys of one contact under its agent's schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactKeys {
    /// Sort key of `firstName`; `None` sorts last in both directions.
    pub first_name: Option<String>,
    /// Sort key of `lastName`.
    pub last_name: Option<String>,
    /// Sort key of `primaryEmail`.
    pub primary_email: String,
    /// The address in normal form, for the filter `primaryEmail`.
    pub email: String,
    /// All searched text, folded, one field after another with a line feed between them. A search term contains no
    /// white space, so that it never matches across fields.
    pub search: String,
    /// The digits of `primaryPhoneCode` and `primaryPhone` in the forms in which people write a number, with a line feed
    /// between them.
    pub digits: String,
    /// The tags, folded by case, in the contact's order.
    pub tags: Vec<String>,
    /// The values of fields that the schema marks `unique`, `externalReferenceId` apart.
    pub unique: Vec<UniqueValue>,
}

/// A value that no other contact of the agent may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UniqueValue {
    /// The field as the contract names it: `primaryEmail`, `customFields.member`.
    pub field: String,
    /// The value in the form under which two are equal.
    pub value: String,
}

impl ContactKeys {
    /// The version of the keys that are computed from the same contact. It rises whenever another release computes others:
    /// a store then computes the keys of all contacts and templates again. Version 1 had no number in the stores.
    pub const VERSION: i64 = 2;
}

/// One term of a search: text without white space, folded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchTerm {
    /// Must occur in [`ContactKeys::search`].
    pub text: String,
    /// Of a term of digits and phone punctuation: one of these may instead occur in [`ContactKeys::digits`]. They are the
    /// forms of the telephone number that the term is, or is a part of.
    pub digits: Vec<String>,
}

/// Whether a term is of digits and phone punctuation alone.
fn is_of_phone(term: &str) -> bool {
    !term.is_empty() && term.chars().all(|c| c.is_ascii_digit() || "+()-./".contains(c))
}

impl SearchTerm {
    /// Splits a query at white space into folded terms. Adjacent terms of digits are also read as one number.
    #[must_use]
    pub fn split(query: &str) -> Vec<SearchTerm> {
        let folded = fold(query);
        let words: Vec<&str> = folded
            .split_whitespace()
            .map(|word| word.strip_prefix("tel:").filter(|number| is_of_phone(number)).unwrap_or(word))
            .collect();
        let same_kind = |a: &&str, b: &&str| is_of_phone(a) == is_of_phone(b);
        let mut terms = Vec::with_capacity(words.len());
        for run in words.chunk_by(same_kind) {
            let whole = if run.len() > 1 && is_of_phone(run[0]) { sought(&run.concat()) } else { Vec::new() };
            terms.extend(run.iter().map(|word| {
                let mut digits = if is_of_phone(word) { sought(word) } else { Vec::new() };
                digits
                    .extend(whole.iter().filter(|form| !digits.contains(form)).cloned().collect::<Vec<_>>());
                SearchTerm { text: (*word).to_owned(), digits }
            }));
        }
        terms
    }

    /// Whether the term occurs in the keys.
    #[must_use]
    pub fn matches(&self, keys: &ContactKeys) -> bool {
        keys.search.contains(&self.text)
            || self.digits.iter().any(|digits| keys.digits.contains(digits.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_folded_and_phone_terms_match_digits() {
        let terms = SearchTerm::split("  Zoë\u{a0}7946-0958 Wu 12 %_ tel:+44\u{2011}20");
        let shown: Vec<_> = terms.iter().map(|term| (term.text.as_str(), term.digits.join(" "))).collect();
        let expected =
            [("zoe", ""), ("7946-0958", "79460958"), ("wu", ""), ("12", ""), ("%_", ""), ("+44-20", "4420")];
        assert_eq!(shown, expected.map(|(text, digits)| (text, digits.to_owned())));
        let apart = SearchTerm::split("+44 20 7946 0958");
        assert!(apart.iter().all(|term| term.digits.contains(&"442079460958".to_owned())), "{apart:?}");
        let keys = ContactKeys {
            search: "20 7946 0958\n".into(),
            digits: "442079460958".into(),
            ..ContactKeys::default()
        };
        assert!(terms[1].matches(&keys) && !terms[0].matches(&keys));
        assert!(apart.iter().all(|term| term.matches(&keys)));
    }
}
