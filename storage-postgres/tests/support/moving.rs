//! Transfers of agents between a store in memory and another one: the tests that every target store must pass. They
//! know no store but the one in memory, so other crates' tests include them.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "chat.rs"]
pub mod chat;

use std::fmt::Debug;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conversations::storage::ConversationStorage;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{AuditEntry, SealedEntry};
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, SearchTerm};
use openapi_core::credits::{CreditAccount, JobCredits};
use openapi_core::json::{self, Json, RawObject};
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::service_info::ServiceInfo;
use openapi_core::storage::*;
use openapi_core::values::{
    AgentId, AuditId, ContactId, ContactStatus, FileId, PlatformId, StoredText, Tag, TextValue, Timestamp,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use storage_common::fixtures::seal;
use storage_common::transfer::{
    Copied, CopyError, Step, TransferKind, TransferRow, TransferStore, compare, copy_agent, digest,
};
use storage_memory::MemoryStorage;
use testkit::conformance::{self, Backend, compare_forms, replay_history};
use tokio::time::Instant;

/// An empty target store, and how its futures are run.
pub trait Target {
    fn store(&self) -> Arc<dyn TransferStore>;
    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>);
}

/// The in-memory store for the suite, run like the target.
struct Source<'t> {
    memory: Arc<MemoryStorage>,
    target: &'t (dyn Target + Sync),
}

impl Backend for Source<'_> {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.memory) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        self.target.block_on(future);
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

/// The result of random histories: agents with records of every kind, some of them deleted.
fn filled(target: &(dyn Target + Sync)) -> Arc<MemoryStorage> {
    let mut source = Source { memory: Arc::new(MemoryStorage::new()), target };
    compare_forms(&mut source, 0, 2, 400);
    conformance::run("keys_are_found_by_both_names", &mut source);
    let memory = Arc::clone(&source.memory);
    let mut runner = TestRunner::deterministic();
    for number in 0..4 {
        let steps = conformance::history(60).new_tree(&mut runner).unwrap().current();
        let prefix = format!("history-{number}");
        target.block_on(Box::pin(async {
            replay_history(source.storage(), &prefix, &steps).await.unwrap();
        }));
    }
    target.block_on(Box::pin(async {
        let keyed: AgentId = "a".parse().unwrap();
        let mut living = memory.agents().await.unwrap();
        let keyed =
            living.iter().map(|agent| agent.id.clone()).find(|id| *id == keyed).unwrap_or_else(|| {
                let with_keys = |agent: &&Agent| agent.id.as_str().starts_with("agent");
                living.iter().find(with_keys).map_or_else(|| living[0].id.clone(), |agent| agent.id.clone())
            });
        for stored in memory.keys(&keyed).await.unwrap() {
            for version in [1, 2] {
                let body = RawObject::from_text(format!(r#"{{"shares":[],"version":{version}}}"#)).unwrap();
                let key = RecordKey::new(RecordKind::RateLimitWindow, stored.key.id);
                let (subject, unique, due_at) = (None, None, None);
                let window = StoredRecord { key, version, subject, unique, due_at, body };
                let write = RecordsWrite::save(window, Effects::default());
                memory.save_records(Some(&keyed), &write).await.unwrap();
            }
            memory.record_key_use(&keyed, stored.key.id, at(77), None).await.unwrap();
        }
        for (number, agent) in living.iter().enumerate() {
            chat::fill(&*memory, &agent.id, number as u64).await;
            let change = JobChange::Save(Box::new(job(number as u64)));
            memory.save_jobs(Some(&agent.id), &JobsWrite::new(at(1), vec![change])).await.unwrap();
        }
        // An agent that is deleted and not yet purged.
        let gone = living.iter_mut().find(|agent| agent.id.as_str() == "history-1-a").unwrap();
        gone.status = AgentStatus::Deleted;
        let audit = entry(&gone.id, 1);
        memory.update_agent(gone, &Effects::audited(audit)).await.unwrap();
    }));
    memory
}

/// A job that has ended.
fn job(number: u64) -> Job {
    Job {
        id: PlatformId::new(at(0), number.to_be_bytes()).into(),
        queue: Queue::Extraction,
        state: JobState::Succeeded,
        version: 1,
        turn: number,
        due_at: Some(at(90_000)),
        lease: None,
        attempts: 1,
        lost: 0,
        batch: Some("Märzbelege".into()),
        client_id: Some("o'brien".into()),
        subject: None,
        reserved: JobCredits::default(),
        created_at: at(1),
        started_at: Some(at(2)),
        body: RawObject::from_text(r#"{"schema":{"a":1.50}}"#.to_owned()).unwrap(),
        result: Some(RawObject::from_text(r#"{"found":"ä"}"#.to_owned()).unwrap()),
    }
}

fn agent_number(agent: &AgentId) -> u64 {
    agent.as_str().bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) << 24
}

fn entry(agent: &AgentId, number: u64) -> SealedEntry {
    let details = RawObject::from_text(r#"{"fields":["primaryEmail"]}"#).unwrap();
    seal(AuditEntry {
        id: AuditId::from(PlatformId::new(at(0), (number ^ agent_number(agent)).to_be_bytes())),
        agent_id: Some(agent.clone()),
        at: at(100_000 + number as i64),
        actor: openapi_core::access::Actor::Operator("tests".to_owned()),
        os_user: None,
        action: openapi_core::audit::AuditAction::ContactCreate,
        resource: None,
        contact_id: None,
        address: None,
        request_id: None,
        details,
    })
}

async fn everyone(store: &dyn TransferStore) -> Vec<Agent> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let some = store.agents_after(after.as_ref(), 3).await.unwrap();
        let Some(last) = some.last() else { return all };
        after = Some(last.id.clone());
        all.extend(some);
    }
}

async fn copied(
    from: &dyn TransferStore,
    to: &dyn TransferStore,
    agent: &Agent,
) -> Result<Copied, CopyError> {
    copy_agent(from, to, agent, None, &mut |_| {}).await
}

/// All data of every agent: to the target, and back into another store in memory.
pub fn moves_there_and_back(target: &(dyn Target + Sync)) {
    let memory = filled(target);
    let store = target.store();
    target.block_on(Box::pin(async {
        let back = MemoryStorage::new();
        let agents = everyone(&*memory).await;
        assert!(agents.iter().any(|agent| agent.status == AgentStatus::Deleted));
        let mut counts = [0; TransferKind::ALL.len()];
        for agent in &agents {
            let first = copied(&*memory, &*store, agent).await.unwrap();
            assert_eq!(first.records, first.digest.records());
            for (kind, count) in TransferKind::ALL.iter().zip(&mut counts) {
                *count += first.digest.count(*kind);
            }
            same_answers(&*memory, &*store, &agent.id).await;
            let again = copied(&*memory, &*store, agent).await.unwrap();
            assert_eq!(again, Copied { records: 0, ..first.clone() }, "a second copy changes nothing");
            assert_eq!(copied(&*store, &back, agent).await.unwrap(), first);
            same_answers(&*memory, &back, &agent.id).await;
        }
        assert_eq!(everyone(&*store).await, agents);
        assert_eq!(everyone(&back).await, agents);
        assert_eq!(chat::expired(&*store).await, chat::expired(&*memory).await);
        // Otherwise the test covers no record of some kind.
        assert!(counts.iter().all(|count| *count > 0), "{counts:?} of {:?}", TransferKind::ALL);
        eprintln!("{} agents, records by kind {counts:?}", agents.len());
        for (number, agent) in agents.iter().enumerate() {
            if agent.status != AgentStatus::Deleted {
                later_writes(&*memory, &*store, &agent.id, number as u64).await;
            }
        }
    }));
}

/// Compares the results of a method of two stores.
macro_rules! same {
    ($memory:ident, $store:ident, $method:ident($($argument:expr),*)) => {{
        let ours = $store.$method($($argument),*).await.unwrap();
        let model = $memory.$method($($argument),*).await.unwrap();
        assert_eq!(ours, model, "{}", stringify!($method($($argument),*)));
        ours
    }};
}

fn queries(contacts: &[Contact]) -> Vec<ContactQuery> {
    let mut filters = vec![
        ContactFilter::default(),
        ContactFilter { include_archived: true, ..ContactFilter::default() },
        ContactFilter { created_since: Some(Timestamp::from_millis(0)), ..ContactFilter::default() },
    ];
    let every = || ContactFilter { include_archived: true, ..ContactFilter::default() };
    filters.extend(ContactStatus::ALL.map(|status| ContactFilter { status: Some(status), ..every() }));
    for contact in contacts.iter().take(6) {
        let email = contact.primary_email.as_str().to_lowercase();
        filters.push(ContactFilter { search: SearchTerm::split(&email), ..every() });
        filters.push(ContactFilter { primary_email: Some(email), ..every() });
        filters.extend(contact.first_name.iter().map(|name| ContactFilter {
            search: SearchTerm::split(name.as_str()),
            ..ContactFilter::default()
        }));
        filters.extend(contact.tags.iter().map(|tag: &Tag| ContactFilter {
            tag: Some(Tag::fold(tag.as_str())),
            ..ContactFilter::default()
        }));
    }
    let query = |filter: ContactFilter| {
        ContactSort::ALL.into_iter().zip([Order::Ascending, Order::Descending].into_iter().cycle()).map(
            move |(sort, order)| {
                let window = Window::Page { offset: 0, limit: 30 };
                ContactQuery { filter: filter.clone(), sort, order, window }
            },
        )
    };
    filters.into_iter().flat_map(query).collect()
}

async fn every(store: &dyn TransferStore, agent: &AgentId, kind: TransferKind) -> Vec<TransferRow> {
    store.records(agent, kind, None, 5_000).await.unwrap()
}

/// Reads everything of an agent from both stores, by every method of the ports.
async fn same_answers(memory: &dyn TransferStore, store: &dyn TransferStore, agent: &AgentId) {
    same!(memory, store, agent(agent));
    let schema = same!(memory, store, contact_schema(agent));
    same!(memory, store, contact_schema_history(agent));
    same!(memory, store, keys(agent));
    let mut contacts = Vec::new();
    for record in every(memory, agent, TransferKind::Contact).await {
        let TransferRow::Contact(contact) = record else { unreachable!("of another kind") };
        contacts.push(contact);
    }
    for query in queries(&contacts) {
        same!(memory, store, contacts(agent, &query));
    }
    for contact in &contacts {
        same!(memory, store, contact(agent, &ContactRef::Id(contact.id)));
        let external = contact.external_reference_id.clone();
        if let Some(external) = &external {
            same!(memory, store, contact(agent, &ContactRef::External(external.clone())));
        }
        if let Some(schema) = &schema {
            let unique = ContactKeys::of(contact, schema).unique;
            let nobody = ContactId::from_bytes([0xff; 12]);
            same!(memory, store, duplicate_contact(agent, Some(nobody), external.as_ref(), &unique));
        }
        for sort in FileSort::ALL {
            let window = Window::Page { offset: 0, limit: 20 };
            let query = FileQuery { contact: contact.id, sort, order: Order::Descending, window };
            same!(memory, store, files(agent, &query));
        }
        same!(memory, store, file_usage(agent, contact.id));
        for include_superseded in [false, true] {
            let contact = Some(contact.id);
            let filter = SubmissionFilter { contact, include_superseded, ..SubmissionFilter::default() };
            let window = Window::Page { offset: 0, limit: 20 };
            let query = SubmissionQuery { filter, window };
            same!(memory, store, submissions(agent, &query));
        }
    }
    for only_active in [false, true] {
        let window = Window::Page { offset: 0, limit: 20 };
        let query = TemplateQuery { only_active, window };
        same!(memory, store, templates(agent, &query));
    }
    for record in every(memory, agent, TransferKind::TemplateVersion).await {
        let TransferRow::TemplateVersion(template) = record else { unreachable!("of another kind") };
        same!(memory, store, template(agent, template.id));
        same!(memory, store, template_version(agent, template.id, template.version));
        for contact in &contacts {
            same!(memory, store, head_submission(agent, contact.id, template.id));
            let latest = LatestQuery { contact: contact.id, template: template.id, include_drafts: true };
            same!(memory, store, latest_submission(agent, &latest));
        }
    }
    for record in every(memory, agent, TransferKind::Submission).await {
        let TransferRow::Submission(submission) = record else { unreachable!("of another kind") };
        same!(memory, store, submission(agent, submission.id));
        same!(memory, store, form_data_revisions(agent, submission.id));
    }
    for record in every(memory, agent, TransferKind::File).await {
        let TransferRow::File { file, .. } = record else { unreachable!("of another kind") };
        same!(memory, store, file(agent, file.id));
        same!(memory, store, file_tombstone(agent, file.id));
    }
    for record in every(memory, agent, TransferKind::Document).await {
        let TransferRow::Document(stored) = record else { unreachable!("of another kind") };
        same!(memory, store, document(agent, stored.id));
        same!(memory, store, existing_blobs(&[BlobKey::new(agent.clone(), stored.id)]));
    }
    let documents = same!(memory, store, documents(agent, None, 100));
    same!(memory, store, documents(agent, documents.first().map(|first| first.id), 2));
    same!(memory, store, credit_account(agent));
    let ledger = LedgerQuery { agent: agent.clone(), before: None, limit: 100 };
    let entries = same!(memory, store, credit_entries(&ledger));
    let before = entries.first().map(|first| (first.at, first.id));
    let older = LedgerQuery { before, limit: 2, ..ledger };
    same!(memory, store, credit_entries(&older));
    for record in every(memory, agent, TransferKind::IdempotencyRecord).await {
        let TransferRow::IdempotencyRecord(replay) = record else { unreachable!("of another kind") };
        same!(memory, store, replay(agent, &replay.key, at(0)));
    }
    for record in every(memory, agent, TransferKind::Key).await {
        let TransferRow::Key(stored) = record else { unreachable!("of another kind") };
        same!(memory, store, look_up_key(&stored.key.api_key));
    }
    let scope = Some(agent);
    for kind in RecordKind::ALL.iter().copied() {
        for record in same!(memory, store, records_of(scope, kind, None, 100)) {
            same!(memory, store, record(scope, &record.key));
            if let Some(unique) = &record.unique {
                same!(memory, store, record_by_unique(scope, kind, unique));
            }
        }
    }
    for (after, at_most) in [(0, 1_000), (1, 2), (u64::MAX, 1)] {
        same!(memory, store, log(agent, after, at_most));
    }
    same!(memory, store, log_heads(std::slice::from_ref(agent)));
    assert_eq!(chat::answers(store, agent).await, chat::answers(memory, agent).await);
    let entries = AuditQuery { agent: Some(agent.clone()), limit: 1_000, ..AuditQuery::default() };
    same!(memory, store, audit_entries(&entries));
    same!(memory, store, audit_chain(&ChainQuery { chain: Some(agent.clone()), after: None, limit: 1_000 }));
    same!(memory, store, audit_head(Some(agent)));
}

async fn redefined(store: &dyn TransferStore, agent: &AgentId, definition: &str) -> ContactSchema {
    let service_info = ServiceInfo::new("http://localhost").unwrap();
    let schema = store.contact_schema(agent).await.unwrap().unwrap();
    let Ok(Json::Object(definition)) = json::parse(definition.as_bytes()) else { panic!("no object") };
    schema.redefined(&definition, &service_info, at(200_000)).unwrap()
}

/// Writes after a copy do the same to both stores.
async fn later_writes(memory: &dyn TransferStore, store: &dyn TransferStore, agent: &AgentId, number: u64) {
    let schema = memory.contact_schema(agent).await.unwrap().unwrap();
    let mut contact = person(agent, 900 + number);
    contact.tags = vec![Tag::parse("vip").unwrap(), Tag::parse("new").unwrap()];
    let write = |contact: &Contact, entry: SealedEntry| ContactWrite {
        contact: contact.clone(),
        keys: ContactKeys::of(contact, &schema),
        schema_version: schema.version,
        at: entry.at,
        effects: Effects::audited(entry),
    };
    let audit = |step: u64| entry(agent, number * 100 + step);
    let mut changes = vec![(None, write(&contact, audit(2)))];
    chat::change(memory, agent, number).await;
    chat::change(store, agent, number).await;
    // Of the transferred contacts, one is archived and one erased.
    let moved = memory.records(agent, TransferKind::Contact, None, 2).await.unwrap();
    if let Some(TransferRow::Contact(first)) = moved.first() {
        let changed = Contact {
            archived_at: first.archived_at.is_none().then(|| at(3)),
            tags: vec![Tag::parse("late").unwrap()],
            version: first.version + 1,
            ..first.clone()
        };
        changes.push((Some(first.version), write(&changed, audit(3))));
    }
    for (expected, write) in changes {
        for store in [memory, store] {
            match expected {
                None => store.insert_contact(agent, &write).await.unwrap(),
                Some(version) => store.update_contact(agent, version, &write).await.unwrap(),
            }
        }
    }
    if let Some(TransferRow::Contact(second)) = moved.get(1) {
        for store in [memory, store] {
            store.erase_contact(agent, second.id, audit(4).at, &Effects::audited(audit(4))).await.unwrap();
        }
    }
    // The transferred credits and documents are changed, and count.
    let account = memory.credit_account(agent).await.unwrap().unwrap_or_default();
    let changed = CreditAccount { version: account.version + 1, unlimited: true, ..account };
    let change = CreditWrite {
        at: at(6),
        account: Some(changed),
        entry: None,
        document: None,
        effects: Effects::default(),
    };
    let documents = memory.documents(agent, None, 2).await.unwrap();
    for store in [memory, store] {
        store.save_credits(agent, &change).await.unwrap();
        if let Some(first) = documents.first() {
            let more = StoredDocument { id: FileId::from_bytes([77; 12]), ..first.clone() };
            let document = Some(DocumentWrite { document: more, max_bytes: Some(1_000_000) });
            let keeping = CreditWrite { account: None, document, ..change.clone() };
            store.save_credits(agent, &keeping).await.unwrap();
        }
        if let Some(second) = documents.get(1) {
            store.remove_blob_records(&[BlobKey::new(agent.clone(), second.id)]).await.unwrap();
        }
    }
    same!(memory, store, file_usage(agent, contact.id));
    let definition = r#"{"fields":[{"name":"lastName","sensitive":true}]}"#;
    let next = redefined(memory, agent, definition).await;
    for store in [memory, store] {
        store.replace_contact_schema(agent, &next, &Effects::audited(audit(5))).await.unwrap();
    }
    same_answers(memory, store, agent).await;
    compare(memory, store, agent).await.unwrap();
}

fn person(agent: &AgentId, number: u64) -> Contact {
    let name = format!("Name{}", number % 200);
    Contact {
        id: ContactId::from(PlatformId::new(at(number as i64), number.to_be_bytes())),
        agent_id: agent.clone(),
        external_reference_id: format!("moved{number}").parse().ok(),
        salutation: None,
        first_name: TextValue::parse(&name).ok(),
        middle_name: None,
        last_name: TextValue::parse(&format!("Last{}", number % 700)).ok(),
        dob: None,
        gender: None,
        primary_email: StoredText::from_stored(&format!("person{number}@example.com")),
        primary_phone: None,
        primary_phone_code: None,
        full_address: None,
        tags: vec![Tag::parse(["vip", "late", "new"][(number % 3) as usize]).unwrap()],
        status: ContactStatus::ALL[(number % 3) as usize],
        source: TextValue::parse("api").unwrap(),
        last_contacted_at: None,
        custom_fields: RawObject::default(),
        archived_at: number.is_multiple_of(9).then(|| at(number as i64)),
        created_at: at(number as i64),
        updated_at: at(number as i64),
        version: 1,
    }
}

/// An agent with a unique field and a number of contacts.
pub async fn crowd(memory: &MemoryStorage, name: &str, many: u64) -> Agent {
    let id: AgentId = name.parse().unwrap();
    let agent = Agent {
        id: id.clone(),
        name: TextValue::parse("A crowd").unwrap(),
        status: AgentStatus::Active,
        created_at: at(0),
        updated_at: at(0),
    };
    let schema = ContactSchema::builtin(id.clone(), at(0));
    memory.insert_agent(&agent, &schema, &Effects::audited(entry(&id, 0))).await.unwrap();
    let next = redefined(memory, &id, r#"{"fields":[{"name":"primaryEmail","unique":true}]}"#).await;
    memory.replace_contact_schema(&id, &next, &Effects::audited(entry(&id, 1))).await.unwrap();
    let contacts: Vec<TransferRow> =
        (0..many).map(|number| TransferRow::Contact(person(&id, number))).collect();
    memory.put_records(&id, &contacts).await.unwrap();
    agent
}

/// A copy that is interrupted after each of its steps resumes there.
pub fn interrupted_copies_go_on(target: &(dyn Target + Sync)) {
    let memory = filled(target);
    target.block_on(Box::pin(async { drop(crowd(&memory, "crowd", 520).await) }));
    let store = target.store();
    let agents: std::sync::Mutex<Vec<Agent>> = std::sync::Mutex::default();
    target.block_on(Box::pin(async { *agents.lock().unwrap() = everyone(&*memory).await }));
    let mut deaths = 0;
    for agent in agents.into_inner().unwrap() {
        let is_compared = AtomicBool::new(false);
        while !is_compared.load(Ordering::Relaxed) {
            // Each attempt fails after the first step that the last ones have left.
            let dies = catch_unwind(AssertUnwindSafe(|| {
                target.block_on(Box::pin(async {
                    let mut dying = |step| {
                        is_compared.store(step == Step::Comparing, Ordering::Relaxed);
                        std::panic::resume_unwind(Box::new("a planted death"));
                    };
                    let done = copy_agent(&*memory, &*store, &agent, None, &mut dying).await;
                    panic!("a copy without a step: {done:?}");
                }));
            }));
            assert!(dies.unwrap_err().is::<&str>());
            deaths += 1;
            target.block_on(Box::pin(async {
                let known = store.agent(&agent.id).await.unwrap().unwrap();
                assert_eq!(known.status, AgentStatus::Disabled, "half of it lets nobody in");
            }));
        }
        target.block_on(Box::pin(async {
            copied(&*memory, &*store, &agent).await.unwrap();
            assert_eq!(store.agent(&agent.id).await.unwrap().as_ref(), Some(&agent));
            same_answers(&*memory, &*store, &agent.id).await;
        }));
    }
    assert!(deaths > 40, "{deaths}");
    eprintln!("{deaths} copies died and went on");
}

/// `put_records` refuses a batch as a whole.
pub fn what_is_in_use_is_refused(target: &(dyn Target + Sync)) {
    let memory = filled(target);
    let store = target.store();
    target.block_on(Box::pin(async {
        let crowd = crowd(&memory, "crowd", 12).await;
        for agent in everyone(&*memory).await {
            copied(&*memory, &*store, &agent).await.unwrap();
            for kind in TransferKind::ALL {
                let stored = every(&*memory, &agent.id, kind).await;
                if let Some(first) = stored.first() {
                    refused(
                        &*store,
                        &agent.id,
                        std::slice::from_ref(first),
                        &StorageErrorKind::AlreadyExists,
                    )
                    .await;
                }
            }
            compare(&*memory, &*store, &agent.id).await.unwrap();
        }
        let id = &crowd.id;
        let of = |contact: Contact| TransferRow::Contact(contact);
        let (new, known) = (person(id, 100), person(id, 3));
        refused(&*store, id, &[of(new.clone()), of(known)], &StorageErrorKind::AlreadyExists).await;
        refused(&*store, id, &[of(new.clone()), of(new.clone())], &StorageErrorKind::AlreadyExists).await;
        // The holders are transferred contacts, and one of the batch itself.
        let email = Contact { primary_email: person(id, 3).primary_email, ..person(id, 101) };
        let external =
            Contact { external_reference_id: person(id, 4).external_reference_id, ..person(id, 102) };
        let same = Contact { primary_email: new.primary_email.clone(), ..person(id, 103) };
        for (contact, field, holder) in [
            (email, "primaryEmail", person(id, 3)),
            (external, "externalReferenceId", person(id, 4)),
            (same, "primaryEmail", new.clone()),
        ] {
            let (field, existing) = (field.to_owned(), holder.id);
            let duplicate = Duplicate { field, existing, archived: holder.archived_at.is_some() };
            let kind = StorageErrorKind::Duplicate(duplicate);
            refused(&*store, id, &[of(new.clone()), of(contact)], &kind).await;
        }
        let nobody: AgentId = "nobody".parse().unwrap();
        refused(&*store, &nobody, &[of(new.clone())], &StorageErrorKind::Missing).await;
        assert_eq!(store.records(&nobody, TransferKind::Audit, None, 9).await.unwrap(), []);
        // A tenant that is copied later has nothing to refer to yet.
        let empty = Agent { id: "empty".parse().unwrap(), ..crowd.clone() };
        store.put_agent(&empty).await.unwrap();
        let stranger = Contact { agent_id: empty.id.clone(), ..new };
        refused(&*store, &empty.id, &[of(stranger)], &StorageErrorKind::Missing).await;
        for kind in [TransferKind::TemplateVersion, TransferKind::Revision] {
            for agent in everyone(&*memory).await {
                if let Some(record) = every(&*memory, &agent.id, kind).await.first() {
                    let record = std::slice::from_ref(record);
                    refused(&*store, &empty.id, record, &StorageErrorKind::Missing).await;
                }
            }
        }
        assert_eq!(digest(&*store, &empty.id).await.unwrap().records(), 0);
        compare(&*memory, &*store, id).await.unwrap();
    }));
}

async fn refused(
    store: &dyn TransferStore,
    agent: &AgentId,
    records: &[TransferRow],
    kind: &StorageErrorKind,
) {
    let error = store.put_records(agent, records).await.unwrap_err();
    assert_eq!(&error.kind, kind, "{records:?}");
}

/// How fast contacts and their entries are transferred to the store and read again. They are created here, because the
/// store in memory searches all of them for each that is stored.
pub fn speed(target: &(dyn Target + Sync), contacts: u64) {
    let store = target.store();
    let memory = Arc::new(MemoryStorage::new());
    target.block_on(Box::pin(async {
        let agent = crowd(&memory, "crowd", 0).await;
        let id = &agent.id;
        store.put_agent(&agent).await.unwrap();
        store.put_records(id, &every(&*memory, id, TransferKind::ContactSchema).await).await.unwrap();
        let of: [fn(&AgentId, u64) -> TransferRow; 2] = [
            |agent, number| TransferRow::Contact(person(agent, number)),
            |agent, number| {
                TransferRow::Audit(openapi_core::audit::ChainHead::default().append(&entry(agent, number)))
            },
        ];
        for of in of {
            let all: Vec<TransferRow> = (0..contacts).map(|number| of(id, number)).collect();
            let kind = all[0].kind();
            let begin = Instant::now();
            for batch in all.chunks(kind.batch() as usize) {
                store.put_records(id, batch).await.unwrap();
            }
            report("put", kind, all.len(), begin.elapsed());
            let (begin, mut after, mut read) = (Instant::now(), None, 0);
            loop {
                let some = store.records(id, kind, after.as_ref(), kind.batch()).await.unwrap();
                let Some(last) = some.last() else { break };
                after = Some(last.key());
                read += some.len();
            }
            assert_eq!(read, all.len());
            report("read", kind, read, begin.elapsed());
        }
    }));
}

fn report(what: &str, kind: impl Debug, count: usize, took: std::time::Duration) {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let rate = count as f64 / took.as_secs_f64();
    eprintln!("{what} {count} {kind:?} in {took:.1?}: {rate:.0} a second; load {}", load.trim());
}
