//! The HTTP client of the object stores: TLS by rustls on ring, the proxies that the caller names, and timeouts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpService,
};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use reqwest::{NoProxy, Proxy};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(3);

/// How long a response may take, in addition to the time for the request's bytes.
const RESPONSE: Duration = Duration::from_secs(8);

/// The slowest upload, in bytes per second.
const MIN_UPLOAD_RATE: u64 = 256 * 1024;

/// How long the body of a response may stall.
const STALL: Duration = Duration::from_secs(60);

/// The metadata services from which a machine in a cloud gets its credentials; no proxy reaches them.
const METADATA: &str = "169.254.169.254,169.254.170.2,metadata.google.internal,metadata";

/// No retry starts later than this after the first attempt.
const RETRY_LIMIT: Duration = Duration::from_secs(6);

/// A failed request is retried a few times, but not for minutes: a client waits for its response.
pub(super) fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(1),
            base: 2.0,
        },
        max_retries: 4,
        retry_timeout: RETRY_LIMIT,
    }
}

/// Makes the HTTP clients of a store.
#[derive(Debug)]
pub(super) struct Connector {
    tls: Result<ClientConfig, rustls::Error>,
    proxies: Vec<Proxy>,
}

impl Connector {
    /// A connector with the proxies of an environment.
    pub(super) fn new(environment: &[(String, String)]) -> Result<Self, String> {
        let value = |name: &str| {
            let named = environment.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let except = format!("{METADATA},{}", value("NO_PROXY").unwrap_or_default());
        let mut proxies = Vec::new();
        type Make = fn(&str) -> reqwest::Result<Proxy>;
        for (name, make) in [
            ("HTTPS_PROXY", (|url| Proxy::https(url)) as Make),
            ("HTTP_PROXY", |url| Proxy::http(url)),
            ("ALL_PROXY", |url| Proxy::all(url)),
        ] {
            if let Some(url) = value(name) {
                let proxy = make(url)
                    .map_err(|_| format!("{name} is no URL of a proxy; an example is http://proxy:3128"))?;
                proxies.push(proxy.no_proxy(NoProxy::from_string(&except)));
            }
        }
        Ok(Connector { tls: tls(), proxies })
    }

    fn client(
        &self,
        options: &ClientOptions,
    ) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
        let is_plain =
            options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let tls = match &self.tls {
            Ok(tls) => tls.clone(),
            // Without TLS no certificates are needed.
            Err(_) if is_plain => {
                builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
            }
            Err(error) => {
                return Err(format!(
                    "the system's certificates cannot be read; install ca-certificates: {error}"
                )
                .into());
            }
        };
        let mut client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(!is_plain)
            .http1_only()
            .no_proxy()
            .user_agent(concat!("storage-blobs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(STALL);
        for proxy in &self.proxies {
            client = client.proxy(proxy.clone());
        }
        Ok(client.build()?)
    }
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

fn builder() -> Result<Builder, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    Ok(builder()?.with_platform_verifier()?.with_no_client_auth())
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        match self.client(options) {
            Ok(client) => Ok(HttpClient::new(Patient(client))),
            Err(source) => Err(object_store::Error::Generic { store: "HTTP client", source }),
        }
    }
}

/// A client with timeouts.
#[derive(Debug)]
struct Patient(reqwest::Client);

#[async_trait]
impl HttpService for Patient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let timeout =
            RESPONSE + Duration::from_secs(request.body().content_length() as u64 / MIN_UPLOAD_RATE);
        match tokio::time::timeout(timeout, HttpService::call(&self.0, request)).await {
            Ok(Err(error)) if is_unsent(&error) => Err(HttpError::new(HttpErrorKind::Interrupted, error)),
            Ok(answered) => answered,
            Err(elapsed) => Err(HttpError::new(HttpErrorKind::Timeout, elapsed)),
        }
    }
}

/// Whether a request failed before its response began, with an error that `object_store` does not classify and would
/// not retry: a connection that is closed as soon as it is established.
fn is_unsent(error: &HttpError) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<reqwest::Error>());
    error.kind() == HttpErrorKind::Unknown && cause.is_some_and(reqwest::Error::is_request)
}
