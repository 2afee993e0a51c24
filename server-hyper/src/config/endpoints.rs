//! Values that belong to endpoints of models, which have names: `NAME=VALUE`, or `VALUE` alone for the one without.

/// Splits `NAME=VALUE`; none where there is no name, or an `=` only within the value.
pub(super) fn named(text: &str) -> (Option<&str>, &str) {
    // A key may end in `=`, so that what stands behind a name is more than that.
    let is_value = |value: &str| value.is_empty() || value.bytes().any(|it| it != b'=');
    match text.split_once('=') {
        Some((name, value)) if is_name(name) && is_value(value) => (Some(name), value),
        _ => (None, text),
    }
}

/// Whether an endpoint may be called so.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
}

/// Keys, separated by commas. `read` makes one of the text behind the name.
///
/// # Errors
/// The first one that cannot be read. No error shows a key or a part of one.
pub(super) fn keys<K, E: ToString>(
    text: &str,
    read: impl Fn(&str) -> Result<K, E>,
) -> Result<Vec<(Option<&str>, K)>, String> {
    let each = text.split(',').map(|text| {
        let (name, key) = named(text.trim());
        read(key).map(|key| (name, key)).map_err(|error| error.to_string())
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_front_of_values() {
        let address = "https://models.example.com/v1?a=b";
        assert_eq!(named(address), (None, address));
        assert_eq!(named("fast=https://a.example"), (Some("fast"), "https://a.example"));
        assert_eq!(named("fast="), (Some("fast"), ""));
        assert_eq!(named("sk-1=="), (None, "sk-1=="), "the end of a key");
        assert_eq!(named("fast=sk-1=="), (Some("fast"), "sk-1=="));
        assert_eq!(named("a.b=c"), (None, "a.b=c"));
    }

    #[test]
    fn keys_in_a_row() {
        let read = |text: &str| if text == "bad" { Err("no key") } else { Ok(text.to_owned()) };
        let keys = |text| keys(text, read);
        assert_eq!(keys("one\n"), Ok(vec![(None, "one".to_owned())]));
        assert_eq!(keys("one, b=two"), Ok(vec![(None, "one".to_owned()), (Some("b"), "two".to_owned())]));
        assert_eq!(keys("one,b=bad"), Err("no key".to_owned()));
    }
}
