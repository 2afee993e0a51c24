//! `serve`: starts the server, and drains it at the end.

use std::io::Write;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::console::{Console as OperatorsConsole, DocumentReader, WidgetTags};
use ::outbound::{HttpOutbound, Parts};
use arc_swap::ArcSwap;
use conversations::Conversations;
use conversations::widget::{WidgetApi, WidgetSettings};
use events::streams::EventHub;
use openapi_core::api::Api;
use openapi_core::extraction::DocumentExtractor;
use openapi_core::platform::AuditSettings;
use openapi_core::ports::{NoOutbound, Outbound};
use openapi_core::service_info::ServiceInfo;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use widget::Widget;

use super::accepting::Accepting;
use super::api::ApiHandler;
use super::console::{self as operators, ConsoleListeners, ServedWidget};
use super::crawler::Crawling;
use super::docs::Docs;
use super::drain::Drain;
use super::key_rotation::{KeyRotation, WebhookParts};
use super::listener;
use super::mailing::Mailing;
use super::ops::{self, Ops, Probe};
use super::tls::Tls;
use crate::assemble::{self, Decisions, StoreUrl, Stores};
use crate::config::Config;
use crate::config::extraction::allow_unconfined_documents;
use crate::config::layers::Origin;
use crate::config::typed::{Names, Serving};
use crate::config::widget::WidgetServing;
use crate::console::server::Console;
#[cfg(unix)]
use crate::console::server::{RemoteCaller, Session};
use crate::console::{HostedCommand, Lent, entry};
use crate::documents::{self, DocumentSandbox};
use crate::error::CliError;
use crate::knowledge::Reading;
use crate::logging::LogWriter;
use crate::metrics::{EventMetrics, JobMetrics, Metrics};
use crate::ports::monotonic;
use crate::search::{Embedders, Search};
use crate::signals::Signals;

/// Polling interval while running replies end.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of polls after running replies were cancelled.
const MAX_CANCEL_POLLS: u32 = 100;

/// Serves until a signal. Calls `started` once all listeners accept connections, with the platform, {origin} and the
/// origin of the widget's listener, if there is one.
///
/// # Errors
/// When the server cannot start, or a second signal interrupts the drain.
pub async fn run(
    config: &Config,
    sink: &LogWriter,
    run_command: HostedCommand,
    started: impl AsyncFnOnce(&Conversations, &str, Option<&str>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let serving = Serving::of(config)?;
    let names = Names::of(config)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let mut signals = Signals::listen()?;
    let listeners = Listeners::bind(&serving, config)?;
    let Some(mut lent) = open(config, &serving, &mut signals).await? else { return Ok(()) };
    // Links of commands lead to the port that the system has chosen.
    lent.console_origin = listeners.console.as_ref().map(|console| console.origin.clone());
    let documents = documents::extractor(&serving.engine).await?;
    let server =
        Server::start(serving, &names, sink, listeners, documents, &lent)?.with_console(lent, run_command);
    // Announced last, so that a command that runs next reaches the server.
    server.listening_at.iter().try_for_each(|(name, address)| announce(name, address))?;
    if let Some(console) = &server.operators
        && let Some(link) = operators::setup_link(&console.load()).await
    {
        announce_link(&link)?;
    }
    let (service_info, origin) = (&server.service_info, server.widget_origin.as_deref());
    started(&server.platforms.current(), service_info.public_url(), origin).await?;

    signals.end(|| reload(server.tls.as_deref())).await;
    tokio::select! {
        () = server.end() => {
            tracing::info!("ended");
            Ok(())
        }
        () = signals.end(|| ()) => Err(CliError::new("a second signal: ended at once, without waiting for running requests")),
    }
}

/// Waits for the store and opens it, together with the contents of files; `None` if a signal arrives first.
async fn open(config: &Config, serving: &Serving, signals: &mut Signals) -> Result<Option<Lent>, CliError> {
    let url = StoreUrl::parse(config.store())?.with_contact_cache(serving.contact_cache);
    let blobs = assemble::blobs_url(config, &url)?;
    // Whatever the settings get wrong is reported before the store is touched.
    url.key_source(config).check()?;
    let wait = entry::wait_for_store(config)?;
    let ownership = tokio::select! {
        ownership = entry::own(&url, wait, "serve") => ownership?,
        () = signals.end(|| ()) => return Ok(None),
    };
    let store = assemble::open(&url, ownership).await?;
    let blobs = assemble::open_contents(&blobs)?;
    // Start even if the contents are unreachable: until they are, uploads and downloads get 503.
    if let Err(error) = blobs.probe().await {
        tracing::error!(%error, source = ?error.source, "the store of file contents cannot be reached");
    }
    let (config, runtime) = (Arc::new(config.clone()), Handle::current());
    let embedders = if serving.widget.searches_by_meaning { Embedders::OfAll } else { Embedders::None };
    let search = Search::new(store.storage(), serving.widget.knowledge_cache_bytes, embedders);
    Ok(Some(Lent { store, blobs, config, runtime, search, console_origin: None }))
}

/// The bound listeners, before they accept connections.
struct Listeners {
    tls: Option<Arc<Tls>>,
    api: TcpListener,
    widget: Option<TcpListener>,
    ops: Option<TcpListener>,
    console: Option<ConsoleListeners>,
}

impl Listeners {
    fn bind(serving: &Serving, config: &Config) -> Result<Self, CliError> {
        let tls = match &serving.tls {
            Some((certificate, key)) => Some(Arc::new(Tls::load(certificate, key, serving.http2)?)),
            None => None,
        };
        let console = match ConsoleListeners::bind(&serving.console, tls.is_some()) {
            Ok(console) => console,
            // Nobody has asked for this address: another server of this machine may have it.
            Err(error) if config.value("console_listen").origin == Origin::Default => {
                tracing::warn!("no console: {error}; choose another address with --console-listen, or off");
                None
            }
            Err(error) => {
                return Err(CliError::new(format!("{error}; choose another address with --console-listen")));
            }
        };
        Ok(Listeners {
            console,
            tls,
            api: bind("listen", serving.listen)?,
            widget: serving.widget.listen.map(|address| bind("widget-listen", address)).transpose()?,
            ops: serving.ops_listen.map(|address| bind("ops-listen", address)).transpose()?,
        })
    }

    /// The origin of a listener by its address.
    fn origin(&self, listener: &TcpListener) -> Result<String, CliError> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", listener.local_addr()?))
    }

    /// The origin of the widget's listener: the configured one, or its own.
    fn widget_origin(&self, names: &Names) -> Result<Option<String>, CliError> {
        let Some(widget) = &self.widget else { return Ok(None) };
        names.widget_public_url.clone().map_or_else(|| self.origin(widget), Ok).map(Some)
    }
}

/// A running server.
struct Server {
    serving: Serving,
    service_info: ServiceInfo,
    widget_origin: Option<String>,
    tls: Option<Arc<Tls>>,
    platforms: Arc<KeyRotation>,
    widget_api: Arc<ArcSwap<WidgetApi>>,
    /// The operators' API.
    operators: Option<Arc<ArcSwap<OperatorsConsole>>>,
    drain: Arc<Drain>,
    event_streams: EventHub,
    console: Option<Console>,
    /// The listeners with their addresses.
    listening_at: Vec<(&'static str, String)>,
    /// The tasks that accept connections.
    accepting: Vec<JoinHandle<()>>,
    /// The task that runs queued extractions.
    jobs: JoinHandle<()>,
    /// What reads websites.
    crawling: Crawling,
    /// What sends e-mail to visitors.
    mailing: Mailing,
    /// The tasks that run until the end.
    background: Vec<JoinHandle<()>>,
    /// The task that delivers webhooks, and what stops it.
    deliveries: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Server {
    fn start(
        serving: Serving,
        names: &Names,
        sink: &LogWriter,
        listeners: Listeners,
        (extractor, sandbox): (Arc<dyn DocumentExtractor>, DocumentSandbox),
        lent: &Lent,
    ) -> Result<Self, CliError> {
        let address = listeners.origin(&listeners.api)?;
        let widget_origin = listeners.widget_origin(names)?;
        let Listeners { tls, api: listening, widget: widget_listening, ops: ops_listening, console } =
            listeners;
        let service_info = names.service_info(&address);
        let settings = serving.api_settings(service_info.clone());
        let storage = lent.store.storage();
        let event_streams = EventHub::default();
        let live = operators::live_streams(&event_streams);
        let events = EventMetrics::new(&event_streams, &live, &storage);
        let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION"), sink.dropped_lines(), Some(events)));
        let stores = Stores { storage: Arc::clone(&storage), blobs: Arc::clone(&lent.blobs) };
        let keys = lent.store.url().key_source(&lent.config);
        metrics.documents.confined(sandbox.is_enforced());
        let extractor = metrics.documents.measure(extractor);
        let decisions = decisions(&serving, extractor, event_streams.clone(), &lent.search)?;
        let widget_settings = widget_settings(&serving.widget, widget_origin.clone());
        let webhooks = webhook_parts(&serving, &metrics);
        let outbound = Arc::clone(&webhooks.outbound);
        let platforms =
            Arc::new(KeyRotation::new(stores, decisions, keys, settings, widget_settings, webhooks)?);
        let widget_api = Arc::new(ArcSwap::from_pointee(platforms.widget_api()));
        let web = ApiHandler::new(platforms.api(), serving.docs.then(Docs::new));
        let exchange = web.exchange();
        let drain = Arc::new(Drain::default());
        let accepting = Accepting::new(&serving, &metrics, &drain, tls.clone());
        let widget =
            widget_listening.map(|it| accepting.widget(it, &widget_api, service_info.service_name()));
        let mut tasks = Vec::from_iter(widget.transpose()?);
        let operators = console.as_ref().map(|console| {
            let reader = reader(&lent.config, &platforms.current());
            let widget = widget_tags(&service_info, widget_origin.clone());
            let console = console.console(&serving.console, &platforms, reader, widget, live, &outbound);
            Arc::new(ArcSwap::from_pointee(console))
        });
        let mut listening_at = vec![("open-api", address)];
        listening_at.extend(widget_origin.clone().map(|origin| ("widget", origin)));
        listening_at.extend(console.as_ref().map(|console| ("console", console.origin.clone())));
        if let Some((listeners, console)) = console.zip(operators.as_ref()) {
            tasks.extend(accepting.console(listeners, console)?);
        }
        tasks.push(accepting.api(listening, web)?);
        let (job_metrics, mail_metrics) = (metrics.jobs.clone(), metrics.mail.clone());
        if let Some(listening) = ops_listening {
            let (drain, probe) = (Arc::clone(&drain), Probe::default());
            let ops = Ops { metrics, storage, documents: sandbox, drain, probe };
            listening_at.push(("ops", serve_ops(listening, ops)?));
        }
        let anchors = crate::anchors::path_of(&lent.config, &lent.store.url().key_source(&lent.config));
        let jobs = run_jobs(&platforms);
        let background =
            background(&platforms, exchange, &widget_api, operators.as_ref(), anchors, job_metrics);
        Ok(Server {
            mailing: Mailing::start(&platforms, &serving, widget_origin.as_deref(), mail_metrics),
            deliveries: Mutex::new(Some(deliver(&platforms))),
            crawling: Crawling::start(&platforms, outbound, &service_info),
            serving,
            service_info,
            widget_origin,
            tls,
            platforms,
            widget_api,
            operators,
            drain,
            event_streams,
            console: None,
            listening_at,
            accepting: tasks,
            jobs,
            background,
        })
    }

    /// Adds a console for commands if the store is a file that this process owns. If it cannot listen, the server runs
    /// without it, and commands report why they cannot reach the server.
    #[cfg(unix)]
    fn with_console(mut self, lent: Lent, run_command: HostedCommand) -> Self {
        let Some(database) = lent.store.database().map(Path::to_owned) else { return self };
        let run = Box::new(move |arguments, session: Arc<Session>| {
            let facts = session.facts().clone();
            run_command(arguments, Arc::new(RemoteCaller(session)), facts, lent.clone())
        });
        let listening = crate::console::socket_path(&database, crate::console::runtime_folder().as_deref())
            .and_then(|socket| Console::listen(socket, run));
        match listening {
            Ok(console) => self.console = Some(console),
            Err(error) => tracing::error!(%error, "commands cannot reach this server"),
        }
        self
    }

    #[cfg(not(unix))]
    fn with_console(self, _: Lent, _: HostedCommand) -> Self {
        self
    }

    /// Drains: accepts no new connections and commands, and lets running ones end within the drain timeout.
    async fn end(&self) {
        self.drain.begin();
        self.crawling.stop();
        self.mailing.stop();
        self.event_streams.close(&**self.platforms.current().platform().storage());
        if let Some(console) = &self.console {
            console.begin_drain();
        }
        tracing::info!("draining: no new connections, running requests may end");
        let deadline = monotonic() + self.serving.drain;
        let deliveries = self.deliveries.lock().take().map(|(stop, deliveries)| {
            // The task is gone where nobody receives.
            let _ = stop.send(());
            deliveries
        });
        let cut = self.drain.ended(self.serving.drain).await;
        if cut > 0 {
            tracing::warn!(connections = cut, "the time to drain is over; the connections are cut");
        }
        while !self.accepting.iter().all(JoinHandle::is_finished) {
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
        if let Some(console) = &self.console {
            console.drain(deadline).await;
        }
        end_replies(&self.widget_api.load(), deadline).await;
        end_deliveries(deliveries, deadline).await;
        self.crawling.end(deadline).await;
        self.mailing.end(deadline).await;
        self.platforms.stop_jobs();
        while !self.jobs.is_finished() && monotonic() < deadline {
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
        self.jobs.abort();
        self.background.iter().for_each(JoinHandle::abort);
        if let Err(error) = self.platforms.current().platform().drain().await {
            tracing::error!(%error, "the leases of the rate limits could not be given back; they count as used");
        }
    }
}

/// The decisions that the server derives from its settings.
fn decisions(
    serving: &Serving,
    extractor: Arc<dyn DocumentExtractor>,
    event_streams: EventHub,
    search: &Search,
) -> Result<Decisions, CliError> {
    Ok(Decisions {
        files: serving.files.clone(),
        extraction: serving.extraction.clone(),
        mail_delay_millis: serving.mail_delay_millis,
        audit: AuditSettings { retention_days: serving.audit_retention_days, os_user: None },
        event_retention_millis: Some(serving.event_retention_millis),
        event_streams,
        extractor,
        responders: assemble::responders(&serving.widget.endpoints, &search.retriever)?,
        search: Some(search.clone()),
        ..Decisions::default()
    })
}

/// Starts maintenance, the task that watches the server keys, and the one that anchors the audit log.
fn background(
    platforms: &Arc<KeyRotation>,
    exchange: Arc<ArcSwap<Api>>,
    widget: &Arc<ArcSwap<WidgetApi>>,
    console: Option<&Arc<ArcSwap<OperatorsConsole>>>,
    anchors: Option<PathBuf>,
    job_metrics: JobMetrics,
) -> Vec<JoinHandle<()>> {
    let measured = Arc::clone(platforms);
    let anchored = Arc::clone(platforms);
    let (maintained, following) = (Arc::clone(platforms), Arc::clone(platforms));
    let widget = Arc::clone(widget);
    let console = console.cloned();
    let mut tasks = Vec::new();
    if let Some(console) = &console {
        tasks.push(tokio::spawn(operators::maintain(Arc::clone(console))));
    }
    tasks.extend([
        tokio::spawn(async move { maintained.maintain().await }),
        tokio::spawn(async move { measured.measure_jobs(&job_metrics).await }),
        tokio::spawn(async move { following.watch_keys(&exchange, &widget, console.as_deref()).await }),
        tokio::spawn(async move {
            if let Some(path) = anchors {
                anchored.anchor_audit(&path).await;
            }
        }),
    ]);
    tasks
}

/// Starts the task that runs queued extractions.
fn run_jobs(platforms: &Arc<KeyRotation>) -> JoinHandle<()> {
    let running = Arc::clone(platforms);
    tokio::spawn(async move { running.run_jobs().await })
}

/// Serves the operator's listener, and returns its address.
fn serve_ops(listening: TcpListener, ops: Ops) -> Result<String, CliError> {
    let address = listening.local_addr()?;
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "the operator's listener can be reached from other machines; it needs no credentials");
    }
    tokio::spawn(ops::serve(listening, Arc::new(ops)));
    Ok(format!("http://{address}"))
}

/// The widget's settings.
fn widget_settings(serving: &WidgetServing, own_origin: Option<String>) -> WidgetSettings {
    let mut settings = WidgetSettings::default();
    settings.own_origin = own_origin;
    settings.texts = Arc::new(super::texts::of_locale);
    settings.limits = serving.limits.clone();
    settings.deadlines = serving.deadlines;
    settings.credits_per_thousand_tokens = serving.credits_per_thousand_tokens;
    settings
}

/// Waits for running replies until the deadline and cancels the others: their text so far is stored, and their turns
/// can be repeated.
async fn end_replies(widget: &WidgetApi, until: Instant) {
    while widget.running_turns() > 0 && monotonic() < until {
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
    widget.cancel_all();
    for _ in 0..MAX_CANCEL_POLLS {
        if widget.running_turns() == 0 {
            return;
        }
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
    tracing::warn!(
        answers = widget.running_turns(),
        "answers could not be ended in order; their turns can be repeated"
    );
}

fn webhook_parts(serving: &Serving, metrics: &Metrics) -> WebhookParts {
    WebhookParts {
        outbound: metrics.outbound.around(outbound(serving)),
        settings: serving.webhooks,
        observer: Arc::new(metrics.webhooks.clone()),
    }
}

/// The client for URLs of tenants; without the certificates of the system, nothing is sent.
fn outbound(serving: &Serving) -> Arc<dyn Outbound> {
    match Parts::system() {
        Ok(parts) => Arc::new(HttpOutbound::new(serving.outbound.clone(), parts)),
        Err(error) => {
            tracing::error!(%error, "this server sends no webhooks");
            Arc::new(NoOutbound)
        }
    }
}

/// Starts the task that delivers webhooks; the sender stops it.
fn deliver(platforms: &Arc<KeyRotation>) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    let platforms = Arc::clone(platforms);
    (stop, tokio::spawn(async move { platforms.deliver(async { drop(stopped.await) }).await }))
}

/// Waits until the endpoints of webhooks are given back, until the deadline.
async fn end_deliveries(deliveries: Option<JoinHandle<()>>, until: Instant) {
    let Some(mut deliveries) = deliveries else { return };
    while !deliveries.is_finished() && monotonic() < until {
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
    if deliveries.is_finished() {
        return;
    }
    deliveries.abort();
    let _ = (&mut deliveries).await;
    tracing::warn!("webhook messages were cut; they are sent again");
}

fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener, CliError> {
    listener::bind(address).map_err(|error| {
        CliError::new(format!("cannot listen on {address}: {error}; choose another address with --{flag}"))
    })
}

/// Prints one line for a listener that accepts connections.
fn announce(name: &str, address: &str) -> Result<(), CliError> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "listening {name} {address}")?;
    output.flush()?;
    Ok(())
}

/// Prints the link by which the first owner is made.
fn announce_link(link: &str) -> Result<(), CliError> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\nOpen this link in a browser to set the console up, within an hour:\n\n  {link}\n")?;
    output.flush()?;
    Ok(())
}

/// What reads documents for the console; none where this system cannot confine it.
fn reader(config: &Config, chat: &Conversations) -> Option<Arc<dyn DocumentReader>> {
    let languages = ["eng".to_owned()];
    let allowed = allow_unconfined_documents(config).map_err(CliError::from);
    match allowed.and_then(|allow| Reading::new(&languages, allow, chat.knowledge_limits())) {
        Ok(reading) => Some(Arc::new(reading)),
        Err(error) => {
            tracing::warn!(%error, "the console cannot read documents");
            None
        }
    }
}

/// The tags of the widget for web pages; none where it is not served.
fn widget_tags(service_info: &ServiceInfo, origin: Option<String>) -> Option<Arc<dyn WidgetTags>> {
    let (origin, widget) = origin.zip(Widget::new(service_info.service_name()).ok())?;
    Some(Arc::new(ServedWidget { widget, origin }))
}

/// SIGHUP: reloads certificate and key.
fn reload(tls: Option<&Tls>) {
    let Some(tls) = tls else { return };
    match tls.reload() {
        Ok(()) => tracing::info!("the certificate was read again"),
        Err(error) => tracing::error!(%error, "the former certificate stays in use"),
    }
}
