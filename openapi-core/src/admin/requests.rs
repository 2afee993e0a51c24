//! The inputs and results of the operator's actions.

use serde::Serialize;

use crate::access::{AllowedAddress, ApiSecret, Key, Permissions, RateLimits};
use crate::contacts::Contact;
use crate::credits::CreditPool;
use crate::values::{AgentId, Block, Line, Timestamp};

/// An agent to be created.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The id; generated when unset.
    pub id: Option<AgentId>,
    /// The name.
    pub name: Line<100>,
}

impl NewAgent {
    /// An agent with a generated id.
    #[must_use]
    pub fn new(name: Line<100>) -> Self {
        NewAgent { id: None, name }
    }
}

/// A key to be created.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// The agent it is scoped to.
    pub agent_id: AgentId,
    /// The name.
    pub name: Line<100>,
    /// The description.
    pub description: Option<Block<500>>,
    /// What it may do; at least one permission.
    pub permissions: Permissions,
    /// Its rate limits.
    pub limits: RateLimits,
    /// The addresses it may be used from; none means any.
    pub allowed_addresses: Vec<AllowedAddress>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

impl NewKey {
    /// A key with default limits, for any address, without an end.
    #[must_use]
    pub fn new(agent_id: AgentId, name: Line<100>, permissions: Permissions) -> Self {
        NewKey {
            agent_id,
            name,
            description: None,
            permissions,
            limits: RateLimits::default(),
            allowed_addresses: Vec::new(),
            expires_at: None,
        }
    }
}

/// A key with its secret, at the only moment at which the secret is known.
#[derive(Clone, Debug)]
pub struct IssuedKey {
    /// The key.
    pub key: Key,
    /// The new secret.
    pub secret: ApiSecret,
}

/// Changes to a key; what is unset stays.
#[derive(Clone, Debug, Default)]
pub struct KeyEdit {
    /// A new name.
    pub name: Option<Line<100>>,
    /// A new description, or none.
    pub description: Option<Option<Block<500>>>,
    /// New permissions, as a whole.
    pub permissions: Option<Permissions>,
    /// A new limit a minute.
    pub per_minute: Option<u32>,
    /// A new limit an hour.
    pub per_hour: Option<u32>,
    /// New allowed addresses, as a whole.
    pub allowed_addresses: Option<Vec<AllowedAddress>>,
    /// A new expiry, or none.
    pub expires_at: Option<Option<Timestamp>>,
}

/// What an import did with a contact.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Imported {
    /// It is new.
    Created(Contact),
    /// It was there and has changed.
    Updated(Contact),
    /// It was there and is as before.
    Unchanged(Contact),
}

/// A change of an agent's credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreditChange {
    /// Sets the balance of a pool; the agent is charged from then on.
    Set {
        /// Which pool.
        pool: CreditPool,
        /// Its new balance, at most [`MAX_CREDITS`](crate::credits::MAX_CREDITS).
        credits: u64,
        /// What the ledger is to say, at most 500 characters.
        note: Option<String>,
    },
    /// Adds credits beyond the plan; the agent is charged from then on.
    TopUp {
        /// How many, at least 1.
        credits: u64,
        /// What the ledger is to say, at most 500 characters.
        note: Option<String>,
    },
    /// Sets what an extraction costs; what is not given stays.
    Rates {
        /// Credits for each page, at most 1,000,000.
        per_page: Option<u32>,
        /// How many characters of a document without pages are charged as one, at least 1.
        characters_per_page: Option<u32>,
    },
    /// Sets the number of credits below which the event `credits.low` comes; 0 is none.
    LowAt(u64),
    /// Whether nothing is charged; the balances stay.
    Unlimited(bool),
}
