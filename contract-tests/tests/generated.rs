//! The files generated from the endpoint table: `openapi/v1.json` and `docs/api/`. They are committed so that an API
//! change shows in its review; this test compares them.

#![expect(clippy::disallowed_methods, reason = "the switch of this test is an environment variable")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract_tests::document::{DOCUMENT, service_info};
use contract_tests::reference;

const COMMAND: &str = "UPDATE=1 cargo test -p contract-tests --test generated";

/// The generated files by their path below the repository root.
fn files() -> BTreeMap<PathBuf, String> {
    let mut document = serde_json::to_string_pretty(&*DOCUMENT).expect("JSON");
    document.push('\n');
    let pages = reference::pages(&service_info()).into_iter();
    let mut files: BTreeMap<PathBuf, String> =
        pages.map(|(name, text)| (Path::new("docs/api").join(name), text)).collect();
    files.insert("openapi/v1.json".into(), document);
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace")
}

/// The files in the folders of generated ones, without that of the console, which its own crate makes.
fn found() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["docs/api", "openapi"] {
        let entries = std::fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| Path::new(folder).join(entry.file_name())));
    }
    found.retain(|path| path != Path::new("openapi/console-v1.json"));
    found.sort();
    found
}

#[test]
fn the_committed_files_are_up_to_date() {
    let files = files();
    if std::env::var_os("UPDATE").is_some() {
        for (path, text) in &files {
            let path = root().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
            std::fs::write(&path, text).expect("the file");
        }
        for path in found().iter().filter(|path| !files.contains_key(*path)) {
            std::fs::remove_file(root().join(path)).expect("a file that is no longer made");
        }
    }
    for (path, text) in &files {
        let committed = std::fs::read_to_string(root().join(path)).unwrap_or_default();
        let line = committed.lines().zip(text.lines()).take_while(|(old, new)| old == new).count() + 1;
        assert!(
            committed == *text,
            "{} is not what the code makes (line {line}); run: {COMMAND}",
            path.display()
        );
    }
    let made: Vec<PathBuf> = files.into_keys().collect();
    assert_eq!(found(), made, "files that are no longer made; run: {COMMAND}");
}
