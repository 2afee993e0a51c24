//! The tasks that accept connections: one for each address, within the limits of its pool.

use std::sync::Arc;

use ::console::Console;
use arc_swap::ArcSwap;
use conversations::widget::WidgetApi;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use widget::Widget;

use super::api::ApiHandler;
use super::connection::Protocols;
use super::connection_limit::{ConnectionLimiter, MAX_CLOSING, PoolLimits};
use super::console::{ConsoleHost, ConsoleListeners};
use super::drain::Drain;
use super::listener;
use super::responses::ServerResponses;
use super::service::{Handler, ListenerContext};
use super::tls::Tls;
use super::widget::WidgetHost;
use crate::config::timeouts::Timeouts;
use crate::config::typed::Serving;
use crate::error::CliError;
use crate::metrics::Metrics;
use crate::ports::{SystemClock, SystemRandom};

/// Open files that are not connections in a pool: the store, the log, the listeners; and for each listener connections
/// that are being refused or closed.
const OTHER_FILES: usize = 64 + CONSOLE_CONNECTIONS + 4 * (MAX_CLOSING + listener::MAX_REJECTIONS);

/// Connections of operators: at each of the console's two addresses, and of one browser. All of the 256 live streams
/// that the console sends at most leave 128 at each address.
const CONSOLE_CONNECTIONS: usize = 768;
const BROWSER_CONNECTIONS: usize = 64;

/// The part of the API's pool that is reserved for networks with a valid key, and of the console's for those with a
/// session.
const RESERVED_PART: usize = 10;

/// Concurrent requests of a client's HTTP/2 connection to the API, to the widget, and to the console.
const STREAMS: u32 = 100;
const WIDGET_STREAMS: u32 = 16;
/// A page of the dashboard sends a few requests at once, and holds one live stream.
const CONSOLE_STREAMS: u32 = 32;

/// What the listeners have in common.
pub struct Accepting<'s> {
    serving: &'s Serving,
    metrics: &'s Arc<Metrics>,
    drain: &'s Arc<Drain>,
    protocols: Arc<Protocols>,
    pools: Pools,
}

/// What differs between listeners.
struct Rules {
    pool: PoolLimits,
    timeouts: Timeouts,
    streams: u32,
}

impl<'s> Accepting<'s> {
    /// Listeners with these settings, whose connections a drain waits for.
    #[must_use]
    pub fn new(
        serving: &'s Serving,
        metrics: &'s Arc<Metrics>,
        drain: &'s Arc<Drain>,
        tls: Option<Arc<Tls>>,
    ) -> Self {
        let (http2, max_head_bytes) = (serving.http2, serving.max_head_bytes());
        let protocols = Arc::new(Protocols { tls, http2, max_head_bytes });
        Accepting { serving, metrics, drain, protocols, pools: pools(serving) }
    }

    /// Starts the API's task.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn api(&self, listening: TcpListener, api: ApiHandler) -> Result<JoinHandle<()>, CliError> {
        let rules = Rules { pool: self.pools.api, timeouts: self.serving.timeouts, streams: STREAMS };
        self.spawn("open-api", listening, api, rules)
    }

    /// Starts the widget's task.
    ///
    /// # Errors
    /// The listener has no address, or the name of the service is none of a script.
    pub fn widget(
        &self,
        listening: TcpListener,
        api: &Arc<ArcSwap<WidgetApi>>,
        service_name: &str,
    ) -> Result<JoinHandle<()>, CliError> {
        let files = Widget::new(service_name).map_err(|error| CliError::usage(error.to_string()))?;
        let timeouts = self.serving.timeouts;
        let host = WidgetHost::new(Arc::clone(api), files, timeouts.of_upload());
        let rules =
            Rules { pool: self.pools.widget, timeouts: timeouts.of_widget(), streams: WIDGET_STREAMS };
        self.spawn("widget", listening, host, rules)
    }

    /// Starts the tasks of the console.
    ///
    /// # Errors
    /// A listener has no address.
    pub fn console(
        &self,
        listeners: ConsoleListeners,
        console: &Arc<ArcSwap<Console>>,
    ) -> Result<Vec<JoinHandle<()>>, CliError> {
        let timeouts = self.serving.timeouts;
        let host = ConsoleHost::new(Arc::clone(console), self.metrics.console.clone(), timeouts.of_upload());
        let total = CONSOLE_CONNECTIONS / 2;
        let pool = PoolLimits { total, reserved: total / RESERVED_PART, per_address: BROWSER_CONNECTIONS };
        let serve = |socket| {
            self.spawn(
                "console",
                socket,
                host.clone(),
                Rules { pool, timeouts: timeouts.of_console(), streams: CONSOLE_STREAMS },
            )
        };
        listeners.sockets.into_iter().map(serve).collect()
    }

    /// Starts a task that accepts connections and serves them with this handler.
    fn spawn<H: Handler>(
        &self,
        name: &'static str,
        listening: TcpListener,
        handler: H,
        rules: Rules,
    ) -> Result<JoinHandle<()>, CliError> {
        let proxies = self.serving.proxies.clone();
        let is_secure = self.protocols.tls.is_some();
        let is_local = listening.local_addr()?.ip().is_loopback();
        let context = Arc::new(ListenerContext {
            name,
            handler,
            metrics: Arc::clone(self.metrics),
            timeouts: rules.timeouts,
            responses: ServerResponses::new(Arc::new(SystemClock), Arc::new(SystemRandom)),
            is_secure,
            is_for_proxies_only: !is_secure && !is_local && !proxies.is_empty(),
            streams: rules.streams,
            proxies: proxies.clone(),
        });
        let limiter = Arc::new(ConnectionLimiter::new(rules.pool, proxies));
        let (protocols, drain) = (Arc::clone(&self.protocols), Arc::clone(self.drain));
        Ok(tokio::spawn(listener::serve(listening, context, protocols, limiter, drain)))
    }
}

/// The limits of the connections of the API and of the widget.
struct Pools {
    api: PoolLimits,
    widget: PoolLimits,
}

/// The limits of both pools, within the system's limit of open files.
fn pools(serving: &Serving) -> Pools {
    let (api, widget) = (serving.connections, serving.widget_connections);
    let wanted = [api.total, serving.widget.listen.map_or(0, |_| widget.total)];
    let [total, widget_total] = within_file_limit(wanted);
    let reserved = total / RESERVED_PART;
    Pools {
        api: PoolLimits { total, reserved, per_address: api.per_address },
        widget: PoolLimits { total: widget_total, reserved: 0, per_address: widget.per_address },
    }
}

/// Raises the limit of open files as far as the system permits, and returns the numbers of connections that fit.
fn within_file_limit(wanted: [usize; 2]) -> [usize; 2] {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // The resulting limit is read back.
        let _ = setrlimit(Resource::Nofile, limit);
        if let Some(files) = getrlimit(Resource::Nofile).current {
            let room = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(OTHER_FILES);
            let possible = shared_out(room, wanted);
            if possible != wanted {
                tracing::warn!(
                    wanted = wanted.iter().sum::<usize>(),
                    possible = possible.iter().sum::<usize>(),
                    "the system's limit of open files allows fewer connections than max_connections and \
                     widget_max_connections; raise it (ulimit -n)"
                );
            }
            return possible;
        }
    }
    wanted
}

/// Shares out room for connections in proportion to what is wanted, at least one to each that wants any.
fn shared_out(room: usize, wanted: [usize; 2]) -> [usize; 2] {
    let all = wanted[0].saturating_add(wanted[1]);
    if all <= room {
        return wanted;
    }
    wanted.map(|one| {
        let part = (room as u128 * one as u128 / all as u128) as usize;
        part.max(one.min(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_out_in_proportion() {
        assert_eq!(shared_out(20_000, [10_000, 8_000]), [10_000, 8_000]);
        assert_eq!(shared_out(9_000, [10_000, 8_000]), [5_000, 4_000]);
        assert_eq!(shared_out(9_000, [10_000, 0]), [9_000, 0]);
        assert_eq!(shared_out(0, [10_000, 8_000]), [1, 1]);
    }
}
