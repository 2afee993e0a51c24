//! TLS: handshakes, the certificate's change, what is refused.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use server_hyper::serve::tls::Tls;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::support::{Options, StandIn, get, start, talk};

/// Writes a new certificate for `localhost` and its key into a folder.
fn certify(folder: &Path) -> CertificateDer<'static> {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), certified.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), certified.signing_key.serialize_pem()).unwrap();
    certified.cert.der().clone()
}

fn load(folder: &Path, http2: bool) -> Tls {
    Tls::load(&folder.join("cert.pem"), &folder.join("key.pem"), http2).unwrap()
}

async fn connect(
    address: std::net::SocketAddr,
    trusted: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
}

#[tokio::test]
async fn requests_are_answered_through_tls_and_the_certificate_can_change() {
    let folder = tempfile::tempdir().unwrap();
    let first = certify(folder.path());
    let tls = Arc::new(load(folder.path(), false));
    let server = start(StandIn, Options { tls: Some(Arc::clone(&tls)), ..Options::default() }).await;
    let stream = connect(server.address, &first, &[]).await.unwrap();
    let heard = talk(stream, get("/").as_bytes(), Duration::from_millis(200)).await;
    assert_eq!(heard.answers[0].text(), "ok");

    // Whatever the handler, also a refusal of the server itself tells browsers to stay with TLS.
    for (request, status) in
        [(get("/"), 200), (get("/panic"), 500), ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400)]
    {
        let stream = connect(server.address, &first, &[]).await.unwrap();
        let heard = talk(stream, request.as_bytes(), Duration::from_millis(200)).await;
        assert_eq!(heard.answers[0].status, status);
        assert!(heard.answers[0].header("strict-transport-security").unwrap().starts_with("max-age="));
    }

    // A file that is half written changes nothing.
    std::fs::write(folder.path().join("key.pem"), "half").unwrap();
    assert!(tls.reload().unwrap_err().to_string().contains("key.pem"));
    assert!(connect(server.address, &first, &[]).await.is_ok());

    let open = connect(server.address, &first, &[]).await.unwrap();
    let second = certify(folder.path());
    tls.reload().unwrap();
    assert!(connect(server.address, &first, &[]).await.is_err(), "the former certificate is gone");
    assert!(connect(server.address, &second, &[]).await.is_ok());
    let heard = talk(open, get("/").as_bytes(), Duration::from_millis(200)).await;
    assert_eq!(heard.answers[0].text(), "ok", "open connections go on");
}

#[tokio::test]
async fn clients_choose_http2_only_where_it_is_on() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = certify(folder.path());
    for (http2, chosen) in [(true, &b"h2"[..]), (false, &b"http/1.1"[..])] {
        let tls = Some(Arc::new(load(folder.path(), http2)));
        let server = start(StandIn, Options { tls, http2, ..Options::default() }).await;
        let stream = connect(server.address, &trusted, &[b"h2", b"http/1.1"]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(chosen));
    }
}

#[tokio::test]
async fn a_handshake_must_come() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let mut options = Options { tls: Some(Arc::new(load(folder.path(), false))), ..Options::default() };
    options.timeouts.handshake = Duration::from_millis(300);
    let server = start(StandIn, options).await;
    let begun = Instant::now();
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(silent.read(&mut [0; 16]).await.unwrap_or(0), 0);
    assert!(begun.elapsed() >= Duration::from_millis(280) && begun.elapsed() < Duration::from_secs(2));
    // Plain HTTP is no handshake.
    let plain = TcpStream::connect(server.address).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(2), async {
        let mut plain = plain;
        let mut heard = Vec::new();
        tokio::io::AsyncWriteExt::write_all(&mut plain, get("/").as_bytes()).await.unwrap();
        let _ = plain.read_to_end(&mut heard).await;
        heard
    })
    .await
    .unwrap();
    assert!(!heard.starts_with(b"HTTP"), "{heard:?}");
    assert!(
        server
            .metrics
            .encode()
            .contains("openapi_connections_refused_total{listener=\"open-api\",reason=\"handshake\"} 2")
    );
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let refused =
        |certificate: &Path, key: &Path| Tls::load(certificate, key, false).unwrap_err().to_string();
    assert!(refused(&folder.path().join("none.pem"), &key).contains("none.pem"));
    assert!(refused(&key, &key).contains("holds no certificate"));
    assert!(refused(&certificate, &certificate).contains("the private key"));
    let other = tempfile::tempdir().unwrap();
    certify(other.path());
    assert!(refused(&certificate, &other.path().join("key.pem")).contains("cannot be used together"));
}
