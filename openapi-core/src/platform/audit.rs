//! Entries of the audit log.

use super::Platform;
use crate::access::{Actor, Caller};
use crate::audit::{AuditAction, AuditEntry, Origin, SealedEntry, salt};
use crate::contacts::Contact;
use crate::json::{Json, Object, RawObject};
use crate::values::{AgentId, ContactId, Timestamp};

impl Platform {
    /// An entry about what a caller did to a contact, or to something of a contact's, which `contact` then names.
    #[must_use]
    pub fn caller_audit(
        &self,
        caller: &Caller,
        action: AuditAction,
        resource: String,
        contact: Option<ContactId>,
        details: &Object,
        now: Timestamp,
    ) -> SealedEntry {
        let agent = Some(caller.agent_id.clone());
        self.seal_audit(AuditEntry {
            contact_id: contact,
            address: caller.address,
            request_id: Some(caller.request_id.clone()).filter(|id| !id.is_empty()),
            ..self.audit_entry(&caller.actor, action, agent, Some(resource), details, now)
        })
    }

    /// An entry without a contact, of the request that runs ([`Origin`]).
    #[must_use]
    pub fn audit_entry(
        &self,
        by: &Actor,
        action: AuditAction,
        agent: Option<AgentId>,
        resource: Option<String>,
        details: &Object,
        now: Timestamp,
    ) -> AuditEntry {
        let origin = Origin::current();
        AuditEntry {
            id: self.ports.ids.platform_id(now).into(),
            agent_id: agent,
            at: now,
            actor: by.clone(),
            os_user: self.audit.os_user.clone().filter(|_| matches!(by, Actor::Operator(_))),
            action,
            resource,
            contact_id: None,
            address: origin.address,
            request_id: Some(origin.request_id).filter(|id| !id.is_empty()),
            details: RawObject::new(details),
        }
    }

    /// Seals an entry, so that a store can append it to the chain of its agent.
    #[must_use]
    pub fn seal_audit(&self, entry: AuditEntry) -> SealedEntry {
        SealedEntry::new(entry, &self.ports.server_keys, salt(&*self.ports.ids))
    }

    /// An entry about what an operator did.
    #[must_use]
    pub fn operator_audit(
        &self,
        by: &Actor,
        action: AuditAction,
        agent: &AgentId,
        resource: &str,
        details: &Object,
        now: Timestamp,
    ) -> SealedEntry {
        self.caller_audit(&self.operator(by, agent), action, resource.to_owned(), None, details, now)
    }
}

/// The names of the fields in which two records differ.
pub(super) fn changed_fields(before: &Contact, after: &Contact) -> Object {
    let members = |contact: &Contact| serde_json::to_value(contact).map(|value| Json::from(&value));
    let mut details = Object::new();
    if let (Ok(Json::Object(before)), Ok(Json::Object(after))) = (members(before), members(after)) {
        let changed =
            after.iter().filter(|(name, value)| *name != "updatedAt" && before.get(name) != Some(value));
        details.insert("changed", Json::Array(changed.map(|(name, _)| name.into()).collect()));
    }
    details
}
