//! Responses stored under the idempotency keys of their requests (contract 5.5).

use openapi_core::access::Caller;
use openapi_core::contacts::Contact;
use openapi_core::reply::{ApiError, ErrorCode, StoredReply};
use openapi_core::service::Idempotency;
use openapi_core::values::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use crate::customers::failed;

/// How long a response is stored.
const DAY_MILLIS: i64 = 24 * 3_600_000;

/// A key is bound to the tenant, the caller, and the request.
fn key(caller: &Caller, idempotency: &Idempotency<Contact>) -> String {
    let Idempotency { key, operation, .. } = idempotency;
    serde_json::json!([caller.agent_id, caller.actor, operation, key]).to_string()
}

/// The stored response.
pub fn find(
    crm: &Connection,
    caller: &Caller,
    idempotency: Option<&Idempotency<Contact>>,
    now: Timestamp,
) -> Result<Option<StoredReply>, ApiError> {
    let Some(idempotency) = idempotency else { return Ok(None) };
    let sql =
        "SELECT fingerprint, status, location, body FROM customer_answers WHERE key = ?1 AND expires > ?2";
    let found: Option<([u8; 32], StoredReply)> = crm
        .query_row(sql, (key(caller, idempotency), now.millis()), |row| {
            let body = row.get::<_, String>(3)?.into();
            Ok((row.get(0)?, StoredReply { status: row.get(1)?, location: row.get(2)?, body }))
        })
        .optional()
        .map_err(failed)?;
    match found {
        Some((fingerprint, _)) if fingerprint != idempotency.fingerprint => Err(ApiError::new(
            ErrorCode::IdempotencyKeyReused,
            "This Idempotency-Key was used with another payload",
        )),
        found => Ok(found.map(|(_, reply)| reply)),
    }
}

/// Stores a response and deletes expired ones.
pub fn keep(
    crm: &Connection,
    caller: &Caller,
    idempotency: &Idempotency<Contact>,
    reply: &StoredReply,
    now: Timestamp,
) -> rusqlite::Result<()> {
    crm.execute("DELETE FROM customer_answers WHERE expires <= ?1", [now.millis()])?;
    crm.execute(
        "INSERT INTO customer_answers (key, fingerprint, status, location, body, expires) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (
            key(caller, idempotency),
            idempotency.fingerprint,
            reply.status,
            &reply.location,
            &*reply.body,
            now.millis().saturating_add(DAY_MILLIS),
        ),
    )?;
    Ok(())
}
