//! What the responders say themselves, in the languages of the widget.

use std::sync::LazyLock;

/// Sentences in one language.
#[cfg_attr(
    not(feature = "llm"),
    allow(dead_code, reason = "some sentences belong to replies of models only")
)]
pub(crate) struct Texts {
    locale: &'static str,
    /// Before quotations.
    pub(crate) found: &'static str,
    /// Before quotations that may not answer.
    pub(crate) unsure: &'static str,
    /// Nothing was found.
    pub(crate) unknown: &'static str,
    /// After `unknown`, before quotations that do not answer.
    pub(crate) nearest: &'static str,
    /// After `unknown`, before the lead form.
    pub(crate) form: &'static str,
    /// The answer to a greeting.
    pub(crate) greeting: &'static str,
    /// The answer to thanks.
    pub(crate) thanks: &'static str,
    /// What answers here.
    pub(crate) identity: &'static str,
    /// The answer to "how are you".
    pub(crate) wellbeing: &'static str,
    /// The answer to an insult, a complaint or a thumb down.
    pub(crate) sorry: &'static str,
    /// The answer to what only the visitor's own records tell.
    pub(crate) personal: &'static str,
    /// A person is wanted, and there is none.
    pub(crate) no_person: &'static str,
    /// Instead of a reply that tells what visitors are not to see.
    pub(crate) refused: &'static str,
    /// A person takes over.
    pub(crate) handoff: &'static str,
}

/// The sentences of a locale, English where there are none.
pub(crate) fn texts(locale: &str) -> &'static Texts {
    let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    let wanted = match primary(locale).as_str() {
        "iw" => "he".to_owned(),
        known => known.to_owned(),
    };
    TEXTS.iter().find(|texts| primary(texts.locale) == wanted).unwrap_or(&TEXTS[0])
}

/// The sentences as data: a block for each locale, a line for each sentence.
const DATA: &str = include_str!("texts.txt");

static TEXTS: LazyLock<Vec<Texts>> = LazyLock::new(|| DATA.split("\n\n").map(Texts::parse).collect());

impl Texts {
    fn parse(block: &'static str) -> Self {
        let sentence = |name: &str| {
            let mut lines = block.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default()
        };
        Texts {
            locale: sentence("locale"),
            found: sentence("found"),
            unsure: sentence("unsure"),
            unknown: sentence("unknown"),
            nearest: sentence("nearest"),
            form: sentence("form"),
            greeting: sentence("greeting"),
            thanks: sentence("thanks"),
            identity: sentence("identity"),
            wellbeing: sentence("wellbeing"),
            sorry: sentence("sorry"),
            personal: sentence("personal"),
            no_person: sentence("no_person"),
            refused: sentence("refused"),
            handoff: sentence("handoff"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_of_the_widget_has_its_sentences() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../widget/locales");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).expect("the widget's locales") {
            let name = file.expect("a file").file_name().into_string().expect("a name");
            let locale = name.strip_suffix(".json").expect("JSON");
            assert_eq!(texts(locale).locale, locale);
            seen += 1;
        }
        assert_eq!(seen + 1, TEXTS.len());
    }

    #[test]
    fn no_sentence_is_missing_or_forgotten_in_english() {
        let all = |texts: &Texts| {
            [
                texts.found,
                texts.unsure,
                texts.unknown,
                texts.nearest,
                texts.form,
                texts.greeting,
                texts.thanks,
                texts.identity,
                texts.wellbeing,
                texts.sorry,
                texts.personal,
                texts.no_person,
                texts.refused,
                texts.handoff,
            ]
        };
        assert!(all(&TEXTS[0]).into_iter().all(|sentence| !sentence.is_empty()));
        for texts in &TEXTS[1..] {
            for (own, english) in all(texts).into_iter().zip(all(&TEXTS[0])) {
                assert!(!own.is_empty() && own != english, "{}: {own}", texts.locale);
            }
        }
        for (locale, wanted) in
            [("", "en"), ("xx", "en"), ("pt", "pt-BR"), ("zh-CN", "zh-Hans"), ("DE_at", "de")]
        {
            assert_eq!(texts(locale).locale, wanted, "{locale}");
        }
    }
}
