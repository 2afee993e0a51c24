//! `POST /uploads`: a file that a visitor sends. It is stored encrypted, as a document of its conversation, and goes
//! after a day unless a message takes it along.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::request::Parts;
use http_body::Body;
use openapi_core::access::Actor;
use openapi_core::api::{BoxError, open_form};
use openapi_core::files::{FileKind, FilePart, FileTypes, Piece, Received, ReceivedFile, Upload};
use openapi_core::json::{Json, Object, parse};
use openapi_core::limits::fits;
use openapi_core::platform::{NewDocument, concurrent_update};
use openapi_core::platform::{begin_scan, push_scan, refuse_content};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::validation::{ValidationCode, ValidationIssue, Violations};
use openapi_core::values::{FileId, Timestamp};
use serde::Serialize;

use super::agent_view::AgentView;
use super::call::{WidgetRequest, WidgetResponse};
use super::errors::{token_invalid, too_many};
use super::state::Inner;
use super::store::Session;
use crate::conversations::ATTEMPTS;
use crate::storage::ConversationWrite;
use crate::widget::config::UPLOAD_BYTES;
use crate::widget::request::{Members, is_of_tab};
use crate::widget::token::VisitorToken;
use crate::{Conversation, UploadRef};

/// The most bytes that a form may have besides its file.
const MAX_BEYOND_FILE: u64 = 64 * 1024;
/// The longest part that is read before the file, in bytes.
const MAX_TEXT: usize = 2 * 1024;
const DAY_MILLIS: i64 = 86_400_000;
/// For how long a file waits for the message that takes it along.
const UNSENT_MILLIS: i64 = DAY_MILLIS;
/// What is over so soon may be on its way out already, and no message takes it along.
const MARGIN_MILLIS: i64 = 60_000;

/// Reads a form up to its file: the parts before it as members of a body, and the file as it is about to arrive.
pub(super) async fn begin<B>(parts: &Parts, body: B) -> Result<(Object, Upload), ApiError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let part = FilePart { max_beyond: MAX_BEYOND_FILE, ..Upload::part(UPLOAD_BYTES) };
    let mut members = Object::new();
    let Some(mut form) = open_form(parts, body, part).await? else { return Ok((members, Upload::absent())) };
    let mut open: Option<(String, BytesMut)> = None;
    loop {
        let piece = form.piece().await?;
        if let Some(Piece::Bytes(bytes)) = &piece {
            if let Some((name, text)) = &mut open {
                if text.len() + bytes.len() > MAX_TEXT {
                    let message = format!("The part {name} of the form has more than {MAX_TEXT} bytes");
                    return Err(ApiError::new(ErrorCode::BadRequest, message));
                }
                text.extend_from_slice(bytes);
            }
            continue;
        }
        if let Some((name, text)) = open.take() {
            take(&mut members, &name, &text);
        }
        match piece {
            Some(Piece::Part { name, file_name, .. }) if name == part.name => {
                return Ok((members, Upload::of_begun_form(form, file_name)));
            }
            // What is not known is passed over: builds of different age meet.
            Some(Piece::Part { name, .. }) => {
                let is_known = ["token", "agentId", "challenge", "persist"].contains(&name.as_str());
                open = is_known.then(|| (name, BytesMut::new()));
            }
            Some(Piece::Bytes(_)) => {}
            None => return Ok((members, Upload::absent())),
        }
    }
}

/// A part of the form as the member that it is in other calls.
fn take(members: &mut Object, name: &str, text: &[u8]) {
    let value = match name {
        "challenge" => parse(text).ok(),
        _ => std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).map(Json::from),
    };
    if let Some(value) = value {
        members.insert(name, value);
    }
}

impl Inner {
    /// `POST /uploads`.
    pub(super) async fn upload(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        token: Option<VisitorToken>,
        body: &Object,
        mut upload: Upload,
        address_share: f64,
    ) -> Result<WidgetResponse, ApiError> {
        #[derive(Serialize)]
        struct Data {
            #[serde(flatten)]
            upload: UploadRef,
            session: Session,
        }
        if !view.settings.uploads.enabled {
            return Err(ApiError::new(ErrorCode::UploadsDisabled, "This agent takes no files"));
        }
        let stored = match &token {
            Some(token) => Some(self.conversation_of(token).await?),
            None => None,
        };
        let sessions = &self.settings.limits.address_sessions;
        let mut share = address_share;
        match &stored {
            Some(stored) => {
                self.admit_upload(stored, visit.now)?;
                self.refuse_blocked(stored, visit.now).await?;
            }
            None => share = share.max(self.peek_address(visit, "session", sessions)?),
        }
        let solution = Members::new(body).challenge();
        self.challenge(visit, solution.as_ref(), share)?;
        if stored.is_none() {
            self.admit_address(visit, "session", sessions)?;
        }
        let (file, content, _room) = self.receive(view, &mut upload).await?;
        let mut conversation = match stored {
            Some(stored) => stored,
            None => self.new_conversation(view, None, Default::default(), visit),
        };
        let document = NewDocument {
            id: self.platform.ports().ids.platform_id(visit.now).into(),
            file_name: file.name.as_str().to_owned(),
            content_type: file.detected.kind.media_type().to_owned(),
            content: &content,
            sha256: file.sha256,
            uploaded_by: Actor::Visitor(conversation.visitor_id.to_string()),
            expires_at: visit.now.plus_millis(UNSENT_MILLIS),
            conversation: Some(conversation.id),
        };
        let document = self.platform.put_document(&view.agent.id, document).await?;
        match self.add_upload(visit, &mut conversation, document.id).await {
            Ok(()) => {}
            Err(error) => {
                // It would go by itself in a day.
                let discarded = self.storage.discard_document(&view.agent.id, document.id, visit.now);
                if let Err(error) = discarded.await {
                    tracing::warn!(%error, document = %document.id, "failed to remove a rejected file");
                }
                return Err(error);
            }
        }
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        let came = token.as_ref().map(|token| (token, text));
        let session = self.session(visit, &conversation, came, is_of_tab(body));
        let upload = UploadRef {
            id: document.id,
            name: document.file_name,
            size: document.file_size,
            media_type: document.content_type,
        };
        WidgetResponse::json("File received", &Data { upload, session })
            .map(|answer| answer.with(StatusCode::CREATED))
    }

    fn admit_upload(&self, conversation: &Conversation, now: Timestamp) -> Result<(), ApiError> {
        let uploads = conversation.counted.uploads.iter().map(|at| at.millis());
        fits(uploads, &self.settings.limits.uploads, now.millis()).map_err(|full| too_many("visitor", full))
    }

    /// Reads the file as a whole, as it will be sealed as a whole; what holds the room for it goes last.
    async fn receive(
        &self,
        view: &AgentView,
        upload: &mut Upload,
    ) -> Result<(ReceivedFile, BytesMut, impl Sized + use<'_>), ApiError> {
        let platform = &self.platform;
        upload.offload_to(Arc::clone(&platform.ports().offload));
        let mut room = platform.document_memory(&view.agent.id);
        let mut scan = begin_scan(platform).await?;
        let mut content = BytesMut::new();
        while let Some(bytes) = upload.chunk().await? {
            room.take(bytes.len())?;
            push_scan(&mut scan, &bytes).await?;
            content.extend_from_slice(&bytes);
        }
        let Received { file, faults, .. } = std::mem::replace(upload, Upload::absent()).finish();
        let Some(file) = file else { return Err(faults.into()) };
        let kinds = view.settings.uploads.types.iter().filter_map(|name| FileKind::of_extension(name));
        refuse_content(&FileTypes::Listed(kinds.collect()), &file, Some(scan)).await??;
        Ok((file, content, room))
    }

    /// Notes a file on its conversation, which is stored by that if it is new.
    async fn add_upload(
        &self,
        visit: &WidgetRequest,
        conversation: &mut Conversation,
        document: FileId,
    ) -> Result<(), ApiError> {
        let agent = conversation.agent_id.clone();
        for _ in 0..ATTEMPTS {
            self.admit_upload(conversation, visit.now)?;
            let counted = &mut conversation.counted.uploads;
            counted.retain(|at| visit.now.millis_since(*at) < DAY_MILLIS);
            counted.push(visit.now);
            conversation.uploads.push(document);
            conversation.version += 1;
            conversation.updated_at = visit.now;
            let write = ConversationWrite {
                conversation: conversation.clone(),
                messages: Vec::new(),
                keep: Vec::new(),
                effects: Effects::default(),
                deferrable: false,
            };
            match self.storage.save_conversation(&agent, &write).await {
                Ok(()) => return Ok(()),
                Err(error) if error.kind == StorageErrorKind::Stale => {
                    let stored = self.storage.conversation(&agent, conversation.id).await?;
                    *conversation = stored.ok_or_else(token_invalid)?;
                }
                Err(error) if error.kind == StorageErrorKind::Missing => {
                    return Err(super::errors::agent_not_available());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(concurrent_update())
    }

    /// The files that a message takes along: they are this conversation's, and there for a while yet.
    pub(super) async fn taken_along(
        &self,
        conversation: &Conversation,
        ids: &[FileId],
        now: Timestamp,
    ) -> Result<Vec<UploadRef>, ApiError> {
        let mut taken = Vec::with_capacity(ids.len());
        for id in ids {
            let found = match conversation.uploads.contains(id) {
                true => self.storage.document(&conversation.agent_id, *id).await?,
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
            taken.push(UploadRef {
                id: found.id,
                name: found.file_name,
                size: found.file_size,
                media_type: found.content_type,
            });
        }
        Ok(taken)
    }
}
