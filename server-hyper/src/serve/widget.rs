//! The handler of the widget listener: the script, a demo page and the widget's calls.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use conversations::widget::{BASE_PATH, UPLOADS_PATH, WidgetApi};
use http::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, IF_NONE_MATCH, REFERRER_POLICY,
};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use openapi_core::api::{ApiBody, PeerAddress};
use openapi_core::values::AgentId;
use widget::Widget;

use super::mail_pages;
use super::pages::text_response;
use super::refusals::Refusals;
use super::service::{Handler, HandlerResponse, RequestBody};

/// The policy of the demo page: it may load the script and call this listener, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The handler of the widget listener.
pub struct WidgetHost {
    api: Arc<ArcSwap<WidgetApi>>,
    files: Widget,
    upload_timeout: Duration,
    refusals: Refusals,
}

impl WidgetHost {
    /// A handler of the widget's API and files. A visitor's upload may take `upload_timeout`.
    #[must_use]
    pub fn new(api: Arc<ArcSwap<WidgetApi>>, files: Widget, upload_timeout: Duration) -> Self {
        WidgetHost { api, files, upload_timeout, refusals: Refusals::new() }
    }

    /// A file of the widget or the demo page; `None` for other paths.
    fn own(&self, parts: &Parts) -> Option<Response<ApiBody>> {
        let path = parts.uri.path();
        let page = path.strip_prefix("/demo/").or_else(|| (path == "/preview").then_some(""));
        let file = self.files.file(path);
        if file.is_none() && page.is_none() {
            return None;
        }
        // Counted like the widget's configuration: 300 per minute and address by default.
        if let Err(refused) = self.api.load().admit(parts) {
            return Some(*refused);
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(response);
        }
        let response = match (file, page) {
            (Some(file), _) => {
                let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
                let found = file.respond(text(ACCEPT_ENCODING).unwrap_or_default(), text(IF_NONE_MATCH));
                let mut response = Response::new(ApiBody::from(found.body));
                *response.status_mut() = found.status;
                *response.headers_mut() = found.headers;
                response
            }
            (None, Some(page)) => self.page(page, parts.uri.query()),
            (None, None) => return None,
        };
        Some(if parts.method == Method::HEAD { response.map(|_| ApiBody::empty()) } else { response })
    }

    /// The demo page with the widget of an agent, under the strictest policy.
    fn page(&self, path: &str, query: Option<&str>) -> Response<ApiBody> {
        let of_query = || {
            let mut pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == "agentId").map(|(_, agent)| agent)
        };
        let named = if path.is_empty() { of_query() } else { Some(path) };
        // An id has no characters that need escaping in HTML or a URL.
        let Some(agent) = named.and_then(|agent| agent.parse::<AgentId>().ok()) else {
            return text_response(StatusCode::NOT_FOUND, "there is /demo/<agentId>\n");
        };
        let tag = self.files.tag("", agent.as_str());
        let page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>The widget of {agent}</title>\n{tag}\n\
             <h1>The widget of {agent}</h1>\n<p>This page is empty but for the widget.</p>\n</html>\n"
        );
        let mut response = text_response(StatusCode::OK, page);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }
}

fn with_summary(mut response: Response<ApiBody>) -> HandlerResponse<ApiBody> {
    let handled = response.extensions_mut().remove();
    (response, handled)
}

impl Handler for WidgetHost {
    type Body = ApiBody;

    fn body_timeout(&self, parts: &Parts) -> Option<Duration> {
        (parts.uri.path() == UPLOADS_PATH).then_some(self.upload_timeout)
    }

    async fn handle(&self, request: Request<RequestBody>, client: IpAddr) -> HandlerResponse<ApiBody> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(PeerAddress(client));
        if !parts.uri.path().starts_with(BASE_PATH)
            && let Some(response) = self.own(&parts)
        {
            return with_summary(response);
        }
        let api = self.api.load_full();
        if let Some(response) = mail_pages::respond(&parts, &api, &self.files).await {
            return with_summary(response);
        }
        let is_upload = parts.uri.path() == UPLOADS_PATH;
        let response = api.handle(Request::from_parts(parts, body)).await;
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            self.refusals.pace(is_upload).await;
        }
        with_summary(response)
    }
}
