//! The log of attempts.

use openapi_core::access::Caller;
use openapi_core::json::{JsonSchema, json_object, schemas};
use openapi_core::reply::ApiError;
use openapi_core::storage::{RecordKind, StorageError, StorageErrorKind};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::records::attempt_id;
use super::requests::ListAttempts;
use super::service::Webhooks;
use crate::delivery::{AttemptResult, LoggedAttempt};

/// Attempts that are read at a time.
const READ_AT_ONCE: u32 = 100;
/// Attempts that a request looks at, with those that its filter leaves out.
const MAX_SCANNED: usize = 2_000;

/// An attempt as requests see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView(pub LoggedAttempt);

schemas! { AttemptResult: { "type": "string", "enum": ["succeeded", "failed", "givenUp", "expired"] }, }

json_object! { AttemptView as "WebhookAttempt" { "description": "A failure, a success after one, or the first success of a minute." } = |it| {
    "number": u64 { "minimum": 1 } = it.0.number,
    "at": Timestamp { "description": "When it ended." } = it.0.at,
    "result": AttemptResult { "description": "`givenUp`: that was the last attempt. `expired`: the event was removed before it was accepted." } = it.0.result,
    "seq": u64 { "minimum": 1, "description": "The event." } = it.0.seq,
    "upto": Option<u64> { "description": "The last of the events, if several expired." } = it.0.upto,
    "attempt": u16 { "minimum": 0, "description": "Which attempt of the event; 0 where nothing was sent." } = u16::from(it.0.attempt),
    "status": Option<u16> { "description": "The status of the response." } = it.0.status,
    "error": Option<String> { "description": "What failed without a response." } = it.0.error,
    "milliseconds": u32 = it.0.millis,
    "body": Option<String> { "description": "Up to 1 KiB of the text of a failure." } = Some(it.0.text.clone()).filter(|text| !text.is_empty()),
} }

/// A part of the log, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptList {
    /// The attempts.
    pub attempts: Vec<AttemptView>,
    /// What to pass as `cursor` next.
    pub next_cursor: Option<String>,
}

// Written by the endpoint, next to each other.
impl Serialize for AttemptList {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.attempts.serialize(serializer)
    }
}

impl JsonSchema for AttemptList {
    fn schema() -> Value {
        <[AttemptView]>::schema()
    }

    fn envelope() -> Value {
        json!({
            "type": "object",
            "required": ["success", "message", "data", "nextCursor"],
            "properties": {
                "success": { "const": true },
                "message": { "type": "string" },
                "data": Self::schema(),
                "nextCursor": { "type": ["string", "null"], "description": "To be passed as `cursor`; `null` at the end." },
            },
        })
    }
}

impl Webhooks {
    /// Logged attempts of an endpoint, newest first.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn attempts(&self, caller: &Caller, request: ListAttempts) -> Result<AttemptList, ApiError> {
        let agent = &caller.agent_id;
        let (id, ..) = self.find(agent, &request.target).await?;
        let query = request.query.check()?;
        // The number of the last attempt of the page before.
        let before = query.cursor.as_deref().map(read_cursor).transpose()?;
        let limit = usize::try_from(query.limit).unwrap_or_default();
        let mut after = before.map_or_else(|| attempt_id(id, u64::MAX), |number| attempt_id(id, number));
        let (mut attempts, mut scanned, mut last) = (Vec::new(), 0, None);
        loop {
            let kind = RecordKind::WebhookAttempt;
            let records = self.storage().records_of(Some(agent), kind, Some(&after), READ_AT_ONCE).await?;
            let is_last_page = records.len() < READ_AT_ONCE as usize;
            for record in &records {
                if !record.key.id.as_bytes().starts_with(id.as_bytes()) {
                    return Ok(AttemptList { attempts, next_cursor: None });
                }
                if attempts.len() == limit || scanned == MAX_SCANNED {
                    return Ok(AttemptList {
                        attempts,
                        next_cursor: last.map(|number: u64| number.to_string()),
                    });
                }
                scanned += 1;
                let attempt: LoggedAttempt = serde_json::from_str(record.body.as_str())
                    .map_err(|error| StorageError::new(StorageErrorKind::Internal, error))?;
                last = Some(attempt.number);
                if !query.failed || attempt.result != AttemptResult::Succeeded {
                    attempts.push(AttemptView(attempt));
                }
                after = record.key.id.clone();
            }
            if is_last_page {
                return Ok(AttemptList { attempts, next_cursor: None });
            }
        }
    }
}

fn read_cursor(text: &str) -> Result<u64, Violations> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or_else(|| {
        let fault = ValidationIssue::new(ValidationCode::Format, "was not issued for this list");
        ValidationError::new(Location::Query, "cursor", Some(&text.into()), fault).into()
    })
}
