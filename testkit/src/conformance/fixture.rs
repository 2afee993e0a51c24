//! Fixtures of the cases: agents, contacts, writes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use openapi_core::access::{
    Actor, ApiKey, ApiKeyPrefix, Key, KeyStatus, Permissions, RateLimits, SecretHash, StoredKey,
};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{AuditAction, AuditEntry, OsUser, SealedEntry};
use openapi_core::contacts::{Contact, ContactFields, ContactKeys, ContactRef, SearchTerm, SharedContact};
use openapi_core::json::{Object, RawObject, parse};
use openapi_core::ports::{IdGenerator, SequentialIds};
use openapi_core::schema::{CompiledSchema, ContactSchema, Identity};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::storage::{
    AuditQuery, ContactFilter, ContactQuery, ContactSort, ContactWrite, Effects, IdempotencyKey,
    IdempotencyRecord, Order, Result, StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, AuditId, ContactId, Timestamp};

/// The first instant of every case.
pub(super) const START: i64 = 1_769_850_902_123;

/// The instant `millis` milliseconds after the start.
pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}

/// The server keys under which the entries of the audit log are sealed.
pub(super) fn server_keys() -> ServerKeys {
    ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new())
}

/// Seals an entry of the audit log.
pub(super) fn seal(entry: AuditEntry) -> SealedEntry {
    SealedEntry::new(entry, &server_keys(), [9; 16])
}

/// The entries as they are read.
pub(super) fn unsealed(entries: &[SealedEntry]) -> Vec<AuditEntry> {
    entries.iter().map(|sealed| AuditEntry::clone(sealed)).collect()
}

/// A test world on a store, with unique ids.
pub(super) struct World {
    pub(super) storage: Arc<dyn ConversationStorage>,
    pub(super) ids: SequentialIds,
}

pub(super) fn agent_id(name: &str) -> AgentId {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl World {
    pub(super) fn new(storage: Arc<dyn ConversationStorage>) -> Self {
        World { storage, ids: SequentialIds::default() }
    }

    /// A world with two agents.
    pub(super) async fn with_agents(storage: Arc<dyn ConversationStorage>) -> (Self, AgentId, AgentId) {
        let world = World::new(storage);
        let (a, b) = (world.agent("agent-a", 0).await, world.agent("agent-b", 1).await);
        (world, a, b)
    }

    pub(super) async fn agent(&self, id: &str, millis: i64) -> AgentId {
        let id = agent_id(id);
        self.insert_agent(&id, millis).await.unwrap_or_else(|error| panic!("insert agent {id}: {error}"));
        id
    }

    pub(super) async fn insert_agent(&self, id: &AgentId, millis: i64) -> Result<()> {
        let agent = agent(id, millis);
        let schema = ContactSchema::builtin(id.clone(), at(millis));
        let effects = self.effects(Some(id), AuditAction::AgentCreate, id.as_str(), millis);
        self.storage.insert_agent(&agent, &schema, &effects).await
    }

    pub(super) async fn set_status(&self, id: &AgentId, status: AgentStatus, millis: i64) -> Result<()> {
        let changed = Agent { status, updated_at: at(millis), ..agent(id, 0) };
        let effects = self.effects(Some(id), AuditAction::AgentDisable, id.as_str(), millis);
        self.storage.update_agent(&changed, &effects).await
    }

    /// The effects of a write that leaves one audit entry.
    pub(super) fn effects(
        &self,
        agent: Option<&AgentId>,
        action: AuditAction,
        resource: &str,
        millis: i64,
    ) -> Effects {
        Effects::audited(seal(self.audit(agent, action, resource, millis)))
    }

    /// The id of an entry. Worlds may have the same ids; what the entry is about makes its id another one.
    fn audit_id(&self, agent: Option<&AgentId>, resource: &str, millis: i64) -> AuditId {
        let mut about = DefaultHasher::new();
        (agent.map(AgentId::as_str), resource, millis).hash(&mut about);
        let mut id = *self.ids.platform_id(at(millis)).as_bytes();
        id[4..].iter_mut().zip(about.finish().to_be_bytes()).for_each(|(byte, other)| *byte ^= other);
        AuditId::from_bytes(id)
    }

    pub(super) fn audit(
        &self,
        agent: Option<&AgentId>,
        action: AuditAction,
        resource: &str,
        millis: i64,
    ) -> AuditEntry {
        let mut details = Object::new();
        details.insert("reason", "because".into());
        AuditEntry {
            id: self.audit_id(agent, resource, millis),
            agent_id: agent.cloned(),
            at: at(millis),
            actor: Actor::Operator("suite".to_owned()),
            os_user: Some(OsUser { uid: 1000, name: Some("häns".to_owned()) }),
            action,
            resource: Some(resource.to_owned()),
            contact_id: None,
            address: "192.0.2.7".parse().ok(),
            request_id: Some("request-1".to_owned()),
            details: RawObject::new(&details),
        }
    }

    pub(super) fn key(&self, agent: &AgentId, millis: i64) -> StoredKey {
        let key = Key {
            id: self.ids.platform_id(at(millis)).into(),
            agent_id: agent.clone(),
            api_key: ApiKey::generate(&ApiKeyPrefix::default(), &self.ids),
            name: parsed("Suite"),
            description: Some(parsed("two\nlines")),
            permissions: Permissions::all(),
            limits: RateLimits::default(),
            allowed_addresses: vec![parsed("192.0.2.0/24"), parsed("2001:db8::1")],
            expires_at: Some(at(1_000_000)),
            status: KeyStatus::Active,
            created_by: Actor::Operator("suite".to_owned()),
            created_at: at(millis),
            updated_at: at(millis),
            last_used_at: None,
            last_used_address: None,
        };
        let hash = SecretHash {
            hash: [7; 32],
            server_key: "0011223344ff".to_owned(),
            expires_at: None,
            is_bound: true,
        };
        StoredKey {
            key,
            secrets: vec![hash.clone(), SecretHash { expires_at: Some(at(9)), ..hash }],
            version: 1,
            announced_expiry: Some(at(9)),
        }
    }

    pub(super) async fn insert_key(&self, agent: &AgentId, millis: i64) -> StoredKey {
        let key = self.key(agent, millis);
        let effects = self.effects(Some(agent), AuditAction::KeyCreate, key.key.api_key.as_str(), millis);
        self.storage
            .insert_key(agent, &key, &effects)
            .await
            .unwrap_or_else(|error| panic!("insert key: {error}"));
        key
    }

    pub(super) async fn schema(&self, agent: &AgentId) -> ContactSchema {
        let schema =
            self.storage.contact_schema(agent).await.unwrap_or_else(|error| panic!("schema: {error}"));
        schema.unwrap_or_else(|| panic!("agent {agent} has no schema"))
    }

    /// Sets the schema built from a definition.
    pub(super) async fn redefine(&self, agent: &AgentId, definition: &str, millis: i64) -> Result<()> {
        let service_info = openapi_core::service_info::ServiceInfo::new("http://localhost")
            .unwrap_or_else(|error| panic!("{error}"));
        let schema = self.schema(agent).await.redefined(&object(definition), &service_info, at(millis));
        let schema = schema.unwrap_or_else(|violations| panic!("{violations:?}"));
        let effects = self.effects(Some(agent), AuditAction::ContactSchemaReplace, agent.as_str(), millis);
        self.storage.replace_contact_schema(agent, &schema, &effects).await
    }

    /// The contact built from a create body.
    pub(super) async fn contact(&self, agent: &AgentId, body: &str, millis: i64) -> Contact {
        self.contact_of(&self.schema(agent).await, body, millis)
    }

    /// The contact built from a create body under a schema.
    pub(super) fn contact_of(&self, schema: &ContactSchema, body: &str, millis: i64) -> Contact {
        let service_info = openapi_core::service_info::ServiceInfo::new("http://localhost")
            .unwrap_or_else(|error| panic!("{error}"));
        let agent = &schema.agent_id;
        let schema =
            CompiledSchema::new(schema.clone(), &service_info).unwrap_or_else(|error| panic!("{error}"));
        let identity = Identity {
            id: self.ids.platform_id(at(millis)).into(),
            agent_id: agent.clone(),
            now: at(millis),
        };
        schema.create(&object(body), identity).unwrap_or_else(|violations| panic!("{violations:?}"))
    }

    /// The write of a contact under the schema in force.
    pub(super) async fn write(&self, contact: &Contact, millis: i64) -> ContactWrite {
        let schema = self.storage.contact_schema(&contact.agent_id).await.ok().flatten();
        let schema = schema.unwrap_or_else(|| ContactSchema::builtin(contact.agent_id.clone(), at(0)));
        ContactWrite {
            keys: ContactKeys::of(contact, &schema),
            schema_version: schema.version,
            at: at(millis),
            effects: self.effects(
                Some(&contact.agent_id),
                AuditAction::ContactUpdate,
                &contact.id.to_string(),
                millis,
            ),
            contact: contact.clone(),
        }
    }

    pub(super) async fn try_insert(&self, contact: &Contact) -> Result<()> {
        let write = self.write(contact, contact.created_at.millis() - START).await;
        self.storage.insert_contact(&contact.agent_id, &write).await
    }

    /// Stores the contact of a create body.
    pub(super) async fn insert(&self, agent: &AgentId, body: &str, millis: i64) -> Contact {
        let contact = self.contact(agent, body, millis).await;
        self.try_insert(&contact).await.unwrap_or_else(|error| panic!("insert {body}: {error}"));
        contact
    }

    /// The next version of the contact, with some fields changed.
    pub(super) fn changed(contact: &Contact, millis: i64, change: impl FnOnce(&mut Contact)) -> Contact {
        let mut changed = Contact { version: contact.version + 1, updated_at: at(millis), ..contact.clone() };
        change(&mut changed);
        changed
    }

    pub(super) async fn try_update(&self, before: &Contact, after: &Contact) -> Result<()> {
        let write = self.write(after, after.updated_at.millis() - START).await;
        self.storage.update_contact(&after.agent_id, before.version, &write).await
    }

    pub(super) async fn update(
        &self,
        contact: &Contact,
        millis: i64,
        change: impl FnOnce(&mut Contact),
    ) -> Contact {
        let changed = World::changed(contact, millis, change);
        self.try_update(contact, &changed).await.unwrap_or_else(|error| panic!("update: {error}"));
        changed
    }

    pub(super) async fn find(&self, agent: &AgentId, contact: &ContactRef) -> Option<Contact> {
        let found = self.storage.contact(agent, contact).await;
        found.unwrap_or_else(|error| panic!("contact: {error}")).map(SharedContact::into_contact)
    }

    pub(super) async fn by_id(&self, agent: &AgentId, id: ContactId) -> Option<Contact> {
        self.find(agent, &ContactRef::Id(id)).await
    }

    pub(super) async fn by_external(&self, agent: &AgentId, id: &str) -> Option<Contact> {
        self.find(agent, &ContactRef::External(parsed(id))).await
    }

    pub(super) async fn list(&self, agent: &AgentId, query: &ContactQuery) -> (Vec<Contact>, u64) {
        let page =
            self.storage.contacts(agent, query).await.unwrap_or_else(|error| panic!("{query:?}: {error}"));
        (page.contacts, page.total)
    }

    /// The first names of the contacts that match a filter, oldest first, and the total.
    pub(super) async fn names(&self, agent: &AgentId, filter: ContactFilter) -> (Vec<String>, u64) {
        let query = ContactQuery { filter, order: Order::Ascending, ..everything() };
        let (contacts, total) = self.list(agent, &query).await;
        (names(&contacts), total)
    }

    pub(super) async fn found(&self, agent: &AgentId, search: &str) -> Vec<String> {
        let filter = ContactFilter { search: SearchTerm::split(search), ..ContactFilter::default() };
        let (names, total) = self.names(agent, filter).await;
        assert_eq!(names.len() as u64, total, "the total of a search for {search:?}");
        names
    }

    pub(super) async fn audit_of(&self, agent: Option<&AgentId>) -> Vec<AuditEntry> {
        let query = AuditQuery { agent: agent.cloned(), limit: 10_000, ..AuditQuery::default() };
        let entries = self.storage.audit_entries(&query).await;
        let entries = entries.unwrap_or_else(|error| panic!("audit: {error}"));
        entries.into_iter().map(|chained| chained.entry).collect()
    }
}

/// All contacts that are not archived, newest first, on one page.
pub(super) fn everything() -> ContactQuery {
    ContactQuery {
        filter: ContactFilter::default(),
        sort: ContactSort::CreatedAt,
        order: Order::Descending,
        window: Window::Page { offset: 0, limit: 1_000 },
    }
}

pub(super) fn names(contacts: &[Contact]) -> Vec<String> {
    contacts
        .iter()
        .map(|contact| contact.first_name.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string))
        .collect()
}

pub(super) fn agent(id: &AgentId, millis: i64) -> Agent {
    Agent {
        id: id.clone(),
        name: parsed("Agent"),
        status: AgentStatus::Active,
        created_at: at(millis),
        updated_at: at(millis),
    }
}

pub(super) fn replay(key: u8, contact: Option<ContactId>, expires_millis: i64) -> IdempotencyRecord {
    IdempotencyRecord {
        key: IdempotencyKey([key; 32]),
        fingerprint: [9; 32],
        status: 201,
        location: Some("/v1/open/contacts/x".to_owned()),
        body: r#"{"success":true,"data":{"text":"é\u0001"}}"#.into(),
        resource: contact,
        expires_at: at(expires_millis),
    }
}

pub(super) fn object(text: &str) -> Object {
    match parse(text.as_bytes()) {
        Ok(openapi_core::json::Json::Object(members)) => members,
        other => panic!("{text}: {other:?}"),
    }
}

pub(super) fn parsed<T>(text: &str) -> T
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Asserts the kind of an error.
#[track_caller]
pub(super) fn assert_fails<T: std::fmt::Debug>(result: Result<T>, kind: &StorageErrorKind) {
    match result {
        Err(error) => assert_eq!(error.kind, *kind),
        Ok(value) => panic!("expected '{kind}', got {value:?}"),
    }
}

/// The duplicate in an error.
#[track_caller]
pub(super) fn duplicate_of<T: std::fmt::Debug>(result: Result<T>) -> openapi_core::storage::Duplicate {
    match result.map_err(|error| error.kind) {
        Err(StorageErrorKind::Duplicate(duplicate)) => duplicate,
        other => panic!("expected a duplicate, got {other:?}"),
    }
}

/// A contact made from fields, for text that is awkward to write as JSON.
pub(super) fn fields(change: impl FnOnce(&mut ContactFields)) -> String {
    let mut fields =
        ContactFields { primary_email: Some(Some(parsed("a@example.com"))), ..ContactFields::default() };
    change(&mut fields);
    openapi_core::json::Json::Object(fields.to_object()).to_text()
}
