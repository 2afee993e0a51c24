//! The settings file: TOML with one key per setting and a table `[llm.NAME]` per LLM endpoint. An unknown key is an error
//! that names its line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::layers::{Layer, Origin, hint};
use super::registry::{Setting, ValueKind};
use super::values::list;

/// Reads the text of a settings file. Errors name the file as `name`.
///
/// # Errors
/// Every error of the file, each with its line.
pub fn parse(name: &str, text: &str) -> Result<Layer, Vec<String>> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        vec![format!("{name}:{line}: {}", error.message())]
    })?;
    let mut entries = Vec::new();
    flatten(table.get_ref(), "", &mut entries);
    let mut layer = Layer::default();
    let mut errors = Vec::new();
    for (key, at, value) in entries {
        let line = line_of(at);
        match read(&key, value) {
            Ok(texts) => layer.insert(key, texts, Origin::File { name: name.to_owned(), line }),
            Err(error) => errors.push((line, format!("{name}:{line}: {error}"))),
        }
    }
    errors.sort();
    if errors.is_empty() { Ok(layer) } else { Err(errors.into_iter().map(|(_, error)| error).collect()) }
}

/// Dotted keys with their offsets and values. Only tables below `llm` hold settings.
fn flatten<'a>(
    table: &'a DeTable<'a>,
    prefix: &str,
    entries: &mut Vec<(String, usize, &'a Spanned<DeValue<'a>>)>,
) {
    for (key, value) in table {
        let path = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if path == "llm" || prefix == "llm." => {
                flatten(inner, &format!("{path}."), entries);
            }
            _ => entries.push((path, key.span().start, value)),
        }
    }
}

fn read(key: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let Some(setting) = Setting::accepting(key) else {
        return Err(format!("unknown key '{key}'{}", hint(key, str::to_owned)));
    };
    match value.get_ref() {
        DeValue::Array(items) if setting.kind == ValueKind::List => items
            .iter()
            .map(|item| scalar(item).ok_or_else(|| format!("'{key}' must be a list of strings")))
            .collect(),
        _ => match scalar(value) {
            Some(text) if setting.kind == ValueKind::List => Ok(list(&text)),
            Some(text) => Ok(vec![text]),
            None => Err(format!("'{key}' must be a string, a number or a boolean")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_lines() {
        let text = "# names\nlisten = \"0.0.0.0:80\"\n\nhttp2 = true\nmax_connections = 5_000\n\
            trusted_proxies = [\"10.0.0.0/8\",\n \"::1\"]\ncors_origin = \"a, b\"\nserver_key_file = \"/run/key\"\n\
            [llm.main]\nurl = \"https://x\"\napi_key_file = \"/run/k\"\n[llm]\nb = { model = \"m\" }\n";
        let layer = parse("f.toml", text).unwrap();
        let value = |key: &str| {
            let (texts, origin) = layer.get(key).unwrap().clone();
            let Origin::File { line, .. } = origin else { panic!("{origin}") };
            (texts.join("|"), line)
        };
        assert_eq!(value("listen"), ("0.0.0.0:80".to_owned(), 2));
        assert_eq!(value("http2"), ("true".to_owned(), 4));
        assert_eq!(value("max_connections"), ("5000".to_owned(), 5));
        assert_eq!(value("trusted_proxies"), ("10.0.0.0/8|::1".to_owned(), 6));
        assert_eq!(value("cors_origin"), ("a|b".to_owned(), 8));
        assert_eq!(value("server_key_file").1, 9);
        assert_eq!(value("llm.main.url"), ("https://x".to_owned(), 11));
        assert_eq!(value("llm.main.api_key_file"), ("/run/k".to_owned(), 12));
        assert_eq!(value("llm.b.model"), ("m".to_owned(), 14));
    }

    #[test]
    fn errors_name_the_line() {
        let errors = |text: &str| parse("f.toml", text).unwrap_err();
        assert_eq!(
            errors(
                "listen = \"a\"\nlisten_ops = 1\nlistne = \"b\"\n[tls]\ncert = 1\n[llm.x]\nkey = \"k\"\n[llm.Y]\nurl = \"u\""
            ),
            [
                "f.toml:2: unknown key 'listen_ops'; did you mean ops_listen?",
                "f.toml:3: unknown key 'listne'; did you mean listen?",
                "f.toml:4: unknown key 'tls'",
                "f.toml:7: unknown key 'llm.x.key'; did you mean llm.x.api_key?",
                "f.toml:9: unknown key 'llm.Y.url'; did you mean llm.y.url?"
            ]
        );
        assert_eq!(
            errors("\nlisten = [1]\nstore = 1.5\nllm = 2\ntrusted_proxy = \"::1\""),
            [
                "f.toml:2: 'listen' must be a string, a number or a boolean",
                "f.toml:3: 'store' must be a string, a number or a boolean",
                "f.toml:4: unknown key 'llm'",
                "f.toml:5: unknown key 'trusted_proxy'; did you mean trusted_proxies?"
            ]
        );
        assert!(errors("a = \n")[0].starts_with("f.toml:1: "));
        assert!(errors("listen = \"a\"\nlisten = \"b\"\n")[0].starts_with("f.toml:2: "));
        assert_eq!(
            errors("listen_file = \"a\""),
            ["f.toml:1: unknown key 'listen_file'; did you mean listen?"]
        );
    }
}
