//! The operator's listener: whether the process lives, whether it is ready, what it counts.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conversations::storage::ConversationStorage;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::drain::Drain;
use crate::metrics::Metrics;

/// How long the store may take to show that the server is ready.
const PROBE: Duration = Duration::from_secs(1);

/// Connections at a time.
const CONNECTIONS: usize = 64;

/// How long an operator's connection may rest.
const IDLE: Duration = Duration::from_secs(75);

/// What the operator's listener tells about.
pub struct Ops {
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The store, asked whether it answers.
    pub storage: Arc<dyn ConversationStorage>,
    /// A server that drains is not ready.
    pub drain: Arc<Drain>,
}

/// Serves the operator's listener until it is dropped.
pub async fn serve(listener: TcpListener, ops: Arc<Ops>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Waiting for a place leaves further connections in the system's queue.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let ops = Arc::clone(&ops);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let ops = Arc::clone(&ops);
                async move { Ok::<_, Infallible>(ops.answer(&request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .serve_connection(TokioIo::new(stream), service);
            // Who asks is an operator's tool; how its connection ends is of no interest.
            let _ = connection.await;
            drop(place);
        });
    }
}

impl Ops {
    async fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match request.uri().path() {
            "/livez" => text(StatusCode::OK, "alive\n"),
            "/readyz" => self.ready().await,
            "/metrics" => {
                let mut response = text(StatusCode::OK, self.metrics.encode());
                response.headers_mut().insert(
                    CONTENT_TYPE,
                    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8"),
                );
                response
            }
            _ => text(StatusCode::NOT_FOUND, "there are /livez, /readyz and /metrics\n"),
        }
    }

    async fn ready(&self) -> Response<Full<Bytes>> {
        if self.drain.is_draining() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "draining\n");
        }
        match timeout(PROBE, self.storage.probe()).await {
            Ok(Ok(())) => text(StatusCode::OK, "ready\n"),
            Ok(Err(error)) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
            Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "the data store does not answer\n"),
        }
    }
}

fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(words.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
