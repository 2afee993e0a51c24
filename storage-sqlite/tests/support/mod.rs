//! Shared by the tests: a folder that is removed, an executor, contacts.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

pub mod backend;
pub mod chat;
pub mod extraction;
pub mod forms;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use openapi_core::access::Actor;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, ContactStore, ContactWrite, Effects};
use openapi_core::values::{
    AgentId, AuditId, ContactId, ContactStatus, Email, PlatformId, TextValue, Timestamp,
};
use storage_sqlite::{SqliteConfig, SqliteStorage};

/// Runs a future on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

/// A folder of one test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("storage-sqlite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("test support");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("openapi.db")
    }

    pub fn open(&self) -> SqliteStorage {
        SqliteStorage::open(SqliteConfig::new(self.database())).expect("test support")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

pub fn agent_id(text: &str) -> AgentId {
    text.parse().expect("test support")
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
        details: RawObject::from_text(r#"{"fields":["primaryEmail"]}"#).expect("an object"),
    }
}

pub fn agent(id: &AgentId) -> Agent {
    Agent {
        id: id.clone(),
        name: TextValue::parse("An agent").expect("test support"),
        status: AgentStatus::Active,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Stores an agent with the built-in schema.
pub fn insert_agent(store: &(impl AgentStore + ?Sized), id: &AgentId) -> ContactSchema {
    let schema = ContactSchema::builtin(id.clone(), at(0));
    let audit = entry(id, 0, AuditAction::AgentCreate, id.as_str());
    wait(store.insert_agent(&agent(id), &schema, &Effects::audited(audit))).expect("test support");
    schema
}

/// A contact with an e-mail address and nothing else.
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
        primary_email: Email::parse(&format!("contact{number}@example.com")).expect("test support"),
        primary_phone: None,
        primary_phone_code: None,
        full_address: None,
        tags: Vec::new(),
        status: ContactStatus::Active,
        source: TextValue::parse("api").expect("test support"),
        last_contacted_at: None,
        custom_fields: RawObject::default(),
        archived_at: None,
        created_at: at(number as i64),
        updated_at: at(number as i64),
        version: 1,
    }
}

pub fn write(contact: &Contact, schema: &ContactSchema, number: u64) -> ContactWrite {
    let action = if contact.version == 1 { AuditAction::ContactCreate } else { AuditAction::ContactUpdate };
    ContactWrite {
        contact: contact.clone(),
        keys: ContactKeys::of(contact, schema),
        schema_version: schema.version,
        at: at(number as i64),
        effects: Effects::audited(entry(&contact.agent_id, number, action, &contact.id.to_string())),
    }
}

pub fn insert(store: &(impl ContactStore + ?Sized), contact: &Contact, schema: &ContactSchema) {
    let number = u64::from_be_bytes(contact.id.as_bytes()[4..].try_into().expect("test support"));
    wait(store.insert_contact(&contact.agent_id, &write(contact, schema, number + 1))).expect("test support");
}
