//! Operations by command. A person who can run commands on the server has the store, and so may do what an owner may.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use openapi_core::json::{Json, Object, parse};
use serde_json::Value;
use url::form_urlencoded;

use crate::capability::Role;
use crate::grants::{Grant, Grants};
use crate::operator::Operator;
use crate::service::Console;
use crate::settings::API_PATH;

/// A call of an operation by a command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path below `/console/v1`.
    pub path: &'a str,
    /// The parameters of the query.
    pub query: &'a [(&'a str, String)],
    /// The header `If-Match`; without one, any state may be changed.
    pub if_match: Option<&'a str>,
    /// The body.
    pub body: Option<&'a Object>,
}

impl Command<'_> {
    /// The path below `/console/v1`, with the query.
    #[must_use]
    pub fn target(&self) -> String {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(self.query).finish();
        if query.is_empty() { self.path.to_owned() } else { format!("{}?{query}", self.path) }
    }

    /// The bytes of the body.
    #[must_use]
    pub fn content(&self) -> Bytes {
        self.body.map_or_else(Bytes::new, |body| Bytes::from(Json::Object(body.clone()).to_text()))
    }
}

/// The answer of an operation to a command. Numbers are as they are stored.
#[derive(Clone, Debug)]
pub struct CommandAnswer {
    /// `data`.
    pub data: Json,
    /// `pagination`; `null` where the answer is no page.
    pub pagination: Json,
    /// The entity tag, quotes included.
    pub etag: Option<String>,
}

/// Why an operation did nothing for a command.
#[derive(Clone, Debug)]
pub struct CommandRefused {
    /// The code of the error; empty when there was no answer.
    pub code: String,
    /// The reason: of an invalid input each fault with its field.
    pub text: String,
    /// `details`; `null` where the error has none.
    pub details: Json,
    /// The current entity tag of a record that has changed, quotes included.
    pub etag: Option<String>,
}

impl CommandAnswer {
    /// Reads the response to a call of an operation.
    ///
    /// # Errors
    /// Why the operation was refused or failed, and text that is no answer of the console.
    pub fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<Self, Box<CommandRefused>> {
        let etag = headers.get(header::ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let answer = match parse(body).map_err(|error| Box::new(CommandRefused::without_answer(&error)))? {
            Json::Object(answer) => answer,
            _ => Object::new(),
        };
        if !status.is_success() {
            return Err(Box::new(CommandRefused::of(&answer, etag)));
        }
        let member = |name| answer.get(name).cloned().unwrap_or(Json::Null);
        Ok(CommandAnswer { data: member("data"), pagination: member("pagination"), etag })
    }
}

impl CommandRefused {
    fn without_answer(error: &dyn std::error::Error) -> Self {
        CommandRefused { code: String::new(), text: error.to_string(), details: Json::Null, etag: None }
    }

    fn of(answer: &Object, etag: Option<String>) -> Self {
        let text = |name: &str| answer.get(name).and_then(Json::as_str).map(str::to_owned);
        let faults = match answer.get("validationErrors") {
            Some(Json::Array(faults)) => faults.as_slice(),
            _ => &[],
        };
        let message = |fault: &Json| fault.as_object()?.get("message")?.as_str().map(str::to_owned);
        let faults: Vec<String> = faults.iter().filter_map(message).collect();
        let code = text("code").unwrap_or_default();
        // Other errors repeat their message in the faults, with less in it.
        let said = if code == "VALIDATION_ERROR" && !faults.is_empty() { None } else { text("message") };
        let joined = || faults.join("; ");
        let details = answer.get("details").cloned().unwrap_or(Json::Null);
        CommandRefused { code, text: said.unwrap_or_else(joined), details, etag }
    }
}

impl Console {
    /// Calls an operation for a person who can run commands on the server, and returns `data` of its answer. The path
    /// follows `/console/v1`; the audit log notes `by`.
    ///
    /// # Errors
    /// Why the operation was refused or failed, as a sentence.
    pub async fn command(
        &self,
        by: &Actor,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        let sent = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let (status, _, bytes) =
            self.answered(by, method, path, None, sent).await.map_err(|error| error.text)?;
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if status.is_success() {
            return Ok(answer["data"].take());
        }
        Err(answer["message"].as_str().unwrap_or("the operation failed").to_owned())
    }

    /// The same with all that a command may say and hear.
    ///
    /// # Errors
    /// Why the operation was refused or failed.
    pub async fn run_command(
        &self,
        by: &Actor,
        command: Command<'_>,
    ) -> Result<CommandAnswer, CommandRefused> {
        let (method, path, sent) = (command.method.clone(), command.target(), command.content());
        let (status, headers, bytes) = self.answered(by, method, &path, command.if_match, sent).await?;
        CommandAnswer::read(status, &headers, &bytes).map_err(|refused| *refused)
    }

    async fn answered(
        &self,
        by: &Actor,
        method: Method,
        path: &str,
        if_match: Option<&str>,
        sent: Bytes,
    ) -> Result<(StatusCode, HeaderMap, Bytes), CommandRefused> {
        let settings = self.settings();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{API_PATH}{path}", settings.base_path))
            .header(header::HOST, settings.authority())
            .header(header::ORIGIN, &settings.origin)
            .header(header::IF_MATCH, if_match.unwrap_or("*"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-console", "1")
            .body(Full::new(sent))
            .map_err(|error| CommandRefused::without_answer(&error))?;
        let owner = Grants::new(vec![Grant { role: Role::Owner, agent: None }]);
        let mut operator = Operator::new("command", "", owner);
        operator.authenticated_at = Some(self.now());
        operator.actor = Some(by.clone());
        request.extensions_mut().insert(operator);
        let (parts, body) = self.handle(request).await.into_parts();
        let bytes = body.collect().await.map_err(|error| CommandRefused::without_answer(&error))?.to_bytes();
        Ok((parts.status, parts.headers, bytes))
    }
}
