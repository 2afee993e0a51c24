//! The worker process: enters its sandbox, reads one document, sends the result and exits.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recognition::{Letters, Threads, Weights};

use super::frame::{self, ResourceLimits, Rest, Sandbox, Task, kind};
use crate::document::ocr::{Networks, OcrEngine, OcrError, OcrWord, Raster, Stop, WithNetworks};
use crate::document::{Document, Page, ReadError, read_with};

/// How often the worker says that it still reads an image.
const BEAT: Duration = Duration::from_secs(1);

pub(super) fn run(weights: Option<Weights>) -> ExitCode {
    // A panic message could leak text of the document into the log of the host.
    std::panic::set_hook(Box::new(|_| {}));
    match work(weights) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn work(weights: Option<Weights>) -> io::Result<()> {
    let mut pipes = Pipes { input: io::stdin(), output: io::stdout() };
    // The parent first sends the resource limits; the worker reads no byte of the document before they are in force.
    let limits: ResourceLimits = frame::parse(&pipes.expect(kind::TASK)?)?;
    let (sandbox, threads) = sandbox(limits, weights.is_some());
    pipes.send(kind::READY, &frame::json(&sandbox)?)?;
    let task: Task = frame::parse(&pipes.expect(kind::TASK)?)?;
    let document = pipes.expect(kind::DOCUMENT)?;

    let pipes = Arc::new(Mutex::new(pipes));
    let remote = task.has_ocr.then(|| Remote(Arc::clone(&pipes)));
    let networks =
        weights.zip(threads).zip(Letters::of(&task.languages)).map(|((weights, threads), letters)| {
            Networks::new(weights, threads, letters).with_going_on(beat(Arc::clone(&pipes)))
        });
    let ocr: Option<Box<dyn OcrEngine>> = match (remote, networks) {
        (Some(remote), Some(networks)) => Some(Box::new(WithNetworks::new(remote, networks))),
        (Some(remote), None) => Some(Box::new(remote)),
        (None, Some(networks)) => Some(Box::new(networks)),
        (None, None) => None,
    };
    let result = catch_unwind(AssertUnwindSafe(|| read_with(&document, &task.limits, ocr.as_deref())));
    let mut pipes = pipes.lock();
    match result.unwrap_or(Err(ReadError::DAMAGED)) {
        Ok(Document { pages, page_count, warnings, images }) => {
            for page in pages {
                pipes.send_page(&page)?;
            }
            for image in images {
                pipes.send_parts(kind::IMAGE, &[&image.page.to_le_bytes(), &image.bytes])?;
            }
            pipes.send(kind::REST, &frame::json(&Rest { page_count, warnings })?)
        }
        Err(error) => pipes.send(kind::ERROR, &frame::json(&error)?),
    }
}

/// Says at most once in each [`BEAT`] that an image is being read, for which the parent gives time.
fn beat(pipes: Arc<Mutex<Pipes>>) -> impl Fn() + Send + Sync + 'static {
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    move || {
        #[expect(clippy::disallowed_methods, reason = "the parent waits by the clock")]
        let now = Instant::now();
        let mut last = last.lock();
        if last.is_none_or(|last| now.duration_since(last) >= BEAT) {
            *last = Some(now);
            // A parent that is gone ends the worker.
            let _ = pipes.lock().send(kind::READING, &[]);
        }
    }
}

/// The sandbox, and the thread of networks, which starts in it before system calls are shut.
#[cfg(target_os = "linux")]
fn sandbox(limits: ResourceLimits, has_networks: bool) -> (Sandbox, Option<Threads>) {
    super::sandbox::worker(limits, || has_networks.then(Threads::start))
}

#[cfg(not(target_os = "linux"))]
fn sandbox(_: ResourceLimits, has_networks: bool) -> (Sandbox, Option<Threads>) {
    (Sandbox::default(), has_networks.then(Threads::start))
}

struct Pipes {
    input: io::Stdin,
    output: io::Stdout,
}

impl Pipes {
    fn expect(&mut self, kind: u8) -> io::Result<Vec<u8>> {
        let mut head = [0; 5];
        let mut input = self.input.lock();
        input.read_exact(&mut head)?;
        let (found, length) = frame::parse_head(head)?;
        if found != kind {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut payload = vec![0; length];
        input.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn send(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.send_parts(kind, &[payload])
    }

    fn send_parts(&mut self, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
        let mut output = self.output.lock();
        output.write_all(&frame::head(kind, parts.iter().map(|part| part.len()).sum())?)?;
        for part in parts {
            output.write_all(part)?;
        }
        output.flush()
    }

    fn send_page(&mut self, page: &Page) -> io::Result<()> {
        self.send(kind::PAGE, &frame::json(page)?)
    }
}

/// OCR by the parent, which starts programs; the worker cannot.
struct Remote(Arc<Mutex<Pipes>>);

impl Remote {
    fn ask(&self, kind: u8, raster: &Raster) -> io::Result<Vec<u8>> {
        let mut pipes = self.0.lock();
        let size = [raster.width.to_le_bytes(), raster.height.to_le_bytes()].concat();
        pipes.send_parts(kind, &[&size, &raster.pixels])?;
        pipes.expect(kind::ANSWER)
    }
}

impl OcrEngine for Remote {
    fn words(&self, raster: &Raster, _: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        let answer = self.ask(kind::WORDS, raster).and_then(|answer| frame::parse(&answer));
        answer.unwrap_or(Err(OcrError::Failed))
    }

    fn turn(&self, raster: &Raster, _: &Stop) -> Result<u16, OcrError> {
        let answer = self.ask(kind::TURN, raster).and_then(|answer| frame::parse(&answer));
        answer.unwrap_or(Err(OcrError::Failed))
    }
}
