//! Small records of agents: settings and the like.

use serde::{Deserialize, Serialize};

use crate::json::RawObject;

/// A small record of an agent, replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRecord {
    /// What it is.
    pub kind: RecordKind,
    /// How often it was saved, from 1.
    pub version: u64,
    /// Its members.
    pub body: RawObject,
}

/// What small records an agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordKind {
    /// Its settings.
    Settings,
    /// What its chat has used today.
    ChatUsage,
    /// The version of its knowledge; the body is empty.
    Knowledge,
    /// What its identity secrets are made from.
    Identity,
}

impl RecordKind {
    /// Every kind.
    pub const ALL: [RecordKind; 4] =
        [RecordKind::Settings, RecordKind::ChatUsage, RecordKind::Knowledge, RecordKind::Identity];

    /// The number that stores write for it.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            RecordKind::Settings => 1,
            RecordKind::ChatUsage => 2,
            RecordKind::Knowledge => 3,
            RecordKind::Identity => 4,
        }
    }

    /// The kind of a number that a store has written.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        RecordKind::ALL.into_iter().find(|kind| kind.number() == number)
    }
}
