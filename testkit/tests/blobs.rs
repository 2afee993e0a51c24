//! The in-memory blob store passes the suite, and the suite catches every planted fault.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use bytes::Bytes;
use openapi_core::ports::{
    BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
    MemoryBlobs,
};
use openapi_core::values::Timestamp;
use testkit::conformance::blobs::{BLOB_CASES, BlobCase};

testkit::blob_suite!(|case| pollster::block_on((case.run)(Arc::new(MemoryBlobs::new()))));

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    VisibleWhileWritten,
    DroppedWriterPublishes,
    DroppedWriteLeavesHole,
    HalfFinishedIsVisible,
    LastChunkIsLost,
    EmptyBlobIsNone,
    EndIsIncluded,
    StartIsShifted,
    BeyondIsCutOff,
    MissingIsInternal,
    RemovingTwiceFails,
    RemovesForEveryAgent,
    RemovesNothing,
    ReplacingRemovesFirst,
    CaseOfAgentsIsLost,
    ListingForgetsOne,
    ListingSizesAreZero,
    ProbeLeavesBlob,
    SweepTakesBlobs,
}

use Fault as F;

const FAULTS: [Fault; 19] = [
    F::VisibleWhileWritten,
    F::DroppedWriterPublishes,
    F::DroppedWriteLeavesHole,
    F::HalfFinishedIsVisible,
    F::LastChunkIsLost,
    F::EmptyBlobIsNone,
    F::EndIsIncluded,
    F::StartIsShifted,
    F::BeyondIsCutOff,
    F::MissingIsInternal,
    F::RemovingTwiceFails,
    F::RemovesForEveryAgent,
    F::RemovesNothing,
    F::ReplacingRemovesFirst,
    F::CaseOfAgentsIsLost,
    F::ListingForgetsOne,
    F::ListingSizesAreZero,
    F::ProbeLeavesBlob,
    F::SweepTakesBlobs,
];

/// A store that breaks one rule.
struct Faulty(MemoryBlobs, Fault);

/// The last event: a write was dropped.
struct Writer(MemoryBlobs, Fault, BlobKey, Vec<u8>, bool);

fn put(blobs: &MemoryBlobs, key: &BlobKey, bytes: &[u8]) {
    pollster::block_on(async {
        let mut writer = blobs.create(key).await.expect("create");
        writer.write(Bytes::copy_from_slice(bytes)).await.expect("write");
        writer.finish().await.expect("finish");
    });
}

async fn listed(blobs: &MemoryBlobs) -> BTreeMap<BlobKey, u64> {
    let mut listing = blobs.list().await.expect("list");
    let mut found = BTreeMap::new();
    while let Some(entry) = poll_fn(|context| listing.as_mut().poll_next(context)).await {
        let entry = entry.expect("an entry");
        found.insert(entry.key, entry.size);
    }
    found
}

/// Pending once.
async fn turn() {
    let mut first = true;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        self.4 = true;
        let half = if self.1 == F::DroppedWriteLeavesHole { bytes.len() / 2 } else { 0 };
        self.3.extend_from_slice(&bytes[..half]);
        turn().await;
        self.3.extend_from_slice(&bytes[half..]);
        self.4 = false;
        if self.1 == F::VisibleWhileWritten {
            put(&self.0, &self.2, &self.3);
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> BlobResult<()> {
        if self.4 && self.1 != F::DroppedWriteLeavesHole {
            return Err(BlobErrorKind::Internal.into());
        }
        if self.1 == F::HalfFinishedIsVisible {
            put(&self.0, &self.2, &self.3[..self.3.len() / 2]);
            turn().await;
        }
        if self.1 == F::LastChunkIsLost {
            self.3.pop();
        }
        if self.1 != F::EmptyBlobIsNone || !self.3.is_empty() {
            put(&self.0, &self.2, &self.3);
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.1 == F::DroppedWriterPublishes {
            put(&self.0, &self.2, &self.3);
        }
    }
}

impl Faulty {
    fn key(&self, key: &BlobKey) -> BlobKey {
        let mut key = key.clone();
        if self.1 == F::CaseOfAgentsIsLost {
            key.agent = key.agent.as_str().to_lowercase().parse().expect("an id");
        }
        key
    }
}

#[async_trait]
impl BlobStore for Faulty {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(Writer(self.0.clone(), self.1, self.key(key), Vec::new(), false)))
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        if self.1 == F::ReplacingRemovesFirst {
            self.0.remove(&self.key(key)).await?;
        }
        self.create(key).await
    }

    async fn read(&self, key: &BlobKey, mut range: Range<u64>) -> BlobResult<BlobStream> {
        let key = self.key(key);
        let length = self.0.size(&key).await?.unwrap_or(0);
        match self.1 {
            F::EndIsIncluded if range.end < length => range.end += 1,
            F::StartIsShifted if range.start == 262_144 => range.start += 1,
            F::BeyondIsCutOff => range = range.start.min(length)..range.end.min(length),
            _ => {}
        }
        self.0.read(&key, range).await.map_err(|error| match self.1 {
            F::MissingIsInternal => BlobError::from(BlobErrorKind::Internal),
            _ => error,
        })
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        self.0.size(&self.key(key)).await
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        let key = self.key(key);
        match self.1 {
            F::RemovesNothing => return Ok(()),
            F::RemovingTwiceFails if self.0.size(&key).await?.is_none() => {
                return Err(BlobErrorKind::Missing.into());
            }
            F::RemovesForEveryAgent => {
                for other in listed(&self.0).await.into_keys().filter(|other| other.file == key.file) {
                    self.0.remove(&other).await?;
                }
            }
            _ => {}
        }
        self.0.remove(&key).await
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        let shown = MemoryBlobs::new();
        for (number, (key, size)) in listed(&self.0).await.into_iter().enumerate() {
            let size = if self.1 == F::ListingSizesAreZero { 0 } else { size };
            if self.1 != F::ListingForgetsOne || number != 100 {
                put(&shown, &key, &vec![0; size as usize]);
            }
        }
        shown.list().await
    }

    async fn sweep_unfinished(&self, _: Timestamp) -> BlobResult<u64> {
        if self.1 == F::SweepTakesBlobs {
            for key in listed(&self.0).await.into_keys() {
                self.0.remove(&key).await?;
            }
        }
        Ok(0)
    }

    async fn probe(&self) -> BlobResult<()> {
        if self.1 == F::ProbeLeavesBlob {
            put(&self.0, &"probe/00000000000000000000000a".parse().expect("a key"), b".");
        }
        Ok(())
    }
}

fn caught_by(fault: Fault) -> Option<&'static str> {
    let fails = |case: &&BlobCase| {
        let store = Arc::new(Faulty(MemoryBlobs::new(), fault));
        catch_unwind(AssertUnwindSafe(|| pollster::block_on((case.run)(store)))).is_err()
    };
    BLOB_CASES.iter().find(fails).map(|case| case.name)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test owns its process; each panic here is one that is wanted"
)]
fn every_planted_fault_is_caught() {
    assert_eq!(caught_by(Fault::None), None, "the control has no fault");
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<Fault> = FAULTS.into_iter().filter(|fault| caught_by(*fault).is_none()).collect();
    drop(std::panic::take_hook());
    assert!(missed.is_empty(), "the suite misses {missed:?}");
}
