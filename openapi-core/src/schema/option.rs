//! The options of a field.

use serde::{Deserialize, Serialize};

/// One option of a `select` or `multiselect`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldOption {
    /// The value on the wire.
    pub value: String,
    /// What people read.
    pub label: String,
}
