//! The responder `knowledge`: quotes the operator's documents and says nothing else.

mod intents;
mod quote;
mod small_talk;

use conversations::{
    ChatEvent, ChatEvents, ChatResponder, ChatTurn, FoundPassage, Handoff, Outcome, Retrieved, Source,
    Speaker, Usage,
};
use futures_util::stream;

use self::intents::{asks_for_records, wants_person};
use self::quote::Wanted;
use self::small_talk::{SmallTalk, small_talk};
use crate::follow_up;
use crate::index::{MAX_QUOTED, QUOTED_SHARE};
use crate::language::language_of;
use crate::texts::{Texts, texts};

/// The share of [`ChatSettings::min_coverage`](conversations::ChatSettings) from which on a passage is shown as what may
/// help.
const UNSURE_SHARE: f32 = 0.65;
/// The share of it from which on the nearest passages are shown next to the statement that there is no answer: of a search
/// by meaning, and of one by words, which tell less where they cover little.
const NEAREST_SHARE: f32 = 0.2;
const NEAREST_SHARE_OF_WORDS: f32 = 0.5;
/// Passages that are shown where it is not sure that one answers, and the share of the first's score that the second has.
const MAX_UNSURE: usize = 2;
const UNSURE_QUOTED_SHARE: f32 = 0.5;
/// Headings of further passages that are suggested.
const MAX_SUGGESTIONS: usize = 3;
/// Characters of a suggestion.
const MAX_SUGGESTION: usize = 120;

/// Answers by quoting whole sentences of the passages word for word with their sources. It needs no
/// model and no network and costs nothing; the same turn gives the same reply.
///
/// The answer of a question-and-answer pair whose question means the same is given as it stands. The questions of pairs that
/// are only near are suggested.
///
/// When the passages cover less of the question than [`ChatSettings::min_coverage`](conversations::ChatSettings), it says
/// that it is not sure and quotes the best ones; when they cover still less, it says that it found no answer, and shows what is
/// nearest where something is near. Both times, and
/// to a visitor who wants a person, it offers the lead form where that can be. It hands over to a person where the agent's
/// settings allow that, and never looks for what only the visitor's own records tell.
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
    let locale = turn.visitor.locale.as_str();
    let texts = texts(locale);
    let question = turn.history.iter().rev().find(|line| line.speaker == Speaker::Visitor);
    let question = question.map_or("", |line| line.text.as_str());
    let wants_person = wants_person(question, locale);
    let taught = turn.found.passages.first().filter(|_| turn.found.is_taught);
    if let Some(pair) = taught.filter(|_| !(wants_person && turn.agent.settings.handoff.enabled)) {
        return taught_answer(pair, turn, question, wants_person);
    }
    if let Some(small_talk) = small_talk(question, locale) {
        return vec![
            ChatEvent::Delta(spoken(small_talk, texts).to_owned()),
            done(Outcome::SmallTalk, Vec::new()),
        ];
    }
    if wants_person && turn.agent.settings.handoff.enabled {
        let said = ChatEvent::Delta(texts.handoff.to_owned());
        return vec![said, ChatEvent::Handoff(Handoff::default()), done(Outcome::Queued, Vec::new())];
    }
    if !wants_person && asks_for_records(question, locale) {
        return without_answer(texts.personal, turn, texts);
    }
    let found = &turn.found;
    let sureness = Sureness::of(found, turn.agent.settings.min_coverage);
    // A person is wanted: what is only perhaps about it is no help.
    let sureness = sureness.filter(|sureness| !wants_person || *sureness == Sureness::Sure);
    let answer = sureness.and_then(|sureness| Some((sureness, answer(question, turn, sureness)?)));
    let Some((sureness, (text, sources, quoted))) = answer else {
        if wants_person {
            return without_answer(texts.no_person, turn, texts);
        }
        // What the documents are about shows what can be asked.
        let mut events = without_answer(texts.unknown, turn, texts);
        let suggestions = suggestions(found, 0, question);
        if !suggestions.is_empty() {
            events.insert(events.len() - 1, ChatEvent::Suggestions(suggestions));
        }
        return events;
    };
    let (said, outcome) = match sureness {
        Sureness::Sure => (texts.found.to_owned(), Outcome::Answered),
        Sureness::Unsure => (texts.unsure.to_owned(), Outcome::Unsure),
        Sureness::Nearest => (format!("{} {}", texts.unknown, texts.nearest), Outcome::Unknown),
    };
    let mut reply = format!("{said}\n\n{text}");
    let offers_form = turn.can_offer_form && (wants_person || sureness != Sureness::Sure);
    if offers_form {
        reply.push_str(&format!("\n\n{}", texts.form));
    }
    let mut events = vec![ChatEvent::Delta(reply)];
    if offers_form {
        events.push(ChatEvent::Form);
    }
    let suggestions = suggestions(found, quoted, question);
    if !suggestions.is_empty() {
        events.push(ChatEvent::Suggestions(suggestions));
    }
    events.push(done(outcome, sources));
    events
}

/// The answer of a question-and-answer pair as it stands.
fn taught_answer(pair: &FoundPassage, turn: &ChatTurn, question: &str, wants_person: bool) -> Vec<ChatEvent> {
    let last = pair.text.lines().next_back().unwrap_or_default();
    // A fence or a row of a table ends where its line ends.
    let is_closed = last.starts_with('|') || quote::is_fence(last);
    let mut text = format!("{}{}[1]", pair.text, if is_closed { "\n\n" } else { " " });
    let offers_form = wants_person && turn.can_offer_form;
    if offers_form {
        text.push_str(&format!("\n\n{}", texts(&turn.visitor.locale).form));
    }
    let source = Source { n: 1, title: pair.title.clone(), url: pair.url.clone(), page: None };
    let mut events = vec![ChatEvent::Delta(text)];
    events.extend(offers_form.then_some(ChatEvent::Form));
    let near = suggestions(&Retrieved { passages: Vec::new(), ..turn.found.clone() }, 0, question);
    if !near.is_empty() {
        events.push(ChatEvent::Suggestions(near));
    }
    events.push(done(Outcome::Answered, vec![source]));
    events
}

/// How sure it is that what was found answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sureness {
    Sure,
    Unsure,
    /// It does not, but may be of use.
    Nearest,
}

impl Sureness {
    /// By what the passages cover, and what an answer is to cover at least; none where nothing is near.
    fn of(found: &Retrieved, least: f32) -> Option<Self> {
        let is_by_meaning = found.passages.first().is_some_and(|first| first.nearest.is_some());
        let share = if is_by_meaning { NEAREST_SHARE } else { NEAREST_SHARE_OF_WORDS };
        match found.coverage {
            none if none.is_nan() || none <= 0.0 => None,
            sure if sure >= least => Some(Sureness::Sure),
            unsure if unsure >= least * UNSURE_SHARE => Some(Sureness::Unsure),
            near if near >= least * share => Some(Sureness::Nearest),
            _ => None,
        }
    }
}

/// What is said to a message that asks nothing of the documents.
fn spoken(small_talk: SmallTalk, texts: &Texts) -> &'static str {
    match small_talk {
        SmallTalk::Greeting => texts.greeting,
        SmallTalk::Thanks => texts.thanks,
        SmallTalk::Wellbeing => texts.wellbeing,
        SmallTalk::Identity => texts.identity,
        SmallTalk::Sorry => texts.sorry,
    }
}

/// A reply that says why there is no answer, with the lead form where it can be offered.
fn without_answer(said: &str, turn: &ChatTurn, texts: &Texts) -> Vec<ChatEvent> {
    let done = done(Outcome::Unknown, Vec::new());
    if !turn.can_offer_form {
        return vec![ChatEvent::Delta(said.to_owned()), done];
    }
    vec![ChatEvent::Delta(format!("{said} {}", texts.form)), ChatEvent::Form, done]
}

fn done(outcome: Outcome, sources: Vec<Source>) -> ChatEvent {
    ChatEvent::Done { outcome, sources, usage: Usage::default() }
}

/// The quotations with their sources, and how many passages were looked at for them.
fn answer(question: &str, turn: &ChatTurn, sureness: Sureness) -> Option<(String, Vec<Source>, usize)> {
    let passages = &turn.found.passages;
    let (at_most, share) = match sureness {
        Sureness::Sure => (MAX_QUOTED, QUOTED_SHARE),
        Sureness::Unsure | Sureness::Nearest => (MAX_UNSURE, UNSURE_QUOTED_SHARE),
    };
    let least = passages.first()?.score * share;
    let quoted = passages.iter().take(at_most).take_while(|passage| passage.score >= least).count();
    let wanted = wanted(question, turn);
    let mut blocks: Vec<String> = Vec::new();
    let mut sources: Vec<Source> = Vec::new();
    let mut said: Vec<Vec<String>> = Vec::new();
    let mut n = 1;
    for passage in &passages[..quoted] {
        let lines = quote::lines(&passage.text, &passage.headings, passage.nearest.as_ref(), &wanted);
        let is_repeated = said.contains(&lines);
        let Some((last, first)) = lines.split_last().filter(|_| !is_repeated) else { continue };
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
        said.push(lines);
        n += 1;
    }
    if blocks.is_empty() { None } else { Some((blocks.join("\n\n"), sources, quoted)) }
}

/// The words that quotations are chosen by: those of the question, and of the one before where it goes on from there.
fn wanted(question: &str, turn: &ChatTurn) -> Wanted {
    let locale = turn.visitor.locale.as_str();
    let passages: Vec<&str> = turn.found.passages.iter().map(|passage| passage.text.as_str()).collect();
    let language = language_of(question, locale);
    let before = turn.history.iter().rev().filter(|line| line.speaker == Speaker::Visitor).nth(1);
    let before = before.map_or("", |line| line.text.as_str());
    if !before.is_empty() && follow_up::goes_on(question, locale) {
        return Wanted::new(&format!("{question}\n{before}"), language, &passages);
    }
    let wanted = Wanted::new(question, language, &passages);
    // A message like "How much?" is about what the message before names.
    if wanted.is_empty() { Wanted::new(before, language_of(before, locale), &passages) } else { wanted }
}

/// The questions of pairs that are near, then the innermost headings of the passages after the quoted ones.
fn suggestions(found: &Retrieved, quoted: usize, question: &str) -> Vec<String> {
    let (quoted, others) = found.passages.split_at(quoted);
    let shown: Vec<&String> = quoted.iter().filter_map(|passage| passage.headings.last()).collect();
    let mut suggestions: Vec<String> = Vec::new();
    let questions = found.near_pairs.iter().filter_map(|pair| pair.headings.first());
    for text in questions.chain(others.iter().filter_map(|passage| passage.headings.last())) {
        let is_new = !shown.contains(&text) && !suggestions.contains(text) && text != question;
        if is_new && suggestions.len() < MAX_SUGGESTIONS && text.chars().count() <= MAX_SUGGESTION {
            suggestions.push(text.clone());
        }
    }
    suggestions
}
