//! Runs the handler in an actix-web server and calls it over a socket.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::{App, HttpServer, web};
use async_trait::async_trait;
use bytes::Bytes;
use embed_actix::open_api;
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::api::Settings;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FileScan, FileScanner, MemoryBlobs, ScanError, SystemIds, Verdict};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use storage_memory::MemoryStorage;

/// Counts the bytes of uploads as they arrive.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

#[async_trait]
impl FileScanner for Counter {
    async fn begin(&self) -> Result<Box<dyn FileScan>, ScanError> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl FileScan for Counter {
    async fn push(&mut self, bytes: &Bytes) -> Result<(), ScanError> {
        self.0.fetch_add(bytes.len(), Ordering::SeqCst);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<Verdict, ScanError> {
        Ok(Verdict::Clean)
    }
}

/// An application on its own thread, with an agent `acme`.
struct Host {
    /// `host:port`
    address: String,
    keys: String,
    scanned: Counter,
}

struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// A string member of the body, by its name.
    fn member(&self, name: &str) -> &str {
        let (_, rest) = self.text().split_once(&format!("\"{name}\":\"")).expect(name);
        rest.split('"').next().expect("an end")
    }
}

impl Host {
    fn start() -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let scanned = Counter::default();
        let service_info = ServiceInfo::new(&format!("http://{address}")).expect("a URL");
        let ports = Ports::system(ServerKeys::generate(&SystemIds::default()))
            .with_blobs(Arc::new(MemoryBlobs::new()))
            .with_scanner(Arc::new(scanned.clone()));
        let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info.clone()));
        let api = platform.api(Settings::new(service_info));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let keys = runtime.block_on(async {
            let by = Actor::Operator("test".to_owned());
            let agent = NewAgent { id: "acme".parse().ok(), name: "Acme".parse().expect("a name") };
            let agent = platform.create_agent(&by, agent).await.expect("an agent");
            let all = "contacts:all".parse().expect("permissions");
            let key = NewKey::new(agent.id, "Test".parse().expect("a name"), all);
            let key = platform.create_key(&by, key).await.expect("a key");
            format!("X-API-Key: {}\r\nX-API-Secret: {}\r\n", key.key.api_key, key.secret.expose())
        });
        std::thread::spawn(move || {
            let app = move || {
                App::new()
                    .app_data(web::Data::new(api.clone()))
                    .route("/", web::get().to(async || "the application's own page\n"))
                    .default_service(web::to(open_api))
            };
            let server = HttpServer::new(app).workers(1).disable_signals().listen(listener);
            actix_web::rt::System::new().block_on(server.expect("a listener").run()).expect("it serves");
        });
        Host { address, keys, scanned }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        stream
    }

    /// The request head with the key headers.
    fn head(&self, request: &str, headers: &str, bytes: usize) -> String {
        let Host { address, keys, .. } = self;
        format!(
            "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {bytes}\r\n{keys}{headers}\r\n"
        )
    }

    fn call(&self, request: &str, headers: &str, body: &[u8]) -> Reply {
        let mut stream = self.connect();
        stream.write_all(self.head(request, headers, body.len()).as_bytes()).expect("it reads");
        stream.write_all(body).expect("it reads on");
        read(stream)
    }

    /// A contact, by its id.
    fn contact(&self) -> String {
        let reply =
            self.call("POST /v1/open/contacts/chatbots/acme", "", br#"{"primaryEmail":"zoe@example.com"}"#);
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.member("id").to_owned()
    }
}

fn read(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    let end = bytes.windows(4).position(|piece| piece == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text").to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Reply { status, head, body: bytes.split_off(end + 4) }
}

const TYPE: &str = "Content-Type: multipart/form-data; boundary=limit\r\n";

/// A form with a text file of these bytes.
fn form(content: &[u8]) -> Vec<u8> {
    let head = b"--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n\r\n";
    [head, content, b"\r\n--limit--\r\n"].concat()
}

/// Two million bytes of text without repeated lines.
fn notes() -> Vec<u8> {
    (0..100_000).flat_map(|line| format!("line {line:>13}\n").into_bytes()).collect()
}

#[test]
fn the_application_and_the_open_api_share_a_listener() {
    let host = Host::start();
    let reply = host.call("GET /", "", b"");
    assert_eq!((reply.status, reply.text()), (200, "the application's own page\n"));
    assert_eq!(host.call("GET /v1/open/health", "", b"").status, 200);
    let reply = host.call("GET /nowhere", "", b"");
    assert!(reply.status == 404 && reply.text().contains("ROUTE_NOT_FOUND"), "{}", reply.text());
    let reply = host.call("POST /v1/open/contacts/chatbots/acme?dryRun=true", "", b"{");
    assert!(reply.status == 400 && reply.text().contains("INVALID_JSON"), "{}", reply.text());
    let list = "/v1/open/contacts/chatbots/acme";
    let (whole, head) =
        (host.call(&format!("GET {list}"), "", b""), host.call(&format!("HEAD {list}"), "", b""));
    let length = format!("content-length: {}", whole.body.len());
    assert!(head.head.contains(&length) && head.body.is_empty(), "{length}: {}", head.head);
}

#[test]
fn files_are_returned_unchanged() {
    let (host, content) = (Host::start(), notes());
    let files = format!("/v1/open/files/chatbots/acme/{}", host.contact());
    let sent = host.call(&format!("POST {files}"), TYPE, &form(&content));
    assert_eq!(sent.status, 201, "{}", sent.text());
    let link = host.call(&format!("GET {files}/files/{}/signed-url", sent.member("id")), "", b"");
    assert_eq!(link.status, 200, "{}", link.text());
    let (_, target) = link.member("url").split_once(&host.address).expect("a URL of this host");
    let got = host.call(&format!("GET {target}"), "", b"");
    assert_eq!(got.status, 200);
    assert!(got.body == content, "{} bytes of {}", got.body.len(), content.len());
    let part = host.call(&format!("GET {target}"), "Range: bytes=20-39\r\n", b"");
    assert_eq!((part.status, part.body.as_slice()), (206, &content[20..40]));
}

#[test]
fn an_upload_is_processed_while_it_is_sent() {
    let (host, content) = (Host::start(), notes());
    let files = format!("/v1/open/files/chatbots/acme/{}", host.contact());
    let body = form(&content);
    let mut stream = host.connect();
    stream.write_all(host.head(&format!("POST {files}"), TYPE, body.len()).as_bytes()).expect("it reads");
    let half = body.len() / 2;
    stream.write_all(&body[..half]).expect("it reads on");
    // Nearly all sent data must arrive while the client waits.
    let arrives = || {
        std::thread::sleep(Duration::from_millis(5));
        host.scanned.0.load(Ordering::SeqCst) > half - 200_000
    };
    assert!((0..2_000).any(|_| arrives()), "nothing is read before the end of the body");
    stream.write_all(&body[half..]).expect("it reads to the end");
    let reply = read(stream);
    assert_eq!(reply.status, 201, "{}", reply.text());
    assert_eq!(host.scanned.0.load(Ordering::SeqCst), content.len());
}

#[test]
fn a_client_that_goes_away_leaves_nothing() {
    let host = Host::start();
    let contact = host.contact();
    let files = format!("/v1/open/files/chatbots/acme/{contact}");
    let body = form(&notes());
    let mut stream = host.connect();
    stream.write_all(host.head(&format!("POST {files}"), TYPE, body.len()).as_bytes()).expect("it reads");
    stream.write_all(&body[..body.len() / 2]).expect("it reads on");
    drop(stream);
    let reply = host.call(&format!("GET {files}"), "", b"");
    assert!(reply.status == 200 && reply.text().contains("\"totalItems\":0"), "{}", reply.text());
}
