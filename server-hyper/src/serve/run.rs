//! `serve`: from the settings to the orderly end.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use openapi_core::platform::Platform;
use openapi_core::widget::{WidgetApi, WidgetSettings};
use tokio::net::TcpListener;

use super::api::ApiHandler;
use super::connection::Protocols;
use super::connection_limit::ConnectionLimiter;
use super::docs::Docs;
use super::drain::Drain;
use super::key_rotation::KeyRotation;
use super::listener;
use super::ops::{self, Ops};
use super::responses::ServerResponses;
use super::service::ListenerContext;
use super::tls::Tls;
use super::widget::WidgetHost;
use crate::assemble::{self, Decisions, StoreUrl, Stores};
use crate::config::Config;
use crate::config::typed::{Names, Serving};
use crate::config::widget::WidgetServing;
use crate::error::CliError;
use crate::logging::LogWriter;
use crate::metrics::Metrics;
use crate::ports::{SystemClock, SystemRandom, monotonic};
use crate::signals::Signals;

/// Open files that are not connections: the store, the log, the listeners.
const OTHER_FILES: usize = 64;

/// How often, and for how long together, it is looked whether all answers have ended.
const LAST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOKS: u32 = 100;

/// Serves until a signal ends it. `started` is called once everything listens, with the platform, {origin}
/// and the origin of the widget's listener, where there is one.
///
/// # Errors
/// When something does not start, or a second signal cuts the end short.
pub async fn run(
    config: &Config,
    sink: &LogWriter,
    started: impl AsyncFnOnce(&Platform, &str, Option<&str>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let serving = Serving::of(config)?;
    let names = Names::of(config)?;
    let store = StoreUrl::parse(config.store())?.with_contact_cache(serving.contact_cache);
    let blobs = assemble::blobs_url(config, &store)?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let mut signals = Signals::listen()?;
    let tls = match &serving.tls {
        Some((certificate, key)) => Some(Arc::new(Tls::load(certificate, key, serving.http2)?)),
        None => None,
    };
    let listening = bind("listen", serving.listen)?;
    let widget_listening = serving.widget.listen.map(|address| bind("widget-listen", address)).transpose()?;
    let ops_listening = serving.ops_listen.map(|address| bind("ops-listen", address)).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = format!("{scheme}://{}", listening.local_addr()?);

    let stores = Stores { storage: assemble::open(&store).await?, blobs: assemble::open_contents(&blobs)? };
    // Nothing is lost yet when the contents cannot be reached: uploads and downloads are answered 503 meanwhile.
    if let Err(error) = stores.blobs.probe().await {
        tracing::error!(%error, source = ?error.source, "the store of file contents cannot be reached");
    }
    let storage = Arc::clone(&stores.storage);
    let brand = names.brand(&address);
    let keys = store.key_source(config);
    let settings = serving.api_settings(brand.clone());
    let secure = settings.strict_transport_security;
    let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION"), sink.dropped_lines()));
    let decisions = Decisions {
        files: serving.files.clone(),
        extraction: serving.extraction.clone(),
        extractor: metrics.documents.measure(assemble::extractor(&serving.engine)?),
        responders: assemble::responders(&serving.widget.endpoints)?,
        retriever: Some(assemble::retriever(Arc::clone(&storage), serving.widget.knowledge_cache_bytes)),
        ..Decisions::default()
    };
    let widget_origin = match (&names.widget_public_url, &widget_listening) {
        (Some(origin), _) => Some(origin.clone()),
        (None, Some(listening)) => Some(format!("{scheme}://{}", listening.local_addr()?)),
        (None, None) => None,
    };
    let widget_origin = widget_origin.filter(|_| widget_listening.is_some());
    let widget_settings = widget_settings(&serving.widget, widget_origin.clone());
    let platforms = Arc::new(KeyRotation::new(stores, decisions, keys, settings, widget_settings)?);
    let widget_api = Arc::new(ArcSwap::from_pointee(platforms.widget_api()));
    let web = ApiHandler::new(platforms.api(), Docs::new(secure));
    let exchange = web.exchange();
    let site = Arc::new(ListenerContext {
        handler: web,
        metrics: Arc::clone(&metrics),
        timeouts: serving.timeouts,
        proxies: serving.proxies.clone(),
        responses: ServerResponses::new(Arc::new(SystemClock), Arc::new(SystemRandom), secure),
    });
    let drain = Arc::new(Drain::default());
    let limiter = Arc::new(ConnectionLimiter::new(
        within_file_limit(serving.max_connections),
        serving.max_connections_per_address,
        serving.proxies.clone(),
    ));
    let protocols = Arc::new(Protocols { tls: tls.clone(), http2: serving.http2 });
    let accepting_widget = match widget_listening {
        Some(widget_listening) => {
            let files = widget::Widget::new(brand.service_name())
                .map_err(|error| CliError::usage(error.to_string()))?;
            let site = Arc::new(ListenerContext {
                handler: WidgetHost::new(Arc::clone(&widget_api), files, serving.timeouts.of_upload()),
                metrics: Arc::clone(&metrics),
                timeouts: serving.timeouts.of_widget(),
                proxies: serving.proxies.clone(),
                responses: ServerResponses::new(Arc::new(SystemClock), Arc::new(SystemRandom), secure),
            });
            let (protocols, limiter, drain) =
                (Arc::clone(&protocols), Arc::clone(&limiter), Arc::clone(&drain));
            Some(tokio::spawn(listener::serve(widget_listening, site, protocols, limiter, drain)))
        }
        None => None,
    };
    let accepting = tokio::spawn(listener::serve(listening, site, protocols, limiter, Arc::clone(&drain)));
    announce("open-api", &address)?;
    if let Some(origin) = &widget_origin {
        announce("widget", origin)?;
    }
    if let Some(ops_listening) = ops_listening {
        let address = ops_listening.local_addr()?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "the operator's listener can be reached from other machines; it needs no credentials");
        }
        let ops = Arc::new(Ops { metrics, storage, drain: Arc::clone(&drain) });
        tokio::spawn(ops::serve(ops_listening, ops));
        announce("ops", &format!("http://{address}"))?;
    }
    let (maintained, following) = (Arc::clone(&platforms), Arc::clone(&platforms));
    let maintenance = tokio::spawn(async move { maintained.maintain().await });
    let widget_exchange = Arc::clone(&widget_api);
    let keys = tokio::spawn(async move { following.watch_keys(&exchange, &widget_exchange).await });
    started(&platforms.current(), brand.public_url(), widget_origin.as_deref()).await?;

    signals.end(|| reload(tls.as_deref())).await;
    drain.begin();
    tracing::info!("draining: no new connections, running requests may end");
    let draining_since = monotonic();
    let orderly = async {
        let cut = drain.ended(serving.drain).await;
        if cut > 0 {
            tracing::warn!(connections = cut, "the time to drain is over; the connections are cut");
        }
        let _ = accepting.await;
        if let Some(accepting) = accepting_widget {
            let _ = accepting.await;
        }
        end_answers(&widget_api.load(), draining_since + serving.drain).await;
        maintenance.abort();
        keys.abort();
        if let Err(error) = platforms.current().drain().await {
            tracing::error!(%error, "the leases of the rate limits could not be given back; they count as used");
        }
    };
    tokio::select! {
        () = orderly => {
            tracing::info!("ended");
            Ok(())
        }
        () = signals.end(|| ()) => Err(CliError::new("a second signal: ended at once, without waiting for running requests")),
    }
}

/// What the widget's side is told of the settings.
fn widget_settings(serving: &WidgetServing, own_origin: Option<String>) -> WidgetSettings {
    let mut settings = WidgetSettings::default();
    settings.own_origin = own_origin;
    settings.texts = Arc::new(super::texts::of_locale);
    settings.limits = serving.limits.clone();
    settings.deadlines = serving.deadlines;
    settings.credits_per_thousand_tokens = serving.credits_per_thousand_tokens;
    settings
}

/// Waits for the answers that still run until the time to drain is over, and ends the others: what they have written is
/// stored, and their turns can be repeated.
async fn end_answers(widget: &WidgetApi, until: Instant) {
    while widget.running_turns() > 0 && monotonic() < until {
        tokio::time::sleep(LAST_LOOK).await;
    }
    widget.cancel_all();
    for _ in 0..LAST_LOOKS {
        if widget.running_turns() == 0 {
            return;
        }
        tokio::time::sleep(LAST_LOOK).await;
    }
    tracing::warn!(
        answers = widget.running_turns(),
        "answers could not be ended in order; their turns can be repeated"
    );
}

fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener, CliError> {
    listener::bind(address).map_err(|error| {
        CliError::new(format!("cannot listen on {address}: {error}; choose another address with --{flag}"))
    })
}

/// One line for each listener, once it accepts connections.
fn announce(name: &str, address: &str) -> Result<(), CliError> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "listening {name} {address}")?;
    output.flush()?;
    Ok(())
}

/// SIGHUP: certificate and key are read again.
fn reload(tls: Option<&Tls>) {
    let Some(tls) = tls else { return };
    match tls.reload() {
        Ok(()) => tracing::info!("the certificate was read again"),
        Err(error) => tracing::error!(%error, "the former certificate stays in use"),
    }
}

/// Raises the limit of open files as far as the system lets, and returns how many connections fit in it.
fn within_file_limit(wanted: usize) -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Whatever comes of it is read back.
        let _ = setrlimit(Resource::Nofile, limit);
        if let Some(files) = getrlimit(Resource::Nofile).current {
            let room = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(OTHER_FILES).max(1);
            if room < wanted {
                tracing::warn!(
                    wanted,
                    possible = room,
                    "the system's limit of open files allows fewer connections than max_connections; raise it (ulimit -n)"
                );
                return room;
            }
        }
    }
    wanted
}
