//! A short-lived cache of values that were read from the store and compiled: schemas and templates.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use crate::values::Timestamp;
use parking_lot::RwLock;

/// How long something read from the store is used for checks without reading it again. Writes are safe all the same:
/// the store refuses one that was checked against another version.
const LIFETIME_MILLIS: i64 = 4_000;

/// The most cached values.
const MAX_CACHED: usize = 10_000;

/// Values by key, each with the time it was read.
pub struct Cache<K, V>(RwLock<HashMap<K, (Timestamp, Arc<V>)>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Cache(RwLock::default())
    }
}

impl<K: Eq + Hash, V> Cache<K, V> {
    /// A value that is not too old.
    pub fn fresh(&self, key: &K, now: Timestamp) -> Option<Arc<V>> {
        let cached = self.0.read();
        let (read_at, value) = cached.get(key)?;
        (0..LIFETIME_MILLIS).contains(&now.millis_since(*read_at)).then(|| Arc::clone(value))
    }

    /// Caches what was read at `now`: the cached value if `is_same` accepts it, otherwise a new one.
    pub fn keep<E>(
        &self,
        key: K,
        now: Timestamp,
        is_same: impl Fn(&V) -> bool,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        let mut cached = self.0.write();
        if let Some((read_at, known)) = cached.get_mut(&key)
            && is_same(known)
        {
            *read_at = now;
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(make()?);
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(key, (now, Arc::clone(&made)));
        Ok(made)
    }

    /// Forgets what `is_over` says of.
    pub fn forget(&self, is_over: impl Fn(&K) -> bool) {
        self.0.write().retain(|key, _| !is_over(key));
    }
}
