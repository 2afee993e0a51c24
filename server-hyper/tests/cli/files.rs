//! Files: the operator's commands on their contents, and the state after a server was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::file_client::{Client, contact, id, names};
use super::support::{Sandbox, Serving, credentials};

#[test]
fn contents_go_through_backup_restore_check_and_purge() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = sandbox.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let live = id(client.upload("live.txt", "live\n"));
    let lost = id(client.upload("lost.txt", "lost\n"));
    let deleted = id(client.upload("deleted.txt", "deleted\n"));
    assert_eq!(client.delete(&deleted).unwrap().0, 200);
    let (status, content, signature) = client.download(&live);
    assert_eq!((status, content.as_str()), (200, "live\n"));

    // While the server runs. Contents of deleted files are in no backup.
    let said = sandbox.json(&["backup", "saved/monday"]);
    assert_eq!(said, json!({ "backup": "saved/monday", "files": 2, "encrypted": false }));
    assert_eq!(
        names(&sandbox.path("saved/monday")),
        ["blobs", "manifest.json", "openapi.db"].map(String::from).into()
    );
    let contents = BTreeSet::from([live.clone(), lost.clone()]);
    assert_eq!(names(&sandbox.path("saved/monday/blobs/acme")), contents);
    assert!(sandbox.run(&["backup", "saved/monday"]).failed(1).contains("exists"));
    sandbox.run(&["check"]).done();
    assert_eq!(sandbox.json(&["files", "purge", "--agent", "acme"])["purged"], 1);
    assert_eq!(names(&sandbox.path("data/blobs/acme")), contents);
    server.end();
    assert!(!sandbox.read("stderr").contains(&signature), "a signature is in the log");

    assert!(sandbox.run(&["backups", "verify", "saved/monday"]).done().contains("2 file(s)"));
    // The list leaves out files that are no backups.
    std::fs::write(sandbox.path("saved/notes.txt"), "x").unwrap();
    let listed = sandbox.run(&["backups", "list", "saved", "--json"]);
    assert_eq!(listed.stderr, "");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((listed[0]["files"].as_u64(), listed.as_array().map(Vec::len)), (Some(2), Some(1)));

    // Elsewhere, under the same server keys.
    let elsewhere = ["--store", "sqlite:./other/openapi.db"];
    let restore = [&["restore", "saved/monday"][..], &elsewhere].concat();
    std::fs::create_dir(sandbox.path("other")).unwrap();
    std::fs::copy(sandbox.path("data/server-keys"), sandbox.path("other/server-keys")).unwrap();
    assert_eq!(sandbox.json(&restore)["files"], 2);
    sandbox.run(&[&["check"][..], &elsewhere].concat()).done();
    let server = sandbox.serve(&elsewhere);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    assert_eq!(client.download(&lost).1, "lost\n");
    server.end();

    // `check` reports differences and repairs them as far as possible.
    std::fs::remove_file(sandbox.path("data/blobs/acme").join(&lost)).unwrap();
    let orphan = "0123456789abcdef01234567";
    std::fs::write(sandbox.path("data/blobs/acme").join(orphan), "x").unwrap();
    let said = sandbox.run(&["check"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains(&format!("the content of file acme/{lost} is missing")), "{said:?}");
    assert!(said.stdout.contains(&format!("the content acme/{orphan} belongs to no file")), "{said:?}");
    assert!(sandbox.run(&["backup", "saved/tuesday"]).failed(1).contains(&lost));
    sandbox.run(&["check", "--repair"]).done();
    sandbox.run(&["check"]).done();
    assert_eq!(names(&sandbox.path("data/blobs/acme")), BTreeSet::from([live.clone()]));

    // A backup that was changed is refused, and contents in the wrong folder do not count as lost.
    flip(&sandbox.path("saved/monday/blobs/acme").join(&live));
    std::fs::create_dir(sandbox.path("third")).unwrap();
    std::fs::copy(sandbox.path("data/server-keys"), sandbox.path("third/server-keys")).unwrap();
    let said = sandbox.run(&["restore", "saved/monday", "--store", "sqlite:./third/openapi.db"]).failed(1);
    assert!(said.contains("damaged"), "{said}");
    let elsewhere =
        ["check", "--repair", "--blobs", "file:./nowhere", "--store", "sqlite:./other/openapi.db"];
    let said = sandbox.run(&elsewhere);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("does --blobs name their storage?"), "{said:?}");
    sandbox.run(&["check", "--store", "sqlite:./other/openapi.db"]).done();

    sandbox.run(&["contacts", "erase", "--agent", "acme", "crm-1"]).done();
    assert_eq!(names(&sandbox.path("data/blobs/acme")), BTreeSet::new());
}

/// Changes the last byte of a file.
fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn contents_are_sealed_and_what_was_changed_is_not_served() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = sandbox.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let text = "nobody reads this on the disk\n".repeat(10_000);
    let [one, two] = ["one.txt", "two.txt"].map(|name| id(client.upload(name, &text)));
    let at = |file: &str| sandbox.path("data/blobs/acme").join(file);
    for file in [&one, &two] {
        let stored = std::fs::read(at(file)).unwrap();
        assert!(
            !stored.windows(12).any(|bytes| bytes == b"nobody reads"),
            "a content is on the disk as it is"
        );
        assert!(client.download(file).1 == text);
    }
    let intact = std::fs::read(at(&one)).unwrap();
    // The content of another file, one that was cut off, and one that was never sealed.
    let swapped = std::fs::read(at(&two)).unwrap();
    for wrong in [&swapped[..], &intact[..intact.len() / 2], text.as_bytes(), b""] {
        std::fs::write(at(&one), wrong).unwrap();
        let (status, body, _) = client.download(&one);
        assert_eq!(status, 500, "{body}");
        assert!(body.contains("INTERNAL_ERROR") && !body.contains("nobody reads"), "{body}");
    }
    assert!(sandbox.read("stderr").contains("does not open and is not served"));
    let get = ["files", "get", one.as_str(), "--agent", "acme", "--out", "one.txt"];
    assert!(sandbox.run(&get).failed(1).contains("cannot be read"));
    std::fs::write(at(&one), intact).unwrap();
    sandbox.run(&get).done();
    assert!(sandbox.read("one.txt") == text);
    // A deleted file, while its content is retained.
    assert_eq!(client.delete(&two).unwrap().0, 200);
    let get = ["files", "get", two.as_str(), "--agent", "acme", "--out", "two.txt"];
    sandbox.run(&get).done();
    assert!(sandbox.read("two.txt") == text);
    assert_eq!(server.end(), 0);
}

/// The contents and records as a release before the sealing stored them.
fn unseal(sandbox: &Sandbox, contents: &[(&str, &str)]) {
    for (file, content) in contents {
        std::fs::write(sandbox.path("data/blobs/acme").join(file), content).unwrap();
    }
    let database = rusqlite::Connection::open(sandbox.path("data/openapi.db")).unwrap();
    database.execute("UPDATE file SET server_key = NULL", []).unwrap();
}

#[test]
fn contents_of_former_releases_are_served_and_sealed_while_a_server_runs() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = sandbox.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let texts = ["first\n".to_owned(), "second\n".repeat(40_000), "third\n".to_owned()];
    let files: Vec<String> = texts.iter().map(|text| id(client.upload("a.txt", text))).collect();
    assert_eq!(server.end(), 0);
    let contents: Vec<(&str, &str)> =
        files.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    unseal(&sandbox, &contents);
    sandbox.run(&["check"]).done();
    let said = sandbox.run(&["server-key", "list"]);
    assert!(said.stderr.contains("the contents of 3 file(s)"), "{said:?}");

    let server = sandbox.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let all_are_served = || {
        files.iter().zip(&texts).all(|(file, text)| {
            let (status, content, _) = client.download(file);
            status == 200 && content == *text
        })
    };
    assert!(all_are_served());
    // A content that is damaged stays as it is.
    std::fs::write(sandbox.path("data/blobs/acme").join(&files[2]), "THIRD\n").unwrap();
    let said = sandbox.run(&["files", "seal", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let sealed: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&sealed["files"], &sealed["sealed"]), (&json!(3), &json!(2)));
    assert!(sealed["faults"][0].as_str().unwrap().contains(&files[2]), "{sealed}");
    assert_eq!(sandbox.read(&format!("data/blobs/acme/{}", files[2])), "THIRD\n");
    std::fs::write(sandbox.path("data/blobs/acme").join(&files[2]), &texts[2]).unwrap();
    assert_eq!(sandbox.json(&["files", "seal"])["sealed"], 1);
    assert_eq!(sandbox.json(&["files", "seal"])["sealed"], 0, "all are sealed");
    assert!(all_are_served());
    for (file, text) in &contents {
        let stored = std::fs::read(sandbox.path("data/blobs/acme").join(file)).unwrap();
        assert!(
            !stored.windows(text.len().min(6)).any(|bytes| bytes == &text.as_bytes()[..6.min(text.len())])
        );
    }
    sandbox.run(&["check"]).done();

    // A former server key is dropped when nothing needs it.
    let old = sandbox.json(&["server-key", "list"])[0].clone();
    assert_eq!(old["uses"]["files"], 3, "{old}");
    let old = old["id"].as_str().unwrap();
    assert!(sandbox.run(&["server-key", "drop", old]).failed(1).contains("is the current server key"));
    sandbox.run(&["server-key", "rotate"]).done();
    let refused = sandbox.run(&["server-key", "drop", old]).failed(1);
    for needed in ["1 secret(s)", "3 content(s) of files", "audit entries", "visitors' tokens", "--force"] {
        assert!(refused.contains(needed), "{needed}: {refused}");
    }
    // What was made with the new key is accepted at once, also before the server takes the key over.
    assert_eq!(sandbox.json(&["files", "seal"])["sealed"], 3);
    assert!(all_are_served(), "contents are served with the new key");
    let newer = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "Newer", "--allow", "all"]);
    let newer = credentials(&newer);
    let client = Client { keys: &newer, ..client };
    assert_eq!(client.download(&files[0]).1, texts[0]);
    let listed = sandbox.json(&["server-key", "list"]);
    assert_eq!(
        (&listed[0]["uses"]["files"], &listed[1]["uses"]["files"]),
        (&json!(3), &json!(0)),
        "{listed}"
    );
    assert!(!sandbox.run(&["server-key", "drop", old]).failed(1).contains("content(s) of files"));
    sandbox.run(&["server-key", "drop", old, "--force"]).done();
    let listed = sandbox.json(&["server-key", "list"]);
    assert_eq!(listed[1]["missing"], true, "{listed}");
    let said = sandbox.run(&["server-key", "drop", "000000000000"]).failed(1);
    assert!(said.contains("there is no server key 000000000000"), "{said}");
    assert_eq!(server.end(), 0);
}

#[test]
fn an_encrypted_backup_needs_its_password() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = sandbox.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let file = id(client.upload("live.txt", &"live\n".repeat(30_000)));
    let password = [("OPENAPI_BACKUP_PASSWORD", "correct horse battery")];
    let backup = ["backup", "saved", "--encrypt"];
    let without = sandbox.run(&backup).failed(1);
    assert!(without.contains("--password-file") && without.contains("OPENAPI_BACKUP_PASSWORD"), "{without}");
    let short = sandbox.run_with(&[("OPENAPI_BACKUP_PASSWORD", "short")], &backup).failed(1);
    assert!(short.contains("12 characters"), "{short}");
    assert!(!sandbox.path("saved").exists() && !sandbox.path("saved.partial").exists());
    // Through the server, which asks the process of the command.
    sandbox.run_with(&password, &backup).done();
    assert_eq!(
        names(&sandbox.path("saved")),
        ["blobs", "manifest.json", "openapi.db.encrypted"].map(String::from).into()
    );
    assert_eq!(server.end(), 0);
    let database = std::fs::read(sandbox.path("saved/openapi.db.encrypted")).unwrap();
    assert!(!database.windows(13).any(|bytes| bytes == b"SQLite format" || bytes == b"a@example.com"));
    let plain = std::fs::read(sandbox.path("data/blobs/acme").join(&file)).unwrap();
    let encrypted = sandbox.path("saved/blobs/acme").join(&file);
    assert!(std::fs::read(&encrypted).unwrap().len() > plain.len());

    let listed: Value =
        serde_json::from_str(&sandbox.run(&["backups", "list", ".", "--json"]).stdout).unwrap();
    assert_eq!(listed[0]["encryption"]["scheme"], "scrypt", "{listed}");
    let verify = ["backups", "verify", "saved"];
    assert!(sandbox.run(&verify).failed(1).contains("needs a password"));
    let wrong = [("OPENAPI_BACKUP_PASSWORD", "correct horse batterie")];
    assert!(sandbox.run_with(&wrong, &verify).failed(1).contains("not the password"));
    sandbox.run_with(&password, &verify).done();
    // As an editor of another system writes it.
    sandbox.write("password", "\u{feff}correct horse battery\r\n");
    sandbox.run(&[&verify[..], &["--password-file", "password"]].concat()).done();

    let restore = ["restore", "saved", "--store", "sqlite:./other/openapi.db", "--password-file", "password"];
    std::fs::create_dir(sandbox.path("other")).unwrap();
    std::fs::copy(sandbox.path("data/server-keys"), sandbox.path("other/server-keys")).unwrap();
    assert_eq!(sandbox.json(&restore)["files"], 1);
    sandbox.run(&["check", "--store", "sqlite:./other/openapi.db"]).done();
    assert_eq!(names(&sandbox.path("other")).iter().filter(|name| name.contains("decrypted")).count(), 0);
    let restored = std::fs::read(sandbox.path("other/blobs/acme").join(&file)).unwrap();
    assert!(restored == plain, "the contents are those of the store");
    // What was changed is refused, be it the database or a content.
    flip(&encrypted);
    std::fs::remove_file(sandbox.path("other/blobs/acme").join(&file)).unwrap();
    let said = sandbox.run(&restore).failed(1);
    assert!(said.contains("was changed or belongs elsewhere"), "{said}");
    flip(&encrypted);
    flip(&sandbox.path("saved/openapi.db.encrypted"));
    assert!(sandbox.run(&restore).failed(1).contains("changed since it was made"));
    assert!(sandbox.run(&[&restore[..], &["--unverified"]].concat()).failed(1).contains("is damaged"));
}

#[test]
fn a_backup_that_was_changed_or_is_of_other_keys_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    contact(&sandbox);
    sandbox.run(&["backup", "saved"]).done();
    let to = ["--store", "sqlite:./other/openapi.db"];
    let restore = |further: &[&str]| sandbox.run(&[&["restore", "saved"][..], &to, further].concat());
    // Without keys the digests are compared, and the command says what that leaves open.
    let said = restore(&[]);
    assert!(said.stderr.contains("no server key is here"), "{said:?}");
    said.done();
    let folder = std::fs::metadata(sandbox.path("other")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777, 0o700);
    // Another store has made keys of its own.
    sandbox.run(&[&["agents", "create", "Own"][..], &["--store", "sqlite:./own/openapi.db"]].concat()).done();
    let foreign = ["backups", "verify", "saved", "--store", "sqlite:./own/openapi.db"];
    assert!(sandbox.run(&foreign).failed(1).contains("not among the server keys"));

    std::fs::copy(sandbox.path("data/server-keys"), sandbox.path("other/server-keys")).unwrap();
    restore(&[]).done();
    let database = sandbox.path("saved/openapi.db");
    let intact = std::fs::read(&database).unwrap();
    // The change counter of the file: SQLite itself finds nothing wrong.
    let mut changed = intact.clone();
    changed[27] ^= 1;
    std::fs::write(&database, changed).unwrap();
    for refused in [sandbox.run(&["backups", "verify", "saved"]), restore(&[])] {
        assert!(refused.failed(1).contains("changed since it was made"));
    }
    restore(&["--unverified"]).done();
    std::fs::write(&database, intact).unwrap();

    // A manifest that was made to agree.
    let manifest = sandbox.path("saved/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"files\": 0", "\"files\": 1")).unwrap();
    assert!(restore(&[]).failed(1).contains("not authentic"));
    std::fs::remove_file(&manifest).unwrap();
    assert!(restore(&[]).failed(1).contains("has no manifest"));
    restore(&["--unverified"]).done();
}

#[test]
fn settings_of_files_are_obeyed() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = sandbox.serve(&[
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
    assert_eq!(names(&sandbox.path("data/blobs/acme")), BTreeSet::from([second]));
    server.end();
    for (flag, value) in [("--file-types", "exe"), ("--max-file-size", "2GiB"), ("--blobs", "ftp://x")] {
        let said = sandbox.run(&["serve", flag, value]).failed(2);
        assert!(!said.is_empty() && !said.contains("panicked"), "{flag}: {said}");
    }
}

/// The number of kills; more with `OPENAPI_TEST_KILLS`.
fn kills() -> u64 {
    std::env::var("OPENAPI_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

/// The operations that a killed server had acknowledged.
#[derive(Default)]
struct Acknowledged {
    uploaded: BTreeMap<String, String>,
    /// Requested deletions, whose responses may be lost.
    deleted: BTreeSet<String>,
}

impl Acknowledged {
    /// Uploads and deletes until the server no longer responds.
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

/// A server is killed at random moments of uploads and deletions: no acknowledged file is lost, every record has its
/// content, and unreferenced contents are swept.
#[test]
fn killed_servers_lose_no_acknowledged_file() {
    let sandbox = Sandbox::new();
    let key = sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    assert_eq!(key["id"], "acme");
    let mut known = Acknowledged::default();
    let contact = contact(&sandbox);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..kills() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = sandbox.json(&[
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
        let mut server = sandbox.serve(&["--files-per-contact", "1000000", "--deleted-file-retention", "0s"]);
        let delay = Duration::from_micros(500 + (random >> 33) % 120_000);
        std::thread::scope(|scope| {
            let pid = rustix::process::Pid::from_child(&server.child);
            scope.spawn(move || {
                let begun = Instant::now();
                while begun.elapsed() < delay {
                    std::thread::sleep(Duration::from_micros(100));
                }
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            });
            known.work(&server, &keys, &contact, round);
        });
        server.wait();
        // Only contents without a record may remain; everything else is an error.
        let said = sandbox.run(&["check"]);
        for line in said.stdout.lines().filter(|line| *line != "the store is sound") {
            assert!(line.ends_with("belongs to no file"), "round {round}: {line}");
        }
        sandbox.run(&["check", "--repair"]).done();
    }
    assert!(!known.uploaded.is_empty(), "no upload was acknowledged");
    let key = sandbox.json(&[
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
    let server = sandbox.serve(&["--address-limit-download", "0"]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let living = known.uploaded.iter().filter(|(file, _)| !known.deleted.contains(*file));
    // The newest files are closest to a kill; the key's rate limits their number.
    for (file, content) in living.rev().take(400) {
        let (status, found, _) = client.download(file);
        assert_eq!(status, 200, "an acknowledged file is gone");
        assert_eq!(found, *content);
    }
    server.end();
}
