//! The parent's side of the worker: starts it, sends the document, receives the result and always reaps it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::frame::{self, ASKED, ResourceLimits, Rest, Sandbox, Task, kind};
use crate::document::ocr::{OcrEngine, OcrError, Raster, Stop};
use crate::document::{Document, Limits, Page, PageImage, ReadError, Reason, read_with};

/// The maximum size of the output of a worker, without images.
const ALL: usize = 256 << 20;
/// Seconds of processor time for each sign of a worker that it reads an image itself, which it gives each second, and
/// for a page at most.
const CPU_READING: u64 = 2;
const CPU_READ: u64 = 30;
/// The maximum size, in pixels, of an image that a worker sends for OCR.
const PIXELS: usize = 40_000_000;

/// Where documents are read.
#[derive(Clone, Debug)]
pub enum Reader {
    /// In a worker process.
    Worker(Worker),
    /// In the host's process, on a thread for blocking work. A hostile document can take its memory, and end it by
    /// overflowing a stack: only for documents that are trusted, or for hosts that are sandboxed themselves.
    InProcess,
}

impl Reader {
    /// Reads a document. Dropping the future ends the work, except [in the host's process](Self::InProcess), where it
    /// goes on to its end.
    ///
    /// # Errors
    /// See [`WorkerError`].
    pub async fn read(
        &self,
        document: Arc<[u8]>,
        limits: Limits,
        ocr: Option<Arc<dyn OcrEngine>>,
    ) -> Result<Document, WorkerError> {
        match self {
            Self::Worker(worker) => worker.read(&document, limits, ocr).await,
            Self::InProcess => {
                let read = move || read_with(&document, &limits, ocr.as_deref());
                let result = tokio::task::spawn_blocking(read).await;
                Ok(result.unwrap_or(Err(ReadError::DAMAGED))?)
            }
        }
    }
}

/// Why a worker failed to read a document.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The document cannot be read.
    #[error(transparent)]
    Document(#[from] ReadError),
    /// No worker: its executable does not start or is not one. The text is for the operator.
    #[error("the document worker does not start: {0}")]
    Unavailable(String),
    /// The system does not enforce the worker's whole sandbox, so the worker was ended before it received the document.
    #[error("the document worker is {0}")]
    Unconfined(Sandbox),
}

/// An executable that reads one document in a process of its own.
#[derive(Clone, Debug)]
pub struct Worker {
    pub(super) program: PathBuf,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) allow_unconfined: bool,
    limits: ResourceLimits,
    timeout: Duration,
    languages: Vec<String>,
}

impl Worker {
    /// The program that runs now; its `main` calls [`run_if_asked`](super::run_if_asked).
    ///
    /// # Errors
    /// The system does not say which program this is.
    pub fn own() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        // The program itself, also when its file was replaced by a newer one.
        let program = PathBuf::from("/proc/self/exe");
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe()?;
        Ok(Self::at(program))
    }

    /// Another program whose `main` calls [`run_if_asked`](super::run_if_asked).
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            variables: Vec::new(),
            allow_unconfined: false,
            limits: ResourceLimits { memory: 768 << 20, cpu: 5, cpu_page: 3, pages: 0 },
            // Including start and exit of the process, a document without OCR takes less than ten seconds.
            timeout: Duration::from_secs(9),
            languages: Vec::new(),
        }
    }

    /// A variable of its environment, which is empty otherwise: for an allocator of the host's that reserves address
    /// space ahead, and is to reserve less than the worker may have.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Whether documents are read where the system does not enforce the whole sandbox. Default: they are not. A hostile
    /// document that takes such a worker over can do whatever the host's user can.
    #[must_use]
    pub fn allow_unconfined(mut self, allow: bool) -> Self {
        self.allow_unconfined = allow;
        self
    }

    /// Reads images in these languages, by their `tesseract` names, in the worker itself: alone without an OCR engine, and
    /// [together with one](crate::document::ocr::WithNetworks). The program has the weights
    /// ([`run_if_asked_with`](super::run_if_asked_with)). Languages that the networks do not know are not read.
    #[must_use]
    pub fn with_networks<S: AsRef<str>>(mut self, languages: &[S]) -> Self {
        self.languages = languages.iter().map(|language| language.as_ref().to_owned()).collect();
        self
    }

    /// The limit of address space in bytes. Default: 768 MiB.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.limits.memory = bytes;
        self
    }

    /// The longest silence, which without OCR is the whole time. Default: 9 s. The limit of
    /// processor time is half of it and three seconds for each page of OCR.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self.limits.cpu = timeout.as_secs().div_ceil(2).max(1);
        self
    }

    /// Starts a worker and returns the parts of the sandbox that are in force, for an operator to see.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`].
    pub async fn sandbox(&self) -> Result<Sandbox, WorkerError> {
        let (mut process, sandbox) = Process::start(self, 0).await?;
        process.end().await;
        Ok(sandbox)
    }

    /// Reads a document. Dropping the future kills the process and what it has asked for.
    ///
    /// # Errors
    /// See [`WorkerError`]. A worker that takes too long or too much ends in [`ReadError::Unreadable`].
    pub async fn read(
        &self,
        document: &[u8],
        limits: Limits,
        ocr: Option<Arc<dyn OcrEngine>>,
    ) -> Result<Document, WorkerError> {
        limits.check_bytes(document.len())?;
        let (mut process, sandbox) = Process::start(self, u64::from(limits.pages)).await?;
        if !self.permits(sandbox) {
            process.end().await;
            return Err(WorkerError::Unconfined(sandbox));
        }
        let task = Task { limits, has_ocr: ocr.is_some(), languages: self.languages.clone() };
        let result = process.read(document, &task, ocr, self).await;
        let status = process.end().await;
        Ok(result.map_err(|silence| silence.reason(status))?)
    }

    /// Seconds of processor time that a page of OCR may take.
    fn cpu_page(&self) -> u64 {
        self.limits.cpu_page + if self.languages.is_empty() { 0 } else { CPU_READ }
    }

    /// Whether a worker with this sandbox may receive a document.
    fn permits(&self, sandbox: Sandbox) -> bool {
        self.allow_unconfined || sandbox.is_complete()
    }
}

/// Why the output of a worker ended.
enum WorkerExit {
    Late,
    Ended,
    Said(ReadError),
}

impl WorkerExit {
    fn reason(self, status: Option<ExitStatus>) -> ReadError {
        match self {
            Self::Said(error) => error,
            Self::Late => ReadError::Unreadable(Reason::Time),
            Self::Ended if ran_out_of_time(status) => ReadError::Unreadable(Reason::Time),
            Self::Ended => ReadError::Unreadable(Reason::Memory),
        }
    }
}

#[cfg(unix)]
fn ran_out_of_time(status: Option<ExitStatus>) -> bool {
    use std::os::unix::process::ExitStatusExt;
    const SIGXCPU: i32 = 24;
    status.and_then(|status| status.signal()) == Some(SIGXCPU)
}

#[cfg(not(unix))]
fn ran_out_of_time(_: Option<ExitStatus>) -> bool {
    false
}

impl From<io::Error> for WorkerExit {
    fn from(_: io::Error) -> Self {
        Self::Ended
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    said: usize,
    /// Pages that may be recognised.
    pages: u64,
    /// Pages recognised so far, each of which has brought more processor time.
    recognised: u64,
    /// How often it has said that it reads an image itself, each of which has brought more as well.
    readings: u64,
}

impl Process {
    async fn start(worker: &Worker, pages: u64) -> Result<(Self, Sandbox), WorkerError> {
        let unavailable = |error: io::Error| WorkerError::Unavailable(error.to_string());
        let mut command = Command::new(&worker.program);
        command.arg(ASKED).env_clear().envs(worker.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(unavailable)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(WorkerError::Unavailable("it has no pipes".to_owned()));
        };
        let mut process = Self { child, input, output, said: 0, pages, recognised: 0, readings: 0 };
        let greet = async {
            let limits =
                frame::json(&ResourceLimits { pages, cpu_page: worker.cpu_page(), ..worker.limits })?;
            process.send(kind::TASK, &limits).await?;
            let (kind, length) = process.head().await?;
            // A program other than the worker sends something else, or nothing.
            if kind != kind::READY || length > 1000 {
                return Err(io::Error::other("the program is no worker"));
            }
            let payload = process.payload(length).await?;
            frame::parse::<Sandbox>(&payload)
        };
        match tokio::time::timeout(worker.timeout, greet).await {
            Ok(Ok(sandbox)) => Ok((process, sandbox)),
            Ok(Err(error)) => {
                process.end().await;
                Err(unavailable(error))
            }
            Err(_) => {
                process.end().await;
                Err(WorkerError::Unavailable("it does not answer".to_owned()))
            }
        }
    }

    async fn read(
        &mut self,
        document: &[u8],
        task: &Task,
        ocr: Option<Arc<dyn OcrEngine>>,
        worker: &Worker,
    ) -> Result<Document, WorkerExit> {
        let timeout = worker.timeout;
        let hand_over = async {
            self.send(kind::TASK, &frame::json(task)?).await?;
            self.send(kind::DOCUMENT, document).await
        };
        match tokio::time::timeout(timeout, hand_over).await {
            Ok(done) => done?,
            Err(_) => return Err(WorkerExit::Late),
        }
        let (mut pages, mut images): (Vec<Page>, Vec<PageImage>) = Default::default();
        loop {
            let next = async {
                let (kind, length) = self.head().await?;
                let payload = self.payload(length).await?;
                io::Result::Ok((kind, payload))
            };
            let Ok(next) = tokio::time::timeout(timeout, next).await else { return Err(WorkerExit::Late) };
            let (kind, payload) = next?;
            match kind {
                kind::PAGE => pages.push(frame::parse(&payload)?),
                kind::IMAGE => images.push(image(payload).ok_or(WorkerExit::Ended)?),
                kind::REST => {
                    let Rest { page_count, warnings } = frame::parse(&payload)?;
                    return Ok(Document { pages, page_count, warnings, images });
                }
                kind::ERROR => return Err(WorkerExit::Said(frame::parse(&payload)?)),
                kind::READING => {
                    self.readings += 1;
                    self.allow_more(worker);
                }
                kind::WORDS | kind::TURN => {
                    let engine = ocr.clone().ok_or(WorkerExit::Ended)?;
                    let answer = ask(engine, kind, payload).await?;
                    self.recognised += 1;
                    self.allow_more(worker);
                    let send = self.send(kind::ANSWER, &answer);
                    match tokio::time::timeout(timeout, send).await {
                        Ok(done) => done?,
                        Err(_) => return Err(WorkerExit::Late),
                    }
                }
                _ => return Err(WorkerExit::Ended),
            }
        }
    }

    async fn send(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.input.write_all(&frame::head(kind, payload.len())?).await?;
        self.input.write_all(payload).await?;
        self.input.flush().await
    }

    async fn head(&mut self) -> io::Result<(u8, usize)> {
        let mut head = [0; 5];
        self.output.read_exact(&mut head).await?;
        frame::parse_head(head)
    }

    async fn payload(&mut self, length: usize) -> io::Result<Vec<u8>> {
        self.said += length;
        if self.said > ALL + self.recognised as usize * PIXELS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // The buffer grows with the received bytes, not with the announced length.
        let mut payload = Vec::new();
        (&mut self.output).take(length as u64).read_to_end(&mut payload).await?;
        if payload.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(payload)
    }

    /// More processor time for the next page.
    fn allow_more(&self, worker: &Worker) {
        #[cfg(target_os = "linux")]
        if let Some(pid) =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
            let ResourceLimits { cpu, cpu_page, .. } = worker.limits;
            // What the worker has set for itself as the highest value, which stays.
            let highest = (cpu + worker.cpu_page() * self.pages)
                .min(getrlimit(Resource::Cpu).maximum.unwrap_or(u64::MAX));
            let more = cpu_page * self.recognised + CPU_READING * self.readings;
            let current = (cpu + more).min(highest);
            let _ =
                prlimit(Some(pid), Resource::Cpu, Rlimit { current: Some(current), maximum: Some(highest) });
        }
        #[cfg(not(target_os = "linux"))]
        let _ = worker;
    }

    /// Ends the process, if it has not ended, and waits for it.
    async fn end(&mut self) -> Option<ExitStatus> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(status),
            _ => {
                // A worker that has sent everything is about to exit; no others are waited for.
                let ended = tokio::time::timeout(Duration::from_millis(50), self.child.wait()).await;
                if let Ok(Ok(status)) = ended {
                    return Some(status);
                }
                let _ = self.child.start_kill();
                self.child.wait().await.ok()
            }
        }
    }
}

/// The result of OCR on the image of a frame, as the payload of the response.
async fn ask(engine: Arc<dyn OcrEngine>, kind: u8, payload: Vec<u8>) -> io::Result<Vec<u8>> {
    let raster = raster(payload).ok_or(io::ErrorKind::InvalidData)?;
    let stop = StopWhenDropped(Stop::default());
    let stopped = stop.0.clone();
    let work = move || {
        if kind == kind::WORDS {
            frame::json(&engine.words(&raster, &stopped))
        } else {
            frame::json(&engine.turn(&raster, &stopped))
        }
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(_) => frame::json(&Result::<(), _>::Err(OcrError::Failed)),
    }
}

/// Cancels OCR when its caller is gone.
struct StopWhenDropped(Stop);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The image of a frame: the number of its page, and a JPEG.
fn image(mut payload: Vec<u8>) -> Option<PageImage> {
    let page = u32::from_le_bytes(payload.get(..4)?.try_into().ok()?);
    payload.drain(..4);
    Some(PageImage { page, media_type: "image/jpeg", bytes: payload })
}

fn raster(mut payload: Vec<u8>) -> Option<Raster> {
    let size = payload.get(..8)?;
    let width = u32::from_le_bytes(size[..4].try_into().ok()?);
    let height = u32::from_le_bytes(size[4..].try_into().ok()?);
    let pixels = (width as usize).checked_mul(height as usize)?;
    if pixels == 0 || pixels > PIXELS || payload.len() - 8 != pixels {
        return None;
    }
    payload.drain(..8);
    Some(Raster { width, height, dpi: 300.0, pixels: payload })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What a worker sends as an image has as many pixels as its sides say, some, and not too many.
        #[test]
        fn images_of_a_worker_are_what_their_sides_say(
            width in prop_oneof![0_u32..40, any::<u32>()], height in prop_oneof![0_u32..40, any::<u32>()],
            length in 0_usize..1_600, is_right in any::<bool>(),
        ) {
            let wanted = u64::from(width) * u64::from(height);
            let length = if is_right && wanted < 1_600 { wanted as usize } else { length };
            let payload = [&width.to_le_bytes()[..], &height.to_le_bytes(), &vec![7; length]].concat();
            let is_image = raster(payload.clone()).is_some();
            prop_assert_eq!(is_image, wanted > 0 && wanted == length as u64);
            prop_assert!(raster(payload[..payload.len().min(7)].to_vec()).is_none());
        }
    }

    #[test]
    fn an_image_of_a_worker_that_is_too_large_is_none() {
        let image = |height: u32| {
            let mut payload = [8_000_u32.to_le_bytes(), height.to_le_bytes()].concat();
            payload.resize(8 + 8_000 * height as usize, 255);
            raster(payload)
        };
        assert!(image(5_000).is_some() && image(5_001).is_none());
    }

    #[test]
    fn a_worker_that_lacks_any_part_of_its_sandbox_receives_nothing() {
        let strict = Worker::at("worker");
        let lenient = strict.clone().allow_unconfined(true);
        for parts in 0..8_u8 {
            let [limits, landlock, seccomp] = [1, 2, 4].map(|part| parts & part != 0);
            let planted = format!(r#"{{"limits":{limits},"landlock":{landlock},"seccomp":{seccomp}}}"#);
            let sandbox: Sandbox = frame::parse(planted.as_bytes()).expect("a READY answer");
            assert_eq!(strict.permits(sandbox), parts == 7, "{planted}");
            assert!(lenient.permits(sandbox), "{planted}");
            assert_eq!(sandbox.missing().count(), 3 - parts.count_ones() as usize, "{sandbox}");
        }
        // An answer that leaves a part out is none.
        assert!(frame::parse::<Sandbox>(br#"{"limits":true,"landlock":true}"#).is_err());
    }
}
