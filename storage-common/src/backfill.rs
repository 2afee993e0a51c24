//! Progress of computing the search and sort keys of everything again.

/// The contacts after which the log says how far the work is.
const STEP: u64 = 50_000;

/// How far the work is.
#[derive(Debug, Default)]
pub struct KeyProgress(u64);

impl KeyProgress {
    /// The keys of so many more contacts were computed.
    pub fn add(&mut self, contacts: u64) {
        self.0 += contacts;
        if contacts > 0 && self.0 % STEP < contacts {
            tracing::info!(contacts = self.0, "computing the search and sort keys again");
        }
    }

    /// Nothing is left.
    pub fn finish(self) {
        if self.0 > 0 {
            tracing::info!(contacts = self.0, "computed the search and sort keys again");
        }
    }
}
