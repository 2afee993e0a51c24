//! Cursors: the position after a page, signed, bound to the query that it was issued for (contract 2.5).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::contacts::Contact;
use crate::files::ContactFile;
use crate::forms::{Submission, TemplateSummary};
use crate::server_keys::ServerKeys;
use crate::service::{ContactListQuery, ExtractionListQuery, FileListQuery, SubmissionListQuery};
use crate::storage::{
    ContactSort, FilePosition, FileSort, FileSortKey, Job, JobPosition, Order, SortKey, SortPosition,
    SubmissionPosition, TemplatePosition,
};
use crate::values::{AgentId, ContactId, Timestamp};

/// Bytes of the signature that a cursor carries.
const TAG_BYTES: usize = 16;

/// What a cursor says.
#[derive(Serialize, Deserialize)]
struct Payload {
    /// The time of the last item, when sorted by time; its size, when sorted by size.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none", default)]
    number: Option<i64>,
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

/// A payload under the signature of this list, which covers all parameters but the page.
fn seal(keys: &ServerKeys, list: &str, parameters: &impl Serialize, payload: &impl Serialize) -> String {
    let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(payload).unwrap_or_default());
    let message = serde_json::to_vec(&(&payload, parameters)).unwrap_or_default();
    let tag = keys.tag(list, &message);
    format!("{payload}.{}", URL_SAFE_NO_PAD.encode(&tag[..TAG_BYTES]))
}

/// The payload of a cursor; `None` when it was altered or issued for other parameters.
fn unseal<T: DeserializeOwned>(
    keys: &ServerKeys,
    list: &str,
    parameters: &impl Serialize,
    cursor: &str,
) -> Option<T> {
    let (payload, tag) = cursor.split_once('.')?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok().filter(|tag| tag.len() == TAG_BYTES)?;
    let message = serde_json::to_vec(&(payload, parameters)).ok()?;
    if !keys.verifies(list, &message, &tag) {
        return None;
    }
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

/// Cursors of the list of contacts.
pub(super) struct ContactCursors<'a> {
    pub(super) keys: &'a ServerKeys,
    pub(super) agent: &'a AgentId,
    pub(super) query: &'a ContactListQuery,
}

impl ContactCursors<'_> {
    const LIST: &'static str = "contact list cursor";

    fn parameters(&self) -> impl Serialize {
        let query = self.query;
        (
            self.agent.as_str().to_owned(),
            query.search.clone(),
            query.status.map(|status| status.as_str()),
            query.tag.clone(),
            query.include_archived,
            query.primary_email.as_ref().map(|email| email.normalized()),
            query.created_since.map(Timestamp::millis),
            query.updated_since.map(Timestamp::millis),
            query.sort.as_str(),
            query.order == Order::Ascending,
            query.page.limit,
        )
    }

    /// The cursor after a contact.
    pub(super) fn issue(&self, last: &Contact, page: u64) -> String {
        let fold = |text: Option<&str>| text.map(values::fold);
        let (number, text) = match self.query.sort {
            ContactSort::CreatedAt => (Some(last.created_at.millis()), None),
            ContactSort::UpdatedAt => (Some(last.updated_at.millis()), None),
            ContactSort::FirstName => (None, fold(last.first_name.as_ref().map(|name| name.as_str()))),
            ContactSort::LastName => (None, fold(last.last_name.as_ref().map(|name| name.as_str()))),
            ContactSort::PrimaryEmail => (None, fold(Some(last.primary_email.as_str()))),
        };
        let payload = Payload { number, text, id: last.id.to_string(), page };
        seal(self.keys, Self::LIST, &self.parameters(), &payload)
    }

    /// The position of a cursor and the number of its page.
    pub(super) fn read(&self, cursor: &str) -> Option<(SortPosition, u64)> {
        let payload: Payload = unseal(self.keys, Self::LIST, &self.parameters(), cursor)?;
        let key = match self.query.sort {
            ContactSort::CreatedAt | ContactSort::UpdatedAt => {
                SortKey::Time(Timestamp::from_millis(payload.number?))
            }
            _ => SortKey::Text(payload.text),
        };
        let id: ContactId = payload.id.parse().ok()?;
        Some((SortPosition { key, id }, payload.page))
    }
}

/// Cursors of the list of a contact's files.
pub(super) struct FileCursors<'a> {
    pub(super) keys: &'a ServerKeys,
    pub(super) agent: &'a AgentId,
    pub(super) contact: ContactId,
    pub(super) query: &'a FileListQuery,
}

impl FileCursors<'_> {
    const LIST: &'static str = "file list cursor";

    fn parameters(&self) -> impl Serialize {
        let FileListQuery { sort, order, page } = self.query;
        (
            self.agent.as_str().to_owned(),
            self.contact.to_string(),
            sort.as_str(),
            *order == Order::Ascending,
            page.limit,
        )
    }

    /// The cursor after a file.
    pub(super) fn issue(&self, last: &ContactFile, page: u64) -> String {
        let FilePosition { key, id } = self.query.sort.position(last);
        let (number, text) = match key {
            FileSortKey::Time(time) => (Some(time.millis()), None),
            FileSortKey::Name(name) => (None, Some(name)),
            FileSortKey::Size(bytes) => (i64::try_from(bytes).ok(), None),
        };
        let payload = Payload { number, text, id: id.to_string(), page };
        seal(self.keys, Self::LIST, &self.parameters(), &payload)
    }

    /// The position of a cursor and the number of its page.
    pub(super) fn read(&self, cursor: &str) -> Option<(FilePosition, u64)> {
        let payload: Payload = unseal(self.keys, Self::LIST, &self.parameters(), cursor)?;
        let key = match self.query.sort {
            FileSort::CreatedAt => FileSortKey::Time(Timestamp::from_millis(payload.number?)),
            FileSort::FileName => FileSortKey::Name(payload.text?),
            FileSort::FileSize => FileSortKey::Size(u64::try_from(payload.number?).ok()?),
        };
        Some((FilePosition { key, id: payload.id.parse().ok()? }, payload.page))
    }
}

/// Cursors of the list of a contact's submissions.
pub(super) struct SubmissionCursors<'a> {
    pub(super) keys: &'a ServerKeys,
    pub(super) agent: &'a AgentId,
    pub(super) contact: ContactId,
    pub(super) query: &'a SubmissionListQuery,
}

impl SubmissionCursors<'_> {
    const LIST: &'static str = "submission list cursor";

    fn parameters(&self) -> impl Serialize {
        let SubmissionListQuery { template, status, include_superseded, client_id, page } = self.query;
        (
            self.agent.as_str().to_owned(),
            self.contact.to_string(),
            template.map(|template| template.to_string()),
            status.map(|status| status.as_str()),
            *include_superseded,
            client_id.clone(),
            page.limit,
        )
    }

    /// The cursor after a submission.
    pub(super) fn issue(&self, last: &Submission, page: u64) -> String {
        let SubmissionPosition { created_at, id } = SubmissionPosition::of(last);
        let payload = Payload { number: Some(created_at.millis()), text: None, id: id.to_string(), page };
        seal(self.keys, Self::LIST, &self.parameters(), &payload)
    }

    /// The position of a cursor and the number of its page.
    pub(super) fn read(&self, cursor: &str) -> Option<(SubmissionPosition, u64)> {
        let payload: Payload = unseal(self.keys, Self::LIST, &self.parameters(), cursor)?;
        let created_at = Timestamp::from_millis(payload.number?);
        Some((SubmissionPosition { created_at, id: payload.id.parse().ok()? }, payload.page))
    }
}

/// Cursors of the list of templates.
pub(super) struct TemplateCursors<'a> {
    pub(super) keys: &'a ServerKeys,
    pub(super) agent: &'a AgentId,
    pub(super) limit: u32,
}

impl TemplateCursors<'_> {
    const LIST: &'static str = "template list cursor";

    fn parameters(&self) -> impl Serialize {
        (self.agent.as_str().to_owned(), self.limit)
    }

    /// The cursor after a template.
    pub(super) fn issue(&self, last: &TemplateSummary, page: u64) -> String {
        let TemplatePosition { name_key, id } = TemplatePosition::of(last);
        let payload = Payload { number: None, text: Some(name_key), id: id.to_string(), page };
        seal(self.keys, Self::LIST, &self.parameters(), &payload)
    }

    /// The position of a cursor and the number of its page.
    pub(super) fn read(&self, cursor: &str) -> Option<(TemplatePosition, u64)> {
        let payload: Payload = unseal(self.keys, Self::LIST, &self.parameters(), cursor)?;
        Some((TemplatePosition { name_key: payload.text?, id: payload.id.parse().ok()? }, payload.page))
    }
}

/// Cursors of the list of queued extractions.
pub(super) struct JobCursors<'a> {
    pub(super) keys: &'a ServerKeys,
    pub(super) agent: &'a AgentId,
    pub(super) query: &'a ExtractionListQuery,
}

impl JobCursors<'_> {
    const LIST: &'static str = "extraction list cursor";

    fn parameters(&self) -> impl Serialize {
        let ExtractionListQuery { status, batch, client_id, page } = self.query;
        (self.agent.as_str().to_owned(), *status, batch.clone(), client_id.clone(), page.limit)
    }

    /// The cursor after a job.
    pub(super) fn issue(&self, last: &Job, page: u64) -> String {
        let payload =
            Payload { number: Some(last.created_at.millis()), text: None, id: last.id.to_string(), page };
        seal(self.keys, Self::LIST, &self.parameters(), &payload)
    }

    /// The position of a cursor and the number of its page.
    pub(super) fn read(&self, cursor: &str) -> Option<(JobPosition, u64)> {
        let payload: Payload = unseal(self.keys, Self::LIST, &self.parameters(), cursor)?;
        Some(((Timestamp::from_millis(payload.number?), payload.id.parse().ok()?), payload.page))
    }
}
