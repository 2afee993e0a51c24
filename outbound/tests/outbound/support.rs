//! Receivers, resolvers and dialers for the tests.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use http::Method;
use openapi_core::ports::{OutboundRequest, OutboundSchemes};
use outbound::{Dial, HttpOutbound, Parts, Policy, Resolve, SystemDialer};
use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A resolver with the answers of a test: each lookup of a name takes the next one, and the last one stays.
#[derive(Default)]
pub struct Answers {
    by_name: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    pub lookups: AtomicUsize,
}

impl Answers {
    pub fn of(answers: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let addresses = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let by_name = answers
            .iter()
            .map(|(name, answers)| ((*name).to_owned(), answers.iter().map(addresses).rev().collect()));
        Arc::new(Answers { by_name: Mutex::new(by_name.collect()), lookups: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Resolve for Answers {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let mut by_name = self.by_name.lock();
        let answers = by_name.get_mut(name).ok_or_else(|| io::Error::other("no such name"))?;
        let answer = if answers.len() > 1 { answers.pop() } else { answers.last().cloned() };
        Ok(answer.unwrap_or_default())
    }
}

/// Records every address, and dials those of this machine for real.
#[derive(Default)]
pub struct Recorder {
    pub dialed: Mutex<Vec<SocketAddr>>,
}

#[async_trait]
impl Dial for Recorder {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.dialed.lock().push(address);
        if !address.ip().is_loopback() {
            return Err(io::ErrorKind::NetworkUnreachable.into());
        }
        SystemDialer.dial(address).await
    }
}

/// Records every address and connects to none.
#[derive(Default)]
pub struct Refuser {
    pub dialed: Mutex<Vec<SocketAddr>>,
}

#[async_trait]
impl Dial for Refuser {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.dialed.lock().push(address);
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// A TLS configuration that trusts these roots.
pub fn trusting(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Parts that trust nobody.
pub fn parts(resolver: Arc<dyn Resolve>, dialer: Arc<dyn Dial>) -> Parts {
    Parts { resolver, dialer, tls: trusting(RootCertStore::empty()) }
}

/// A policy that allows these, `http`, and all given ports.
pub fn policy(allow: &[&str], ports: &[u16]) -> Policy {
    let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
    Policy { allow, ports: ports.to_vec(), http: true }
}

/// A client that may reach 127.0.0.2 on this port, by plain HTTP, and knows `receiver.example` under that address.
pub fn client(port: u16) -> HttpOutbound {
    let answers = Answers::of(&[("receiver.example", &[&["127.0.0.2"]])]);
    HttpOutbound::new(policy(&["127.0.0.2"], &[port]), parts(answers, Arc::new(SystemDialer)))
}

pub fn get(url: impl Into<String>) -> OutboundRequest {
    OutboundRequest { timeout_millis: 5_000, ..OutboundRequest::new(Method::GET, url) }
}

pub fn crawl(url: impl Into<String>) -> OutboundRequest {
    OutboundRequest { schemes: OutboundSchemes::HttpAndHttps, max_redirects: 5, ..get(url) }
}

/// A listener that counts its connections and treats each one as the test says.
pub struct Receiver {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    pub async fn at<F>(address: &str, treat: impl Fn(TcpStream, usize) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(treat(stream, number));
            }
        });
        Receiver { address, connections }
    }

    /// A receiver on 127.0.0.2.
    pub async fn new<F>(treat: impl Fn(TcpStream, usize) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        Self::at("127.0.0.2:0", treat).await
    }

    /// A receiver that answers every request with these bytes and leaves the connection open.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::new(move |mut stream, _| {
            let answer = Arc::clone(&answer);
            async move {
                while read_head(&mut stream).await?.is_some() {
                    stream.write_all(&answer).await?;
                }
                Ok(())
            }
        })
        .await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://receiver.example:{}{path}", self.port())
    }
}

/// The head of the next request, or `None` at the end of the connection. Requests of these tests have no body.
pub async fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(String::from_utf8(head).unwrap()))
}
