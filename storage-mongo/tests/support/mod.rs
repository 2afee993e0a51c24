//! What the tests share: a database of one's own on the tests' server.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use conversations::storage::ConversationStorage;
use mongodb::Client;
use openapi_core::access::Actor;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, ContactWrite, Effects};
use openapi_core::values::{
    AgentId, AuditId, ContactId, ContactStatus, Email, PlatformId, TextValue, Timestamp,
};
use storage_mongo::{MongoConfig, MongoStorage};
use testkit::conformance::Backend;
use tokio::runtime::Runtime;

/// The runtime of all tests of a process.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime can be made")
    })
}

/// Runs a future to its end.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// The URL of a database on a server.
pub fn url_of(server: &str, database: &str) -> String {
    match server.split_once("/?") {
        Some((hosts, options)) => format!("{hosts}/{database}?{options}"),
        None => format!("{}/{database}", server.trim_end_matches('/')),
    }
}

/// A database of one's own, which is dropped with the value.
pub struct Database {
    pub config: MongoConfig,
    name: String,
}

impl Database {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("openapi_test_{}_{count}", std::process::id());
        let config = MongoConfig::from_url(&url_of(&database_servers::mongo::url(), &name));
        Database { config: config.expect("a URL of a database"), name }
    }

    pub async fn open(&self) -> MongoStorage {
        MongoStorage::open(self.config.clone()).await.expect("the store opens")
    }

    /// The database as the driver sees it.
    pub async fn client(&self) -> (Client, mongodb::Database) {
        let client = Client::with_uri_str(&self.config.url).await.expect("a client");
        let database = client.database(&self.name);
        (client, database)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let url = self.config.url.clone();
        let name = self.name.clone();
        // The caller may be within a runtime, where nothing may block.
        let dropped = std::thread::spawn(move || {
            wait(async move {
                let client = Client::with_uri_str(&url).await?;
                let dropped = client.database(&name).drop().await;
                client.shutdown().await;
                dropped
            })
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("cannot drop the test's database: {error}");
        }
    }
}

/// A store on a database of one's own, for the conformance suite.
pub struct Server {
    store: Arc<MongoStorage>,
    database: Database,
}

impl Server {
    pub fn new() -> Self {
        let database = Database::new();
        Server { store: Arc::new(wait(database.open())), database }
    }
}

impl Backend for Server {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.store) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        wait(self.store.close());
        self.store = Arc::new(wait(self.database.open()));
        true
    }

    fn histories(&self) -> u32 {
        20
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        wait(future);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        wait(self.store.close());
    }
}

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

pub fn agent_id(text: &str) -> AgentId {
    text.parse().unwrap()
}

pub fn contact_id(number: u64) -> ContactId {
    ContactId::from(PlatformId::new(at(0), number.to_be_bytes()))
}

pub fn entry(agent: &AgentId, number: u64, action: AuditAction, resource: &str) -> AuditEntry {
    AuditEntry {
        id: AuditId::from(PlatformId::new(at(0), number.to_be_bytes())),
        agent_id: Some(agent.clone()),
        at: at(number as i64),
        actor: Actor::Operator("tests".to_owned()),
        action,
        resource: Some(resource.to_owned()),
        contact_id: None,
        address: Some([192, 0, 2, 1].into()),
        request_id: Some("request".to_owned()),
        details: RawObject::from_text(r#"{"fields":["primaryEmail"]}"#).unwrap(),
    }
}

/// Stores an agent with the built-in schema.
pub async fn insert_agent(store: &MongoStorage, id: &AgentId) -> ContactSchema {
    insert_agent_into(store, id).await
}

/// The same in any store.
pub async fn insert_agent_into(store: &impl AgentStore, id: &AgentId) -> ContactSchema {
    let agent = Agent {
        id: id.clone(),
        name: TextValue::parse("An agent").unwrap(),
        status: AgentStatus::Active,
        created_at: at(0),
        updated_at: at(0),
    };
    let schema = ContactSchema::builtin(id.clone(), at(0));
    let audit = entry(id, 0, AuditAction::AgentCreate, id.as_str());
    store.insert_agent(&agent, &schema, &audit).await.unwrap();
    schema
}

/// A contact with an address and nothing else.
pub fn contact(agent: &AgentId, number: u64) -> Contact {
    Contact {
        id: contact_id(number),
        agent_id: agent.clone(),
        external_reference_id: None,
        salutation: None,
        first_name: None,
        middle_name: None,
        last_name: None,
        dob: None,
        gender: None,
        primary_email: Email::parse(&format!("contact{number}@example.com")).unwrap(),
        primary_phone: None,
        primary_phone_code: None,
        full_address: None,
        tags: Vec::new(),
        status: ContactStatus::Active,
        source: TextValue::parse("api").unwrap(),
        last_contacted_at: None,
        custom_fields: RawObject::default(),
        archived_at: None,
        created_at: at(number as i64),
        updated_at: at(number as i64),
        version: 1,
    }
}

/// A write of a contact, whose audit entry has a number of its own.
pub fn write(contact: &Contact, schema: &ContactSchema, number: u64) -> ContactWrite {
    let action = if contact.version == 1 { AuditAction::ContactCreate } else { AuditAction::ContactUpdate };
    ContactWrite {
        contact: contact.clone(),
        keys: ContactKeys::of(contact, schema),
        schema_version: schema.version,
        effects: Effects {
            audit: entry(&contact.agent_id, number, action, &contact.id.to_string()),
            replay: None,
        },
    }
}
