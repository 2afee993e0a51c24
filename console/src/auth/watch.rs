//! Callers of streams that are open: whether their session or token still stands, and with the same grants.

use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::storage::RecordId;

use super::records::{OperatorBody, People, ServiceTokenBody, SessionBody};
use crate::context::Proof;
use crate::grants::Grants;
use crate::settings::AccountSettings;

/// What has become of a session or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is as it was.
    Same,
    /// Its operator may do more or less than before.
    Changed,
    /// It has ended.
    Ended,
}

/// A session or a token that is looked at again and again, without counting as used.
pub(crate) enum WatchedCaller {
    /// A session of an operator.
    Session { session: RecordId, operator: RecordId, grants: Grants, idle_millis: i64 },
    /// A service token, whose grants stay.
    Token(RecordId),
}

impl WatchedCaller {
    pub(crate) fn new(proof: Proof<'_>, accounts: &AccountSettings) -> Self {
        match proof {
            Proof::Session(own) => WatchedCaller::Session {
                session: own.session.id.clone(),
                operator: own.account.id.clone(),
                grants: own.operator.grants.clone(),
                idle_millis: accounts.idle_millis,
            },
            Proof::Token(token) => WatchedCaller::Token(token.id.clone()),
        }
    }

    /// The bytes that name the session or the token.
    pub(crate) fn id(&self) -> &[u8] {
        match self {
            WatchedCaller::Session { session: id, .. } | WatchedCaller::Token(id) => id.as_bytes(),
        }
    }

    /// Reads what is stored of the session and its operator, or of the token.
    pub(crate) async fn standing(&self, platform: &Platform) -> Result<Standing, ApiError> {
        let people = People(platform);
        let now = platform.now();
        let (session, operator, grants, idle_millis) = match self {
            WatchedCaller::Session { session, operator, grants, idle_millis } => {
                (session, operator, grants, idle_millis)
            }
            WatchedCaller::Token(id) => {
                let token = people.get::<ServiceTokenBody>(id).await?;
                let stands = token.is_some_and(|token| token.body.end() > now);
                return Ok(if stands { Standing::Same } else { Standing::Ended });
            }
        };
        let Some(session) = people.get::<SessionBody>(session).await? else {
            return Ok(Standing::Ended);
        };
        let is_over = session.due_at.is_none_or(|end| end <= now)
            || now.millis_since(session.body.last_seen_at) >= *idle_millis;
        let account = people.get::<OperatorBody>(operator).await?;
        Ok(match account.filter(|account| !account.body.is_disabled && !is_over) {
            None => Standing::Ended,
            Some(account) if account.body.grants != *grants => Standing::Changed,
            Some(_) => Standing::Same,
        })
    }
}
