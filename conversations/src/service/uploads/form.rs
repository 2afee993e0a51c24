//! Reads the form of an upload up to its file.

use bytes::BytesMut;
use http::request::Parts;
use openapi_core::api::{HttpBody, open_form};
use openapi_core::files::{FilePart, Piece, Upload};
use openapi_core::json::{Json, Object, parse};
use openapi_core::reply::{ApiError, ErrorCode};

use crate::widget::config::UPLOAD_BYTES;

/// The most bytes that a form may have besides its file.
const MAX_BEYOND_FILE: u64 = 64 * 1024;
/// The longest part before the file, in bytes.
const MAX_TEXT: usize = 2 * 1024;

/// Reads a form up to its file. The parts before it are members, as in the body of other calls; the content of the file
/// is still unread.
pub(crate) async fn open_upload(parts: &Parts, body: impl HttpBody) -> Result<(Object, Upload), ApiError> {
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
            add_member(&mut members, &name, &text);
        }
        match piece {
            Some(Piece::Part { name, file_name, .. }) if name == part.name => {
                return Ok((members, Upload::of_begun_form(form, file_name)));
            }
            // Unknown parts are ignored, because widget and server may have different versions.
            Some(Piece::Part { name, .. }) => {
                let is_known = ["token", "agentId", "challenge", "persist"].contains(&name.as_str());
                open = is_known.then(|| (name, BytesMut::new()));
            }
            Some(Piece::Bytes(_)) => {}
            None => return Ok((members, Upload::absent())),
        }
    }
}

/// Adds a part of the form as the member that it is in other calls.
fn add_member(members: &mut Object, name: &str, text: &[u8]) {
    let value = match name {
        "challenge" => parse(text).ok(),
        _ => std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).map(Json::from),
    };
    if let Some(value) = value {
        members.insert(name, value);
    }
}
