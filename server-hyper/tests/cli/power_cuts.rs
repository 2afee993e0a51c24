//! Power cuts of the whole server: records and contents are in two stores, and they agree after a cut at any moment.
//!
//! A server runs under `strace` while files are uploaded and deleted. [`power_cuts`] simulates the disk
//! after a cut; then `openapi-server check` checks it, and the test compares it with the acknowledged operations.
//! `OPENAPI_TEST_CUTS=1000 cargo test -p server-hyper --test cli power_cuts` tries more cuts.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::time::Duration;

use ::conversations::storage::ConversationStorage;
use openapi_core::ports::BlobKey;
use openapi_core::seal::Unsealer;
use power_cuts::Event;
use serde_json::Value;
use server_hyper::assemble::{self, StoreUrl};
use server_hyper::ports::{SystemClock, SystemRandom};
use server_hyper::server_keys::KeySource;
use testkit::SplitMix64;

use super::file_client::{Client, id};
use super::support::{BINARY, Said, Sandbox, within};

/// Uploads of each of the two clients.
const UPLOADS: usize = 9;

/// Keeps the server's own keys out of the simulation.
const SERVER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn cuts() -> usize {
    std::env::var("OPENAPI_TEST_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(40)
}

/// The disk operations of a server, and the contents of all uploaded files.
struct Recorded {
    sandbox: Sandbox,
    events: Vec<Event>,
    contents: BTreeMap<String, String>,
    /// The files that were deleted.
    deleted: Vec<String>,
}

/// Contents of several sizes, some of which need more than one write.
fn content(client: usize, number: usize) -> String {
    format!("{client} {number} ").repeat(1 + [0, 200, 90_000, 3_000][number % 4])
}

impl Recorded {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let (disk, trace) = (sandbox.path("disk"), sandbox.path("trace"));
        std::fs::create_dir(&disk).unwrap();
        let mut command = sandbox.confined(::power_cuts::traced(BINARY, &trace));
        command.env("OPENAPI_SERVER_KEY", SERVER_KEY);
        command.args(["demo", "--deleted-file-retention", "0s", "--store"]);
        command.arg(format!("sqlite:{}/data/openapi.db", disk.display()));
        let mut server = sandbox.started(command);
        let mut word = |name: &str| {
            let mut line = String::new();
            while !line.starts_with(name) {
                line.clear();
                assert!(
                    server.output.read_line(&mut line).unwrap() > 0,
                    "the server does not say its {name}"
                );
            }
            line[name.len()..].trim().to_owned()
        };
        let agent = word("agent");
        let keys = [("X-API-Key", word("key")), ("X-API-Secret", word("secret"))];
        let headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (_, listed) = server.get(&format!("/v1/open/contacts/chatbots/{agent}?status=active"), &headers);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let contact = listed["data"][0]["id"].as_str().unwrap();
        let client = Client { origin: &server.api, keys: &keys, agent: &agent, contact };
        let work = |number: usize| {
            let (mut contents, mut deleted) = (BTreeMap::new(), Vec::new());
            for upload in 0..UPLOADS {
                let content = content(number, upload);
                let file = id(client.upload("a.txt", &content));
                if upload % 3 == 1 {
                    assert_eq!(client.delete(&file).unwrap().0, 200);
                    deleted.push(file.clone());
                }
                contents.insert(file, content);
            }
            (contents, deleted)
        };
        let (mut all, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| work(1));
            (work(0), other.join().unwrap())
        });
        all.0.extend(other.0);
        all.1.extend(other.1);
        let pid = server.child.id();
        assert_eq!(server.end(), 0);
        let read = || std::fs::read_to_string(&trace).unwrap();
        within(Duration::from_secs(20), "the whole trace", || power_cuts::is_complete(&read(), pid));
        let events = power_cuts::events(&read(), &disk);
        Recorded { sandbox, events, contents: all.0, deleted: all.1 }
    }

    /// Without the syncs of files below this path.
    fn without_syncs_of(mut self, path: &str) -> Self {
        let path = self.sandbox.path("disk").join(path);
        let is_dropped = |event: &Event| matches!(event, Event::Sync { path: synced, .. } if synced.to_string_lossy().starts_with(&*path.to_string_lossy()));
        // Syncs count the events before them, so a dropped event is replaced and not removed.
        for event in &mut self.events {
            if is_dropped(event) {
                *event = Event::Said(String::new());
            }
        }
        self
    }

    /// The files with a response of this status before the cut.
    fn answered(&self, count: usize, status: u16) -> impl Fn(&str) -> bool {
        let begin = format!("HTTP/1.1 {status} ");
        let said: Vec<&str> = self.events[..count]
            .iter()
            .filter_map(|event| match event {
                Event::Said(text) if text.starts_with(&begin) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        move |file| said.iter().any(|text| text.contains(&format!("\"{file}\"")))
    }

    /// The problems after a power cut that follows so many events.
    fn faults(&self, count: usize, random: &mut SplitMix64) -> Vec<String> {
        let left = self.sandbox.path("left");
        std::fs::create_dir(&left).unwrap();
        power_cuts::after_cut(&self.events, count, random, &self.sandbox.path("disk"), &left);
        let store = format!("sqlite:{}/data/openapi.db", left.display());
        let said: Said = self
            .sandbox
            .command(BINARY)
            .env("OPENAPI_SERVER_KEY", SERVER_KEY)
            .args(["check", "--store", &store])
            .output()
            .unwrap()
            .into();
        // A crash may leave contents without a record; they are swept.
        let is_harmless = |line: &&str| line.ends_with("belongs to no file") || *line == "the store is sound";
        let mut faults: Vec<String> =
            said.stdout.lines().filter(|line| !is_harmless(line)).map(str::to_owned).collect();
        if said.stdout.is_empty() {
            faults.push(format!("it does not open: {}", said.stderr));
        } else {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            faults.extend(runtime.block_on(self.broken_promises(count, &store, &left)));
        }
        std::fs::remove_dir_all(&left).unwrap();
        faults
    }

    /// The acknowledged operations that are lost.
    async fn broken_promises(&self, count: usize, store: &str, left: &Path) -> Vec<String> {
        let storage = assemble::open(&StoreUrl::parse(store).unwrap(), None).await.unwrap().storage();
        let storage: &dyn ConversationStorage = &*storage;
        let (uploaded, deleted) = (self.answered(count, 201), self.answered(count, 200));
        let mut broken = Vec::new();
        for (file, content) in &self.contents {
            let agent = "demo".parse().unwrap();
            let is_there = storage.file(&agent, file.parse().unwrap()).await.unwrap().is_some();
            if deleted(file) && is_there {
                broken.push(format!("{file} was deleted and is there"));
            }
            if self.deleted.contains(file) || !uploaded(file) {
                continue;
            }
            let found = std::fs::read(left.join("data/blobs/demo").join(file)).unwrap_or_default();
            let key = BlobKey::new(agent, file.parse().unwrap());
            let keys = KeySource::Given(SERVER_KEY.to_owned()).load(&SystemClock, &SystemRandom).unwrap();
            let mut unsealer = Unsealer::new(&keys, &key, content.len() as u64).unwrap();
            let is_intact = unsealer.push(&found).is_ok_and(|found| found == content.as_bytes());
            if !is_there || !is_intact {
                broken.push(format!("{file} was acknowledged and is lost"));
            }
        }
        broken
    }

    /// The number of cuts with problems, and all problems.
    fn cut(&self, cuts: usize) -> (usize, Vec<String>) {
        // The first is the response to the first upload.
        let first = (0..self.events.len()).find(|count| {
            let is_uploaded = self.answered(*count, 201);
            self.contents.keys().any(|file| is_uploaded(file))
        });
        let first = first.expect("the acknowledgements are in the trace");
        let answers = self.answered(self.events.len(), 201);
        assert!(self.contents.keys().all(|file| answers(file)), "each acknowledgement is in the trace");
        let (mut damaged, mut all) = (0, Vec::new());
        let mut random = SplitMix64(5);
        for _ in 0..cuts {
            let count = first + random.index(self.events.len() - first + 1);
            let faults = self.faults(count, &mut random);
            damaged += usize::from(!faults.is_empty());
            all.extend(faults);
        }
        (damaged, all)
    }
}

#[test]
fn records_and_contents_agree_after_power_cuts() {
    let (damaged, faults) = Recorded::new().cut(cuts());
    assert_eq!(damaged, 0, "{faults:#?}");
}

/// Proves that the other test can fail: once without the syncs of contents, once without those of records.
#[test]
fn without_syncs_power_cuts_do_damage() {
    // So many that each kind of damage is among them: if all contents are lost, one line reports it.
    const CUTS: usize = 45;
    let recorded = Recorded::new().without_syncs_of("data/blobs");
    let (damaged, faults) = recorded.cut(CUTS);
    assert!(damaged > CUTS / 3, "only {damaged} of {CUTS} cuts took anything");
    assert!(faults.iter().any(|fault| fault.contains("is missing")), "{faults:#?}");
    let recorded = Recorded::new().without_syncs_of("data/openapi.db");
    let (damaged, faults) = recorded.cut(CUTS);
    assert!(damaged > CUTS / 3, "only {damaged} of {CUTS} cuts took anything");
    assert!(faults.iter().any(|fault| fault.ends_with("is lost")), "{faults:#?}");
}
