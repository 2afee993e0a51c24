//! The settings file: TOML with one key for each setting. An unknown key is an error that names its line.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::registry::{Kind, SETTINGS, Setting};

/// The values of a file by key, each with its line.
pub type FileValues = BTreeMap<String, (Vec<String>, usize)>;

/// Reads the text of a settings file. `name` stands in errors.
///
/// # Errors
/// Every fault of the file, each with its line.
pub fn parse(name: &str, text: &str) -> Result<FileValues, Vec<String>> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        vec![format!("{name}:{line}: {}", error.message())]
    })?;
    let mut values = FileValues::new();
    let mut faults = Vec::new();
    for (key, value) in table.get_ref() {
        let line = line_of(key.span().start);
        let key: &str = key.get_ref();
        match read(key, value) {
            Ok(texts) => {
                values.insert(key.to_owned(), (texts, line));
            }
            Err(fault) => faults.push((line, format!("{name}:{line}: {fault}"))),
        }
    }
    if faults.is_empty() {
        return Ok(values);
    }
    faults.sort();
    Err(faults.into_iter().map(|(_, fault)| fault).collect())
}

fn read(key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let stem = key.strip_suffix("_file").unwrap_or(key);
    let setting =
        Setting::of(key).or_else(|| Setting::of(stem).filter(|setting| setting.may_stand_in_file()));
    let Some(setting) = setting else {
        let near = nearest(key).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        return Err(format!("unknown key '{key}'{near}"));
    };
    match value.get_ref() {
        DeValue::Array(items) if setting.kind == Kind::Many => items
            .iter()
            .map(|item| scalar(item).ok_or_else(|| format!("'{key}' must be a list of strings")))
            .collect(),
        _ => match scalar(value) {
            Some(text) if setting.kind == Kind::Many => Ok(super::layers::split(&text)),
            Some(text) => Ok(vec![text]),
            None => Err(format!("'{key}' must be a string, a number or a truth value")),
        },
    }
}

fn scalar(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The known key that shares most with a mistyped one.
#[must_use]
pub fn nearest(key: &str) -> Option<&'static str> {
    let likeness = |known: &str| {
        let pairs = |text: &str| text.as_bytes().windows(2).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (theirs, ours) = (pairs(known), pairs(key));
        let shared = ours.iter().filter(|pair| theirs.contains(pair)).count();
        2 * shared * 100 / (theirs.len() + ours.len()).max(1)
    };
    SETTINGS
        .iter()
        .map(|setting| (likeness(setting.key), setting.key))
        .filter(|(likeness, _)| *likeness >= 60)
        .max()
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_lines() {
        let text = "# names\nlisten = \"0.0.0.0:80\"\n\nhttp2 = true\nmax_connections = 5_000\n\
            behind_proxy = [\"10.0.0.0/8\",\n \"::1\"]\ncors_origin = \"a, b\"\nserver_key_file = \"/run/key\"\n";
        let values = parse("f.toml", text).unwrap();
        let value = |key: &str| values[key].clone();
        assert_eq!(value("listen"), (vec!["0.0.0.0:80".to_owned()], 2));
        assert_eq!(value("http2"), (vec!["true".to_owned()], 4));
        assert_eq!(value("max_connections"), (vec!["5000".to_owned()], 5));
        assert_eq!(value("behind_proxy"), (vec!["10.0.0.0/8".to_owned(), "::1".to_owned()], 6));
        assert_eq!(value("cors_origin"), (vec!["a".to_owned(), "b".to_owned()], 8));
        assert_eq!(value("server_key_file").1, 9);
    }

    #[test]
    fn faults_name_the_line() {
        let faults = |text: &str| parse("f.toml", text).unwrap_err();
        assert_eq!(
            faults("listen = \"a\"\nlisten_ops = 1\nlistne = \"b\"\n[tls]\ncert = 1\n"),
            [
                "f.toml:2: unknown key 'listen_ops'; did you mean ops_listen?",
                "f.toml:3: unknown key 'listne'; did you mean listen?",
                "f.toml:4: unknown key 'tls'"
            ]
        );
        assert_eq!(
            faults("\nlisten = [1]\nstore = 1.5"),
            [
                "f.toml:2: 'listen' must be a string, a number or a truth value",
                "f.toml:3: 'store' must be a string, a number or a truth value"
            ]
        );
        assert!(faults("a = \n")[0].starts_with("f.toml:1: "));
        assert!(faults("listen = \"a\"\nlisten = \"b\"\n")[0].starts_with("f.toml:2: "));
        assert_eq!(
            faults("listen_file = \"a\""),
            ["f.toml:1: unknown key 'listen_file'; did you mean listen?"]
        );
    }
}
