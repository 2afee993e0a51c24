//! The client: judges, resolves, connects, sends, follows redirects.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, Method, StatusCode, header};
use hyper_util::rt::TokioIo;
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};
use openapi_core::values::AgentId;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use url::Host;

use crate::connect::{Dial, SystemDialer, connect};
use crate::exchange::{Connection, Exchanged, Failed, request as to_send};
use crate::judge::{Judge, Policy, Refusal, Scheme, Target};
use crate::lookups::Lookups;
use crate::pool::{Pool, PoolKey};
use crate::resolve::{Resolve, SystemResolver};

/// The longest resolution of a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest wait for a connection, over all addresses of a name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest TLS handshake.
const TLS_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest call, whatever the request says.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// Why the client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("the certificates of the system cannot be used: {0}")]
pub struct SetupError(#[from] rustls::Error);

/// What the client uses of its machine.
#[derive(Clone)]
pub struct Parts {
    /// Resolves names.
    pub resolver: Arc<dyn Resolve>,
    /// Opens connections.
    pub dialer: Arc<dyn Dial>,
    /// Verifies receivers. Its protocols (ALPN) are replaced by HTTP/1.1.
    pub tls: ClientConfig,
}

impl Parts {
    /// Resolver, connections and certificates of the operating system.
    ///
    /// # Errors
    /// If the system has no certificates.
    pub fn system() -> Result<Self, SetupError> {
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        Ok(Parts { resolver: Arc::new(SystemResolver), dialer: Arc::new(SystemDialer), tls })
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// The client. It needs a `tokio` runtime, reads nothing from the environment and shares its idle connections between
/// all requests.
pub struct HttpOutbound {
    judge: Judge,
    lookups: Lookups,
    dialer: Arc<dyn Dial>,
    tls: TlsConnector,
    pool: Pool,
}

impl fmt::Debug for HttpOutbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOutbound").finish_non_exhaustive()
    }
}

/// The addresses of a target that may be connected to.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The judged URL.
    pub target: Target,
    /// The judged addresses with the port.
    pub addresses: Vec<SocketAddr>,
}

impl HttpOutbound {
    /// A client with this policy.
    #[must_use]
    pub fn new(policy: Policy, parts: Parts) -> Self {
        let Parts { resolver, dialer, mut tls } = parts;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let tls = TlsConnector::from(Arc::new(tls));
        HttpOutbound {
            judge: Judge::new(policy),
            lookups: Lookups::new(resolver),
            dialer,
            tls,
            pool: Pool::default(),
        }
    }

    /// Judges a URL and the addresses of its name, without a connection.
    ///
    /// # Errors
    /// [`OutboundError::Refused`], [`OutboundError::Resolve`] or [`OutboundError::Timeout`].
    pub async fn resolve(&self, url: &str, schemes: OutboundSchemes) -> Result<Resolved, OutboundError> {
        let target = self.judge.target(url, schemes)?;
        let addresses = self.addresses(&target, None, Instant::now() + RESOLVE_TIMEOUT).await?;
        Ok(Resolved { target, addresses })
    }

    async fn addresses(
        &self,
        target: &Target,
        agent: Option<&AgentId>,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, OutboundError> {
        let found = match (target.name(), target.address()) {
            (Some(name), _) => {
                let lookup = self.lookups.addresses(agent, name);
                let lookup = within(deadline, RESOLVE_TIMEOUT, "resolve", lookup).await?;
                lookup.map_err(|error| OutboundError::Resolve(format!("{name}: {error}")))?
            }
            (None, address) => address.into_iter().collect(),
        };
        if found.is_empty() {
            return Err(OutboundError::Resolve(format!("{} has no addresses", target.authority())));
        }
        Ok(self.judge.addresses(target, &found)?)
    }

    /// Sends a request to a target, on an idle connection to one of its addresses or on a new one.
    async fn exchange(
        &self,
        target: &Target,
        request: &OutboundRequest,
        deadline: Instant,
    ) -> Result<Exchanged, OutboundError> {
        let addresses = self.addresses(target, request.agent.as_ref(), deadline).await?;
        let is_repeatable = request.is_repeatable || matches!(request.method, Method::GET | Method::HEAD);
        let idle = addresses.iter().find_map(|address| {
            let key = PoolKey::of(target, *address);
            Some((self.pool.take(&key)?, key))
        });
        if let Some((connection, key)) = idle {
            match self.send_on(connection, target, request, deadline).await? {
                Ok(exchanged) => return Ok(self.give_back(exchanged, key)),
                // The receiver has closed the idle connection.
                Err(failed) if failed.is_unsent || (is_repeatable && failed.has_no_response) => {}
                Err(failed) => return Err(failed.error),
            }
        }
        let (connection, key) = self.open(target, &addresses, deadline).await?;
        let exchanged = self.send_on(connection, target, request, deadline).await?;
        exchanged.map(|exchanged| self.give_back(exchanged, key)).map_err(|failed| failed.error)
    }

    async fn send_on(
        &self,
        connection: Connection,
        target: &Target,
        request: &OutboundRequest,
        deadline: Instant,
    ) -> Result<Result<Exchanged, Failed>, OutboundError> {
        let sent = connection.exchange(to_send(target, request)?, request.max_body_bytes);
        within(deadline, MAX_TIMEOUT, "response", sent).await
    }

    fn give_back(&self, mut exchanged: Exchanged, key: PoolKey) -> Exchanged {
        if let Some(connection) = exchanged.connection.take() {
            self.pool.put(key, connection);
        }
        exchanged
    }

    /// A new connection to one of the judged addresses.
    async fn open(
        &self,
        target: &Target,
        addresses: &[SocketAddr],
        deadline: Instant,
    ) -> Result<(Connection, PoolKey), OutboundError> {
        let (stream, address) =
            within(deadline, CONNECT_TIMEOUT, "connect", connect(&self.dialer, addresses)).await??;
        let key = PoolKey::of(target, address);
        let connection = match target.scheme {
            Scheme::Http => Connection::open(TokioIo::new(stream)).await?,
            Scheme::Https => {
                let handshake = self.tls.connect(server_name(target)?, stream);
                let stream = within(deadline, TLS_TIMEOUT, "tls", handshake).await?;
                let stream = stream.map_err(|error| OutboundError::Tls(error.to_string()))?;
                Connection::open(TokioIo::new(stream)).await?
            }
        };
        Ok((connection, key))
    }
}

#[async_trait]
impl Outbound for HttpOutbound {
    fn check(&self, url: &str, schemes: OutboundSchemes) -> Result<(), OutboundError> {
        self.judge.target(url, schemes).map(drop).map_err(Refusal::into)
    }

    async fn send(&self, mut request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let deadline = Instant::now() + Duration::from_millis(request.timeout_millis).min(MAX_TIMEOUT);
        let max_redirects = request.max_redirects.min(OutboundRequest::MAX_REDIRECTS);
        let mut target = self.judge.target(&request.url, request.schemes)?;
        let mut followed = 0;
        loop {
            let Exchanged { response, is_truncated, .. } = self.exchange(&target, &request, deadline).await?;
            let (head, body) = response.into_parts();
            let location = location(head.status, &head.headers).filter(|_| max_redirects > 0);
            let Some(location) = location else {
                let (status, headers, url) = (head.status, head.headers, target.url().to_owned());
                return Ok(OutboundResponse { status, headers, body, is_truncated, url });
            };
            if followed == max_redirects {
                return Err(OutboundError::Redirects(max_redirects));
            }
            followed += 1;
            let next = self.judge.redirect(&target, location, request.schemes)?;
            redirect(&mut request, head.status, target.is_same_origin(&next));
            target = next;
        }
    }
}

/// Where a redirect leads.
fn location(status: StatusCode, headers: &HeaderMap) -> Option<&str> {
    let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    headers.get(header::LOCATION).filter(|_| is_redirect)?.to_str().ok()
}

/// Changes a request for the target of a redirect, as browsers do: all but 307 and 308 make it a `GET`, and credentials
/// stay with their origin.
fn redirect(request: &mut OutboundRequest, status: StatusCode, is_same_origin: bool) {
    let becomes_get = !matches!(status.as_u16(), 307 | 308) && request.method != Method::HEAD;
    if becomes_get && request.method != Method::GET {
        request.method = Method::GET;
        request.body.clear();
        for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE] {
            request.headers.remove(name);
        }
    }
    if !is_same_origin {
        for name in [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION] {
            request.headers.remove(name);
        }
    }
}

fn server_name(target: &Target) -> Result<ServerName<'static>, OutboundError> {
    match &target.host {
        Host::Domain(name) => ServerName::try_from(name.clone())
            .map_err(|_| OutboundError::Tls(format!("{name} is not the name of a TLS server"))),
        Host::Ipv4(address) => Ok(ServerName::IpAddress((*address).into())),
        Host::Ipv6(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

/// The output of `work`, unless it takes longer than `limit` or than the whole call may.
async fn within<T>(
    deadline: Instant,
    limit: Duration,
    step: &'static str,
    work: impl Future<Output = T>,
) -> Result<T, OutboundError> {
    let until = deadline.min(Instant::now() + limit);
    timeout_at(until, work).await.map_err(|_| OutboundError::Timeout(step))
}
