//! Test data for the stores: tenants, contacts and audit entries.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test data: a failure ends the test")]

use openapi_core::access::Actor;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{AuditAction, AuditEntry, ChainBreak, ChainVerifier, SealedEntry};
use openapi_core::contacts::{Contact, ContactKeys, SearchTerm};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::storage::{
    AgentStore, AuditStore, ChainQuery, ContactFilter, ContactQuery, ContactSort, ContactStore, ContactWrite,
    Effects, Order, Window,
};
use openapi_core::values::{
    AgentId, AuditId, ContactId, ContactStatus, Email, PlatformId, TextValue, Timestamp,
};

/// A time, in milliseconds after the first one.
#[must_use]
pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

/// The id of a tenant.
///
/// # Panics
/// When the text is none.
#[must_use]
pub fn agent_id(text: &str) -> AgentId {
    text.parse().expect("a test's value")
}

/// The id of a contact.
#[must_use]
pub fn contact_id(number: u64) -> ContactId {
    ContactId::from(PlatformId::new(at(0), number.to_be_bytes()))
}

/// An entry of the audit log.
///
/// # Panics
/// Never: its details are valid.
#[must_use]
pub fn entry(agent: &AgentId, number: u64, action: AuditAction, resource: &str) -> SealedEntry {
    seal(AuditEntry {
        id: audit_id(agent, number, action, resource),
        agent_id: Some(agent.clone()),
        at: at(number as i64),
        actor: Actor::Operator("tests".to_owned()),
        os_user: None,
        action,
        resource: Some(resource.to_owned()),
        contact_id: None,
        address: Some([192, 0, 2, 1].into()),
        request_id: Some("request".to_owned()),
        details: RawObject::from_text(r#"{"fields":["primaryEmail"]}"#).expect("an object"),
    })
}

/// An id that no entry of another tenant, of another action or about another resource has.
fn audit_id(agent: &AgentId, number: u64, action: AuditAction, resource: &str) -> AuditId {
    let named = agent.as_str().bytes().chain(resource.bytes()).chain(action.as_str().bytes());
    let hash = named.fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    AuditId::from(PlatformId::new(at(0), ((hash << 24) ^ number).to_be_bytes()))
}

/// The server keys under which [`seal`] seals.
#[must_use]
pub fn server_keys() -> ServerKeys {
    ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new())
}

/// Seals an entry of the audit log.
#[must_use]
pub fn seal(entry: AuditEntry) -> SealedEntry {
    SealedEntry::new(entry, &server_keys(), [9; 16])
}

/// An active tenant.
///
/// # Panics
/// Never: its name is valid.
#[must_use]
pub fn agent(id: &AgentId) -> Agent {
    Agent {
        id: id.clone(),
        name: TextValue::parse("An agent").expect("a test's value"),
        status: AgentStatus::Active,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Stores a tenant with the built-in schema, which it returns.
///
/// # Panics
/// When the store fails.
pub async fn insert_agent(store: &(impl AgentStore + ?Sized), id: &AgentId) -> ContactSchema {
    let schema = ContactSchema::builtin(id.clone(), at(0));
    let audit = entry(id, 0, AuditAction::AgentCreate, id.as_str());
    store.insert_agent(&agent(id), &schema, &Effects::audited(audit)).await.expect("a test's value");
    schema
}

/// The entries of the chain that [`insert_chain`] stores.
pub const CHAINED: u64 = 12;

/// Stores a tenant whose chain has [`CHAINED`] entries.
///
/// # Panics
/// When the store fails.
pub async fn insert_chain(store: &(impl AgentStore + AuditStore + ?Sized), id: &AgentId) {
    insert_agent(store, id).await;
    for number in 1..CHAINED {
        let noted = entry(id, number, AuditAction::AuthenticationFailure, "resource");
        store.append_audit(&noted).await.expect("the store works");
    }
}

/// Verifies the chain of a tenant.
///
/// # Errors
/// Its first break.
///
/// # Panics
/// When the store fails.
pub async fn verify_chain(store: &(impl AuditStore + ?Sized), id: &AgentId) -> Result<(), ChainBreak> {
    verify_any_chain(store, Some(id)).await
}

/// The same of the chain of a tenant, or of the entries without one.
///
/// # Errors
/// Its first break.
///
/// # Panics
/// When the store fails.
pub async fn verify_any_chain(
    store: &(impl AuditStore + ?Sized),
    id: Option<&AgentId>,
) -> Result<(), ChainBreak> {
    let keys = server_keys();
    let mut verifier = ChainVerifier::new(&keys, id.cloned(), None, []);
    let query = ChainQuery { chain: id.cloned(), after: None, limit: 10_000 };
    for entry in store.audit_chain(&query).await.expect("the store works") {
        verifier.push(&entry)?;
    }
    verifier.finish(store.audit_head(id).await.expect("the store works")).map(drop)
}

/// Two different entries of the chain, by a generator that returns a number below its argument.
pub fn two_entries(mut below: impl FnMut(u64) -> u64) -> [u64; 2] {
    let one = 1 + below(CHAINED);
    [one, 1 + (one + below(CHAINED - 1)) % CHAINED]
}

/// A contact with an e-mail address and nothing else.
///
/// # Panics
/// Never: its values are valid.
#[must_use]
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
        primary_email: Email::parse(&format!("contact{number}@example.com")).expect("a test's value"),
        primary_phone: None,
        primary_phone_code: None,
        full_address: None,
        tags: Vec::new(),
        status: ContactStatus::Active,
        source: TextValue::parse("api").expect("a test's value"),
        last_contacted_at: None,
        custom_fields: RawObject::default(),
        archived_at: None,
        created_at: at(number as i64),
        updated_at: at(number as i64),
        version: 1,
    }
}

/// The write of a contact. `number` distinguishes its audit entry.
#[must_use]
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

/// Stores a tenant with so many contacts, whose first name and telephone number an older release folded otherwise.
///
/// # Panics
/// When the store fails.
pub async fn insert_folded(store: &(impl AgentStore + ContactStore + ?Sized), id: &AgentId, count: u64) {
    let schema = insert_agent(store, id).await;
    for number in 1..=count {
        let mut contact = contact(id, number);
        contact.first_name = TextValue::parse("Łukasz").ok();
        contact.primary_phone = TextValue::parse("020 7946 0958").ok();
        contact.primary_phone_code = TextValue::parse("+44").ok();
        store.insert_contact(id, &write(&contact, &schema, number)).await.expect("a test's value");
    }
}

/// How many contacts a search finds.
///
/// # Panics
/// When the store fails.
pub async fn found(store: &(impl ContactStore + ?Sized), id: &AgentId, search: &str) -> u64 {
    let filter = ContactFilter { search: SearchTerm::split(search), ..ContactFilter::default() };
    let window = Window::Page { offset: 0, limit: 100 };
    let query = ContactQuery { filter, sort: ContactSort::FirstName, order: Order::Ascending, window };
    store.contacts(id, &query).await.expect("a test's value").total
}
