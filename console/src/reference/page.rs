//! The reference as a page.

use std::fmt::Write;

use openapi_core::reply::ErrorCode;

use crate::capability::{Capability, Reach, Role};
use crate::input::Position;
use crate::operation::{Access, Entry};
use crate::operations::OPERATIONS;

/// `docs/console-api.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# The console API\n\n<!-- Generated from the table of operations: UPDATE=1 cargo test -p console --test generated -->\n\n\
         The operators' HTTP API, which the dashboard calls. Paths follow `/console/v1`. Answers have the envelope of \
         the Open API (contract 2.5, 6). A change needs the session's cookie, `Origin`, `Content-Type: \
         application/json` and the header `X-Console`; † needs a proof of identity of the last 10 minutes; ‡ needs \
         `If-Match`. `{agent}` without a grant is answered 404.\n\nA script sends a service token as `Authorization: Bearer \
         TOKEN` instead, and none of those headers but the content type. It calls operations with † that the token names \
         in `dangerous`, and none with §, which are for people.\n\n## Operations\n",
    );
    let mut group = "";
    for entry in OPERATIONS {
        let own = entry.metadata.name.split('.').next().unwrap_or_default();
        if own != group {
            group = own;
            let _ = write!(
                text,
                "\n### {group}\n\n| Operation | Method, path | Needs | Input | Audit | Command |\n|---|---|---|---|---|---|\n"
            );
        }
        let _ = writeln!(text, "{}", row(entry));
    }
    roles(&mut text);
    text.push_str("\n## Codes beyond the Open API\n\n| Code | Status | When |\n|---|---|---|\n");
    for code in ErrorCode::CONSOLE {
        let _ = writeln!(text, "| `{}` | {} | {} |", code.as_str(), code.status(), code.when());
    }
    text
}

fn row(entry: &Entry) -> String {
    let metadata = entry.metadata;
    let needs = match metadata.access {
        Access::Public => "–".to_owned(),
        Access::SignedIn => "signed in".to_owned(),
        Access::Agent(capability) | Access::Installation(capability) => format!("`{capability}`"),
    };
    let members = (entry.members)();
    let members = members.iter().filter(|(position, ..)| *position != Position::Path);
    let members: Vec<String> = members
        .map(|(_, name, required, _)| format!("`{name}`{}", if *required { "" } else { "?" }))
        .collect();
    let audit: Vec<String> = metadata.audit.iter().map(|action| format!("`{}`", action.as_str())).collect();
    let or_dash = |text: String| if text.is_empty() { "–".to_owned() } else { text };
    let is_for_people = metadata.access != Access::Public && !metadata.admits_tokens();
    let marks = [(metadata.step_up, "†"), (metadata.traits.is_versioned, "‡"), (is_for_people, "§")];
    let marks: String = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark).collect();
    format!(
        "| `{}`{marks}: {} | {} `{}` | {needs} | {} | {} | {} |",
        metadata.name,
        metadata.summary.trim_end_matches('.'),
        metadata.method.as_str(),
        metadata.path,
        or_dash(members.join(", ")),
        or_dash(audit.join(", ")),
        or_dash(if metadata.command.is_empty() { String::new() } else { format!("`{}`", metadata.command) }),
    )
}

fn roles(text: &mut String) {
    text.push_str(
        "\n## Roles\n\nA grant is a role on one agent or on all; grants add up. ● everything, ◐ without sensitive values, \
         `*` only with a grant on all agents.\n\n| Capability |",
    );
    for role in Role::ALL {
        let _ = write!(text, " {} |", role.as_str());
    }
    let _ = write!(text, "\n|---|{}\n", ":-:|".repeat(Role::ALL.len()));
    for capability in Capability::ALL {
        let _ = write!(text, "| `{capability}` |");
        for role in Role::ALL {
            let mark = match (role.reach(*capability, false), role.reach(*capability, true)) {
                (Some(Reach::Full), _) => "●",
                (Some(Reach::Masked), _) => "◐",
                (None, Some(_)) if role != Role::Owner => "`*`",
                (None, Some(_)) => "●",
                (None, None) => "",
            };
            let _ = write!(text, " {mark} |");
        }
        text.push('\n');
    }
}
