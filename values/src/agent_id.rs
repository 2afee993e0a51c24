//! The id of an agent (contract 2).

use std::sync::Arc;

use super::{PlatformId, TextValue, text_value};
use crate::validation::{ValidationCode, ValidationIssue};

/// The id of an agent: 1 to 64 of `[A-Za-z0-9_-]`, case-sensitive, chosen by the operator or generated. Cheap
/// to clone: every record and every request carries one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(Arc<str>);

text_value!(AgentId);

impl TextValue for AgentId {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let valid = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !valid {
            return Err(ValidationIssue::new(
                ValidationCode::Pattern,
                "must be 1 to 64 letters, digits, _ or -",
            ));
        }
        Ok(AgentId(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
    }
}

impl From<PlatformId> for AgentId {
    fn from(id: PlatformId) -> Self {
        AgentId(id.to_string().into())
    }
}
