//! Uploads: files that visitors send. A file is encrypted and stored while it arrives, as a document of its conversation,
//! and expires after half an hour unless a message refers to it.

mod form;

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use openapi_core::access::Actor;
use openapi_core::api::Outcome;
use openapi_core::files::{FileKind, FileTypes, Received, ReceivedFile, Upload};
use openapi_core::platform::{
    DocumentWriter, NewDocument, begin_scan, concurrent_update, push_scan, refuse_content,
};
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::storage::StoredDocument;
use openapi_core::storage::retry::{MAX_ATTEMPTS, retry_with};
use openapi_core::validation::{ValidationCode, ValidationIssue, Violations};
use openapi_core::values::{FileId, Timestamp};
use serde::Serialize;

use super::admission::{AddressLimit, Admission, UPLOAD_UNIT, VisitorLimit, count};
use super::agent_view::AgentView;
use super::call::{Call, SentToken, WidgetRequest};
use super::errors::token_invalid;
use super::repository::Repository;
use super::session::Session;
use crate::events::Seen;
use crate::storage::ConversationWrite;
use crate::widget::request::is_of_tab;
use crate::{Conversation, UploadRef};
pub(crate) use form::open_upload;

/// How long a file waits for a message that refers to it.
const PENDING_MILLIS: i64 = 30 * 60_000;
/// A message cannot refer to a file that expires within this time, because its removal may have begun.
const MARGIN_MILLIS: i64 = 60_000;

/// Takes files.
pub(crate) struct Uploads {
    pub(crate) admission: Arc<Admission>,
    pub(crate) repository: Arc<Repository>,
}

impl Uploads {
    /// `POST /uploads`.
    pub(crate) async fn receive(&self, mut call: Call<'_, Option<SentToken>>) -> Result<Outcome, ApiError> {
        #[derive(Serialize)]
        struct Data {
            #[serde(flatten)]
            upload: UploadRef,
            session: Session,
        }
        if !call.view.settings.uploads.enabled {
            return Err(ApiError::new(ErrorCode::UploadsDisabled, "This agent takes no files"));
        }
        let visitor = call.token.as_ref().map(|sent| sent.token.visitor);
        // Held until the file is stored.
        let slot = self.admission.open_upload(call.request, &call.view.agent.id, visitor)?;
        call.share = call.share.max(slot.share());
        let stored = self.admission.admit(&self.repository, &call, VisitorLimit::Uploads).await?;
        match visitor {
            Some(visitor) => self.admission.begin_upload(call.request, visitor)?,
            None => drop(self.admission.admit_address(call.request, AddressLimit::Sessions)?),
        }
        let Call { request, view, token, body, file, .. } = call;
        let mut upload = file.into_inner();
        let (file, content) = self.store(request, &view, &mut upload).await?;
        let conversation =
            stored.unwrap_or_else(|| self.repository.create(&view, None, Default::default(), request));
        let document = NewDocument {
            file_name: file.name.as_str().to_owned(),
            content_type: file.detected.kind.media_type().to_owned(),
            sha256: file.sha256,
            uploaded_by: Actor::Visitor(conversation.visitor_id.to_string()),
            expires_at: request.now.plus_millis(PENDING_MILLIS),
            conversation: Some(conversation.id),
        };
        let document = self.repository.platform.put_document(&view.agent.id, content, document).await?;
        let conversation = match self.record(request, conversation, document.id).await {
            Ok(conversation) => conversation,
            Err(error) => {
                // If this fails, the file expires in half an hour.
                let storage = &self.repository.storage;
                let discarded = storage.discard_document(&view.agent.id, document.id, request.now);
                if let Err(error) = discarded.await {
                    tracing::warn!(%error, document = %document.id, "failed to remove a rejected file");
                }
                return Err(error);
            }
        };
        let session = self.repository.session(request, &conversation, token.as_ref(), is_of_tab(&body));
        let data = Data { upload: reference(document), session };
        Outcome::success(Reply { status: 201, ..Reply::ok("File received", data) })
    }

    /// Stores and checks the content of a file while it arrives. Its bytes count as soon as they are there, so a file that
    /// is given up or rejected counts as well.
    async fn store(
        &self,
        request: &WidgetRequest,
        view: &AgentView,
        upload: &mut Upload,
    ) -> Result<(ReceivedFile, DocumentWriter), ApiError> {
        let (platform, agent) = (&self.repository.platform, &view.agent.id);
        upload.offload_to(Arc::clone(&platform.ports().offload));
        self.admission.admit_upload_unit(request, agent)?;
        let mut counted = UPLOAD_UNIT;
        let mut scan = begin_scan(platform).await?;
        let mut content = platform.begin_document(agent, self.repository.next_id(request.now)).await?;
        while let Some(bytes) = upload.chunk().await? {
            while counted < bytes.len() as u64 {
                self.admission.admit_upload_unit(request, agent)?;
                counted += UPLOAD_UNIT;
            }
            counted -= bytes.len() as u64;
            push_scan(&mut scan, &bytes).await?;
            content.write(&bytes).await?;
        }
        let Received { file, faults, .. } = std::mem::replace(upload, Upload::absent()).finish();
        let Some(file) = file else { return Err(faults.into()) };
        let kinds = view.settings.uploads.types.iter().filter_map(|name| FileKind::of_extension(name));
        refuse_content(&FileTypes::Listed(kinds.collect()), &file, Some(scan)).await??;
        Ok((file, content))
    }

    /// Adds a file to its conversation, which this stores if it is new.
    async fn record(
        &self,
        request: &WidgetRequest,
        conversation: Conversation,
        document: FileId,
    ) -> Result<Conversation, ApiError> {
        let now = request.now;
        retry_with(MAX_ATTEMPTS, conversation, concurrent_update, |mut conversation| async move {
            self.admission.check_visitor(&conversation, VisitorLimit::Uploads, now)?;
            let seen = Seen::of(&conversation);
            count(&mut conversation.counted.uploads, now);
            conversation.uploads.push(document);
            let (agent, id) = (conversation.agent_id.clone(), conversation.id);
            match self.repository.save(seen, ConversationWrite::next(conversation, now)).await? {
                Some(conversation) => Ok(Break(conversation)),
                None => {
                    let stored = self.repository.storage.conversation(&agent, id).await?;
                    Ok(Continue(stored.ok_or_else(token_invalid)?))
                }
            }
        })
        .await
    }

    /// The files that a message refers to: they belong to its conversation, and do not expire soon.
    pub(crate) async fn attach(
        &self,
        conversation: &Conversation,
        ids: &[FileId],
        now: Timestamp,
    ) -> Result<Vec<UploadRef>, ApiError> {
        let mut attached = Vec::with_capacity(ids.len());
        for id in ids {
            let found = match conversation.uploads.contains(id) {
                true => self.repository.storage.document(&conversation.agent_id, *id).await?,
                false => None,
            };
            let Some(found) = found.filter(|it| it.expires_at.millis_since(now) > MARGIN_MILLIS) else {
                let fault = ValidationIssue::new(
                    ValidationCode::Reference,
                    "names files that this visitor has not sent",
                );
                let mut faults = Violations::new();
                faults.body("uploads", Some(&id.to_string().as_str().into()), fault);
                return Err(faults.into());
            };
            attached.push(reference(found));
        }
        Ok(attached)
    }
}

/// A stored document as messages refer to it.
fn reference(document: StoredDocument) -> UploadRef {
    UploadRef {
        id: document.id,
        name: document.file_name,
        size: document.file_size,
        media_type: document.content_type,
    }
}
