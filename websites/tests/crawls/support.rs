//! A website on this machine, a clock that the waits move, and a crawler over a store in memory.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use conversations::admin::NewKnowledge;
use conversations::websites::PageOutcome;
use conversations::{ChatPorts, Conversations, KnowledgeDocument, Website, WebsitePage};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::files::Sha256Digest;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{Clock, SequentialIds, SystemClock, Timer};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::{AgentId, JobId, Timestamp};
use outbound::{HttpOutbound, Parts, Policy};
use parking_lot::Mutex;
use storage_memory::MemoryStorage;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use websites::{CrawlLimits, Crawler, CrawlerParts, CurrentChat, PageReader, ReadPage};

/// What robots.txt calls the crawler.
pub const PRODUCT: &str = "Test-Sources";

/// Moves on by what is waited for, or by itself.
#[derive(Default)]
pub struct Hours {
    passed: AtomicI64,
    is_real: bool,
}

impl Hours {
    pub fn pass(&self, millis: i64) {
        self.passed.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for Hours {
    fn now(&self) -> Timestamp {
        if self.is_real {
            return SystemClock.now();
        }
        Timestamp::from_millis(1_790_000_000_000 + self.passed.load(Ordering::SeqCst))
    }
}

struct Waits(Arc<Hours>);

impl Timer for Waits {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let hours = Arc::clone(&self.0);
        Box::pin(async move {
            if hours.is_real {
                return tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
            }
            tokio::task::yield_now().await;
            hours.pass(i64::try_from(millis).expect("a wait"));
        })
    }
}

/// An answer of the website: status, header fields, body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn html(body: impl AsRef<[u8]>) -> Self {
        Answer::of(200, body).with("content-type", "text/html; charset=utf-8")
    }

    pub fn of(status: u16, body: impl AsRef<[u8]>) -> Self {
        Answer { status, fields: Vec::new(), body: body.as_ref().to_vec() }
    }

    pub fn to(target: &str) -> Self {
        Answer::of(302, "").with("location", target)
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The limits, with turns that end with the crawl.
pub fn limits() -> CrawlLimits {
    CrawlLimits { turn_millis: i64::MAX, ..CrawlLimits::default() }
}

/// A page with enough text of its own, and links.
pub fn page(title: &str, links: &[&str]) -> Answer {
    let links: String = links.iter().map(|link| format!("<a href='{link}'>more</a> ")).collect();
    Answer::html(format!(
        "<title>{title}</title><nav>{links}</nav><main><h1>{title}</h1><p>What {title} says is written here in so many words \
         that it can be answered from.</p></main>"
    ))
}

type Route = Arc<dyn Fn(&str, &HashMap<String, String>) -> Option<Answer> + Send + Sync>;

/// A request: its path, the time of the clock, its header fields.
type Asked = (String, i64, HashMap<String, String>);

/// A website.
pub struct Site {
    pub origin: String,
    pub port: u16,
    routes: Shared<HashMap<String, Answer>>,
    endless: Shared<Option<Route>>,
    /// The paths that were asked for, in order, with the time of the clock.
    pub requests: Shared<Vec<Asked>>,
    /// After how many requests the site does not answer any more.
    pub dies_after: AtomicUsize,
}

/// A value that a test changes and the site reads.
#[derive(Default)]
pub struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.0.lock())
    }
}

impl Site {
    pub async fn start(clock: &Arc<Hours>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.2:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let site = Arc::new(Site {
            origin: format!("http://127.0.0.2:{port}"),
            port,
            routes: Default::default(),
            endless: Default::default(),
            requests: Default::default(),
            dies_after: AtomicUsize::new(usize::MAX),
        });
        let (serving, clock) = (Arc::clone(&site), Arc::clone(clock));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (site, clock) = (Arc::clone(&serving), Arc::clone(&clock));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    if let Some(answer) = site.answer(&String::from_utf8_lossy(&head), clock.now().millis()) {
                        // The crawler may hang up.
                        let _ = stream.write_all(&answer).await;
                    }
                });
            }
        });
        site
    }

    fn answer(&self, head: &str, at: i64) -> Option<Vec<u8>> {
        let mut lines = head.split("\r\n");
        let path = lines.next()?.split(' ').nth(1)?.to_owned();
        let fields: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let nth = self.requests.with(|all| {
            all.push((path.clone(), at, fields.clone()));
            all.len()
        });
        if nth > self.dies_after.load(Ordering::SeqCst) {
            return None;
        }
        let known = self.routes.with(|routes| routes.get(&path).cloned());
        let endless = || self.endless.with(|endless| endless.clone()).and_then(|route| route(&path, &fields));
        let mut answer = known.or_else(endless).unwrap_or_else(|| Answer::of(404, "Not found"));
        let tag = answer.fields.iter().find(|(name, _)| name == "etag").map(|(_, value)| value.clone());
        if tag.is_some() && tag.as_ref() == fields.get("if-none-match") {
            answer = Answer::of(304, "");
        }
        let mut bytes = format!(
            "HTTP/1.1 {} X\r\nconnection: close\r\ncontent-length: {}\r\n",
            answer.status,
            answer.body.len()
        );
        for (name, value) in &answer.fields {
            bytes.push_str(&format!("{name}: {value}\r\n"));
        }
        bytes.push_str("\r\n");
        Some([bytes.into_bytes(), answer.body].concat())
    }

    pub fn put(&self, path: &str, answer: Answer) {
        self.routes.with(|routes| routes.insert(path.to_owned(), answer));
    }

    pub fn remove(&self, path: &str) {
        self.routes.with(|routes| routes.remove(path));
    }

    pub fn endless(
        &self,
        route: impl Fn(&str, &HashMap<String, String>) -> Option<Answer> + Send + Sync + 'static,
    ) {
        self.endless.with(|endless| *endless = Some(Arc::new(route)));
    }

    pub fn paths(&self) -> Vec<String> {
        self.requests.with(|all| all.iter().map(|(path, ..)| path.clone()).collect())
    }

    pub fn forget_requests(&self) {
        self.requests.with(Vec::clear);
    }
}

/// Splits pages as the server does.
struct Cut;

#[async_trait]
impl PageReader for Cut {
    async fn read(&self, page: ReadPage) -> NewKnowledge {
        let cut = responders::cut(&[&page.text], responders::Format::Markdown);
        NewKnowledge {
            file_name: page.url.clone(),
            title: page.title.unwrap_or_else(|| page.url.clone()),
            url: Some(page.url),
            language: page.language,
            content_type: "text/html".to_owned(),
            sha256: Sha256Digest([0; 32]),
            characters: cut.text.chars().count() as u64,
            pages: None,
            passages: cut.passages,
            questions: Vec::new(),
        }
    }
}

struct Always(Arc<Conversations>);

impl CurrentChat for Always {
    fn chat(&self) -> Arc<Conversations> {
        Arc::clone(&self.0)
    }
}

/// A store, a clock, a site, and what reads it.
pub struct World {
    pub clock: Arc<Hours>,
    pub chat: Arc<Conversations>,
    pub site: Arc<Site>,
    pub agent: AgentId,
}

pub fn by() -> Actor {
    Actor::Operator("test".to_owned())
}

impl World {
    pub async fn new() -> Self {
        World::with(Hours::default()).await
    }

    pub async fn in_real_time() -> Self {
        World::with(Hours { is_real: true, ..Hours::default() }).await
    }

    async fn with(hours: Hours) -> Self {
        let clock = Arc::new(hours);
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), vec![]);
        let ports = Ports::new(Arc::clone(&clock) as _, Arc::new(SequentialIds::default()), keys)
            .with_timer(Arc::new(Waits(Arc::clone(&clock))));
        let service = ServiceInfo::new("https://api.example.com").expect("a URL");
        let storage = Arc::new(MemoryStorage::new());
        let platform = Arc::new(Platform::new(Arc::clone(&storage) as _, ports, service));
        let agent: AgentId = "acme".parse().expect("an id");
        let new = NewAgent { id: Some(agent.clone()), name: "Acme".parse().expect("a name") };
        platform.create_agent(&by(), new).await.expect("created");
        let chat = Arc::new(Conversations::new(platform, storage, ChatPorts::new()));
        let site = Site::start(&clock).await;
        World { clock, chat, site, agent }
    }

    pub fn crawler(&self) -> Crawler {
        self.crawler_with(limits(), true)
    }

    pub fn crawler_with(&self, limits: CrawlLimits, is_allowed: bool) -> Crawler {
        let tls =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        let parts = Parts {
            resolver: Arc::new(outbound::SystemResolver),
            dialer: Arc::new(outbound::SystemDialer),
            tls,
        };
        let allow = if is_allowed { vec!["127.0.0.2".parse().expect("an address")] } else { Vec::new() };
        let policy = Policy { allow, ports: vec![443, self.site.port], http: false };
        let outbound = Arc::new(HttpOutbound::new(policy, parts));
        let parts = CrawlerParts { outbound, reader: Arc::new(Cut), product: PRODUCT.to_owned(), limits };
        Crawler::new(parts, Arc::new(Always(Arc::clone(&self.chat))))
    }

    pub async fn add(&self, path: &str) -> JobId {
        let url = format!("{}{path}", self.site.origin);
        self.chat.add_website(&by(), &self.agent, &url, Some(24)).await.expect("added").id
    }

    /// Adds the website at the root, reads it once, and returns its id.
    pub async fn read(&self) -> JobId {
        let id = self.add("/").await;
        assert!(self.crawler().run_once().await.expect("a store"), "it is due");
        id
    }

    /// Reads everything that is due again after a day.
    pub async fn next_day(&self) {
        self.clock.pass(24 * 3_600_000);
        self.site.forget_requests();
        assert!(self.crawler().run_once().await.expect("a store"), "it is due again");
    }

    pub async fn report(&self, id: JobId) -> (Website, Vec<WebsitePage>) {
        self.chat.website(&self.agent, id).await.expect("a website")
    }

    /// What became of a path.
    pub async fn outcome(&self, id: JobId, path: &str) -> (Option<PageOutcome>, String) {
        let url = format!("{}{path}", self.site.origin);
        let (_, pages) = self.report(id).await;
        let page =
            pages.into_iter().find(|page| page.url == url).unwrap_or_else(|| panic!("{path} was not found"));
        (page.outcome, page.detail.unwrap_or_default().replace(&self.site.origin, ""))
    }

    pub async fn documents(&self) -> Vec<KnowledgeDocument> {
        self.chat.knowledge(&self.agent).await.expect("documents")
    }

    /// The paths that have documents, in order.
    pub async fn paths(&self) -> Vec<String> {
        let documents = self.documents().await;
        let path = |it: KnowledgeDocument| it.url.map(|url| url.replace(&self.site.origin, ""));
        let mut paths: Vec<String> = documents.into_iter().filter_map(path).collect();
        paths.sort();
        paths
    }
}
