//! An axum application with the Open API below a prefix, beside its own routes and in its own traces.

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

/// Below which path the application serves the API. The platform's public URL ends with it, so that links do, too.
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

/// Tells the API the address of the client, and notes the request: whatever the library says meanwhile, such as that the
/// store is away, stands in its span.
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
