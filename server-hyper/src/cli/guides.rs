//! Every command line of the guides is one that this program takes.

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
