//! An axum application with the Open API below a prefix, next to its own routes and in its own traces, and with the
//! console for its own people.

pub mod staff;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use openapi_core::api::{PeerAddress, ResponseSummary, Settings};
use openapi_core::platform::Platform;
use tracing::Instrument;

/// The path prefix of the API. The platform's public URL ends with it, so links include it too.
pub const PREFIX: &str = "/platform";

/// The application.
pub fn application(platform: &Arc<Platform>) -> Router {
    let settings = Settings::new(platform.service_info().clone());
    Router::new()
        .route("/", get(|| async { "the application's own page\n" }))
        .nest_service(PREFIX, platform.api(settings))
        .fallback(|| async { (axum::http::StatusCode::NOT_FOUND, "the application has no such page\n") })
        .layer(from_fn(observe))
}

/// Passes the client's address to the API and opens a span for the request. It contains the library's events, such as
/// a failing store.
async fn observe(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request, next: Next) -> Response {
    let span = tracing::info_span!("request", method = %request.method(), path = request.uri().path());
    request.extensions_mut().insert(PeerAddress(peer.ip()));
    async {
        let response = next.run(request).await;
        let status = response.status().as_u16();
        match response.extensions().get::<ResponseSummary>() {
            Some(ResponseSummary { operation, request_id, code, .. }) => {
                tracing::info!(status, operation, request_id, code, "answered by the API");
            }
            None => tracing::info!(status, "answered"),
        }
        response
    }
    .instrument(span)
    .await
}
