//! Output on a terminal: stored text cannot move its cursor, change its state or reorder what it shows.

use std::process::Command;

use super::support::{BINARY, Sandbox};

/// What a command writes to a terminal.
fn on_a_terminal(sandbox: &Sandbox, arguments: &str) -> String {
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &format!("{BINARY} {arguments}"), "/dev/null"]);
    let output = sandbox.confined(command).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments}: {text}");
    // The terminal's own ends of lines.
    text.replace("\r\n", "\n")
}

#[test]
fn no_command_obeys_stored_text() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    sandbox.json(&["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all"]);
    let hostile = "a\u{9b}2J\u{202e}b\u{200b}c\u{2028}d";
    sandbox.write(
        "contacts.ndjson",
        &format!(
            "{{\"primaryEmail\":\"a@example.com\",\"externalReferenceId\":\"crm-1\",\
             \"customFields\":{{\"x\":\"{hostile}\",\"y\u{202e}\u{200b}\":1}}}}\n"
        ),
    );
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    sandbox.write("hours.md", &format!("# Hours\n\nWe open at {hostile} nine.\n"));
    sandbox.run(&["knowledge", "add", "hours.md", "--agent", "acme"]).done();
    for arguments in [
        "contacts export --agent acme",
        "contacts export --agent acme --format csv",
        "contacts export --agent acme --excel",
        "contacts list --agent acme",
        "contacts list --agent acme --json",
        "contacts show crm-1 --agent acme",
        "contacts show crm-1 --agent acme --json",
        "agents list",
        "agents list --json",
        "agents show acme",
        "agents show acme --json",
        "keys list --agent acme",
        "keys list --agent acme --json",
        "knowledge list --agent acme",
        "knowledge list --agent acme --json",
        "knowledge search open --agent acme",
        "knowledge search open --agent acme --json",
        "audit tail",
        "audit export",
        "contact-schema show --agent acme --json",
    ] {
        let shown = on_a_terminal(&sandbox, arguments);
        let obeyed: Vec<char> = shown
            .chars()
            .filter(|letter| {
                letter.is_control() && !matches!(letter, '\n' | '\t')
                    || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            })
            .collect();
        assert!(obeyed.is_empty() && !shown.trim().is_empty(), "{arguments}: {obeyed:?}: {shown:?}");
    }
    // JSON keeps its meaning, and a file gets the text as it is.
    let shown = on_a_terminal(&sandbox, "contacts export --agent acme");
    let contact: serde_json::Value = serde_json::from_str(shown.trim()).unwrap();
    assert_eq!(contact["customFields"]["x"], hostile);
    assert!(sandbox.run(&["contacts", "export", "--agent", "acme"]).done().contains('\u{9b}'));
}
