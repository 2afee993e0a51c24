//! Repeated requests: the answer of a POST with an `Idempotency-Key` is given again instead of doing it twice.
//!
//! Answers stay in memory, for a day and up to a bound, of each caller the newest: what a browser repeats after a lost connection reaches the same
//! process. Contacts have the stored answers of the Open API in addition.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;
use openapi_core::api::{ApiBody, Outcome, ResponseSummary, encode};
use openapi_core::json::{Json, parse};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::Timestamp;
use parking_lot::Mutex;

use crate::auth::records::digest;
use crate::input::Sending;
use crate::operation::Entry;
use crate::operator::Operator;

const DAY_MILLIS: i64 = 86_400_000;
/// The most answers, the most of one caller, and the most bytes of one.
const MOST: usize = 1_000;
const MOST_OF_CALLER: usize = 100;
const MAX_BYTES: usize = 16 * 1024;

#[derive(Clone)]
enum State {
    Running,
    Answered {
        status: u16,
        headers: HeaderMap,
        body: Bytes,
    },
    /// The answer held a secret; this is the rest of it.
    Secret(Option<Json>),
}

impl State {
    /// What a repeated request is answered.
    fn again(self) -> Result<Begun, ApiError> {
        match self {
            State::Running => {
                let text = "The same request is still running";
                Err(ApiError::new(ErrorCode::IdempotencyKeyInUse, text))
            }
            State::Answered { status, mut headers, body } => {
                headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
                Ok(Begun::Answered(Outcome::Content { status, headers, body: ApiBody::from(body) }))
            }
            State::Secret(record) => {
                let text =
                    "This was done, and its secret is not shown again. Rotate it, or create another one";
                let error = ApiError::new(ErrorCode::SecretNotRepeatable, text);
                Err(record.into_iter().fold(error, |error, record| error.with_detail("record", record)))
            }
        }
    }
}

struct Known {
    caller: [u8; 32],
    fingerprint: [u8; 32],
    at: Timestamp,
    state: State,
}

/// The answers by caller, operation and key.
#[derive(Clone, Default)]
pub(crate) struct Replays(Arc<Mutex<HashMap<[u8; 32], Known>>>);

/// What is known of a request.
pub(crate) enum Begun {
    /// It was answered before.
    Answered(Outcome),
    /// It is to be done.
    New(Running),
}

/// A request that is being done. Dropped without an answer, it may be done again.
pub(crate) struct Running {
    replays: Replays,
    key: Option<[u8; 32]>,
    parts: Option<Parts>,
}

impl Replays {
    /// Begins a request, or answers it as before.
    pub(crate) fn begin(
        &self,
        parts: &Parts,
        entry: &Entry,
        operator: &Operator,
        sending: &Sending,
        now: Timestamp,
    ) -> Result<Begun, ApiError> {
        let mut running = Running { replays: self.clone(), key: None, parts: None };
        let Some(sent) = parts.headers.get("idempotency-key").filter(|_| applies(entry, operator)) else {
            return Ok(Begun::New(running));
        };
        if !(1..=255).contains(&sent.len()) {
            return Err(ApiError::new(ErrorCode::BadRequest, "An Idempotency-Key has 1 to 255 characters"));
        }
        let caller = digest(&[&[u8::from(operator.is_own)], operator.id.as_bytes()]);
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let key = digest(&[
            &[u8::from(operator.is_own)],
            operator.id.as_bytes(),
            entry.metadata.name.as_bytes(),
            sent.as_bytes(),
        ]);
        let fingerprint = digest(&[path.as_bytes(), &sending.bytes]);
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.retain(|_, it| now.millis_since(it.at) < DAY_MILLIS);
        }
        if let Some(it) = known.get(&key).filter(|it| now.millis_since(it.at) < DAY_MILLIS) {
            if it.fingerprint != fingerprint {
                let text = "This Idempotency-Key was used for another request";
                return Err(ApiError::new(ErrorCode::IdempotencyKeyReused, text));
            }
            return it.state.clone().again();
        }
        if make_room(&mut known, &caller) {
            known.insert(key, Known { caller, fingerprint, at: now, state: State::Running });
            running.key = Some(key);
            running.parts = Some(parts.clone());
        }
        Ok(Begun::New(running))
    }
}

/// Whether there is room for one more answer of a caller. One who has many loses the oldest, so that nobody takes the
/// room of others. Besides, a full table forgets nothing that it has promised; it promises nothing more.
fn make_room(known: &mut HashMap<[u8; 32], Known>, caller: &[u8; 32]) -> bool {
    let own = || known.iter().filter(|(_, it)| it.caller == *caller);
    if own().count() >= MOST_OF_CALLER {
        let answered = own().filter(|(_, it)| !matches!(it.state, State::Running));
        let Some(oldest) = answered.min_by_key(|(_, it)| it.at).map(|(key, _)| *key) else { return false };
        known.remove(&oldest);
    }
    known.len() < MOST
}

/// Sign-in is never repeated, and reads may be.
fn applies(entry: &Entry, operator: &Operator) -> bool {
    entry.metadata.method == Method::Post && entry.metadata.changes() && !operator.id.is_empty()
}

impl Running {
    /// Stores the answer, but no secret.
    pub(crate) async fn finish(mut self, outcome: Outcome, has_secret: bool) -> Result<Outcome, ApiError> {
        let (Some(key), Some(parts)) = (self.key, self.parts.take()) else { return Ok(outcome) };
        let mut summary = ResponseSummary::new(String::new());
        let response = encode(&parts, Ok(outcome), &mut summary);
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|_| ApiError::internal())?.to_bytes();
        let mut headers = head.headers;
        headers.remove("x-request-id");
        headers.remove(header::CACHE_CONTROL);
        let status = head.status.as_u16();
        if head.status.is_success() && body.len() <= MAX_BYTES {
            let state = if has_secret {
                State::Secret(public_part(&body))
            } else {
                State::Answered { status, headers: headers.clone(), body: body.clone() }
            };
            if let Some(known) = self.replays.0.lock().get_mut(&key) {
                known.state = state;
            }
            self.key = None;
        }
        Ok(Outcome::Content { status, headers, body: ApiBody::from(body) })
    }
}

/// The records that an answer with a secret holds next to it.
const RECORDS: [&str; 3] = ["key", "token", "webhook"];

/// The records in the data of an answer. Whatever else it holds may be secret.
fn public_part(body: &[u8]) -> Option<Json> {
    let Json::Object(answer) = parse(body).ok()? else { return None };
    let mut data = answer.get("data")?.as_object()?.clone();
    let names: Vec<String> = data.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names.iter().filter(|name| !RECORDS.contains(&name.as_str())) {
        data.remove(name.as_str());
    }
    Some(Json::Object(data))
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.replays.0.lock().remove(&key);
        }
    }
}
