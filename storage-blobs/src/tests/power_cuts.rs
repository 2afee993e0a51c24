//! Power cuts: an acknowledged blob is on disk, and a listed blob is complete. A child process writes and removes blobs
//! under `strace` and reports its progress. Its files are then rebuilt as a cut at any moment may leave them
//! ([`power_cuts`]), opened and compared with the reports up to then.
//!
//! `cargo test -p storage-blobs --lib -- --ignored survive_a_cut_after_every_call` tries all of them, four times each.

/// The syncs that the child must leave out, to prove that the test notices cuts.
const WEAK: &str = "POWER_CUTS_WEAK";

#[expect(clippy::disallowed_methods, reason = "the parent passes the task to the child in the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether the child of one test omits these syncs.
pub(crate) fn is_weak(what: &str) -> bool {
    variable(WEAK).is_some_and(|weak| weak == what)
}

#[cfg(target_os = "linux")]
mod cuts {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;
    use std::sync::Mutex;

    use openapi_core::ports::{BlobKey, BlobStore};
    use openapi_core::values::Timestamp;
    use power_cuts::Event;
    use testkit::SplitMix64;

    use super::{WEAK, variable};
    use crate::FolderBlobs;
    use crate::tests::conformance::wait;

    /// The variable that names the child's folder; set in no other process.
    const FOLDER: &str = "POWER_CUTS_FOLDER";

    /// The blobs that the child writes each time it opens the folder, and how often it does.
    const BLOBS: usize = 12;
    const SESSIONS: usize = 3;

    fn say(line: &str) {
        use std::io::Write as _;
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap();
        // Not `println`, which tests capture; and one system call for each line.
        std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn key(number: usize) -> BlobKey {
        format!("{}/{number:024x}", ["a", "B", "c-long"][number % 3]).parse().unwrap()
    }

    fn number(key: &BlobKey) -> usize {
        usize::from_str_radix(&key.file.to_string(), 16).unwrap()
    }

    fn content(number: usize) -> Vec<u8> {
        let length = [0, 1, 700, 4_096, 9_000, 262_144, 300_000][number % 7];
        let mut rng = SplitMix64(number as u64);
        (0..length).map(|_| rng.index(256) as u8).collect()
    }

    /// Not a test: the child.
    #[test]
    #[ignore = "run by the others"]
    fn write_until_the_end() {
        let Some(folder) = variable(FOLDER) else { return };
        for session in 0..SESSIONS {
            let blobs = FolderBlobs::open(&folder).unwrap();
            let blobs = &blobs;
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    scope.spawn(move || wait(write_some(blobs, session * BLOBS + thread)));
                }
            });
        }
    }

    async fn write_some(blobs: &FolderBlobs, first: usize) {
        for number in (first..first + BLOBS).step_by(3) {
            let key = key(number);
            let mut writer = blobs.create(&key).await.unwrap();
            writer.write(content(number).into()).await.unwrap();
            writer.finish().await.unwrap();
            say(&format!("written {key}"));
            // A dropped blob, and a removed one.
            if number % 4 == 0 {
                let mut dropped = blobs.create(&key).await.unwrap();
                dropped.write(vec![7; 300_000].into()).await.unwrap();
            }
            if number % 5 == 0 {
                say(&format!("removing {key}"));
                blobs.remove(&key).await.unwrap();
                say(&format!("removed {key}"));
            }
        }
    }

    /// The events of a child.
    fn recorded(folder: &Path, weak: Option<&str>) -> Vec<Event> {
        let (trace, root) = (folder.join("trace"), folder.join("disk"));
        std::fs::create_dir(&root).unwrap();
        let mut command = power_cuts::traced(std::env::current_exe().unwrap(), &trace);
        command
            .args(["--exact", "tests::power_cuts::cuts::write_until_the_end", "--ignored", "--nocapture"])
            .env(FOLDER, root.join("data/blobs"));
        if let Some(weak) = weak {
            command.env(WEAK, weak);
        }
        let output = command.output().unwrap_or_else(|error| panic!("{}", power_cuts::not_traced(&error)));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        power_cuts::events(&std::fs::read_to_string(&trace).unwrap(), &root)
    }

    /// The last report about each blob.
    #[derive(Default)]
    struct Said {
        written: BTreeSet<BlobKey>,
        removing: BTreeSet<BlobKey>,
        removed: BTreeSet<BlobKey>,
    }

    impl Said {
        fn of(events: &[Event]) -> Self {
            let mut said = Said::default();
            for event in events {
                let Event::Said(text) = event else { continue };
                for line in text.lines() {
                    let Some((word, key)) = line.split_once(' ') else { continue };
                    let Ok(key) = key.parse() else { continue };
                    match word {
                        "written" => said.written.insert(key),
                        "removing" => said.removing.insert(key),
                        "removed" => said.removed.insert(key),
                        _ => continue,
                    };
                }
            }
            said
        }
    }

    async fn blobs_of(blobs: &FolderBlobs) -> BTreeMap<BlobKey, u64> {
        let mut listing = blobs.list().await.unwrap();
        let mut found = BTreeMap::new();
        while let Some(entry) = std::future::poll_fn(|context| listing.as_mut().poll_next(context)).await {
            let entry = entry.unwrap();
            found.insert(entry.key, entry.size);
        }
        found
    }

    async fn read(blobs: &FolderBlobs, key: &BlobKey, size: u64) -> Vec<u8> {
        let mut stream = blobs.read(key, 0..size).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(chunk) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
            bytes.extend_from_slice(&chunk.unwrap());
        }
        bytes
    }

    /// The errors in the folder after a cut; `said` has the reports before it.
    async fn faults(left: &Path, said: &Said) -> Vec<String> {
        let blobs = match FolderBlobs::open(left.join("data/blobs")) {
            Ok(blobs) => blobs,
            Err(error) => return vec![format!("it does not open: {error}")],
        };
        let found = blobs_of(&blobs).await;
        let mut faults = Vec::new();
        for (key, size) in &found {
            if read(&blobs, key, *size).await != content(number(key)) {
                faults.push(format!("{key} is listed and is not whole"));
            }
            if said.removed.contains(key) {
                faults.push(format!("{key} was removed and is there"));
            }
        }
        for key in said.written.difference(&said.removing).filter(|key| !found.contains_key(key)) {
            faults.push(format!("{key} was acknowledged and is lost"));
        }
        blobs.sweep_unfinished(Timestamp::from_millis(32_503_680_000_000)).await.unwrap();
        if std::fs::read_dir(left.join("data/blobs/.unfinished")).unwrap().next().is_some() {
            faults.push("something unfinished is left".to_owned());
        }
        if blobs_of(&blobs).await != found {
            faults.push("sweeping changed what is there".to_owned());
        }
        faults
    }

    /// In how many cuts something was wrong, with all errors; `positions` picks where to cut.
    fn cut(weak: Option<&str>, positions: impl Fn(usize) -> Vec<usize>) -> (usize, BTreeSet<String>) {
        let folder = tempfile::tempdir().unwrap();
        let events = recorded(folder.path(), weak);
        assert_eq!(Said::of(&events).written.len(), SESSIONS * BLOBS, "each acknowledgement is in the trace");
        let (mut damaged, mut all) = (0, BTreeSet::new());
        let mut rng = SplitMix64(7);
        for (turn, count) in positions(events.len()).into_iter().enumerate() {
            let left = folder.path().join(format!("left-{turn}"));
            std::fs::create_dir(&left).unwrap();
            power_cuts::after_cut(&events, count, &mut rng, &folder.path().join("disk"), &left);
            let faults = wait(faults(&left, &Said::of(&events[..count])));
            std::fs::remove_dir_all(&left).unwrap();
            damaged += usize::from(!faults.is_empty());
            all.extend(faults);
        }
        (damaged, all)
    }

    /// `cuts` random positions.
    fn some(cuts: usize) -> impl Fn(usize) -> Vec<usize> {
        move |events| {
            let mut rng = SplitMix64(11);
            (0..cuts).map(|_| rng.index(events + 1)).collect()
        }
    }

    #[test]
    fn acknowledged_blobs_survive_power_cuts() {
        let (damaged, faults) = cut(None, some(60));
        assert_eq!(damaged, 0, "{faults:#?}");
    }

    #[test]
    #[ignore = "takes a minute or two"]
    fn survive_a_cut_after_every_call() {
        let (damaged, faults) = cut(None, |events| (0..=events).flat_map(|position| [position; 4]).collect());
        assert_eq!(damaged, 0, "{faults:#?}");
    }

    /// Proves that the other tests would notice.
    #[test]
    fn without_a_sync_of_content_blobs_are_not_whole() {
        let (damaged, faults) = cut(Some("content"), some(60));
        assert!(damaged > 20, "only {damaged} of 60 cuts took anything");
        assert!(faults.iter().any(|fault| fault.ends_with("is not whole")), "{faults:#?}");
    }

    /// The same for names.
    #[test]
    fn without_a_sync_of_names_blobs_are_lost() {
        let (damaged, faults) = cut(Some("names"), some(60));
        assert!(damaged > 20, "only {damaged} of 60 cuts took anything");
        assert!(faults.iter().any(|fault| fault.ends_with("is lost")), "{faults:#?}");
        assert!(faults.iter().any(|fault| fault.ends_with("was removed and is there")), "{faults:#?}");
    }
}
