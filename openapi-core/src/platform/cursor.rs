//! Cursors: the place behind a page, signed, bound to the query that it was issued for (contract 2.5).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::contacts::Contact;
use crate::server_keys::ServerKeys;
use crate::service::ContactListQuery;
use crate::storage::{ContactSort, SortKey, SortPosition};
use crate::values::{AgentId, ContactId, Timestamp};

const PURPOSE: &str = "contact list cursor";

/// Octets of the signature that a cursor carries.
const TAG_OCTETS: usize = 16;

/// What a cursor says.
#[derive(Serialize, Deserialize)]
struct Payload {
    /// The time of the last item, when sorted by time.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none", default)]
    time: Option<i64>,
    /// The text key of the last item; absent when `null`.
    #[serde(rename = "k", skip_serializing_if = "Option::is_none", default)]
    text: Option<String>,
    /// The id of the last item.
    #[serde(rename = "i")]
    id: String,
    /// The page that the cursor leads to.
    #[serde(rename = "p")]
    page: u64,
}

/// The cursor behind a contact.
pub(super) fn issue(
    keys: &ServerKeys,
    agent: &AgentId,
    query: &ContactListQuery,
    last: &Contact,
    next_page: u64,
) -> String {
    let fold = |text: Option<&str>| text.map(crate::values::fold);
    let (time, text) = match query.sort {
        ContactSort::CreatedAt => (Some(last.created_at.millis()), None),
        ContactSort::UpdatedAt => (Some(last.updated_at.millis()), None),
        ContactSort::FirstName => (None, fold(last.first_name.as_ref().map(|name| name.as_str()))),
        ContactSort::LastName => (None, fold(last.last_name.as_ref().map(|name| name.as_str()))),
        ContactSort::PrimaryEmail => (None, fold(Some(last.primary_email.as_str()))),
    };
    let payload = Payload { time, text, id: last.id.to_string(), page: next_page };
    let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&payload).unwrap_or_default());
    let tag = keys.tag(PURPOSE, &message(agent, query, &payload));
    format!("{payload}.{}", URL_SAFE_NO_PAD.encode(&tag[..TAG_OCTETS]))
}

/// The place that a cursor stands for and the page it leads to; `None` when it was altered or issued for other
/// parameters.
pub(super) fn read(
    keys: &ServerKeys,
    agent: &AgentId,
    query: &ContactListQuery,
    cursor: &str,
) -> Option<(SortPosition, u64)> {
    let (payload, tag) = cursor.split_once('.')?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok().filter(|tag| tag.len() == TAG_OCTETS)?;
    if !keys.verifies(PURPOSE, &message(agent, query, payload), &tag) {
        return None;
    }
    let payload: Payload = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    let key = match query.sort {
        ContactSort::CreatedAt | ContactSort::UpdatedAt => {
            SortKey::Time(Timestamp::from_millis(payload.time?))
        }
        _ => SortKey::Text(payload.text),
    };
    let id: ContactId = payload.id.parse().ok()?;
    Some((SortPosition { key, id }, payload.page))
}

/// What is signed: the payload, the agent and every parameter but the page.
fn message(agent: &AgentId, query: &ContactListQuery, payload: &str) -> Vec<u8> {
    let text = |part: Option<&str>| part.map(str::to_owned);
    let parts = (
        agent.as_str(),
        payload,
        text(query.search.as_deref()),
        query.status.map(|status| status.as_str()),
        text(query.tag.as_deref()),
        query.include_archived,
        query.primary_email.as_ref().map(|email| email.normalized()),
        query.created_since.map(Timestamp::millis),
        query.updated_since.map(Timestamp::millis),
        query.sort.as_str(),
        query.order == crate::storage::Order::Ascending,
        query.page.limit,
    );
    serde_json::to_vec(&parts).unwrap_or_default()
}
