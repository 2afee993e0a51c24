//! Power cuts: an acknowledged write is on disk. A child process creates contacts under `strace` and reports each
//! acknowledgement. Its files are then rebuilt as a cut at any moment may leave them ([`power_cuts`]), opened and
//! compared with the reports up to then.
//!
//! `cargo test -p storage-sqlite --lib -- --ignored survive_a_thousand_power_cuts` tries more of them.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use openapi_core::contacts::ContactRef;
use openapi_core::storage::{AuditQuery, AuditStore, ContactStore};
use power_cuts::Event;
use rusqlite::Connection;
use testkit::SplitMix64;

use super::support::{Folder, agent_id, contact, contact_id, insert, insert_agent, wait};
use crate::{SqliteConfig, SqliteStorage};

/// The variable that names the child's file; set in no other process.
const DATABASE: &str = "POWER_CUTS_DATABASE";
/// Set for a child that must not wait for the disk, to prove that the test notices cuts.
const WEAK: &str = "POWER_CUTS_WEAK";

/// The contacts that the child creates each time it opens the store, and how often it does.
const CONTACTS: u64 = 24;
const SESSIONS: u64 = 3;

#[expect(clippy::disallowed_methods, reason = "the parent passes the task to the child in the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Makes the child of one test omit the sync of each commit.
pub(crate) fn weaken(db: &Connection) -> rusqlite::Result<()> {
    if variable(WEAK).is_some() { db.pragma_update(None, "synchronous", "NORMAL") } else { Ok(()) }
}

fn say(line: &str) {
    use std::io::Write as _;
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap();
    // Not `println`, which tests capture; and one system call for each line.
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Not a test: the child.
#[test]
#[ignore = "run by the others"]
fn write_until_the_end() {
    let Some(path) = variable(DATABASE) else { return };
    let agent = agent_id("a");
    for session in 0..SESSIONS {
        let store = SqliteStorage::open(SqliteConfig::new(&path)).unwrap();
        if session == 0 {
            insert_agent(&store, &agent);
            say("\nagent");
        }
        let schema = wait(openapi_core::storage::ContactSchemaStore::contact_schema(&store, &agent));
        let schema = schema.unwrap().unwrap();
        let next = AtomicU64::new(session * CONTACTS);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= (session + 1) * CONTACTS {
                            break;
                        }
                        insert(&store, &contact(&agent, number), &schema);
                        say(&format!("contact {number}"));
                    }
                });
            }
        });
    }
}

/// The events of a child.
fn recorded(folder: &Folder, weak: bool) -> Vec<Event> {
    let trace = folder.path().join("trace");
    let root = folder.path().join("disk");
    std::fs::create_dir(&root).unwrap();
    let mut command = power_cuts::traced(std::env::current_exe().unwrap(), &trace);
    command
        .args(["--exact", "tests::power_cuts::write_until_the_end", "--ignored", "--nocapture"])
        .env(DATABASE, root.join("data/openapi.db"));
    if weak {
        command.env(WEAK, "1");
    }
    let output = command.output().unwrap_or_else(|error| panic!("{}", power_cuts::not_traced(&error)));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    power_cuts::events(&std::fs::read_to_string(&trace).unwrap(), &root)
}

/// The errors in the files after a cut; `acknowledged` has the reports before it.
fn faults(left: &Path, acknowledged: &[String]) -> Vec<String> {
    let store = match SqliteStorage::open(SqliteConfig::new(left.join("data/openapi.db"))) {
        Ok(store) => store,
        Err(error) => return vec![format!("it does not open: {error}")],
    };
    let mut faults: Vec<String> = match store.check() {
        Ok(findings) => findings.iter().map(|finding| format!("{finding:?}")).collect(),
        Err(error) => vec![format!("it cannot be checked: {error:?}")],
    };
    let agent = agent_id("a");
    let query = AuditQuery { agent: Some(agent.clone()), after: None, newest_first: false, limit: 10_000 };
    let entries = wait(store.audit_entries(&query)).unwrap();
    for line in acknowledged {
        let is_there = match line.strip_prefix("contact ") {
            None => !entries.is_empty(),
            Some(number) => {
                let id = contact_id(number.parse().unwrap());
                let resource = id.to_string();
                wait(store.contact(&agent, &ContactRef::Id(id))).unwrap().is_some()
                    && entries.iter().any(|entry| entry.resource.as_ref() == Some(&resource))
            }
        };
        if !is_there {
            faults.push(format!("{line} was acknowledged and is lost"));
        }
    }
    faults
}

/// In how many cuts something was wrong, with the first error.
fn cut(weak: bool, cuts: u64) -> (u64, Vec<String>) {
    let folder = Folder::new();
    let events = recorded(&folder, weak);
    let said = |event: &Event| match event {
        Event::Said(text) => text.lines().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let lines = |events: &[Event]| -> Vec<String> {
        let is_ours = |line: &String| line == "agent" || line.starts_with("contact ");
        events.iter().flat_map(said).filter(is_ours).collect()
    };
    assert_eq!(lines(&events).len() as u64, 1 + SESSIONS * CONTACTS, "each acknowledgement is in the trace");
    assert!(events.iter().filter(|event| matches!(event, Event::Sync { .. })).count() > 10);
    let (mut damaged, mut first) = (0, Vec::new());
    let mut rng = SplitMix64(7);
    for number in 0..cuts {
        let count = rng.index(events.len() + 1);
        let left = folder.path().join(format!("left-{number}"));
        std::fs::create_dir(&left).unwrap();
        power_cuts::after_cut(&events, count, &mut rng, &folder.path().join("disk"), &left);
        let faults = faults(&left, &lines(&events[..count]));
        std::fs::remove_dir_all(&left).unwrap();
        if !faults.is_empty() {
            damaged += 1;
            if first.is_empty() {
                first = faults;
                first.insert(0, format!("cut {number}, after event {count} of {}", events.len()));
            }
        }
    }
    (damaged, first)
}

#[test]
fn acknowledged_writes_survive_power_cuts() {
    let (damaged, first) = cut(false, 60);
    assert_eq!(damaged, 0, "{first:#?}");
}

#[test]
#[ignore = "takes a minute or two"]
fn survive_a_thousand_power_cuts() {
    let (damaged, first) = cut(false, 1_000);
    assert_eq!(damaged, 0, "{first:#?}");
}

/// Proves that the other tests would notice: without a sync for each commit, cuts lose acknowledged writes.
#[test]
fn without_a_sync_for_each_commit_writes_are_lost() {
    let (damaged, first) = cut(true, 60);
    assert!(damaged > 20, "only {damaged} of 60 cuts took anything");
    assert!(first.iter().any(|error| error.ends_with("was acknowledged and is lost")), "{first:#?}");
}
