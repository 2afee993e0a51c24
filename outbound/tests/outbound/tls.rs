//! TLS: the certificate must be valid for the name, now, by a trusted authority.

use std::sync::Arc;

use openapi_core::ports::{Outbound, OutboundError, OutboundRequest};
use outbound::{HttpOutbound, Parts, SystemDialer};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

use crate::support::{Answers, Receiver, get, policy, trusting};

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn parameters(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

fn authority() -> Issuer {
    let mut parameters = parameters("authority.example");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// What a TLS receiver has seen of its clients.
type Seen = Arc<Mutex<Vec<(Option<String>, Option<Vec<u8>>)>>>;

/// A receiver with a certificate of these parameters; without an issuer, it has signed it itself.
async fn receiver(parameters: CertificateParams, issuer: Option<&Issuer>) -> (Receiver, Seen) {
    let key = KeyPair::generate().unwrap();
    let certificate = match issuer {
        Some(issuer) => parameters.signed_by(&key, issuer).unwrap(),
        None => parameters.self_signed(&key).unwrap(),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let seen = Seen::default();
    let record = Arc::clone(&seen);
    let receiver = Receiver::new(move |stream, _| {
        let (acceptor, record) = (acceptor.clone(), Arc::clone(&record));
        async move {
            let mut stream = acceptor.accept(stream).await?;
            let session = stream.get_ref().1;
            let protocol = session.alpn_protocol().map(<[u8]>::to_vec);
            record.lock().push((session.server_name().map(str::to_owned), protocol));
            while stream.read(&mut [0; 4096]).await? > 0 {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await?;
            }
            Ok(())
        }
    })
    .await;
    (receiver, seen)
}

async fn ask(receiver: &Receiver, host: &str, issuer: &Issuer) -> Result<u16, OutboundError> {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let resolver = Answers::of(&[("receiver.example", &[&["127.0.0.2"]])]);
    let parts = Parts { resolver, dialer: Arc::new(SystemDialer), tls: trusting(roots) };
    let client = HttpOutbound::new(policy(&["127.0.0.2"], &[receiver.port()]), parts);
    let response = client.send(get(format!("https://{host}:{}/", receiver.port()))).await?;
    Ok(response.status.as_u16())
}

#[tokio::test]
async fn a_valid_certificate_is_accepted() {
    let issuer = authority();
    let (receiver, seen) = receiver(parameters("receiver.example"), Some(&issuer)).await;
    assert_eq!(ask(&receiver, "receiver.example", &issuer).await, Ok(200));
    assert_eq!(ask(&receiver, "RECEIVER.example", &issuer).await, Ok(200));
    let expected = (Some("receiver.example".to_owned()), Some(b"http/1.1".to_vec()));
    assert_eq!(*seen.lock(), [expected.clone(), expected]);
    // A certificate of an address serves a URL with that address.
    let (receiver, seen) = self::receiver(parameters("127.0.0.2"), Some(&issuer)).await;
    assert_eq!(ask(&receiver, "127.0.0.2", &issuer).await, Ok(200));
    assert_eq!(seen.lock()[0].0, None);
}

#[tokio::test]
async fn other_certificates_are_refused() {
    let issuer = authority();
    let mut expired = parameters("receiver.example");
    (expired.not_before, expired.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    let mut early = parameters("receiver.example");
    (early.not_before, early.not_after) = (date_time_ymd(4000, 1, 1), date_time_ymd(4001, 1, 1));
    let other = authority();
    for (name, parameters, by) in [
        ("wrong name", parameters("other.example"), Some(&issuer)),
        ("name of a parent", parameters("example"), Some(&issuer)),
        ("wrong level", parameters("*.receiver.example"), Some(&issuer)),
        ("address instead of the name", parameters("127.0.0.2"), Some(&issuer)),
        ("expired", expired, Some(&issuer)),
        ("not yet valid", early, Some(&issuer)),
        ("unknown authority", parameters("receiver.example"), Some(&other)),
        ("self-signed", parameters("receiver.example"), None),
    ] {
        let (receiver, seen) = receiver(parameters, by).await;
        let error = ask(&receiver, "receiver.example", &issuer).await.unwrap_err();
        assert!(matches!(&error, OutboundError::Tls(_)), "{name}: {error}");
        // No request was sent.
        assert!(seen.lock().is_empty(), "{name}");
    }
}

#[tokio::test]
async fn plain_and_silent_servers_are_errors() {
    let issuer = authority();
    let plain = Receiver::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let talking =
        Receiver::new(|mut stream, _| async move { stream.write_all(b"220 mail.example ESMTP\r\n").await })
            .await;
    assert_eq!(ask(&talking, "receiver.example", &issuer).await.unwrap_err().word(), "tls");
    let resolver = Answers::of(&[("receiver.example", &[&["127.0.0.2"]])]);
    let client = HttpOutbound::new(
        policy(&["127.0.0.2"], &[plain.port()]),
        crate::support::parts(resolver, Arc::new(SystemDialer)),
    );
    let url = format!("https://receiver.example:{}/", plain.port());
    let request = OutboundRequest { timeout_millis: 300, ..get(url) };
    assert_eq!(client.send(request).await.unwrap_err(), OutboundError::Timeout("tls"));
}
