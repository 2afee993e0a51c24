//! The forms under which text is searched, sorted and compared. Computed here, so that every backend only compares
//! bytes.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Case folded and accent-stripped: NFKD, marks removed, case folded (contract 4.2, `search` and `sortBy`).
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Folding can bring marks back (`İ` folds to `i` and a dot above), so they are removed once more afterwards.
    text.nfkd()
        .filter(|&c| !is_combining_mark(c))
        .default_case_fold()
        .nfkd()
        .filter(|&c| !is_combining_mark(c))
        .collect()
}

/// Case folded, accents preserved.
#[must_use]
pub(crate) fn fold_case(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().default_case_fold().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_compatibility_forms_are_gone() {
        for (text, folded) in [
            ("Zoë", "zoe"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("İ", "i"),
            ("ﬁ", "fi"),
            ("Ａ", "a"),
            ("ΌΣΟΣ", "οσοσ"),
            ("é", "e"),
            ("e\u{301}", "e"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
        assert_eq!(fold_case("Élan"), "élan");
    }

    proptest::proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in "\\PC{0,12}") {
            let once = fold(&text);
            proptest::prop_assert_eq!(fold(&once), once);
        }
    }
}
