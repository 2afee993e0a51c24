//! The speed of a local folder, compared with plain system calls: `cargo test --release -p storage-blobs --test speed
//! -- --ignored --nocapture` on an idle machine.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use openapi_core::ports::{BlobKey, BlobStore};
use sha2::{Digest as _, Sha256};
use storage_blobs::FolderBlobs;

const LENGTH: usize = 25 * 1024 * 1024;
const ROUNDS: usize = 15;

/// The size of a read from a socket.
const CHUNK: usize = 64 * 1024;

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn now() -> Instant {
    Instant::now()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn rate(time: Duration) -> f64 {
    LENGTH as f64 / time.as_secs_f64() / 1e6
}

/// `cat > file; fsync`, and the SHA-256 of the same bytes.
fn plainly(folder: &Path, bytes: &Bytes) -> Duration {
    let path = folder.join("plain");
    let begun = now();
    let mut file = File::create(&path).expect("create");
    for chunk in bytes.chunks(128 * 1024) {
        file.write_all(chunk).expect("write");
    }
    file.sync_all().expect("sync");
    std::hint::black_box(Sha256::digest(bytes));
    let time = begun.elapsed();
    std::fs::remove_file(path).expect("remove");
    time
}

async fn uploaded(blobs: &FolderBlobs, key: &BlobKey, bytes: &Bytes) -> Duration {
    let begun = now();
    let mut hash = Sha256::new();
    let mut writer = blobs.create(key).await.expect("create");
    for at in (0..bytes.len()).step_by(CHUNK) {
        let chunk = bytes.slice(at..bytes.len().min(at + CHUNK));
        hash.update(&chunk);
        writer.write(chunk).await.expect("write");
    }
    writer.finish().await.expect("finish");
    std::hint::black_box(hash.finalize());
    begun.elapsed()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("runtime")
}

/// The peak memory of this process in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("KiB") * 1024
}

/// Run it alone, because the peak is that of the process.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "a measurement"]
fn uploads_need_little_memory() {
    const UPLOADS: usize = 64;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let blobs = FolderBlobs::open(folder.path().join("blobs")).expect("open");
    let bytes: Bytes = vec![7; LENGTH].into();
    let before = peak();
    runtime().block_on(async {
        let uploads: Vec<_> = (0..UPLOADS)
            .map(|number| {
                let (blobs, bytes) = (blobs.clone(), bytes.clone());
                tokio::spawn(async move {
                    let key: BlobKey = format!("a/{number:024x}").parse().expect("a key");
                    uploaded(&blobs, &key, &bytes).await
                })
            })
            .collect();
        for upload in uploads {
            upload.await.expect("an upload");
        }
    });
    let growth = peak() - before;
    eprintln!("{UPLOADS} uploads at once: {:.1} MiB", growth as f64 / 1_048_576.0);
    assert!(growth <= 64 * 1024 * 1024, "{growth} bytes");
}

#[test]
#[ignore = "a measurement"]
fn a_folder_is_nearly_as_fast_as_the_disk() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let blobs = FolderBlobs::open(folder.path().join("blobs")).expect("open");
    let bytes: Bytes = (0..LENGTH).map(|at| (at * 7 + at / 251) as u8).collect::<Vec<u8>>().into();
    let key: BlobKey = "a/697e00000000000000000001".parse().expect("a key");
    let (mut plain, mut upload, mut read, mut download) = (vec![], vec![], vec![], vec![]);
    runtime().block_on(async {
        for _ in 0..ROUNDS {
            plain.push(tokio::task::block_in_place(|| plainly(folder.path(), &bytes)));
            upload.push(uploaded(&blobs, &key, &bytes).await);
            let begun = now();
            let mut file = File::open(folder.path().join("blobs").join(key.to_string())).expect("open");
            let mut buffer = vec![0; 256 * 1024];
            while file.read(&mut buffer).expect("read") > 0 {}
            read.push(begun.elapsed());
            let begun = now();
            let mut stream = blobs.read(&key, 0..LENGTH as u64).await.expect("read");
            let mut length = 0;
            while let Some(chunk) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
                length += chunk.expect("chunk").len();
            }
            assert_eq!(length, LENGTH);
            download.push(begun.elapsed());
            blobs.remove(&key).await.expect("remove");
        }
    });
    let (plain, upload, read, download) = (median(plain), median(upload), median(read), median(download));
    eprintln!("write, fsync, SHA-256: {:.0} MB/s; upload: {:.0} MB/s", rate(plain), rate(upload));
    eprintln!("plain read: {:.0} MB/s; download: {:.0} MB/s", rate(read), rate(download));
    let share = plain.as_secs_f64() / upload.as_secs_f64();
    assert!(share >= 0.7, "an upload has {share:.2} of the plain throughput");
}
