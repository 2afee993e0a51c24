//! `agents configure`: the settings of an agent's widget and chat.

use std::path::PathBuf;

use ::conversations::admin::ChatAdmin;
use ::conversations::{AgentSettings, Conversations};
use clap::Args;
use openapi_core::json::{Json, Object, parse};
use openapi_core::values::AgentId;

use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::error::CliError;

/// Examples of `agents configure`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server agents configure acme\n  \
    openapi-server agents configure acme --set appearance.title=Welcome --set 'origins=[\"https://www.example.com\"]'\n  \
    openapi-server agents configure acme --set chat.minCoverage=0.6 --unset appearance.title\n  \
    openapi-server agents configure acme --json > settings.json\n  \
    openapi-server agents configure acme --file settings.json\n\n\
    Without --file, --set and --unset the command shows the settings. --file replaces all of them, and omitted settings \
    get their defaults; --unset and then --set change single settings of the file or of the agent. A value that parses \
    as JSON is JSON, any other one is text: 'appearance.title=\"2024\"' for a text of digits. Errors name the path, and \
    then nothing changes. Running servers follow within 5 s.";

/// The names of settings below this path may contain dots.
const NAMED: &str = "appearance.strings.";
/// The responders that this program has.
const RESPONDERS: [&str; 2] = ["knowledge", "llm"];

#[derive(Debug, Args)]
pub struct Configure {
    /// The agent
    id: AgentId,
    /// JSON file with all settings; - for standard input
    #[arg(long)]
    file: Option<PathBuf>,
    /// Set a setting; repeatable
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    set: Vec<(String, Json)>,
    /// Reset a setting to its default; repeatable
    #[arg(long, value_name = "PATH")]
    unset: Vec<String>,
    /// Show all resulting settings instead of the changes
    #[arg(long)]
    show: bool,
}

impl Configure {
    pub async fn run(
        self,
        context: &CommandContext,
        chat: &Conversations,
        json: bool,
    ) -> Result<(), CliError> {
        let before = ChatAdmin::agent_settings(chat, &self.id).await?;
        let is_question = self.file.is_none() && self.set.is_empty() && self.unset.is_empty();
        let after = if is_question {
            before.clone()
        } else {
            let wanted = self.wanted(context, &before)?;
            chat.configure_agent(&context.operator(), &self.id, &wanted).await?
        };
        let responder = after.chat.responder.as_str();
        if !RESPONDERS.contains(&responder) {
            context.info(&format!(
                "unknown responder '{responder}'; this program has {}",
                RESPONDERS.join(" and ")
            ));
        }
        if json {
            return context.print_json(&after);
        }
        if is_question || self.show {
            return show(context, &after);
        }
        let changes = changes(&document(&before)?, &document(&after)?);
        if changes.is_empty() {
            context.info("nothing has changed");
            return Ok(());
        }
        context.print_table(false, &changes, &["setting", "before", "now"], Clone::clone)
    }

    /// The resulting settings.
    fn wanted(&self, context: &CommandContext, before: &AgentSettings) -> Result<Object, CliError> {
        let mut wanted = match &self.file {
            Some(path) => input::object(context, path)?,
            None => document(before)?,
        };
        let built_in = document(&AgentSettings::default())?;
        for path in &self.unset {
            let steps = steps(path);
            // A setting that the file omits already has its default.
            if !take(&mut wanted, &steps) && !take(&mut built_in.clone(), &steps) {
                return Err(CliError::new(format!("there is no setting '{path}'")));
            }
        }
        for (path, value) in &self.set {
            put(&mut wanted, &steps(path), value.clone()).map_err(|at| {
                CliError::new(format!("'{at}' of '{path}' has no members; set it as a whole"))
            })?;
        }
        Ok(wanted)
    }
}

/// Reads `PATH=VALUE`.
fn assignment(text: &str) -> Result<(String, Json), String> {
    let (path, value) = text
        .split_once('=')
        .filter(|(path, _)| !path.trim().is_empty())
        .ok_or_else(|| "write PATH=VALUE, such as chat.minCoverage=0.6".to_owned())?;
    let value = parse(value.as_bytes()).unwrap_or_else(|_| Json::from(value));
    Ok((path.trim().to_owned(), value))
}

/// The segments of a setting's path.
fn steps(path: &str) -> Vec<&str> {
    match path.strip_prefix(NAMED) {
        Some(name) => NAMED.trim_end_matches('.').split('.').chain([name]).collect(),
        None => path.split('.').collect(),
    }
}

/// Inserts a value at its path. The error is the path of a value on the way that is not an object.
fn put<'p>(settings: &mut Object, steps: &[&'p str], value: Json) -> Result<(), &'p str> {
    let Some((first, rest)) = steps.split_first() else { return Ok(()) };
    if rest.is_empty() {
        settings.insert(*first, value);
        return Ok(());
    }
    let mut inner = match settings.remove(first) {
        Some(Json::Object(inner)) => inner,
        None | Some(Json::Null) => Object::new(),
        Some(_) => return Err(first),
    };
    put(&mut inner, rest, value)?;
    settings.insert(*first, Json::Object(inner));
    Ok(())
}

/// Removes a setting and returns whether it existed.
fn take(settings: &mut Object, steps: &[&str]) -> bool {
    let Some((first, rest)) = steps.split_first() else { return false };
    if rest.is_empty() {
        return settings.remove(first).is_some();
    }
    let Some(Json::Object(mut inner)) = settings.get(first).cloned() else { return false };
    let was_there = take(&mut inner, rest);
    settings.insert(*first, Json::Object(inner));
    was_there
}

/// The settings as the JSON that an operator writes.
fn document(settings: &AgentSettings) -> Result<Object, CliError> {
    match parse(serde_json::to_string(settings)?.as_bytes()) {
        Ok(Json::Object(settings)) => Ok(settings),
        _ => Err(CliError::new("the settings cannot be shown")),
    }
}

/// Every setting with its path; a list is one setting.
fn flat(settings: &Object) -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (name, value) in settings.iter() {
        match value {
            Json::Object(members) if !members.is_empty() => {
                all.extend(flat(members).into_iter().map(|(rest, value)| (format!("{name}.{rest}"), value)));
            }
            value => all.push((name.to_owned(), value.clone())),
        }
    }
    all
}

/// What differs: path, value before and value now. Without members is as not there: its members stand for it otherwise.
fn changes(before: &Object, after: &Object) -> Vec<Vec<String>> {
    let (before, after) = (flat(before), flat(after));
    let value_in = |settings: &[(String, Json)], path: &str| {
        let value = settings.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone());
        value.filter(|value| value.as_object().is_none()).unwrap_or(Json::Null)
    };
    let is_gone = |path: &String| !after.iter().any(|(known, _)| known == path);
    let paths = after.iter().chain(before.iter().filter(|(path, _)| is_gone(path)));
    paths
        .map(|(path, _)| (path, value_in(&before, path), value_in(&after, path)))
        .filter(|(_, before, now)| !before.same(now))
        .map(|(path, before, now)| vec![path.clone(), shown(&before), shown(&now)])
        .collect()
}

fn show(context: &CommandContext, settings: &AgentSettings) -> Result<(), CliError> {
    let settings = document(settings)?;
    let changed = changes(&document(&AgentSettings::default())?, &settings);
    let built_in = |path: &str| changed.iter().find(|row| row[0] == path).map(|row| row[1].clone());
    let rows: Vec<Vec<String>> = flat(&settings)
        .iter()
        .map(|(path, value)| {
            let note = built_in(path).map(|value| format!("built in: {value}").trim_end().to_owned());
            vec![path.clone(), shown(value), note.unwrap_or_default()]
        })
        .collect();
    context.print_table(false, &rows, &["setting", "value", ""], Clone::clone)
}

fn shown(value: &Json) -> String {
    match value {
        Json::Null => "-".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        let Ok(Json::Object(object)) = parse(text.as_bytes()) else { panic!("{text}") };
        object
    }

    #[test]
    fn values_are_json_or_text() {
        for (text, value) in [
            ("a=1", Json::Number(1.into())),
            ("a=[\"x\"]", object(r#"{"a":["x"]}"#).get("a").unwrap().clone()),
            ("a=Mill Lane", Json::from("Mill Lane")),
            ("a=", Json::from("")),
            ("a=b=c", Json::from("b=c")),
            ("a=\"2024\"", Json::from("2024")),
        ] {
            assert_eq!(assignment(text), Ok(("a".to_owned(), value)), "{text}");
        }
        assert!(assignment("a").is_err() && assignment("=1").is_err());
    }

    #[test]
    fn settings_are_found_by_their_paths() {
        let mut settings =
            object(r#"{"chat":{"llm":{"model":null}},"appearance":{"teaser":null,"strings":{}}}"#);
        let set = |settings: &mut Object, path, value: &str| put(settings, &steps(path), Json::from(value));
        set(&mut settings, "chat.llm.model", "m").unwrap();
        set(&mut settings, "appearance.teaser.text", "Hi").unwrap();
        set(&mut settings, "appearance.strings.unread.one", "One").unwrap();
        let wanted = r#"{"chat":{"llm":{"model":"m"}},"appearance":{"teaser":{"text":"Hi"},"strings":{"unread.one":"One"}}}"#;
        assert!(settings.same(&object(wanted)), "{}", Json::Object(settings).to_text());
        let before = object(wanted);
        settings = before.clone();
        set(&mut settings, "chat.llm.model", "n").unwrap();
        assert_eq!(changes(&before, &settings), [["chat.llm.model", "m", "n"]]);
        assert!(take(&mut settings, &steps("appearance.strings.unread.one")));
        assert!(!take(&mut settings, &steps("appearance.strings.unread.one")));
        assert!(!take(&mut settings, &steps("chat.model")));
        assert_eq!(set(&mut settings, "chat.llm.model.name", "x"), Err("model"));
    }
}
