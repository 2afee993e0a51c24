//! Single contacts kept in memory, for stores that can tell more cheaply whether one has changed than what it holds.

use std::fmt;
use std::hash::{Hash, Hasher};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};

use openapi_core::contacts::ContactRef;
use openapi_core::values::AgentId;

/// What an entry takes besides what it holds, in bytes: places in tables and lists.
const ENTRY: u64 = 80;

/// What a contact of usual size takes, in bytes.
const USUAL: u64 = 1_280;

/// Parts of the room that can be used at the same time.
const SHARDS: usize = 16;

/// How a contact was asked for.
#[derive(PartialEq, Eq, Hash)]
struct Reference {
    agent: AgentId,
    contact: ContactRef,
}

/// The same without owning it.
struct Asked<'a> {
    agent: &'a AgentId,
    contact: &'a ContactRef,
}

impl Hash for Asked<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As `Reference` derives it.
        self.agent.hash(state);
        self.contact.hash(state);
    }
}

impl Equivalent<Reference> for Asked<'_> {
    fn equivalent(&self, reference: &Reference) -> bool {
        *self.agent == reference.agent && *self.contact == reference.contact
    }
}

/// What a store keeps of a contact. It is cloned by each read, so that a clone is to be cheap.
pub trait CacheEntry: Clone {
    /// How much memory it takes besides its own size, in bytes.
    fn bytes(&self) -> usize;
}

#[derive(Clone)]
struct Bytes;

impl<V: CacheEntry> Weighter<Reference, V> for Bytes {
    fn weight(&self, reference: &Reference, kept: &V) -> u64 {
        let contact = match &reference.contact {
            ContactRef::Id(_) => 0,
            ContactRef::External(id) => id.as_str().len(),
        };
        ENTRY + (size_of::<Reference>() + size_of::<V>() + contact + kept.bytes()) as u64
    }
}

type Entries<V> = Cache<Reference, V, Bytes, DefaultHashBuilder, DefaultLifecycle<Reference, V>>;

/// Contacts as a store has read them, by what they were asked for; bounded by bytes. What is asked for often stays, also
/// while many others are read once.
///
/// It knows nothing of changes: the store says whether what it gets is still right, before it answers with it.
///
/// ```
/// use openapi_core::contacts::ContactRef;
/// use storage_common::{CacheEntry, ContactCache};
/// use openapi_core::values::{AgentId, ExternalId};
/// use std::sync::Arc;
///
/// #[derive(Clone)]
/// struct Row(Arc<str>);
/// impl CacheEntry for Row {
///     fn bytes(&self) -> usize {
///         self.0.len()
///     }
/// }
///
/// let cache = ContactCache::new(64 << 20);
/// let agent: AgentId = "agt_1".parse()?;
/// let ada = ContactRef::External("ada".parse::<ExternalId>()?);
/// assert!(cache.get(&agent, &ada).is_none());
/// cache.insert(&agent, &ada, Row("Ada, version 3".into()));
/// assert_eq!(&*cache.get(&agent, &ada).unwrap().0, "Ada, version 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ContactCache<V: CacheEntry> {
    entries: Entries<V>,
}

impl<V: CacheEntry> ContactCache<V> {
    /// Keeps contacts in about so many bytes; with 0 nothing is kept.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL).unwrap_or(usize::MAX).max(SHARDS * 32);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let entries = match OptionsBuilder::new()
            .shards(SHARDS)
            // So many keys of what was dropped are remembered, half of it.
            .estimated_items_capacity(items)
            .weight_capacity(bytes)
            .build()
        {
            Ok(options) => Cache::with_options(options, Bytes, hasher, lifecycle),
            // Both numbers are given.
            Err(_) => Cache::with(items, bytes, Bytes, hasher, lifecycle),
        };
        ContactCache { entries }
    }

    /// What was kept of a contact, if it is still there.
    #[must_use]
    pub fn get(&self, agent: &AgentId, contact: &ContactRef) -> Option<V> {
        self.entries.get(&Asked { agent, contact })
    }

    /// Keeps what was read, in place of what was kept of the contact before.
    pub fn insert(&self, agent: &AgentId, contact: &ContactRef, kept: V) {
        self.entries.insert(Reference { agent: agent.clone(), contact: contact.clone() }, kept);
    }

    /// Forgets all but what `stays` is true of.
    pub fn retain(&self, stays: impl Fn(&V) -> bool) {
        self.entries.retain(|_, kept| stays(kept));
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.entries.clear();
    }

    /// How many entries there are: a contact that was read by either of its ids has two.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<V: CacheEntry> fmt::Debug for ContactCache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContactCache").field("entries", &self.len()).finish_non_exhaustive()
    }
}
