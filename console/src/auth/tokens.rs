//! Service tokens: what scripts sign their requests with. A token is of the installation and not of the person who made
//! it, so it works until it ends or is revoked.

use std::net::IpAddr;

use http::request::Parts;
use http::{HeaderValue, header};
use openapi_core::access::{Actor, ApiSecret};
use openapi_core::audit::{AuditAction, Origin};
use openapi_core::json::Object;
use openapi_core::platform::Platform;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::{PlatformId, Timestamp};

use super::records::{People, ServiceTokenBody, Stored, digest};
use super::session::operator_of;
use crate::call::Call;
use crate::operator::Operator;
use crate::state::Inner;

pub(crate) const TAG: &str = "console token";
/// The letter of its prefix.
pub(crate) const KIND: char = 'c';
/// The random characters that find a token. They are shown in lists; the 31 others are never stored.
const START: usize = 12;
/// How exactly the last use is stored.
const USE_MILLIS: i64 = 60_000;

impl Stored<ServiceTokenBody> {
    /// The token's id.
    pub(crate) fn token_id(&self) -> Result<PlatformId, ApiError> {
        operator_of(&self.id).ok_or_else(ApiError::internal)
    }

    /// The token as operations see it.
    pub(crate) fn operator(&self, call: &Call) -> Result<Operator, ApiError> {
        let id = format!("{ACTOR}{}", self.token_id()?);
        let mut operator = Operator::new(id.clone(), self.body.name.clone(), self.body.grants.clone());
        operator.address = call.address;
        operator.actor = Some(Actor::Operator(id));
        Ok(operator)
    }

    /// What its tag is made of.
    pub(crate) fn message(&self, text: &str) -> Vec<u8> {
        [self.id.as_bytes(), text.as_bytes()].concat()
    }
}

impl ServiceTokenBody {
    /// Whether the token works now and from where the call comes.
    fn usable(&self, now: Timestamp, call: &Call) -> Result<(), ApiError> {
        if let Some(at) = self.revoked_at {
            let text = format!("This service token was revoked at {at}. Create another one");
            return Err(refused("revoked", text));
        }
        if self.expires_at <= now {
            let text = format!("This service token ended at {}. Create another one", self.expires_at);
            return Err(refused("expired", text));
        }
        let is_allowed = |from: IpAddr| self.addresses.iter().any(|block| block.contains(from));
        if !self.addresses.is_empty() && !call.address.is_some_and(is_allowed) {
            let text = "The service token may not be used from this address";
            return Err(ApiError::new(ErrorCode::IpNotAllowed, text));
        }
        Ok(())
    }
}

/// What precedes a token's id in the audit log.
const ACTOR: &str = "token:";

/// The token that an actor is.
pub(crate) fn token_of(actor: &Actor) -> Option<PlatformId> {
    match actor {
        Actor::Operator(id) => id.strip_prefix(ACTOR)?.parse().ok(),
        _ => None,
    }
}

/// The characters that find a token of this form.
pub(crate) fn start_of(text: &str) -> Option<&str> {
    text.get(..text.find('_')? + 1 + START)
}

/// The value by which a token is found.
pub(crate) fn unique_token(start: &str) -> [u8; 32] {
    digest(&[b"console token", start.as_bytes()])
}

/// The bearer token of a request; none if it has no `Authorization: Bearer`.
pub(crate) fn bearer(parts: &Parts) -> Option<&HeaderValue> {
    let value = parts.headers.get(header::AUTHORIZATION)?;
    let scheme = value.as_bytes().get(..7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(value)
}

fn refused(reason: &'static str, text: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    let challenge = HeaderValue::from_static("Bearer realm=\"console\", error=\"invalid_token\"");
    ApiError::new(ErrorCode::Unauthenticated, text)
        .with_detail("reason", reason)
        .with_header(header::WWW_AUTHENTICATE, challenge)
}

fn unknown() -> ApiError {
    refused(
        "unknown",
        "There is no such service token. Check that it was copied whole, or create another one",
    )
}

impl Inner {
    /// The token of a request with `Authorization: Bearer`. Only a holder of the token hears why it does not work.
    pub(crate) async fn token(
        &self,
        sent: &HeaderValue,
        call: &Call,
    ) -> Result<Stored<ServiceTokenBody>, ApiError> {
        let text = sent.to_str().ok().and_then(|value| value.get(7..)).map(str::trim).unwrap_or_default();
        if !ApiSecret::has_form(text, KIND) {
            let form =
                "A service token begins with the key prefix and c_; this one is incomplete or mistyped";
            return Err(refused("malformed", form));
        }
        let people = People(self.platform());
        let start = start_of(text).ok_or_else(unknown)?;
        let found = people.by_unique::<ServiceTokenBody>(&unique_token(start)).await?;
        let mut token = found.ok_or_else(unknown)?;
        let keys = &self.platform().ports().server_keys;
        if !keys.verifies(TAG, &token.message(text), &token.body.tag) {
            return Err(unknown());
        }
        let now = self.platform().now();
        if let Err(error) = token.body.usable(now, call) {
            self.note_refused(&token, &error, call, now).await;
            return Err(error);
        }
        if token.body.last_used_at.is_some_and(|at| (0..USE_MILLIS).contains(&now.millis_since(at))) {
            return Ok(token);
        }
        let before = token.clone();
        token.body.last_used_at = Some(now);
        token.body.last_used_address = call.address;
        // A token that is used moves to the current server key.
        if token.body.server_key != keys.current_id() {
            token.body.tag = keys.tag(TAG, &token.message(text)).to_vec();
            keys.current_id().clone_into(&mut token.body.server_key);
        }
        // Another request may be faster: then it has noted the same, or revoked the token from the next request on.
        match people.write(vec![token.save()?], Vec::new()).await {
            Ok(true) => {
                token.version += 1;
                Ok(token)
            }
            Ok(false) => Ok(before),
            // A store that cannot be written can be read: what a request may do does not depend on its trace.
            Err(error) => {
                tracing::warn!(%error, "failed to store the last use of a service token");
                Ok(before)
            }
        }
    }

    /// Notes in the audit log, at most once a minute, that a genuine token was refused: somebody may have stolen it.
    async fn note_refused(
        &self,
        token: &Stored<ServiceTokenBody>,
        error: &ApiError,
        call: &Call,
        now: Timestamp,
    ) {
        let Ok(id) = token.token_id() else { return };
        if self.shared.limits.noted_tokens.take(token.id.as_bytes().to_vec(), now).is_err() {
            return;
        }
        let mut details = Object::new();
        details.insert("name", token.body.name.as_str().into());
        details.insert("code", error.code().as_str().into());
        let actor = Actor::Operator(format!("{ACTOR}{id}"));
        let origin = Origin { address: call.address, request_id: call.request_id.clone() };
        let action = AuditAction::AuthenticationFailure;
        let noted = self.platform().note(&actor, action, None, Some(id.to_string()), &details);
        if let Err(error) = origin.during(noted).await {
            tracing::warn!(%error, "failed to record a refused service token in the audit log");
        }
    }

    /// The tokens that work and those that ended of late, the newest first.
    pub(crate) async fn tokens(&self) -> Result<Vec<Stored<ServiceTokenBody>>, ApiError> {
        let now = self.platform().now();
        let mut all = People(self.platform()).all::<ServiceTokenBody>().await?;
        all.retain(|token| token.due_at.is_none_or(|end| end > now));
        all.sort_by(|a, b| (b.body.created_at, &b.id).cmp(&(a.body.created_at, &a.id)));
        Ok(all)
    }
}

/// The server keys that service tokens need, one for each token that works.
///
/// # Errors
/// When the store fails.
pub async fn server_keys_of_tokens(platform: &Platform) -> Result<Vec<String>, ApiError> {
    let now = platform.now();
    let tokens = People(platform).all::<ServiceTokenBody>().await?;
    let working = tokens.into_iter().filter(|token| token.body.end() > now);
    Ok(working.map(|token| token.body.server_key).collect())
}
