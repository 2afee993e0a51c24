//! The LLM endpoints: `[llm.NAME]` with `url`, `model`, `api_key`, `price` and `images`, for chat and extraction.

use std::collections::BTreeMap;

use ::llm::{ApiKey, EndpointConfig, Price};

use super::reader::Reader;
use super::values;

/// Names that stand for engines in other settings.
const RESERVED: [&str; 3] = ["builtin", "llm", "off"];

/// The endpoints by name.
pub(super) fn read(reader: &mut Reader<'_>) -> BTreeMap<String, EndpointConfig> {
    let names = reader.llm_names();
    names
        .into_iter()
        .filter_map(|(name, given)| Some((name.clone(), endpoint(reader, &name, &given)?)))
        .collect()
}

/// The endpoint of this name; `given` is one of its keys that has a value.
fn endpoint(reader: &mut Reader<'_>, name: &str, given: &str) -> Option<EndpointConfig> {
    let key = |field: &str| format!("llm.{name}.{field}");
    if RESERVED.contains(&name) {
        reader.error(given, &format!("'{name}' is reserved; choose another name for the endpoint"));
    }
    for field in ["url", "model"] {
        if !reader.is_set(&key(field)) {
            reader.error(given, &format!("the endpoint '{name}' also needs {}", key(field)));
        }
    }
    let model = reader.optional(&key("model"), |text| match text.trim() {
        "" => Err("must not be empty".to_owned()),
        model => Ok(model.to_owned()),
    });
    let model = model.unwrap_or_default();
    let endpoint = reader
        .optional(&key("url"), |text| EndpointConfig::parse(text, &model).map_err(|error| error.to_string()));
    let api_key =
        reader.optional(&key("api_key"), |text| ApiKey::new(text).map_err(|error| error.to_string()));
    let price = reader.optional(&key("price"), price).unwrap_or_default();
    let images = reader.one(&key("images"), false, values::boolean);
    Some(EndpointConfig { api_key, price, images, ..endpoint? })
}

fn price(text: &str) -> Result<Price, String> {
    let invalid = || format!("'{text}' is not INPUT/OUTPUT, such as 0.15/0.60");
    let (input, output) = text.split_once('/').ok_or_else(invalid)?;
    let number =
        |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0).ok_or_else(invalid);
    Ok(Price { input: number(input)?, output: number(output)? })
}
