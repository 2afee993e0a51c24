//! An upload: the content while it arrives, then the record.

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use super::records::{about, audit};
use crate::access::Caller;
use crate::audit::AuditAction;
use crate::contacts::{Contact, SharedContact};
use crate::events::EventData;
use crate::files::{ContactFile, FileTypes, Received, ReceivedFile};
use crate::platform::errors::{
    contact_archived, infected_file, quota_exceeded, scanner_failed, unsupported_file, upload_overtaken,
};
use crate::platform::idempotency::{Claim, Claimed, answer, claim, replay};
use crate::platform::{Platform, contacts};
use crate::ports::{BlobKey, FileScan, Verdict};
use crate::reply::ApiError;
use crate::seal::SealedWriter;
use crate::service::{Created, Idempotency, UploadFile};
use crate::storage::retry::{MAX_ATTEMPTS, retry_with};
use crate::storage::{Effects, FileWrite, StorageErrorKind};
use crate::values::FileId;

/// Where the bytes go while they arrive.
struct Intake {
    writer: SealedWriter,
    scan: Box<dyn FileScan>,
}

/// The state of the bytes of an upload.
enum Storing {
    /// They are not wanted: the answer is going to be a refusal.
    Unwanted,
    /// They are being stored.
    Open(Intake),
    /// They could not be stored.
    Failed(ApiError),
}

pub(in crate::platform) async fn upload(
    platform: &Platform,
    caller: &Caller,
    request: UploadFile,
) -> Result<Created<ContactFile>, ApiError> {
    let UploadFile { contact: target, mut upload, idempotency, mut faults } = request;
    let id: FileId = platform.ports.ids.platform_id(platform.now()).into();
    let key = BlobKey::new(caller.agent_id.clone(), id);

    // The body is read as a whole before a refusal, because its own faults go first (contract 6.3). What is refused
    // anyway is not stored meanwhile.
    let is_wanted = faults.is_empty() && has_room(platform, caller, &target).await?;
    upload.offload_to(Arc::clone(&platform.ports.offload));
    let mut storing = Storing::Unwanted;
    let mut has_begun = false;
    while let Some(bytes) = upload.chunk().await? {
        if is_wanted && !std::mem::replace(&mut has_begun, true) {
            storing = begin(platform, &key).await.map_or_else(Storing::Failed, Storing::Open);
        }
        if let Storing::Open(intake) = &mut storing
            && let Err(error) = intake.push(bytes).await
        {
            storing = Storing::Failed(error);
        }
    }
    let Received { file, faults: of_form, fingerprint } = upload.finish();

    let idempotency = idempotency.map(|sent| Idempotency { fingerprint, ..sent });
    let claimed = match claim(platform, caller, idempotency.as_ref()).await? {
        Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
        Claimed::Run(claim) => claim,
    };
    let contact = contacts::find(platform, &caller.agent_id, &target).await?;
    let (writer, scan) = match storing {
        Storing::Open(Intake { writer, scan }) => (Ok(Some(writer)), Some(scan)),
        Storing::Unwanted => (Ok(None), None),
        Storing::Failed(error) => (Err(error), None),
    };
    let scanned = match &file {
        Some(file) => refuse_content(&platform.files.types, file, scan).await?,
        None => Ok(()),
    };
    faults.extend(of_form);
    let Some(file) = file.filter(|_| faults.is_empty()) else {
        return Err(faults.into());
    };
    refuse_state(platform, &contact, file.size).await?;
    scanned?;
    let writer = writer?.ok_or_else(upload_overtaken)?;
    let server_key = writer.finish().await?.server_key;
    let stored = Stored { platform, caller, id, file, server_key };
    let outcome = stored.insert(contact, claimed.as_ref()).await;
    if let Ok(Created::Replayed(_)) | Err(Refused::Definite(_)) = &outcome
        && let Err(error) = platform.ports.blobs.remove(&key).await
    {
        tracing::warn!(%error, %key, "failed to remove the content of a rejected upload; a later sweep removes it");
    }
    outcome.map_err(|refused| match refused {
        Refused::Definite(error) | Refused::Unclear(error) => error,
    })
}

/// Whether a file more could be stored, as far as is known before its size is.
async fn has_room(
    platform: &Platform,
    caller: &Caller,
    target: &crate::service::ContactTarget,
) -> Result<bool, ApiError> {
    let Ok(contact) = target.resolve() else { return Ok(false) };
    let Some(contact) = platform.storage.contact(&caller.agent_id, &contact).await? else {
        return Ok(false);
    };
    let usage = platform.storage.file_usage(&caller.agent_id, contact.id).await?;
    Ok(!contact.is_archived() && platform.files.quota().admit(usage, 1).is_ok())
}

async fn begin(platform: &Platform, key: &BlobKey) -> Result<Intake, ApiError> {
    let scan = begin_scan(platform).await?;
    let writer = SealedWriter::create(&*platform.ports.blobs, &platform.ports.server_keys, key).await?;
    Ok(Intake { writer, scan })
}

/// Begins to look at a file.
///
/// # Errors
/// 503 when the scanner fails.
pub async fn begin_scan(platform: &Platform) -> Result<Box<dyn FileScan>, ApiError> {
    platform.ports.scanner.begin().await.map_err(|error| scanner_failed(&error))
}

/// Lets a scanner look at the next bytes.
///
/// # Errors
/// 503 when the scanner fails.
pub async fn push_scan(scan: &mut Box<dyn FileScan>, bytes: &bytes::Bytes) -> Result<(), ApiError> {
    scan.push(bytes).await.map_err(|error| scanner_failed(&error))
}

impl Intake {
    async fn push(&mut self, bytes: bytes::Bytes) -> Result<(), ApiError> {
        push_scan(&mut self.scan, &bytes).await?;
        Ok(self.writer.write(&bytes).await?)
    }
}

/// Step 11: what the content is. A scanner that fails is another matter, of step 16: what is given back.
///
/// # Errors
/// 415 of a type that is not accepted or a file that the scanner refuses.
pub async fn refuse_content(
    types: &FileTypes,
    file: &ReceivedFile,
    scan: Option<Box<dyn FileScan>>,
) -> Result<Result<(), ApiError>, ApiError> {
    if file.detected.dangerous || !types.allow(file.detected.kind) {
        return Err(unsupported_file(&file.detected, types));
    }
    let Some(scan) = scan else { return Ok(Ok(())) };
    match scan.finish().await {
        Err(error) => Ok(Err(scanner_failed(&error))),
        Ok(Verdict::Clean) => Ok(Ok(())),
        Ok(Verdict::Infected(name)) => {
            tracing::warn!(malware = name, sha256 = %file.sha256, "the malware scanner rejected a file");
            Err(infected_file(&file.detected, types))
        }
    }
}

/// Step 14: what is stored.
async fn refuse_state(platform: &Platform, contact: &Contact, bytes: u64) -> Result<(), ApiError> {
    if contact.is_archived() {
        return Err(contact_archived(contact));
    }
    let usage = platform.storage.file_usage(&contact.agent_id, contact.id).await?;
    platform.files.quota().admit(usage, bytes).map_err(quota_exceeded)
}

/// A file whose content is stored.
struct Stored<'a> {
    platform: &'a Platform,
    caller: &'a Caller,
    id: FileId,
    file: ReceivedFile,
    /// The id of the server key that it is sealed with.
    server_key: String,
}

/// Why a record was not stored.
enum Refused {
    /// It certainly is not there: its content can go.
    Definite(ApiError),
    /// It may be there, for all that is known: its content stays until that is known.
    Unclear(ApiError),
}

impl Stored<'_> {
    /// Writes the record; the first time for the contact as it was read, after a race for what it has become.
    async fn insert(
        &self,
        contact: SharedContact,
        claimed: Option<&Claim<'_, ContactFile>>,
    ) -> Result<Created<ContactFile>, Refused> {
        let Stored { platform, caller, id, file, server_key } = self;
        let overtaken = || Refused::Definite(upload_overtaken());
        retry_with(MAX_ATTEMPTS, contact, overtaken, |contact| async move {
            let now = platform.now();
            let record = ContactFile {
                id: *id,
                agent_id: caller.agent_id.clone(),
                contact_id: contact.id,
                file_name: file.name.clone(),
                file_size: file.size,
                content_type: file.detected.kind,
                sha256: file.sha256,
                source: "api".to_owned(),
                uploaded_by: caller.actor.clone(),
                server_key: Some(server_key.clone()),
                created_at: now,
                updated_at: now,
            };
            let replay = replay(claimed, &record, Some(contact.id), now).map_err(Refused::Definite)?;
            let audit = audit(platform, caller, AuditAction::FileUpload, &record, &about(&record), now);
            let data = EventData::FileUploaded { contact_id: contact.id, file_id: record.id };
            let event = platform.event(&caller.actor, Some(contact.id), data, now);
            let effects = Effects { replay, ..Effects::audited(audit) }.with_event(event);
            let write = FileWrite::new(record, &contact, platform.files.quota(), effects);
            let Err(error) = platform.storage.insert_file(&caller.agent_id, &write).await else {
                return Ok(Break(Created::New(write.file)));
            };
            match error.kind {
                StorageErrorKind::Stale | StorageErrorKind::Missing => {
                    Ok(Continue(self.changed_contact(&contact).await?))
                }
                StorageErrorKind::QuotaExceeded(excess) => Err(Refused::Definite(quota_exceeded(excess))),
                // Another server was faster.
                StorageErrorKind::ReplayExists => {
                    let answered = answer(claimed, caller).await.map_err(Refused::Definite)?;
                    Ok(answered.map_or(Continue(contact), Break))
                }
                _ => Err(Refused::Unclear(error.into())),
            }
        })
        .await
    }

    async fn changed_contact(&self, known: &Contact) -> Result<SharedContact, Refused> {
        let target = crate::service::ContactTarget::Id(known.id.to_string());
        let found = contacts::find(self.platform, &known.agent_id, &target).await;
        let contact = found.map_err(Refused::Definite)?;
        if contact.is_archived() {
            return Err(Refused::Definite(contact_archived(&contact)));
        }
        Ok(contact)
    }
}
