//! Cached contacts, for stores that can check more cheaply whether a contact has changed than read it.

use std::fmt;
use std::hash::{Hash, Hasher};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};

use openapi_core::contacts::ContactRef;
use openapi_core::values::AgentId;

/// The overhead of an entry in bytes: its slots in tables and lists.
const ENTRY: u64 = 80;

/// The size of an average contact in bytes.
const USUAL: u64 = 1_280;

/// How many shards of the cache can be used at the same time.
const SHARDS: usize = 16;

/// The reference by which a contact was read.
#[derive(PartialEq, Eq, Hash)]
struct Reference {
    agent: AgentId,
    contact: ContactRef,
}

/// The same, borrowed.
struct Asked<'a> {
    agent: &'a AgentId,
    contact: &'a ContactRef,
}

impl Hash for Asked<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equal to the derived hash of `Reference`.
        self.agent.hash(state);
        self.contact.hash(state);
    }
}

impl Equivalent<Reference> for Asked<'_> {
    fn equivalent(&self, reference: &Reference) -> bool {
        *self.agent == reference.agent && *self.contact == reference.contact
    }
}

/// What a store caches of a contact. Each read clones it, so a clone must be cheap.
pub trait CacheEntry: Clone {
    /// Its size on the heap in bytes.
    fn bytes(&self) -> usize;
}

#[derive(Clone)]
struct Bytes;

impl<V: CacheEntry> Weighter<Reference, V> for Bytes {
    fn weight(&self, reference: &Reference, value: &V) -> u64 {
        let contact = match &reference.contact {
            ContactRef::Id(_) => 0,
            ContactRef::External(id) => id.as_str().len(),
        };
        ENTRY + (size_of::<Reference>() + size_of::<V>() + contact + value.bytes()) as u64
    }
}

type Entries<V> = Cache<Reference, V, Bytes, DefaultHashBuilder, DefaultLifecycle<Reference, V>>;

/// Contacts by the reference under which they were read, bounded by bytes. Frequently read ones stay, even while many
/// others are read once.
///
/// The cache does not notice changes: the store checks an entry before it uses it.
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
    /// Caches contacts in about `bytes` bytes; 0 caches nothing.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL).unwrap_or(usize::MAX).max(SHARDS * 32);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let entries = match OptionsBuilder::new()
            .shards(SHARDS)
            // The cache also remembers the keys of evicted entries, half as many as this.
            .estimated_items_capacity(items)
            .weight_capacity(bytes)
            .build()
        {
            Ok(options) => Cache::with_options(options, Bytes, hasher, lifecycle),
            // Both numbers are set above.
            Err(_) => Cache::with(items, bytes, Bytes, hasher, lifecycle),
        };
        ContactCache { entries }
    }

    /// The cached value, if there is one.
    #[must_use]
    pub fn get(&self, agent: &AgentId, contact: &ContactRef) -> Option<V> {
        self.entries.get(&Asked { agent, contact })
    }

    /// Adds a value, replacing the one before.
    pub fn insert(&self, agent: &AgentId, contact: &ContactRef, value: V) {
        self.entries.insert(Reference { agent: agent.clone(), contact: contact.clone() }, value);
    }

    /// Removes the entries for which `stays` returns false.
    pub fn retain(&self, stays: impl Fn(&V) -> bool) {
        self.entries.retain(|_, value| stays(value));
    }

    /// Removes every entry.
    pub fn clear(&self) {
        self.entries.clear();
    }

    /// The number of entries. A contact that was read by both of its ids has two.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the cache is empty.
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
