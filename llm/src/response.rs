//! Responses: whole, in chunks, and rejections.

use serde_json::Value;

/// Why a response is not one of the protocol.
const NOT_THE_PROTOCOL: &str = "it is not JSON of the chat-completions protocol";

/// Tokens as the endpoint counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the response.
    pub output_tokens: u64,
}

/// A whole response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// Its text, or the arguments of the tool that the model called instead.
    pub text: String,
    /// Whether the limit of output tokens cut it off.
    pub is_truncated: bool,
    /// Its tokens; 0 where the endpoint does not count.
    pub usage: Usage,
}

/// A piece of a call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallPiece {
    /// Which call of the response it belongs to.
    pub index: u64,
    /// The name of the tool, in the first piece of a call.
    pub name: Option<String>,
    /// More of the arguments, which are JSON when they are whole.
    pub arguments: String,
}

/// A chunk of a streaming response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamChunk {
    /// More text.
    pub text: String,
    /// Bytes of the model's reasoning and of its calls of tools, which are no text.
    pub dropped_bytes: usize,
    /// Whether the model is reasoning.
    pub is_reasoning: bool,
    /// Pieces of the calls of tools.
    pub tool_calls: Vec<ToolCallPiece>,
    /// Why the response ends with this chunk.
    pub finish_reason: Option<String>,
    /// Whether the model refuses to answer.
    pub is_refusal: bool,
    /// The tokens of the whole response.
    pub usage: Option<Usage>,
}

/// An endpoint's rejection of a request. Its message may repeat the request or the key and is never shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    code: String,
    parameter: String,
    message: String,
}

impl Rejection {
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&body);
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = error.as_str().unwrap_or_else(|| text("message"));
        let code = [text("code"), text("type")].into_iter().find(|code| is_code(code)).unwrap_or_default();
        Rejection {
            status,
            code: code.to_owned(),
            parameter: text("param").to_owned(),
            message: message.to_ascii_lowercase(),
        }
    }

    /// Whether the rejection names a parameter.
    pub(crate) fn names(&self, parameter: &str) -> bool {
        self.parameter == parameter || self.message.contains(parameter)
    }

    /// Whether the request has more text than the model accepts.
    pub(crate) fn is_prompt_too_long(&self) -> bool {
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

    /// Whether the account is exhausted, so that waiting does not help, although the status says so.
    pub(crate) fn is_quota_exhausted(&self) -> bool {
        matches!(self.code.as_str(), "insufficient_quota" | "billing_hard_limit_reached")
    }

    /// Status and code, for the log.
    pub(crate) fn summary(&self) -> String {
        if self.code.is_empty() { self.status.to_string() } else { format!("{} {}", self.status, self.code) }
    }
}

/// Whether text is one of the short identifiers that error codes are; keys and sentences are not shown.
fn is_code(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

impl Completion {
    /// Reads the body of a successful response.
    ///
    /// # Errors
    /// What is wrong with it, without any of its text.
    pub(crate) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let body: Value = serde_json::from_slice(body).map_err(|_| NOT_THE_PROTOCOL)?;
        let choice = body.get("choices").and_then(|choices| choices.get(0)).ok_or("it has no choices")?;
        let message = choice.get("message").or_else(|| choice.get("delta")).unwrap_or(choice);
        let reason = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
        let text = [message.get("content"), tool_arguments(message), choice.get("text")]
            .into_iter()
            .flatten()
            .map(|content| text_of(content).unwrap_or_else(|| content.to_string()))
            .find(|text| !text.trim().is_empty());
        let has_refused =
            message.get("refusal").is_some_and(|refusal| !refusal.is_null()) || reason == "content_filter";
        match text {
            Some(text) => Ok(Completion {
                text,
                is_truncated: matches!(reason, "length" | "max_tokens"),
                usage: usage(&body).unwrap_or_default(),
            }),
            None if has_refused => Err("the model refused to answer"),
            None if reason == "length" => Err("the limit of tokens was reached before the answer began"),
            None => Err("it is empty"),
        }
    }
}

impl StreamChunk {
    /// Reads the data of an event, or a whole response where the endpoint does not stream.
    ///
    /// # Errors
    /// The data is not JSON of the protocol, or reports a failure.
    pub(crate) fn read(data: &str) -> Result<Self, &'static str> {
        let body: Value = serde_json::from_str(data).map_err(|_| NOT_THE_PROTOCOL)?;
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err("it reports a failure");
        }
        let mut chunk = StreamChunk { usage: usage(&body), ..StreamChunk::default() };
        let Some(choice) = body.get("choices").and_then(|choices| choices.get(0)) else {
            return if body.is_object() { Ok(chunk) } else { Err(NOT_THE_PROTOCOL) };
        };
        let message = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(choice);
        chunk.text = message.get("content").and_then(text_of).unwrap_or_default();
        let thoughts = ["reasoning_content", "reasoning"].into_iter().filter_map(|name| message.get(name));
        for thought in thoughts.filter(|thought| !thought.is_null()) {
            let bytes = text_of(thought).unwrap_or_else(|| thought.to_string()).len();
            chunk.is_reasoning |= bytes > 0;
            chunk.dropped_bytes += bytes;
        }
        chunk.is_refusal =
            message.get("refusal").and_then(Value::as_str).is_some_and(|refusal| !refusal.is_empty());
        chunk.finish_reason = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
        let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        for (nth, call) in (0..).zip(calls) {
            let Some(function) = call.get("function") else { continue };
            let text = |name: &str| function.get(name).and_then(Value::as_str);
            let name = text("name");
            // Some endpoints do not write the object into a string.
            let arguments = match function.get("arguments") {
                Some(object @ Value::Object(_)) => object.to_string(),
                other => other.and_then(Value::as_str).unwrap_or_default().to_owned(),
            };
            chunk.dropped_bytes += name.map_or(0, str::len) + arguments.len();
            chunk.tool_calls.push(ToolCallPiece {
                index: call.get("index").and_then(Value::as_u64).unwrap_or(nth),
                name: name.map(str::to_owned),
                arguments,
            });
        }
        Ok(chunk)
    }
}

fn usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    Some(Usage { input_tokens: count("prompt_tokens")?, output_tokens: count("completion_tokens")? })
}

/// The arguments of a tool that the model calls.
fn tool_arguments(message: &Value) -> Option<&Value> {
    message.get("tool_calls")?.get(0)?.get("function")?.get("arguments")
}

/// Content that is text, or parts with text; `None` for other JSON.
fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let text = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).map(str::to_owned);
            Some(parts.iter().filter_map(text).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_but_successful_completions_are_read() {
        for body in [
            json!({ "choices": [{ "message": { "content": "{}" }, "finish_reason": "stop" }] }),
            json!({ "choices": [{ "message": { "content": [{ "type": "text", "text": "{" }, "}"] } }] }),
            json!({ "choices": [{ "message": { "content": {} } }] }),
            json!({ "choices": [{ "text": "{}" }] }),
            json!({ "choices": [{ "message": { "content": null, "tool_calls": [
                { "function": { "name": "extraction", "arguments": "{}" } }] } }], "usage": null }),
        ] {
            let read = Completion::read(body.to_string().as_bytes())
                .unwrap_or_else(|error| panic!("{body}: {error}"));
            assert_eq!((read.text.as_str(), read.is_truncated), ("{}", false), "{body}");
        }
        for body in [
            json!({}),
            json!([]),
            json!({ "choices": [] }),
            json!({ "choices": [{ "message": { "content": "" } }] }),
            json!({ "choices": [{ "message": { "content": null, "refusal": "No." } }] }),
            json!({ "choices": [{}] }),
        ] {
            assert!(Completion::read(body.to_string().as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn odd_chunks_are_read() {
        let text = |body: Value| StreamChunk::read(&body.to_string()).map(|chunk| chunk.text);
        for (body, expected) in [
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
            assert_eq!(text(body.clone()), Ok(expected.to_owned()), "{body}");
        }
        assert!(text(json!({ "error": { "message": "broken" } })).is_err());
        assert!(text(json!([1])).is_err() && StreamChunk::read("{").is_err());
        let call = json!({ "choices": [{ "delta": { "tool_calls": [
            { "index": 0, "function": { "name": "request_handoff", "arguments": "" } },
            { "index": 0, "function": { "arguments": "{}" } }] } }] });
        let calls = StreamChunk::read(&call.to_string()).map(|chunk| (chunk.tool_calls, chunk.dropped_bytes));
        let piece = |name: Option<&str>, arguments: &str| ToolCallPiece {
            index: 0,
            name: name.map(str::to_owned),
            arguments: arguments.to_owned(),
        };
        assert_eq!(calls, Ok((vec![piece(Some("request_handoff"), ""), piece(None, "{}")], 17)));
        let thought = json!({ "choices": [{ "delta": { "content": "", "reasoning": "secret" } }] });
        assert_eq!(StreamChunk::read(&thought.to_string()).map(|chunk| chunk.dropped_bytes), Ok(6));
    }

    #[test]
    fn rejections_show_nothing_but_status_and_code() {
        let rejection = |body: Value| Rejection::read(400, body.to_string().as_bytes());
        assert_eq!(
            rejection(json!({ "error": { "message": "no", "code": "bad_request" } })).summary(),
            "400 bad_request"
        );
        assert_eq!(rejection(json!({ "error": { "code": "sk-Secret" } })).summary(), "400");
    }
}
