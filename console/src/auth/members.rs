//! Operators as other operators see and change them.

use std::collections::HashMap;

use openapi_core::audit::AuditAction;
use openapi_core::json::Object;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordChange;
use openapi_core::values::{PlatformId, Timestamp};

use super::links::own_operator;
use super::records::{
    ATTEMPTS, LinkBody, OperatorBody, PasskeyBody, PasswordBody, People, RecoveryCodesBody, SessionBody,
    Stored, TotpBody,
};
use super::session::operator_of;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{lacks, not_found};
use crate::grants::Grants;
use crate::oidc::identity::IdentityBody;
use crate::state::Inner;

/// How an operator signs in, and when that was last seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    pub(crate) has_passkey: bool,
    pub(crate) has_password: bool,
    /// Whether an account at a provider is linked.
    pub(crate) has_identity: bool,
    pub(crate) sessions: u32,
    pub(crate) last_seen_at: Option<Timestamp>,
    /// When a recovery code was last used.
    pub(crate) recovered_at: Option<Timestamp>,
}

impl Activity {
    fn passkey(&mut self, passkey: &PasskeyBody) {
        self.has_passkey = true;
        self.last_seen_at = self.last_seen_at.max(passkey.last_used_at);
    }

    fn session(&mut self, session: &Stored<SessionBody>, idle_millis: i64, now: Timestamp) {
        let is_idle = now.millis_since(session.body.last_seen_at) >= idle_millis;
        self.sessions += u32::from(!is_idle && session.due_at.is_some_and(|end| end > now));
        self.last_seen_at = self.last_seen_at.max(Some(session.body.last_seen_at));
    }
}

/// What a change does to an operator.
pub(crate) enum Change {
    /// The account is saved.
    Save,
    /// The account is saved, and all sessions end.
    SignOut,
    /// The account stays as it is, and all sessions end.
    EndSessions,
    /// The account stays as it is, and gets a recovery link in place of a former one.
    Recover(Box<Stored<LinkBody>>),
    /// The account goes, with everything that signs in to it.
    Remove,
}

impl Inner {
    /// The operators with their activity, by name.
    pub(crate) async fn members(
        &self,
        idle_millis: i64,
    ) -> Result<Vec<(Stored<OperatorBody>, Activity)>, ApiError> {
        let people = People(self.platform());
        let now = self.platform().now();
        let mut activities: HashMap<PlatformId, Activity> = HashMap::new();
        for passkey in people.all::<PasskeyBody>().await? {
            let Some(operator) = operator_of(&passkey.id) else { continue };
            activities.entry(operator).or_default().passkey(&passkey.body);
        }
        for password in people.all::<PasswordBody>().await? {
            let Some(operator) = operator_of(&password.id) else { continue };
            activities.entry(operator).or_default().has_password = true;
        }
        for identity in people.all::<IdentityBody>().await? {
            let Some(operator) = operator_of(&identity.id) else { continue };
            activities.entry(operator).or_default().has_identity = true;
        }
        for codes in people.all::<RecoveryCodesBody>().await? {
            let Some(operator) = operator_of(&codes.id) else { continue };
            activities.entry(operator).or_default().recovered_at = codes.body.used_at;
        }
        for session in people.all::<SessionBody>().await? {
            let Some(operator) = operator_of(&session.id) else { continue };
            activities.entry(operator).or_default().session(&session, idle_millis, now);
        }
        let mut members = Vec::new();
        for account in people.all::<OperatorBody>().await? {
            let activity = activities.remove(&account.operator_id()?).unwrap_or_default();
            members.push((account, activity));
        }
        members.sort_by_cached_key(|(account, _)| (account.body.name.to_lowercase(), account.id.clone()));
        Ok(members)
    }

    /// What is known of how one operator signs in.
    pub(crate) async fn activity(
        &self,
        operator: PlatformId,
        idle_millis: i64,
    ) -> Result<Activity, ApiError> {
        let people = People(self.platform());
        let now = self.platform().now();
        let mut activity = Activity::default();
        for passkey in people.of_operator::<PasskeyBody>(operator).await? {
            activity.passkey(&passkey.body);
        }
        activity.has_password = people.get::<PasswordBody>(&operator.into()).await?.is_some();
        activity.has_identity = !people.of_operator::<IdentityBody>(operator).await?.is_empty();
        let codes = people.get::<RecoveryCodesBody>(&operator.into()).await?;
        activity.recovered_at = codes.and_then(|codes| codes.body.used_at);
        for session in people.of_operator::<SessionBody>(operator).await? {
            activity.session(&session, idle_millis, now);
        }
        Ok(activity)
    }

    /// Changes an operator for another one, who cannot change whom they could not appoint. The caller's own roles count as
    /// they are when the change is written, and an enabled owner is left although others change operators at this moment.
    pub(crate) async fn change_member(
        &self,
        cx: &Context<'_>,
        id: PlatformId,
        action: AuditAction,
        mut change: impl FnMut(&mut OperatorBody, &mut Object) -> Result<Change, ApiError> + Send,
    ) -> Result<Stored<OperatorBody>, ApiError> {
        let people = People(self.platform());
        for _ in 0..ATTEMPTS {
            let authority = Authority::of(cx).await?;
            let before = people.get::<OperatorBody>(&id.into()).await?;
            let before = before.ok_or_else(|| not_found("operator", &id.to_string()))?;
            authority.may_give(&before.body.grants)?;
            let mut next = before.clone();
            let mut details = Object::new();
            next.body.updated_at = self.platform().now();
            let change = change(&mut next.body, &mut details)?;
            authority.may_give(&next.body.grants)?;
            let mut changes = authority.guard(id)?;
            let stays = !matches!(change, Change::Remove) && is_owner(&next.body);
            if is_owner(&before.body) && !stays {
                self.leave_an_owner(id, &authority, &mut changes).await?;
            }
            match change {
                Change::Save => changes.push(next.save()?),
                Change::SignOut => {
                    changes.push(next.save()?);
                    self.end_all_sessions(id, &mut changes).await?;
                    self.drop_link(&before, &mut changes).await?;
                }
                Change::EndSessions => self.end_all_sessions(id, &mut changes).await?,
                Change::Recover(mut link) => {
                    let former = people.get::<LinkBody>(&link.id).await?;
                    link.version = former.map_or(0, |former| former.version);
                    changes.push(link.save()?);
                }
                Change::Remove => {
                    changes.push(before.remove());
                    self.end_all_sessions(id, &mut changes).await?;
                    self.drop_link(&before, &mut changes).await?;
                    self.drop_methods(&before, &mut changes).await?;
                }
            }
            let audit = people.audit(cx.actor, action, &id.to_string(), &details);
            if people.write(changes, vec![audit]).await? {
                return Ok(next);
            }
        }
        Err(concurrent_update())
    }

    /// Adds what makes sure that an enabled owner besides this one is left: the account of one, which is written as it is.
    async fn leave_an_owner(
        &self,
        id: PlatformId,
        authority: &Authority,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), ApiError> {
        let is_other = |account: &Stored<OperatorBody>| {
            is_owner(&account.body) && operator_of(&account.id).is_some_and(|other| other != id)
        };
        if authority.account.as_ref().is_some_and(is_other) {
            // The caller is an owner, and written as such already.
            return Ok(());
        }
        let owners = People(self.platform()).all::<OperatorBody>().await?;
        let Some(owner) = owners.iter().find(|account| is_other(account)) else {
            let text = "This is the last owner. Make another operator an owner first";
            return Err(ApiError::new(ErrorCode::LastOwner, text));
        };
        changes.push(owner.save()?);
        Ok(())
    }

    /// Adds the end of an operator's sessions.
    async fn end_all_sessions(
        &self,
        id: PlatformId,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), ApiError> {
        let sessions = People(self.platform()).of_operator::<SessionBody>(id).await?;
        changes.extend(sessions.iter().map(Stored::remove));
        Ok(())
    }

    /// Adds the end of an operator's recovery link.
    async fn drop_link(
        &self,
        account: &Stored<OperatorBody>,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), ApiError> {
        let link = People(self.platform()).get::<LinkBody>(&account.id).await?;
        changes.extend(link.iter().map(Stored::remove));
        Ok(())
    }

    /// Adds the end of an operator's ways to sign in.
    async fn drop_methods(
        &self,
        account: &Stored<OperatorBody>,
        changes: &mut Vec<RecordChange>,
    ) -> Result<(), ApiError> {
        let people = People(self.platform());
        let passkeys = people.of_operator::<PasskeyBody>(account.operator_id()?).await?;
        let password = people.get::<PasswordBody>(&account.id).await?;
        let totp = people.get::<TotpBody>(&account.id).await?;
        let codes = people.get::<RecoveryCodesBody>(&account.id).await?;
        let identities = people.of_operator::<IdentityBody>(account.operator_id()?).await?;
        changes.extend(passkeys.iter().map(Stored::remove));
        changes.extend(identities.iter().map(Stored::remove));
        changes.extend(password.iter().map(Stored::remove));
        changes.extend(totp.iter().map(Stored::remove));
        changes.extend(codes.iter().map(Stored::remove));
        Ok(())
    }
}

fn is_owner(body: &OperatorBody) -> bool {
    !body.is_disabled && body.grants.are_of_owner()
}

/// What the caller of a change may do when it is written.
pub(crate) struct Authority {
    /// The caller's account, if it is the console's own.
    account: Option<Stored<OperatorBody>>,
    grants: Grants,
}

impl Authority {
    /// The authority of a caller as it is now.
    pub(crate) async fn of(cx: &Context<'_>) -> Result<Self, ApiError> {
        let Some(own) = own_operator(cx.actor) else {
            return Ok(Authority { account: None, grants: cx.operator.grants.clone() });
        };
        let account = People(cx.platform()).get::<OperatorBody>(&own.into()).await?;
        let account = account.filter(|account| !account.body.is_disabled);
        let account = account.ok_or_else(|| lacks(Capability::MembersManage))?;
        let grants = account.body.grants.clone();
        Ok(Authority { account: Some(account), grants })
    }

    /// Refuses grants that the caller cannot pass on.
    pub(crate) fn may_give(&self, grants: &Grants) -> Result<(), ApiError> {
        if self.grants.installation_reach(Capability::MembersManage).is_none() {
            return Err(lacks(Capability::MembersManage));
        }
        let lacking = grants.as_slice().iter().find_map(|grant| self.grants.lack_to_give(grant));
        lacking.map_or(Ok(()), |capability| Err(lacks(capability)))
    }

    /// What keeps the authority while a change of the operator `id` is written: the caller's account, written as it is.
    pub(crate) fn guard(&self, id: PlatformId) -> Result<Vec<RecordChange>, ApiError> {
        let other = self.account.iter().filter(|account| operator_of(&account.id) != Some(id));
        other.map(Stored::save).collect()
    }
}
