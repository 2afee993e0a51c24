//! Which value of a setting counts: flag, else environment, else file, else default.

use std::collections::BTreeMap;
use std::fmt;

use super::file::FileValues;
use super::registry::{Kind, SETTINGS, Setting};

/// Values of flags by the setting's key, or its key with `_file` behind.
pub type FlagValues = BTreeMap<String, Vec<String>>;

/// Where a value comes from.
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
    /// Nothing was given.
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

/// The value of a setting that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The setting.
    pub setting: &'static Setting,
    /// The value, or values; none when nothing is given and there is no default.
    pub texts: Vec<String>,
    /// Where it comes from.
    pub origin: Origin,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Setting {}

/// What settings are taken from.
pub struct Sources<'a> {
    /// The flags given.
    pub flags: &'a FlagValues,
    /// Reads an environment variable; an empty one counts as unset.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The name and the values of the settings file.
    pub file: Option<(&'a str, &'a FileValues)>,
    /// Reads a file that holds a secret.
    pub read_file: &'a dyn Fn(&str) -> std::io::Result<String>,
}

impl Sources<'_> {
    /// The value of every setting, in the order of the table.
    ///
    /// # Errors
    /// What is contradictory or cannot be read.
    pub fn resolve(&self) -> Result<Vec<Value>, Vec<(Origin, String)>> {
        let mut values = Vec::new();
        let mut faults = Vec::new();
        for setting in SETTINGS {
            match self.resolve_one(setting) {
                Ok(value) => values.push(value),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(values) } else { Err(faults) }
    }

    fn resolve_one(&self, setting: &'static Setting) -> Result<Value, (Origin, String)> {
        let file_key = format!("{}_file", setting.key);
        let layers: [&Layer<'_>; 3] = [
            &|key| {
                let texts = self.flags.get(key)?;
                Some((texts.clone(), Origin::Flag(key.replace('_', "-"))))
            },
            &|key| {
                let variable = format!("OPENAPI_{}", key.to_uppercase());
                let text = (self.environment)(&variable).filter(|text| !text.is_empty())?;
                let texts = if setting.kind == Kind::Many { split(&text) } else { vec![text] };
                Some((texts, Origin::Environment(variable)))
            },
            &|key| {
                let (name, values) = self.file?;
                let (texts, line) = values.get(key)?;
                Some((texts.clone(), Origin::File { name: name.to_owned(), line: *line }))
            },
        ];
        for layer in layers {
            let direct = layer(setting.key);
            let in_file = if setting.may_stand_in_file() { layer(&file_key) } else { None };
            match (direct, in_file) {
                (Some((_, first)), Some((_, second))) => {
                    return Err((
                        first.clone(),
                        format!("{first} and {second} contradict each other; give one"),
                    ));
                }
                (Some((texts, origin)), None) => return Ok(Value { setting, texts, origin }),
                (None, Some((paths, origin))) => {
                    let path = paths.first().map_or("", String::as_str);
                    let text = (self.read_file)(path).map_err(|error| {
                        (origin.clone(), format!("{origin}: cannot read {path}: {error}"))
                    })?;
                    return Ok(Value { setting, texts: vec![text.trim().to_owned()], origin });
                }
                (None, None) => {}
            }
        }
        let texts = if setting.default.is_empty() { Vec::new() } else { vec![setting.default.to_owned()] };
        Ok(Value { setting, texts, origin: Origin::Default })
    }
}

/// Looks a key up in one source.
type Layer<'a> = dyn Fn(&str) -> Option<(Vec<String>, Origin)> + 'a;

/// The parts of a list written with commas.
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn flag_beats_environment_beats_file_beats_default(
            at in 0..SETTINGS.len(),
            in_flags: bool, in_environment: bool, in_file: bool, named_file: bool,
        ) {
            let setting = &SETTINGS[at];
            let named_file = named_file && setting.may_stand_in_file();
            let key = if named_file { format!("{}_file", setting.key) } else { setting.key.to_owned() };
            let variable = format!("OPENAPI_{}", key.to_uppercase());
            let mut flags = FlagValues::new();
            if in_flags {
                flags.insert(key.clone(), vec!["from-flag".to_owned()]);
            }
            let environment = |name: &str| {
                (in_environment && name == variable).then(|| "from-environment".to_owned())
            };
            let mut file = FileValues::new();
            if in_file {
                file.insert(key.clone(), (vec!["from-file".to_owned()], 7));
            }
            let read_file = |path: &str| Ok(format!("content of {path}\n"));
            let sources = Sources {
                flags: &flags,
                environment: &environment,
                file: Some(("x.toml", &file)),
                read_file: &read_file,
            };
            let value = sources.resolve().unwrap().into_iter().nth(at).unwrap();
            let (text, origin) = if in_flags {
                ("from-flag", Origin::Flag(key.replace('_', "-")))
            } else if in_environment {
                ("from-environment", Origin::Environment(variable.clone()))
            } else if in_file {
                ("from-file", Origin::File { name: "x.toml".to_owned(), line: 7 })
            } else {
                (setting.default, Origin::Default)
            };
            let expected = match text {
                "" => vec![],
                text if named_file && origin != Origin::Default => vec![format!("content of {text}")],
                text => vec![text.to_owned()],
            };
            prop_assert_eq!(value, Value { setting, texts: expected, origin });
        }
    }

    #[test]
    fn a_secret_and_its_file_at_once_are_refused() {
        let flags = FlagValues::new();
        let environment = |name: &str| name.starts_with("OPENAPI_SERVER_KEY").then(|| "x".to_owned());
        let read_file = |_: &str| Ok(String::new());
        let sources = Sources { flags: &flags, environment: &environment, file: None, read_file: &read_file };
        let faults = sources.resolve().unwrap_err();
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].1.contains("OPENAPI_SERVER_KEY and environment OPENAPI_SERVER_KEY_FILE"),
            "{faults:?}"
        );
    }
}
