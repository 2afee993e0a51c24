//! Every command line of the guides, the console and the dashboard is one that this program takes.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, Parser};

use super::{Cli, with_default_command};

/// What placeholders of the guides, such as `ID` and `$KEY`, may stand for.
const VALUES: [&str; 4] = ["697dc8165d4ffa83cfc35cfc", "acme", "ada@example.com", "1"];

/// The words of the first command of a line, as a shell splits it.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_inside) = (None, false);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(mark), letter) if mark == letter => quote = None,
            (Some(_), letter) => words.last_mut().unwrap().push(letter),
            (None, '|' | '>' | '<' | '&' | ';' | ')' | '#') if !is_inside || letter != '#' => break,
            (None, letter) if letter.is_whitespace() => is_inside = false,
            (None, letter) => {
                if !is_inside {
                    words.push(String::new());
                    is_inside = true;
                }
                match letter {
                    '\'' | '"' => quote = Some(letter),
                    letter => words.last_mut().unwrap().push(letter),
                }
            }
        }
    }
    // `2> file`: the number belongs to the redirection.
    if line.contains("2>") && words.last().is_some_and(|word| word == "2") {
        words.pop();
    }
    words
}

/// The command lines of a guide: in blocks of code, and between backticks, where a command may also only be named, such
/// as `keys rotate`.
fn command_lines(guide: &str) -> Vec<String> {
    let commands: Vec<String> =
        Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let (mut found, mut is_code) = (Vec::new(), false);
    let joined = guide.replace("\\\n", " ");
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            if let Some(at) = line.find("openapi-server ") {
                let is_command =
                    line[..at].chars().next_back().is_none_or(|letter| letter == ' ' || letter == '(');
                let is_installed =
                    ["useradd", "chown", "install", "tag", "ExecStart"].iter().any(|it| line.contains(it));
                let is_name = line[..at].contains("podman run") || line[..at].contains("podman build");
                if is_command && !is_installed && !is_name {
                    found.push(line[at..].to_owned());
                }
            }
        } else {
            for code in line.split('`').skip(1).step_by(2) {
                let first = code.split(' ').next().unwrap_or_default();
                let is_command = code.contains(' ') && commands.iter().any(|name| name == first);
                let line = if is_command { format!("openapi-server {code}") } else { code.to_owned() };
                if line.starts_with("openapi-server ") && !is_name(&words(&line)) {
                    found.push(line);
                }
            }
        }
    }
    found
}

/// Whether the words only name a command, such as `keys rotate`.
fn is_name(words: &[String]) -> bool {
    let mut command = Cli::command();
    for word in &words[1..] {
        match command.find_subcommand(word) {
            Some(next) => command = next.clone(),
            None => return false,
        }
    }
    true
}

fn is_placeholder(word: &str) -> bool {
    word.contains('$')
        || word.contains('{')
        || word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

/// Why the program does not take the line.
fn refused(line: &str) -> Option<String> {
    let words = words(line);
    let mut refused = None;
    for value in VALUES {
        let with_value = words.iter().map(|word| if is_placeholder(word) { value } else { word.as_str() });
        let arguments = with_default_command(with_value.map(OsString::from).collect());
        match Cli::try_parse_from(arguments) {
            Ok(_) => return None,
            Err(error) if error.exit_code() == 0 => return None,
            Err(error) => refused = Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
        }
    }
    refused
}

#[test]
fn every_command_line_of_the_guides_is_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut lines, mut problems) = (0, Vec::new());
    for folder in [root.to_owned(), root.join("docs")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                for line in command_lines(&std::fs::read_to_string(&path).unwrap()) {
                    lines += 1;
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    problems.extend(refused(&line).map(|reason| format!("{name}: {line}: {reason}")));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(lines > 100, "only {lines} lines were found");
}

/// The flags that the form of a key adds to its command.
const OF_KEYS: &str = " --name A --allow contacts:read --per-minute 9 --per-hour 99 --ip 192.0.2.7";

/// A command line that a page of the dashboard shows.
struct ShownLine {
    text: String,
    /// Whether flags are added only under a condition, or one for each of several things.
    is_open: bool,
}

/// The command lines that a page of the dashboard shows: `cli="…"`, ``cli={`…`}``, ``cli: `…` ``, ``<Cli line={`…`}``, and
/// ``line(form.values, `…`)`` with the flags of a key.
fn shown_lines(page: &str) -> Vec<ShownLine> {
    let mut found = Vec::new();
    let marks = ["cli", "<Cli line", "line(form.values,"];
    let starts = marks
        .into_iter()
        .flat_map(|mark| page.match_indices(mark).map(move |(at, _)| (mark, at + mark.len())));
    for (marked, start) in starts {
        let Some(rest) = page[start..].strip_prefix(['=', ':', ' ']) else { continue };
        let rest = rest.trim_start_matches([' ', '{']);
        let mut line = match rest.chars().next() {
            Some('`') => template(&rest[1..]),
            Some(mark @ ('"' | '\'')) => {
                let text = rest[1..].split(mark).next().unwrap().to_owned();
                ShownLine { text, is_open: false }
            }
            _ => continue,
        };
        if marked.starts_with("line") {
            line.text.push_str(OF_KEYS);
        }
        found.push(line);
    }
    found
}

/// The line of a template, with placeholders for values.
fn template(text: &str) -> ShownLine {
    let mut line = ShownLine { text: String::new(), is_open: false };
    let mut rest = text;
    while let Some(at) = rest.find(['`', '$']) {
        line.text.push_str(&rest[..at]);
        let Some(expression) = rest[at..].strip_prefix("${") else { return line };
        let mut depth = 1;
        let end = expression.find(|letter| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            depth == 0
        });
        let (expression, after) = expression.split_at(end.expect("an end of the expression"));
        rest = &after[1..];
        let is_call = expression.ends_with(')') && !expression.starts_with("quoted(");
        if is_call || expression.contains(['?', '`']) {
            line.is_open = true;
        } else {
            // A unit may follow a number.
            line.text.push_str(if rest.starts_with(char::is_alphabetic) { "9" } else { "VALUE" });
        }
    }
    line
}

/// All pages below a folder.
fn pages(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "tsx") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_command_line_of_the_console_and_the_dashboard_is_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let operations = ::console::OPERATIONS.iter().map(|entry| entry.metadata);
    let mut lines: Vec<(String, ShownLine)> = operations
        .filter(|metadata| !metadata.command.is_empty())
        .map(|metadata| {
            let line = ShownLine { text: metadata.command.to_owned(), is_open: false };
            (metadata.name.to_owned(), line)
        })
        .collect();
    let of_operations = lines.len();
    for path in pages(&root.join("dashboard/src")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let shown = shown_lines(&std::fs::read_to_string(&path).unwrap());
        lines.extend(shown.into_iter().map(|line| (name.clone(), line)));
    }
    let problems: Vec<String> = lines
        .iter()
        .filter_map(|(name, ShownLine { text, is_open })| {
            let reason = refused(&format!("openapi-server {text}"))?;
            // The flags that are added may be required: roles.
            let is_taken = *is_open && refused(&format!("openapi-server {text} --role inbox@acme")).is_none();
            (!is_taken).then(|| format!("{name}: {text}: {reason}"))
        })
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(of_operations > 30 && lines.len() > of_operations + 10, "{of_operations} of {}", lines.len());
}

#[test]
fn lines_that_lack_an_argument_are_noticed() {
    for line in [
        "openapi-server conversations show ID",
        "openapi-server contacts export",
        "openapi-server agents fly x",
    ] {
        assert!(refused(line).is_some(), "{line}");
    }
    for line in [
        "openapi-server conversations show ID --agent AGENT",
        "openapi-server keys show \"$KEY\" 2> errors.log",
        "openapi-server --listen 127.0.0.1:8080",
        "openapi-server contacts import --agent acme contacts.csv --map 'E-Mail=primaryEmail' | tail # comment",
    ] {
        assert_eq!(refused(line), None, "{line}");
    }
}
