//! The operator's listener: liveness, readiness and metrics.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use conversations::storage::ConversationStorage;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::drain::Drain;
use crate::documents::DocumentSandbox;
use crate::metrics::Metrics;
use crate::ports::monotonic;

/// Timeout of the store's probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the result of a probe holds for everybody who asks.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Concurrent connections. The oldest makes room for a new one, so that silent ones keep nobody out.
const MAX_CONNECTIONS: usize = 64;

/// Timeout of a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// The sources of the operator's listener.
pub struct Ops {
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The store, whose probe decides readiness.
    pub storage: Arc<dyn ConversationStorage>,
    /// Whether the processes that read documents are confined. A server that reads none is ready all the same.
    pub documents: DocumentSandbox,
    /// A draining server is not ready.
    pub drain: Arc<Drain>,
    /// The last probe of the store.
    pub probe: Probe,
}

/// The last probe of the store: when it ended, and why the store is not ready.
#[derive(Default)]
pub struct Probe(tokio::sync::Mutex<Option<(Instant, Result<(), String>)>>);

impl Probe {
    /// Whether the store is ready. Requests within a second of a probe, or while one runs, share its result.
    async fn result(&self, storage: &dyn ConversationStorage) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if let Some((at, result)) = &*last
            && monotonic().duration_since(*at) < PROBE_INTERVAL
        {
            return result.clone();
        }
        let result = match timeout(PROBE_TIMEOUT, storage.probe()).await {
            Ok(probed) => probed.map_err(|error| error.to_string()),
            Err(_) => Err("the data store does not respond".to_owned()),
        };
        *last = Some((monotonic(), result.clone()));
        result
    }
}

/// Serves the operator's listener until it is dropped.
pub async fn serve(listener: TcpListener, ops: Arc<Ops>) {
    let mut open = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        open.retain(|connection: &AbortHandle| !connection.is_finished());
        if open.len() >= MAX_CONNECTIONS {
            open.pop_front().iter().for_each(AbortHandle::abort);
        }
        let ops = Arc::clone(&ops);
        let connection = tokio::spawn(async move {
            let service = service_fn(move |request| {
                let ops = Arc::clone(&ops);
                async move { Ok::<_, Infallible>(ops.respond(&request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                // One request a connection, so no request can hide in another one's body.
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // The end of a monitoring connection is irrelevant.
            let _ = connection.await;
        });
        open.push_back(connection.abort_handle());
    }
}

impl Ops {
    async fn respond<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
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
            _ => text(StatusCode::NOT_FOUND, "not found; try /livez, /readyz or /metrics\n"),
        }
    }

    async fn ready(&self) -> Response<Full<Bytes>> {
        if self.drain.is_draining() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "draining\n");
        }
        match self.probe.result(&*self.storage).await {
            Ok(()) => {
                // A server that reads no documents or sends no e-mail is ready all the same.
                let documents = (!self.documents.is_enforced()).then(|| self.documents.to_string());
                let notes = documents.into_iter().chain(self.metrics.mail.problem());
                text(StatusCode::OK, notes.fold("ready\n".to_owned(), |text, note| text + &note + "\n"))
            }
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        }
    }
}

fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use openapi_core::storage::Result as StorageResult;
    use storage_memory::MemoryStorage;
    use testkit::delegate::Delegate;

    use super::*;

    /// A store that counts its probes, and takes a while for each.
    #[derive(Default)]
    struct Counting {
        inner: MemoryStorage,
        probes: AtomicU32,
    }

    impl Counting {
        async fn probe(&self) -> StorageResult<()> {
            self.probes.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(())
        }
    }

    impl Delegate for Counting {
        type Inner = MemoryStorage;

        fn inner(&self) -> &MemoryStorage {
            &self.inner
        }
    }

    testkit::delegate_storage!(Counting);

    /// A probe writes, so the number of requests must not decide how often.
    #[tokio::test]
    async fn those_who_ask_share_a_probe() {
        let (store, probe) = (Counting::default(), Probe::default());
        let (store, probe) = (Arc::new(store), Arc::new(probe));
        let asking = (0..50).map(|_| {
            let (store, probe) = (Arc::clone(&store), Arc::clone(&probe));
            async move { probe.result(&*store).await }
        });
        let answers = asking.collect::<tokio::task::JoinSet<_>>().join_all().await;
        assert_eq!(answers, vec![Ok(()); 50]);
        assert_eq!(store.probes.load(Ordering::Relaxed), 1);
        tokio::time::sleep(PROBE_INTERVAL).await;
        assert_eq!(probe.result(&*store).await, Ok(()));
        assert_eq!(store.probes.load(Ordering::Relaxed), 2);
    }
}
