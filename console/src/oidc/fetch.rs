//! Requests to a provider, by the guarded client for other services. Whatever the provider sends is bounded.

use http::{HeaderValue, Method, StatusCode, header};
use openapi_core::json::{Json, Object, parse};
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};

use super::provider::is_plain;

/// The most bytes of what a provider publishes or answers: 256 KiB.
const MAX_BODY: usize = 256 * 1024;
/// How long a provider may take for an answer: 10 s.
const TIMEOUT_MILLIS: u64 = 10_000;

/// A request to a provider of this issuer.
pub(super) fn request(method: Method, issuer: &str, url: &str) -> OutboundRequest {
    let mut request = OutboundRequest::new(method, url);
    // The issuer was checked: plain HTTP leads to this machine, and the policy has to allow that too.
    if is_plain(issuer) {
        request.schemes = OutboundSchemes::HttpAndHttps;
    }
    request.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    request.max_body_bytes = MAX_BODY;
    request.timeout_millis = TIMEOUT_MILLIS;
    request
}

/// Sends a request, whose answer has to be 200 with a JSON object.
pub(super) async fn object(outbound: &dyn Outbound, request: OutboundRequest) -> Result<Object, String> {
    read(&send(outbound, request).await?)
}

/// Sends a request; the error says why there is no answer.
pub(super) async fn send(
    outbound: &dyn Outbound,
    request: OutboundRequest,
) -> Result<OutboundResponse, String> {
    outbound.send(request).await.map_err(|error| explain(&error))
}

/// Whether a token endpoint refuses the code, and not the client.
pub(super) fn refuses_code(response: &OutboundResponse) -> bool {
    let code = parse(&response.body).ok().and_then(|json| error_code(&json));
    response.status != StatusCode::OK && code.is_some_and(|code| code == "invalid_grant")
}

/// The JSON object of an answer.
pub(super) fn read(response: &OutboundResponse) -> Result<Object, String> {
    let parsed = || parse(&response.body).map_err(|error| format!("the answer is not JSON: {error}"));
    if response.status != StatusCode::OK {
        let word = parsed().ok().and_then(|json| error_code(&json));
        let word = word.map(|word| format!(" ({word})")).unwrap_or_default();
        return Err(format!("the answer has status {}{word}", response.status.as_u16()));
    }
    let media_type = response.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_json = ["application/json", "application/jwk-set+json"]
        .iter()
        .any(|known| media_type.eq_ignore_ascii_case(known));
    if !is_json {
        return Err("the answer is not of the type application/json".to_owned());
    }
    if response.is_truncated {
        return Err(format!("the answer has more than {MAX_BODY} bytes"));
    }
    match parsed()? {
        Json::Object(members) => Ok(members),
        _ => Err("the answer is not a JSON object".to_owned()),
    }
}

/// The code of an error of OAuth 2.0, if it is one.
fn error_code(json: &Json) -> Option<String> {
    let code = json.as_object()?.get("error")?.as_str()?;
    let is_word = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (code.len() <= 64 && is_word).then(|| code.to_owned())
}

/// What failed, with what an owner can do.
fn explain(error: &OutboundError) -> String {
    match error {
        OutboundError::Refused { .. } => {
            format!("{error}. If the provider is yours, add its address or HOST:PORT to outbound_allow")
        }
        error => error.to_string(),
    }
}
