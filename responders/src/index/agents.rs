//! A cache of the indexes of all agents, built on demand and bounded by memory.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use conversations::storage::KnowledgeStore;
use conversations::{FoundPassage, Question, RetrieveError, Retrieved, Retriever};
use openapi_core::ports::{Clock, Spawner};
use openapi_core::storage::{RecordKind, StorageError};
use openapi_core::values::{AgentId, Timestamp};
use parking_lot::Mutex;

use super::vectors::Known;
use super::{Index, IndexBuilder, meaning};
use crate::embedder::{Embedder, TextRole};

/// The number of passages in one read of the store.
const PAGE: u32 = 200;
/// How often the index reads the passages again when they change meanwhile.
const MAX_READINGS: usize = 3;
/// The size of an empty index.
const EMPTY_BYTES: usize = 1_024;

/// How the cache behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// The maximum size of all indexes in bytes; the least recently used ones are
    /// evicted beyond it. The cache never evicts the index that was used last. Default: 256 MiB.
    pub memory_bytes: usize,
    /// The time in milliseconds after which an index is compared with the store. Default: 4,000, so a change
    /// is visible within 5 s.
    pub trusted_millis: i64,
}

impl Default for IndexSettings {
    fn default() -> Self {
        IndexSettings { memory_bytes: 256 << 20, trusted_millis: 4_000 }
    }
}

/// An index and the version it was built from.
struct Built {
    index: Arc<Index>,
    /// The version of the agent's knowledge.
    version: u64,
    /// When that was last seen to be the stored one.
    checked_at: Timestamp,
}

#[derive(Clone, Default)]
struct Slot {
    /// Held while the index is built, so that concurrent callers build it once.
    built: Arc<async_lock::Mutex<Option<Built>>>,
    /// The vectors of its passages, for the next index that has some of them too.
    known: Arc<Mutex<Known>>,
    /// Held while vectors are computed.
    filling: Arc<async_lock::Mutex<()>>,
    bytes: usize,
    /// The number of its last use.
    last_use: u64,
}

#[derive(Default)]
struct Slots {
    by_agent: HashMap<AgentId, Slot>,
    uses: u64,
}

/// Finds passages in the stored documents of agents.
///
/// The first search for an agent builds its index from the store; concurrent searches share it. It follows
/// changes by any process within 5 s. It needs no thread and no runtime: the work happens in
/// the future of the caller. With an embedder it searches by meaning too: the vectors of the passages are computed in the
/// background, while words answer.
pub struct KnowledgeIndex {
    store: Arc<dyn KnowledgeStore>,
    clock: Arc<dyn Clock>,
    settings: IndexSettings,
    slots: Mutex<Slots>,
    meaning: Option<Meaning>,
}

/// What makes a search go by meaning.
struct Meaning {
    embedder: Arc<dyn Embedder>,
    spawner: Arc<dyn Spawner>,
}

impl KnowledgeIndex {
    /// Indexes over what `store` holds.
    #[must_use]
    pub fn new(store: Arc<dyn KnowledgeStore>, clock: Arc<dyn Clock>, settings: IndexSettings) -> Self {
        KnowledgeIndex { store, clock, settings, slots: Mutex::default(), meaning: None }
    }

    /// The same, searching by meaning too. `spawner` runs what computes vectors; where it drops that, words alone answer.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>, spawner: Arc<dyn Spawner>) -> Self {
        self.meaning = Some(Meaning { embedder, spawner });
        self
    }

    /// The number of cached indexes.
    #[must_use]
    pub fn cached(&self) -> usize {
        self.slots.lock().by_agent.len()
    }

    /// The index of an agent, as stored at most some seconds ago.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn index(&self, agent: &AgentId) -> Result<Arc<Index>, StorageError> {
        let slot = self.slot(agent);
        let mut built = slot.built.lock().await;
        let now = self.clock.now();
        if let Some(built) = &mut *built {
            let age = now.millis().saturating_sub(built.checked_at.millis());
            // A clock that was set back proves nothing.
            if (0..self.settings.trusted_millis).contains(&age) {
                return Ok(built.index.clone());
            }
            if self.version(agent).await? == built.version {
                built.checked_at = now;
                return Ok(built.index.clone());
            }
        }
        let made = self.build(agent, now).await?;
        let index = made.index.clone();
        *built = Some(made);
        drop(built);
        // The vectors are there twice: in the index, and to be taken over by the next one.
        let of_vectors =
            self.meaning.as_ref().map_or(0, |meaning| meaning.embedder.dimension() * 2 * size_of::<i16>());
        self.keep(agent, index.bytes() + index.parts() * of_vectors);
        self.fill(agent, &index, slot.known.clone(), slot.filling.clone());
        Ok(index)
    }

    /// Starts to compute the vectors of an index.
    fn fill(
        &self,
        agent: &AgentId,
        index: &Arc<Index>,
        known: Arc<Mutex<Known>>,
        filling: Arc<async_lock::Mutex<()>>,
    ) {
        let Some(Meaning { embedder, spawner }) = &self.meaning else { return };
        if index.parts() == 0 {
            return;
        }
        let (embedder, index, agent) = (embedder.clone(), Arc::downgrade(index), agent.to_string());
        spawner.spawn(Box::pin(async move {
            let _only_one = filling.lock().await;
            if let Err(error) = meaning::fill(&index, embedder.as_ref(), &known, &agent).await {
                tracing::warn!(agent, %error, "an agent's documents are searched by words alone until they change");
            }
        }));
    }

    fn slot(&self, agent: &AgentId) -> Slot {
        let mut slots = self.slots.lock();
        slots.uses += 1;
        let last_use = slots.uses;
        let slot = slots.by_agent.entry(agent.clone()).or_default();
        slot.last_use = last_use;
        slot.clone()
    }

    /// Counts a new index, and drops others until all are within the limit.
    fn keep(&self, agent: &AgentId, bytes: usize) {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.by_agent.get_mut(agent) {
            slot.bytes = bytes + EMPTY_BYTES;
        }
        let mut total: usize = slots.by_agent.values().map(|slot| slot.bytes).sum();
        while total > self.settings.memory_bytes {
            // One whose index is being made has no bytes yet, and would be made once more.
            let others = slots.by_agent.iter().filter(|(other, slot)| *other != agent && slot.bytes > 0);
            let Some((oldest, bytes)) = others
                .min_by_key(|(_, slot)| slot.last_use)
                .map(|(oldest, slot)| (oldest.clone(), slot.bytes))
            else {
                return;
            };
            total -= bytes;
            slots.by_agent.remove(&oldest);
        }
    }

    async fn version(&self, agent: &AgentId) -> Result<u64, StorageError> {
        let record = self.store.record(Some(agent), &RecordKind::Knowledge.into()).await?;
        Ok(record.map_or(0, |record| record.version))
    }

    async fn build(&self, agent: &AgentId, now: Timestamp) -> Result<Built, StorageError> {
        let mut version = self.version(agent).await?;
        let mut readings = 1;
        loop {
            let index = self.read(agent).await?;
            let after = self.version(agent).await?;
            if after == version || readings == MAX_READINGS {
                // Of an agent that changes all the time the older version is noted, so that it is read again soon.
                return Ok(Built { index: Arc::new(index), version, checked_at: now });
            }
            version = after;
            readings += 1;
        }
    }

    async fn read(&self, agent: &AgentId) -> Result<Index, StorageError> {
        let mut builder = IndexBuilder::new(self.store.knowledge(agent).await?);
        let mut after = None;
        loop {
            let page = self.store.passages(agent, after, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            after = page.last().map(|(document, passage)| (*document, passage.position));
            for (document, passage) in page {
                builder.add(document, passage);
            }
            if is_last || after.is_none() {
                return Ok(builder.finish());
            }
            // Other tasks on this thread run between two pages.
            let mut has_waited = false;
            poll_fn(|context| {
                if std::mem::replace(&mut has_waited, true) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }
}

#[async_trait]
impl Retriever for KnowledgeIndex {
    async fn retrieve(
        &self,
        agent: &AgentId,
        question: &Question,
        at_most: usize,
    ) -> Result<Retrieved, RetrieveError> {
        let index = self.index(agent).await?;
        if let Some(meaning) = self.meaning.as_ref().filter(|_| index.has_meaning()) {
            let texts = index.texts_to_search(question);
            match meaning.embedder.embed(TextRole::Question, texts).await {
                Ok(vectors) => return Ok(index.retrieve(question, &vectors, at_most)),
                Err(error) => tracing::warn!(%agent, %error, "a question is searched by words alone"),
            }
        }
        Ok(index.retrieve(question, &[], at_most))
    }

    async fn whole(
        &self,
        agent: &AgentId,
        most_bytes: usize,
    ) -> Result<Option<Vec<FoundPassage>>, RetrieveError> {
        Ok(self.index(agent).await?.whole(most_bytes))
    }
}
