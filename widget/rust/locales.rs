//! The widget's texts in other languages than English, which is in the script itself.

/// The languages by their tags, and the texts of each: a JSON object of strings.
pub const LOCALES: [(&str, &str); 12] = [
    ("ar", include_str!("../locales/ar.json")),
    ("de", include_str!("../locales/de.json")),
    ("es", include_str!("../locales/es.json")),
    ("fr", include_str!("../locales/fr.json")),
    ("he", include_str!("../locales/he.json")),
    ("it", include_str!("../locales/it.json")),
    ("ja", include_str!("../locales/ja.json")),
    ("nl", include_str!("../locales/nl.json")),
    ("pl", include_str!("../locales/pl.json")),
    ("pt-BR", include_str!("../locales/pt-BR.json")),
    ("tr", include_str!("../locales/tr.json")),
    ("zh-Hans", include_str!("../locales/zh-Hans.json")),
];

/// The tag of a language and its texts, a JSON object of strings; `pt` and `zh` are aliases of their only variant. `None`
/// for English and for languages without texts.
#[must_use]
pub fn texts(tag: &str) -> Option<(&'static str, &'static str)> {
    let tag = match tag.to_ascii_lowercase().as_str() {
        "pt" => "pt-BR".to_owned(),
        "zh" => "zh-Hans".to_owned(),
        other => other.to_owned(),
    };
    LOCALES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(&tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_an_object_of_strings() {
        for (tag, text) in LOCALES {
            let read: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).expect(tag);
            assert!(read.len() > 30 && read.values().all(serde_json::Value::is_string), "{tag}");
            assert_eq!(texts(&tag.to_uppercase()).map(|(tag, _)| tag), Some(tag));
        }
        assert_eq!(texts("zh").map(|(tag, _)| tag), Some("zh-Hans"));
        assert_eq!((texts("en"), texts("xx")), (None, None));
    }
}
