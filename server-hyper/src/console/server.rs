//! The serving side: accepts callers and runs their commands, each on a thread of its own.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobStore, BlobWriter};
use parking_lot::Mutex;
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::caller::{BackupFile, BackupTarget, Caller, CallerFacts, FolderEntry, Stream, Waiting, os_user};
use super::frames::{Call, Frame, Handle, MAX_CHUNK, PROGRAM, Refusal, Reply, STDERR, STDIN, STDOUT};
use crate::error::CliError;
use crate::ports::monotonic;
use crate::write_only::WriteOnly;

/// Maximum number of concurrent commands.
const MAX_SESSIONS: usize = 16;

/// Timeout of a caller's first frame.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Polling interval of a draining server.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);

/// Runs one command for a caller and returns its exit status. It is called on the command's thread.
pub type RunCommand = dyn Fn(Vec<OsString>, Arc<Session>) -> u8 + Send + Sync;

/// A server's console.
pub struct Console {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
    socket: PathBuf,
}

struct Shared {
    run: Box<RunCommand>,
    draining: AtomicBool,
    sessions: Mutex<Vec<Arc<Session>>>,
}

/// Whether a process of user `peer` may run commands in a process of user `own`.
fn is_permitted(peer: u32, own: u32) -> bool {
    peer == own || peer == 0
}

impl Console {
    /// Listens on the socket. The process owns the database, so an existing socket is left from a crash.
    ///
    /// # Errors
    /// When the socket cannot be created.
    pub fn listen(socket: PathBuf, run: Box<RunCommand>) -> Result<Self, CliError> {
        let failed = |error: io::Error| {
            CliError::new(format!("cannot create the socket {} for commands: {error}", socket.display()))
        };
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o600)).map_err(failed)?;
        let shared = Arc::new(Shared { run, draining: AtomicBool::new(false), sessions: Mutex::default() });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Console { shared, accepting, socket })
    }

    /// Refuses new commands, and ends those that run until they are interrupted.
    pub fn begin_drain(&self) {
        self.shared.draining.store(true, Ordering::SeqCst);
        for session in self.shared.sessions.lock().iter() {
            if session.is_endless.load(Ordering::SeqCst) {
                session.cancel();
            }
        }
    }

    /// Waits for the running commands until `deadline`, and cancels the others.
    pub async fn drain(&self, deadline: Instant) {
        self.begin_drain();
        let running = || self.shared.sessions.lock().len();
        while running() > 0 && monotonic() < deadline {
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
        let cancelled = self.shared.sessions.lock().clone();
        if !cancelled.is_empty() {
            tracing::warn!(commands = cancelled.len(), "drain timeout: running commands are cancelled");
        }
        cancelled.iter().for_each(|session| session.cancel());
        for _ in 0..100 {
            if running() == 0 {
                break;
            }
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.accepting.abort();
        let _ = std::fs::remove_file(&self.socket);
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a command");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let peer = match stream.peer_cred() {
            Ok(peer) => peer.uid(),
            Err(error) => {
                tracing::warn!(%error, "cannot identify the caller of a command");
                continue;
            }
        };
        if !is_permitted(peer, rustix::process::geteuid().as_raw()) {
            tracing::warn!(uid = peer, "refused a command of another user");
            continue;
        }
        let stream = stream.into_std().and_then(|stream| stream.set_nonblocking(false).map(|()| stream));
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(&shared);
        let spawned = std::thread::Builder::new().name("console".to_owned()).spawn(move || {
            if let Err(error) = serve(&stream, &shared, peer) {
                tracing::debug!(%error, "the connection of a command was lost");
            }
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "cannot start a thread for a command");
        }
    }
}

/// Serves one connection.
fn serve(stream: &UnixStream, shared: &Arc<Shared>, peer: u32) -> io::Result<()> {
    stream.set_read_timeout(Some(HELLO_TIMEOUT))?;
    let Some(Frame::Hello(hello)) = Frame::read(&mut &*stream)? else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the caller sent no frame"));
    };
    stream.set_read_timeout(None)?;
    if shared.draining.load(Ordering::SeqCst) {
        return Frame::Refused(Refusal::Draining).write(&mut &*stream);
    }
    if hello.arguments.is_empty() {
        return Frame::Exit(0).write(&mut &*stream);
    }
    if hello.program != PROGRAM {
        return Frame::Refused(Refusal::Program(PROGRAM.to_owned())).write(&mut &*stream);
    }
    let (replies, answered) = mpsc::sync_channel(1);
    let session = Arc::new(Session {
        to: Mutex::new(Exchange { stream: stream.try_clone()?, answered }),
        connection: stream.try_clone()?,
        facts: CallerFacts { os_user: Some(os_user(peer)), ..hello.caller },
        interrupted: Arc::new(Notify::new()),
        gone: Notify::new(),
        has_gone: AtomicBool::new(false),
        is_endless: AtomicBool::new(false),
    });
    {
        let mut sessions = shared.sessions.lock();
        if sessions.len() >= MAX_SESSIONS {
            return Frame::Refused(Refusal::Busy).write(&mut &*stream);
        }
        sessions.push(Arc::clone(&session));
    }
    let listening = {
        let (session, mut stream) = (Arc::clone(&session), stream.try_clone()?);
        std::thread::Builder::new().name("console-reader".to_owned()).spawn(move || {
            session.listen(&mut stream, &replies);
            drop(replies);
            session.has_gone.store(true, Ordering::SeqCst);
            session.gone.notify_one();
        })
    };
    let status = match &listening {
        Ok(_) => {
            let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (shared.run)(hello.arguments, Arc::clone(&session))
            }));
            // The exit status of a panic.
            ran.unwrap_or(101)
        }
        Err(_) => 1,
    };
    shared.sessions.lock().retain(|other| !Arc::ptr_eq(other, &session));
    let sent = Frame::Exit(status).write(&mut &*stream);
    let _ = stream.shutdown(std::net::Shutdown::Both);
    if let Ok(listening) = listening {
        let _ = listening.join();
    }
    sent
}

/// A connected caller.
pub struct Session {
    to: Mutex<Exchange>,
    connection: UnixStream,
    facts: CallerFacts,
    interrupted: Arc<Notify>,
    gone: Notify,
    has_gone: AtomicBool,
    is_endless: AtomicBool,
}

/// One call at a time.
struct Exchange {
    stream: UnixStream,
    answered: mpsc::Receiver<Reply>,
}

impl Session {
    /// Facts about the caller.
    #[must_use]
    pub fn facts(&self) -> &CallerFacts {
        &self.facts
    }

    /// Completes when the caller disconnects.
    pub async fn gone(&self) {
        if !self.has_gone.load(Ordering::SeqCst) {
            self.gone.notified().await;
        }
    }

    fn cancel(&self) {
        let _ = self.connection.shutdown(std::net::Shutdown::Both);
    }

    /// Reads from the caller until it disconnects or breaks the protocol: one reply for each call, and interrupts.
    fn listen(&self, stream: &mut UnixStream, replies: &mpsc::SyncSender<Reply>) {
        loop {
            match Frame::read(stream) {
                Ok(Some(Frame::Interrupt)) => self.interrupted.notify_one(),
                Ok(Some(Frame::Reply(reply))) => {
                    if replies.try_send(reply).is_err() {
                        return self.cancel();
                    }
                }
                Ok(None) => return,
                Ok(Some(_)) | Err(_) => return self.cancel(),
            }
        }
    }

    fn ask(&self, frame: &Frame) -> io::Result<Reply> {
        let mut exchange = self.to.lock();
        // An unsolicited reply would be mistaken for the reply to this call.
        if exchange.answered.try_recv().is_ok() {
            self.cancel();
        }
        frame.write(&mut exchange.stream).map_err(|_| gone())?;
        exchange.answered.recv().map_err(|_| gone())?.succeeded()
    }

    fn call(&self, call: Call) -> io::Result<Reply> {
        self.ask(&Frame::Call(call))
    }

    fn opened(&self, call: Call) -> io::Result<Handle> {
        match self.call(call)? {
            Reply::Opened(handle) => Ok(handle),
            _ => Err(unexpected()),
        }
    }

    fn write_to(&self, handle: Handle, bytes: &[u8]) -> io::Result<()> {
        bytes
            .chunks(MAX_CHUNK)
            .try_for_each(|chunk| self.ask(&Frame::Write(handle, chunk.to_vec())).map(drop))
    }
}

/// The error of a stream whose caller has disconnected.
fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the caller answered something else")
}

/// A connected caller as the caller of a command.
pub struct RemoteCaller(pub Arc<Session>);

impl Caller for RemoteCaller {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let handle = match stream {
            Stream::Output => STDOUT,
            Stream::Error => STDERR,
        };
        self.0.write_to(handle, bytes)
    }

    fn stdin(&self) -> Box<dyn Read + Send> {
        Box::new(Source { session: Arc::clone(&self.0), handle: STDIN })
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let handle = self.0.opened(Call::Open(path.as_os_str().to_owned()))?;
        Ok(Box::new(Source { session: Arc::clone(&self.0), handle }))
    }

    fn password(&self, is_new: bool) -> io::Result<String> {
        match self.0.call(Call::Password(is_new))? {
            Reply::Password(password) => Ok(password),
            _ => Err(unexpected()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        let handle = self.0.opened(Call::Create(path.as_os_str().to_owned()))?;
        Ok(Box::new(Target { session: Arc::clone(&self.0), handle, is_finished: false }))
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<FolderEntry>>> {
        match self.0.call(Call::List(path.as_os_str().to_owned()))? {
            Reply::Folder(entries) => Ok(entries),
            _ => Err(unexpected()),
        }
    }

    fn begin_backup(&self, to: &Path) -> io::Result<Box<dyn BackupTarget>> {
        self.0.call(Call::BeginBackup(to.as_os_str().to_owned()))?;
        Ok(Box::new(RemoteBackup { session: Arc::clone(&self.0), is_finished: false }))
    }

    fn run_until_interrupted(&self) {
        self.0.is_endless.store(true, Ordering::SeqCst);
    }

    fn interrupted(&self) -> Waiting {
        self.run_until_interrupted();
        let caught = self.0.call(Call::CatchInterrupts);
        let interrupted = Arc::clone(&self.0.interrupted);
        Box::pin(async move {
            caught?;
            interrupted.notified().await;
            Ok(())
        })
    }

    fn print_resumable(&self, line: &str, cursor: &str) -> io::Result<()> {
        self.0.call(Call::PrintResumable { line: line.to_owned(), cursor: cursor.to_owned() }).map(drop)
    }

    fn is_gone(&self) -> bool {
        self.0.has_gone.load(Ordering::SeqCst)
    }

    fn gone(&self) -> Waiting {
        let session = Arc::clone(&self.0);
        Box::pin(async move {
            session.gone().await;
            Ok(())
        })
    }
}

struct Source {
    session: Arc<Session>,
    handle: Handle,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(MAX_CHUNK);
        match self.session.call(Call::Read(self.handle, most as u32))? {
            Reply::Bytes(bytes) if bytes.len() <= most => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            _ => Err(unexpected()),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if self.handle != STDIN {
            let _ = self.session.call(Call::Close(self.handle));
        }
    }
}

/// A file of the caller that is being written. Flushing completes it.
struct Target {
    session: Arc<Session>,
    handle: Handle,
    is_finished: bool,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.session.write_to(self.handle, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.is_finished {
            self.is_finished = true;
            self.session.call(Call::Finish(self.handle))?;
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = self.session.call(Call::Close(self.handle));
        }
    }
}

struct RemoteBackup {
    session: Arc<Session>,
    is_finished: bool,
}

impl BackupTarget for RemoteBackup {
    fn local_database(&self) -> Option<PathBuf> {
        None
    }

    fn create(&self, file: BackupFile) -> io::Result<Box<dyn Write + Send>> {
        let handle = self.session.opened(Call::CreateBackupFile(file))?;
        Ok(Box::new(Target { session: Arc::clone(&self.session), handle, is_finished: false }))
    }

    fn contents(&self) -> io::Result<Arc<dyn BlobStore>> {
        let session = Arc::clone(&self.session);
        Ok(Arc::new(WriteOnly(move |key: &BlobKey| -> BlobResult<Box<dyn BlobWriter>> {
            let call = Call::CreateBackupContent(key.to_string());
            let handle = session.opened(call).map_err(unavailable)?;
            let target = Target { session: Arc::clone(&session), handle, is_finished: false };
            Ok(Box::new(target))
        })))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.is_finished = true;
        self.session.call(Call::FinishBackup).map(drop)
    }
}

impl Drop for RemoteBackup {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = self.session.call(Call::DropBackup);
        }
    }
}

fn unavailable(error: io::Error) -> BlobError {
    BlobError::new(BlobErrorKind::Unavailable, error)
}

#[async_trait]
impl BlobWriter for Target {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        self.session.write_to(self.handle, &bytes).map_err(unavailable)
    }

    async fn finish(mut self: Box<Self>) -> BlobResult<()> {
        self.flush().map_err(unavailable)
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
