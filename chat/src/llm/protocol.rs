//! The chat-completions protocol: what is asked, and what comes back, whole or in pieces.

use serde_json::{Map, Value, json};

/// What an endpoint was found to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    tokens: Tokens,
    temperature: bool,
    usage: bool,
    pub(super) tools: bool,
    /// Whether messages of one role may follow each other.
    rows: bool,
}

/// How the length of a reply is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tokens {
    /// `max_tokens`, which most endpoints take.
    Max,
    /// `max_completion_tokens`, which the makers of the protocol have put in its place.
    MaxCompletion,
    /// By the endpoint's own limit.
    Unsaid,
}

impl Dialect {
    pub(super) fn first(tools: bool) -> Self {
        Dialect { tokens: Tokens::Max, temperature: true, usage: true, tools, rows: true }
    }

    /// The dialect to try after an endpoint refused this one; none where the refusal has another reason.
    pub(super) fn next(self, refusal: &Refusal) -> Option<Self> {
        let says = |word: &str| refusal.parameter == word || refusal.message.contains(word);
        if self.tokens != Tokens::Unsaid && (says("max_tokens") || says("max_completion_tokens")) {
            let tokens = if self.tokens == Tokens::Max { Tokens::MaxCompletion } else { Tokens::Unsaid };
            return Some(Dialect { tokens, ..self });
        }
        if self.temperature && says("temperature") {
            return Some(Dialect { temperature: false, ..self });
        }
        if self.usage && (says("stream_options") || says("include_usage")) {
            return Some(Dialect { usage: false, ..self });
        }
        if self.tools && says("tool") {
            return Some(Dialect { tools: false, ..self });
        }
        (self.rows && (says("alternat") || says("role"))).then_some(Dialect { rows: false, ..self })
    }
}

/// What an endpoint says when it refuses a request. Its message may repeat the request or the key and is never shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal {
    code: String,
    parameter: String,
    message: String,
}

impl Refusal {
    pub(super) fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&body);
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = error.as_str().unwrap_or_else(|| text("message"));
        let code = [text("code"), text("type")].into_iter().find(|code| is_word(code)).unwrap_or_default();
        Refusal {
            code: code.to_owned(),
            parameter: text("param").to_owned(),
            message: message.to_ascii_lowercase(),
        }
    }

    /// Whether waiting does not help, though the status says so.
    pub(super) fn is_spent(&self) -> bool {
        matches!(self.code.as_str(), "insufficient_quota" | "billing_hard_limit_reached")
    }

    /// The code, for the log.
    pub(super) fn code(&self) -> &str {
        &self.code
    }
}

/// Whether text is one of the short words that codes of errors are: a key or a sentence is not shown.
fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Who says a message to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

/// A message to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PromptMessage {
    pub(super) role: Role,
    pub(super) text: String,
}

/// What a model can ask for beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    OfferLeadForm,
    RequestHandoff,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::OfferLeadForm => "offer_lead_form",
            Tool::RequestHandoff => "request_handoff",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Tool::OfferLeadForm => {
                "Shows the visitor a form for their contact details, so that the operator can get back to them."
            }
            Tool::RequestHandoff => "Asks a person of the operator's to take over the conversation.",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        [Tool::OfferLeadForm, Tool::RequestHandoff].into_iter().find(|tool| tool.name() == name)
    }
}

/// What is asked.
pub(super) struct Asked<'a> {
    pub(super) model: &'a str,
    pub(super) messages: &'a [PromptMessage],
    pub(super) tools: &'a [Tool],
    pub(super) temperature: f32,
    pub(super) max_output_tokens: u32,
}

/// The body of a request.
pub(super) fn request(dialect: Dialect, asked: &Asked<'_>) -> Vec<u8> {
    let mut messages: Vec<PromptMessage> = Vec::new();
    for message in asked.messages {
        match messages.last_mut() {
            Some(last) if !dialect.rows && last.role == message.role => {
                last.text.push_str("\n\n");
                last.text.push_str(&message.text);
            }
            _ => messages.push(message.clone()),
        }
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|message| {
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({ "role": role, "content": message.text })
        })
        .collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), asked.model.into());
    body.insert("messages".to_owned(), messages.into());
    body.insert("stream".to_owned(), true.into());
    if dialect.usage {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    let limit = match dialect.tokens {
        Tokens::Max => Some("max_tokens"),
        Tokens::MaxCompletion => Some("max_completion_tokens"),
        Tokens::Unsaid => None,
    };
    if let Some(limit) = limit {
        body.insert(limit.to_owned(), asked.max_output_tokens.into());
    }
    if dialect.temperature {
        // Through text, so that 0.2 does not become 0.20000000298.
        let temperature: f64 = asked.temperature.to_string().parse().unwrap_or_default();
        body.insert("temperature".to_owned(), temperature.into());
    }
    if dialect.tools && !asked.tools.is_empty() {
        let tool = |tool: &Tool| {
            json!({ "type": "function", "function": {
                "name": tool.name(),
                "description": tool.description(),
                "parameters": { "type": "object", "properties": {}, "additionalProperties": false },
            } })
        };
        body.insert("tools".to_owned(), asked.tools.iter().map(tool).collect());
    }
    Value::Object(body).to_string().into_bytes()
}

/// A piece of an answer, or a whole one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) text: String,
    /// Whether the model thinks aloud; what it thinks is dropped here.
    pub(super) is_thinking: bool,
    pub(super) tools: Vec<Tool>,
    /// Why the answer ends here.
    pub(super) end: Option<String>,
    pub(super) has_refused: bool,
    /// Tokens in and out.
    pub(super) usage: Option<(u64, u64)>,
}

/// Reads a piece of an answer.
///
/// # Errors
/// It is no JSON of the protocol, or says that the endpoint has failed.
pub(super) fn heard(data: &str) -> Result<Heard, &'static str> {
    let body: Value =
        serde_json::from_str(data).map_err(|_| "it is not JSON of the chat-completions protocol")?;
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err("it says that it has failed");
    }
    let mut heard = Heard { usage: usage(&body), ..Heard::default() };
    let Some(choice) = body.get("choices").and_then(|choices| choices.get(0)) else {
        return if body.is_object() {
            Ok(heard)
        } else {
            Err("it is not JSON of the chat-completions protocol")
        };
    };
    let message = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(choice);
    heard.text = message.get("content").map(text_of).unwrap_or_default();
    heard.is_thinking = ["reasoning_content", "reasoning"].iter().any(|name| {
        message.get(name).is_some_and(|thought| thought.as_str() != Some("") && !thought.is_null())
    });
    heard.has_refused =
        message.get("refusal").and_then(Value::as_str).is_some_and(|refusal| !refusal.is_empty());
    heard.end = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    let calls = message.get("tool_calls").and_then(Value::as_array);
    heard.tools = calls
        .into_iter()
        .flatten()
        .filter_map(|call| Tool::of_name(call.get("function")?.get("name")?.as_str()?))
        .collect();
    Ok(heard)
}

fn usage(body: &Value) -> Option<(u64, u64)> {
    let usage = body.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    Some((count("prompt_tokens")?, count("completion_tokens")?))
}

/// Content as text, or as parts with text.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).map(str::to_owned);
            parts.iter().filter_map(text).collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_pieces_are_read() {
        let text = |body: Value| heard(&body.to_string()).map(|heard| heard.text);
        for (body, wanted) in [
            (json!({ "choices": [{ "delta": { "content": "a" } }] }), "a"),
            (
                json!({ "choices": [{ "delta": { "content": [{ "type": "text", "text": "a" }, "b"] } }] }),
                "ab",
            ),
            (json!({ "choices": [{ "message": { "content": "a", "reasoning_content": "secret" } }] }), "a"),
            (json!({ "choices": [{ "delta": { "content": null, "reasoning": "secret" } }] }), ""),
            (json!({ "choices": [] , "usage": null }), ""),
            (json!({ "choices": [{}] }), ""),
        ] {
            assert_eq!(text(body.clone()), Ok(wanted.to_owned()), "{body}");
        }
        assert!(text(json!({ "error": { "message": "broken" } })).is_err());
        assert!(text(json!([1])).is_err() && heard("{").is_err());
        let call = json!({ "choices": [{ "delta": { "tool_calls": [
            { "index": 0, "function": { "name": "request_handoff", "arguments": "" } },
            { "index": 1, "function": { "name": "delete_contact", "arguments": "{}" } },
            { "index": 0, "function": { "arguments": "{}" } }] } }] });
        assert_eq!(heard(&call.to_string()).map(|heard| heard.tools), Ok(vec![Tool::RequestHandoff]));
    }

    #[test]
    fn a_refusal_leads_to_the_next_dialect_until_there_is_none() {
        let refusal =
            |message: &str| Refusal::read(json!({ "error": { "message": message } }).to_string().as_bytes());
        let mut dialect = Dialect::first(true);
        for message in [
            "Unsupported: max_tokens",
            "temperature",
            "max_tokens",
            "stream_options",
            "no tools",
            "roles must alternate",
        ] {
            let next = dialect.next(&refusal(message)).expect("there is another");
            assert_ne!(next, dialect, "{message}");
            dialect = next;
        }
        assert_eq!(dialect.next(&refusal("max_tokens temperature tool role")), None);
        let message = |role| PromptMessage { role, text: "a".to_owned() };
        let messages = [message(Role::System), message(Role::User), message(Role::User)];
        let asked = Asked {
            model: "m",
            messages: &messages,
            tools: &[Tool::OfferLeadForm],
            temperature: 0.2,
            max_output_tokens: 9,
        };
        let body: Value = serde_json::from_slice(&request(dialect, &asked)).expect("JSON");
        let merged = json!({ "model": "m", "stream": true,
            "messages": [{ "role": "system", "content": "a" }, { "role": "user", "content": "a\n\na" }] });
        assert_eq!(body, merged);
        let body: Value = serde_json::from_slice(&request(Dialect::first(true), &asked)).expect("JSON");
        assert_eq!((body["temperature"].as_f64(), body["max_tokens"].as_u64()), (Some(0.2), Some(9)));
        assert_eq!(body["tools"][0]["function"]["name"], "offer_lead_form");
    }
}
