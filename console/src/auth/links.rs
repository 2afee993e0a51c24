//! Links by which accounts are made.

use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::json::Object;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordId;
use openapi_core::values::PlatformId;

use super::cookies::{decode, encode};
use super::records::{LinkBody, LinkKind, OperatorBody, People, Stored, unique_email, unique_link};
use crate::call::Call;
use crate::state::Inner;

const TAG: &str = "console link";
const TOKEN_BYTES: usize = 32;
/// How long a link can be used: 60 minutes.
const LINK_MILLIS: i64 = 60 * 60_000;
/// There is one set-up link: the newest.
const SETUP_ID: &[u8] = b"set-up";

/// The one answer to links that do not work.
fn invalid() -> ApiError {
    ApiError::new(ErrorCode::LinkInvalid, "This link is unknown, used, revoked or expired. Ask for a new one")
}

impl Inner {
    /// A new set-up link's token; none if there is an operator.
    pub(crate) async fn make_setup_link(
        &self,
        actor: &Actor,
        call: &Call,
    ) -> Result<Option<String>, ApiError> {
        if People(self.platform()).is_set_up().await? {
            return Ok(None);
        }
        let operator = self.platform().ports().ids.platform_id(self.platform().now());
        self.make_link(actor, call, SETUP_ID, (LinkKind::SetUp, operator)).await.map(Some)
    }

    /// A new recovery link's token; none if nobody has the address.
    pub(crate) async fn make_recovery_link(
        &self,
        actor: &Actor,
        call: &Call,
        email: &str,
    ) -> Result<Option<String>, ApiError> {
        let account = People(self.platform()).by_unique::<OperatorBody>(&unique_email(email)).await?;
        let Some(account) = account else { return Ok(None) };
        let operator = account.operator_id()?;
        self.make_link(actor, call, operator.as_bytes(), (LinkKind::Recover, operator)).await.map(Some)
    }

    /// A new link in place of the former one with this id.
    async fn make_link(
        &self,
        actor: &Actor,
        call: &Call,
        id: &[u8],
        (kind, operator): (LinkKind, PlatformId),
    ) -> Result<String, ApiError> {
        let platform = self.platform();
        let people = People(platform);
        let (ids, keys) = (&platform.ports().ids, &platform.ports().server_keys);
        let now = platform.now();
        let id = RecordId::from_bytes(id).ok_or_else(ApiError::internal)?;
        let (action, resource) = match kind {
            LinkKind::SetUp => (AuditAction::OperatorSetupLink, "set-up".to_owned()),
            LinkKind::Recover => (AuditAction::OperatorRecoveryLink, operator.to_string()),
        };
        // Another server may make one at the same moment; the newer one counts.
        for _ in 0..5 {
            let mut token = [0; TOKEN_BYTES];
            ids.fill(&mut token);
            let body = LinkBody {
                kind,
                tag: keys.tag(TAG, &token).to_vec(),
                server_key: keys.current_id().to_owned(),
                operator,
                expires_at: now.plus_millis(LINK_MILLIS),
            };
            let known = people.get::<LinkBody>(&id).await?;
            let mut link = Stored::new(id.clone(), body);
            link.version = known.map_or(0, |known| known.version);
            link.unique = Some(unique_link(&token));
            link.due_at = Some(link.body.expires_at);
            let audit = people.audit(call, actor, action, &resource, &Object::new());
            if people.write(vec![link.save()?], vec![audit]).await? {
                return Ok(encode(&token));
            }
        }
        Err(ApiError::unavailable())
    }

    /// The link of a token.
    pub(crate) async fn link(&self, token: &str) -> Result<Stored<LinkBody>, ApiError> {
        let token = decode(token).filter(|token| token.len() == TOKEN_BYTES).ok_or_else(invalid)?;
        let people = People(self.platform());
        let link = people.by_unique::<LinkBody>(&unique_link(&token)).await?.ok_or_else(invalid)?;
        let keys = &self.platform().ports().server_keys;
        let fits = keys.verifies(TAG, &token, &link.body.tag) && link.body.expires_at > self.platform().now();
        let is_over = link.body.kind == LinkKind::SetUp && people.is_set_up().await?;
        if !fits || is_over {
            return Err(invalid());
        }
        Ok(link)
    }

    /// The account that a recovery link is for.
    pub(crate) async fn recovered(&self, link: &LinkBody) -> Result<Stored<OperatorBody>, ApiError> {
        let account = People(self.platform()).get::<OperatorBody>(&link.operator.into()).await?;
        account.filter(|account| !account.body.is_disabled).ok_or_else(invalid)
    }
}
