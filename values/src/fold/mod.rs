//! The forms under which text is searched, sorted and compared. Computed here, so that every backend only compares
//! bytes.

mod latin;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::marks::{is_invisible, is_tag};

/// The form under which text is searched and sorted (contract 4.2, `search` and `sortBy`): compatibility forms, case,
/// accents and typographic variants of apostrophes, quotes and dashes do not count, invisible characters are not there,
/// and letters such as `ł`, `ø` and `æ` are the plain letters that people type for them.
///
/// A change of what it returns is a new version of the stored keys: see
/// `ContactKeys::VERSION` of `openapi-core`.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        let folded = text.to_ascii_lowercase();
        return if folded.contains('`') { folded.replace('`', "'") } else { folded };
    }
    let mut folded = String::with_capacity(text.len());
    let counts = |c: &char| !is_combining_mark(*c) && !is_invisible(*c) && !is_tag(*c) && !is_left_out(*c);
    // Folding can bring marks back (`İ` folds to `i` and a dot above), so they are removed once more afterwards.
    let letters =
        text.chars().map(punctuation).nfkd().filter(counts).default_case_fold().nfkd().filter(counts);
    for letter in letters.map(punctuation) {
        match latin::plain(letter) {
            Some(plain) => folded.push_str(plain),
            None => folded.push(letter),
        }
    }
    folded
}

/// The ASCII character for a typographic variant of it.
const fn punctuation(c: char) -> char {
    match c {
        // Spacing accents stand in for apostrophes on many keyboards; the others are letters that look like one.
        '`'
        | '´'
        | '\u{2b9}'..='\u{2bf}'
        | '\u{2c8}'
        | '\u{2ca}'
        | '\u{2cb}'
        | '\u{55a}'
        | '\u{5f3}'
        | '‘'
        | '’'
        | '‚'
        | '‛'
        | '′'
        | '‵'
        | '\u{a723}'
        | '\u{a725}'
        | '\u{a78b}'
        | '\u{a78c}'
        | '\u{ff07}'
        | '\u{ff40}' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '\u{5f4}' | '\u{ff02}' => '"',
        // The slashes of fractions: `½` has one.
        '\u{2044}' | '\u{2215}' => '/',
        other => dash_or_self(other),
    }
}

/// The hyphen for a dash or a minus sign.
pub(super) const fn dash_or_self(c: char) -> char {
    match c {
        '\u{58a}'
        | '\u{5be}'
        | '\u{1806}'
        | '\u{2010}'..='\u{2015}'
        | '\u{2043}'
        | '\u{2212}'
        | '\u{2e3a}'
        | '\u{2e3b}'
        | '\u{fe58}'
        | '\u{fe63}'
        | '\u{ff0d}' => '-',
        other => other,
    }
}

/// Letters of Hangul that are not drawn, and the dot between two letters (`col·lega`), which many leave out.
const fn is_left_out(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{b7}' | '\u{2027}')
}

/// Case folded, accents preserved.
#[must_use]
pub fn fold_case(text: &str) -> String {
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

    #[test]
    fn letters_without_decomposition_are_plain() {
        for (text, folded) in [
            ("Łukasz", "lukasz"),
            ("SØREN", "soren"),
            ("Đức", "duc"),
            ("Işık", "isik"),
            ("Ægir", "aegir"),
            ("Þórður", "thordur"),
            ("Œuvre", "oeuvre"),
            ("Ħamrun", "hamrun"),
            ("Ŧuohttá", "tuohtta"),
            ("Ŋaahitaga", "naahitaga"),
            ("ĸ", "q"),
            ("Ƙwari Ɓala Ɗanjuma", "kwari bala danjuma"),
            ("Əliyev", "eliyev"),
            ("STRAẞE", "strasse"),
            ("Gal·la Coŀlell", "galla collell"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn variants_of_punctuation_are_equal_and_invisible_characters_are_not_there() {
        for apostrophe in ['’', '‘', 'ʼ', 'ʻ', '′', '´', '`', '＇'] {
            assert_eq!(fold(&format!("O{apostrophe}Brien")), "o'brien", "U+{:04X}", u32::from(apostrophe));
        }
        for dash in ['‐', '\u{2011}', '‒', '–', '—', '―', '−', '﹣', '－'] {
            assert_eq!(fold(&format!("Anne{dash}Marie")), "anne-marie", "U+{:04X}", u32::from(dash));
        }
        for blank in ['\u{a0}', '\u{2007}', '\u{202f}', '\u{2003}', '\u{3000}'] {
            assert_eq!(fold(&format!("Anne{blank}Marie")), "anne marie", "U+{:04X}", u32::from(blank));
        }
        for mark in
            ['\u{200b}', '\u{200d}', '\u{200e}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{ad}', '\u{fe0f}']
        {
            assert_eq!(fold(&format!("{mark}An{mark}n{mark}")), "ann", "U+{:04X}", u32::from(mark));
        }
        assert_eq!(fold("½ “q”"), "1/2 \"q\"");
    }

    /// Every letter of the Latin script becomes plain, except for those that no one types as a plain letter.
    #[test]
    fn all_of_latin_is_plain() {
        let blocks =
            ['\u{c0}'..='\u{24f}', '\u{250}'..='\u{2af}', '\u{1e00}'..='\u{1eff}', '\u{2c60}'..='\u{2c7f}']
                .into_iter()
                .chain([
                    '\u{a722}'..='\u{a7ca}',
                    '\u{ab30}'..='\u{ab5a}',
                    '\u{fb00}'..='\u{fb06}',
                    '\u{1d00}'..='\u{1d25}',
                ]);
        let left: String = blocks
            .flatten()
            .filter(|letter| letter.is_alphabetic() && !fold(&letter.to_string()).is_ascii())
            .collect();
        assert_eq!(
            left,
            "ƄƅƧƨƻƼƽƾǀǁǂǃɁɂʔʕʖʘʡʢʬʭꜪꜫꜬꜭꜮꜯꝸꞈꞏᴤᴥ",
            "letters that are not plain: {:?}",
            left.escape_unicode().to_string()
        );
    }

    proptest::proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in "(\\PC|[ -\u{17f}\u{180}-\u{24f}\u{1e00}-\u{20cf}\u{a720}-\u{a7ff}]){0,12}") {
            let once = fold(&text);
            proptest::prop_assert_eq!(fold(&once), once);
        }

        /// What a person types without the marks finds what was stored with them.
        #[test]
        fn a_part_of_the_text_is_a_part_of_the_folded_text(before in "\\PC{0,6}", part in "\\PC{0,6}", after in "\\PC{0,6}") {
            // Case folding knows no neighbours, and marks that join a neighbour are removed.
            let whole = fold(&format!("{before}{part}{after}"));
            proptest::prop_assert!(whole.contains(&fold(&part)), "{} in {}", fold(&part), whole);
        }
    }
}
