//! The digest of a part while it arrives: in pieces that are hashed while the next ones are read.

use std::sync::Arc;

use bytes::Bytes;
use futures_channel::oneshot;
use sha2::{Digest, Sha256};

use crate::ports::{BlockingExecutor, Inline};
use crate::reply::ApiError;

/// What is hashed at once elsewhere. Handing over costs about as much as hashing 16 KiB.
const BATCH: usize = 128 * 1024;

/// Smaller pieces are hashed where they are: a list of many would hold more memory than their bytes.
const SMALL: usize = 16 * 1024;

/// SHA-256 of what has arrived of a part.
pub(super) struct PartDigest {
    offload: Arc<dyn BlockingExecutor>,
    /// Of everything before `elsewhere`, when there is such a batch.
    hash: Sha256,
    elsewhere: Option<oneshot::Receiver<Sha256>>,
    waiting: Vec<Bytes>,
    bytes: usize,
}

impl PartDigest {
    pub(super) fn new() -> Self {
        PartDigest {
            offload: Arc::new(Inline),
            hash: Sha256::new(),
            elsewhere: None,
            waiting: Vec::new(),
            bytes: 0,
        }
    }

    /// Hashes what is large by these means from now on.
    pub(super) fn offload_to(&mut self, offload: Arc<dyn BlockingExecutor>) {
        self.offload = offload;
    }

    /// Takes the next bytes; waits when the batch before is still being hashed.
    pub(super) async fn update(&mut self, bytes: &Bytes) -> Result<(), ApiError> {
        if bytes.len() < SMALL {
            self.hash_waiting().await?;
            self.hash.update(bytes);
            return Ok(());
        }
        self.bytes += bytes.len();
        self.waiting.push(bytes.clone());
        if self.bytes >= BATCH {
            self.settle().await?;
            let (mut hash, batch) = (std::mem::take(&mut self.hash), std::mem::take(&mut self.waiting));
            self.bytes = 0;
            let (done, hashed) = oneshot::channel();
            self.elsewhere = Some(hashed);
            self.offload.run(Box::new(move || {
                for bytes in batch {
                    hash.update(&bytes);
                }
                // Nobody waits for it where the upload was given up.
                drop(done.send(hash));
            }));
        }
        Ok(())
    }

    /// The digest of the part; the next one begins.
    pub(super) async fn finish(&mut self) -> Result<[u8; 32], ApiError> {
        self.hash_waiting().await?;
        Ok(self.hash.finalize_reset().into())
    }

    async fn hash_waiting(&mut self) -> Result<(), ApiError> {
        self.settle().await?;
        self.bytes = 0;
        for bytes in self.waiting.drain(..) {
            self.hash.update(&bytes);
        }
        Ok(())
    }

    /// Takes back what was hashed elsewhere.
    async fn settle(&mut self) -> Result<(), ApiError> {
        if let Some(hashed) = &mut self.elsewhere {
            self.hash = hashed.await.map_err(|_| ApiError::internal())?;
            self.elsewhere = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;
    use crate::ports::Work;

    /// Does its work only when somebody waits long enough, or never.
    #[derive(Default)]
    struct Late(Mutex<Vec<Work>>);

    impl BlockingExecutor for Late {
        fn run(&self, work: Work) {
            self.0.lock().expect("no panic").push(work);
        }
    }

    /// Runs each piece of work on a thread of its own.
    struct Threads;

    impl BlockingExecutor for Threads {
        #[expect(clippy::disallowed_methods, reason = "a test is a host: threads are its own")]
        fn run(&self, work: Work) {
            std::thread::spawn(work);
        }
    }

    fn digest_of(offload: Arc<dyn BlockingExecutor>, pieces: &[Bytes]) -> [u8; 32] {
        pollster::block_on(async {
            let mut digest = PartDigest::new();
            digest.offload_to(offload);
            for piece in pieces {
                digest.update(piece).await.expect("hashed");
            }
            digest.finish().await.expect("hashed")
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_pieces_give_the_digest_of_the_whole(
            sizes in prop::collection::vec(prop_oneof![0..300usize, SMALL - 1..SMALL + 2, 0..2 * BATCH], 0..12),
        ) {
            let whole: Vec<u8> = (0..sizes.iter().sum()).map(|at: usize| (at % 251) as u8).collect();
            let mut rest = Bytes::from(whole.clone());
            let pieces: Vec<Bytes> = sizes.iter().map(|size| rest.split_to(*size)).collect();
            let expected: [u8; 32] = Sha256::digest(&whole).into();
            prop_assert_eq!(digest_of(Arc::new(Inline), &pieces), expected);
            prop_assert_eq!(digest_of(Arc::new(Threads), &pieces), expected);
        }
    }

    #[test]
    fn work_that_a_host_drops_is_an_error_and_nobody_waits_for_ever() {
        let late = Arc::new(Late::default());
        let mut digest = PartDigest::new();
        digest.offload_to(Arc::clone(&late) as Arc<dyn BlockingExecutor>);
        let batch = Bytes::from(vec![1; BATCH]);
        pollster::block_on(digest.update(&batch)).expect("the first is taken");
        late.0.lock().expect("no panic").clear();
        assert!(pollster::block_on(digest.update(&batch)).is_err());
        assert!(pollster::block_on(digest.finish()).is_err());
    }
}
