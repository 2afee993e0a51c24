//! Settings: flag > environment > file > default. Reading order: registry → flags, file → layers → reader → typed.

pub mod console;
pub mod exposure;
pub mod extraction;
pub mod file;
pub mod flags;
pub mod layers;
pub mod llm;
pub mod mail;
pub mod outbound;
mod reader;
pub mod registry;
pub mod timeouts;
pub mod typed;
pub mod values;
pub mod widget;

use std::fmt;
use std::path::Path;

use flags::GlobalArgs;
use layers::{FlagValues, Layer, Origin, SourceError, Value};
use registry::ValueKind;

use crate::text_file;

/// All settings with their values and origins.
#[derive(Clone, Debug)]
pub struct Config {
    values: Vec<Value>,
    /// What the operator should know: variables that may have been meant as settings, and settings that expose secrets.
    pub warnings: Vec<String>,
}

/// Why the settings cannot be used: one error per line, each with what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    errors: Vec<String>,
    /// Whether a flag is at fault: the command line was wrong.
    pub is_usage: bool,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.errors.join("\n"))
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    fn new(errors: Vec<SourceError>) -> Self {
        let is_usage = errors.iter().any(|(origin, _)| matches!(origin, Origin::Flag(_)));
        ConfigError { errors: errors.into_iter().map(|(_, error)| error).collect(), is_usage }
    }
}

impl Config {
    /// Reads the global flags, the `further` flags of the command, the environment and the settings file.
    ///
    /// # Errors
    /// Every source that cannot be read, contradicts itself or names an unknown setting.
    pub fn read(every: &GlobalArgs, further: Option<&FlagValues>) -> Result<Self, ConfigError> {
        let path = every.config.clone().or_else(|| config_variable().map(Into::into));
        let file = path.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let mut flags: FlagValues = every.values.clone();
        flags.extend(further.cloned().unwrap_or_default());
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let flags = Layer::of_flags(&flags, &mut errors);
        let environment = Layer::of_environment(variables(), &mut errors, &mut warnings);
        if !errors.is_empty() {
            return Err(ConfigError::new(errors));
        }
        let values = layers::resolve(&[flags, environment, file], &|path| text_file::read(path));
        let values = values.map_err(ConfigError::new)?;
        warnings.extend(exposure::warnings(&values, &variable));
        Ok(Config { values, warnings })
    }

    /// Sets a value unless a source has one: the default of a command that differs from the registry's.
    pub fn default_to(&mut self, key: &str, text: &str) {
        let value = self.values.iter_mut().find(|value| value.key == key);
        if let Some(value) = value.filter(|value| value.origin == Origin::Default) {
            value.texts = vec![text.to_owned()];
        }
    }

    /// Sets values that the flags of a command give.
    pub fn override_with(&mut self, flags: &FlagValues) {
        for value in &mut self.values {
            if let Some(texts) = flags.get(&value.key) {
                value.texts.clone_from(texts);
                value.file = None;
                value.origin = Origin::Flag(registry::flag_of(&value.key));
            }
        }
    }

    /// All values in the order of the registry, then those of LLM endpoints.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value of a setting; the key is one of the registry, or of an endpoint that is configured.
    #[must_use]
    pub fn value(&self, key: &str) -> &Value {
        let value = self.values.iter().find(|value| value.key == key);
        value.unwrap_or_else(|| unreachable!("{key} is in the registry"))
    }

    /// The single value of a setting, if it has one.
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
    /// The value with secrets masked.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.setting.kind {
            ValueKind::Secret if self.texts.is_empty() => String::new(),
            ValueKind::Secret => "****".to_owned(),
            ValueKind::SecretUrl => self.texts.iter().map(|text| values::without_password(text)).collect(),
            _ => self.texts.join(", "),
        }
    }
}

fn read_file(path: &Path) -> Result<Layer, ConfigError> {
    let name = path.display().to_string();
    let error = |errors| ConfigError { errors, is_usage: false };
    let text = text_file::read(path)
        .map_err(|cause| error(vec![format!("cannot read the settings file {name}: {cause}")]))?;
    file::parse(&name, &text).map_err(error)
}

/// The environment, without variables whose name or value is not Unicode.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)))
}

/// The value of an environment variable.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    variables().find(|(found, text)| found == name && !text.is_empty()).map(|(_, text)| text)
}

fn config_variable() -> Option<String> {
    variable("OPENAPI_CONFIG")
}
