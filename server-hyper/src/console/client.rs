//! The calling side: sends the arguments and lends its streams and files until the server sends the exit status.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use openapi_core::ports::{BlobKey, BlobStore, BlobWriter};
use parking_lot::Mutex;

use super::caller::{BackupFolder, BackupTarget, Caller, OwnProcess, Stream};
use super::frames::{Call, Frame, Handle, Hello, MAX_CHUNK, Refusal, Reply, STDERR, STDIN, STDOUT};
use crate::error::CliError;

/// The outcome of a call to a server.
#[derive(Debug)]
pub enum Outcome {
    /// The command ran, with this exit status.
    Exited(u8),
    /// The server ended while it ran a command that goes on with `--after` and this cursor.
    Lost(String),
    /// The server runs no command now.
    Refused(Refusal),
}

/// Runs a command in the server that listens on the socket; `None` when nobody listens there.
///
/// # Errors
/// When the socket belongs to another user, or the server ends while the command runs.
pub fn run(socket: &Path, hello: Hello) -> Result<Option<Outcome>, CliError> {
    let stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(CliError::new(format!(
                "cannot reach the server on this store: {}: {error}; run the command as the service's user or as root",
                socket.display()
            )));
        }
        // Nobody listens: the owner is starting, drains or has crashed.
        Err(_) => return Ok(None),
    };
    let is_probe = hello.arguments.is_empty();
    let mut lending = Lending::new(stream)?;
    match lending.lend(hello) {
        Ok(Some(outcome)) => Ok(Some(outcome)),
        // The server closed the connection before the command ran.
        Ok(None) if !lending.has_begun => Ok(None),
        Err(_) if !lending.has_begun || is_probe => Ok(None),
        Ok(None) | Err(_) if lending.resume.is_some() => Ok(lending.resume.map(Outcome::Lost)),
        Ok(None) => Err(CliError::new(
            "the server ended while it ran the command; look at what was done before you run it again",
        )),
        Err(error) => Err(CliError::new(format!("the connection to the server was lost: {error}"))),
    }
}

/// A file that is discarded unless it is completed.
enum Target {
    File(Box<dyn Write + Send>),
    Content(Box<dyn BlobWriter>),
}

struct Lending {
    from: UnixStream,
    to: Arc<Mutex<UnixStream>>,
    runtime: tokio::runtime::Runtime,
    process: OwnProcess,
    sources: HashMap<Handle, Box<dyn Read + Send>>,
    targets: HashMap<Handle, Target>,
    next: Handle,
    backup: Option<BackupFolder>,
    contents: Option<Arc<dyn BlobStore>>,
    has_begun: bool,
    /// Where the next server goes on.
    resume: Option<String>,
}

impl Lending {
    fn new(stream: UnixStream) -> io::Result<Self> {
        Ok(Lending {
            from: stream.try_clone()?,
            to: Arc::new(Mutex::new(stream)),
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?,
            process: OwnProcess,
            sources: HashMap::from([(STDIN, OwnProcess.stdin())]),
            targets: HashMap::new(),
            next: STDERR + 1,
            backup: None,
            contents: None,
            has_begun: false,
            resume: None,
        })
    }

    fn send(&self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut *self.to.lock())
    }

    /// Answers the server until it ends; `None` when it ended without an exit status.
    fn lend(&mut self, hello: Hello) -> io::Result<Option<Outcome>> {
        self.send(&Frame::Hello(hello))?;
        loop {
            let reply = match Frame::read(&mut self.from)? {
                None => return Ok(None),
                Some(Frame::Refused(refusal)) => return Ok(Some(Outcome::Refused(refusal))),
                Some(Frame::Exit(status)) => return Ok(Some(Outcome::Exited(status))),
                Some(Frame::Write(handle, bytes)) => self.write(handle, bytes).map(|()| Reply::Done),
                Some(Frame::Call(call)) => self.call(call),
                Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "an unexpected frame")),
            };
            self.has_begun = true;
            let reply = reply.unwrap_or_else(|error| Reply::failed(&error));
            match self.send(&Frame::Reply(reply)) {
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.send(&Frame::Reply(Reply::failed(&error)))?;
                }
                sent => sent?,
            }
        }
    }

    fn write(&mut self, handle: Handle, bytes: Vec<u8>) -> io::Result<()> {
        match handle {
            STDOUT => self.process.write(Stream::Output, &bytes),
            STDERR => self.process.write(Stream::Error, &bytes),
            _ => match self.targets.get_mut(&handle).ok_or_else(no_handle)? {
                Target::File(file) => file.write_all(&bytes),
                Target::Content(content) => {
                    self.runtime.block_on(content.write(Bytes::from(bytes))).map_err(io::Error::other)
                }
            },
        }
    }

    fn call(&mut self, call: Call) -> io::Result<Reply> {
        match call {
            Call::Read(handle, most) => {
                let source = self.sources.get_mut(&handle).ok_or_else(no_handle)?;
                let mut bytes = vec![0; (most as usize).min(MAX_CHUNK)];
                let count = loop {
                    match source.read(&mut bytes) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        read => break read?,
                    }
                };
                bytes.truncate(count);
                Ok(Reply::Bytes(bytes))
            }
            Call::Open(path) => {
                let source = self.process.open(Path::new(&path))?;
                let handle = self.number();
                self.sources.insert(handle, source);
                Ok(Reply::Opened(handle))
            }
            Call::Password(is_new) => Ok(Reply::Password(self.process.password(is_new)?)),
            Call::Create(path) => {
                let file = self.process.create(Path::new(&path))?;
                Ok(self.opened(Target::File(file)))
            }
            Call::List(path) => Ok(Reply::Folder(self.process.list(Path::new(&path))?)),
            Call::BeginBackup(path) => {
                let backup = BackupFolder::create(Path::new(&path))?;
                // The store of contents uses the threads of the runtime.
                let _entered = self.runtime.enter();
                self.contents = Some(backup.contents()?);
                self.backup = Some(backup);
                Ok(Reply::Done)
            }
            Call::CreateBackupFile(file) => {
                let file = self.backup.as_ref().ok_or_else(no_handle)?.create(file)?;
                Ok(self.opened(Target::File(file)))
            }
            Call::CreateBackupContent(key) => self.create_content(&key),
            Call::FinishBackup => {
                self.contents = None;
                Box::new(self.backup.take().ok_or_else(no_handle)?).finish()?;
                Ok(Reply::Done)
            }
            Call::DropBackup => {
                (self.contents, self.backup) = (None, None);
                Ok(Reply::Done)
            }
            Call::Finish(handle) => {
                match self.targets.remove(&handle).ok_or_else(no_handle)? {
                    Target::File(mut file) => file.flush()?,
                    Target::Content(content) => {
                        self.runtime.block_on(content.finish()).map_err(io::Error::other)?;
                    }
                }
                Ok(Reply::Done)
            }
            Call::Close(handle) => {
                self.sources.remove(&handle);
                self.targets.remove(&handle);
                Ok(Reply::Done)
            }
            Call::PrintResumable { line, cursor } => self.print_resumable(&line, cursor),
            Call::CatchInterrupts => {
                let to = Arc::clone(&self.to);
                // Registered before the reply, so that no interrupt is lost.
                let mut signal = self.runtime.block_on(async {
                    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
                })?;
                self.runtime.spawn(async move {
                    if signal.recv().await.is_some() {
                        let _ = Frame::Interrupt.write(&mut *to.lock());
                    }
                });
                Ok(Reply::Done)
            }
        }
    }

    fn print_resumable(&mut self, line: &str, cursor: String) -> io::Result<Reply> {
        self.process.write(Stream::Output, line.as_bytes())?;
        self.resume = Some(cursor);
        Ok(Reply::Done)
    }

    fn create_content(&mut self, key: &str) -> io::Result<Reply> {
        let key: BlobKey = key.parse().map_err(io::Error::other)?;
        let contents = self.contents.as_ref().ok_or_else(no_handle)?;
        let content = self.runtime.block_on(contents.create(&key)).map_err(io::Error::other)?;
        Ok(self.opened(Target::Content(content)))
    }

    fn number(&mut self) -> Handle {
        self.next += 1;
        self.next
    }

    fn opened(&mut self, target: Target) -> Reply {
        let handle = self.number();
        self.targets.insert(handle, target);
        Reply::Opened(handle)
    }
}

fn no_handle() -> io::Error {
    io::Error::other("the server named a stream that is not open")
}
