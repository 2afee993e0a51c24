//! What is at the address of the API: the API, and the interactive reference beside it.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::Request;
use openapi_core::api::{Api, ApiBody};

use super::docs::Docs;
use super::service::{Answered, Handler, RequestBody};

/// The API with its reference. The API can be exchanged while requests run.
pub struct ApiHandler {
    api: Arc<ArcSwap<Api>>,
    docs: Docs,
}

impl ApiHandler {
    /// Serves both.
    #[must_use]
    pub fn new(api: Api, docs: Docs) -> Self {
        ApiHandler { api: Arc::new(ArcSwap::from_pointee(api)), docs }
    }

    /// Where the API can be exchanged for another one.
    #[must_use]
    pub fn exchange(&self) -> Arc<ArcSwap<Api>> {
        Arc::clone(&self.api)
    }
}

impl Handler for ApiHandler {
    type Body = ApiBody;

    async fn handle(&self, request: Request<RequestBody>, client: IpAddr) -> Answered<ApiBody> {
        if let Some(response) = self.docs.answer(&request) {
            return (response.map(ApiBody::from), None);
        }
        let (response, handled) = self.api.load().respond(request, Some(client)).await;
        (response, Some(handled))
    }
}
