//! What an operator was granted: roles, each on one agent or on all.

use std::fmt;
use std::str::FromStr;

use openapi_core::json::Json;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{AgentId, Invalid};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::capability::{Capability, Reach, Role};

/// A role on one agent or on all, written `inbox@acme` or `inbox`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Grant {
    /// The role.
    pub role: Role,
    /// The agent; none for all agents, which an owner always has.
    pub agent: Option<AgentId>,
}

impl Grant {
    /// Whether the grant covers an agent.
    #[must_use]
    pub fn covers(&self, agent: &AgentId) -> bool {
        self.agent.as_ref().is_none_or(|own| own == agent)
    }
}

impl FromStr for Grant {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (word, agent) = match text.split_once('@') {
            Some((word, agent)) if agent != "*" => (word, Some(agent.parse::<AgentId>()?)),
            Some((word, _)) => (word, None),
            None => (text, None),
        };
        let role = Role::ALL.into_iter().find(|role| role.as_str() == word).ok_or_else(|| {
            let known = Role::ALL.map(Role::as_str).join(", ");
            invalid(format!("'{word}' is not a role; the roles are {known}"))
        })?;
        if role == Role::Owner && agent.is_some() {
            return Err(invalid("an owner has all agents: write owner".to_owned()));
        }
        Ok(Grant { role, agent })
    }
}

fn invalid(text: String) -> Invalid {
    Invalid(ValidationIssue::new(ValidationCode::Enum, text))
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.role.as_str())?;
        self.agent.as_ref().map_or(Ok(()), |agent| write!(f, "@{agent}"))
    }
}

/// The grants of an operator. They add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants(Vec<Grant>);

impl Grants {
    /// These grants.
    #[must_use]
    pub const fn new(grants: Vec<Grant>) -> Self {
        Grants(grants)
    }

    /// The grants.
    #[must_use]
    pub fn as_slice(&self) -> &[Grant] {
        &self.0
    }

    /// The grants as words, each as `inbox@acme`, or `owner` on all agents.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// The words, for details of the audit log.
    pub(crate) fn to_json(&self) -> Json {
        Json::Array(self.words().iter().map(|grant| Json::from(grant.as_str())).collect())
    }

    /// How far the operator has a capability on an agent.
    #[must_use]
    pub fn reach(&self, capability: Capability, agent: &AgentId) -> Option<Reach> {
        let covering = self.0.iter().filter(|grant| grant.covers(agent));
        covering.filter_map(|grant| grant.role.reach(capability, grant.agent.is_none())).max()
    }

    /// How far the operator has a capability on the installation: by a grant on all agents.
    #[must_use]
    pub fn installation_reach(&self, capability: Capability) -> Option<Reach> {
        let on_all = self.0.iter().filter(|grant| grant.agent.is_none());
        on_all.filter_map(|grant| grant.role.reach(capability, true)).max()
    }

    /// Whether the grants are those of an owner.
    #[must_use]
    pub fn are_of_owner(&self) -> bool {
        self.0.iter().any(|grant| grant.role == Role::Owner)
    }

    /// What their holder lacks to give a grant to somebody, or to take it away: nobody passes on more than they have, nor
    /// where they do not manage members.
    #[must_use]
    pub fn lack_to_give(&self, grant: &Grant) -> Option<Capability> {
        let own = |capability| match &grant.agent {
            Some(agent) => self.reach(capability, agent),
            None => self.installation_reach(capability),
        };
        let given = |capability| grant.role.reach(capability, grant.agent.is_none());
        let manages = own(Capability::MembersManage).is_some();
        if !manages {
            return Some(Capability::MembersManage);
        }
        Capability::ALL.iter().copied().find(|capability| given(*capability) > own(*capability))
    }

    /// Whether the operator knows of an agent: has any grant on it.
    #[must_use]
    pub fn knows(&self, agent: &AgentId) -> bool {
        self.0.iter().any(|grant| grant.covers(agent))
    }
}

impl FromStr for Grants {
    type Err = Invalid;

    /// Reads grants separated by commas.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.split(',').map(str::trim).map(Grant::from_str).collect::<Result<_, _>>().map(Grants)
    }
}

impl Serialize for Grant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Grant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Grants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Grants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Grants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str) -> AgentId {
        id.parse().unwrap()
    }

    #[test]
    fn grants_read_and_write() {
        for text in ["owner", "admin", "inbox@acme", "agent-editor@acme"] {
            assert_eq!(text.parse::<Grant>().unwrap().to_string(), text);
        }
        assert_eq!("viewer@*".parse::<Grant>().unwrap().to_string(), "viewer");
        for text in ["", "root", "owner@acme", "inbox@", "inbox@a b"] {
            assert!(text.parse::<Grant>().is_err(), "{text}");
        }
    }

    #[test]
    fn nobody_gives_more_than_they_have() {
        let lack = |own: &str, grant: &str| {
            own.parse::<Grants>().unwrap().lack_to_give(&grant.parse().unwrap()).map(Capability::as_str)
        };
        assert_eq!(lack("owner", "owner"), None);
        assert_eq!(lack("admin", "owner"), Some("signIn.manage"));
        assert_eq!(lack("admin", "admin"), None);
        assert_eq!(lack("admin@acme", "admin@acme"), None);
        assert_eq!(lack("admin@acme", "viewer@beta"), Some("members.manage"));
        assert_eq!(lack("admin@acme", "viewer"), Some("members.manage"));
        assert_eq!(lack("developer", "viewer"), Some("members.manage"));
        assert_eq!(lack("inbox,admin@acme", "inbox@beta"), Some("members.manage"));
    }

    #[test]
    fn grants_add_up_on_their_agents_alone() {
        let grants: Grants = "viewer, inbox@acme, admin@beta".parse().unwrap();
        assert_eq!(grants.reach(Capability::ContactsRead, &agent("acme")), Some(Reach::Full));
        assert_eq!(grants.reach(Capability::ContactsRead, &agent("other")), Some(Reach::Masked));
        assert_eq!(grants.reach(Capability::ContactsWrite, &agent("other")), None);
        // An admin of one agent creates none.
        assert_eq!(grants.reach(Capability::AgentsManage, &agent("beta")), None);
        assert_eq!(grants.installation_reach(Capability::AuditRead), None);
        let all: Grants = "admin".parse().unwrap();
        assert_eq!(all.installation_reach(Capability::AgentsManage), Some(Reach::Full));
        assert_eq!(all.installation_reach(Capability::ServerManage), None);
    }
}
