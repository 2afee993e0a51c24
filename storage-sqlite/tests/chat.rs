//! The chat: what a check finds, what a repair fixes, what is transferred.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::sync::Arc;

use conversations::ConversationStatus;
use conversations::storage::{
    ConversationFilter, ConversationQuery, ConversationStore, KnowledgeStore, MessageSelector,
};
use openapi_core::storage::{RecordKind, RecordStore, StorageErrorKind};
use rusqlite::Connection;
use storage_common::transfer::{TransferKind, TransferRow, TransferStore};
use storage_memory::MemoryStorage;
use storage_sqlite::{FindingKind, SqliteStorage};
use support::{Folder, agent, agent_id, at, chat, contact_id, insert_agent, wait};
use testkit::conformance::chat_deeds;

fn filled(folder: &Folder) -> SqliteStorage {
    let store = folder.open();
    let agent = agent_id("a");
    insert_agent(&store, &agent);
    chat::fill(&store, &agent);
    store
}

/// Changes a file without its store.
fn spoil(folder: &Folder, sql: &str) {
    let db = Connection::open(folder.database()).unwrap();
    db.pragma_update(None, "foreign_keys", false).unwrap();
    db.execute_batch(sql).unwrap();
}

/// The number of listed conversations, by each filter.
fn listed(store: &SqliteStorage) -> Vec<u64> {
    let all = ConversationFilter::default();
    let filters = [
        ConversationFilter { status: Some(ConversationStatus::Open), ..all.clone() },
        ConversationFilter { contact: Some(contact_id(1)), ..all.clone() },
        ConversationFilter { since: Some(at(72)), ..all.clone() },
        all,
    ];
    let total = |filter| {
        let query = ConversationQuery { filter, offset: 0, limit: 9 };
        wait(store.conversations(&agent_id("a"), &query)).unwrap().total
    };
    filters.into_iter().map(total).collect()
}

#[test]
fn what_does_not_agree_is_found() {
    use FindingKind as F;
    for (sql, kind, words) in [
        ("UPDATE conversation SET status = 1", F::Keys, "listed as it is not"),
        ("UPDATE conversation SET mode = 0", F::Keys, "listed as it is not"),
        ("UPDATE conversation SET contact = NULL", F::Keys, "listed as it is not"),
        ("UPDATE conversation SET last_message_at = 1", F::Keys, "listed as it is not"),
        ("UPDATE conversation SET expires_at = 1", F::Keys, "listed as it is not"),
        ("UPDATE conversation SET version = 2", F::Keys, "listed as it is not"),
        ("UPDATE conversation SET agent_id = 'b'", F::Keys, "listed as it is not"),
        (
            "UPDATE conversation SET id = zeroblob(12) WHERE id = x'010101010101010101010101'",
            F::Record,
            "found as another one",
        ),
        ("UPDATE conversation SET body = '{}'", F::Record, "a conversation of agent a"),
        ("DELETE FROM conversation", F::Reference, "a row of message refers to a row of conversation"),
        ("UPDATE message SET seq = seq + 2", F::Record, "found as another one"),
        ("UPDATE message SET id = zeroblob(12)", F::Record, "found as another one"),
        ("UPDATE message SET turn = NULL", F::Record, "found as another one"),
        ("UPDATE message SET body = '{}'", F::Record, "a message of agent a"),
        ("UPDATE knowledge SET id = zeroblob(12)", F::Record, "found as another one"),
        ("UPDATE knowledge SET body = '{}'", F::Record, "a document of agent a"),
        ("DELETE FROM knowledge", F::Reference, "a row of passage refers to a row of knowledge"),
        ("UPDATE passage SET position = position + 2", F::Record, "at another position"),
        ("UPDATE passage SET body = '{}'", F::Record, "a passage of agent a"),
        ("UPDATE record SET body = '[]'", F::Record, "a record of agent a"),
        ("UPDATE record SET kind = 99 WHERE kind = 1", F::Record, "a record of agent a"),
    ] {
        let folder = Folder::new();
        let store = filled(&folder);
        assert_eq!(store.check().unwrap(), []);
        drop(store);
        spoil(&folder, sql);
        let store = folder.open();
        let findings = store.check().unwrap();
        let is_found = findings.iter().any(|it| it.kind == kind && it.detail.contains(words));
        assert!(is_found, "{sql}: {findings:?}");
        wait(store.repair()).unwrap();
        let left = store.check().unwrap();
        assert_eq!(left.iter().any(|it| it.kind == kind), !kind.is_repairable(), "{sql}: {left:?}");
        if kind.is_repairable() {
            chat::compare(&store, &agent_id("a"));
            assert_eq!(listed(&store), [2, 1, 2, 2], "{sql}");
        }
    }
}

#[test]
fn reading_broken_records_fails() {
    let folder = Folder::new();
    drop(filled(&folder));
    let tables = ["conversation", "message", "knowledge", "passage", "record"];
    spoil(&folder, &tables.map(|table| format!("UPDATE {table} SET body = '[';")).concat());
    let (store, agent) = (folder.open(), agent_id("a"));
    let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 1 };
    for kind in [
        wait(store.conversation(&agent, chat::conversation_id(1))).unwrap_err().kind,
        wait(store.conversations(&agent, &query)).unwrap_err().kind,
        wait(store.messages(&agent, &chat::messages(1, MessageSelector::After(0)))).unwrap_err().kind,
        wait(store.knowledge(&agent)).unwrap_err().kind,
        wait(store.passages(&agent, None, 1)).unwrap_err().kind,
        wait(store.record(Some(&agent), &RecordKind::Settings.into())).unwrap_err().kind,
    ] {
        assert_eq!(kind, StorageErrorKind::Internal);
    }
}

#[test]
fn chats_are_moved_record_by_record() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (id, ours, model) = (agent_id("a"), Arc::new(folder.open()), Arc::new(MemoryStorage::new()));
    let moved = other.open();
    insert_agent(&*ours, &id);
    insert_agent(&*model, &id);
    for seed in 0..19 {
        let since = at(100_000 + 1_000 * seed as i64);
        let outcomes = wait(chat_deeds(ours.clone(), &id, seed, since));
        assert_eq!(outcomes, wait(chat_deeds(model.clone(), &id, seed, since)));
    }
    wait(moved.put_agent(&agent(&id))).unwrap();
    for kind in [
        TransferKind::Knowledge,
        TransferKind::Passage,
        TransferKind::Conversation,
        TransferKind::Message,
        TransferKind::Record,
    ] {
        let all = wait(model.records(&id, kind, None, 1_000)).unwrap();
        assert!(all.len() > 1, "{kind}: {}", all.len());
        assert_eq!(wait(ours.last_record(&id, kind)).unwrap(), all.last().map(TransferRow::key), "{kind}");
        assert_eq!(wait(moved.last_record(&id, kind)).unwrap(), None, "{kind}");
        for (position, record) in all.iter().enumerate() {
            let after = position.checked_sub(1).map(|before| all[before].key());
            let next = wait(ours.records(&id, kind, after.as_ref(), 1)).unwrap();
            assert_eq!(next, std::slice::from_ref(record), "{kind}");
            wait(moved.put_records(&id, &next)).unwrap();
            let again = wait(moved.put_records(&id, &next)).unwrap_err().kind;
            assert_eq!(again, StorageErrorKind::AlreadyExists, "{kind}");
        }
        let end = all.last().map(TransferRow::key);
        assert_eq!(wait(ours.records(&id, kind, end.as_ref(), 9)).unwrap(), [], "{kind}");
        assert_eq!(wait(moved.records(&id, kind, None, 1_000)).unwrap(), all, "{kind}");
        let nobody = wait(moved.put_records(&agent_id("nobody"), &all)).unwrap_err().kind;
        assert_eq!(nobody, StorageErrorKind::Missing);
    }
    // Every read finds the transferred records, and writes continue.
    assert_eq!(moved.check().unwrap(), []);
    let outcomes = |store: Arc<SqliteStorage>| {
        let mut outcomes = wait(chat_deeds(store, &id, 99, at(200_000)));
        // The last one contains the audit log, which was not transferred.
        outcomes.pop();
        outcomes
    };
    assert_eq!(outcomes(ours), outcomes(Arc::new(moved)));
}
