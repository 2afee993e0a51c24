//! Links by which accounts are made.

use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::json::Object;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordId;

use super::cookies::{decode, encode};
use super::records::{LinkBody, LinkKind, People, Stored};
use crate::call::Call;
use crate::service::Inner;

const TAG: &str = "console link";
const TOKEN_BYTES: usize = 32;
/// How long a set-up link can be used: 60 minutes.
const SETUP_MILLIS: i64 = 60 * 60_000;
/// There is one set-up link: the newest.
const SETUP_ID: &[u8] = b"set-up";

/// The one answer to links that do not work.
fn invalid() -> ApiError {
    ApiError::new(ErrorCode::LinkInvalid, "This link is unknown, used, revoked or expired. Ask for a new one")
}

/// 401 of a caller who has proved nothing: one answer to unknown people, wrong passwords and refused passkeys.
pub(crate) fn proves_nobody() -> ApiError {
    ApiError::new(
        ErrorCode::Unauthenticated,
        "This does not match an account. Check what you entered and try again",
    )
}

impl Inner {
    /// A new set-up link's token; none if there is an operator.
    pub(crate) async fn make_setup_link(
        &self,
        actor: &Actor,
        call: &Call,
    ) -> Result<Option<String>, ApiError> {
        let platform = self.platform();
        let people = People(platform);
        if people.is_set_up().await? {
            return Ok(None);
        }
        let (ids, keys) = (&platform.ports().ids, &platform.ports().server_keys);
        let now = platform.now();
        let id = RecordId::from_bytes(SETUP_ID).ok_or_else(ApiError::internal)?;
        // Another server may make one at the same moment; the newer one counts.
        for _ in 0..5 {
            let mut token = [0; TOKEN_BYTES];
            ids.fill(&mut token);
            let body = LinkBody {
                kind: LinkKind::SetUp,
                tag: keys.tag(TAG, &token).to_vec(),
                server_key: keys.current_id().to_owned(),
                operator: ids.platform_id(now),
                expires_at: now.plus_millis(SETUP_MILLIS),
            };
            let known = people.get::<LinkBody>(&id).await?;
            let mut link = Stored::new(id.clone(), body);
            link.version = known.map_or(0, |known| known.version);
            link.due_at = Some(link.body.expires_at);
            let audit = people.audit(call, actor, AuditAction::OperatorSetupLink, "set-up", &Object::new());
            if people.write(vec![link.save()?], vec![audit]).await? {
                return Ok(Some(encode(&token)));
            }
        }
        Err(ApiError::unavailable())
    }

    /// The link of a token.
    pub(crate) async fn link(&self, token: &str) -> Result<Stored<LinkBody>, ApiError> {
        let token = decode(token).filter(|token| token.len() == TOKEN_BYTES).ok_or_else(invalid)?;
        let people = People(self.platform());
        let id = RecordId::from_bytes(SETUP_ID).ok_or_else(ApiError::internal)?;
        let link = people.get::<LinkBody>(&id).await?.ok_or_else(invalid)?;
        let keys = &self.platform().ports().server_keys;
        let fits = keys.verifies(TAG, &token, &link.body.tag) && link.body.expires_at > self.platform().now();
        if !fits || people.is_set_up().await? {
            return Err(invalid());
        }
        Ok(link)
    }
}
