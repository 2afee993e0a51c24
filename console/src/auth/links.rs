//! Links by which accounts are made.

use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::json::Object;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordId;
use openapi_core::values::{PlatformId, Timestamp};

use super::cookies::{decode, encode};
use super::records::{ATTEMPTS, LinkBody, LinkKind, OperatorBody, People, Stored, unique_email, unique_link};
use crate::state::Inner;

const TAG: &str = "console link";
const TOKEN_BYTES: usize = 32;
/// How long a link for set-up or recovery can be used: 60 minutes.
pub(crate) const LINK_MILLIS: i64 = 60 * 60_000;
/// There is one set-up link: the newest.
const SETUP_ID: &[u8] = b"set-up";

/// The one answer to links that do not work.
pub(crate) fn invalid() -> ApiError {
    ApiError::new(ErrorCode::LinkInvalid, "This link is unknown, used, revoked or expired. Ask for a new one")
}

impl Inner {
    /// A new set-up link's token; none if there is an operator.
    pub(crate) async fn make_setup_link(&self, actor: &Actor) -> Result<Option<String>, ApiError> {
        let people = People(self.platform());
        if people.is_set_up().await? {
            return Ok(None);
        }
        let operator = self.platform().ports().ids.platform_id(self.platform().now());
        let id = RecordId::from_bytes(SETUP_ID).ok_or_else(ApiError::internal)?;
        let until = self.platform().now().plus_millis(LINK_MILLIS);
        // Another server may make one at the same moment; the newer one counts.
        for _ in 0..ATTEMPTS {
            let (token, mut link) = self.new_link(id.clone(), LinkKind::SetUp, operator, until);
            let known = people.get::<LinkBody>(&id).await?;
            link.version = known.map_or(0, |known| known.version);
            let audit = people.audit(actor, AuditAction::OperatorSetupLink, "set-up", &Object::new());
            if people.write(vec![link.save()?], vec![audit]).await? {
                return Ok(Some(token));
            }
        }
        Err(ApiError::unavailable())
    }

    /// A token and its link, which is not stored yet.
    pub(crate) fn new_link(
        &self,
        id: RecordId,
        kind: LinkKind,
        operator: PlatformId,
        expires_at: Timestamp,
    ) -> (String, Stored<LinkBody>) {
        let (ids, keys) = (&self.platform().ports().ids, &self.platform().ports().server_keys);
        let mut token = [0; TOKEN_BYTES];
        ids.fill(&mut token);
        let tag = keys.tag(TAG, &token).to_vec();
        let server_key = keys.current_id().to_owned();
        let body = LinkBody { kind, tag, server_key, operator, expires_at, invitation: None };
        let mut link = Stored::new(id, body);
        link.unique = Some(unique_link(&token));
        link.due_at = Some(expires_at);
        (encode(&token), link)
    }

    /// A recovery link's token and its link, which is not stored yet.
    pub(crate) fn new_recovery(
        &self,
        operator: PlatformId,
        expires_at: Timestamp,
    ) -> (String, Stored<LinkBody>) {
        self.new_link(operator.into(), LinkKind::Recover, operator, expires_at)
    }

    /// The link of a token.
    pub(crate) async fn link(&self, token: &str) -> Result<Stored<LinkBody>, ApiError> {
        let token = decode(token).filter(|token| token.len() == TOKEN_BYTES).ok_or_else(invalid)?;
        let people = People(self.platform());
        let link = people.by_unique::<LinkBody>(&unique_link(&token)).await?.ok_or_else(invalid)?;
        let keys = &self.platform().ports().server_keys;
        let fits = keys.verifies(TAG, &token, &link.body.tag) && link.body.expires_at > self.platform().now();
        if !fits || link.body.kind == LinkKind::SetUp && people.is_set_up().await? {
            return Err(invalid());
        }
        if let Some(invitation) = &link.body.invitation {
            self.author(invitation).await?;
            if people.by_unique::<OperatorBody>(&unique_email(&invitation.email)).await?.is_some() {
                return Err(invalid());
            }
        }
        Ok(link)
    }

    /// The account that a recovery link is for.
    pub(crate) async fn recovered(&self, link: &LinkBody) -> Result<Stored<OperatorBody>, ApiError> {
        let account = People(self.platform()).get::<OperatorBody>(&link.operator.into()).await?;
        account.filter(|account| !account.body.is_disabled).ok_or_else(invalid)
    }
}

/// The operator that an actor is, if the account is the console's own.
pub(crate) fn own_operator(actor: &Actor) -> Option<PlatformId> {
    match actor {
        Actor::Operator(id) => id.strip_prefix("op:")?.parse().ok(),
        _ => None,
    }
}
