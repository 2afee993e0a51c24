//! Sessions of streams that are open: whether they still stand, and with the same grants.

use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::storage::RecordId;

use super::records::{OperatorBody, People, SessionBody};
use super::session::SignedIn;
use crate::grants::Grants;
use crate::settings::AccountSettings;

/// What has become of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is as it was.
    Same,
    /// Its operator may do more or less than before.
    Changed,
    /// It has ended.
    Ended,
}

/// A session that is looked at again and again, without counting as used.
pub(crate) struct WatchedSession {
    session: RecordId,
    operator: RecordId,
    grants: Grants,
    idle_millis: i64,
}

impl WatchedSession {
    pub(crate) fn new(own: &SignedIn, accounts: &AccountSettings) -> Self {
        WatchedSession {
            session: own.session.id.clone(),
            operator: own.account.id.clone(),
            grants: own.operator.grants.clone(),
            idle_millis: accounts.idle_millis,
        }
    }

    /// The bytes that name the session.
    pub(crate) fn id(&self) -> &[u8] {
        self.session.as_bytes()
    }

    /// Reads what is stored of the session and its operator.
    pub(crate) async fn standing(&self, platform: &Platform) -> Result<Standing, ApiError> {
        let people = People(platform);
        let now = platform.now();
        let Some(session) = people.get::<SessionBody>(&self.session).await? else {
            return Ok(Standing::Ended);
        };
        let is_over = session.due_at.is_none_or(|end| end <= now)
            || now.millis_since(session.body.last_seen_at) >= self.idle_millis;
        let account = people.get::<OperatorBody>(&self.operator).await?;
        Ok(match account.filter(|account| !account.body.is_disabled && !is_over) {
            None => Standing::Ended,
            Some(account) if account.body.grants != self.grants => Standing::Changed,
            Some(_) => Standing::Same,
        })
    }
}
