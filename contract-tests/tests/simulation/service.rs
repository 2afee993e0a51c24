//! The service: server processes on one store, and the network between them and their clients.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use contract_tests::document::service_info;
use conversations::storage::ConversationStorage;
use conversations::widget::{WidgetApi, WidgetSettings};
use conversations::{ChatPorts, ChatResponder, Conversations};
use http::{Request, StatusCode};
use http_body::Body;
use http_body_util::Full;
use openapi_core::api::{Api, ApiBody, Settings};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{MemoryBlobs, SequentialIds};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use parking_lot::Mutex;
use serde_json::Value;

use crate::disk::{Disk, Faults};
use crate::executor::{OUTSIDE, ProcessTasks, Simulation};
use crate::responder::{Scripted, Used};

/// How often the server calls its maintenance, in milliseconds.
const MAINTENANCE: u64 = 20_000;

/// The same once nothing fails any more: days pass until the end, and nothing happens in them.
const QUIET_MAINTENANCE: u64 = 600_000;

/// One process.
pub struct Server {
    process: usize,
    pub api: Api,
    pub widget: WidgetApi,
    pub platform: Arc<Platform>,
    pub chat: Arc<Conversations>,
}

/// The processes on one store.
pub struct Service {
    pub simulation: Simulation,
    pub faults: Arc<Faults>,
    pub used: Used,
    storage: Arc<dyn ConversationStorage>,
    blobs: MemoryBlobs,
    ids: Arc<SequentialIds>,
    servers: Mutex<Vec<Option<Arc<Server>>>>,
}

impl Service {
    pub fn new(simulation: &Simulation, storage: Arc<dyn ConversationStorage>, servers: usize) -> Arc<Self> {
        let service = Arc::new(Service {
            simulation: simulation.clone(),
            faults: Arc::default(),
            used: Arc::default(),
            storage,
            blobs: MemoryBlobs::new(),
            ids: Arc::default(),
            servers: Mutex::new((0..servers).map(|_| None).collect()),
        });
        (0..servers).for_each(|process| service.restart(process));
        service
    }

    /// The number of processes, running or not.
    pub fn processes(&self) -> usize {
        self.servers.lock().len()
    }

    /// Starts a process that is not running.
    pub fn restart(&self, process: usize) {
        if self.servers.lock()[process].is_some() {
            return;
        }
        let server = Arc::new(self.build(process));
        self.servers.lock()[process] = Some(Arc::clone(&server));
        let (simulation, faults) = (self.simulation.clone(), Arc::clone(&self.faults));
        self.simulation.start(process, async move {
            loop {
                let interval = if faults.are_on() { MAINTENANCE } else { QUIET_MAINTENANCE };
                simulation.sleep(interval).await;
                // What fails is done by the next call.
                let _ = server.platform.maintain().await;
                let _ = server.chat.maintain().await;
            }
        });
    }

    /// Ends a process at whatever it does.
    pub fn crash(&self, process: usize) {
        let server = self.servers.lock()[process].take();
        self.simulation.kill(process);
        drop(server);
    }

    /// Ends a process in order.
    pub async fn end(&self, process: usize) {
        let server = self.servers.lock()[process].take();
        if let Some(server) = server {
            server.platform.drain().await.expect("everything works");
        }
        self.simulation.kill(process);
    }

    fn build(&self, process: usize) -> Server {
        let disk: Arc<Disk> = Arc::new(Disk {
            process,
            inner: Arc::clone(&self.storage),
            simulation: self.simulation.clone(),
            faults: Arc::clone(&self.faults),
        });
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
        let ports = Ports::new(self.simulation.clock(), Arc::clone(&self.ids) as _, keys)
            .with_blobs(Arc::new(self.blobs.clone()))
            .with_timer(Arc::new(self.simulation.clone()));
        let settings = Settings::new(service_info());
        let info = settings.service_info.clone();
        let platform = Arc::new(Platform::new(Arc::clone(&disk) as _, ports, info));
        let script = |name| {
            Arc::new(Scripted { name, simulation: self.simulation.clone(), used: Arc::clone(&self.used) })
        };
        let chat = ChatPorts::new()
            .with_responder(script("script") as Arc<dyn ChatResponder>)
            .with_responder(script("knowledge") as Arc<dyn ChatResponder>)
            .with_spawner(Arc::new(ProcessTasks(self.simulation.clone(), process)));
        let chat = Arc::new(Conversations::new(Arc::clone(&platform), disk as _, chat));
        Server { process, api: platform.api(settings), widget: chat.widget_api(unlimited()), platform, chat }
    }

    /// The first process that runs.
    pub fn running(&self) -> Option<Arc<Server>> {
        self.servers.lock().iter().flatten().next().cloned()
    }

    /// A process that runs, chosen at random.
    fn server(&self) -> Option<Arc<Server>> {
        let running: Vec<Arc<Server>> = self.servers.lock().iter().flatten().cloned().collect();
        match running.len() {
            0 => None,
            count => Some(Arc::clone(&running[self.simulation.below(count as u64) as usize])),
        }
    }

    /// Runs work of the operator on a server; `None` if the server crashed meanwhile, or none runs.
    pub async fn on_server<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Server>) -> F,
    ) -> Option<T> {
        let server = self.server()?;
        let process = server.process;
        let work = work(server);
        let slot = Arc::new(Slot::default());
        let of_server = OpenSlot(Arc::clone(&slot));
        self.simulation.start(process, async move {
            let done = work.await;
            of_server.0.fill(Some(done));
        });
        poll_fn(|cx| slot.poll(cx)).await
    }

    /// Sends a request to the Open API and reads the response: JSON, with the header `ETag` as the member `etag`, or a
    /// text. `None` if the connection was lost.
    pub async fn ask(&self, request: Request<Full<Bytes>>) -> Option<(StatusCode, Value)> {
        let mut stream = self.open(request, Target::Api).await?;
        let head = stream.head().await?;
        let version = stream.wire.lock().version.clone();
        let mut bytes = Vec::new();
        while let Some(frame) = stream.next().await {
            bytes.extend_from_slice(&frame?);
        }
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        let mut body: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
        if let (Some(version), Value::Object(members)) = (version, &mut body) {
            members.insert("etag".to_owned(), version.into());
        }
        Some((head, body))
    }

    /// Sends a call of the widget; `None` if the connection was lost before the head of the response.
    pub async fn call(&self, request: Request<Full<Bytes>>) -> Option<(StatusCode, Stream)> {
        let mut stream = self.open(request, Target::Widget).await?;
        Some((stream.head().await?, stream))
    }

    async fn open(&self, request: Request<Full<Bytes>>, target: Target) -> Option<Stream> {
        self.simulation.pause().await;
        let is_lost = self.faults.are_on() && self.simulation.one_in(40);
        let server = if is_lost { None } else { self.server() };
        let Some(server) = server else {
            self.simulation.sleep(1_000).await;
            return None;
        };
        // The connection breaks after so many polls of the server.
        let breaks = (self.faults.are_on() && self.simulation.one_in(12)).then(|| self.simulation.below(40));
        let wire = Arc::new(Mutex::new(Wire::default()));
        let process = server.process;
        let of_server = ServerEnd { wire: Arc::clone(&wire), breaks };
        self.simulation.start(process, async move {
            match target {
                Target::Api => of_server.serve(server.api.handle(request)).await,
                Target::Widget => of_server.serve(server.widget.handle(request)).await,
            }
        });
        Some(Stream { wire })
    }
}

enum Target {
    Api,
    Widget,
}

/// No limits of the widget, which have tests of their own.
fn unlimited() -> WidgetSettings {
    let mut settings = WidgetSettings::default();
    let limits = &mut settings.limits;
    for windows in [
        &mut limits.turns,
        &mut limits.syncs,
        &mut limits.address_sessions,
        &mut limits.address_turns,
        &mut limits.address_repeats,
        &mut limits.address_calls,
        &mut limits.agent_turns,
    ] {
        windows.clear();
    }
    settings
}

/// A connection.
#[derive(Default)]
struct Wire {
    head: Option<StatusCode>,
    /// The header `ETag`.
    version: Option<String>,
    frames: VecDeque<Bytes>,
    is_complete: bool,
    is_broken: bool,
    client: Option<Waker>,
    server: Option<Waker>,
}

impl Wire {
    fn wake(&mut self) {
        [self.client.take(), self.server.take()].into_iter().flatten().for_each(Waker::wake);
    }
}

/// The server's end of a connection. The server stops working on a request whose connection is broken.
struct ServerEnd {
    wire: Arc<Mutex<Wire>>,
    breaks: Option<u64>,
}

impl ServerEnd {
    async fn serve(mut self, handle: impl Future<Output = http::Response<ApiBody>>) {
        let mut handle = pin!(handle);
        let Some(response) = poll_fn(|cx| self.unless_broken(cx, |cx| handle.as_mut().poll(cx))).await else {
            return;
        };
        let (parts, body) = response.into_parts();
        let mut body = pin!(body);
        {
            let mut wire = self.wire.lock();
            wire.head = Some(parts.status);
            wire.version = parts.headers.get("etag").and_then(|etag| etag.to_str().ok()).map(str::to_owned);
            wire.wake();
        }
        loop {
            let frame = poll_fn(|cx| self.unless_broken(cx, |cx| body.as_mut().poll_frame(cx))).await;
            let mut wire = self.wire.lock();
            match frame {
                None | Some(Some(Err(_))) => return,
                Some(None) => {
                    wire.is_complete = true;
                    wire.wake();
                    return;
                }
                Some(Some(Ok(frame))) => {
                    wire.frames.extend(frame.into_data().ok());
                    wire.wake();
                }
            }
        }
    }

    fn unless_broken<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Option<T>> {
        if let Some(left) = &mut self.breaks {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.wire.lock().is_broken = true;
            }
        }
        {
            let mut wire = self.wire.lock();
            if wire.is_broken {
                return Poll::Ready(None);
            }
            wire.server = Some(cx.waker().clone());
        }
        poll(cx).map(Some)
    }
}

impl Drop for ServerEnd {
    fn drop(&mut self) {
        let mut wire = self.wire.lock();
        wire.is_broken |= !wire.is_complete;
        wire.wake();
    }
}

/// A response that is being read. Dropping it breaks the connection.
pub struct Stream {
    wire: Arc<Mutex<Wire>>,
}

impl Stream {
    async fn head(&mut self) -> Option<StatusCode> {
        poll_fn(|cx| {
            let mut wire = self.wire.lock();
            if let Some(head) = wire.head {
                return Poll::Ready(Some(head));
            }
            if wire.is_broken {
                return Poll::Ready(None);
            }
            wire.client = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The next bytes; `None` at the end, `Some(None)` when the connection is lost.
    pub async fn next(&mut self) -> Option<Option<Bytes>> {
        poll_fn(|cx| {
            let mut wire = self.wire.lock();
            if let Some(frame) = wire.frames.pop_front() {
                return Poll::Ready(Some(Some(frame)));
            }
            if wire.is_complete {
                return Poll::Ready(None);
            }
            if wire.is_broken {
                return Poll::Ready(Some(None));
            }
            wire.client = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut wire = self.wire.lock();
        wire.is_broken |= !wire.is_complete;
        wire.wake();
    }
}

/// The result of work that another task does.
struct Slot<T>(Mutex<(Option<Option<T>>, Option<Waker>)>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(Mutex::new((None, None)))
    }
}

impl<T> Slot<T> {
    fn fill(&self, value: Option<T>) {
        let mut slot = self.0.lock();
        if slot.0.is_none() {
            slot.0 = Some(value);
        }
        if let Some(waker) = slot.1.take() {
            waker.wake();
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.lock();
        match slot.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// A slot whose task may be killed before it fills it.
struct OpenSlot<T>(Arc<Slot<T>>);

impl<T> Drop for OpenSlot<T> {
    fn drop(&mut self) {
        self.0.fill(None);
    }
}

/// Crashes and restarts processes, and takes the store away, until `until`; then everything works again.
pub async fn chaos(service: Arc<Service>, until: i64) {
    let simulation = service.simulation.clone();
    let set = |what: &std::sync::atomic::AtomicBool, on| what.store(on, std::sync::atomic::Ordering::Relaxed);
    set(&service.faults.are_on, true);
    while simulation.now() < until {
        simulation.sleep(500 + simulation.below(8_000)).await;
        match simulation.below(3) {
            0 => {
                set(&service.faults.outage, true);
                simulation.note("outage of the store".to_owned());
                simulation.sleep(simulation.below(3_000)).await;
                set(&service.faults.outage, false);
            }
            _ => {
                let process = simulation.below(service.processes() as u64) as usize;
                service.crash(process);
                simulation.note(format!("crash of server {process}"));
                let (simulation, service) = (simulation.clone(), Arc::clone(&service));
                simulation.clone().start(OUTSIDE, async move {
                    simulation.sleep(simulation.below(5_000)).await;
                    service.restart(process);
                });
            }
        }
    }
    set(&service.faults.are_on, false);
    simulation.sleep(10_000).await;
    (0..service.processes()).for_each(|process| service.restart(process));
    simulation.note("everything works".to_owned());
}
