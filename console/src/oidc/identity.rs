//! Whom operators sign in as at providers.

use openapi_core::access::Actor;
use openapi_core::audit::{AuditAction, SealedEntry};
use openapi_core::json::{Json, Object};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::{RecordChange, RecordId, RecordKind};
use openapi_core::values::{PlatformId, Timestamp};
use serde::{Deserialize, Serialize};

use super::provider::ProviderBody;
use super::token::Person;
use crate::auth::records::{Body, OperatorBody, People, Stored, digest};
use crate::auth::session::operator_of;
use crate::grants::{Grant, Grants};
use crate::state::Inner;

/// The most identities of an operator.
const MOST_IDENTITIES: usize = 10;

/// A person at a provider; the record's id begins with the operator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IdentityBody {
    pub(crate) issuer: String,
    pub(crate) subject: String,
    /// The address at the provider, for the operator to recognise it by.
    pub(crate) email: Option<String>,
    /// The roles that the operator has for the groups of the last sign-in, and from nobody else.
    #[serde(default)]
    pub(crate) granted: Grants,
    pub(crate) linked_at: Timestamp,
    pub(crate) last_used_at: Option<Timestamp>,
}

impl Body for IdentityBody {
    const KIND: RecordKind = RecordKind::OidcIdentity;
}

/// The value that no two identities share.
fn unique(issuer: &str, subject: &str) -> [u8; 32] {
    digest(&[b"console identity", issuer.as_bytes(), subject.as_bytes()])
}

impl Inner {
    /// The identity of a person at a provider; none if no operator signs in as that person.
    pub(super) async fn identity(&self, person: &Person) -> Result<Option<Stored<IdentityBody>>, ApiError> {
        People(self.platform()).by_unique(&unique(&person.issuer, &person.subject)).await
    }

    /// A new identity of an operator, which is not stored yet.
    pub(super) async fn new_identity(
        &self,
        operator: PlatformId,
        person: &Person,
    ) -> Result<Stored<IdentityBody>, ApiError> {
        let known = People(self.platform()).of_operator::<IdentityBody>(operator).await?;
        if known.len() >= MOST_IDENTITIES {
            let text = format!("An operator has at most {MOST_IDENTITIES} accounts at providers");
            return Err(ApiError::new(ErrorCode::NotPossible, text));
        }
        let mut id = operator.as_bytes().to_vec();
        let mut random = [0; 12];
        self.platform().ports().ids.fill(&mut random);
        id.extend_from_slice(&random);
        let body = IdentityBody {
            issuer: person.issuer.clone(),
            subject: person.subject.clone(),
            email: person.email.clone(),
            granted: Grants::default(),
            linked_at: self.platform().now(),
            last_used_at: None,
        };
        let id = RecordId::from_bytes(&id).ok_or_else(ApiError::internal)?;
        let mut identity = Stored::new(id, body);
        identity.unique = Some(unique(&person.issuer, &person.subject));
        Ok(identity)
    }

    /// The identities of an operator whose providers are switched on, each with its provider.
    pub(crate) async fn usable_identities(
        &self,
        operator: PlatformId,
    ) -> Result<Vec<(Stored<IdentityBody>, Stored<ProviderBody>)>, ApiError> {
        let people = People(self.platform());
        let identities = people.of_operator::<IdentityBody>(operator).await?;
        if identities.is_empty() {
            return Ok(Vec::new());
        }
        let mut providers = people.providers().await?;
        providers.retain(|provider| provider.body.is_enabled);
        let with_provider = identities.into_iter().filter_map(|identity| {
            let own = providers.iter().find(|provider| provider.body.issuer == identity.body.issuer)?;
            Some((identity, own.clone()))
        });
        Ok(with_provider.collect())
    }

    /// The changes that take the roles of an issuer's groups from everybody, with their entries in the audit log: no later
    /// sign-in could.
    pub(crate) async fn without_groups(
        &self,
        actor: &Actor,
        (provider, issuer): (&str, &str),
    ) -> Result<(Vec<RecordChange>, Vec<SealedEntry>), ApiError> {
        let people = People(self.platform());
        let (mut changes, mut audit) = (Vec::new(), Vec::new());
        let mut accounts: Vec<(Grants, Stored<OperatorBody>)> = Vec::new();
        // The identities of an operator follow each other.
        for mut identity in people.all::<IdentityBody>().await? {
            if identity.body.issuer != issuer || identity.body.granted.as_slice().is_empty() {
                continue;
            }
            let operator = operator_of(&identity.id).ok_or_else(ApiError::internal)?;
            let id = RecordId::from(operator);
            if accounts.last().is_none_or(|(_, account)| account.id != id) {
                let Some(account) = people.get::<OperatorBody>(&id).await? else { continue };
                accounts.push((account.body.grants.clone(), account));
            }
            if let Some((_, account)) = accounts.last_mut() {
                take_groups(&mut account.body, &mut identity.body);
            }
            changes.push(identity.save()?);
        }
        for (before, mut account) in accounts {
            account.body.updated_at = self.platform().now();
            changes.push(account.save()?);
            let details = grant_details(provider, &before, &account.body.grants);
            let id = account.operator_id()?.to_string();
            audit.push(people.audit(actor, AuditAction::OperatorGrant, &id, &details));
        }
        Ok((changes, audit))
    }
}

/// What the audit log notes of roles that groups gave or took.
pub(crate) fn grant_details(provider: &str, before: &Grants, after: &Grants) -> Object {
    let mut details = of_provider(provider);
    details.insert("before", before.to_json());
    details.insert("after", after.to_json());
    details
}

/// What the audit log notes of what was done at a provider.
pub(crate) fn of_provider(provider: &str) -> Object {
    let mut details = Object::new();
    details.insert("provider", Json::from(provider));
    details
}

/// Takes the roles of an identity's groups away. Roles that a person granted stay.
pub(crate) fn take_groups(account: &mut OperatorBody, identity: &mut IdentityBody) {
    let by_groups = std::mem::take(&mut identity.granted);
    let is_by_person = |grant: &&Grant| !by_groups.as_slice().contains(grant);
    account.grants = Grants::new(account.grants.as_slice().iter().filter(is_by_person).cloned().collect());
}

/// Gives an operator the roles of their groups, and takes those of former groups away. Roles that a person granted stay.
/// Returns whether the account has changed.
pub(super) fn apply_groups(
    provider: &ProviderBody,
    person: &Person,
    account: &mut OperatorBody,
    identity: &mut IdentityBody,
) -> bool {
    let before = account.grants.clone();
    let by_groups = identity.granted.as_slice();
    let is_by_person = |grant: &&Grant| !by_groups.contains(grant);
    let mut grants: Vec<Grant> = before.as_slice().iter().filter(is_by_person).cloned().collect();
    let given = provider.groups.grants(&person.groups);
    let given: Vec<Grant> = given.into_iter().filter(|grant| !grants.contains(grant)).collect();
    grants.extend(given.iter().cloned());
    identity.granted = Grants::new(given);
    account.grants = Grants::new(grants);
    let sorted = |grants: &Grants| {
        let mut words = grants.words();
        words.sort();
        words
    };
    let has_changed = sorted(&before) != sorted(&account.grants);
    if !has_changed {
        account.grants = before;
    }
    has_changed
}
