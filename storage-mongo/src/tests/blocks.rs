//! Passages in blocks: the boundaries of blocks are invisible.

use ::conversations::storage::{KnowledgeStore, KnowledgeWrite};
use ::conversations::{KnowledgeDocument, Passage};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::files::Sha256Digest;
use openapi_core::storage::{AgentStore, Effects, StorageErrorKind};
use openapi_core::values::{AgentId, KnowledgeId};
use storage_common::transfer::{TransferKind, TransferRow, TransferStore};

use super::small;
use super::support::{agent_id, at, contact_id, entry, insert_agent, wait};
use crate::MongoStorage;
use crate::chat::knowledge::blocks::BLOCK_SIZE;

fn document(number: u64, passages: usize) -> KnowledgeDocument {
    KnowledgeDocument {
        id: KnowledgeId::from_bytes(*contact_id(number).as_bytes()),
        file_name: "a.txt".to_owned(),
        title: "A".to_owned(),
        url: None,
        language: None,
        content_type: "text/plain".to_owned(),
        sha256: Sha256Digest([1; 32]),
        characters: 1,
        pages: None,
        passages: passages as u32,
        source: None,
        questions: Vec::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

fn passage(position: u32) -> Passage {
    let text = format!("The {position}th.");
    Passage { position, headings: Vec::new(), page: None, start: 0, end: text.len() as u64, text }
}

/// Documents of many passages, of few, and with gaps; in the order of their passages.
async fn fill(store: &MongoStorage, agent: &AgentId) -> Vec<(KnowledgeId, Passage)> {
    let mut all = Vec::new();
    let many: Vec<u32> = (0..2 * BLOCK_SIZE + 44).collect();
    let gaps = vec![1, BLOCK_SIZE - 1, BLOCK_SIZE, 9 * BLOCK_SIZE, u32::MAX];
    let short = (0..40).map(|_| vec![0]);
    let documents: Vec<Vec<u32>> = [many, gaps].into_iter().chain(short).collect();
    for (number, positions) in (0..).zip(documents) {
        let document = document(number, positions.len());
        let id = document.id;
        let passages: Vec<Passage> = positions.into_iter().map(passage).collect();
        all.extend(passages.iter().map(|passage| (id, passage.clone())));
        let write = KnowledgeWrite {
            version: number + 1,
            remove: Vec::new(),
            add: Some((document, passages)),
            effects: Effects::audited(entry(agent, number + 1, AuditAction::KnowledgeAdd, &id.to_string())),
        };
        store.change_knowledge(agent, &write).await.unwrap();
    }
    all
}

#[test]
fn passages_are_read_across_blocks() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let a = agent_id("a");
        insert_agent(&store, &a).await;
        let all = fill(&store, &a).await;
        for at_most in [1, 7, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 1_000, u32::MAX] {
            let mut read: Vec<(KnowledgeId, Passage)> = Vec::new();
            loop {
                let after = read.last().map(|(document, passage)| (*document, passage.position));
                let some = store.passages(&a, after, at_most).await.unwrap();
                let left = all.len() - read.len();
                assert_eq!(some.len(), left.min(at_most as usize), "after {after:?}, {at_most} at most");
                if some.is_empty() {
                    break;
                }
                read.extend(some);
            }
            assert_eq!(read, all, "{at_most} at a time");
        }
        // After positions that no passage has.
        let gaps = all[300].0;
        for (after, next) in
            [((gaps, 0), 300), ((gaps, 5 * BLOCK_SIZE), 303), ((gaps, 9 * BLOCK_SIZE + 1), 304)]
        {
            let found = store.passages(&a, Some(after), 2).await.unwrap();
            assert_eq!(found, all[next..next + 2], "after {after:?}");
        }
        store.close().await;
    });
}

#[test]
fn passages_are_moved_in_any_parts() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let (a, b) = (agent_id("a"), agent_id("b"));
        insert_agent(&store, &a).await;
        insert_agent(&store, &b).await;
        fill(&store, &a).await;
        let records = store.records(&a, TransferKind::Passage, None, 10_000).await.unwrap();
        // Steps that end within a block.
        for some in records.chunks(70) {
            store.put_records(&b, some).await.unwrap();
            let last = store.last_record(&b, TransferKind::Passage).await.unwrap();
            assert_eq!(last, some.last().map(TransferRow::key));
            let refused = store.put_records(&b, &some[some.len() - 1..]).await.unwrap_err();
            assert_eq!(refused.kind, StorageErrorKind::AlreadyExists);
        }
        assert_eq!(store.records(&b, TransferKind::Passage, None, 10_000).await.unwrap(), records);
        let (middle, rest) = (records[199].key(), &records[200..250]);
        assert_eq!(store.records(&b, TransferKind::Passage, Some(&middle), 50).await.unwrap(), rest);
        store.close().await;
    });
}

#[test]
fn passages_are_purged_in_parts_of_blocks() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let a = agent_id("a");
        insert_agent(&store, &a).await;
        let all = fill(&store, &a).await;
        let mut agent = store.agent(&a).await.unwrap().unwrap();
        agent.status = AgentStatus::Deleted;
        store
            .update_agent(&agent, &Effects::audited(entry(&a, 99, AuditAction::AgentDelete, "a")))
            .await
            .unwrap();
        let left = async || store.records(&a, TransferKind::Passage, None, 10_000).await.unwrap();
        let mut before = all.len();
        while before > 0 {
            let removed = store.purge_agent(&a, 50).await.unwrap();
            let now = left().await.len();
            // Nothing else is removed before them, and the rest of a step goes to the next kind.
            assert_eq!((removed, before - now), (50, before.min(50)));
            before = now;
        }
        while store.purge_agent(&a, 50).await.unwrap() > 0 {}
        store.close().await;
    });
}
