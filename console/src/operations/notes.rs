//! Notes on contacts: what operators write for their colleagues. A note is a record whose subject is the contact, so
//! erasing the contact erases it.

use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Object, RawObject, json_object};
use openapi_core::operation::Method;
use openapi_core::platform::{concurrent_update, contact_archived};
use openapi_core::reply::{ApiError, Reply};
use openapi_core::storage::retry::{RetryOn, retry_on_conflict};
use openapi_core::storage::{
    Effects, JobsWrite, RecordChange, RecordId, RecordKey, RecordKind, StorageErrorKind, StoredRecord,
    Subject,
};
use openapi_core::values::{AgentId, Block, ContactId, PlatformId, Timestamp};
use serde::{Deserialize, Serialize};

use super::contacts::metadata;
use super::types::{ActorView, Names, Nothing};
use crate::capability::{Capability, Reach};
use crate::context::Context;
use crate::errors::{lacks, not_found};
use crate::forward::contact_of;
use crate::input::{Limit, input};
use crate::operation::{Metadata, Operation, Traits};

/// The text of a note.
type Text = Block<4000>;

/// A note as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    text: String,
    by: Actor,
    at: Timestamp,
    /// Who has changed the text last, and when.
    edited: Option<(Actor, Timestamp)>,
}

/// A note with its id and its version.
struct StoredNote {
    id: PlatformId,
    version: u64,
    note: Note,
}

impl StoredNote {
    fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}

/// A note as operators see it.
pub struct NoteView {
    stored: StoredNote,
    by: ActorView,
    edited_by: Option<ActorView>,
}

json_object! { NoteView as "Note" = |view| {
    "id": PlatformId = view.stored.id,
    "text": String { "description": "Plain text." } = view.stored.note.text,
    "by": ActorView = view.by,
    "at": Timestamp = view.stored.note.at,
    "editedBy": Option<ActorView> { "description": "Who has changed the text last." } = view.edited_by,
    "editedAt": Option<Timestamp> = view.stored.note.edited.as_ref().map(|(_, at)| *at),
    "etag": String { "description": "What a change of the note sends as `If-Match`." } = view.stored.etag(),
} }

async fn view(cx: &Context<'_>, names: &mut Names, stored: StoredNote) -> Result<NoteView, ApiError> {
    let by = names.view(cx, &stored.note.by).await?;
    let edited_by = match &stored.note.edited {
        Some((editor, _)) => Some(names.view(cx, editor).await?),
        None => None,
    };
    Ok(NoteView { stored, by, edited_by })
}

async fn reply(
    cx: &Context<'_>,
    message: &'static str,
    stored: StoredNote,
) -> Result<Reply<NoteView>, ApiError> {
    let etag = stored.etag();
    Ok(Reply::ok(message, view(cx, &mut Names::default(), stored).await?).with_etag(etag))
}

/// What is done to a note.
enum Change<'a> {
    Add(PlatformId, &'a Text),
    Edit(PlatformId, &'a Text),
    Remove(PlatformId),
}

/// The notes on a contact.
struct Notes<'a> {
    cx: &'a Context<'a>,
    agent: &'a AgentId,
    contact: ContactId,
}

impl Notes<'_> {
    /// The id of a record: that of the contact, then the complement of the note's, which lists the newest first.
    fn record_id(&self, note: Option<PlatformId>) -> RecordId {
        let mut bytes = self.contact.as_bytes().to_vec();
        bytes.extend(note.iter().flat_map(|note| note.as_bytes().map(|byte| !byte)));
        // 24 of at most 64 bytes.
        RecordId::from_bytes(&bytes).unwrap_or_default()
    }

    fn key(&self, note: PlatformId) -> RecordKey {
        RecordKey { kind: RecordKind::Note, id: self.record_id(Some(note)) }
    }

    /// An id whose order is that of the milliseconds, not just of the seconds.
    fn new_id(&self, now: Timestamp) -> PlatformId {
        let mut random = [0; 8];
        self.cx.platform().ports().ids.fill(&mut random);
        let millis = u16::try_from(now.millis().rem_euclid(1_000)).unwrap_or_default();
        random[..2].copy_from_slice(&millis.to_be_bytes());
        PlatformId::new(now, random)
    }

    /// The note of a record of this contact; none of another one's.
    fn read(&self, record: &StoredRecord) -> Result<Option<StoredNote>, ApiError> {
        let id = record.key.id.as_bytes().strip_prefix(self.contact.as_bytes().as_slice());
        let Some(id) = id.and_then(|id| <[u8; 12]>::try_from(id).ok()) else { return Ok(None) };
        let note = serde_json::from_str(record.body.as_str()).map_err(|error| {
            tracing::error!(%error, "a stored note cannot be read");
            ApiError::internal()
        })?;
        let id = PlatformId::from_bytes(id.map(|byte| !byte));
        Ok(Some(StoredNote { id, version: record.version, note }))
    }

    async fn find(&self, note: PlatformId) -> Result<StoredNote, ApiError> {
        let record = self.cx.platform().storage().record(Some(self.agent), &self.key(note)).await?;
        let found = record.as_ref().map(|record| self.read(record)).transpose()?.flatten();
        found.ok_or_else(|| not_found("note", &note.to_string()))
    }

    /// Up to `limit` notes after one, the newest first.
    async fn list(&self, after: Option<PlatformId>, limit: u32) -> Result<Vec<StoredNote>, ApiError> {
        let (kind, after) = (RecordKind::Note, self.record_id(after));
        let found =
            self.cx.platform().storage().records_of(Some(self.agent), kind, Some(&after), limit).await?;
        // The records of the next contact follow those of this one.
        let own = found.iter().map(|record| self.read(record).transpose());
        own.map_while(|note| note).collect()
    }

    fn saved(&self, stored: &StoredNote) -> Result<RecordChange, ApiError> {
        let body = serde_json::to_string(&stored.note).and_then(RawObject::from_text);
        Ok(RecordChange::Save(StoredRecord {
            key: self.key(stored.id),
            version: stored.version,
            subject: Some(Subject::Contact(self.contact)),
            unique: None,
            due_at: None,
            body: body.map_err(|error| {
                tracing::error!(%error, "failed to serialize a note");
                ApiError::internal()
            })?,
        }))
    }

    /// Makes a change while the contact is there and is not archived.
    async fn change(&self, change: &Change<'_>) -> Result<StoredNote, ApiError> {
        let cx = self.cx;
        retry_on_conflict(concurrent_update, |_| async move {
            let contact = contact_of(cx, self.agent, self.contact).await?;
            if contact.is_archived() {
                return Err(contact_archived(&contact));
            }
            let now = cx.platform().now();
            let (what, record, note) = self.planned(change, now).await?;
            let mut write = JobsWrite::new(now, Vec::new());
            // A note that is written while its contact is erased would outlive it.
            write.contacts = vec![(self.contact, contact.version)];
            write.records = vec![record];
            let (mut details, id) = (Object::new(), note.id.to_string());
            details.insert("change", what.into());
            let (caller, action) = (cx.caller(self.agent), AuditAction::NoteChange);
            let entry = cx.platform().caller_audit(&caller, action, id, Some(self.contact), &details, now);
            write.effects = Effects::audited(entry);
            let saved = cx.platform().storage().save_jobs(Some(self.agent), &write).await;
            let saved = saved.retry_on(&[StorageErrorKind::Stale, StorageErrorKind::Missing])?;
            Ok(saved.map(|()| note))
        })
        .await
    }

    /// A change from the stored state: its name in the audit log, what is written, and the note that it is about.
    async fn planned(
        &self,
        change: &Change<'_>,
        now: Timestamp,
    ) -> Result<(&'static str, RecordChange, StoredNote), ApiError> {
        let by = self.cx.actor.clone();
        match change {
            Change::Add(id, text) => {
                let note = Note { text: text.as_str().to_owned(), by, at: now, edited: None };
                let stored = StoredNote { id: *id, version: 1, note };
                Ok(("add", self.saved(&stored)?, stored))
            }
            Change::Edit(id, text) => {
                let mut stored = self.expected(*id).await?;
                stored.version += 1;
                text.as_str().clone_into(&mut stored.note.text);
                stored.note.edited = Some((by, now));
                Ok(("edit", self.saved(&stored)?, stored))
            }
            Change::Remove(id) => {
                let stored = self.expected(*id).await?;
                let removal = RecordChange::Remove { key: self.key(stored.id), version: stored.version };
                Ok(("remove", removal, stored))
            }
        }
    }

    /// The note that a change is about, if the caller has seen its current version.
    async fn expected(&self, note: PlatformId) -> Result<StoredNote, ApiError> {
        let stored = self.find(note).await?;
        if self.cx.expects(&stored.etag()) {
            return Ok(stored);
        }
        let etag = stored.etag();
        let current = view(self.cx, &mut Names::default(), stored).await?;
        self.cx.refuse_stale(&etag, || serde_json::to_value(&current).unwrap_or_default())?;
        Ok(current.stored)
    }
}

input! {
    /// A part of the notes on a contact.
    ListNotes {
        "agent" Path agent: AgentId,
        "contact" Path contact: ContactId,
        "limit" Query limit: Limit,
        "after" Query after: Option<PlatformId> { "description": "Only those that follow this note." },
    }
}

/// Notes, the newest first.
pub struct NotePage {
    notes: Vec<NoteView>,
    next: Option<PlatformId>,
}

json_object! { NotePage as "ContactNotes" = |page| {
    "notes": Vec<NoteView> = page.notes,
    "next": Option<PlatformId> { "description": "What to pass as `after` next; `null` at the end of the list." } = page.next,
} }

/// `contacts.notes`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "contacts.notes",
        "Lists the notes on a contact, the newest first. A note may say anything, so `sensitive.read` is needed as well.",
        (Method::Get, "/agents/{agent}/contacts/{contact}/notes"),
        Capability::ContactsRead,
        &[],
        "contacts notes REF --agent AGENT",
    );
    type Input = ListNotes;
    type Output = NotePage;

    async fn run(cx: Context<'_>, input: ListNotes) -> Result<Reply<NotePage>, ApiError> {
        if cx.reach == Reach::Masked {
            return Err(lacks(Capability::SensitiveRead));
        }
        let ListNotes { agent, contact, limit, after } = input;
        contact_of(&cx, &agent, contact).await?;
        let found = Notes { cx: &cx, agent: &agent, contact }.list(after, limit.0).await?;
        let next = found.last().filter(|_| found.len() == limit.0 as usize).map(|last| last.id);
        let (mut names, mut notes) = (Names::default(), Vec::with_capacity(found.len()));
        for stored in found {
            notes.push(view(&cx, &mut names, stored).await?);
        }
        Ok(Reply::ok("Notes retrieved successfully", NotePage { notes, next }))
    }
}

input! {
    /// A new note.
    AddNote {
        "agent" Path agent: AgentId,
        "contact" Path contact: ContactId,
        "text" Body text: Text,
    }
}

/// `contacts.addNote`
pub struct Add;

impl Operation for Add {
    const METADATA: Metadata = metadata(
        "contacts.addNote",
        "Adds a note to a contact. Only operators see it, and it goes when the contact is erased.",
        (Method::Post, "/agents/{agent}/contacts/{contact}/notes"),
        Capability::ContactsWrite,
        &[AuditAction::NoteChange],
        "contacts note REF TEXT --agent AGENT",
    );
    type Input = AddNote;
    type Output = NoteView;

    async fn run(cx: Context<'_>, input: AddNote) -> Result<Reply<NoteView>, ApiError> {
        let notes = Notes { cx: &cx, agent: &input.agent, contact: input.contact };
        let id = notes.new_id(cx.platform().now());
        let added = notes.change(&Change::Add(id, &input.text)).await?;
        let mut reply = reply(&cx, "Note added successfully", added).await?;
        reply.status = 201;
        Ok(reply)
    }
}

input! {
    /// Another text of a note.
    EditNote {
        "agent" Path agent: AgentId,
        "contact" Path contact: ContactId,
        "note" Path note: PlatformId,
        "text" Body text: Text,
    }
}

const ONE: &str = "/agents/{agent}/contacts/{contact}/notes/{note}";

/// `contacts.editNote`
pub struct Edit;

impl Operation for Edit {
    const METADATA: Metadata = Metadata {
        traits: Traits::VERSIONED,
        ..metadata(
            "contacts.editNote",
            "Replaces the text of a note. The note names who has changed it last.",
            (Method::Put, ONE),
            Capability::ContactsWrite,
            &[AuditAction::NoteChange],
            "",
        )
    };
    type Input = EditNote;
    type Output = NoteView;

    async fn run(cx: Context<'_>, input: EditNote) -> Result<Reply<NoteView>, ApiError> {
        let notes = Notes { cx: &cx, agent: &input.agent, contact: input.contact };
        let edited = notes.change(&Change::Edit(input.note, &input.text)).await?;
        reply(&cx, "Note updated successfully", edited).await
    }
}

input! {
    /// A note.
    OneNote {
        "agent" Path agent: AgentId,
        "contact" Path contact: ContactId,
        "note" Path note: PlatformId,
    }
}

/// `contacts.removeNote`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = Metadata {
        traits: Traits::VERSIONED,
        ..metadata(
            "contacts.removeNote",
            "Removes a note for good.",
            (Method::Delete, ONE),
            Capability::ContactsWrite,
            &[AuditAction::NoteChange],
            "",
        )
    };
    type Input = OneNote;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneNote) -> Result<Reply<Nothing>, ApiError> {
        let notes = Notes { cx: &cx, agent: &input.agent, contact: input.contact };
        notes.change(&Change::Remove(input.note)).await?;
        Ok(Reply::ok("Note removed successfully", Nothing))
    }
}
