//! What searches the documents of agents, and groups the questions of their visitors.

use std::sync::Arc;

use conversations::storage::ConversationStorage;
use conversations::{QuestionGrouper, Retriever};
use responders::{BuiltInEmbedder, Embedder, Grouper, IndexSettings, KnowledgeIndex};

use crate::ports::{SystemClock, TokioSpawner};

/// A retriever and a grouper.
#[derive(Clone)]
pub struct Search {
    /// Finds passages.
    pub retriever: Arc<dyn Retriever>,
    /// Groups questions.
    pub grouper: Arc<dyn QuestionGrouper>,
}

impl Search {
    /// A search in what a store holds.
    #[must_use]
    pub fn new(storage: Arc<dyn ConversationStorage>, memory_bytes: usize, embedders: Embedders) -> Self {
        let (retriever, grouper) = match embedders {
            Embedders::None => (None, None),
            Embedders::OfQuestions => (None, Some(embedder())),
            Embedders::OfAll => {
                let embedder = embedder();
                (Some(Arc::clone(&embedder)), Some(embedder))
            }
        };
        let grouper = grouper.map_or_else(Grouper::new, |embedder| Grouper::new().with_embedder(embedder));
        Search { retriever: retriever_with(storage, memory_bytes, retriever), grouper: Arc::new(grouper) }
    }
}

/// What is compared by meaning, and not by words alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embedders {
    /// Nothing.
    None,
    /// Questions with each other. The vectors of all passages take too long for a command.
    OfQuestions,
    /// Questions with each other and with passages.
    OfAll,
}

fn embedder() -> Arc<dyn Embedder> {
    Arc::new(BuiltInEmbedder::new(embedding_weights::WEIGHTS))
}

/// What finds passages in the documents of a store by words alone.
#[must_use]
pub fn retriever(storage: Arc<dyn ConversationStorage>, memory_bytes: usize) -> Arc<dyn Retriever> {
    retriever_with(storage, memory_bytes, None)
}

fn retriever_with(
    storage: Arc<dyn ConversationStorage>,
    memory_bytes: usize,
    embedder: Option<Arc<dyn Embedder>>,
) -> Arc<dyn Retriever> {
    let settings = IndexSettings { memory_bytes, ..IndexSettings::default() };
    let index = KnowledgeIndex::new(storage, Arc::new(SystemClock), settings);
    match embedder {
        Some(embedder) => Arc::new(index.with_embedder(embedder, Arc::new(TokioSpawner))),
        None => Arc::new(index),
    }
}
