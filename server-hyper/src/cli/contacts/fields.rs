//! The fields of a contact that a command sets: from a file, and one by one.

use std::path::PathBuf;

use ::console::imports::{CUSTOM, Columns, Header};
use clap::Args;
use openapi_core::contacts::ContactFields;
use openapi_core::json::{Json, Object};

use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::error::CliError;

#[derive(Debug, Args)]
pub struct Fields {
    /// JSON file with fields, as the Open API takes them; - for standard input
    #[arg(long)]
    file: Option<PathBuf>,
    /// Set a field; repeatable
    #[arg(long, value_name = "FIELD=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

/// Reads `FIELD=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write FIELD=VALUE, such as firstName=Ada")?;
    if name.trim().is_empty() {
        return Err("write FIELD=VALUE, such as firstName=Ada".to_owned());
    }
    if value.trim().is_empty() {
        return Err(format!("has no value; `contacts update` clears a field with --unset {}", name.trim()));
    }
    Ok((name.trim().to_owned(), value.to_owned()))
}

impl Fields {
    /// The body of the request. The service checks the values.
    ///
    /// # Errors
    /// When the file cannot be read, or something is no field or named twice.
    pub fn body(
        &self,
        context: &CommandContext,
        columns: &Columns,
        unset: &[String],
    ) -> Result<Object, CliError> {
        let header = Header::new(columns, &[]).map_err(CliError::new)?;
        let mut body = match &self.file {
            Some(path) => input::object(context, path)?,
            None => Object::new(),
        };
        let mut given: Vec<String> = Vec::new();
        let set = self.set.iter().map(|(name, text)| ("--set", name, Some(text)));
        for (flag, name, text) in set.chain(unset.iter().map(|name| ("--unset", name, None))) {
            let name =
                header.named(name).map_err(|error| CliError::new(format!("{flag} {name}: {error}")))?;
            if !ContactFields::NAMES.contains(&name.as_str()) && !name.starts_with("customFields.") {
                return Err(CliError::new(format!("{flag} {name}: the service sets this field")));
            }
            if given.contains(&name) {
                return Err(CliError::new(format!("{flag} {name}: the field is named twice")));
            }
            put(&mut body, &name, text.map_or(Json::Null, |text| columns.value(&name, text)));
            given.push(name);
        }
        Ok(body)
    }
}

/// Sets a field, or a custom field by its path.
fn put(body: &mut Object, name: &str, value: Json) {
    let Some(custom) = name.strip_prefix("customFields.") else {
        body.insert(name, value);
        return;
    };
    let mut members = match body.remove(CUSTOM) {
        Some(Json::Object(members)) => members,
        _ => Object::new(),
    };
    members.insert(custom, value);
    body.insert(CUSTOM, Json::Object(members));
}
