//! Who calls the console.

use std::net::IpAddr;

use openapi_core::access::Actor;
use openapi_core::values::Timestamp;

use crate::grants::Grants;

/// A person whom the host application has signed in, in the extensions of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The host's id of the person. The audit log notes `host:` and the id.
    pub id: String,
    /// The person's name.
    pub name: String,
    /// What the person may do.
    pub grants: Grants,
    /// When the person last proved who they are. Operations that can do great harm ask for a proof that is at most
    /// 10 minutes old; without a time they are refused.
    pub authenticated_at: Option<Timestamp>,
    /// The address that the person calls from.
    pub address: Option<IpAddr>,
    /// Whether the account is the console's own.
    pub(crate) is_own: bool,
    /// Who is noted instead: a person who can run commands on the server.
    pub(crate) actor: Option<Actor>,
}

impl Operator {
    /// An operator of a host application.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, grants: Grants) -> Self {
        let (id, name) = (id.into(), name.into());
        Operator { id, name, grants, authenticated_at: None, address: None, is_own: false, actor: None }
    }

    /// Nobody: who may do nothing.
    pub(crate) fn nobody() -> Self {
        Operator::new("", "", Grants::default())
    }

    /// The operator in the audit log and in records.
    #[must_use]
    pub fn actor(&self) -> Actor {
        if let Some(actor) = &self.actor {
            return actor.clone();
        }
        if self.id.is_empty() {
            return Actor::Anonymous("console".to_owned());
        }
        Actor::Operator(format!("{}:{}", if self.is_own { "op" } else { "host" }, self.id))
    }
}
