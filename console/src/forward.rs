//! Operations that are endpoints of the Open API, called in process: with all of their rules, and sensitive values
//! masked in their answers.

use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use openapi_core::api::{ApiBody, Outcome};
use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::json::{Json, Object, parse};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::schema::CompiledSchema;
use openapi_core::service::{ContactTarget, OpenApiService};
use openapi_core::values::{AgentId, ContactId};

use crate::capability::{Capability, Reach};
use crate::context::Context;
use crate::errors::{lacks, not_found};
use crate::input::Sending;

/// An endpoint of the Open API.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forwarded {
    pub(crate) method: &'static str,
    /// Its path below `/v1/open`, with `{agent}`, `{id}` and the segment `{by-id}` that precedes platform ids.
    pub(crate) path: &'static str,
}

impl Forwarded {
    /// Calls the endpoint, and masks what it answers unless `reveals`.
    pub(crate) async fn run(
        self,
        cx: Context<'_>,
        parts: &Parts,
        path: &[(&str, String)],
        sending: Sending,
    ) -> Result<Outcome, ApiError> {
        let value = |name: &str| path.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        let agent: AgentId = value("agent").parse().map_err(|_| ApiError::internal())?;
        let schema = cx.platform().schema(&agent, false).await?;
        if cx.operator.grants.reach(Capability::SensitiveRead, &agent) != Some(Reach::Full) {
            refuse_sensitive_query(parts, &schema)?;
        }
        // The id of a contact is 24 hexadecimal digits, so it needs no encoding.
        let id = value("contact");
        if !id.is_empty() && !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(not_found("contact", id));
        }
        let service = cx.platform().service_info();
        let path = self.path.replace("{agent}", agent.as_str()).replace("{by-id}", service.id_segment());
        let path = path.replace("{contact}", id);
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut request = Request::builder()
            .method(Method::from_bytes(self.method.as_bytes()).map_err(|_| ApiError::internal())?)
            .uri(format!("{}/v1/open{path}{query}", service.base_path()))
            .body(Full::new(sending.bytes))
            .map_err(|_| ApiError::internal())?;
        for name in
            [header::CONTENT_TYPE, header::IF_MATCH, header::HeaderName::from_static("idempotency-key")]
        {
            if let Some(value) = parts.headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        request.extensions_mut().insert(cx.caller(&agent));
        let response = cx.console.api.handle(request).await;
        if response.status() == http::StatusCode::PRECONDITION_FAILED {
            let etag = response.headers().get(header::ETAG).cloned();
            return Err(stale(cx, &agent, id, &schema, etag).await?);
        }
        masked(response, &schema).await
    }
}

/// 412 with the contact as it is now.
async fn stale(
    cx: Context<'_>,
    agent: &AgentId,
    id: &str,
    schema: &CompiledSchema,
    etag: Option<HeaderValue>,
) -> Result<ApiError, ApiError> {
    let id = id.parse().map_err(|_| ApiError::internal())?;
    let contact = contact_of(&cx, agent, id).await?;
    let changed_at = contact.updated_at.to_string();
    let text = serde_json::to_string(&contact).map_err(|_| ApiError::internal())?;
    let current = mask(parse(text.as_bytes()).map_err(|_| ApiError::internal())?, schema);
    let message = "Somebody changed this in the meantime. Look at both and save again";
    let error = ApiError::new(ErrorCode::PreconditionFailed, message)
        .with_detail("current", current)
        .with_detail("changedAt", changed_at.as_str());
    Ok(etag.into_iter().fold(error, |error, etag| error.with_header(header::ETAG, etag)))
}

/// A contact with all of its values.
pub(crate) async fn contact_of(
    cx: &Context<'_>,
    agent: &AgentId,
    id: ContactId,
) -> Result<Contact, ApiError> {
    let target = ContactTarget::from(&ContactRef::Id(id));
    let found = OpenApiService::contact(&**cx.platform(), &cx.caller(agent), &target).await?;
    Ok(found.into_contact())
}

/// Filters and sorts by sensitive values tell them to operators who may not see them.
fn refuse_sensitive_query(parts: &Parts, schema: &CompiledSchema) -> Result<(), ApiError> {
    let pairs = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    for (name, value) in pairs {
        let field = if name == "sortBy" { value } else { name };
        if schema.schema().is_sensitive(field) {
            return Err(lacks(Capability::SensitiveRead));
        }
    }
    Ok(())
}

/// The answer of the endpoint with `null` instead of sensitive values, whose paths are in `masked`.
async fn masked(response: Response<ApiBody>, schema: &CompiledSchema) -> Result<Outcome, ApiError> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|_| ApiError::unavailable())?.to_bytes();
    let mut headers = parts.headers;
    headers.remove(header::LINK);
    headers.remove(header::LOCATION);
    headers.remove(header::CONTENT_LENGTH);
    let status = parts.status.as_u16();
    if !parts.status.is_success() || bytes.is_empty() {
        let body = ApiBody::from(bytes);
        return Ok(Outcome::Content { status, headers, body });
    }
    let Ok(Json::Object(mut answer)) = parse(&bytes) else { return Err(ApiError::internal()) };
    let data = match answer.remove("data") {
        Some(Json::Array(records)) => {
            Some(Json::Array(records.into_iter().map(|record| mask(record, schema)).collect()))
        }
        Some(record) => Some(mask(record, schema)),
        None => None,
    };
    if let Some(data) = data {
        answer.insert("data", data);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    let body = ApiBody::from(Json::Object(answer).to_text().into_bytes());
    Ok(Outcome::Content { status, headers, body })
}

/// A contact without its sensitive values, whose paths are in `masked`.
pub(crate) fn mask(record: Json, schema: &CompiledSchema) -> Json {
    let Json::Object(mut members) = record else { return record };
    let mut found = Vec::new();
    let custom = members.get("customFields").and_then(Json::as_object).cloned();
    if let Some(mut custom) = custom {
        let prefix = "customFields.";
        found.extend(hide(&mut custom, schema, prefix).into_iter().map(|name| format!("{prefix}{name}")));
        members.insert("customFields", Json::Object(custom));
    }
    found.extend(hide(&mut members, schema, ""));
    members.insert("masked", Json::Array(found.iter().map(|path| Json::from(path.as_str())).collect()));
    Json::Object(members)
}

/// Replaces sensitive values with `null`, and returns their names.
fn hide(members: &mut Object, schema: &CompiledSchema, prefix: &str) -> Vec<String> {
    let is_hidden = |(name, value): &(&str, &Json)| {
        *name != "customFields"
            && !matches!(value, Json::Null)
            && schema.schema().is_sensitive(&format!("{prefix}{name}"))
    };
    let names: Vec<String> = members.iter().filter(is_hidden).map(|(name, _)| name.to_owned()).collect();
    for name in &names {
        members.insert(name.as_str(), Json::Null);
    }
    names
}
