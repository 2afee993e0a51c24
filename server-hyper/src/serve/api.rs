//! The handler of the API listener: the API and its interactive reference.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::Request;
use openapi_core::api::{Api, ApiBody};

use super::docs::Docs;
use super::service::{Handler, HandlerResponse, RequestBody};

/// The API with its reference. The API can be replaced while requests run.
pub struct ApiHandler {
    api: Arc<ArcSwap<Api>>,
    docs: Docs,
}

impl ApiHandler {
    /// A handler of both.
    #[must_use]
    pub fn new(api: Api, docs: Docs) -> Self {
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

    async fn handle(&self, request: Request<RequestBody>, client: IpAddr) -> HandlerResponse<ApiBody> {
        if let Some(response) = self.docs.respond(&request) {
            return (response.map(ApiBody::from), None);
        }
        let (response, handled) = self.api.load().respond(request, Some(client)).await;
        (response, Some(handled))
    }
}
