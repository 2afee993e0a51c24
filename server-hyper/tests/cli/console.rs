//! One owner of an SQLite file: commands run inside a running server; other processes wait, or learn who owns the file.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use storage_sqlite::Ownership;

use super::support::{BINARY, Said, Sandbox, Serving, connect, credentials, head, within};

const CONTACTS: &str = "/v1/open/contacts/chatbots/acme";

/// A command that runs concurrently.
fn started(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    let mut command = sandbox.command(BINARY);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn kill(child: &mut Child) {
    kill_process(Pid::from_child(child), Signal::KILL).unwrap();
    child.wait().unwrap();
}

fn contacts(count: usize) -> String {
    (0..count)
        .map(|n| {
            let contact = json!({ "externalReferenceId": format!("crm-{n}"), "primaryEmail": format!("c{n}@example.com"),
                "customFields": { "notes": "x".repeat(400) } });
            format!("{contact}\n")
        })
        .collect()
}

fn said(child: Child) -> Said {
    child.wait_with_output().unwrap().into()
}

/// Every kind of command: on the store, with files, with standard input, failing, in both formats.
fn table(sandbox: &Sandbox) -> Vec<(Vec<String>, String)> {
    let key = &sandbox.json(&["keys", "list", "--agent", "acme"])[0]["id"];
    let template = &sandbox.json(&["templates", "list", "--agent", "acme"])[0]["id"];
    let (key, template) = (key.as_str().unwrap(), template.as_str().unwrap());
    let lines = [
        "agents list",
        "agents show acme",
        "agents show nobody",
        "agents configure acme",
        "agents create Again --id acme",
        "agents create --id acme",
        "keys list --agent acme",
        &format!("keys show {key}"),
        "keys show svck_wrong",
        "contact-schema show --agent acme",
        "contact-schema history --agent acme",
        "contact-schema check --agent acme --file empty.json",
        "contact-schema check --agent acme --file broken.json",
        "contact-schema set --agent acme --file none.json",
        "contact-schema set --agent acme --file broken.json",
        "contacts import --agent acme contacts.ndjson",
        "contacts import --agent acme - --format ndjson",
        "contacts import --agent acme bad.ndjson",
        "contacts import --agent acme none.ndjson",
        "contacts export --agent acme",
        "contacts export --agent acme --format csv",
        "contacts export --agent nobody",
        "contacts erase --agent acme nobody",
        "contacts list --agent acme --sort-by primaryEmail --limit 7",
        "contacts show crm-1 --agent acme",
        "contacts show nobody --agent acme",
        "contacts create --agent acme --set status=gone",
        "contacts update crm-1 --agent acme --set nothing=1",
        "contacts update crm-1 --agent acme",
        "templates list --agent acme",
        &format!("templates show {template} --agent acme"),
        "submissions list --agent acme",
        "submissions export --agent acme",
        "credits show --agent acme",
        "credits ledger --agent acme",
        "documents list --agent acme",
        "documents get 697dc8165d4ffa83cfc35cfc --agent acme --out none",
        "knowledge list --agent acme",
        "knowledge search opening --agent acme",
        "knowledge add folder/none.md --agent acme",
        "knowledge remove nothing --agent acme",
        "conversations list --agent acme",
        "conversations export --agent acme",
        "conversations show 697dc8165d4ffa83cfc35cfc --agent acme",
        "audit tail --agent nobody",
        "audit export --agent nobody",
        "migrate --plan",
        "migrate",
        "check",
        "backup folder",
        "agents list --store mysql://x",
        "agents fly",
    ];
    let with_formats = lines.iter().flat_map(|line| [(*line).to_owned(), format!("{line} --json")]);
    with_formats
        .map(|line| {
            let input = if line.contains(" - ") { sandbox.read("contacts.ndjson") } else { String::new() };
            (line.split(' ').map(str::to_owned).collect(), input)
        })
        .collect()
}

fn run_table(sandbox: &Sandbox, table: &[(Vec<String>, String)]) -> Vec<Said> {
    table
        .iter()
        .map(|(arguments, input)| {
            let mut child = started(sandbox, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
            // A command that fails may not read it.
            let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
            said(child)
        })
        .collect()
}

#[test]
fn commands_do_the_same_with_and_without_a_server() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("contacts.ndjson", &contacts(30));
    sandbox.write("bad.ndjson", "{}\n[]\nnothing\n");
    sandbox.write("broken.json", "{");
    sandbox.write("empty.json", "{}");
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.write("folder/hours.md", "# Opening hours\n\nWe open at nine and close at five.\n");
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    sandbox.run(&["knowledge", "add", "folder", "--agent", "acme"]).done();
    sandbox.write(
        "template.json",
        r#"{ "name": "Visit", "fields": [{ "name": "day", "label": "Day", "type": "text" }] }"#,
    );
    sandbox.run(&["templates", "create", "--agent", "acme", "--file", "template.json"]).done();
    let table = table(&sandbox);
    let alone = run_table(&sandbox, &table);
    let server = sandbox.serve(&[]);
    assert!(sandbox.path("data/openapi.db-console").exists());
    let through_the_server = run_table(&sandbox, &table);
    for (((arguments, _), alone), other) in table.iter().zip(&alone).zip(&through_the_server) {
        let (alone, other) = (format!("{alone:?}"), format!("{other:?}"));
        assert_eq!(alone, other, "{}", arguments.join(" "));
    }
    let codes: Vec<i32> = alone.iter().map(|said| said.code).collect();
    assert!(codes.contains(&0) && codes.contains(&1) && codes.contains(&2), "{codes:?}");
    assert_eq!(server.end(), 0);
    assert!(!sandbox.path("data/openapi.db-console").exists());
}

#[test]
fn what_a_command_changes_through_a_server_is_there_at_once() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(&[]);
    let key = sandbox.with_key();
    let headers = credentials(&key);
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    sandbox.write("contacts.ndjson", &contacts(3));
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    let path = "/v1/open/contacts/crm-2/chatbots/acme";
    assert_eq!(server.get(path, &headers).0, 200);
    sandbox.run(&["contacts", "erase", "--agent", "acme", "crm-2"]).done();
    assert_eq!(server.get(path, &headers).0, 404);
    // The audit log names the caller.
    let entries = sandbox.json(&["audit", "tail", "-n", "1"]);
    assert_eq!(entries[0]["actor"], json!({ "type": "operator", "id": "tester" }));
    // The kernel names the user of the connection, whatever the environment says.
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(entries[0]["osUser"]["uid"], json!(uid));
    sandbox.run_with(&[("USER", "somebody")], &["agents", "create", "B", "--id", "b"]).done();
    let entries = sandbox.json(&["audit", "tail", "-n", "1"]);
    assert_eq!(entries[0]["actor"]["id"], "somebody");
    assert_eq!(entries[0]["osUser"]["uid"], json!(uid));
    // Flags of the command's own settings take effect.
    sandbox.write("large.md", &"# A\n\nWords and words. ".repeat(100));
    let refused =
        sandbox.run(&["knowledge", "add", "large.md", "--agent", "acme", "--max-knowledge-size", "1KiB"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    sandbox.run(&["knowledge", "add", "large.md", "--agent", "acme"]).done();
    assert_eq!(server.end(), 0);
}

#[test]
fn flags_that_the_server_cannot_follow_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.run(&["agents", "create", "Acme", "--id", "acme", "--service-name", "Desk"]).done();
    sandbox.write("keys", &"7".repeat(64));
    let server = sandbox.serve(&["--service-name", "Desk"]);
    for (flags, expected) in [
        (&["--blobs", "memory:"][..], "--blobs: this command runs in the server that owns the store"),
        (&["--service-name", "Other"], "the server has Desk; leave the flag out, or stop the server"),
        (&["--server-key-file", "keys"], "--server-key-file: this command runs in the server"),
    ] {
        let refused = sandbox.run(&[&["agents", "list"][..], flags].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(format!("{refused:?}").contains(expected), "{refused:?}");
    }
    for flags in [&["--service-name", "Desk"][..], &["--wait-for-store", "1s", "--log", "debug"]] {
        sandbox.run(&[&["agents", "list"][..], flags].concat()).done();
    }
    assert_eq!(server.end(), 0);
}

#[test]
fn a_second_server_says_who_owns_the_store() {
    let sandbox = Sandbox::new();
    let first = sandbox.serve(&[]);
    let second = sandbox.run(&["serve", "--listen", "127.0.0.1:0", "--wait-for-store", "300ms"]).failed(1);
    let owner = format!("process {} (serve) since ", first.child.id());
    assert!(second.contains(&owner) && second.contains("stop it"), "{second}");
    let (status, _) = first.get("/v1/open/contacts/chatbots/acme", &[]);
    assert_eq!(status, 401, "the first one serves");
    // So does a command that needs the store for itself, and it does not wait.
    let begun = Instant::now();
    let refused = sandbox.run(&["restore", "nothing"]).failed(1);
    assert!(refused.contains(&owner), "{refused}");
    let refused =
        sandbox.run(&["copy", "--from", "sqlite:data/openapi.db", "--to", "sqlite:new/a.db"]).failed(1);
    assert!(refused.contains(&owner), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(first.end(), 0);
}

/// A server that drains while a request is incomplete.
fn draining(sandbox: &Sandbox) -> (Serving, std::net::TcpStream) {
    let key = sandbox.with_key();
    let server = sandbox.serve(&[]);
    let credentials = credentials(&key);
    let mut headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str())).to_vec();
    headers.push(("Content-Type", "application/json"));
    let mut stream = connect(&server.api);
    stream.write_all(head("POST", CONTACTS, &headers, 40).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal(Signal::TERM);
    within(Duration::from_secs(5), "it drains", || sandbox.read("stderr").contains("draining"));
    (server, stream)
}

#[test]
fn a_restarted_server_and_commands_wait_for_the_old_one_to_drain() {
    let sandbox = Sandbox::new();
    let (mut old, stream) = draining(&sandbox);
    let mut list = started(&sandbox, &["agents", "list"]);
    std::thread::sleep(Duration::from_millis(500));
    assert!(list.try_wait().unwrap().is_none(), "it waits");
    let impatient = sandbox.run(&["agents", "list", "--wait-for-store", "100ms"]).failed(1);
    assert!(impatient.contains("(serve)"), "{impatient}");
    drop(stream);
    assert_eq!(old.wait(), 0);
    assert!(said(list).done().contains("acme"));
    // The same for a server.
    let sandbox = Sandbox::new();
    let (mut old, stream) = draining(&sandbox);
    let ended = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        drop(stream);
        old.wait()
    });
    let new = sandbox.serve(&[]);
    assert_eq!(ended.join().unwrap(), 0);
    assert!(sandbox.run(&["agents", "list"]).done().contains("acme"));
    assert_eq!(new.end(), 0);
}

#[test]
fn a_command_waits_for_an_owner_without_a_console() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    // Like a starting server, or another command.
    let ownership = Ownership::take(&sandbox.path("data/openapi.db"), "contacts").unwrap();
    let list = started(&sandbox, &["agents", "list"]);
    std::thread::sleep(Duration::from_millis(2_500));
    drop(ownership);
    let said = said(list);
    assert!(said.stderr.contains("waiting: ") && said.stderr.contains("(contacts)"), "{said:?}");
    assert!(said.done().contains("acme"));
}

#[test]
fn a_killed_server_leaves_a_socket_that_stops_nobody() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let mut server = sandbox.serve(&[]);
    kill(&mut server.child);
    assert!(sandbox.path("data/openapi.db-console").exists());
    assert!(sandbox.run(&["agents", "list"]).done().contains("acme"));
    let server = sandbox.serve(&[]);
    assert!(sandbox.run(&["agents", "list"]).done().contains("acme"));
    assert_eq!(server.end(), 0);
}

#[test]
fn a_server_that_is_killed_while_it_runs_a_command_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let mut server = sandbox.serve(&[]);
    let mut import = started(&sandbox, &["contacts", "import", "--agent", "acme", "-", "--format", "ndjson"]);
    let mut input = import.stdin.take().unwrap();
    input.write_all(contacts(10).as_bytes()).unwrap();
    within(Duration::from_secs(10), "it has begun", || {
        sandbox.run(&["contacts", "export", "--agent", "acme"]).done().lines().count() > 0
    });
    kill(&mut server.child);
    // It reads from a pipe, and calls the server again after the next line.
    let _ = input.write_all(contacts(10).as_bytes());
    drop(input);
    let said = said(import);
    assert!(said.failed(1).contains("server"), "the reason is reported");
    assert!(sandbox.run(&["check"]).done().contains("sound"));
}

#[test]
fn a_killed_command_leaves_the_server_and_the_store_sound() {
    for with_server in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.with_key();
        let server = with_server.then(|| sandbox.serve(&[]));
        let mut import =
            started(&sandbox, &["contacts", "import", "--agent", "acme", "-", "--format", "ndjson"]);
        import.stdin.as_mut().unwrap().write_all(contacts(200).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        kill(&mut import);
        assert!(sandbox.run(&["agents", "list"]).done().contains("acme"));
        assert!(sandbox.run(&["check"]).done().contains("sound"));
        if let Some(server) = server {
            assert_eq!(server.end(), 0);
        }
    }
}

#[test]
fn much_goes_through_the_console_both_ways() {
    const COUNT: usize = 4_000;
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let server = sandbox.serve(&[]);
    sandbox.write("contacts.ndjson", &contacts(COUNT));
    // Two concurrent commands, of which one reads standard input.
    let first = started(&sandbox, &["contacts", "import", "--agent", "acme", "contacts.ndjson", "--json"]);
    let mut second =
        started(&sandbox, &["contacts", "import", "--agent", "acme", "-", "--format", "ndjson", "--json"]);
    second.stdin.take().unwrap().write_all(contacts(COUNT).as_bytes()).unwrap();
    let sums: Vec<Value> =
        [first, second].map(|child| serde_json::from_str(&said(child).done()).unwrap()).into();
    let count = |name: &str| sums.iter().map(|sum| sum[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(count("failed"), 0, "{sums:?}");
    assert_eq!(count("created") as usize, COUNT, "{sums:?}");
    let exported = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    assert_eq!(exported.lines().count(), COUNT);
    // A reader that closes its end, such as `head`, ends the command.
    let mut export = started(&sandbox, &["contacts", "export", "--agent", "acme"]);
    let mut line = String::new();
    BufReader::new(export.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("primaryEmail"));
    assert_eq!(said(export).code, 0);
    assert_eq!(server.end(), 0);
}

#[test]
fn a_command_that_runs_until_it_is_interrupted_ends_with_the_caller_and_with_the_server() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let server = sandbox.serve(&[]);
    let watch = || {
        let child = started(&sandbox, &["conversations", "watch", "--agent", "acme"]);
        std::thread::sleep(Duration::from_millis(1_000));
        child
    };
    let child = watch();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(said(child).code, 0, "as without a server");
    let (follow, child) = (started(&sandbox, &["audit", "tail", "--follow"]), watch());
    let begun = Instant::now();
    assert_eq!(server.end(), 0);
    assert!(begun.elapsed() < Duration::from_secs(10), "the server does not wait for them");
    for child in [follow, child] {
        assert!(said(child).failed(1).contains("the server ended"));
    }
}

#[test]
fn a_path_that_is_too_long_for_a_socket_moves_it_or_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().to_str().unwrap().to_owned();
    let store = format!("sqlite:{}/openapi.db", "long".repeat(30));
    for (variables, moves) in [
        (vec![("OPENAPI_STORE", store.clone())], false),
        (vec![("OPENAPI_STORE", store.clone()), ("XDG_RUNTIME_DIR", runtime)], true),
    ] {
        let sandbox = Sandbox::with(variables);
        sandbox.with_key();
        let server = sandbox.serve(&[]);
        let said = sandbox.run(&["agents", "list"]);
        if moves {
            assert!(said.done().contains("acme"));
        } else {
            assert!(said.failed(1).contains("XDG_RUNTIME_DIR"));
            assert!(sandbox.read("stderr").contains("XDG_RUNTIME_DIR"));
        }
        assert_eq!(server.end(), 0);
    }
}

#[test]
fn a_backup_of_a_running_server_lies_where_the_caller_says() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("contacts.ndjson", &contacts(300));
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    let server = sandbox.serve(&[]);
    let said = sandbox.run(&["backup", "monday"]).done();
    assert!(said.contains("the store is in monday"), "{said}");
    let mut names: Vec<String> = std::fs::read_dir(sandbox.path("monday"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["blobs", "manifest.json", "openapi.db"]);
    assert!(!sandbox.path("monday.partial").exists());
    assert!(sandbox.run(&["backup", "monday"]).failed(1).contains("exists"));
    let left = std::fs::read_dir(sandbox.path("data")).unwrap();
    assert!(
        left.map(|entry| entry.unwrap().file_name()).all(|name| !name.to_string_lossy().contains("backup"))
    );
    assert_eq!(server.end(), 0);
    sandbox.run(&["restore", "monday", "--store", "sqlite:./new/openapi.db"]).done();
    let list = ["contacts", "export", "--agent", "acme", "--store", "sqlite:./new/openapi.db"];
    assert_eq!(sandbox.run(&list).done().lines().count(), 300);
}

/// Nothing but root reads a folder that it may not.
#[test]
fn a_folder_that_cannot_be_written_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.with_key();
    if rustix::process::geteuid().is_root() {
        return;
    }
    std::fs::remove_file(sandbox.path("data/openapi.db-owner")).unwrap();
    std::fs::set_permissions(sandbox.path("data"), std::fs::Permissions::from_mode(0o500)).unwrap();
    let said = sandbox.run(&["agents", "list"]).failed(1);
    assert!(said.contains("openapi.db-owner") && said.contains("service's user"), "{said}");
    std::fs::set_permissions(sandbox.path("data"), std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// A stopped caller costs the server only a thread.
#[test]
fn a_stopped_caller_holds_nobody_up() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("contacts.ndjson", &contacts(2_000));
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    let server = sandbox.serve(&["--drain-timeout", "1s"]);
    let mut stopped: Vec<Child> = (0..3)
        .map(|_| {
            let mut child = started(&sandbox, &["contacts", "export", "--agent", "acme"]);
            let mut begun = [0; 1];
            child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
            kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
            child
        })
        .collect();
    assert!(sandbox.run(&["agents", "list"]).done().contains("acme"));
    let begun = Instant::now();
    assert_eq!(server.end(), 0);
    assert!(begun.elapsed() < Duration::from_secs(10));
    stopped.iter_mut().for_each(kill);
}
