//! What a contact is searched, sorted and compared by. Core computes these keys, so that every backend sorts and
//! searches alike and only compares bytes.

use crate::values::fold;

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
    /// The digits of `primaryPhoneCode` and `primaryPhone` together.
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

/// One term of a search: text without white space, folded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchTerm {
    /// Must occur in [`ContactKeys::search`].
    pub text: String,
    /// The digits of a term of digits and phone punctuation with at least three digits: it may instead occur in
    /// [`ContactKeys::digits`].
    pub digits: Option<String>,
}

impl SearchTerm {
    /// Splits a query at white space into folded terms.
    #[must_use]
    pub fn split(query: &str) -> Vec<SearchTerm> {
        query
            .split_whitespace()
            .flat_map(|word| {
                let is_phone = word.chars().all(|c| c.is_ascii_digit() || "+()-./".contains(c));
                let digits: String = word.chars().filter(char::is_ascii_digit).collect();
                let digits = (is_phone && digits.len() >= 3).then_some(digits);
                // Folding may bring white space (`¨` folds to a blank and a mark): the pieces are terms of their own.
                let pieces: Vec<String> = fold(word).split_whitespace().map(str::to_owned).collect();
                pieces.into_iter().map(move |text| SearchTerm { text, digits: digits.clone() })
            })
            .collect()
    }

    /// Whether the term occurs in the keys.
    #[must_use]
    pub fn matches(&self, keys: &ContactKeys) -> bool {
        keys.search.contains(&self.text)
            || self.digits.as_ref().is_some_and(|digits| keys.digits.contains(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_folded_and_phone_terms_match_digits() {
        let terms = SearchTerm::split("  Zoë\u{a0}7946-0958 12 %_ ");
        let shown: Vec<_> = terms.iter().map(|term| (term.text.as_str(), term.digits.as_deref())).collect();
        assert_eq!(shown, [("zoe", None), ("7946-0958", Some("79460958")), ("12", None), ("%_", None)]);
        let keys = ContactKeys {
            search: "20 7946 0958\n".into(),
            digits: "442079460958".into(),
            ..ContactKeys::default()
        };
        assert!(terms[1].matches(&keys) && !terms[0].matches(&keys));
    }
}
