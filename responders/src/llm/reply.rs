//! A reply in progress: the text of the model, and the part of it that the visitor sees.

use std::collections::BTreeMap;

use conversations::{ChatEvent, ChatLine, ChatTurn, Handoff, Outcome, Source, Speaker, StatusKind, Usage};
use llm::{Price, StreamChunk, ToolCallPiece};
use serde_json::Value;

use super::events::Emitter;
use super::filter::{Filter, MAX_REPLY};
use super::links::Links;
use super::prompt::Prompt;
use super::prompt_leak::PromptLeakDetector;
use super::tools::{Action, FIELD, QUESTION, VALUE};
use crate::texts::texts;

/// The tags that some models put around what they think.
const THOUGHT: (&str, &str) = ("<think>", "</think>");

/// Bytes of the arguments of a call.
const MAX_ARGUMENTS: usize = 4_096;
/// Calls of tools that are read in one response.
const MAX_CALLS: usize = 8;
/// Characters of a question that a model searches for.
const MAX_QUESTION: usize = 500;
/// Characters of the name of a field of the lead form, and of its value.
const MAX_VALUE: usize = 200;
/// Bytes that a model may write before it searches ("One moment, I will look that up."): the visitor no longer sees them
/// when it answers. With more it has answered.
const MAX_INTRODUCTION: usize = 200;

/// Where in its thoughts a model is that writes them into its reply.
enum Thoughts {
    /// Nothing but blanks, or the beginning of the tag, has come.
    Unclear(String),
    /// The tag that ends them is looked for.
    Inside(String),
    Over,
}

/// A call of a tool.
struct Call {
    /// Its number in the response.
    index: u64,
    action: Option<Action>,
    arguments: String,
}

/// A reply.
pub(super) struct Reply<'a> {
    turn: &'a ChatTurn,
    filter: Filter,
    leaks: PromptLeakDetector,
    thoughts: Thoughts,
    actions: Vec<Action>,
    /// The calls of tools, of unknown ones too.
    calls: Vec<Call>,
    price: Price,
    /// The tokens of earlier attempts.
    spent: llm::Usage,
    /// An estimate of the tokens of the prompt.
    input_tokens: u64,
    /// Bytes of what the model said, thoughts included.
    said: usize,
    /// How many of them the usage that the endpoint reports includes.
    said_in_usage: usize,
    /// Bytes that were shown.
    shown: usize,
    usage: Option<llm::Usage>,
    status: Option<StatusKind>,
    pub(super) has_ended: bool,
    has_refused: bool,
    has_leaked: bool,
}

impl<'a> Reply<'a> {
    pub(super) fn new(turn: &'a ChatTurn, prompt: &Prompt, price: Price, spent: llm::Usage) -> Self {
        let instructions = turn.agent.settings.instructions.as_deref().unwrap_or_default();
        Reply {
            turn,
            filter: Filter::new(Links::of(turn), prompt.passages),
            leaks: PromptLeakDetector::new(&[&prompt.rules, instructions]),
            thoughts: Thoughts::Unclear(String::new()),
            actions: Vec::new(),
            calls: Vec::new(),
            price,
            spent,
            input_tokens: prompt.tokens,
            said: 0,
            said_in_usage: 0,
            shown: 0,
            usage: None,
            // Emitted with the request.
            status: Some(StatusKind::Thinking),
            has_ended: false,
            has_refused: false,
            has_leaked: false,
        }
    }

    /// Whether the visitor has seen part of it.
    pub(super) fn has_begun(&self) -> bool {
        self.shown > 0
    }

    /// Whether the model refuses, and has said nothing else.
    pub(super) fn is_refused(&self) -> bool {
        self.has_refused && !self.has_begun() && self.actions.is_empty()
    }

    /// Whether the reply is complete, whatever else the model sends.
    pub(super) fn is_enough(&self) -> bool {
        self.has_leaked || self.filter.is_full() || self.shown >= MAX_REPLY
    }

    /// Takes a chunk.
    pub(super) fn push(&mut self, chunk: &StreamChunk, emitter: &Emitter) {
        self.said += chunk.text.len() + chunk.dropped_bytes;
        if chunk.usage.is_some() {
            (self.usage, self.said_in_usage) = (chunk.usage, self.said);
        }
        // Before the visitor sees anything of it.
        self.report(emitter);
        self.has_ended |= chunk.finish_reason.is_some();
        self.has_refused |= chunk.is_refusal || chunk.finish_reason.as_deref() == Some("content_filter");
        chunk.tool_calls.iter().for_each(|piece| self.call(piece));
        if chunk.is_reasoning {
            self.status(StatusKind::Thinking, emitter);
        }
        let text = self.without_thoughts(&chunk.text, emitter);
        if !text.is_empty() && !self.is_enough() {
            if self.leaks.sees(&text) {
                self.has_leaked = true;
                let refused = texts(&self.turn.visitor.locale).refused.to_owned();
                self.shown += refused.len();
                emitter.emit(ChatEvent::Replace(refused));
                return;
            }
            let text = self.filter.push(&text);
            self.show(text, emitter);
        }
    }

    fn call(&mut self, piece: &ToolCallPiece) {
        let name = piece.name.as_deref().filter(|name| !name.is_empty());
        let action = name.and_then(Action::of_name);
        if let Some(action) = action.filter(|action| !self.actions.contains(action)) {
            self.actions.push(action);
        }
        // Some endpoints repeat the name with each piece.
        let goes_on =
            |call: &Call| name.is_none() || (call.action == action && arguments(&call.arguments).is_none());
        let last = self.calls.iter_mut().rfind(|call| call.index == piece.index);
        if let Some(call) = last.filter(|call| goes_on(call)) {
            if call.arguments.len() + piece.arguments.len() <= MAX_ARGUMENTS {
                call.arguments.push_str(&piece.arguments);
            }
        } else if self.calls.len() < MAX_CALLS {
            let arguments = piece.arguments.clone();
            self.calls.push(Call { index: piece.index, action, arguments });
        }
    }

    /// What the model wants to search for before it answers, nothing if that cannot be read; [`None`] if this is its answer.
    pub(super) fn searches(&self) -> Option<Vec<String>> {
        let has_action = self.actions.iter().any(|action| *action != Action::Search);
        if self.has_leaked || has_action || self.calls.is_empty() {
            return None;
        }
        let searches = self.calls.iter().filter(|call| call.action == Some(Action::Search));
        let searches: Vec<String> =
            searches.filter_map(|call| text(&arguments(&call.arguments)?, QUESTION, MAX_QUESTION)).collect();
        let is_introduction = self.shown <= MAX_INTRODUCTION && self.filter.cited().is_empty();
        let goes_on = if searches.is_empty() { !self.has_begun() } else { is_introduction };
        goes_on.then_some(searches)
    }

    fn status(&mut self, status: StatusKind, emitter: &Emitter) {
        if self.status != Some(status) && self.shown == 0 {
            self.status = Some(status);
            emitter.emit(ChatEvent::Status(status));
        }
    }

    fn show(&mut self, text: String, emitter: &Emitter) {
        if !text.is_empty() {
            self.status(StatusKind::Writing, emitter);
            self.shown += text.len();
            emitter.emit(ChatEvent::Delta(text));
        }
    }

    fn without_thoughts(&mut self, text: &str, emitter: &Emitter) -> String {
        match &mut self.thoughts {
            Thoughts::Over => text.to_owned(),
            Thoughts::Unclear(seen) => {
                seen.push_str(text);
                let start = seen.trim_start();
                if let Some(rest) = start.strip_prefix(THOUGHT.0) {
                    let rest = rest.to_owned();
                    self.thoughts = Thoughts::Inside(String::new());
                    self.status(StatusKind::Thinking, emitter);
                    return self.without_thoughts(&rest, emitter);
                }
                if THOUGHT.0.starts_with(start) {
                    return String::new();
                }
                let text = std::mem::take(seen);
                self.thoughts = Thoughts::Over;
                text
            }
            Thoughts::Inside(seen) => {
                seen.push_str(text);
                if let Some(end) = seen.find(THOUGHT.1) {
                    let text = seen[end + THOUGHT.1.len()..].to_owned();
                    self.thoughts = Thoughts::Over;
                    return text;
                }
                // Only a possible beginning of the tag matters.
                let start = seen.len().saturating_sub(THOUGHT.1.len());
                let start = (start..=seen.len()).find(|start| seen.is_char_boundary(*start)).unwrap_or(0);
                seen.drain(..start);
                String::new()
            }
        }
    }

    /// The end of a reply.
    pub(super) fn finish(mut self, emitter: &Emitter) -> ChatEvent {
        if !self.has_leaked {
            if let Thoughts::Unclear(seen) = &mut self.thoughts {
                let text = self.filter.push(&std::mem::take(seen));
                self.show(text, emitter);
            }
            let rest = self.filter.finish();
            self.show(rest, emitter);
        }
        let texts = texts(&self.turn.visitor.locale);
        let has_handoff = self.actions.contains(&Action::RequestHandoff) && !self.has_leaked;
        let has_form_call =
            [Action::OfferLeadForm, Action::Collect].iter().any(|action| self.actions.contains(action));
        let wants_form = has_form_call && !self.has_leaked;
        // A model that neither says nor does anything has not answered, whatever else it calls.
        let is_silent = !self.has_begun() && !wants_form;
        let is_unknown = (self.filter.has_no_answer() || is_silent) && !has_handoff && !self.has_leaked;
        let has_form = self.turn.can_offer_form && (is_unknown || wants_form);
        if !self.has_begun() {
            // A model that only calls a tool says nothing itself.
            let text = match (has_handoff, has_form, is_unknown) {
                (true, _, _) => texts.handoff.to_owned(),
                (_, true, true) => format!("{} {}", texts.unknown, texts.form),
                (_, true, false) => texts.form.to_owned(),
                _ => texts.unknown.to_owned(),
            };
            self.show(text, emitter);
        }
        if has_handoff {
            emitter.emit(ChatEvent::Handoff(Handoff::default()));
        }
        if has_form {
            for (field, value) in self.collected() {
                emitter.emit(ChatEvent::Collected { field, value });
            }
            emitter.emit(ChatEvent::Form);
        }
        let outcome = match (has_handoff, is_unknown) {
            (true, _) => Outcome::Queued,
            (_, true) => Outcome::Unknown,
            _ => Outcome::Answered,
        };
        let sources = if self.has_leaked { Vec::new() } else { self.sources() };
        ChatEvent::Done { outcome, sources, usage: self.used() }
    }

    /// What the visitor said of the fields of the lead form, by field. A later call for a field wins. A value that the
    /// visitor did not write is left out: a passage may have dictated it.
    fn collected(&self) -> BTreeMap<String, String> {
        let known = &self.turn.form_fields;
        let calls = self.calls.iter().filter(|call| call.action == Some(Action::Collect));
        let values = calls.filter_map(|call| {
            let arguments = arguments(&call.arguments)?;
            let field = text(&arguments, FIELD, MAX_VALUE).filter(|field| known.contains(field))?;
            let value = text(&arguments, VALUE, MAX_VALUE)?;
            self.turn.history.iter().any(|line| is_written(line, &value)).then_some((field, value))
        });
        values.collect()
    }

    fn sources(&self) -> Vec<Source> {
        let source = |n: &u32| {
            let passage = self.turn.found.passages.get(*n as usize - 1)?;
            Some(Source { n: *n, title: passage.title.clone(), url: passage.url.clone(), page: passage.page })
        };
        self.filter.cited().iter().filter_map(source).collect()
    }

    /// Emits what the reply has used so far.
    pub(super) fn report(&self, emitter: &Emitter) {
        emitter.emit(ChatEvent::Usage(self.used()));
    }

    fn used(&self) -> Usage {
        let llm::Usage { input_tokens, output_tokens } = self.tokens();
        usage(self.price, input_tokens, output_tokens)
    }

    /// The tokens so far, those of earlier attempts included: as the endpoint reports them, and an estimate of what it
    /// has not reported.
    pub(super) fn tokens(&self) -> llm::Usage {
        let reported = self.usage.unwrap_or(llm::Usage { input_tokens: self.input_tokens, output_tokens: 0 });
        let beyond = (self.said - self.said_in_usage).div_ceil(3) as u64;
        llm::Usage {
            input_tokens: self.spent.input_tokens + reported.input_tokens,
            output_tokens: self.spent.output_tokens + reported.output_tokens + beyond,
        }
    }
}

/// Whether the visitor wrote a value in a line, in whatever case and with whatever blanks.
fn is_written(line: &ChatLine, value: &str) -> bool {
    let plain =
        |text: &str| text.chars().filter(|it| !it.is_whitespace()).flat_map(char::to_lowercase).collect();
    let (line_text, value): (String, String) = (plain(&line.text), plain(value));
    line.speaker == Speaker::Visitor && line_text.contains(&value)
}

/// The arguments of a call, if they are whole.
fn arguments(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// An argument in one line of 1 to `most` characters.
fn text(arguments: &Value, name: &str, most: usize) -> Option<String> {
    let text = arguments.get(name)?.as_str()?.replace(char::is_control, " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (1..=most).contains(&text.chars().count()).then_some(text)
}

/// Tokens with their cost.
pub(super) fn usage(price: Price, input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, cost: price.cost(input_tokens, output_tokens) }
}
