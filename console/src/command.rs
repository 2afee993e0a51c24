//! Operations by command. A person who can run commands on the server has the store, and so may do what an owner may.

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use serde_json::Value;

use crate::capability::Role;
use crate::grants::{Grant, Grants};
use crate::operator::Operator;
use crate::service::{API_PATH, Console};

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
        let settings = self.settings();
        let sent = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{API_PATH}{path}", settings.base_path))
            .header(header::HOST, settings.authority())
            .header(header::ORIGIN, &settings.origin)
            .header(header::IF_MATCH, "*")
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-console", "1")
            .body(Full::new(sent))
            .map_err(|error| error.to_string())?;
        let owner = Grants::new(vec![Grant { role: Role::Owner, agent: None }]);
        let mut operator = Operator::new("command", "", owner);
        operator.authenticated_at = Some(self.now());
        operator.actor = Some(by.clone());
        request.extensions_mut().insert(operator);
        let response = self.handle(request).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if status.is_success() {
            return Ok(answer["data"].take());
        }
        Err(answer["message"].as_str().unwrap_or("the operation failed").to_owned())
    }
}
