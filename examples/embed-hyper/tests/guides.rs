//! Checks the guides against the code: docs/contract.md covers all endpoints, codes and names, README.md shows the
//! compiled example, and every link and path is valid.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use openapi_core::endpoints::ENDPOINTS;
use openapi_core::operation::{Access, Base, Endpoint};
use openapi_core::reply::ErrorCode;
use openapi_core::validation::ValidationCode;

const CONTRACT: &str = include_str!("../../../docs/contract.md");
const OPERATING: &str = include_str!("../../../docs/operating.md");
const README: &str = include_str!("../../../README.md");
const EXAMPLE: &str = include_str!("../src/main.rs");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The section of the contract whose heading begins with this text.
fn section(heading: &str) -> &'static str {
    let (_, after) = CONTRACT.split_once(heading).unwrap_or_else(|| panic!("there is no '{heading}'"));
    after.split("\n#").next().unwrap_or_default()
}

/// The trimmed cells of the table rows in a text.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'))
        .map(|line| line.split('|').map(str::trim).collect())
}

/// The error codes mentioned in a text.
fn codes(text: &str) -> BTreeSet<&'static str> {
    let words: BTreeSet<&str> =
        text.split(|c: char| !c.is_ascii_uppercase() && c != '_').filter(|word| word.contains('_')).collect();
    ErrorCode::ALL.iter().map(|code| code.as_str()).filter(|code| words.contains(code)).collect()
}

/// Text in backticks.
fn ticked(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_catalogue_of_errors_is_complete() {
    let listed: Vec<(u16, String)> = rows(section("### 6.1 "))
        .filter_map(|row| Some((row.first()?.parse().ok()?, (*row.get(1)?).to_owned())))
        .collect();
    let known: Vec<(u16, String)> =
        ErrorCode::ALL.iter().map(|code| (code.status(), code.as_str().to_owned())).collect();
    let sorted = |mut list: Vec<(u16, String)>| {
        list.sort();
        list
    };
    assert_eq!(sorted(listed), sorted(known));
}

#[test]
fn the_kinds_of_validation_errors_are_complete() {
    let shown = ticked(section("### 6.2 "));
    let missing: Vec<&str> =
        ValidationCode::ALL.iter().map(|rule| rule.as_str()).filter(|rule| !shown.contains(rule)).collect();
    assert!(missing.is_empty(), "section 6.2 does not name {missing:?}");
}

/// The sections with the tables of endpoints that require keys.
const TABLES: [&str; 5] = ["### 4.2 ", "### 4.3 ", "### 4.4 ", "### 4.5 ", "### 4.6 "];

/// An endpoint's table row: request, permission, body and query, success, further errors.
fn row_of(endpoint: &Endpoint) -> Option<Vec<&'static str>> {
    let meta = endpoint.meta;
    let path = meta.path.replace("{agentId}", "<A>");
    let path = match path.strip_prefix("/contacts/{externalReferenceId}") {
        Some(rest) => format!("{{contact}}{rest}"),
        None => path.replace("/contacts/platformid/{contactId}", "{contact}"),
    };
    let path = path.replace("{externalReferenceId}", "<ext>").replace("{templateId}", "<tid>");
    let path = [
        ("{submissionId}", "<sid>"),
        ("{contactId}", "<cid>"),
        ("{fileId}", "<fid>"),
        ("{jobId}", "<jid>"),
        ("{batchId}", "<bid>"),
        ("{endpointId}", "<wid>"),
    ]
    .iter()
    .fold(path, |path, (name, shown)| path.replace(name, shown));
    let request = format!("`{} {path}`", meta.method.as_str());
    TABLES.into_iter().flat_map(|table| rows(section(table))).find(|row| row[0] == request)
}

#[test]
fn every_endpoint_is_in_its_table_with_permission_and_codes() {
    let introduction = section("## 4. ");
    let (of_every, of_bodies) =
        introduction.split_once("one that takes a body").expect("the codes of bodies");
    for endpoint in ENDPOINTS.iter().filter(|endpoint| !endpoint.meta.access.is_public()) {
        let meta = endpoint.meta;
        let row = row_of(endpoint).unwrap_or_else(|| panic!("{} is in no table", meta.id));
        let Access::Key(permission) = meta.access else { continue };
        assert_eq!(row[1], format!("`{permission}`"), "{}", meta.id);
        for parameter in meta.query.iter().filter(|_| row[2] != "query below") {
            assert!(row[2].contains(&format!("`{}`", parameter.name)), "{}: {}", meta.id, parameter.name);
        }
        for status in meta.success {
            assert!(row[3].contains(&status.to_string()) || *status == 200, "{}: {status}", meta.id);
        }
        let mut shown = codes(of_every);
        if meta.body.is_json() {
            shown.extend(codes(of_bodies));
        }
        if !meta.names_agent() {
            shown.remove("AGENT_FORBIDDEN");
        }
        shown.extend(codes(row[4]));
        let answered: BTreeSet<&str> = meta.error_codes().iter().map(|code| code.as_str()).collect();
        assert_eq!(shown, answered, "{}", meta.id);
    }
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.meta.access.is_public()) {
        let origin = if endpoint.meta.base == Base::Origin { "{origin}" } else { "" };
        let request = format!("`{} {origin}{}`", endpoint.meta.method.as_str(), endpoint.meta.path);
        assert!(rows(section("### 4.1 ")).any(|row| row[0] == request), "{request} is not in table 4.1");
    }
}

#[test]
fn every_query_parameter_is_explained() {
    let shown: BTreeSet<&str> = TABLES.into_iter().flat_map(|table| ticked(section(table))).collect();
    // The parameters of a signed URL are opaque.
    let keyed = ENDPOINTS.iter().filter(|endpoint| endpoint.meta.access != Access::Link);
    for parameter in keyed.flat_map(|endpoint| endpoint.meta.query) {
        assert!(shown.contains(parameter.name), "no section of 4.2 to 4.6 names `{}`", parameter.name);
    }
}

#[test]
fn every_field_of_a_contact_is_explained() {
    let contact = openapi_core::schema::ContactSchema::builtin(
        "acme".parse().unwrap(),
        openapi_core::values::Timestamp::from_millis(0),
    );
    let shown: BTreeSet<&str> = rows(section("#### 2.1.1 ")).flat_map(|row| ticked(row[0])).collect();
    for field in &contact.fields {
        assert!(shown.contains(field.name.as_str()), "section 2.1.1 does not name `{}`", field.name);
    }
}

/// The code of the example, without blank lines and comments.
fn code(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).collect()
}

#[test]
fn the_readme_shows_the_compiled_example() {
    let blocks: Vec<&str> =
        README.split("\n```rust").skip(1).map(|block| block.split("\n```").next().unwrap_or("")).collect();
    let shown: Vec<&str> = blocks
        .iter()
        .map(|block| block.split_once('\n').map_or("", |(_, code)| code))
        .find(|block| block.contains("async fn main"))
        .expect("README.md shows an example")
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    assert_eq!(shown, code(EXAMPLE), "README.md and examples/embed-hyper/src/main.rs differ");
    assert!(shown.len() < 30, "the example has {} lines of code", shown.len());
}

/// The lines of code without indentation and blank ones.
fn dedented(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// The Rust files in a folder.
fn compiled(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            compiled(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            found.push((path, text));
        }
    }
}

#[test]
fn messages_in_the_guides_exist_in_the_code() {
    let mut sources = Vec::new();
    for folder in [
        "server-hyper/src",
        "console/src",
        "storage-sqlite/src",
        "storage-postgres/src",
        "extraction/src",
        "openapi-core/src",
    ] {
        compiled(&root().join(folder), &mut sources);
    }
    let (_, trouble) = OPERATING.split_once("\n## When something is wrong\n").expect("the last section");
    let messages = rows(trouble).flat_map(|row| ticked(row[0])).filter(|text| text.contains(' '));
    let mut known = 0;
    for fragment in
        messages.flat_map(|message| message.split('…')).map(|part| part.trim_matches([' ', ';', '?']))
    {
        let is_said = sources.iter().any(|(_, source)| source.contains(fragment));
        assert!(fragment.len() < 3 || is_said, "docs/operating.md: no part says '{fragment}'");
        known += 1;
    }
    assert!(known >= 12, "only {known} messages were found");
}

#[test]
fn rust_blocks_in_the_guides_are_compiled_code() {
    let mut sources = Vec::new();
    compiled(&root().join("examples"), &mut sources);
    let mut blocks = 0;
    for guide in guides() {
        let text = std::fs::read_to_string(root().join(&guide)).expect("a guide");
        for block in text.split("\n```rust\n").skip(1).filter_map(|rest| rest.split("\n```").next()) {
            let wanted = dedented(block);
            let is_there = |(_, source): &(PathBuf, String)| {
                dedented(source).windows(wanted.len()).any(|piece| piece == wanted)
            };
            assert!(sources.iter().any(is_there), "{}: not compiled as it stands:\n{block}", guide.display());
            blocks += 1;
        }
    }
    assert!(blocks >= 10, "only {blocks} blocks of Rust were found");
}

/// The hand-written Markdown files, relative to the root.
fn guides() -> Vec<PathBuf> {
    let mut guides: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md"].into_iter().map(PathBuf::from).collect();
    for example in examples() {
        guides.push(example.join("README.md"));
    }
    for entry in std::fs::read_dir(root().join("docs")).expect("the folder docs") {
        let name = entry.expect("an entry of docs").file_name();
        if name.to_string_lossy().ends_with(".md") {
            guides.push(Path::new("docs").join(name));
        }
    }
    guides
}

/// The folders of the examples, relative to the root.
fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples")).expect("the folder examples");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry of examples").file_name()).collect();
    names.sort();
    names.into_iter().map(|name| Path::new("examples").join(name)).collect()
}

#[test]
fn every_example_has_a_readme_and_is_linked() {
    let text = |path: PathBuf| std::fs::read_to_string(root().join(path)).expect("a file of the project");
    let guides = ["embedding", "testing", "widget"].map(|guide| text(format!("docs/{guide}.md").into()));
    let workspace = text("Cargo.toml".into());
    let mut known = 0;
    for example in examples() {
        let (folder, readme) = (example.display().to_string(), text(example.join("README.md")));
        let lines = readme.lines().filter(|line| !line.is_empty()).count();
        assert!((4..=8).contains(&lines), "{folder}/README.md has {lines} lines");
        assert!(
            guides.iter().any(|guide| guide.contains(&format!("../{folder}"))),
            "no guide names {folder}"
        );
        assert!(workspace.contains(&format!("\"{folder}\"")), "{folder} is no member of the workspace");
        known += 1;
    }
    assert!(known >= 10, "only {known} examples were found");
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let retained = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| retained(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn links_resolve() {
    let mut broken = Vec::new();
    for guide in guides() {
        let path = root().join(&guide);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", guide.display()));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            let headings = std::fs::read_to_string(&target).unwrap_or_default();
            let mut anchors = headings.lines().filter(|line| line.starts_with('#'));
            let found = fragment.is_empty() && target.exists()
                || anchors.any(|line| anchor(line.trim_start_matches('#')) == fragment);
            if !found {
                broken.push(format!("{}: {link}", guide.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links: {broken:#?}");
}

#[test]
fn paths_in_the_architecture_exist() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let bases = [root(), root().join("openapi-core/src"), root().join("server-hyper/src")];
    let mut absent: Vec<&str> = ticked(&text)
        .into_iter()
        .filter(|word| {
            word.ends_with('/')
                || [".rs", ".sql", ".toml", ".json", ".md"].iter().any(|end| word.ends_with(end))
        })
        .filter(|word| {
            !word.contains(['<', '*', '{', ' ']) && !bases.iter().any(|base| base.join(word).exists())
        })
        .collect();
    absent.sort_unstable();
    assert!(absent.is_empty(), "ARCHITECTURE.md names absent paths: {absent:?}");
}
