//! The handler of the API listener: the API and its interactive reference.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::Request;
use openapi_core::api::{Api, ApiBody, ResponseSummary};

use super::docs::{Docs, accepts_gzip};
use super::service::{Handler, HandlerResponse, RequestBody};

/// The operation whose response is the OpenAPI document.
const DOCUMENT: &str = "describeApi";

/// The API with its reference. The API can be replaced while requests run.
pub struct ApiHandler {
    api: Arc<ArcSwap<Api>>,
    docs: Option<Docs>,
}

impl ApiHandler {
    /// A handler of both, or of the API alone.
    #[must_use]
    pub fn new(api: Api, docs: Option<Docs>) -> Self {
        ApiHandler { api: Arc::new(ArcSwap::from_pointee(api)), docs }
    }

    /// The cell that holds the API, for its replacement.
    #[must_use]
    pub fn exchange(&self) -> Arc<ArcSwap<Api>> {
        Arc::clone(&self.api)
    }
}

impl Handler for ApiHandler {
    type Body = ApiBody;

    fn is_authenticated(&self, summary: &ResponseSummary) -> bool {
        summary.agent.is_some()
    }

    async fn handle(&self, request: Request<RequestBody>, client: IpAddr) -> HandlerResponse<ApiBody> {
        let Some(docs) = &self.docs else {
            let (response, handled) = self.api.load().respond(request, Some(client)).await;
            return (response, Some(handled));
        };
        if let Some(response) = docs.respond(&request) {
            let (parts, _) = request.into_parts();
            // Counted like health checks: 300 per minute and address by default.
            return match self.api.load().admit(&parts, Some(client)) {
                Ok(()) => (response.map(ApiBody::from), None),
                Err(refused) => (refused.0, Some(refused.1)),
            };
        }
        let accepts_gzip = request.uri().path().ends_with(".json") && accepts_gzip(request.headers());
        let (response, handled) = self.api.load().respond(request, Some(client)).await;
        let is_document = handled.operation == Some(DOCUMENT) && handled.code.is_none();
        let response = if is_document { docs.share_document(accepts_gzip, response) } else { response };
        (response, Some(handled))
    }
}
