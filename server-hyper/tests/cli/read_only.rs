//! A store on a medium that cannot be written.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::support::{BINARY, Said, Sandbox};

/// Runs a command as a user whom the permissions of files bind, which are no obstacle for root.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Said {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", BINARY]);
        command
    } else {
        Command::new(BINARY)
    };
    command.args(arguments);
    sandbox.confined(command).output().unwrap().into()
}

/// Sets the permissions of a folder with everything in it.
fn set_mode(path: &Path, folder: u32, file: u32) {
    let is_folder = path.is_dir();
    let mode = if is_folder { folder } else { file };
    // A folder that is to be changed must be one that can be listed.
    if is_folder && folder & 0o200 != 0 {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    if is_folder {
        for entry in std::fs::read_dir(path).unwrap() {
            set_mode(&entry.unwrap().path(), folder, file);
        }
    }
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn reading_commands_work_and_others_say_why_not() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("contacts.ndjson", "{\"externalReferenceId\":\"a\",\"primaryEmail\":\"a@example.com\"}\n");
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    sandbox.write("hours.md", "# Hours\n\nWe open at nine.\n");
    sandbox.run(&["knowledge", "add", "hours.md", "--agent", "acme"]).done();
    // A backup has no server keys and no file that names an owner.
    sandbox.run(&["backup", "backup"]).done();
    set_mode(&sandbox.path("."), 0o755, 0o644);
    for (folder, name) in [("data", "sqlite:data/openapi.db"), ("backup", "sqlite:backup/openapi.db")] {
        set_mode(&sandbox.path(folder), 0o555, 0o444);
        let read = |arguments: &[&str]| {
            let said = run(&sandbox, &[arguments, &["--store", name]].concat());
            assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
            assert!(said.stderr.contains("can only read"), "{said:?}");
            said.stdout
        };
        assert!(read(&["contacts", "export", "--agent", "acme"]).contains("a@example.com"));
        assert!(read(&["agents", "list"]).contains("acme"));
        assert!(read(&["agents", "show", "acme"]).contains("acme"));
        assert!(read(&["keys", "list", "--agent", "acme"]).contains("All"));
        assert!(read(&["knowledge", "search", "When do you open?", "--agent", "acme"]).contains("at nine"));
        assert!(read(&["audit", "export"]).contains("contact.create"));
        assert_eq!(read(&["check"]), "the store is sound\n");
        let plan = run(&sandbox, &["migrate", "--plan", "--store", name]);
        assert_eq!(plan.done(), "the store is up to date\n");
        for arguments in [&["agents", "disable", "acme"][..], &["agents", "create", "New"]] {
            let said = run(&sandbox, &[arguments, &["--store", name]].concat());
            assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{said:?}");
            assert!(said.stderr.contains("can only read"), "{said:?}");
        }
        let said =
            run(&sandbox, &["serve", "--store", name, "--listen", "127.0.0.1:0", "--ops-listen", "off"]);
        assert!(said.code == 1 && said.stderr.contains("may read and write it"), "{said:?}");
    }
    // What is only in the log would be missing.
    set_mode(&sandbox.path("backup"), 0o755, 0o644);
    sandbox.write("backup/openapi.db-wal", "not empty");
    set_mode(&sandbox.path("backup"), 0o555, 0o444);
    let said = run(&sandbox, &["agents", "list", "--store", "sqlite:backup/openapi.db"]);
    assert!(said.code == 1 && said.stderr.contains("openapi.db-wal"), "{said:?}");
    for folder in ["data", "backup"] {
        set_mode(&sandbox.path(folder), 0o755, 0o644);
    }
    // Once it can be written, it is, and a server owns it.
    sandbox.run(&["agents", "disable", "acme"]).done();
}
