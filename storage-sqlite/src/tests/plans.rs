//! Every list uses its index, by SQLite's own account of each statement.

use conversations::storage::{ConversationFilter, ConversationStorage, KnowledgeWrite, MessageSelector};
use conversations::{ConversationMode, ConversationStatus};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditAction;
use openapi_core::events::{EventActor, EventData, NewEvent};
use openapi_core::forms::SubmissionStatus;
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactSort, CreditWrite, Effects, LedgerQuery, Order, RecordChange, RecordKey,
    RecordKind, RecordsWrite, SortKey, SortPosition, StoredRecord, Subject, SubmissionFilter,
    SubmissionPosition, Window,
};
use openapi_core::values::{ContactId, ContactStatus, PlatformId};
use rusqlite::Connection;
use testkit::conformance::{Backend, compare_forms};

use super::support::backend::File;
use super::support::forms::{submission_id, template_id};
use super::support::{
    Folder, agent, agent_id, at, chat, contact, contact_id, entry, extraction, insert_agent, wait, write,
};
use crate::chat::conversations::Chosen as ChosenConversations;
use crate::contacts::{IndexScan, ScanOrder, ScanPart, View, sort_column};
use crate::forms::Chosen;

/// The lines of a plan.
fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get(3).unwrap());
    }
    lines
}

/// Fails when a plan sorts, reads a whole table or builds an index.
fn refuse_detours(sql: &str, plan: &[String]) {
    for line in plan {
        // A list of candidates is read as a whole, and the log of all agents in the order of its key.
        let is_wanted = line.contains("VIRTUAL TABLE")
            || ["SCAN s", "SCAN audit", "SCAN (subquery-1)"].contains(&line.as_str());
        let reads_all = line.starts_with("SCAN") && !is_wanted;
        assert!(
            !reads_all && !line.contains("TEMP B-TREE") && !line.contains("AUTOMATIC"),
            "{line}\nin {plan:#?}\nof {sql}"
        );
    }
}

#[test]
fn lists_walk_along_their_index() {
    let folder = Folder::new();
    drop(folder.open());
    let db = Connection::open(folder.database()).unwrap();
    let views = [
        ContactFilter::default(),
        ContactFilter { include_archived: true, ..ContactFilter::default() },
        ContactFilter { status: Some(ContactStatus::Blocked), ..ContactFilter::default() },
        ContactFilter {
            status: Some(ContactStatus::Active),
            include_archived: true,
            ..ContactFilter::default()
        },
    ];
    let mut statements = 0;
    for sort in ContactSort::ALL {
        let column = sort_column(sort);
        let is_time = matches!(sort, ContactSort::CreatedAt | ContactSort::UpdatedAt);
        let mut positions =
            vec![if is_time { SortKey::Time(at(0)) } else { SortKey::Text(Some("m".into())) }];
        if matches!(sort, ContactSort::FirstName | ContactSort::LastName) {
            positions.push(SortKey::Text(None));
        }
        let positions: Vec<SortPosition> =
            positions.into_iter().map(|key| SortPosition { key, id: contact_id(1) }).collect();
        for order in [Order::Ascending, Order::Descending] {
            for filter in &views {
                let view = View::of(filter);
                let mut alongs =
                    vec![(ScanOrder::Sort, format!("USING COVERING INDEX contact_key_by_{column}"))];
                if is_time {
                    alongs
                        .push((ScanOrder::Since(0), format!("USING COVERING INDEX contact_key_by_{column}")));
                }
                if sort == ContactSort::CreatedAt {
                    alongs.push((
                        ScanOrder::Tag("vip"),
                        "USING PRIMARY KEY (agent=? AND tag=? AND archived=?".to_owned(),
                    ));
                }
                for (along, index) in alongs {
                    let mut parts =
                        vec![ScanPart::Page { offset: 0, limit: 20 }, ScanPart::All { following: None }];
                    for position in &positions {
                        parts.push(ScanPart::After { position, skip: 3, limit: 20 });
                        parts.push(ScanPart::All { following: Some(position) });
                    }
                    for part in parts {
                        let scan = IndexScan::new(1, view, sort, order, along, part);
                        let plan = plan(&db, &scan.sql);
                        refuse_detours(&scan.sql, &plan);
                        let searches: Vec<_> =
                            plan.iter().filter(|line| line.starts_with("SEARCH")).collect();
                        assert!(!searches.is_empty());
                        for line in searches {
                            assert!(line.contains(&index), "{line} of {}", scan.sql);
                            assert!(line.contains("archived=? AND status=?"), "{line} of {}", scan.sql);
                        }
                        statements += 1;
                    }
                }
            }
        }
    }
    assert!(statements > 200, "{statements}");
}

/// All statements about credits and documents.
fn charge_and_keep(store: &dyn ConversationStorage) {
    let id = agent_id("charged");
    let agent = agent(&id);
    let schema = ContactSchema::builtin(id.clone(), at(0));
    wait(store.insert_agent(
        &agent,
        &schema,
        &Effects::audited(entry(&id, 1, AuditAction::AgentCreate, "charged")),
    ))
    .unwrap();
    let (account, first) = (extraction::account(), extraction::entry());
    let write = CreditWrite {
        at: at(1),
        account: Some(account),
        entry: Some(first.clone()),
        effects: Effects::default(),
        document: None,
    };
    wait(store.save_credits(&id, &write)).unwrap();
    assert!(wait(store.credit_account(&id)).unwrap().is_some());
    for before in [None, Some((first.at, PlatformId::from_bytes([255; 12])))] {
        let query = LedgerQuery { agent: id.clone(), before, limit: 9 };
        assert_eq!(wait(store.credit_entries(&query)).unwrap().len(), 1);
    }
    for number in 1..=3 {
        wait(store.save_credits(&id, &extraction::keeping(number))).unwrap();
    }
    let key = |number| BlobKey::new(id.clone(), extraction::document(number).id);
    wait(store.remove_blob_records(&[key(1)])).unwrap();
    assert!(wait(store.document(&id, key(2).file)).unwrap().is_some());
    assert_eq!(wait(store.documents(&id, Some(key(2).file), 9)).unwrap().len(), 1);
    assert_eq!(wait(store.existing_blobs(&[key(3), key(4)])).unwrap(), [true, false]);
    wait(store.remove_blob_records(&[key(2)])).unwrap();
    let gone = Agent { status: AgentStatus::Deleted, ..agent };
    wait(store.update_agent(&gone, &Effects::audited(entry(&id, 3, AuditAction::AgentDelete, "charged"))))
        .unwrap();
    // The schema, the account, its entry, a document and two payloads.
    assert_eq!(wait(store.purge_agent(&id, 100)).unwrap(), 6);
}

/// All statements about the chat, except the lists of conversations.
fn chat_with(store: &dyn ConversationStorage) {
    let id = agent_id("chatting");
    insert_agent(store, &id);
    chat::fill(store, &id);
    chat::compare(store, &id);
    let (first, turn) = (chat::message(1), "turn".to_owned());
    for (which, count) in [
        (MessageSelector::Before(9), 2),
        (MessageSelector::Id(first.id), 1),
        (MessageSelector::Turn(turn), 2),
    ] {
        assert_eq!(wait(store.messages(&id, &chat::messages(1, which))).unwrap().len(), count);
    }
    assert_eq!(wait(store.passages(&id, Some((chat::document().id, 0)), 9)).unwrap().len(), 1);
    assert_eq!(wait(store.expired_conversations(at(7_000), 9)).unwrap().len(), 2);
    let schema = ContactSchema::builtin(id.clone(), at(0));
    wait(store.insert_contact(&id, &write(&contact(&id, 1), &schema, 80))).unwrap();
    let audit = entry(&id, 81, AuditAction::ContactErase, "contact");
    wait(store.erase_contact(&id, contact_id(1), audit.at, &Effects::audited(audit))).unwrap();
    let audit = entry(&id, 82, AuditAction::ConversationErase, "conversation");
    wait(store.erase_conversation(&id, chat::conversation_id(2), audit.at, &Effects::audited(audit)))
        .unwrap();
    let audit = entry(&id, 83, AuditAction::KnowledgeRemove, "document");
    let removal = KnowledgeWrite {
        version: 2,
        remove: vec![chat::document().id],
        add: None,
        effects: Effects::audited(audit),
    };
    wait(store.change_knowledge(&id, &removal)).unwrap();
    let gone = Agent { status: AgentStatus::Deleted, ..agent(&id) };
    wait(store.update_agent(&gone, &Effects::audited(entry(&id, 84, AuditAction::AgentDelete, "chatting"))))
        .unwrap();
    while wait(store.purge_agent(&id, 100)).unwrap() > 0 {}
}

/// All statements about records and event logs, except the list of records of all agents.
fn record_and_log(store: &dyn ConversationStorage) {
    let id = agent_id("logging");
    let schema = insert_agent(store, &id);
    wait(store.insert_contact(&id, &write(&contact(&id, 1), &schema, 2))).unwrap();
    let event = |number: u8, contact: Option<ContactId>| NewEvent {
        id: PlatformId::from_bytes([number; 12]),
        at: at(i64::from(number)),
        actor: EventActor::Operator,
        contact,
        data: EventData::AgentConfigured {},
    };
    let kind = RecordKind::RateLimitWindow;
    let record = |version| StoredRecord {
        key: RecordKey::new(kind, PlatformId::from_bytes([1; 12])),
        subject: Some(Subject::Contact(contact_id(1))),
        unique: Some([1; 32]),
        due_at: Some(at(1)),
        ..StoredRecord::single(kind, version, RawObject::default())
    };
    for (scope, effects) in [
        (Some(&id), Effects { events: (1..4).map(|n| event(n, None)).collect(), ..Effects::default() }),
        (None, Effects::default()),
    ] {
        for version in 1..=2 {
            let write = RecordsWrite::save(record(version), effects.clone());
            wait(store.save_records(scope, &write)).unwrap();
        }
        assert!(wait(store.record(scope, &record(1).key)).unwrap().is_some());
        assert!(wait(store.record_by_unique(scope, kind, &[1; 32])).unwrap().is_some());
        assert_eq!(wait(store.records_of(scope, kind, None, 9)).unwrap().len(), 1);
        assert_eq!(wait(store.records_of(scope, kind, Some(&record(1).key.id), 9)).unwrap(), []);
    }
    assert_eq!(wait(store.due_records(kind, at(1), 9)).unwrap().len(), 2);
    let write = RecordsWrite {
        changes: Vec::new(),
        effects: Effects::default().with_event(event(9, Some(contact_id(1)))),
    };
    wait(store.save_records(Some(&id), &write)).unwrap();
    wait(store.erase_contact(&id, contact_id(1), at(9), &Effects::default())).unwrap();
    let change = RecordChange::Remove { key: record(1).key, version: 2 };
    wait(store.save_records(None, &RecordsWrite { changes: vec![change], ..RecordsWrite::default() }))
        .unwrap();
    let _listening = store.notifier().subscribe(&id);
    let effects = Effects::default().with_event(event(9, None));
    wait(store.save_records(Some(&id), &RecordsWrite { changes: Vec::new(), effects })).unwrap();
    assert_eq!(wait(store.log(&id, 0, 9)).unwrap().head, 8);
    assert_eq!(wait(store.log_heads(std::slice::from_ref(&id))).unwrap(), [8]);
    assert_eq!(wait(store.sweep_log(&id, at(9), 2)).unwrap(), 2);
    while wait(store.scrub_logs(1)).unwrap() > 0 {}
    let gone = Agent { status: AgentStatus::Deleted, ..agent(&id) };
    wait(store.update_agent(&gone, &Effects::audited(entry(&id, 84, AuditAction::AgentDelete, "logging"))))
        .unwrap();
    while wait(store.purge_agent(&id, 100)).unwrap() > 0 {}
}

#[test]
fn every_other_statement_finds_its_rows_by_key() {
    let watched = Folder::new();
    super::statements::watch(watched.database());
    super::model::run(&watched, 11, 300);
    // Statements of a check are exempt.
    let mut backend = File::new(watched);
    backend.is_checked = false;
    compare_forms(&mut backend, 0, 3, 600);
    charge_and_keep(&*backend.storage());
    chat_with(&*backend.storage());
    record_and_log(&*backend.storage());
    let seen = super::statements::seen();
    let folder = Folder::new();
    drop(folder.open());
    let db = Connection::open(folder.database()).unwrap();
    // Rarely read as a whole, and small: all agents by age, and the number of contacts that wait for the search index.
    // A migration reads the audit log once. Few contacts wait for their events to be emptied.
    let whole = [
        "FROM audit ORDER BY agent, at, id",
        "FROM agent WHERE status <> 2 ORDER BY created_at",
        "FROM search_pending",
        "FROM agent LIMIT 1",
        "FROM log_erased ORDER BY",
        "count(*) FROM log_erased",
        "max(n)",
    ];
    for of in [
        "credit_account",
        "credit_entry",
        "document",
        "conversation",
        "message",
        "knowledge",
        "passage",
        "FROM record",
        "FROM log",
    ] {
        assert!(seen.iter().filter(|sql| sql.contains(of)).count() >= 4, "of {of} little was asked");
    }
    let (mut held, mut leaps, mut heads) = (0, 0, 0);
    for sql in &seen {
        let is_own = ["SELECT", "INSERT", "UPDATE", "DELETE"].iter().any(|verb| sql.starts_with(verb));
        // SQLite's own statements for the search index name the schema of their tables.
        if is_own
            && !sql.contains("'main'")
            && !sql.contains("sqlite_")
            && !whole.iter().any(|part| sql.contains(part))
        {
            let plan = plan(&db, sql);
            refuse_detours(sql, &plan);
            held += 1;
            // Seeks to a deep page never read the table, and have both bounds.
            if sql.contains("OFFSET :skip") || sql.starts_with("SELECT count(*) FROM contact_") {
                let [line] = plan.as_slice() else { panic!("{plan:#?} of {sql}") };
                let index = line.contains("USING COVERING INDEX contact_key_by_")
                    || line.contains("contact_tag USING PRIMARY KEY");
                let bounds = [" > (:", " < (:"].iter().filter(|bound| sql.contains(*bound)).count();
                assert!(index && line.contains("archived=? AND status=?"), "{line} of {sql}");
                assert_eq!(line.matches("(").count(), 1 + 2 * bounds, "{line} of {sql}");
                leaps += 1;
            }
            // Superseded submissions are not skipped on the way to the heads.
            if sql.contains("s.submitted_at IS NOT NULL") || sql.contains(" AND submitted_at IS NOT NULL") {
                let index =
                    "INDEX form_submission_head (agent=? AND contact=? AND template=? AND submitted_at>?)";
                assert!(plan[0].ends_with(index), "{plan:#?} of {sql}");
                heads += 1;
            }
        }
    }
    assert!(held > 100 && leaps > 50, "{held} with {leaps} leaps of {} statements", seen.len());
    // A read, a read of the latest, the check of a write, and superseding.
    assert_eq!(heads, 4);
}

#[test]
fn lists_of_submissions_walk_along_their_index() {
    let folder = Folder::new();
    drop(folder.open());
    let db = Connection::open(folder.database()).unwrap();
    let position = SubmissionPosition { created_at: at(0), id: submission_id(1) };
    let mut statements = 0;
    for bits in 0..32 {
        let is_set = |bit: u32| bits >> bit & 1 == 1;
        let filter = SubmissionFilter {
            contact: is_set(0).then(|| contact_id(1)),
            template: is_set(1).then(|| template_id(1)),
            status: is_set(2).then_some(SubmissionStatus::Submitted),
            include_superseded: is_set(3),
            client_id: is_set(4).then(|| "practice-7".to_owned()),
        };
        let (index, of) = match (filter.contact, filter.include_superseded) {
            (None, _) => ("form_submission_by_created_at", "agent=?"),
            (Some(_), true) => ("form_submission_by_contact", "agent=? AND contact=?"),
            (Some(_), false) => ("form_submission_by_contact_current", "agent=? AND contact=?"),
        };
        let (first, next) = (Window::Page { offset: 3, limit: 20 }, Window::After { position, limit: 20 });
        let chosen = || Chosen::of(1, &filter);
        for (sql, rest) in [
            (chosen().count(), ""),
            (chosen().page(&first).0, ""),
            (chosen().page(&next).0, " AND (created_at,id)<(?,?)"),
        ] {
            // Only the page's own rows are read, unless the filter contains the caller's reference.
            let covering = sql.starts_with("SELECT count") && filter.client_id.is_none();
            let covering = if covering { "COVERING " } else { "" };
            let plan = plan(&db, &sql);
            refuse_detours(&sql, &plan);
            assert_eq!(plan[0], format!("SEARCH s USING {covering}INDEX {index} ({of}{rest})"), "{sql}");
            statements += 1;
        }
    }
    assert_eq!(statements, 96);
}

#[test]
fn lists_of_conversations_walk_along_their_index() {
    let folder = Folder::new();
    drop(folder.open());
    let db = Connection::open(folder.database()).unwrap();
    let mut statements = 0;
    for bits in 0..16 {
        let is_set = |bit: u32| bits >> bit & 1 == 1;
        let filter = ConversationFilter {
            contact: is_set(0).then(|| contact_id(1)),
            since: is_set(1).then(|| at(0)),
            status: is_set(2).then_some(ConversationStatus::Open),
            mode: is_set(3).then_some(ConversationMode::Human),
        };
        let (index, of) = match filter.contact {
            None => ("conversation_by_last_message", "agent=?"),
            Some(_) => ("conversation_by_contact", "agent=? AND contact=?"),
        };
        let since = if filter.since.is_some() { " AND last_message_at>?" } else { "" };
        let chosen = ChosenConversations::of(1, &filter);
        // A total is counted in the index alone, whatever the filter.
        for (sql, covering) in [(chosen.count(), "COVERING "), (chosen.page(), "")] {
            let plan = plan(&db, &sql);
            refuse_detours(&sql, &plan);
            assert_eq!(plan, [format!("SEARCH c USING {covering}INDEX {index} ({of}{since})")], "{sql}");
            statements += 1;
        }
    }
    assert_eq!(statements, 32);
}
