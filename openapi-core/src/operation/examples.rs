//! The examples of the OpenAPI document: one story, as data. The tests of the document compare each with its schema.

use std::sync::LazyLock;

use serde_json::Value;

static EXAMPLES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("examples.json"))
        .unwrap_or_else(|error| unreachable!("the examples are not JSON: {error}"))
});

/// The `request` or the `response` of an operation. An operation by platform id has the examples of the operation by
/// external id.
pub(super) fn of_operation(id: &str, kind: &str) -> Option<Value> {
    EXAMPLES["operations"][id.strip_suffix("ByPlatformId").unwrap_or(id)].get(kind).cloned()
}

/// What the envelope of an error holds besides its code, where that is more than the usual message.
pub(crate) fn of_error(code: &str) -> Option<&'static Value> {
    EXAMPLES["errors"].get(code)
}
