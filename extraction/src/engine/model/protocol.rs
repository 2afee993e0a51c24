//! The chat-completions protocol: what is asked, and what comes back however odd it is.

use serde_json::{Map, Value, json};

use super::config::Structured;

/// What an endpoint was found to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Never [`Structured::Auto`].
    pub(super) mode: Structured,
    pub(super) tokens: Tokens,
    pub(super) temperature: bool,
}

/// How the length of an answer is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokens {
    /// `max_tokens`, which most endpoints take.
    Max,
    /// `max_completion_tokens`, which the makers of the protocol have put in its place.
    MaxCompletion,
    /// By the endpoint's own limit.
    Unsaid,
}

impl Dialect {
    pub(super) fn first(structured: Structured) -> Self {
        let mode = if structured == Structured::Auto { Structured::JsonSchema } else { structured };
        Dialect { mode, tokens: Tokens::Max, temperature: true }
    }

    /// The dialect to try after an endpoint refused this one; none where there is no other.
    pub(super) fn next(self, refusal: &Refusal, may_change_mode: bool) -> Option<Self> {
        let says = |word: &str| refusal.parameter == word || refusal.message.contains(word);
        if self.tokens != Tokens::Unsaid && (says("max_tokens") || says("max_completion_tokens")) {
            let tokens = if self.tokens == Tokens::Max { Tokens::MaxCompletion } else { Tokens::Unsaid };
            return Some(Dialect { tokens, ..self });
        }
        if self.temperature && says("temperature") {
            return Some(Dialect { temperature: false, ..self });
        }
        let mode = match self.mode {
            Structured::Auto | Structured::JsonSchema => Structured::JsonObject,
            Structured::JsonObject => Structured::Prompt,
            Structured::Prompt => return None,
        };
        may_change_mode.then_some(Dialect { mode, ..self })
    }
}

/// What an endpoint says when it refuses a request. Its message may repeat the document or the key and is never shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: String,
    parameter: String,
    message: String,
}

impl Refusal {
    pub(super) fn read(status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&body);
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = error.as_str().unwrap_or_else(|| text("message"));
        let code = [text("code"), text("type")].into_iter().find(|code| is_word(code)).unwrap_or_default();
        Refusal {
            status,
            code: code.to_owned(),
            parameter: text("param").to_owned(),
            message: message.to_ascii_lowercase(),
        }
    }

    /// Whether the request has more text than the model takes.
    pub(super) fn is_too_long(&self) -> bool {
        const SIGNS: [&str; 6] = [
            "context length",
            "context_length",
            "context window",
            "context size",
            "too many tokens",
            "prompt is too long",
        ];
        self.status == 413
            || self.code == "context_length_exceeded"
            || SIGNS.iter().any(|sign| self.message.contains(sign))
    }

    /// Whether waiting does not help, though the status says so.
    pub(super) fn is_spent(&self) -> bool {
        matches!(self.code.as_str(), "insufficient_quota" | "billing_hard_limit_reached")
    }

    /// Status and code, for the log.
    pub(super) fn shown(&self) -> String {
        if self.code.is_empty() { self.status.to_string() } else { format!("{} {}", self.status, self.code) }
    }
}

/// Whether text is one of the short words that codes of errors are: a key or a sentence is not shown.
fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The body of a request.
pub(super) fn request(
    dialect: Dialect,
    model: &str,
    messages: &[Value],
    schema: &Value,
    answer_tokens: u32,
    temperature: Option<f32>,
) -> Vec<u8> {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.into());
    body.insert("stream".to_owned(), false.into());
    let limit = match dialect.tokens {
        Tokens::Max => Some("max_tokens"),
        Tokens::MaxCompletion => Some("max_completion_tokens"),
        Tokens::Unsaid => None,
    };
    if let Some(limit) = limit {
        body.insert(limit.to_owned(), answer_tokens.into());
    }
    if let Some(temperature) = temperature.filter(|_| dialect.temperature) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    let format = match dialect.mode {
        Structured::Auto | Structured::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": { "name": "extraction", "strict": true, "schema": schema },
        })),
        Structured::JsonObject => Some(json!({ "type": "json_object" })),
        Structured::Prompt => None,
    };
    if let Some(format) = format {
        body.insert("response_format".to_owned(), format);
    }
    Value::Object(body).to_string().into_bytes()
}

/// What a model said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    /// Whether it was cut off at the limit of tokens.
    pub(super) is_cut: bool,
    pub(super) prompt_tokens: u64,
    pub(super) answer_tokens: u64,
}

/// Reads a successful answer.
///
/// # Errors
/// What is wrong with it, in words that hold nothing of it.
pub(super) fn said(body: &[u8]) -> Result<Said, &'static str> {
    let body: Value =
        serde_json::from_slice(body).map_err(|_| "it is not JSON of the chat-completions protocol")?;
    let choice = body.get("choices").and_then(|choices| choices.get(0)).ok_or("it has no choices")?;
    let message = choice.get("message").or_else(|| choice.get("delta")).unwrap_or(choice);
    let reason = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    let text = [message.get("content"), called(message), choice.get("text")]
        .into_iter()
        .flatten()
        .map(text_of)
        .find(|text| !text.trim().is_empty());
    let count = |name: &str| body.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    match text {
        Some(text) => Ok(Said {
            text,
            is_cut: matches!(reason, "length" | "max_tokens"),
            prompt_tokens: count("prompt_tokens").unwrap_or(0),
            answer_tokens: count("completion_tokens").unwrap_or(0),
        }),
        None if message.get("refusal").is_some_and(|refusal| !refusal.is_null())
            || reason == "content_filter" =>
        {
            Err("the model refused to answer")
        }
        None if reason == "length" => Err("the limit of tokens was reached before the answer began"),
        None => Err("it is empty"),
    }
}

/// The arguments of a tool that a model calls instead of answering.
fn called(message: &Value) -> Option<&Value> {
    message.get("tool_calls")?.get(0)?.get("function")?.get("arguments")
}

/// Content as text, as parts with text, or as the JSON that was asked for.
fn text_of(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).map(str::to_owned);
            parts.iter().filter_map(text).collect()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_but_successful_answers_are_read() {
        for body in [
            json!({ "choices": [{ "message": { "content": "{}" }, "finish_reason": "stop" }] }),
            json!({ "choices": [{ "message": { "content": [{ "type": "text", "text": "{" }, "}"] } }] }),
            json!({ "choices": [{ "message": { "content": {} } }] }),
            json!({ "choices": [{ "text": "{}" }] }),
            json!({ "choices": [{ "message": { "content": null, "tool_calls": [
                { "function": { "name": "extraction", "arguments": "{}" } }] } }], "usage": null }),
        ] {
            let read = said(body.to_string().as_bytes()).unwrap_or_else(|fault| panic!("{body}: {fault}"));
            assert_eq!((read.text.as_str(), read.is_cut), ("{}", false), "{body}");
        }
        for body in [
            json!({}),
            json!([]),
            json!({ "choices": [] }),
            json!({ "choices": [{ "message": { "content": "" } }] }),
            json!({ "choices": [{ "message": { "content": null, "refusal": "No." } }] }),
            json!({ "choices": [{}] }),
        ] {
            assert!(said(body.to_string().as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_refusal_leads_to_the_next_dialect_until_there_is_none() {
        let refusal = |body: Value| Refusal::read(400, body.to_string().as_bytes());
        let plain = refusal(json!({ "error": { "message": "no", "code": "bad_request" } }));
        let tokens = refusal(json!({ "error": { "message": "Unsupported", "param": "max_tokens" } }));
        let heat = refusal(json!({ "detail": 1, "message": "Unsupported value: 'temperature'" }));
        let mut dialect = Dialect::first(Structured::Auto);
        let mut seen = Vec::new();
        for refusal in [&tokens, &heat, &tokens, &plain, &plain] {
            dialect = dialect.next(refusal, true).expect("there is another");
            seen.push((dialect.mode, dialect.tokens, dialect.temperature));
        }
        assert_eq!(seen[4], (Structured::Prompt, Tokens::Unsaid, false));
        assert_eq!(dialect.next(&plain, true), None);
        assert_eq!(Dialect::first(Structured::JsonSchema).next(&plain, false), None);
        assert_eq!(plain.shown(), "400 bad_request");
        assert_eq!(refusal(json!({ "error": { "code": "sk-Secret" } })).shown(), "400");
    }
}
