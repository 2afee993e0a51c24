//! Signed URLs and the downloads they lead to.

use http::{HeaderValue, header};

use super::content::read_content;
use super::downloads::Download;
use super::records::find;
use crate::access::{Actor, Caller};
use crate::agents::AgentStatus;
use crate::files::{Disposition, Issuer, Link, Selection, selection};
use crate::platform::Platform;
use crate::platform::errors::file_not_found;
use crate::ports::BlobKey;
use crate::reply::{ApiError, ErrorCode};
use crate::service::{ContentSource, DownloadFile, FileContent, SignUrl, SignedUrl, is_not_modified};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue};
use crate::values::{AgentId, FileId, Timestamp};

pub(in crate::platform) async fn sign_url(
    platform: &Platform,
    caller: &Caller,
    request: SignUrl,
) -> Result<SignedUrl, ApiError> {
    let file = find(platform, caller, &request.target).await?;
    let query = request.query.check_with(|query| {
        if query.disposition == Disposition::Inline && !file.content_type.is_displayable() {
            let fault = ValidationIssue::new(
                ValidationCode::Conflict,
                "can be inline only for PDF, images, audio, video and plain text",
            );
            let value = query.disposition.as_str().into();
            return Err(ValidationError::new(Location::Query, "disposition", Some(&value), fault).into());
        }
        Ok(*query)
    })?;
    let now = platform.now();
    // Whole seconds, and no shorter a life than was promised.
    let millis = now.millis().div_euclid(1_000) + i64::from(now.millis().rem_euclid(1_000) > 0);
    let lifetime = i64::try_from(query.expires_in).unwrap_or(i64::MAX);
    let issuer = match &caller.actor {
        Actor::ApiKey(key) => Issuer::Key(key.clone()),
        _ => Issuer::Agent(caller.agent_id.clone()),
    };
    let link = Link {
        file: file.id,
        expires_at: Timestamp::from_millis(millis.saturating_add(lifetime).saturating_mul(1_000)),
        issuer,
        disposition: query.disposition,
    };
    Ok(SignedUrl {
        url: format!("{}{}", platform.service_info.public_url(), link.target(&platform.ports.server_keys)),
        method: "GET",
        expires_at: link.expires_at,
        expires_in: query.expires_in,
        file_name: file.file_name,
        content_type: file.content_type,
        file_size: file.file_size,
    })
}

/// The agent for which a link was issued, if the key that requested it still may.
async fn agent_of(platform: &Platform, issuer: &Issuer, now: Timestamp) -> Result<Option<AgentId>, ApiError> {
    match issuer {
        Issuer::Key(key) => Ok(platform.authenticator.agent_of(key, now).await?),
        Issuer::Agent(id) => {
            let agent = platform.storage.agent(id).await?;
            Ok(agent.filter(|agent| agent.status == AgentStatus::Active).map(|agent| agent.id))
        }
    }
}

pub(in crate::platform) async fn download(
    platform: &Platform,
    request: DownloadFile,
) -> Result<FileContent, ApiError> {
    let invalid = || ApiError::new(ErrorCode::SignedUrlInvalid, "The link is not valid");
    let id: FileId = request.file.parse().map_err(|_| invalid())?;
    let link = Link::read(&platform.ports.server_keys, id, &request.query).ok_or_else(invalid)?;
    let now = platform.now();
    let agent = agent_of(platform, &link.issuer, now).await?.ok_or_else(invalid)?;
    if link.is_over(now) {
        return Err(ApiError::new(ErrorCode::SignedUrlExpired, "The link is over; ask for a new one"));
    }
    let file = platform.storage.file(&agent, id).await?.ok_or_else(|| file_not_found(&request.file))?;
    let content = |selection, bytes| FileContent {
        disposition: link.disposition,
        selection,
        bytes,
        file: file.clone(),
    };
    if is_not_modified(&request.headers, &file.content_etag()) {
        return Ok(content(Selection::NotModified, ContentSource::None));
    }
    if request.is_head {
        // A range has a meaning for GET alone (RFC 9110).
        return Ok(content(Selection::Whole, ContentSource::None));
    }
    let key = BlobKey::new(agent, id);
    let selection = selection(&request.headers, &file.content_etag(), file.file_size);
    let range = match selection {
        Selection::Whole | Selection::NotModified => 0..file.file_size,
        Selection::Part { first, last } => first..last + 1,
        Selection::Unsatisfiable => return Err(unsatisfiable(file.file_size)),
    };
    let bytes = read_content(platform, &key, &file, range).await?;
    platform.note_download(Download::of(&file, link.issuer, request.address, now)).await?;
    Ok(content(selection, ContentSource::Stream(bytes)))
}

fn unsatisfiable(length: u64) -> ApiError {
    let error = ApiError::new(ErrorCode::RangeNotSatisfiable, format!("The file has {length} bytes"));
    match HeaderValue::try_from(format!("bytes */{length}")) {
        Ok(range) => error.with_header(header::CONTENT_RANGE, range),
        Err(_) => error,
    }
}
