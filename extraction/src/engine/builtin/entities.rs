//! Names of companies and people, countries, and what tells them from other text.

use super::text::is_capitalised;
use super::view::{Span, View, fold};
use super::vocabulary::{
    COMPANY_ENDINGS, COMPANY_WORDS, COUNTRIES, LEGAL_FORMS, NAME_PARTICLES, SALUTATIONS, TITLES,
    UNSPACED_FORMS,
};

/// Whether a word of a name makes it that of an organisation.
pub(crate) fn is_company(text: &str) -> bool {
    UNSPACED_FORMS.occur_in(text)
        || text.split_whitespace().any(|word| {
            let folded = fold(word);
            folded.len() >= 2 && COMPANY_WORDS.has(&folded)
        })
}

/// Whether text is only the ending of a company's name.
pub(crate) fn is_ending(text: &str) -> bool {
    COMPANY_ENDINGS.has_all(text)
}

/// Whether text is only what ends the name of a company: words for kinds of shops and legal forms.
pub(crate) fn is_rest_of_company(text: &str) -> bool {
    let mut words = text
        .split_whitespace()
        .map(fold)
        .filter(|word| !matches!(word.as_str(), "" | "m" | "and" | "und"))
        .peekable();
    words.peek().is_some() && words.all(|word| COMPANY_WORDS.has(&word) || COMPANY_ENDINGS.has(&word))
}

/// Whether the last word of a name is a legal form.
pub(crate) fn ends_as_company(text: &str) -> bool {
    text.split_whitespace().next_back().is_some_and(|word| LEGAL_FORMS.has(&fold(word)))
}

/// Whether text is how somebody is addressed, without a name.
pub(crate) fn is_salutation(text: &str) -> bool {
    SALUTATIONS.has_all(text)
}

/// Two to five words with capitals, and nothing else.
pub(crate) fn is_person(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    (2..=5).contains(&words.len())
        && words.iter().all(|word| {
            let bare = word.trim_matches(['.', ',']);
            !bare.is_empty()
                && bare.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.'))
                && (is_capitalised(bare) || NAME_PARTICLES.has(bare))
        })
        && !is_title(text)
        && !is_company(text)
}

/// Whether text is the title of a document or of a part of it.
pub(crate) fn is_title(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(fold).filter(|word| !word.is_empty()).collect();
    let titles = words.iter().filter(|word| TITLES.has(word)).count();
    !words.is_empty() && titles * 2 >= words.len()
}

/// The country at the end of text, as written.
pub(crate) fn country(text: &str) -> Option<&str> {
    let bare = text.trim().trim_end_matches(['.', ',']);
    let folded = fold(bare);
    COUNTRIES.has(&folded).then_some(bare)
}

/// Whether text has a postal code.
pub(crate) fn has_postal(text: &str) -> bool {
    postal(&text.split_whitespace().collect::<Vec<_>>()).is_some()
}

/// A postal code: its first word, its number of words, and whether codes of its kind precede the town.
pub(crate) fn postal(words: &[&str]) -> Option<(usize, usize)> {
    let bare =
        |word: &str| word.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | '·' | '(' | ')')).to_owned();
    for (at, word) in words.iter().enumerate() {
        let text = bare(word);
        let body = text
            .split_once('-')
            .filter(|(land, _)| (1..=2).contains(&land.len()) && land.chars().all(char::is_alphabetic))
            .map_or(text.as_str(), |(_, code)| code);
        let digits = body.bytes().all(|byte| byte.is_ascii_digit());
        let is_pair = |word: &&str| word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        // `1016 GV Amsterdam`: the letters are part of the code.
        let goes_on = body.len() == 4 && words.get(at + 1).is_some_and(is_pair) && at + 2 < words.len();
        if digits
            && !goes_on
            && (body.len() == 5
                || body.len() == 4 && at + 1 < words.len()
                || body.len() == 6
                    && at > 0
                    && words[at - 1].chars().any(char::is_alphabetic)
                    && !words[at - 1].ends_with(':'))
            && !body.is_empty()
        {
            return Some((at, 1));
        }
        if text.len() == 10
            && text.split_once('-').is_some_and(|(a, b)| {
                a.len() == 5 && b.len() == 4 && (a.to_owned() + b).bytes().all(|byte| byte.is_ascii_digit())
            })
        {
            return Some((at, 1));
        }
        // `BS1 4DJ`, `K1A 0B1`, `1012 AB`
        if let Some(next) = words.get(at + 1) {
            let next = bare(next);
            let kind = |text: &str| {
                text.chars()
                    .map(|c| {
                        if c.is_ascii_digit() {
                            '9'
                        } else if c.is_ascii_uppercase() {
                            'A'
                        } else {
                            '?'
                        }
                    })
                    .collect::<String>()
            };
            let outward = kind(&text);
            let is_british = next.len() == 3
                && kind(&next) == "9AA"
                && (2..=4).contains(&text.len())
                && outward.starts_with('A')
                && !outward.contains('?')
                && outward.contains('9');
            let is_canadian = kind(&next) == "9A9" && outward == "A9A";
            let is_dutch = outward == "9999" && kind(&next) == "AA";
            if is_british || is_canadian || is_dutch {
                return Some((at, 2));
            }
        }
    }
    None
}

/// Whether a span is worth being a name: it has letters and is no number, mail or address of the web.
pub(crate) fn is_wordy(view: &View<'_>, span: Span) -> bool {
    let text = view.text(span);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 2
        && letters * 2 >= text.chars().filter(|c| !c.is_whitespace()).count()
        && !text.contains('@')
        && !text.to_lowercase().contains("www.")
}
