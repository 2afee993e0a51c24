//! A request, and the dialect in which an endpoint accepts it.

use serde_json::{Map, Value, json};

use crate::config::Structured;
use crate::response::Rejection;

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// An image of a message, as a `data:` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The URL, such as `data:image/png;base64,…`.
    pub url: String,
}

/// A message to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// Its text.
    pub text: String,
    /// Images that follow the text.
    pub images: Vec<Image>,
}

impl Message {
    /// A message of text alone.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Message { role, text: text.into(), images: Vec::new() }
    }

    fn to_json(&self) -> Value {
        let content = if self.images.is_empty() {
            Value::String(self.text.clone())
        } else {
            let image = |image: &Image| json!({ "type": "image_url", "image_url": { "url": image.url } });
            let text = json!({ "type": "text", "text": self.text });
            std::iter::once(text).chain(self.images.iter().map(image)).collect()
        };
        json!({ "role": self.role.name(), "content": content })
    }
}

/// The parameter of a tool: a text that the model has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
}

/// A tool that the model may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// When the model should call it.
    pub description: &'static str,
    /// Its parameters, all of them required.
    pub parameters: &'static [Parameter],
}

impl Tool {
    fn to_json(self) -> Value {
        let mut parameters = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        for Parameter { name, description } in self.parameters {
            parameters["properties"][name] = json!({ "type": "string", "description": description });
        }
        if !self.parameters.is_empty() {
            parameters["required"] = self.parameters.iter().map(|parameter| parameter.name).collect();
        }
        let function =
            json!({ "name": self.name, "description": self.description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    }
}

/// A JSON response of a schema.
#[derive(Clone, Copy, Debug)]
pub struct JsonFormat<'a> {
    /// The name of the schema.
    pub name: &'a str,
    /// The JSON Schema.
    pub schema: &'a Value,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The model; `None` for the endpoint's own.
    pub model: Option<&'a str>,
    /// The messages.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: &'a [Tool],
    /// The format of the response; `None` for text.
    pub format: Option<JsonFormat<'a>>,
    /// The sampling temperature; `None` for the endpoint's own.
    pub temperature: Option<f32>,
    /// The maximum number of output tokens.
    pub max_output_tokens: u32,
}

impl Request<'_> {
    fn has_adjacent_roles(&self) -> bool {
        self.messages.windows(2).any(|pair| pair[0].role == pair[1].role)
    }

    /// The messages as the endpoint receives them.
    fn messages_in(&self, dialect: Dialect) -> Vec<Value> {
        let mut messages: Vec<Message> = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            match messages.last_mut() {
                Some(last) if !dialect.adjacent_roles && last.role == message.role => {
                    last.text.push_str("\n\n");
                    last.text.push_str(&message.text);
                    last.images.extend_from_slice(&message.images);
                }
                _ => messages.push(message.clone()),
            }
        }
        let schema = self.format.filter(|_| dialect.structured != Structured::JsonSchema);
        if let (Some(format), Some(first)) = (schema, messages.first_mut()) {
            first.text.push_str("\n\nThe shape of the answer, as JSON Schema:\n");
            first.text.push_str(&format.schema.to_string());
        }
        messages.iter().map(Message::to_json).collect()
    }

    /// The body of the HTTP request.
    pub(crate) fn body(&self, dialect: Dialect, default_model: &str, is_stream: bool) -> Vec<u8> {
        let mut body = Map::new();
        body.insert("model".to_owned(), self.model.unwrap_or(default_model).into());
        body.insert("messages".to_owned(), self.messages_in(dialect).into());
        body.insert("stream".to_owned(), is_stream.into());
        if is_stream && dialect.stream_usage {
            body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        }
        if let Some(name) = dialect.token_limit.parameter() {
            body.insert(name.to_owned(), self.max_output_tokens.into());
        }
        if let Some(temperature) = self.temperature.filter(|_| dialect.temperature) {
            // By way of text, so that 0.2 does not become 0.20000000298.
            let temperature: f64 = temperature.to_string().parse().unwrap_or_default();
            body.insert("temperature".to_owned(), temperature.into());
        }
        if dialect.tools && !self.tools.is_empty() {
            body.insert("tools".to_owned(), self.tools.iter().map(|tool| tool.to_json()).collect());
        }
        if let Some(format) = self.format.and_then(|format| response_format(format, dialect.structured)) {
            body.insert("response_format".to_owned(), format);
        }
        Value::Object(body).to_string().into_bytes()
    }
}

fn response_format(format: JsonFormat<'_>, structured: Structured) -> Option<Value> {
    match structured {
        Structured::Auto | Structured::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": { "name": format.name, "strict": true, "schema": format.schema },
        })),
        Structured::JsonObject => Some(json!({ "type": "json_object" })),
        Structured::Prompt => None,
    }
}

/// What an endpoint accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    token_limit: TokenLimit,
    temperature: bool,
    /// Whether a stream may be asked to report its usage.
    stream_usage: bool,
    pub(crate) tools: bool,
    /// Whether messages of one role may follow each other.
    adjacent_roles: bool,
    /// Never [`Structured::Auto`].
    pub(crate) structured: Structured,
}

/// How a request limits the length of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenLimit {
    /// `max_tokens`, which most endpoints accept.
    MaxTokens,
    /// `max_completion_tokens`, its successor.
    MaxCompletionTokens,
    /// Not at all.
    Unset,
}

impl TokenLimit {
    fn parameter(self) -> Option<&'static str> {
        match self {
            TokenLimit::MaxTokens => Some("max_tokens"),
            TokenLimit::MaxCompletionTokens => Some("max_completion_tokens"),
            TokenLimit::Unset => None,
        }
    }

    fn next(self) -> Self {
        match self {
            TokenLimit::MaxTokens => TokenLimit::MaxCompletionTokens,
            TokenLimit::MaxCompletionTokens | TokenLimit::Unset => TokenLimit::Unset,
        }
    }
}

impl Dialect {
    pub(crate) fn first(tools: bool, structured: Structured) -> Self {
        let structured = if structured == Structured::Auto { Structured::JsonSchema } else { structured };
        Dialect {
            token_limit: TokenLimit::MaxTokens,
            temperature: true,
            stream_usage: true,
            tools,
            adjacent_roles: true,
            structured,
        }
    }

    pub(crate) fn with_structured(self, structured: Structured) -> Self {
        Dialect { structured, ..self }
    }

    /// The dialect to try after an endpoint rejected a request in this one; `None` if another dialect would not help.
    /// `can_change_format` is false where the operator has chosen how to ask for JSON.
    pub(crate) fn next(
        self,
        rejection: &Rejection,
        request: &Request<'_>,
        is_stream: bool,
        can_change_format: bool,
    ) -> Option<Self> {
        let names = |parameter: &str| rejection.names(parameter);
        if self.token_limit != TokenLimit::Unset && (names("max_tokens") || names("max_completion_tokens")) {
            return Some(Dialect { token_limit: self.token_limit.next(), ..self });
        }
        if self.temperature && request.temperature.is_some() && names("temperature") {
            return Some(Dialect { temperature: false, ..self });
        }
        if self.stream_usage && is_stream && (names("stream_options") || names("include_usage")) {
            return Some(Dialect { stream_usage: false, ..self });
        }
        if self.tools && !request.tools.is_empty() && names("tool") {
            return Some(Dialect { tools: false, ..self });
        }
        if self.adjacent_roles && request.has_adjacent_roles() && (names("alternat") || names("role")) {
            return Some(Dialect { adjacent_roles: false, ..self });
        }
        let structured = match self.structured {
            Structured::Auto | Structured::JsonSchema => Structured::JsonObject,
            Structured::JsonObject => Structured::Prompt,
            Structured::Prompt => return None,
        };
        let can_change = can_change_format && request.format.is_some() && rejection.status != 404;
        can_change.then_some(Dialect { structured, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: Tool = Tool { name: "offer_lead_form", description: "Shows a form.", parameters: &[] };

    fn request<'a>(tools: &'a [Tool], format: Option<JsonFormat<'a>>) -> Request<'a> {
        let message = |role| Message::new(role, "a");
        let messages = vec![message(Role::System), message(Role::User), message(Role::User)];
        Request { model: Some("m"), messages, tools, format, temperature: Some(0.2), max_output_tokens: 9 }
    }

    fn rejection(error: Value) -> Rejection {
        Rejection::read(400, error.to_string().as_bytes())
    }

    fn body(request: &Request<'_>, dialect: Dialect, is_stream: bool) -> Value {
        serde_json::from_slice(&request.body(dialect, "default", is_stream)).expect("JSON")
    }

    #[test]
    fn a_rejected_stream_leads_to_the_next_dialect_until_there_is_none() {
        let saying = |message: &str| rejection(json!({ "error": { "message": message } }));
        let request = request(&[TOOL], None);
        let first = Dialect::first(true, Structured::Auto);
        let mut dialect = first;
        for message in [
            "Unsupported: max_tokens",
            "temperature",
            "max_tokens",
            "stream_options",
            "no tools",
            "roles must alternate",
        ] {
            let next = dialect.next(&saying(message), &request, true, true).expect("there is another");
            assert_ne!(next, dialect, "{message}");
            dialect = next;
        }
        assert_eq!(dialect.next(&saying("max_tokens temperature tool role"), &request, true, true), None);
        let merged = json!({ "model": "m",
            "messages": [{ "role": "system", "content": "a" }, { "role": "user", "content": "a\n\na" }],
            "stream": true });
        assert_eq!(body(&request, dialect, true), merged);
        let whole = body(&request, first, true);
        assert_eq!((whole["temperature"].as_f64(), whole["max_tokens"].as_u64()), (Some(0.2), Some(9)));
        assert_eq!(whole["tools"][0]["function"]["name"], "offer_lead_form");
    }

    #[test]
    fn a_rejected_format_leads_to_the_next_one_until_there_is_none() {
        let plain = rejection(json!({ "error": { "message": "no", "code": "bad_request" } }));
        let tokens = rejection(json!({ "error": { "message": "Unsupported", "param": "max_tokens" } }));
        let heat = rejection(json!({ "detail": 1, "message": "Unsupported value: 'temperature'" }));
        let schema = json!({ "type": "object" });
        let request = request(&[], Some(JsonFormat { name: "extraction", schema: &schema }));
        let mut dialect = Dialect::first(true, Structured::Auto);
        let mut formats = vec![body(&request, dialect, false)["response_format"]["type"].clone()];
        for rejection in [&tokens, &heat, &tokens, &plain, &plain] {
            dialect = dialect.next(rejection, &request, false, true).expect("there is another");
            formats.push(body(&request, dialect, false)["response_format"]["type"].clone());
        }
        let schema = json!("json_schema");
        assert_eq!(
            formats,
            [&schema, &schema, &schema, &schema, &json!("json_object"), &Value::Null].map(Clone::clone)
        );
        assert_eq!(
            (dialect.structured, dialect.token_limit, dialect.temperature),
            (Structured::Prompt, TokenLimit::Unset, false)
        );
        let last = body(&request, dialect, false);
        assert!(
            last["messages"][0]["content"]
                .as_str()
                .is_some_and(|text| text.ends_with(r#"{"type":"object"}"#))
        );
        assert_eq!(dialect.next(&plain, &request, false, true), None);
        let chosen = Dialect::first(true, Structured::JsonSchema);
        assert_eq!(chosen.next(&plain, &request, false, false), None);
        // An unknown model or path is not a question of the format.
        let unknown = Rejection::read(404, b"{}");
        assert_eq!(chosen.next(&unknown, &request, false, true), None);
    }

    #[test]
    fn a_request_without_a_model_uses_that_of_the_endpoint() {
        let request = Request { model: None, ..request(&[], None) };
        assert_eq!(body(&request, Dialect::first(true, Structured::Auto), false)["model"], "default");
    }
}
