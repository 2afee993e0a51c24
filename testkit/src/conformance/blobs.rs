//! The conformance suite for blob stores: the behaviour that every [`BlobStore`] must have.
//!
//! The cases are async and independent of a runtime; the caller provides the one that its store needs:
//!
//! ```ignore
//! testkit::blob_suite!(|case| runtime().block_on((case.run)(fresh_store())));
//! ```

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;

use openapi_core::ports::{BlobErrorKind, BlobKey, BlobResult, BlobStore, BlobStream, BlobWriter};
use openapi_core::values::{FileId, PlatformId, Timestamp};

/// The body of a case.
pub type CaseRun = fn(Arc<dyn BlobStore>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A case of the suite.
#[derive(Clone, Copy)]
pub struct BlobCase {
    /// Its name.
    pub name: &'static str,
    /// Runs it on an empty store; panics if the store deviates.
    pub run: CaseRun,
}

macro_rules! cases {
    ($($case:ident)*) => {
        /// Every case.
        pub const BLOB_CASES: &[BlobCase] =
            &[$(BlobCase { name: stringify!($case), run: |store| Box::pin($case(store)) },)*];

        /// Expands to one named test for each case; `$run` runs a `BlobCase` on an empty store.
        #[macro_export]
        macro_rules! blob_suite {
            ($run:expr) => {
                $(
                    #[test]
                    fn $case() {
                        let run: fn($crate::conformance::blobs::BlobCase) = $run;
                        run($crate::conformance::blobs::blob_case(stringify!($case)));
                    }
                )*
            };
        }
    };
}

cases! {
    a_blob_is_read_as_it_was_written
    an_empty_blob_is_a_blob
    ranges_are_exact_at_every_edge
    a_large_blob_comes_whole
    what_is_not_finished_is_invisible
    a_dropped_writer_leaves_nothing
    what_is_not_there_is_missing
    removing_twice_is_removing
    a_blob_is_replaced_in_one_step
    a_listing_is_exact
    blobs_belong_to_their_agent
    agents_differ_by_case
    writers_do_not_disturb_each_other
    a_reader_keeps_what_it_reads
    a_dropped_stream_harms_nothing
    a_dropped_finish_is_whole_or_absent
    a_dropped_write_leaves_no_hole
    the_probe_answers
}

/// The case with this name.
///
/// # Panics
/// If there is no such case.
#[must_use]
pub fn blob_case(name: &str) -> BlobCase {
    *BLOB_CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case '{name}'"))
}

/// Long enough that every store needs several steps, and not a multiple of a typical buffer size.
const LARGE: usize = 11 * 1024 * 1024 + 3;

/// Later than any writer's timestamp.
const LATER: Timestamp = Timestamp::from_millis(32_503_680_000_000);

fn key(agent: &str, number: u64) -> BlobKey {
    let mut bytes = [0x5b; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    let agent = agent.parse().unwrap_or_else(|error| panic!("{agent}: {error}"));
    BlobKey::new(agent, FileId::from(PlatformId::from_bytes(bytes)))
}

/// Bytes in which no long run repeats.
fn content(seed: u64, length: usize) -> Bytes {
    let word = |at: u64| {
        let mut word = (seed << 40 | at).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (word ^ (word >> 27)).to_le_bytes()
    };
    let block: Vec<u8> = (0..1_021).flat_map(word).collect();
    let mut bytes = Vec::with_capacity(length + block.len());
    for number in 1.. {
        if bytes.len() >= length {
            break;
        }
        bytes.extend_from_slice(&word(number << 20));
        bytes.extend_from_slice(&block);
    }
    bytes.truncate(length);
    bytes.into()
}

async fn begin(store: &dyn BlobStore, key: &BlobKey) -> Box<dyn BlobWriter> {
    store.create(key).await.unwrap_or_else(|error| panic!("create {key}: {error:?}"))
}

/// Writes a blob in chunks of growing length.
async fn write(store: &dyn BlobStore, key: &BlobKey, bytes: &Bytes) {
    let mut writer = begin(store, key).await;
    for chunk in chunks(bytes) {
        writer.write(chunk).await.unwrap_or_else(|error| panic!("write {key}: {error:?}"));
    }
    writer.finish().await.unwrap_or_else(|error| panic!("finish {key}: {error:?}"));
}

/// The bytes in chunks of growing length: empty, one byte, then more.
fn chunks(bytes: &Bytes) -> Vec<Bytes> {
    let (mut chunks, mut at, mut length) = (vec![Bytes::new()], 0, 1);
    while at < bytes.len() {
        let end = bytes.len().min(at + length);
        chunks.push(bytes.slice(at..end));
        (at, length) = (end, (length * 3).min(300_007));
    }
    chunks
}

async fn read(store: &dyn BlobStore, key: &BlobKey, range: Range<u64>) -> BlobResult<Vec<u8>> {
    collected(store.read(key, range).await?).await
}

async fn collected(mut stream: BlobStream) -> BlobResult<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(bytes)
}

/// Reads the whole blob by its length; `None` if it does not exist.
async fn whole(store: &dyn BlobStore, key: &BlobKey) -> Option<Vec<u8>> {
    let length = store.size(key).await.unwrap_or_else(|error| panic!("size of {key}: {error:?}"))?;
    Some(read(store, key, 0..length).await.unwrap_or_else(|error| panic!("read {key}: {error:?}")))
}

async fn is(store: &dyn BlobStore, key: &BlobKey, bytes: &[u8]) {
    let found = whole(store, key).await.unwrap_or_else(|| panic!("{key} is not there"));
    assert!(found == bytes, "{key} has {} bytes of {} that were written", found.len(), bytes.len());
}

async fn listed(store: &dyn BlobStore) -> BTreeMap<BlobKey, u64> {
    let mut listing = store.list().await.unwrap_or_else(|error| panic!("list: {error:?}"));
    let mut found = BTreeMap::new();
    while let Some(entry) = poll_fn(|context| listing.as_mut().poll_next(context)).await {
        let entry = entry.unwrap_or_else(|error| panic!("list: {error:?}"));
        assert_eq!(found.insert(entry.key, entry.size), None, "listed twice");
    }
    found
}

async fn is_absent(store: &dyn BlobStore, key: &BlobKey) {
    assert_eq!(store.size(key).await.ok(), Some(None), "size of {key}");
    for range in [0..0, 0..1] {
        match read(store, key, range).await {
            Ok(bytes) => panic!("{} bytes of {key} were read", bytes.len()),
            Err(error) => assert_eq!(error.kind, BlobErrorKind::Missing, "{error:?}"),
        }
    }
    assert!(!listed(store).await.contains_key(key), "{key} is listed");
}

/// Polls a future until it has been pending `times` times, then drops it; `None` if it was dropped.
async fn cut<F: Future>(future: F, pending: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = pending;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// Runs futures concurrently.
async fn together(futures: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>>) {
    let mut running = futures;
    poll_fn(|context| {
        running.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn a_blob_is_read_as_it_was_written(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    for (number, length) in
        [1, 2, 100, 4_096, 65_536, 262_143, 262_144, 262_145, 1_000_003].into_iter().enumerate()
    {
        let (key, bytes) = (key("a", number as u64), content(number as u64, length));
        write(store, &key, &bytes).await;
        assert_eq!(store.size(&key).await.ok(), Some(Some(length as u64)));
        is(store, &key, &bytes).await;
    }
    // In one chunk instead of many.
    let (key, bytes) = (key("a", 99), content(99, 700_001));
    let mut writer = begin(store, &key).await;
    writer.write(bytes.clone()).await.expect("write");
    writer.finish().await.expect("finish");
    is(store, &key, &bytes).await;
}

async fn an_empty_blob_is_a_blob(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (untouched, touched) = (key("a", 1), key("a", 2));
    begin(store, &untouched).await.finish().await.expect("finish");
    write(store, &touched, &Bytes::new()).await;
    for key in [&untouched, &touched] {
        is(store, key, b"").await;
        let beyond = read(store, key, 0..1).await.expect_err("nothing is there");
        assert_eq!(beyond.kind, BlobErrorKind::Missing);
    }
    assert_eq!(listed(store).await, BTreeMap::from([(untouched, 0), (touched, 0)]));
}

async fn ranges_are_exact_at_every_edge(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let bytes = content(7, 600_000);
    let (key, length) = (key("a", 1), bytes.len() as u64);
    write(store, &key, &bytes).await;
    let edges = [
        0,
        1,
        65_535,
        65_536,
        65_537,
        262_143,
        262_144,
        262_145,
        524_288,
        length - 1,
        length,
        length + 1,
        u64::MAX,
    ];
    for (at, start) in edges.into_iter().enumerate() {
        for end in edges[at..].iter().copied() {
            match read(store, &key, start..end).await {
                Ok(found) if end <= length => {
                    let asked = &bytes[start as usize..end as usize];
                    assert!(found == asked, "{start}..{end}: {} bytes", found.len());
                }
                Ok(found) => panic!("{start}..{end} of {length} bytes gave {}", found.len()),
                Err(error) => {
                    assert!(end > length, "{start}..{end} of {length} bytes: {error:?}");
                    assert_eq!(error.kind, BlobErrorKind::Missing, "{start}..{end}: {error:?}");
                }
            }
        }
    }
}

async fn a_large_blob_comes_whole(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (key, bytes) = (key("a", 1), content(1, LARGE));
    write(store, &key, &bytes).await;
    is(store, &key, &bytes).await;
    let (start, end) = (5 * 1024 * 1024 - 1, 10 * 1024 * 1024 + 1);
    let part = read(store, &key, start..end).await.expect("read");
    assert!(part == bytes[start as usize..end as usize]);
    assert_eq!(listed(store).await, BTreeMap::from([(key, LARGE as u64)]));
}

async fn what_is_not_finished_is_invisible(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (small, large) = (key("a", 1), key("a", 2));
    let mut writers = Vec::new();
    for (key, bytes) in [(&small, content(1, 10)), (&large, content(2, LARGE))] {
        let mut writer = begin(store, key).await;
        writer.write(bytes.clone()).await.expect("write");
        is_absent(store, key).await;
        writers.push((key, bytes, writer));
    }
    for (key, bytes, writer) in writers {
        is_absent(store, key).await;
        writer.finish().await.expect("finish");
        is(store, key, &bytes).await;
    }
}

async fn a_dropped_writer_leaves_nothing(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let retained = (key("a", 100), content(100, 5_000));
    write(store, &retained.0, &retained.1).await;
    for (number, length) in [0, 10, 300_000, LARGE].into_iter().enumerate() {
        let key = key("a", number as u64);
        let mut writer = begin(store, &key).await;
        if length > 0 {
            writer.write(content(number as u64, length)).await.expect("write");
        }
        drop(writer);
        is_absent(store, &key).await;
    }
    store.sweep_unfinished(LATER).await.expect("sweep");
    assert_eq!(store.sweep_unfinished(LATER).await.ok(), Some(0), "swept twice");
    is(store, &retained.0, &retained.1).await;
    assert_eq!(listed(store).await.len(), 1);
}

async fn what_is_not_there_is_missing(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    is_absent(store, &key("a", 1)).await;
    write(store, &key("a", 1), &content(1, 10)).await;
    is_absent(store, &key("a", 2)).await;
    is_absent(store, &key("b", 1)).await;
}

async fn removing_twice_is_removing(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (gone, retained) = (key("a", 1), key("a", 2));
    store.remove(&gone).await.expect("nothing to remove");
    write(store, &gone, &content(1, 10)).await;
    write(store, &retained, &content(2, 10)).await;
    for _ in 0..2 {
        store.remove(&gone).await.expect("remove");
        is_absent(store, &gone).await;
    }
    is(store, &retained, &content(2, 10)).await;
    // The key is free again, as a restore needs.
    write(store, &gone, &content(3, 20)).await;
    is(store, &gone, &content(3, 20)).await;
}

async fn a_blob_is_replaced_in_one_step(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (former, next) = (content(1, LARGE), content(2, LARGE - 70_000));
    for (key, former, next) in [(key("a", 1), &former, &next), (key("a", 2), &next, &former)] {
        write(store, &key, former).await;
        let open = store.read(&key, 5..former.len() as u64).await.expect("read");
        let mut writer = store.replace(&key).await.expect("replace");
        for piece in next.chunks(100_000) {
            writer.write(next.slice_ref(piece)).await.expect("write");
        }
        is(store, &key, former).await;
        writer.finish().await.expect("finish");
        is(store, &key, next).await;
        assert!(collected(open).await.expect("the rest") == former[5..], "an open stream has changed");
        let dropped = store.replace(&key).await.expect("replace");
        drop(dropped);
        is(store, &key, next).await;
    }
    assert_eq!(listed(store).await.len(), 2);
    // Nothing needs to be there.
    let mut writer = store.replace(&key("b", 1)).await.expect("replace");
    writer.write(content(3, 10)).await.expect("write");
    writer.finish().await.expect("finish");
    is(store, &key("b", 1), &content(3, 10)).await;
}

async fn a_listing_is_exact(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    assert_eq!(listed(store).await, BTreeMap::new());
    let mut written = BTreeMap::new();
    for number in 0..300u64 {
        let key = key(["a", "b", "agent-with_a-longer-id"][number as usize % 3], number);
        write(store, &key, &content(number, number as usize)).await;
        written.insert(key, number);
    }
    assert_eq!(listed(store).await, written);
    for number in (0..300u64).step_by(7) {
        let key = key(["a", "b", "agent-with_a-longer-id"][number as usize % 3], number);
        store.remove(&key).await.expect("remove");
        written.remove(&key);
    }
    assert_eq!(listed(store).await, written);
}

async fn blobs_belong_to_their_agent(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    for (number, agent) in ["a", "b", "ab", "a-", "con"].into_iter().enumerate() {
        write(store, &key(agent, 1), &content(number as u64, 100)).await;
    }
    store.remove(&key("a", 1)).await.expect("remove");
    is_absent(store, &key("a", 1)).await;
    for (number, agent) in ["a", "b", "ab", "a-", "con"].into_iter().enumerate().skip(1) {
        is(store, &key(agent, 1), &content(number as u64, 100)).await;
    }
}

async fn agents_differ_by_case(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let agents = ["acme", "Acme", "ACME", "acmE"];
    for (number, agent) in agents.into_iter().enumerate() {
        is_absent(store, &key(agent, 1)).await;
        write(store, &key(agent, 1), &content(number as u64, 100 + number)).await;
    }
    for (number, agent) in agents.into_iter().enumerate() {
        is(store, &key(agent, 1), &content(number as u64, 100 + number)).await;
        assert_eq!(listed(store).await.get(&key(agent, 1)), Some(&(100 + number as u64)));
    }
}

async fn writers_do_not_disturb_each_other(store: Arc<dyn BlobStore>) {
    let (shared, store) = (Arc::clone(&store), store.as_ref());
    let length = |number: u64| 1 + (number as usize * 150_001) % 900_000;
    let agent = |number: u64| ["a", "b", "c"][number as usize % 3];
    let mut work: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for number in 0..16 {
        let store = Arc::clone(&shared);
        work.push(Box::pin(async move {
            let (key, bytes) = (key(agent(number), number), content(number, length(number)));
            write(store.as_ref(), &key, &bytes).await;
            is(store.as_ref(), &key, &bytes).await;
        }));
    }
    together(work).await;
    for number in 0..16 {
        is(store, &key(agent(number), number), &content(number, length(number))).await;
    }
    assert_eq!(listed(store).await.len(), 16);
}

async fn a_reader_keeps_what_it_reads(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (read_key, other) = (key("a", 1), key("a", 2));
    let bytes = content(1, 900_000);
    write(store, &read_key, &bytes).await;
    let mut stream = store.read(&read_key, 0..bytes.len() as u64).await.expect("read");
    let mut found = Vec::new();
    while let Some(chunk) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        found.extend_from_slice(&chunk.expect("chunk"));
        // Others write and read during the listing.
        write(store, &other, &content(2, 10)).await;
        is(store, &other, &content(2, 10)).await;
        store.remove(&other).await.expect("remove");
    }
    assert!(found == bytes);
    assert!(poll_fn(|context| stream.as_mut().poll_next(context)).await.is_none(), "it ends once");
}

async fn a_dropped_stream_harms_nothing(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let (key, bytes) = (key("a", 1), content(1, 900_000));
    write(store, &key, &bytes).await;
    for polls in 0..4 {
        let mut stream = store.read(&key, 0..bytes.len() as u64).await.expect("read");
        for _ in 0..polls {
            poll_fn(|context| stream.as_mut().poll_next(context)).await.transpose().expect("chunk");
        }
        drop(stream);
        drop(cut(store.read(&key, 0..1), polls).await);
        drop(cut(store.size(&key), polls).await);
    }
    is(store, &key, &bytes).await;
}

async fn a_dropped_finish_is_whole_or_absent(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    for (size, length) in [5_000, 400_000, LARGE].into_iter().enumerate() {
        let bytes = content(size as u64, length);
        for pending in 0..64 {
            let key = key("a", (size * 1_000 + pending) as u64);
            let mut writer = begin(store, &key).await;
            writer.write(bytes.clone()).await.expect("write");
            let finished = cut(writer.finish(), pending).await;
            // A dropped write may still be in flight.
            for _ in 0..3 {
                match whole(store, &key).await {
                    Some(found) => assert!(found == bytes, "{} bytes of {length}", found.len()),
                    None => assert!(finished.is_none(), "a finished blob is not there"),
                }
            }
            if let Some(finished) = finished {
                finished.expect("finish");
                break;
            }
        }
    }
}

async fn a_dropped_write_leaves_no_hole(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    let bytes = content(1, LARGE);
    for pending in 0..6 {
        let key = key("a", pending as u64);
        let mut writer = begin(store, &key).await;
        writer.write(bytes.slice(..1_000)).await.expect("write");
        let written = cut(writer.write(bytes.slice(1_000..)), pending).await;
        is_absent(store, &key).await;
        match (written, writer.finish().await) {
            (Some(written), finished) => {
                written.expect("write");
                finished.expect("finish");
                is(store, &key, &bytes).await;
                break;
            }
            (None, Ok(())) => is(store, &key, &bytes).await,
            (None, Err(_)) => is_absent(store, &key).await,
        }
    }
}

async fn the_probe_answers(store: Arc<dyn BlobStore>) {
    let store = store.as_ref();
    store.probe().await.expect("probe");
    assert_eq!(listed(store).await, BTreeMap::new());
    assert_eq!(store.sweep_unfinished(LATER).await.ok(), Some(0));
}
