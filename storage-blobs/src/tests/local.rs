//! The local folder beyond the suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use openapi_core::ports::{BlobErrorKind, BlobKey, BlobResult, BlobStore};
use openapi_core::values::Timestamp;

use super::conformance::wait;
use crate::{FolderBlobs, OpenFolderError};

struct Fixture {
    folder: tempfile::TempDir,
    blobs: FolderBlobs,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = FolderBlobs::open(folder.path().join("data/blobs")).unwrap();
        Fixture { folder, blobs }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("data/blobs").join(below)
    }
}

fn key(agent: &str) -> BlobKey {
    format!("{agent}/697e00000000000000000001").parse().unwrap()
}

async fn write(blobs: &FolderBlobs, key: &BlobKey, bytes: &'static [u8]) -> BlobResult<()> {
    let mut writer = blobs.create(key).await?;
    writer.write(Bytes::from_static(bytes)).await?;
    writer.finish().await
}

async fn listed(blobs: &FolderBlobs) -> Vec<String> {
    let mut listing = blobs.list().await.unwrap();
    let mut keys = Vec::new();
    while let Some(entry) = std::future::poll_fn(|context| listing.as_mut().poll_next(context)).await {
        keys.push(entry.unwrap().key.to_string());
    }
    keys.sort();
    keys
}

/// Every file and folder below a folder.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

fn kind<T>(result: BlobResult<T>) -> Option<BlobErrorKind> {
    result.err().map(|error| error.kind)
}

#[test]
fn a_blob_is_one_file_and_nothing_else_is_left() {
    let fixture = Fixture::new();
    wait(async {
        write(&fixture.blobs, &key("Acme"), b"bytes").await.unwrap();
        let mut dropped = fixture.blobs.create(&key("acme")).await.unwrap();
        dropped.write(vec![7; 600_000].into()).await.unwrap();
        assert!(fixture.path(".unfinished/697e00000000000000000001.0").exists());
        drop(dropped);
    });
    let file = fixture.path("acme+1/697e00000000000000000001");
    let (agent, unfinished) = (fixture.path("acme+1"), fixture.path(".unfinished"));
    // The runtime has ended, and with it its pending removals.
    assert_eq!(everything(&fixture.path("")), [unfinished, agent, file.clone()]);
    assert_eq!(fs::read(file).unwrap(), b"bytes");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    wait(write(&fixture.blobs, &key("a"), b"bytes")).unwrap();
    for path in everything(fixture.folder.path()) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn a_blob_is_never_replaced() {
    let fixture = Fixture::new();
    wait(async {
        write(&fixture.blobs, &key("a"), b"first").await.unwrap();
        for other in [b"other".as_slice(), b"", b"first and more"] {
            assert_eq!(kind(write(&fixture.blobs, &key("a"), other).await), Some(BlobErrorKind::Internal));
        }
        write(&fixture.blobs, &key("a"), b"first").await.expect("the same again changes nothing");
        assert_eq!(fixture.blobs.size(&key("a")).await.unwrap(), Some(5));
    });
    assert_eq!(fs::read(fixture.path("a/697e00000000000000000001")).unwrap(), b"first");
    assert_eq!(everything(&fixture.path(".unfinished")), Vec::<PathBuf>::new());
}

#[test]
fn foreign_names_are_left_alone() {
    let fixture = Fixture::new();
    wait(async {
        write(&fixture.blobs, &key("a"), b"bytes").await.unwrap();
        for name in ["a/notes.txt", "a/697E00000000000000000001", "lost+found", ".DS_Store", "b"] {
            fs::write(fixture.path(name), b"x").unwrap();
        }
        fs::create_dir(fixture.path("a/697e00000000000000000002")).unwrap();
        fs::create_dir(fixture.path("A")).unwrap();
        fs::write(fixture.path("A/697e00000000000000000003"), b"x").unwrap();
        assert_eq!(listed(&fixture.blobs).await, ["a/697e00000000000000000001"]);
        fixture.blobs.sweep_unfinished(Timestamp::from_millis(i64::MAX)).await.unwrap();
    });
    assert!(fixture.path("a/notes.txt").exists() && fixture.path("lost+found").exists());
}

#[test]
fn only_old_unfinished_files_are_swept() {
    let fixture = Fixture::new();
    let day = Duration::from_secs(24 * 60 * 60);
    #[expect(clippy::disallowed_methods, reason = "files have the system's time")]
    let now = SystemTime::now();
    let millis = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    for (name, age) in [("old.0", day * 2), ("old.1", day + Duration::from_secs(1)), ("new.0", day / 2)] {
        let file = fs::File::create(fixture.path(".unfinished").join(name)).unwrap();
        file.set_modified(now - age).unwrap();
    }
    wait(async {
        write(&fixture.blobs, &key("a"), b"bytes").await.unwrap();
        let before = Timestamp::from_millis(millis(now - day));
        assert_eq!(fixture.blobs.sweep_unfinished(before).await.unwrap(), 2);
        assert_eq!(fixture.blobs.sweep_unfinished(before).await.unwrap(), 0);
        assert_eq!(fixture.blobs.sweep_unfinished(Timestamp::from_millis(-1)).await.unwrap(), 0);
        assert_eq!(listed(&fixture.blobs).await.len(), 1);
    });
    assert_eq!(everything(&fixture.path(".unfinished")), [fixture.path(".unfinished/new.0")]);
}

#[test]
fn an_unfinished_file_that_was_swept_fails() {
    let fixture = Fixture::new();
    wait(async {
        let writer = fixture.blobs.create(&key("a")).await.unwrap();
        let later = Timestamp::from_millis(32_503_680_000_000);
        assert_eq!(fixture.blobs.sweep_unfinished(later).await.unwrap(), 1);
        assert_eq!(kind(writer.finish().await), Some(BlobErrorKind::Unavailable));
        assert_eq!(fixture.blobs.size(&key("a")).await.unwrap(), None);
    });
}

#[test]
fn a_folder_that_is_gone_is_unavailable_and_not_empty() {
    let fixture = Fixture::new();
    wait(async {
        write(&fixture.blobs, &key("a"), b"bytes").await.unwrap();
        let writer = fixture.blobs.create(&key("b")).await.unwrap();
        let root = fixture.path("");
        fs::rename(&root, fixture.folder.path().join("elsewhere")).unwrap();
        // As if the folder were a mount point.
        fs::create_dir(&root).unwrap();
        let gone = Some(BlobErrorKind::Unavailable);
        assert_eq!(kind(fixture.blobs.read(&key("a"), 0..1).await), gone);
        assert_eq!(kind(fixture.blobs.size(&key("a")).await), gone);
        assert_eq!(kind(fixture.blobs.remove(&key("a")).await), gone);
        assert_eq!(kind(fixture.blobs.probe().await), gone);
        assert_eq!(kind(write(&fixture.blobs, &key("c"), b"bytes").await), gone);
        assert_eq!(kind(writer.finish().await), gone);
        assert_eq!(kind(fixture.blobs.sweep_unfinished(Timestamp::from_millis(0)).await), gone);
        assert_eq!(everything(&root), Vec::<PathBuf>::new());
    });
}

#[test]
fn an_agents_folder_that_was_removed_is_made_again() {
    let fixture = Fixture::new();
    wait(async {
        write(&fixture.blobs, &key("a"), b"bytes").await.unwrap();
        fs::remove_dir_all(fixture.path("a")).unwrap();
        assert_eq!(fixture.blobs.size(&key("a")).await.unwrap(), None);
        write(&fixture.blobs, &key("a"), b"again").await.unwrap();
        assert_eq!(fixture.blobs.size(&key("a")).await.unwrap(), Some(5));
    });
}

#[test]
fn a_blob_that_is_cut_short_while_it_is_read_fails() {
    let fixture = Fixture::new();
    wait(async {
        let mut writer = fixture.blobs.create(&key("a")).await.unwrap();
        writer.write(vec![7; 2_000_000].into()).await.unwrap();
        writer.finish().await.unwrap();
        let mut stream = fixture.blobs.read(&key("a"), 0..2_000_000).await.unwrap();
        let file = fixture.path("a/697e00000000000000000001");
        fs::OpenOptions::new().write(true).open(file).unwrap().set_len(300_000).unwrap();
        let mut last = None;
        while let Some(chunk) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
            last = Some(chunk);
        }
        assert_eq!(last.and_then(kind), Some(BlobErrorKind::Internal));
    });
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), b"").unwrap();
    let error = FolderBlobs::open(folder.path().join("file")).unwrap_err();
    assert!(matches!(error, OpenFolderError::NoFolder { .. }), "{error}");
    let error = FolderBlobs::open(folder.path().join("file/below")).unwrap_err();
    assert!(matches!(error, OpenFolderError::Make { .. }), "{error}");
    assert!(error.to_string().ends_with("or name another folder"), "{error}");
    fs::create_dir(folder.path().join("taken")).unwrap();
    fs::write(folder.path().join("taken/.unfinished"), b"").unwrap();
    let error = FolderBlobs::open(folder.path().join("taken")).unwrap_err();
    assert!(matches!(error, OpenFolderError::Write { .. }), "{error}");
}

/// A separate disk of 4 MiB. Where the test may not mount one, it checks nothing and says so.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_unavailable_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let exe = std::env::current_exe().unwrap();
    let script =
        r#"mount -t tmpfs -o size=4m none "$1" && exec "$2" --exact tests::local::on_a_full_disk --ignored"#;
    let output = std::process::Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .args([folder.path().as_os_str(), exe.as_os_str()])
        .env("FULL_DISK", folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("Operation not permitted") || error.contains("permission denied") {
        eprintln!("not tried, because this system lets nobody mount a disk for a test: {error}");
        return;
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{error}{said}");
}

/// Not a test: runs on the disk of the other test.
#[test]
#[ignore = "run by a_full_disk_is_unavailable_and_leaves_nothing"]
fn on_a_full_disk() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the parent passes the task to the child in the environment"
    )]
    let Some(folder) = std::env::var_os("FULL_DISK") else { return };
    let blobs = FolderBlobs::open(Path::new(&folder).join("blobs")).unwrap();
    wait(async {
        write(&blobs, &key("a"), b"bytes").await.unwrap();
        let mut writer = blobs.create(&key("b")).await.unwrap();
        let mut failed = None;
        for _ in 0..20 {
            if let Err(error) = writer.write(vec![7; 512 * 1024].into()).await {
                failed = Some(error.kind);
                break;
            }
        }
        assert_eq!(failed, Some(BlobErrorKind::Unavailable));
        assert_eq!(kind(writer.finish().await), Some(BlobErrorKind::Internal), "it broke before");
        assert_eq!(listed(&blobs).await, ["a/697e00000000000000000001"]);
    });
    // Space is free again, once the unfinished files are removed.
    wait(write(&blobs, &key("c"), b"bytes")).unwrap();
    assert_eq!(everything(&Path::new(&folder).join("blobs/.unfinished")), Vec::<PathBuf>::new());
}
