//! A tenant, and what its clients know of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use openapi_core::access::{Actor, Permissions, RateLimits};
use openapi_core::admin::{Admin, CreditChange, NewAgent, NewKey};
use openapi_core::audit::AuditAction;
use openapi_core::credits::CreditPool;
use openapi_core::json::{Json, Object};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::service::Server;

/// The external id of the contact whose last name is a number that all clients of the tenant increment.
pub const COUNTER: &str = "counter";

/// The credits that a tenant begins with.
pub const CREDITS: u64 = 60;

/// The credits that the operator adds at a time.
pub const TOP_UP: u64 = 5;

/// The requests that the key of a client may make in a minute.
pub const PER_MINUTE: u32 = 25;

/// Whether a contact was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    No,
    /// The operator has begun, and may have succeeded.
    Perhaps,
    Yes,
}

/// What is known of a contact.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its id, once a creation was acknowledged.
    pub id: Option<String>,
    /// The first names that it may have.
    pub first_names: Vec<String>,
    pub erased: Erased,
    /// Whether the operator must not erase it now.
    pub is_busy: bool,
    /// Whether an update was acknowledged.
    pub was_updated: bool,
    /// Whether it is archived; `None` while that changes, or if nobody knows.
    pub archived: Option<bool>,
    pub files: Vec<KnownFile>,
}

impl Default for Known {
    fn default() -> Self {
        Known {
            id: None,
            first_names: Vec::new(),
            erased: Erased::No,
            is_busy: false,
            was_updated: false,
            archived: Some(false),
            files: Vec::new(),
        }
    }
}

/// A file whose upload was acknowledged.
#[derive(Clone, Debug)]
pub struct KnownFile {
    pub id: String,
    pub name: String,
    pub content: String,
    pub deleted: Erased,
}

/// A request that a server has admitted: when the client sent it and when it had the response.
pub type Admitted = (i64, i64);

pub struct Tenant {
    pub agent: AgentId,
    /// A text that occurs in everything of this tenant and in nothing of others.
    pub mark: String,
    /// Key and secret of each client, and at last those of nobody: the operator changes that key.
    pub keys: Mutex<Vec<(String, String)>>,
    /// By external id.
    pub contacts: Mutex<BTreeMap<String, Known>>,
    /// The increments of the shared number that were acknowledged, and those of which nobody knows.
    pub counted: Mutex<(u64, u64)>,
    /// By client.
    pub admitted: Mutex<BTreeMap<usize, Vec<Admitted>>>,
    /// Whether the key of nobody may create contacts.
    pub may_create: Mutex<bool>,
    /// The operator's actions that leave an entry in the audit log: how many were acknowledged, and how many nobody knows of.
    pub noted: Mutex<BTreeMap<&'static str, (usize, usize)>>,
}

pub fn operator() -> Actor {
    Actor::Operator("simulation".to_owned())
}

fn object(value: &Value) -> Object {
    match Json::from(value) {
        Json::Object(object) => object,
        other => panic!("{other:?} is no object"),
    }
}

impl Tenant {
    /// Creates the tenant with a key for each client, before faults begin.
    pub async fn create(server: Arc<Server>, number: usize, clients: usize) -> Arc<Tenant> {
        let platform = &server.platform;
        let agent: AgentId = format!("tenant-{number}").parse().expect("an id");
        let new = NewAgent { id: Some(agent.clone()), ..NewAgent::new("Tenant".parse().expect("a name")) };
        platform.create_agent(&operator(), new).await.expect("an agent");
        let settings = json!({ "chat": {
            "responder": "script", "llm": { "tokensPerDay": 100_000, "costPerDay": 10.0 }
        } });
        server.chat.configure_agent(&operator(), &agent, &object(&settings)).await.expect("settings");
        let credits = CreditChange::Set { pool: CreditPool::Plan, credits: CREDITS, note: None };
        platform.change_credits(&operator(), &agent, &credits).await.expect("credits");
        let mut keys = Vec::new();
        for client in 0..=clients {
            let new = NewKey {
                agent_id: agent.clone(),
                name: format!("Client {client}").parse().expect("a name"),
                description: None,
                permissions: Permissions::all(),
                limits: RateLimits { per_minute: PER_MINUTE, per_hour: 1_000 },
                allowed_addresses: Vec::new(),
                expires_at: None,
            };
            let issued = platform.create_key(&operator(), new).await.expect("a key");
            keys.push((issued.key.api_key.to_string(), issued.secret.expose().to_owned()));
        }
        let counter = json!({
            "externalReferenceId": COUNTER, "firstName": format!("mark{number}x"), "lastName": "0",
            "primaryEmail": "counter@example.com"
        });
        platform.import_contact(&operator(), &agent, &object(&counter)).await.expect("a contact");
        Arc::new(Tenant {
            agent,
            mark: format!("mark{number}x"),
            keys: Mutex::new(keys),
            contacts: Mutex::default(),
            counted: Mutex::default(),
            admitted: Mutex::default(),
            may_create: Mutex::new(true),
            noted: Mutex::default(),
        })
    }

    /// Remembers an action of the operator: acknowledged or not.
    pub fn note(&self, action: AuditAction, is_acknowledged: bool) {
        let mut noted = self.noted.lock();
        let counts = noted.entry(action.as_str()).or_default();
        match is_acknowledged {
            true => counts.0 += 1,
            false => counts.1 += 1,
        }
    }
}
