//! A turn as it is sent, and what turns have in common.

use openapi_core::json::Object;
use openapi_core::validation::Violations;
use openapi_core::values::FileId;

use super::leads::SentLead;
use crate::widget::request::{Members, SentUser, is_of_tab};

/// How long a turn counts as running when nothing is heard of its process.
pub(super) const LEASE_MILLIS: i64 = 15_000;
/// What the tokens of a conversation carry before any were revoked.
pub(super) const FIRST_EPOCH: u32 = 1;

/// A turn as it was sent.
pub(super) struct SentTurn {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) uploads: Vec<FileId>,
    pub(super) lead: Option<SentLead>,
    pub(super) user: Option<SentUser>,
    pub(super) page: Option<crate::ChatPage>,
    pub(super) locale: String,
    pub(super) time_zone: Option<String>,
    pub(super) metadata: openapi_core::json::RawObject,
    pub(super) is_session: bool,
    pub(super) challenge: Option<(String, String)>,
    pub(super) is_honeypot: bool,
    pub(super) faults: Violations,
}

impl SentTurn {
    pub(super) fn read(body: &Object) -> Self {
        let mut members = Members::new(body);
        let id = members.turn("id").unwrap_or_default();
        let uploads = members.uploads();
        let lead = SentLead::of_turn(&mut members);
        let may_be_empty = lead.is_some() || !uploads.is_empty();
        SentTurn {
            text: members.message(may_be_empty),
            uploads,
            lead,
            user: members.user(),
            page: members.page(),
            locale: members.line("locale", 35).unwrap_or_else(|| "en".to_owned()),
            time_zone: members.line("tz", 64),
            metadata: members.metadata(),
            is_session: is_of_tab(body),
            challenge: members.challenge(),
            is_honeypot: members.is_honeypot(),
            faults: members.faults,
            id,
        }
    }
}
