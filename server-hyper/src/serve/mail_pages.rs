//! The pages of the widget listener to which e-mail leads.

use conversations::mail::MailPages;
use conversations::widget::WidgetApi;
use http::header::{ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use openapi_core::api::ApiBody;
use openapi_core::values::AgentId;
use widget::Widget;

use super::pages::text_response;

/// What the pages may do: load the files of this listener, call it, and post their form to it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The response to a request for one of the pages or their files; [`None`] for other paths.
pub(super) async fn respond(parts: &Parts, api: &WidgetApi, files: &Widget) -> Option<Response<ApiBody>> {
    let path = parts.uri.path();
    let file = MailPages::FILES.iter().find(|(name, _)| *name == path);
    let stops = path.strip_prefix(MailPages::UNSUBSCRIBE);
    let resumes = path.strip_prefix(MailPages::RESUME);
    let shows = path.strip_prefix(MailPages::CHAT);
    if file.is_none() && stops.is_none() && resumes.is_none() && shows.is_none() {
        return None;
    }
    if let Err(refused) = api.admit(parts) {
        return Some(*refused);
    }
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    let is_allowed = is_read || (stops.is_some() && parts.method == Method::POST);
    if !is_allowed {
        let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
        let allowed = if stops.is_some() { "GET, HEAD, POST" } else { "GET, HEAD" };
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        return Some(response);
    }
    let locale = locale(parts.uri.query());
    let response = if let Some((name, text)) = file {
        let is_script = name.ends_with(".js");
        let kind = if is_script { "text/javascript; charset=utf-8" } else { "text/css; charset=utf-8" };
        with_type(text_response(StatusCode::OK, *text), kind)
    } else if let Some(link) = stops {
        match api.stop_mail(link, !is_read).await {
            Ok((is_valid, state)) => {
                let status = if is_valid { StatusCode::OK } else { StatusCode::NOT_FOUND };
                page(status, MailPages::opt_out(state, locale))
            }
            Err(error) => {
                tracing::warn!(%error, "an address could not be unsubscribed");
                text_response(StatusCode::SERVICE_UNAVAILABLE, "try again later\n")
            }
        }
    } else {
        // An id has no characters that need escaping in HTML or a URL.
        let agent = resumes.or(shows).and_then(|agent| agent.parse::<AgentId>().ok());
        match agent {
            Some(agent) if resumes.is_some() => {
                let key = files.storage_key(agent.as_str());
                page(StatusCode::OK, MailPages::resume(&agent, &key, locale))
            }
            Some(agent) => page(StatusCode::OK, MailPages::chat(&agent, locale)),
            None => text_response(StatusCode::NOT_FOUND, "there is no such agent\n"),
        }
    };
    Some(if parts.method == Method::HEAD { response.map(|_| ApiBody::empty()) } else { response })
}

fn page(status: StatusCode, html: String) -> Response<ApiBody> {
    let mut response = with_type(text_response(status, html), "text/html; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn with_type(mut response: Response<ApiBody>, kind: &'static str) -> Response<ApiBody> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The language that the link names.
fn locale(query: Option<&str>) -> &str {
    let mut pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "lang").map_or("en", |(_, locale)| locale)
}
