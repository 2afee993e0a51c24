//! The words of a text as they are compared.

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;
use unicode_segmentation::UnicodeSegmentation as _;

/// Letters of a word that count; what is longer is no word that anybody asks for.
const MAX_WORD: usize = 64;

/// A word of a text.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    /// Without marks and case.
    pub(crate) folded: &'a str,
    /// In lower case with its marks, as stemmers want it; empty in scripts without spaces.
    pub(crate) lower: &'a str,
    /// Whether it is a part of a name before it, such as `file` of `max_file_size`.
    pub(crate) is_part: bool,
}

/// Text without marks, in compatibility form and without case.
///
/// The marks of voiced sounds stay: kana without them are other syllables.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let is_retained =
        |letter: &char| canonical_combining_class(*letter) == 0 || matches!(letter, '\u{3099}' | '\u{309a}');
    text.nfkd().filter(is_retained).default_case_fold().nfc().collect()
}

/// Calls `each` for the words of a text in their order: UAX #29; of a word with apostrophes its longest part, so that
/// articles and endings that are written to it do not make it another one; pairs of letters in scripts without spaces.
pub(crate) fn words(text: &str, mut each: impl FnMut(Word<'_>)) {
    let mut lower = String::new();
    let mut run = 0..0;
    for (start, word) in text.unicode_word_indices() {
        if word.starts_with(is_unspaced) {
            if start != run.end {
                pairs(&text[run.clone()], &mut each);
                run = start..start;
            }
            run.end = start + word.len();
            continue;
        }
        pairs(&text[std::mem::take(&mut run)], &mut each);
        let part = longest_part(word);
        let part = match part.char_indices().nth(MAX_WORD) {
            Some((end, _)) => &part[..end],
            None => part,
        };
        let mut tell = |part: &str, is_part: bool| {
            if part.is_ascii() {
                lower.clear();
                lower.push_str(part);
                lower.make_ascii_lowercase();
                each(Word { folded: &lower, lower: &lower, is_part });
            } else {
                let written = part.nfc().collect::<String>().to_lowercase();
                each(Word { folded: &fold(part), lower: &written, is_part });
            }
        };
        tell(part, false);
        parts_of_name(part, |part| tell(part, true));
    }
    pairs(&text[run], &mut each);
}

/// Calls `each` for the words that a name such as `max_file_size` or `fileName` is put together from; of a plain word for
/// none. A visitor writes them as separate words.
fn parts_of_name(name: &str, mut each: impl FnMut(&str)) {
    let is_joined = |before: char, after: char| before.is_lowercase() && after.is_uppercase();
    let mut start = 0;
    let mut before = '_';
    for (at, letter) in name.char_indices().chain([(name.len(), '_')]) {
        let is_end = letter == '_' || is_joined(before, letter);
        if is_end && (start > 0 || at < name.len()) {
            let part = name[start..at].trim_matches('_');
            if part.chars().nth(1).is_some() {
                each(part);
            }
        }
        if is_end {
            start = at;
        }
        before = letter;
    }
}

/// The first of the longest parts between apostrophes.
fn longest_part(word: &str) -> &str {
    if !word.contains(['\'', '’']) {
        return word;
    }
    word.split(['\'', '’']).rev().max_by_key(|part| part.len()).unwrap_or(word)
}

fn pairs(run: &str, each: &mut impl FnMut(Word<'_>)) {
    if run.is_empty() {
        return;
    }
    let folded = fold(run);
    let mut starts = folded.char_indices().map(|(start, _)| start).chain([folded.len()]);
    let (mut first, mut second) = (starts.next(), starts.next());
    let mut is_alone = true;
    for end in starts {
        if let Some(start) = first {
            each(Word { folded: &folded[start..end], lower: "", is_part: false });
        }
        is_alone = false;
        (first, second) = (second, Some(end));
    }
    if is_alone {
        each(Word { folded: &folded, lower: "", is_part: false });
    }
}

/// Whether a letter belongs to a script that is written without spaces between words.
fn is_unspaced(letter: char) -> bool {
    matches!(u32::from(letter),
        // Thai, Lao, Burmese, Khmer.
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff
        // Kana and Han.
        | 0x3005..=0x3007 | 0x3040..=0x30ff | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |word| all.push(word.folded.to_owned()));
        all
    }

    #[test]
    fn words_are_compared_without_marks_and_case() {
        assert_eq!(folded("Größe, CAFÉ & ﬁne 1,000.50 kg!"), ["grosse", "cafe", "fine", "1,000.50", "kg"]);
        assert_eq!(folded("İstanbul ÅNGSTRÖM مُحَمَّد"), ["istanbul", "angstrom", "محمد"]);
        assert_eq!(
            folded("l’abonnement d'été; the customer's don't"),
            ["abonnement", "ete", "the", "customer", "don"]
        );
    }

    #[test]
    fn names_are_found_by_their_words_too() {
        assert_eq!(
            folded("set max_file_size or fileName, HTTPServer iPhone _x"),
            [
                "set",
                "max_file_size",
                "max",
                "file",
                "size",
                "or",
                "filename",
                "file",
                "name",
                "httpserver",
                "iphone",
                "phone",
                "_x"
            ]
        );
        assert_eq!(folded("RATE_LIMIT_EXCEEDED"), ["rate_limit_exceeded", "rate", "limit", "exceeded"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(folded("東京都に3日"), ["東京", "京都", "都に", "3", "日"]);
        assert_eq!(
            folded("キャンセルできます。"),
            ["キャ", "ャン", "ンセ", "セル", "ルで", "でき", "きま", "ます"]
        );
        assert_eq!(folded("パン ばん はん"), ["パン", "ばん", "はん"]);
        assert_eq!(folded("退款政策 VIP"), ["退款", "款政", "政策", "vip"]);
        assert_eq!(folded(""), Vec::<String>::new());
    }
}
