//! The responder `knowledge`: quotes the operator's documents and says nothing else.

mod quote;
mod small_talk;

use conversations::{
    ChatEvent, ChatEvents, ChatResponder, ChatTurn, FoundPassage, Outcome, Source, Speaker, Usage,
};
use futures_util::stream;

use self::quote::Wanted;
use self::small_talk::{SmallTalk, small_talk};
use crate::index::{MAX_QUOTED, QUOTED_SHARE, language_of};
use crate::texts::texts;

/// Headings of further passages that are suggested.
const MAX_SUGGESTIONS: usize = 3;
/// Characters of a suggestion.
const MAX_SUGGESTION: usize = 120;

/// Answers by quoting whole sentences of the passages word for word with their sources. It needs no
/// model and no network and costs nothing; the same turn gives the same reply.
///
/// When the passages cover less of the question than [`ChatSettings::min_coverage`](conversations::ChatSettings)
/// it says that it found no answer, and offers the lead form where that can be.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnowledgeResponder;

impl ChatResponder for KnowledgeResponder {
    fn name(&self) -> &str {
        "knowledge"
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        Box::pin(stream::iter(reply(&turn)))
    }
}

fn reply(turn: &ChatTurn) -> Vec<ChatEvent> {
    let texts = texts(&turn.visitor.locale);
    let question = turn.history.iter().rev().find(|line| line.speaker == Speaker::Visitor);
    let question = question.map_or("", |line| line.text.as_str());
    let said = match small_talk(question) {
        Some(SmallTalk::Greeting) => Some(texts.greeting),
        Some(SmallTalk::Thanks) => Some(texts.thanks),
        None => None,
    };
    if let Some(said) = said {
        return vec![ChatEvent::Delta(said.to_owned()), done(Outcome::Answered, Vec::new())];
    }
    let found = &turn.found;
    let is_covered = found.coverage >= turn.agent.settings.min_coverage && found.coverage > 0.0;
    let answer = if is_covered { answer(question, turn) } else { None };
    let Some((text, sources, quoted)) = answer else {
        if !turn.can_offer_form {
            return vec![ChatEvent::Delta(texts.unknown.to_owned()), done(Outcome::Unknown, Vec::new())];
        }
        let text = format!("{} {}", texts.unknown, texts.form);
        return vec![ChatEvent::Delta(text), ChatEvent::Form, done(Outcome::Unknown, Vec::new())];
    };
    let mut events = vec![ChatEvent::Delta(format!("{}\n\n{text}", texts.found))];
    let suggestions = suggestions(&found.passages, quoted, question);
    if !suggestions.is_empty() {
        events.push(ChatEvent::Suggestions(suggestions));
    }
    events.push(done(Outcome::Answered, sources));
    events
}

fn done(outcome: Outcome, sources: Vec<Source>) -> ChatEvent {
    ChatEvent::Done { outcome, sources, usage: Usage::default() }
}

/// The quotations with their sources, and how many passages were looked at for them.
fn answer(question: &str, turn: &ChatTurn) -> Option<(String, Vec<Source>, usize)> {
    let passages = &turn.found.passages;
    let least = passages.first()?.score * QUOTED_SHARE;
    let quoted = passages.iter().take(MAX_QUOTED).take_while(|passage| passage.score >= least).count();
    let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
    let language = language_of(question, &turn.visitor.locale);
    let mut wanted = Wanted::new(question, language, &texts);
    if wanted.is_empty() {
        // A message like "And how much?" is about what the message before names.
        let before = turn.history.iter().rev().filter(|line| line.speaker == Speaker::Visitor).nth(1);
        let before = before.map_or("", |line| line.text.as_str());
        wanted = Wanted::new(before, language_of(before, &turn.visitor.locale), &texts);
    }
    let mut blocks: Vec<String> = Vec::new();
    let mut sources: Vec<Source> = Vec::new();
    let mut n = 1;
    for passage in &passages[..quoted] {
        let lines = quote::lines(&passage.text, &wanted);
        let Some((last, first)) = lines.split_last() else { continue };
        let mut block = String::new();
        for line in first {
            block.push_str("> ");
            block.push_str(line);
            block.push('\n');
        }
        // A fence or a row of a table ends where its line ends.
        let is_closed = last.starts_with('|') || quote::is_fence(last);
        block.push_str(&format!("> {last}{}[{n}]", if is_closed { "\n>\n> " } else { " " }));
        blocks.push(block);
        sources.push(Source {
            n,
            title: passage.title.clone(),
            url: passage.url.clone(),
            page: passage.page,
        });
        n += 1;
    }
    if blocks.is_empty() { None } else { Some((blocks.join("\n\n"), sources, quoted)) }
}

/// The innermost headings of the passages after the quoted ones.
fn suggestions(passages: &[FoundPassage], quoted: usize, question: &str) -> Vec<String> {
    let shown: Vec<&String> =
        passages[..quoted].iter().filter_map(|passage| passage.headings.last()).collect();
    let mut suggestions: Vec<String> = Vec::new();
    for heading in passages[quoted..].iter().filter_map(|passage| passage.headings.last()) {
        let is_new = !shown.contains(&heading) && !suggestions.contains(heading) && heading != question;
        if is_new && suggestions.len() < MAX_SUGGESTIONS && heading.chars().count() <= MAX_SUGGESTION {
            suggestions.push(heading.clone());
        }
    }
    suggestions
}
