//! Files: what the operator's commands do with their contents, and what a killed server leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::file_client::{Client, contact, id, names};
use super::support::{Place, Serving, credentials};

#[test]
fn contents_go_through_backup_restore_check_and_purge() {
    let place = Place::new();
    let key = place.with_key();
    let (keys, contact) = (credentials(&key), contact(&place));
    let server = place.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let kept = id(client.upload("kept.txt", "kept\n"));
    let lost = id(client.upload("lost.txt", "lost\n"));
    let deleted = id(client.upload("deleted.txt", "deleted\n"));
    assert_eq!(client.delete(&deleted).unwrap().0, 200);
    let (status, content, signature) = client.download(&kept);
    assert_eq!((status, content.as_str()), (200, "kept\n"));

    // While the server runs. Contents of deleted files are in no backup.
    let said = place.json(&["backup", "saved/monday"]);
    assert_eq!(said, json!({ "backup": "saved/monday", "files": 2 }));
    assert_eq!(names(&place.path("saved/monday")), ["blobs", "openapi.db"].map(String::from).into());
    let contents = BTreeSet::from([kept.clone(), lost.clone()]);
    assert_eq!(names(&place.path("saved/monday/blobs/acme")), contents);
    assert!(place.run(&["backup", "saved/monday"]).failed(1).contains("exists"));
    place.run(&["check"]).done();
    assert_eq!(place.json(&["files", "purge", "--agent", "acme"])["purged"], 1);
    assert_eq!(names(&place.path("data/blobs/acme")), contents);
    server.end();
    assert!(!place.read("stderr").contains(&signature), "a signature is in the log");

    // Elsewhere, under the same server keys.
    let elsewhere = ["--store", "sqlite:./other/openapi.db"];
    let restore = [&["restore", "saved/monday"][..], &elsewhere].concat();
    assert_eq!(place.json(&restore)["files"], 2);
    std::fs::copy(place.path("data/server-keys"), place.path("other/server-keys")).unwrap();
    place.run(&[&["check"][..], &elsewhere].concat()).done();
    let server = place.serve(&elsewhere);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    assert_eq!(client.download(&lost).1, "lost\n");
    server.end();

    // What does not agree is told, and mended as far as it can be.
    std::fs::remove_file(place.path("data/blobs/acme").join(&lost)).unwrap();
    let orphan = "0123456789abcdef01234567";
    std::fs::write(place.path("data/blobs/acme").join(orphan), "x").unwrap();
    let said = place.run(&["check"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains(&format!("the content of file acme/{lost} is missing")), "{said:?}");
    assert!(said.stdout.contains(&format!("the content acme/{orphan} belongs to no file")), "{said:?}");
    assert!(place.run(&["backup", "saved/tuesday"]).failed(1).contains(&lost));
    place.run(&["check", "--repair"]).done();
    place.run(&["check"]).done();
    assert_eq!(names(&place.path("data/blobs/acme")), BTreeSet::from([kept.clone()]));

    // A backup that was changed is refused, and contents in the wrong place are not taken for lost.
    std::fs::write(place.path("saved/monday/blobs/acme").join(&kept), "kepT\n").unwrap();
    let said = place.run(&["restore", "saved/monday", "--store", "sqlite:./third/openapi.db"]).failed(1);
    assert!(said.contains("damaged"), "{said}");
    let elsewhere =
        ["check", "--repair", "--blobs", "file:./nowhere", "--store", "sqlite:./other/openapi.db"];
    let said = place.run(&elsewhere);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("does --blobs name their storage?"), "{said:?}");
    place.run(&["check", "--store", "sqlite:./other/openapi.db"]).done();

    place.run(&["contacts", "erase", "--agent", "acme", "crm-1"]).done();
    assert_eq!(names(&place.path("data/blobs/acme")), BTreeSet::new());
}

#[test]
fn settings_of_files_are_obeyed() {
    let place = Place::new();
    let key = place.with_key();
    let (keys, contact) = (credentials(&key), contact(&place));
    let server = place.serve(&[
        "--max-file-size",
        "20B",
        "--files-per-contact",
        "2",
        "--storage-quota",
        "15B",
        "--file-types",
        "txt",
        "--deleted-file-retention",
        "0s",
    ]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let refused = |answer: Option<(u16, Value)>| {
        let (status, body) = answer.unwrap();
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    };
    let first = id(client.upload("a.txt", "0123456789"));
    assert_eq!(refused(client.upload("b.txt", "012345678901234567890")), (413, "FILE_TOO_LARGE".into()));
    assert_eq!(refused(client.upload("b.csv", "1,2")), (415, "UNSUPPORTED_FILE_TYPE".into()));
    assert_eq!(refused(client.upload("b.txt", "012345")), (403, "STORAGE_QUOTA_EXCEEDED".into()));
    let second = id(client.upload("b.txt", "01234"));
    assert_eq!(refused(client.upload("c.txt", "0")), (403, "STORAGE_QUOTA_EXCEEDED".into()));
    assert_eq!(client.delete(&first).unwrap().0, 200);
    assert_eq!(names(&place.path("data/blobs/acme")), BTreeSet::from([second]));
    server.end();
    for (flag, value) in [("--file-types", "exe"), ("--max-file-size", "2GiB"), ("--blobs", "ftp://x")] {
        let said = place.run(&["serve", flag, value]).failed(2);
        assert!(!said.is_empty() && !said.contains("panicked"), "{flag}: {said}");
    }
}

/// How often a server is killed; more with `OPENAPI_TEST_KILLS`.
fn kills() -> u64 {
    std::env::var("OPENAPI_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

/// What a server that was killed had acknowledged.
#[derive(Default)]
struct Acknowledged {
    uploaded: BTreeMap<String, String>,
    /// Deletions that were asked for: an answer may have got lost.
    deleted: BTreeSet<String>,
}

impl Acknowledged {
    /// Uploads and deletes until nobody answers any more.
    fn work(&mut self, server: &Serving, keys: &[(&'static str, String); 2], contact: &str, round: u64) {
        let client = Client { origin: &server.api, keys, agent: "acme", contact };
        for number in 0.. {
            let content = format!("{round} {number} ").repeat(1 + (number * 37) % 4_000);
            let Some((status, body)) = client.upload("a.txt", &content) else { return };
            assert_eq!(status, 201, "{body}");
            let file = body["data"]["id"].as_str().unwrap().to_owned();
            self.uploaded.insert(file.clone(), content);
            if number % 3 == 2 {
                self.deleted.insert(file.clone());
                if client.delete(&file).is_none() {
                    return;
                }
            }
        }
    }
}

/// A server is killed at any moment of uploads and deletions: no file that was acknowledged is lost, no record is
/// without its content, and what is left over is swept.
#[test]
fn killed_servers_lose_no_acknowledged_file() {
    let place = Place::new();
    let key = place.json(&["agents", "create", "Front desk", "--id", "acme"]);
    assert_eq!(key["id"], "acme");
    let mut known = Acknowledged::default();
    let contact = contact(&place);
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..kills() {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = place.json(&[
            "keys",
            "create",
            "--agent",
            "acme",
            "--name",
            "All",
            "--allow",
            "all",
            "--per-minute",
            "1000",
            "--per-hour",
            "10000",
        ]);
        let keys = credentials(&key);
        let mut server = place.serve(&["--files-per-contact", "1000000", "--deleted-file-retention", "0s"]);
        let patience = Duration::from_micros(500 + (dice >> 33) % 120_000);
        std::thread::scope(|scope| {
            let pid = rustix::process::Pid::from_child(&server.child);
            scope.spawn(move || {
                let begun = Instant::now();
                while begun.elapsed() < patience {
                    std::thread::sleep(Duration::from_micros(100));
                }
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            });
            known.work(&server, &keys, &contact, round);
        });
        server.wait();
        // Contents without a record are left over at the worst; everything else is a fault.
        let said = place.run(&["check"]);
        for line in said.stdout.lines().filter(|line| *line != "the store is sound") {
            assert!(line.ends_with("belongs to no file"), "round {round}: {line}");
        }
        place.run(&["check", "--repair"]).done();
    }
    assert!(!known.uploaded.is_empty(), "no upload was acknowledged");
    let key = place.json(&[
        "keys",
        "create",
        "--agent",
        "acme",
        "--name",
        "All",
        "--allow",
        "all",
        "--per-minute",
        "1000",
        "--per-hour",
        "10000",
    ]);
    let keys = credentials(&key);
    let server = place.serve(&["--address-limit-download", "0"]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let living = known.uploaded.iter().filter(|(file, _)| !known.deleted.contains(*file));
    // The newest are nearest to a kill; a key answers so many in a minute.
    for (file, content) in living.rev().take(400) {
        let (status, found, _) = client.download(file);
        assert_eq!(status, 200, "an acknowledged file is gone");
        assert_eq!(found, *content);
    }
    server.end();
}
