//! Characters that a reader does not see. Copying from a web page, a spreadsheet or a mail program brings them along;
//! in a single line of text most of them mean nothing, and mislead.

use std::borrow::Cow;

/// Zero-width characters, and those that change the direction of the text around them; not line separators.
pub const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Characters that repeat ASCII invisibly. Only in flags of emoji have they a meaning.
pub const fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// The black flag, with which the emoji of a region begins.
const FLAG: char = '\u{1f3f4}';

/// A single line without invisible characters. Joiners stay between letters of the scripts that need them and in emoji,
/// tags in flags.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(|c: char| is_invisible(c) || is_tag(c)) {
        return Cow::Borrowed(text);
    }
    // Every script before Hebrew does without joiners.
    let joins = |c: Option<char>| {
        c.is_some_and(|c| c >= '\u{590}' && !c.is_whitespace() && !is_invisible(c) && !is_tag(c))
    };
    let mut seen = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let before = seen.chars().next_back();
        let stays = match c {
            '\u{200c}' | '\u{200d}' => joins(before) && joins(rest.clone().next()),
            c if is_tag(c) => before.is_some_and(|before| before == FLAG || is_tag(before)),
            c => !is_invisible(c),
        };
        if stays {
            seen.push(c);
        }
    }
    Cow::Owned(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_goes_and_the_rest_stays() {
        for (sent, seen) in [
            ("\u{feff}Zoë\u{200b}", "Zoë"),
            ("\u{202a}a@b.co\u{202c}", "a@b.co"),
            ("\u{2066}Zo\u{200d}\u{ad}ë\u{2069}", "Zoë"),
            ("Zo\u{e0061}ë", "Zoë"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("\u{200c}می\u{200c} ", "می "),
            ("👩\u{200d}🔬", "👩\u{200d}🔬"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            ),
            ("क\u{94d}\u{200d}ष", "क\u{94d}\u{200d}ष"),
            ("plain", "plain"),
            ("\u{200b}", ""),
        ] {
            assert_eq!(visible(sent), seen, "{sent:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_visible_line_stays_as_it_is(text in "([a-zא-ת🏴👩]|[\u{200b}-\u{200f}]|[\u{e0061}-\u{e007a}]|\u{202e}){0,12}") {
            let once = visible(&text).into_owned();
            proptest::prop_assert_eq!(visible(&once), once.as_str());
        }
    }
}
