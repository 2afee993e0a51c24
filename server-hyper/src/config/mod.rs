//! Settings: flag > environment > file > default. Reading order: registry → flags, file → layers → typed.

pub mod documents;
mod endpoints;
pub mod file;
pub mod flags;
pub mod layers;
pub mod registry;
pub mod typed;
pub mod values;
pub mod widget;

use std::fmt;
use std::path::Path;

use flags::GlobalArgs;
use layers::{FlagValues, Origin, Sources, Value};
use registry::{Kind, Setting};

/// All settings with their values and origins, and what is worth a warning.
#[derive(Clone, Debug)]
pub struct Config {
    values: Vec<Value>,
    /// Environment variables that look like settings and are none.
    pub warnings: Vec<String>,
}

/// Why settings cannot be used; one fault a line, each with what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    faults: Vec<String>,
    /// Whether a flag is at fault: wrong usage of the command line.
    pub is_usage: bool,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("\n"))
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    fn new(faults: Vec<(Origin, String)>) -> Self {
        let is_usage = faults.iter().any(|(origin, _)| matches!(origin, Origin::Flag(_)));
        ConfigError { faults: faults.into_iter().map(|(_, fault)| fault).collect(), is_usage }
    }
}

impl Config {
    /// Reads flags, `further` ones of the command, the environment and the settings file.
    ///
    /// # Errors
    /// When a source cannot be read, contradicts itself or names what is no setting.
    pub fn read(every: &GlobalArgs, further: Option<&FlagValues>) -> Result<Self, ConfigError> {
        let config_variable = variable("OPENAPI_CONFIG");
        let path = every.config.clone().or_else(|| config_variable.map(Into::into));
        let file = path.as_deref().map(read_file).transpose()?;
        let mut flags: FlagValues = every.values.clone();
        flags.extend(further.cloned().unwrap_or_default());
        let sources = Sources {
            flags: &flags,
            environment: &variable,
            file: file.as_ref().map(|(name, values)| (name.as_str(), values)),
            read_file: &|path| std::fs::read_to_string(path),
        };
        let values = sources.resolve().map_err(ConfigError::new)?;
        Ok(Config { values, warnings: strange_variables() })
    }

    /// Sets a value where nobody has given one: what a command has for a default of its own.
    pub fn default_to(&mut self, key: &str, text: &str) {
        let value = self.values.iter_mut().find(|value| value.setting.key == key);
        if let Some(value) = value.filter(|value| value.origin == Origin::Default) {
            value.texts = vec![text.to_owned()];
        }
    }

    /// Sets values that the flags of a command give.
    pub fn override_with(&mut self, flags: &FlagValues) {
        for value in &mut self.values {
            if let Some(texts) = flags.get(value.setting.key) {
                value.texts.clone_from(texts);
                value.origin = Origin::Flag(value.setting.flag());
            }
        }
    }

    /// All values in the order of the table.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value of a setting; the key is one of the table.
    #[must_use]
    pub fn value(&self, key: &str) -> &Value {
        let value = self.values.iter().find(|value| value.setting.key == key);
        value.unwrap_or_else(|| unreachable!("{key} is in the table"))
    }

    /// The only text of a setting, if it has one.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.value(key).texts.first().map(String::as_str)
    }

    /// The store's URL.
    #[must_use]
    pub fn store(&self) -> &str {
        self.text("store").unwrap_or_default()
    }
}

impl Value {
    /// The value as it may be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.setting.kind {
            Kind::Secret if self.texts.is_empty() => String::new(),
            Kind::Secret => "****".to_owned(),
            Kind::WithPassword => self.texts.iter().map(|text| values::without_password(text)).collect(),
            _ => self.texts.join(", "),
        }
    }
}

fn read_file(path: &Path) -> Result<(String, file::FileValues), ConfigError> {
    let name = path.display().to_string();
    let fault = |faults| ConfigError { faults, is_usage: false };
    let text = std::fs::read_to_string(path)
        .map_err(|error| fault(vec![format!("cannot read the settings file {name}: {error}")]))?;
    let values = file::parse(&name, &text).map_err(fault)?;
    Ok((name, values))
}

#[expect(clippy::disallowed_methods, reason = "the settings are the one place that reads the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Variables that begin like a setting and are none: most likely a slip.
fn strange_variables() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut strange: Vec<String> = names
        .filter_map(|name| {
            let key = name.strip_prefix("OPENAPI_")?.to_lowercase();
            let stem = key.strip_suffix("_file").unwrap_or(&key);
            let known = key == "config"
                || Setting::of(&key).is_some()
                || Setting::of(stem).is_some_and(Setting::may_stand_in_file);
            let near = file::nearest(&key).and_then(Setting::of);
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {}?", near.variable()));
            (!known).then(|| format!("the environment variable {name} is no setting{hint}"))
        })
        .collect();
    strange.sort();
    strange
}
