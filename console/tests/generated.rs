//! What is generated from the table agrees with it. `UPDATE=1 cargo test -p console --test generated` writes it.
#![allow(clippy::disallowed_methods, reason = "a test writes what it compares when a variable asks for it")]

use std::path::Path;

fn agrees(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        std::fs::write(&path, text).expect("write");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "{file} is not up to date: UPDATE=1 cargo test -p console --test generated");
}

#[test]
fn types_of_the_dashboard() {
    agrees("dashboard/src/generated/operations.ts", &console::typescript());
}

#[test]
fn reference() {
    agrees("docs/console-api.md", &console::reference());
}

#[test]
fn openapi_document() {
    agrees("openapi/console-v1.json", &console::openapi());
}

/// Names are unique, and every member of a path is an input.
#[test]
fn the_table_is_sound() {
    let mut names: Vec<_> = console::OPERATIONS.iter().map(|entry| entry.metadata.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for entry in console::OPERATIONS {
        let in_path = entry.metadata.path.matches('{').count();
        let members = (entry.members)();
        let of_path = members.iter().filter(|(position, ..)| *position == console::Position::Path).count();
        assert_eq!(in_path, of_path, "{}", entry.metadata.name);
    }
}
