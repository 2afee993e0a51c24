//! Records of files over the storage ports: the steps 9 to 16 of contract 6.3.

use crate::access::Caller;
use crate::audit::{AuditAction, SealedEntry};
use crate::contacts::SharedContact;
use crate::events::EventData;
use crate::files::ContactFile;
use crate::json::{Json, Object};
use crate::platform::cursor::FileCursors;
use crate::platform::errors::{concurrent_update, contact_archived, file_not_found, stale_tag};
use crate::platform::paging::Part;
use crate::platform::{Platform, contacts};
use crate::reply::ApiError;
use crate::service::{DeleteFile, DeletedFile, FileTarget, ListFiles, Page};
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{Effects, FileDeletion, FileQuery, FileTombstone, StorageErrorKind};
use crate::values::{FileId, Timestamp};

/// The contact and the file of a path.
async fn find_both(
    platform: &Platform,
    caller: &Caller,
    target: &FileTarget,
) -> Result<(SharedContact, ContactFile), ApiError> {
    let contact = contacts::find(platform, &caller.agent_id, &target.contact).await?;
    let not_found = || file_not_found(&target.file);
    let id: FileId = target.file.parse().map_err(|_| not_found())?;
    let file = platform.storage.file(&caller.agent_id, id).await?;
    let file = file.filter(|file| file.contact_id == contact.id).ok_or_else(not_found)?;
    Ok((contact, file))
}

pub(in crate::platform) async fn find(
    platform: &Platform,
    caller: &Caller,
    target: &FileTarget,
) -> Result<ContactFile, ApiError> {
    find_both(platform, caller, target).await.map(|(_, file)| file)
}

pub(in crate::platform) async fn list(
    platform: &Platform,
    caller: &Caller,
    request: ListFiles,
) -> Result<Page<ContactFile>, ApiError> {
    let agent = &caller.agent_id;
    let contact = contacts::find(platform, agent, &request.contact).await?.id;
    let query = request.query.check()?;
    let cursors = FileCursors { keys: &platform.ports.server_keys, agent, contact, query: &query };
    let part = Part::of(&query.page, |text| cursors.read(text))?;
    let stored = FileQuery { contact, sort: query.sort, order: query.order, window: part.window() };
    let found = platform.storage.files(agent, &stored).await?;
    Ok(part.page(found.files, found.total, |last, page| cursors.issue(last, page)))
}

pub(in crate::platform) async fn delete(
    platform: &Platform,
    caller: &Caller,
    request: DeleteFile,
) -> Result<DeletedFile, ApiError> {
    let request = &request;
    retry_on_conflict(concurrent_update, |_| async move {
        let (contact, file) = find_both(platform, caller, &request.target).await?;
        let reason = request.reason.clone().check()?;
        if !request.if_match.as_ref().is_none_or(|tags| tags.matches_strongly(&file.etag())) {
            return Err(stale_tag("file", Some(&file.etag())));
        }
        if contact.is_archived() {
            return Err(contact_archived(&contact));
        }
        let now = platform.now();
        let mut details = about(&file);
        details.insert("fileName", file.file_name.as_str().into());
        details.insert("sha256", file.sha256.to_string().as_str().into());
        if let Some(reason) = &reason {
            details.insert("reason", reason.as_str().into());
        }
        let retention = i64::try_from(platform.files.retention_millis).unwrap_or(i64::MAX);
        let deletion = FileDeletion {
            contact: contact.id,
            contact_version: contact.version,
            tombstone: FileTombstone {
                file: file.id,
                at: now,
                by: caller.actor.clone(),
                reason: reason.clone(),
            },
            purge_at: now.plus_millis(retention),
            effects: Effects::audited(audit(platform, caller, AuditAction::FileDelete, &file, &details, now))
                .with_event(platform.event(&caller.actor, Some(file.contact_id), deleted_event(&file), now)),
        };
        let deleted = platform.storage.delete_file(&caller.agent_id, &deletion).await;
        let deleted = deleted.retry_on(&[StorageErrorKind::Stale, StorageErrorKind::Missing])?;
        if deleted.is_some()
            && retention == 0
            && let Err(error) = platform.purge_due_contents().await
        {
            tracing::warn!(%error, "failed to remove the content of a deleted file; retrying later");
        }
        Ok(deleted.map(|()| DeletedFile { id: file.id, deleted: true, deleted_at: now, reason }))
    })
    .await
}

/// What the audit log says of every file.
pub(super) fn about(file: &ContactFile) -> Object {
    let mut details = Object::new();
    details.insert("fileSize", Json::Number(file.file_size.into()));
    details.insert("contentType", file.content_type.media_type().into());
    details
}

/// The event of a deletion.
pub(super) fn deleted_event(file: &ContactFile) -> EventData {
    EventData::FileDeleted { contact_id: file.contact_id, file_id: file.id }
}

/// An entry about what a caller did to a file.
pub(super) fn audit(
    platform: &Platform,
    caller: &Caller,
    action: AuditAction,
    file: &ContactFile,
    details: &Object,
    now: Timestamp,
) -> SealedEntry {
    platform.caller_audit(caller, action, file.id.to_string(), Some(file.contact_id), details, now)
}
