//! The sources of settings, and which one wins: flag, then environment, then file, then default.
//!
//! `figment` and `config` were considered and do not fit: they attribute a table to the last source that touched it, do
//! not know the line of a key, and stop at the first error. `config show` names the line, and `config check` reports all
//! errors of all sources at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::registry::{
    LLM_SETTINGS, SETTINGS, Setting, ValueKind, flag_of, key_of_variable, nearest, variable_of,
};
use super::values::list;

/// Values of flags by the setting's key, or its key with `_file` appended.
pub type FlagValues = BTreeMap<String, Vec<String>>;

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// The settings file.
    File {
        /// Its name.
        name: String,
        /// The line of the key.
        line: usize,
    },
    /// No source has a value.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "flag --{flag}"),
            Origin::Environment(variable) => write!(f, "environment {variable}"),
            Origin::File { name, line } => write!(f, "file {name}:{line}"),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// The effective value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The setting.
    pub setting: &'static Setting,
    /// Its key; `llm.NAME.FIELD` for a field of an LLM endpoint.
    pub key: String,
    /// The value or list items; none without a value and a default.
    pub texts: Vec<String>,
    /// The file that has the value, if the setting names one (`…_file`).
    pub file: Option<String>,
    /// The source of the value.
    pub origin: Origin,
}

/// An error in a source, and where it is.
pub type SourceError = (Origin, String);

/// The values that one source gives, by key.
#[derive(Clone, Debug, Default)]
pub struct Layer(BTreeMap<String, (Vec<String>, Origin)>);

impl Layer {
    /// Adds a value.
    pub fn insert(&mut self, key: String, texts: Vec<String>, origin: Origin) {
        self.0.insert(key, (texts, origin));
    }

    /// The value under a key, with its origin.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&(Vec<String>, Origin)> {
        self.0.get(key)
    }

    /// The layer of the command line, where clap has refused unknown flags. `--llm` holds the fields of all endpoints.
    #[must_use]
    pub fn of_flags(flags: &FlagValues, errors: &mut Vec<SourceError>) -> Self {
        let mut layer = Layer::default();
        for (key, texts) in flags {
            if key != "llm" {
                layer.insert(key.clone(), texts.clone(), Origin::Flag(flag_of(key)));
                continue;
            }
            for text in texts {
                let (field, value) = text.split_once('=').unwrap_or((text, ""));
                let key = format!("llm.{field}");
                let origin = Origin::Flag(flag_of(&key));
                match Setting::accepting(&key) {
                    Some(_) if Setting::of(&key).is_some_and(|it| it.kind == ValueKind::Secret) => {
                        errors.push((
                            origin,
                            format!(
                                "flag --llm {field}: other users can see command lines; set {} or --llm {field}_file=FILE",
                                variable_of(&key)
                            ),
                        ));
                    }
                    Some(_) if !value.is_empty() => layer.insert(key, vec![value.to_owned()], origin),
                    Some(_) => errors.push((
                        origin,
                        format!("flag --llm {field}: write NAME.FIELD=VALUE, such as main.model=NAME"),
                    )),
                    None => {
                        let hint = hint(&key, |near| format!("--{}", flag_of(near)));
                        errors.push((origin, format!("flag --llm {field}: there is no such setting{hint}")));
                    }
                }
            }
        }
        layer
    }

    /// The layer of environment variables; empty ones count as unset. Variables that begin with `OPENAPI_` and are not
    /// similar to any setting may belong to another program: they cause a warning.
    pub fn of_environment(
        variables: impl IntoIterator<Item = (String, String)>,
        errors: &mut Vec<SourceError>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut layer = Layer::default();
        for (variable, text) in variables {
            let Some(key) = key_of_variable(&variable) else { continue };
            if is_no_setting(&key) || text.is_empty() || is_service_link(&key, &text) {
                continue;
            }
            match (Setting::accepting(&key), nearest(&key)) {
                (Some(setting), _) => {
                    let texts = if setting.kind == ValueKind::List { list(&text) } else { vec![text] };
                    layer.insert(key, texts, Origin::Environment(variable));
                }
                (None, Some(near)) => {
                    let message = format!(
                        "the environment variable {variable} is not a setting; did you mean {}?",
                        variable_of(&near)
                    );
                    errors.push((Origin::Environment(variable), message));
                }
                (None, None) => {
                    warnings.push(format!("the environment variable {variable} is not a setting"));
                }
            }
        }
        layer
    }
}

/// Whether a variable is read elsewhere: the path of the configuration file, the password of a backup, and the token for a
/// console elsewhere.
fn is_no_setting(key: &str) -> bool {
    matches!(key, "config" | "backup_password" | "token")
}

/// Whether Kubernetes may have set this variable, for a service called `openapi` or `openapi-…` in the same namespace:
/// `…_SERVICE_HOST`, `…_SERVICE_PORT`, `…_PORT_8080_TCP_ADDR`, and `…_PORT`, which is an address such as
/// `tcp://10.0.0.7:80` also where a setting has that name.
fn is_service_link(key: &str, text: &str) -> bool {
    let names_port = key.ends_with("service_host") || key.split('_').any(|part| part == "port");
    names_port && (Setting::accepting(key).is_none() || text.contains("://"))
}

/// The end of an error about an unknown key.
pub(super) fn hint(key: &str, written: impl Fn(&str) -> String) -> String {
    nearest(key).map_or_else(String::new, |near| format!("; did you mean {}?", written(&near)))
}

/// Picks the effective value of every setting from layers in order of precedence. `read_file` reads a file that holds a
/// value.
///
/// # Errors
/// Settings that one source gives twice, and files that cannot be read.
pub fn resolve(
    layers: &[Layer],
    read_file: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Vec<Value>, Vec<SourceError>> {
    let names: BTreeSet<&str> = layers
        .iter()
        .flat_map(|layer| layer.0.keys())
        .filter_map(|key| super::registry::llm_key(key).map(|(name, _)| name))
        .collect();
    let llm = names
        .iter()
        .flat_map(|name| LLM_SETTINGS.iter().map(move |it| (it, format!("llm.{name}.{}", it.key))));
    let keys = SETTINGS.iter().map(|it| (it, it.key.to_owned())).chain(llm);
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for (setting, key) in keys {
        match resolve_one(setting, key, layers, read_file) {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

fn resolve_one(
    setting: &'static Setting,
    key: String,
    layers: &[Layer],
    read_file: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Value, SourceError> {
    let file_key = format!("{key}_file");
    for layer in layers {
        match (layer.get(&key), layer.get(&file_key)) {
            (Some((_, first)), Some((_, second))) => {
                return Err((
                    first.clone(),
                    format!("{first} and {second} contradict each other; remove one"),
                ));
            }
            (Some((texts, origin)), None) => {
                return Ok(Value { setting, key, texts: texts.clone(), file: None, origin: origin.clone() });
            }
            (None, Some((paths, origin))) => {
                let path = paths.first().map_or("", String::as_str);
                let text = read_file(path)
                    .map_err(|error| (origin.clone(), format!("{origin}: cannot read {path}: {error}")))?;
                return Ok(Value {
                    setting,
                    key,
                    texts: vec![text.trim().to_owned()],
                    file: Some(path.to_owned()),
                    origin: origin.clone(),
                });
            }
            (None, None) => {}
        }
    }
    let texts = if setting.default.is_empty() { Vec::new() } else { vec![setting.default.to_owned()] };
    Ok(Value { setting, key, texts, file: None, origin: Origin::Default })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys of every setting, and of two endpoints.
    fn keys() -> Vec<(&'static Setting, String)> {
        let llm = ["a-1", "main"]
            .into_iter()
            .flat_map(|name| LLM_SETTINGS.iter().map(move |it| (it, format!("llm.{name}.{}", it.key))));
        SETTINGS.iter().map(|it| (it, it.key.to_owned())).chain(llm).collect()
    }

    proptest! {
        #[test]
        fn flag_beats_environment_beats_file_beats_default(
            at in 0..keys().len(),
            in_flags: bool, in_environment: bool, in_file: bool, named_file: bool,
        ) {
            let (setting, key) = keys().swap_remove(at);
            let named_file = named_file && setting.allowed_in_file();
            let given = if named_file { format!("{key}_file") } else { key.clone() };
            // A secret has no flag of its own.
            let in_flags = in_flags && (named_file || setting.kind != ValueKind::Secret);
            let (mut errors, mut warnings) = (Vec::new(), Vec::new());
            let mut flags = FlagValues::new();
            if in_flags {
                match given.strip_prefix("llm.") {
                    Some(field) => flags.insert("llm".to_owned(), vec![format!("{field}=from-flag")]),
                    None => flags.insert(given.clone(), vec!["from-flag".to_owned()]),
                };
            }
            let variable = variable_of(&given);
            let environment = in_environment.then(|| (variable.clone(), "from-environment".to_owned()));
            let mut file = Layer::default();
            let line = Origin::File { name: "x.toml".to_owned(), line: 7 };
            if in_file {
                file.insert(given.clone(), vec!["from-file".to_owned()], line.clone());
            }
            let layers = [
                Layer::of_flags(&flags, &mut errors),
                Layer::of_environment(environment, &mut errors, &mut warnings),
                file,
            ];
            prop_assert_eq!((errors, warnings), (vec![], Vec::<String>::new()));
            let values = resolve(&layers, &|path| Ok(format!("content of {path}\n"))).unwrap();
            let value = values.into_iter().find(|value| value.key == key);
            let (text, origin) = if in_flags {
                ("from-flag", Origin::Flag(flag_of(&given)))
            } else if in_environment {
                ("from-environment", Origin::Environment(variable))
            } else if in_file {
                ("from-file", line)
            } else {
                (setting.default, Origin::Default)
            };
            let expected = match text {
                "" => vec![],
                text if named_file && origin != Origin::Default => vec![format!("content of {text}")],
                text => vec![text.to_owned()],
            };
            let exists = in_flags || in_environment || in_file || !key.contains('.');
            let file = (named_file && origin != Origin::Default).then(|| text.to_owned());
            prop_assert_eq!(value, exists.then_some(Value { setting, key, texts: expected, file, origin }));
        }
    }

    #[test]
    fn a_secret_and_its_file_at_once_are_refused() {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let variables = ["OPENAPI_SERVER_KEY", "OPENAPI_SERVER_KEY_FILE"];
        let variables = variables.map(|name| (name.to_owned(), "x".to_owned()));
        let layer = Layer::of_environment(variables, &mut errors, &mut warnings);
        let errors = resolve(&[layer], &|_| Ok(String::new())).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0].1.contains("OPENAPI_SERVER_KEY and environment OPENAPI_SERVER_KEY_FILE"),
            "{errors:?}"
        );
    }

    #[test]
    fn unknown_variables_are_refused_where_they_resemble_a_setting() {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let names = [
            "HOME",
            "OPENAPI_CONFIG",
            "OPENAPI_LISTNE",
            "OPENAPI_TRUSTED_PROXY",
            "OPENAPI_LLM_MAIN_KEY",
            "OPENAPI_ZZZ",
            "OPENAPI_SERVICE_HOST",
            "OPENAPI_PORT_8080_TCP_ADDR",
            "OPENAPI_SERVER_PORT",
        ];
        let link = ("OPENAPI_OUTBOUND_PORT".to_owned(), "tcp://10.0.0.7:80".to_owned());
        let layer = Layer::of_environment([link], &mut errors, &mut warnings);
        assert!(layer.get("outbound_port").is_none() && errors.is_empty() && warnings.is_empty());
        let variables = names.map(|name| (name.to_owned(), "x".to_owned()));
        Layer::of_environment(variables, &mut errors, &mut warnings);
        let ends: Vec<_> =
            errors.iter().map(|(_, text)| text.rsplit_once("did you mean ").unwrap().1).collect();
        assert_eq!(ends[..3], ["OPENAPI_LISTEN?", "OPENAPI_TRUSTED_PROXIES?", "OPENAPI_LLM_MAIN_API_KEY?"]);
        assert_eq!(warnings, ["the environment variable OPENAPI_ZZZ is not a setting"]);
        assert_eq!(errors.len() + warnings.len(), 4);
    }

    #[test]
    fn fields_of_endpoints_are_checked_on_the_command_line() {
        let mut errors = Vec::new();
        let texts =
            ["main.api_key=sk-Secret", "main.key=x", "main.url", "url=x", "Main.url=x", "a.price=1/2"];
        let flags = FlagValues::from([("llm".to_owned(), texts.map(str::to_owned).to_vec())]);
        let layer = Layer::of_flags(&flags, &mut errors);
        assert_eq!(layer.0.keys().collect::<Vec<_>>(), ["llm.a.price"]);
        let texts: Vec<_> = errors.into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            texts,
            [
                "flag --llm main.api_key: other users can see command lines; set OPENAPI_LLM_MAIN_API_KEY or --llm \
                 main.api_key_file=FILE",
                "flag --llm main.key: there is no such setting; did you mean --llm main.api_key?",
                "flag --llm main.url: write NAME.FIELD=VALUE, such as main.model=NAME",
                "flag --llm url: there is no such setting",
                "flag --llm Main.url: there is no such setting; did you mean --llm main.url?",
            ]
        );
    }
}
