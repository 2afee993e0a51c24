//! The status of a contact (contract 3).

use serde::{Deserialize, Serialize};

use super::{Invalid, TextValue};
use crate::validation::ValidationIssue;

/// `status`: any value may follow any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContactStatus {
    /// The default.
    #[default]
    Active,
    /// Not in use for now.
    Inactive,
    /// Blocked by the caller's own judgement; does not restrict the Open API.
    Blocked,
}

impl ContactStatus {
    /// Every status.
    pub const ALL: [ContactStatus; 3] =
        [ContactStatus::Active, ContactStatus::Inactive, ContactStatus::Blocked];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ContactStatus::Active => "active",
            ContactStatus::Inactive => "inactive",
            ContactStatus::Blocked => "blocked",
        }
    }
}

impl TextValue for ContactStatus {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| ValidationIssue::not_one_of(&Self::ALL.map(Self::as_str)))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

impl std::str::FromStr for ContactStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text).map_err(Invalid)
    }
}
