//! Letters of words, as they are compared.

use unicode_normalization::UnicodeNormalization;

/// Lower case without accents and without punctuation at the ends.
pub(crate) fn fold(text: &str) -> String {
    let inner =
        text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '#' | '%' | '№' | '€' | '$' | '£'));
    if inner.is_ascii() {
        return inner.to_ascii_lowercase();
    }
    let mut plain = String::with_capacity(inner.len());
    for letter in inner.to_lowercase().nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)) {
        match letter {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ł' => plain.push('l'),
            'ø' => plain.push('o'),
            'đ' => plain.push('d'),
            'ı' => plain.push('i'),
            '״' | '“' | '”' => plain.push('"'),
            other => plain.push(other),
        }
    }
    // The article of Arabic is written together with its word.
    if let Some(word) = plain.strip_prefix("ال").filter(|word| word.chars().count() >= 3) {
        return word.to_owned();
    }
    plain.nfc().collect()
}

/// Whether a letter is of a script that has no blanks between words, or few.
pub(crate) fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{e00}'..='\u{e7f}')
}
