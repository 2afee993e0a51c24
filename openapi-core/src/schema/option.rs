//! The options of a field.

use serde::Deserialize;

use crate::json::json_object;

/// One option of a `select` or `multiselect`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldOption {
    /// The value on the wire.
    pub value: String,
    /// What people read.
    pub label: String,
}

json_object! { FieldOption = |option| {
    "value": String = option.value,
    "label": String = option.label,
} }
