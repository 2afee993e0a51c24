//! The indexes of agents over a store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use conversations::{Question, Retriever as _};
use openapi_core::ports::FixedClock;
use openapi_core::values::{AgentId, PlatformId};
use responders::{EmbedError, Embedder, IndexSettings, KnowledgeIndex, TextRole};

use crate::store::Store;
use crate::{NOW, agent};

struct World {
    store: Arc<Store>,
    clock: Arc<FixedClock>,
    index: KnowledgeIndex,
}

fn world(settings: IndexSettings) -> World {
    let store = Arc::new(Store::default());
    store.add("opening.md", None, "# Opening hours\n\nThe shop is open from nine to five.");
    let clock = Arc::new(FixedClock::at(NOW));
    let index = KnowledgeIndex::new(store.clone(), clock.clone(), settings);
    World { store, clock, index }
}

impl World {
    fn found(&self, question: &str) -> usize {
        let question = Question { text: question.to_owned(), before: None, locale: "en".to_owned() };
        pollster::block_on(self.index.retrieve(&agent(), &question, 6)).expect("it is read").passages.len()
    }

    fn readings(&self) -> usize {
        self.store.readings.load(Ordering::SeqCst)
    }
}

#[test]
fn it_is_made_once_and_follows_changes_within_five_seconds() {
    let world = world(IndexSettings::default());
    assert_eq!((world.found("When is the shop open?"), world.found("parcels")), (1, 0));
    assert_eq!(world.readings(), 1);
    world.store.add("parcels.md", None, "# Parcels\n\nParcels are sent on Fridays.");
    world.clock.advance_millis(3_999);
    assert_eq!(world.found("parcels"), 0);
    world.clock.advance_millis(1);
    assert_eq!(world.found("parcels"), 1);
    assert_eq!(world.readings(), 2);
    // What has not changed is not read again.
    for _ in 0..5 {
        world.clock.advance_millis(10_000);
        assert_eq!(world.found("parcels"), 1);
    }
    assert_eq!(world.readings(), 2);
    // A clock that was set back proves nothing: the store is asked.
    world.clock.advance_millis(-3_600_000);
    world.store.add("returns.md", None, "# Returns\n\nReturns are free.");
    assert_eq!(world.found("returns"), 1);
}

#[test]
fn many_who_ask_at_once_wait_for_one_index() {
    let world = world(IndexSettings::default());
    let agent = agent();
    let all = futures_util::future::join_all((0..20).map(|_| world.index.index(&agent)));
    assert!(pollster::block_on(all).into_iter().all(|index| index.is_ok_and(|index| index.len() == 1)));
    assert_eq!(world.readings(), 1);
}

#[test]
fn agents_that_were_not_asked_for_longest_are_dropped() {
    let other = |number: u8| AgentId::from(PlatformId::new(NOW, [number; 8]));
    let world = world(IndexSettings::default());
    let size = pollster::block_on(world.index.index(&agent())).expect("an index").bytes() + 1_024;
    let settings = IndexSettings { memory_bytes: size * 3 + size / 2, ..IndexSettings::default() };
    let index = KnowledgeIndex::new(world.store.clone(), world.clock.clone(), settings);
    let readings = |agent: u8| {
        let before = world.readings();
        pollster::block_on(index.index(&other(agent))).expect("an index");
        world.readings() - before
    };
    let made: Vec<usize> = [1, 2, 3, 1, 4, 1, 3, 2, 4].into_iter().map(readings).collect();
    // With 4 the second is dropped, with 2 then the fourth.
    assert_eq!(made, [1, 1, 1, 0, 1, 0, 0, 1, 1]);
    assert_eq!(index.cached(), 3);
    // An index larger than the whole cache stays cached until another one is requested.
    let index = KnowledgeIndex::new(
        world.store.clone(),
        world.clock.clone(),
        IndexSettings { memory_bytes: 1, ..settings },
    );
    for agent in [1, 1, 2] {
        pollster::block_on(index.index(&other(agent))).expect("an index");
        assert_eq!(index.cached(), 1);
    }
}

#[test]
fn a_store_that_fails_is_said_to_and_asked_again() {
    let world = world(IndexSettings::default());
    let question = Question { text: "open".to_owned(), before: None, locale: "en".to_owned() };
    world.store.is_broken.store(true, Ordering::SeqCst);
    assert!(pollster::block_on(world.index.retrieve(&agent(), &question, 3)).is_err());
    world.store.is_broken.store(false, Ordering::SeqCst);
    assert_eq!(world.found("open"), 1);
    world.store.is_broken.store(true, Ordering::SeqCst);
    assert_eq!(world.found("open"), 1, "within four seconds nothing is asked of the store");
    world.clock.advance_millis(4_000);
    assert!(pollster::block_on(world.index.retrieve(&agent(), &question, 3)).is_err());
}

/// An embedder that knows three subjects, and counts the passages that it is given.
#[derive(Default)]
struct Subjects {
    passages: std::sync::atomic::AtomicUsize,
    is_broken: std::sync::atomic::AtomicBool,
}

#[async_trait::async_trait]
impl Embedder for Subjects {
    fn name(&self) -> &str {
        "subjects"
    }

    fn dimension(&self) -> usize {
        3
    }

    async fn embed(&self, role: TextRole, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("it is broken".to_owned()));
        }
        if role == TextRole::Passage {
            self.passages.fetch_add(texts.len(), Ordering::SeqCst);
        }
        let subjects = [["swap", "exchange"], ["evening", "open"], ["post", "parcel"]];
        let vector = |text: &String| {
            let text = text.to_lowercase();
            subjects
                .map(|words| if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.1 })
                .to_vec()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// Runs what computes vectors when a test wants it.
#[derive(Default)]
struct Later(parking_lot::Mutex<Vec<openapi_core::ports::Task>>);

impl openapi_core::ports::Spawner for Later {
    fn spawn(&self, task: openapi_core::ports::Task) {
        self.0.lock().push(task);
    }
}

impl Later {
    fn run(&self) {
        let tasks = std::mem::take(&mut *self.0.lock());
        tasks.into_iter().for_each(pollster::block_on);
    }
}

#[test]
fn words_answer_until_the_vectors_are_there_and_when_the_embedder_fails() {
    let mut world = world(IndexSettings::default());
    world.store.add("exchanges.md", None, "# Exchanges\n\nSend it back for another size.");
    world.store.add("parcels.md", None, "# Parcels\n\nParcels are sent on Fridays.");
    let (embedder, later) = (Arc::new(Subjects::default()), Arc::new(Later::default()));
    let index = KnowledgeIndex::new(world.store.clone(), world.clock.clone(), IndexSettings::default());
    world.index = index.with_embedder(embedder.clone(), later.clone());
    let first = |world: &World| {
        let question =
            Question { text: "May I swap these?".to_owned(), before: None, locale: "en".to_owned() };
        let found = pollster::block_on(world.index.retrieve(&agent(), &question, 6)).expect("it is read");
        found.passages.first().map(|passage| passage.text.clone())
    };
    assert_eq!(first(&world), None);
    later.run();
    assert_eq!(first(&world).as_deref(), Some("Send it back for another size."));
    assert_eq!(embedder.passages.load(Ordering::SeqCst), 3);
    // A failing embedder takes nothing away but meaning.
    embedder.is_broken.store(true, Ordering::SeqCst);
    assert_eq!((first(&world), world.found("parcels")), (None, 1));
    embedder.is_broken.store(false, Ordering::SeqCst);
    // Only what has changed is computed again.
    world.store.add("returns.md", None, "# Returns\n\nReturns are free.");
    world.clock.advance_millis(5_000);
    assert_eq!(first(&world), None);
    later.run();
    assert_eq!(first(&world).as_deref(), Some("Send it back for another size."));
    assert_eq!(embedder.passages.load(Ordering::SeqCst), 4);
}

#[test]
fn an_agent_has_its_own_documents_only_whole_or_searched() {
    let world = world(IndexSettings::default());
    let other = AgentId::from(PlatformId::new(NOW, [9; 8]));
    world.store.add_of(Some(&other), "safe.md", None, "# Safe\n\nThe safe is opened with 4711.");
    let texts = |agent: &AgentId| {
        let whole = pollster::block_on(world.index.whole(agent, 1_000)).expect("it is read");
        let whole = whole.expect("they are few").into_iter().map(|passage| passage.text).collect::<Vec<_>>();
        let question = Question { text: "How is the safe opened?".to_owned(), ..Question::default() };
        let found = pollster::block_on(world.index.retrieve(agent, &question, 6)).expect("it is read");
        (whole.concat(), found.passages.into_iter().map(|passage| passage.text).collect::<String>())
    };
    let (whole, found) = texts(&other);
    let (hours, safe) = (whole.find("from nine to five"), whole.find("4711"));
    assert!(hours.is_some() && hours < safe, "in the order of the documents: {whole}");
    assert!(found.contains("4711"));
    let (whole, found) = texts(&agent());
    assert!(whole.contains("from nine to five") && !whole.contains("4711") && !found.contains("4711"));
    // What is longer than asked for is not given in part.
    assert!(pollster::block_on(world.index.whole(&agent(), whole.len())).expect("it is read").is_some());
    assert!(pollster::block_on(world.index.whole(&agent(), whole.len() - 1)).expect("it is read").is_none());
}
