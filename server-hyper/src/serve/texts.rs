//! The texts of the widget, parsed once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use openapi_core::json::{Json, Object, parse};

static TEXTS: LazyLock<BTreeMap<&str, Object>> = LazyLock::new(|| {
    let read = |text: &str| match parse(text.as_bytes()) {
        Ok(Json::Object(texts)) => texts,
        _ => unreachable!("a test of the crate widget reads every language"),
    };
    widget::LOCALES.into_iter().map(|(tag, text)| (tag, read(text))).collect()
});

/// The texts of a language, with its tag.
#[must_use]
pub fn of_locale(tag: &str) -> Option<(String, Object)> {
    let (tag, _) = widget::texts(tag)?;
    TEXTS.get(tag).map(|texts| (tag.to_owned(), texts.clone()))
}
