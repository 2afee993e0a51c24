//! Service tokens: created and revoked.

use openapi_core::access::{AllowedAddress, ApiSecret};
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object};
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::{PlatformId, Timestamp};

use super::members::Authority;
use super::records::{ATTEMPTS, People, ServiceTokenBody, Stored};
use super::tokens::{KIND, TAG, start_of, unique_token};
use crate::context::Context;
use crate::errors::not_found;
use crate::grants::Grants;
use crate::state::Inner;

const DAY_MILLIS: i64 = 86_400_000;
/// How long a token that has ended is listed.
const ENDED_MILLIS: i64 = 30 * DAY_MILLIS;
/// The most tokens that work, and the most that are listed after their end.
const MOST: usize = 100;

/// A new token, as its author describes it.
pub(crate) struct NewToken {
    pub(crate) name: String,
    pub(crate) grants: Grants,
    pub(crate) dangerous: Vec<String>,
    pub(crate) addresses: Vec<AllowedAddress>,
    pub(crate) expires_at: Timestamp,
}

impl Inner {
    /// Stores a new token, and returns it with its text, which is shown once.
    pub(crate) async fn create_token(
        &self,
        cx: &Context<'_>,
        new: NewToken,
    ) -> Result<(Stored<ServiceTokenBody>, String), ApiError> {
        let platform = self.platform();
        let (people, now) = (People(platform), platform.now());
        let (ids, keys) = (&platform.ports().ids, &platform.ports().server_keys);
        let id = ids.platform_id(now);
        let details = details_of(&new);
        let mut token = Stored::new(
            id.into(),
            ServiceTokenBody {
                name: new.name,
                grants: new.grants,
                dangerous: new.dangerous,
                addresses: new.addresses,
                start: String::new(),
                tag: Vec::new(),
                server_key: keys.current_id().to_owned(),
                created_by: cx.actor.clone(),
                created_at: now,
                expires_at: new.expires_at,
                revoked_at: None,
                last_used_at: None,
                last_used_address: None,
            },
        );
        token.due_at = Some(new.expires_at.plus_millis(ENDED_MILLIS));
        for _ in 0..ATTEMPTS {
            let authority = Authority::of(cx).await?;
            authority.may_give(&token.body.grants)?;
            let (working, ended): (Vec<_>, Vec<_>) =
                self.tokens().await?.into_iter().partition(|token| token.body.end() > now);
            if working.len() >= MOST {
                let text = format!("At most {MOST} service tokens work at a time; revoke some first");
                return Err(ApiError::new(ErrorCode::NotPossible, text));
            }
            let mut random = [0; 32];
            ids.fill(&mut random);
            let text = ApiSecret::derived(platform.service_info().api_key_prefix(), KIND, &random);
            start_of(&text).ok_or_else(ApiError::internal)?.clone_into(&mut token.body.start);
            token.unique = Some(unique_token(&token.body.start));
            token.body.tag = keys.tag(TAG, &token.message(&text)).to_vec();
            let mut changes = authority.guard(id)?;
            changes.extend(ended.iter().skip(MOST).map(Stored::remove));
            changes.push(token.save()?);
            let audit = people.audit(cx.actor, AuditAction::TokenCreate, &id.to_string(), &details);
            if people.write(changes, vec![audit]).await? {
                token.version = 1;
                return Ok((token, text));
            }
        }
        Err(concurrent_update())
    }

    /// Revokes a token whose grants the caller could give. `check` may refuse what is stored.
    pub(crate) async fn revoke_token(
        &self,
        cx: &Context<'_>,
        id: PlatformId,
        check: impl Fn(&ServiceTokenBody) -> Result<(), ApiError>,
    ) -> Result<Stored<ServiceTokenBody>, ApiError> {
        let (people, now) = (People(self.platform()), self.platform().now());
        for _ in 0..ATTEMPTS {
            let authority = Authority::of(cx).await?;
            let found = people.get::<ServiceTokenBody>(&id.into()).await?;
            let mut token = found.ok_or_else(|| not_found("token", &id.to_string()))?;
            authority.may_give(&token.body.grants)?;
            check(&token.body)?;
            if token.body.end() <= now {
                return Ok(token);
            }
            token.body.revoked_at = Some(now);
            token.due_at = Some(now.plus_millis(ENDED_MILLIS));
            let mut changes = authority.guard(id)?;
            changes.push(token.save()?);
            let mut details = Object::new();
            details.insert("name", token.body.name.as_str().into());
            let audit = people.audit(cx.actor, AuditAction::TokenRevoke, &id.to_string(), &details);
            if people.write(changes, vec![audit]).await? {
                token.version += 1;
                return Ok(token);
            }
        }
        Err(concurrent_update())
    }
}

fn details_of(new: &NewToken) -> Object {
    let list = |words: &[String]| Json::Array(words.iter().map(|word| Json::from(word.as_str())).collect());
    let mut details = Object::new();
    details.insert("name", new.name.as_str().into());
    details.insert("grants", list(&new.grants.words()));
    details.insert("dangerous", list(&new.dangerous));
    details.insert("expiresAt", new.expires_at.to_string().as_str().into());
    details.insert("addresses", Json::Number((new.addresses.len() as u64).into()));
    details
}
