//! How far an erasure has come.

/// How far the erasures before a call have come ([`ContactStore::complete_erasures`](super::ContactStore)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureState {
    /// No file of the store contains the erased data.
    Final,
    /// The data is absent for everyone; the store's own files may contain it until a reader of an older state ends.
    Pending,
    /// The data is absent for everyone; a database server decides when its files, logs and replicas lose it.
    LeftToDatabase,
}
