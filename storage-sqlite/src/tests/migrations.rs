//! Migrations: released steps are unchanged, and a file of each version with rows is migrated to this one.
//!
//! To write the rows of a new version: `cargo test -p storage-sqlite --lib -- --ignored
//! write_the_rows_of_this_version`.

use std::fmt::Write as _;
use std::path::PathBuf;

use openapi_core::access::{
    ApiKey, ApiKeyPrefix, Key, KeyStatus, Permissions, RateLimits, SecretHash, StoredKey,
};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::{AuditAction, ChainedEntry};
use openapi_core::contacts::{Contact, ContactRef, SearchTerm};
use openapi_core::credits::CreditAccount;
use openapi_core::files::{ContactFile, FileKind, Sha256Digest};
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::json::RawObject;
use openapi_core::ports::{BlobKey, SequentialIds};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AgentStore, AuditQuery, AuditStore, ContactFilter, ContactQuery, ContactSchemaStore, ContactSort,
    ContactStore, CreditStore, CreditWrite, DocumentStore, Effects, FileDeletion, FileQuota, FileStore,
    FileTombstone, FileUsage, FileWrite, FormStore, IdempotencyKey, IdempotencyRecord, IdempotencyStore,
    KeyStore, LatestQuery, LedgerQuery, Order, RecordKey, RecordKind, RecordStore, RecordsWrite,
    StoredRecord, SubmissionChange, Window,
};
use openapi_core::values::{AgentId, ContactStatus, FileId, KeyId, PlatformId, Tag, TextValue};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{
    Folder, agent, agent_id, at, chat, contact, entry, extraction, forms, insert_agent, verify_chain, wait,
    write,
};
use crate::migrate::{APPLICATION_ID, KNOWN, MIGRATIONS};
use crate::{SqliteConfig, SqliteStorage};

/// A hash of each step (FNV-1a, 64 bits). A released line is never changed, only followed by others.
const STEPS: &[u64] = &[
    7992773056364918346,
    13074412061647294046,
    11455958928016230845,
    4089243208851916751,
    12823317563261157754,
    13042933740598808804,
    18201916972589606503,
    16639933044259653021,
    8421422604052658999,
    16290940483370050380,
    11885544936479789285,
];

fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn rows_file(version: i64) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/rows_{version:04}.sql"))
}

/// The contacts in the files of rows.
fn contacts() -> Vec<Contact> {
    let id = agent_id("695b6f80de7378c4412112d3");
    let mut all: Vec<Contact> = (1..=6).map(|number| contact(&id, number)).collect();
    all[0].external_reference_id = "crm-1001".parse().ok();
    all[0].salutation = TextValue::parse("Dr").ok();
    all[0].first_name = TextValue::parse("Zoë").ok();
    all[0].middle_name = TextValue::parse("de").ok();
    all[0].last_name = TextValue::parse("Okafor").ok();
    all[0].dob = TextValue::parse("1990-05-17").ok();
    all[0].gender = TextValue::parse("female").ok();
    all[0].primary_email = TextValue::parse("Zoe.Okafor@Bücher.example").unwrap();
    all[0].primary_phone = TextValue::parse("20 7946 0958").ok();
    all[0].primary_phone_code = TextValue::parse("44").ok();
    all[0].full_address = TextValue::parse("12 Mill Lane\nLeeds LS1 4AB").ok();
    all[0].tags = ["VIP", "Newsletter"].map(|tag| Tag::parse(tag).unwrap()).to_vec();
    all[0].last_contacted_at = Some(at(5));
    all[0].custom_fields =
        RawObject::from_text(r#"{"plan":"gold","region":{"code":"EMEA"}}"#).expect("an object");
    all[1].first_name = TextValue::parse("李明").ok();
    all[1].status = ContactStatus::Blocked;
    all[2].archived_at = Some(at(9));
    all[2].version = 2;
    all[3].custom_fields = RawObject::from_text(r#"{"plan":"o'brien \"quoted\""}"#).expect("an object");
    all
}

fn key(agent: &AgentId) -> StoredKey {
    let ids = SequentialIds::default();
    StoredKey {
        key: Key {
            id: KeyId::from(PlatformId::new(at(0), [7; 8])),
            agent_id: agent.clone(),
            api_key: ApiKey::generate(&ApiKeyPrefix::default(), &ids),
            name: TextValue::parse("A key").unwrap(),
            description: None,
            permissions: ["contacts:all", "forms:all", "document-extraction:all"]
                .iter()
                .fold(Permissions::NONE, |all, scope| all.with(scope.parse().unwrap())),
            limits: RateLimits::default(),
            allowed_addresses: vec!["192.0.2.0/24".parse().unwrap()],
            expires_at: Some(at(1_000_000)),
            status: KeyStatus::Active,
            created_by: openapi_core::access::Actor::Operator("tests".to_owned()),
            created_at: at(0),
            updated_at: at(0),
            last_used_at: Some(at(3)),
            last_used_address: Some([192, 0, 2, 1].into()),
        },
        secrets: vec![SecretHash {
            hash: [9; 32],
            server_key: "1".to_owned(),
            expires_at: None,
            is_bound: false,
        }],
        version: 1,
        announced_expiry: None,
    }
}

fn replay() -> IdempotencyRecord {
    IdempotencyRecord {
        key: IdempotencyKey([5; 32]),
        fingerprint: [6; 32],
        status: 201,
        location: Some("/v1/open/contacts/crm-1001".to_owned()),
        body: r#"{"success":true}"#.into(),
        resource: Some(contacts()[0].id),
        expires_at: at(1_000_000),
    }
}

/// The record of a key's rate-limit window.
fn window(key: KeyId) -> StoredRecord {
    let share = json!({
        "server": "0".repeat(24), "counted": [[at(1), 3], [at(2), 4]], "leased": 5, "leaseEnds": at(6),
    });
    let body = RawObject::from_text(json!({ "shares": [share] }).to_string()).unwrap();
    let key = RecordKey::new(RecordKind::RateLimitWindow, key);
    StoredRecord { key, version: 1, subject: None, unique: None, due_at: None, body }
}

/// Two files of the first contact; the second is deleted.
fn files() -> [ContactFile; 2] {
    [1_u8, 2].map(|number| ContactFile {
        id: FileId::from_bytes([number; 12]),
        agent_id: agent_id("695b6f80de7378c4412112d3"),
        contact_id: contacts()[0].id,
        file_name: TextValue::parse(["Überweisung.pdf", "b.txt"][usize::from(number - 1)]).unwrap(),
        file_size: u64::from(number) * 5_000_000_000,
        content_type: FileKind::Pdf,
        sha256: Sha256Digest([number; 32]),
        source: "api".to_owned(),
        uploaded_by: openapi_core::access::Actor::User("tests".to_owned()),
        server_key: None,
        created_at: at(40),
        updated_at: at(40),
    })
}

fn deletion() -> FileDeletion {
    let [_, file] = files();
    FileDeletion {
        contact: file.contact_id,
        contact_version: contacts()[0].version,
        tombstone: FileTombstone {
            file: file.id,
            at: at(41),
            by: openapi_core::access::Actor::Operator("tests".to_owned()),
            reason: TextValue::parse("Uploaded twice").ok(),
        },
        purge_at: at(5_000),
        effects: Effects::audited(entry(&file.agent_id, 41, AuditAction::FileDelete, &file.id.to_string())),
    }
}

/// Files, from the version that introduced them.
fn compare_files(store: &SqliteStorage) {
    let [live, deleted] = files();
    let id = &live.agent_id;
    assert_eq!(wait(store.file(id, live.id)).unwrap().as_ref(), Some(&live));
    assert_eq!(wait(store.file(id, deleted.id)).unwrap(), None);
    assert_eq!(wait(store.file_tombstone(id, deleted.id)).unwrap(), Some(deletion().tombstone));
    let usage = wait(store.file_usage(id, live.contact_id)).unwrap();
    let stored: u64 =
        wait(store.documents(id, None, 9)).unwrap().iter().map(|document| document.stored_size).sum();
    assert_eq!(usage, FileUsage { files_of_contact: 1, bytes_of_agent: 5_000_000_000 + stored });
    let due = wait(store.blobs_due_for_deletion(at(5_999), 9)).unwrap();
    assert_eq!(due, [BlobKey::new(id.clone(), deleted.id)]);
}

/// A template at two versions, and two submissions of the second contact; the later one superseded the other and
/// was changed.
fn forms() -> (FormTemplate, FormTemplate, [Submission; 2], SubmissionChange) {
    let contact = &contacts()[1];
    let first = forms::template(&contact.agent_id, 1);
    let mut second = FormTemplate { version: 2, generation: 2, updated_at: at(51), ..first.clone() };
    second.name = TextValue::parse("Äquator").unwrap();
    second.fields.push(forms::field("other"));
    let mut earlier = forms::submission(contact, &first, 52);
    let mut later = forms::submission(contact, &second, 53);
    (later.revision, later.supersedes) = (2, Some(earlier.id));
    later.client_id = TextValue::parse("o'brien").ok();
    (earlier.version, earlier.superseded_by) = (2, Some(later.id));
    (earlier.superseded_at, earlier.updated_at) = (Some(at(53)), at(53));
    let by = openapi_core::access::Actor::User("tests".to_owned());
    let mut changed = Submission { version: 2, updated_at: at(54), ..later.clone() };
    changed.form_data = RawObject::default();
    changed.submission_notes = TextValue::parse("Zwei\nZeilen").ok();
    let change = SubmissionChange {
        submission: changed.clone(),
        expected_version: 1,
        contact_version: contact.version,
        template_generation: None,
        succession: None,
        replaced: Some(FormDataRevision { version: 1, at: at(54), by, form_data: later.form_data }),
        effects: Effects::audited(entry(
            &contact.agent_id,
            54,
            AuditAction::SubmissionUpdate,
            &changed.id.to_string(),
        )),
    };
    (first, second, [earlier, changed], change)
}

fn fill_extraction(store: &SqliteStorage) {
    let id = agent_id("695b6f80de7378c4412112d3");
    let (account, entry) = (Some(extraction::account()), Some(extraction::entry()));
    let write = CreditWrite { at: at(60), account, entry, document: None, effects: Effects::default() };
    wait(store.save_credits(&id, &write)).unwrap();
    wait(store.save_credits(&id, &extraction::keeping(9))).unwrap();
}

/// Credits and documents, from the version that introduced them.
fn compare_extraction(store: &SqliteStorage, low_at: Option<u64>) {
    let id = agent_id("695b6f80de7378c4412112d3");
    let account = CreditAccount { low_at, ..extraction::account() };
    assert_eq!(wait(store.credit_account(&id)).unwrap(), Some(account));
    let ledger = LedgerQuery { agent: id.clone(), before: None, limit: 9 };
    assert_eq!(wait(store.credit_entries(&ledger)).unwrap(), [extraction::entry()]);
    let document = extraction::document(9);
    assert_eq!(wait(store.documents(&id, None, 9)).unwrap(), std::slice::from_ref(&document));
    let due = wait(store.blobs_due_for_deletion(at(6_000), 9)).unwrap();
    assert!(due.contains(&BlobKey::new(id, document.id)));
}

fn fill_forms(store: &SqliteStorage) {
    let (first, second, [earlier, _], change) = forms();
    let (id, contact) = (&first.agent_id, &contacts()[1]);
    forms::insert_template(store, &first);
    forms::submit(store, contact, &first, 52);
    let audit = entry(id, 51, AuditAction::TemplateEdit, &second.id.to_string());
    wait(store.replace_template(id, &second, &Effects::audited(audit))).unwrap();
    let mut later = forms::submission(contact, &second, 53);
    (later.revision, later.supersedes) = (2, Some(earlier.id));
    later.client_id = change.submission.client_id.clone();
    let write = forms::submissions_write(contact, &second, later, Some(earlier.id));
    wait(store.insert_submissions(id, &write)).unwrap();
    wait(store.update_submission(id, &change)).unwrap();
}

/// Forms, from the version that introduced them.
fn compare_forms(store: &SqliteStorage) {
    let (first, second, submissions, change) = forms();
    let id = &first.agent_id;
    assert_eq!(wait(store.template(id, first.id)).unwrap().as_ref(), Some(&second));
    let before = wait(store.template_version(id, first.id, 1)).unwrap().unwrap();
    assert_eq!((&before.name, &before.fields, before.version), (&first.name, &first.fields, 1));
    for submission in &submissions {
        assert_eq!(wait(store.submission(id, submission.id)).unwrap().as_ref(), Some(submission));
    }
    let [_, latest] = &submissions;
    let query = LatestQuery { contact: latest.contact_id, template: first.id, include_drafts: false };
    assert_eq!(wait(store.latest_submission(id, &query)).unwrap().as_ref(), Some(latest));
    let revisions = wait(store.form_data_revisions(id, latest.id)).unwrap();
    assert_eq!(revisions, [change.replaced.unwrap()]);
}

/// Fills a store with some records of each kind.
fn fill(store: &SqliteStorage) {
    let id = agent_id("695b6f80de7378c4412112d3");
    let schema = insert_agent(store, &id);
    wait(store.insert_key(&id, &key(&id), &Effects::audited(entry(&id, 1, AuditAction::KeyCreate, "key"))))
        .unwrap();
    let saved = RecordsWrite::save(window(key(&id).key.id), Effects::default());
    wait(store.save_records(Some(&id), &saved)).unwrap();
    for (number, contact) in contacts().iter().enumerate() {
        let mut write = write(contact, &schema, number as u64 + 10);
        write.effects.replay = (number == 0).then(replay);
        wait(store.insert_contact(&id, &write)).unwrap();
    }
    let changed = ContactSchema { version: 2, allow_undeclared_custom_fields: false, ..schema };
    let audit = entry(&id, 30, AuditAction::ContactSchemaReplace, id.as_str());
    wait(store.replace_contact_schema(&id, &changed, &Effects::audited(audit))).unwrap();
    for file in files() {
        let audit = entry(&id, 40, AuditAction::FileUpload, &file.id.to_string());
        let quota = FileQuota { files_of_contact: 9, bytes_of_agent: None };
        let effects = Effects::audited(audit);
        wait(store.insert_file(&id, &FileWrite::new(file, &contacts()[0], quota, effects))).unwrap();
    }
    wait(store.delete_file(&id, &deletion())).unwrap();
    fill_forms(store);
    fill_extraction(store);
    chat::fill(store, &id);
    let gone = agent_id("deleted");
    insert_agent(store, &gone);
    let mut deleted = agent(&gone);
    deleted.status = AgentStatus::Deleted;
    wait(
        store
            .update_agent(&deleted, &Effects::audited(entry(&gone, 31, AuditAction::AgentDelete, "deleted"))),
    )
    .unwrap();
}

/// Fails unless a store holds what [`fill`] puts there.
fn compare(store: &SqliteStorage) {
    let id = agent_id("695b6f80de7378c4412112d3");
    for contact in contacts() {
        assert_eq!(wait(store.contact(&id, &ContactRef::Id(contact.id))).unwrap().as_deref(), Some(&contact));
    }
    let list = |search: &str| {
        let filter = ContactFilter { search: SearchTerm::split(search), ..ContactFilter::default() };
        let window = Window::Page { offset: 0, limit: 10 };
        let query = ContactQuery { filter, sort: ContactSort::FirstName, order: Order::Ascending, window };
        let page = wait(store.contacts(&id, &query)).unwrap();
        (page.total, page.contacts.first().map(|contact| contact.id))
    };
    let all = contacts();
    assert_eq!(list(""), (5, Some(all[0].id)));
    assert_eq!(list("okafor 7946"), (1, Some(all[0].id)));
    assert_eq!(list("李明"), (1, Some(all[1].id)));
    assert_eq!(wait(store.contact_schema_history(&id)).unwrap().len(), 2);
    let grant = wait(store.look_up_key(&key(&id).key.api_key)).unwrap().unwrap();
    assert_eq!(grant.stored, key(&id));
    let expected = window(key(&id).key.id);
    let saved = wait(store.record(Some(&id), &expected.key)).unwrap().unwrap();
    let members = |record: &StoredRecord| serde_json::from_str::<Value>(record.body.as_str()).unwrap();
    let mut shares = members(&saved);
    // Before version 4 a lease had no end; the migration set one.
    assert!(shares["shares"][0]["leaseEnds"].as_str() >= Some(&*at(6).to_string()));
    shares["shares"][0]["leaseEnds"] = json!(at(6));
    assert_eq!((shares, saved.version), (members(&expected), 1));
    assert_eq!(wait(store.replay(&id, &replay().key, at(0))).unwrap(), Some(replay()));
    let query = AuditQuery { agent: Some(id.clone()), after: None, newest_first: false, limit: 100 };
    let noted = wait(store.audit_entries(&query)).unwrap();
    let later = ["file.", "template.", "submission.", "knowledge."];
    let is_later = |entry: &&ChainedEntry| later.iter().any(|area| entry.action.as_str().starts_with(area));
    // Before version 7 an entry replaced another one with the same id.
    let expected = if noted[0].link.is_none() { 8 } else { 9 };
    assert_eq!(noted.len() - noted.iter().filter(is_later).count(), expected);
    assert_eq!(wait(store.agent(&agent_id("deleted"))).unwrap().unwrap().status, AgentStatus::Deleted);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn released_steps_stay_as_they_are() {
    let steps: Vec<u64> = MIGRATIONS.iter().map(|step| hash(step.sql)).collect();
    assert_eq!(steps, STEPS, "a released step changed, or a new one is not in the list");
}

#[test]
fn each_version_is_upgraded_with_its_rows() {
    for version in 1..=KNOWN {
        let folder = Folder::new();
        {
            let db = Connection::open(folder.database()).unwrap();
            for step in &MIGRATIONS[..version as usize] {
                db.execute_batch(step.sql).unwrap();
            }
            db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
            db.pragma_update(None, "user_version", version).unwrap();
            db.execute_batch(&std::fs::read_to_string(rows_file(version)).unwrap()).unwrap();
        }
        let pending = SqliteStorage::pending_migrations(&SqliteConfig::new(folder.database())).unwrap();
        assert_eq!(pending.len() as i64, KNOWN - version);
        let store = folder.open();
        compare(&store);
        if version >= 2 {
            compare_files(&store);
        }
        if version >= 3 {
            compare_forms(&store);
        }
        if version >= 5 {
            // Later than the rows of these versions.
            compare_extraction(&store, None);
        }
        if version >= 6 {
            chat::compare(&store, &agent_id("695b6f80de7378c4412112d3"));
        }
        // The store is writable.
        let id = agent_id("695b6f80de7378c4412112d3");
        let schema = wait(store.contact_schema(&id)).unwrap().unwrap();
        wait(store.insert_contact(&id, &write(&contact(&id, 90), &schema, 90))).unwrap();
        assert_eq!(store.check().unwrap(), []);
        // The chain of the audit log begins after the older entries, and covers them.
        assert_eq!(wait(verify_chain(&store, &id)), Ok(()));
        let db = Connection::open(folder.database()).unwrap();
        assert!(
            db.execute("UPDATE audit SET at = at + 1 WHERE sequence = 0 OR sequence = 3", []).unwrap() > 0
        );
        assert!(wait(verify_chain(&store, &id)).is_err());
    }
}

/// Not a test: writes the rows of a new version once.
#[test]
#[ignore = "writes a file"]
fn write_the_rows_of_this_version() {
    let folder = Folder::new();
    let store = folder.open();
    fill(&store);
    compare(&store);
    compare_files(&store);
    compare_forms(&store);
    compare_extraction(&store, extraction::account().low_at);
    chat::compare(&store, &agent_id("695b6f80de7378c4412112d3"));
    drop(store);
    let db = Connection::open(folder.database()).unwrap();
    let mut tables = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'search_gram' AND name NOT LIKE 'sqlite_%'")
        .unwrap();
    let tables: Vec<String> = tables.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut text =
        String::from("-- Rows of this version. Written once by `write_the_rows_of_this_version`.\nBEGIN;\n");
    for table in tables {
        let statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns: Vec<String> = statement.column_names().map(|name| format!("quote({name})")).collect();
        let mut rows = db.prepare(&format!("SELECT {} FROM {table}", columns.join(" || ', ' || "))).unwrap();
        for values in rows.query_map((), |row| row.get::<_, String>(0)).unwrap() {
            writeln!(text, "INSERT OR REPLACE INTO {table} VALUES ({});", values.unwrap()).unwrap();
        }
    }
    text.push_str("COMMIT;\n");
    std::fs::create_dir_all(rows_file(KNOWN).parent().unwrap()).unwrap();
    std::fs::write(rows_file(KNOWN), text).unwrap();
}
