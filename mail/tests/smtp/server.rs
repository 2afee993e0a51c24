//! A small SMTP server (RFC 5321) with STARTTLS or TLS, whose replies a test sets.

use std::sync::{Arc, Mutex};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How a test server behaves.
#[derive(Clone, Copy, Default)]
pub struct Behaviour {
    pub implicit_tls: bool,
    pub starttls: bool,
    /// Replaces the reply to a command that begins with this.
    pub reply: Option<(&'static str, &'static str)>,
}

/// A received message.
#[derive(Clone, Debug, Default)]
pub struct Received {
    pub commands: Vec<String>,
    pub data: Vec<u8>,
}

pub struct Server {
    pub port: u16,
    pub authority: Vec<u8>,
    pub received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    pub async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a key");
        let tls = TlsAcceptor::from(Arc::new(config));
        let received = Arc::new(Mutex::new(Vec::new()));
        let store = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, store) = (tls.clone(), Arc::clone(&store));
                tokio::spawn(async move {
                    let mut received = Received::default();
                    if behaviour.implicit_tls {
                        let Ok(stream) = tls.accept(stream).await else { return };
                        serve(stream, behaviour, &mut received, &store, true).await;
                    } else if let Some(stream) = serve(stream, behaviour, &mut received, &store, true).await {
                        let Ok(stream) = tls.accept(stream).await else { return };
                        serve(stream, behaviour, &mut received, &store, false).await;
                    }
                });
            }
        });
        Server { port, authority: cert.pem().into_bytes(), received }
    }

    pub fn messages(&self) -> Vec<Received> {
        self.received.lock().expect("a lock").clone()
    }
}

/// Serves a connection; the stream where the client asks for TLS.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    behaviour: Behaviour,
    received: &mut Received,
    store: &Mutex<Vec<Received>>,
    greets: bool,
) -> Option<S> {
    let mut stream = BufReader::new(stream);
    if greets {
        stream.write_all(b"220 localhost\r\n").await.ok()?;
    }
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let command = line.trim_end().to_owned();
        let upper = command.to_ascii_uppercase();
        received.commands.push(command);
        let reply = match behaviour.reply {
            Some((begin, reply)) if upper.starts_with(begin) => reply,
            _ if upper.starts_with("EHLO") && behaviour.starttls && greets => {
                "250-localhost\r\n250-SMTPUTF8\r\n250 STARTTLS"
            }
            _ if upper.starts_with("EHLO") => "250-localhost\r\n250-8BITMIME\r\n250 AUTH PLAIN",
            _ if upper == "DATA" => "354 go on",
            _ if upper == "QUIT" => "221 bye",
            _ if upper == "STARTTLS" => "220 go on",
            _ if upper.starts_with("AUTH") => "235 welcome",
            _ => "250 ok",
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
        if upper == "STARTTLS" && reply.starts_with("220") {
            return Some(stream.into_inner());
        }
        if upper == "DATA" && reply.starts_with("354") {
            received.data = data(&mut stream).await?;
            store.lock().expect("a lock").push(received.clone());
            stream.write_all(b"250 taken\r\n").await.ok()?;
            stream.flush().await.ok()?;
        }
    }
}

/// The lines up to the one that is a dot, with the dots at the beginning of lines undone.
async fn data<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let mut line = Vec::new();
        if stream.read_until(b'\n', &mut line).await.ok()? == 0 {
            return None;
        }
        match line.as_slice() {
            b".\r\n" => return Some(data),
            [b'.', rest @ ..] => data.extend_from_slice(rest),
            _ => data.extend_from_slice(&line),
        }
    }
}
