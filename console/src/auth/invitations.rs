//! Invitations: links by which people become operators.

use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object};
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordChange;
use openapi_core::values::{PlatformId, Timestamp};

use super::links::{invalid, own_operator};
use super::members::Authority;
use super::records::{ATTEMPTS, Invitation, LinkBody, LinkKind, OperatorBody, People, Stored, unique_email};
use crate::context::Context;
use crate::errors::not_found;
use crate::state::Inner;

/// The most invitations that wait.
const MOST_INVITATIONS: usize = 1_000;

impl Inner {
    /// The invitations whose links are not over, the newest first.
    pub(crate) async fn invitations(&self) -> Result<Vec<(Stored<LinkBody>, Invitation)>, ApiError> {
        let now = self.platform().now();
        let links = People(self.platform()).all::<LinkBody>().await?;
        let waiting = links.into_iter().filter(|link| link.body.expires_at > now);
        let mut found: Vec<_> =
            waiting.filter_map(|link| link.body.invitation.clone().map(|it| (link, it))).collect();
        found.sort_by_key(|(link, invitation)| std::cmp::Reverse((invitation.invited_at, link.id.clone())));
        Ok(found)
    }

    /// Stores an invitation, in place of a former one of the same address, and returns its token.
    pub(crate) async fn invite(
        &self,
        cx: &Context<'_>,
        invitation: Invitation,
        expires_at: Timestamp,
    ) -> Result<String, ApiError> {
        let people = People(self.platform());
        let address = unique_email(&invitation.email);
        let operator = self.platform().ports().ids.platform_id(self.platform().now());
        for _ in 0..ATTEMPTS {
            let authority = Authority::of(cx).await?;
            authority.may_give(&invitation.grants)?;
            if people.by_unique::<OperatorBody>(&address).await?.is_some() {
                let text = "An operator has this address already";
                return Err(ApiError::new(ErrorCode::Conflict, text));
            }
            let waiting = self.invitations().await?;
            let (former, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(_, it)| unique_email(&it.email) == address);
            if others.len() >= MOST_INVITATIONS {
                let text = format!("At most {MOST_INVITATIONS} invitations wait; revoke some first");
                return Err(ApiError::new(ErrorCode::NotPossible, text));
            }
            let mut changes = authority.guard(operator)?;
            for (link, former) in &former {
                authority.may_give(&former.grants)?;
                changes.push(link.remove());
            }
            let (token, mut link) = self.new_link(operator.into(), LinkKind::Invite, operator, expires_at);
            link.body.invitation = Some(invitation.clone());
            changes.push(link.save()?);
            let audit = self.audit_invitation(cx, AuditAction::OperatorInvite, operator, &invitation);
            if people.write(changes, vec![audit]).await? {
                return Ok(token);
            }
        }
        Err(concurrent_update())
    }

    /// Revokes an invitation.
    pub(crate) async fn revoke_invitation(&self, cx: &Context<'_>, id: PlatformId) -> Result<(), ApiError> {
        let people = People(self.platform());
        let missing = || not_found("invitation", &id.to_string());
        for _ in 0..ATTEMPTS {
            let authority = Authority::of(cx).await?;
            let link = people.get::<LinkBody>(&id.into()).await?.ok_or_else(missing)?;
            let invitation = link.body.invitation.clone().ok_or_else(missing)?;
            authority.may_give(&invitation.grants)?;
            let mut changes = authority.guard(id)?;
            changes.push(link.remove());
            let audit = self.audit_invitation(cx, AuditAction::OperatorRevokeInvitation, id, &invitation);
            if people.write(changes, vec![audit]).await? {
                return Ok(());
            }
        }
        Err(concurrent_update())
    }

    fn audit_invitation(
        &self,
        cx: &Context<'_>,
        action: AuditAction,
        operator: PlatformId,
        invitation: &Invitation,
    ) -> openapi_core::audit::SealedEntry {
        let mut details = Object::new();
        let grants = invitation.grants.words();
        details
            .insert("grants", Json::Array(grants.iter().map(|grant| Json::from(grant.as_str())).collect()));
        People(self.platform()).audit(cx.actor, action, &operator.to_string(), &details)
    }

    /// What keeps the power of an invitation's author while it is accepted: the author's account, written as it is, which
    /// must still be able to give the roles. None for an author whose account is not the console's own.
    pub(crate) async fn author(&self, invitation: &Invitation) -> Result<Option<RecordChange>, ApiError> {
        let Some(id) = own_operator(&invitation.invited_by) else { return Ok(None) };
        let author = People(self.platform()).get::<OperatorBody>(&id.into()).await?;
        let author = author.filter(|author| !author.body.is_disabled).ok_or_else(invalid)?;
        let mut grants = invitation.grants.as_slice().iter();
        if grants.any(|grant| author.body.grants.lack_to_give(grant).is_some()) {
            return Err(invalid());
        }
        author.save().map(Some)
    }

    /// Whether an invitation is refused because its author may no longer give its roles.
    pub(crate) async fn is_void(&self, invitation: &Invitation) -> Result<bool, ApiError> {
        match self.author(invitation).await {
            Ok(_) => Ok(false),
            Err(error) if error.code() == ErrorCode::LinkInvalid => Ok(true),
            Err(error) => Err(error),
        }
    }
}
