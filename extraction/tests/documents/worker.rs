//! The worker: what it reads, what keeps it in, and that nothing of it stays.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use extraction::document::ocr::{OcrEngine, OcrError, OcrWord, Raster, Stop};
use extraction::document::{Limits, ReadError, Reason, Unit};
use extraction::worker::{Reader, Worker, WorkerError};

use crate::alone::alone;
use crate::files::{docx, paragraph, pdf, pdf_of, sample_image, show, stream};
use crate::read_default;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_extraction-worker");

/// Other systems have no sandbox.
fn worker() -> Worker {
    Worker::at(PROGRAM).allow_unconfined(!cfg!(target_os = "linux"))
}

fn reason(result: Result<extraction::document::Document, WorkerError>) -> ReadError {
    match result {
        Err(WorkerError::Document(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_worker_reads_what_is_read_here() {
    for document in
        [pdf(&[&show(50.0, 700.0, 10.0, "Total 12.00")]), docx(&paragraph("Total")), b"Total: 1".to_vec()]
    {
        let here = read_default(&document).expect("it is read");
        let there = worker().read(&document, Limits::default(), None).await.expect("it is read");
        assert_eq!(here, there);
        let reader =
            Reader::InProcess.read(document.into(), Limits::default(), None).await.expect("it is read");
        assert_eq!(here, reader);
    }
    assert_eq!(reason(worker().read(b"\0\0", Limits::default(), None).await), ReadError::Unsupported);
    let limits = Limits { characters: 3, ..Limits::default() };
    let too_many = ReadError::TooLarge { unit: Unit::Characters, limit: 3, actual: None };
    assert_eq!(reason(worker().read(b"four", limits, None).await), too_many);
}

/// Also without OCR: a model that reads images needs no text.
#[tokio::test]
async fn images_of_pages_without_text_are_returned_up_to_the_limit() {
    // Drawing is slow without optimisation.
    let worker = worker().with_timeout(Duration::from_secs(60));
    let scan = crate::files::scan(&["Invoice number RE-2043"]);
    let none = worker.read(&scan, Limits::default(), None).await.expect("it is read");
    assert!(none.images.is_empty(), "nobody has asked for them");
    let limits = Limits { images: 1 << 20, ..Limits::default() };
    let there = worker.read(&scan, limits, None).await.expect("it is read");
    let [image] = &there.images[..] else { panic!("{} images", there.images.len()) };
    assert_eq!((image.page, image.media_type), (1, "image/jpeg"));
    let seen = image::load_from_memory(&image.bytes).expect("it is an image");
    assert_eq!(seen.width().max(seen.height()), 1_600);
    assert_eq!(there, extraction::document::read(&scan, &limits).expect("it is read"));
    let limits = Limits { images: 100, ..Limits::default() };
    assert!(worker.read(&scan, limits, None).await.expect("it is read").images.is_empty());
    // A page with its own text is represented by that text.
    let limits = Limits { images: 1 << 20, ..Limits::default() };
    let text = worker.read(&pdf(&[&show(50.0, 700.0, 10.0, "Total 12.00")]), limits, None).await;
    assert!(text.expect("it is read").images.is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn all_that_linux_has_keeps_it_in() {
    let sandbox = worker().sandbox().await.expect("it starts");
    assert!(sandbox.is_complete(), "{sandbox}");
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_unavailable() {
    for program in ["/no/such/program", "/bin/cat", "/bin/true"] {
        let result = Worker::at(program).read(b"text", Limits::default(), None).await;
        assert!(matches!(result, Err(WorkerError::Unavailable(_))), "{program}: {result:?}");
    }
}

/// Forms that draw forms: each ten times the next.
pub fn laughs() -> Vec<u8> {
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</XObject<</X 5 0 R>>>>/Contents 4 0 R>>"
            .to_vec(),
        stream("", b"/X Do"),
    ];
    for level in 0..12 {
        let entries =
            format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {} 0 R>>>>", 6 + level);
        objects.push(stream(&entries, "/X Do ".repeat(10).as_bytes()));
    }
    objects.push(stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", b"0 0 m 1 1 l S"));
    pdf_of(&objects)
}

#[tokio::test]
async fn what_takes_too_long_is_ended() {
    let worker = worker().with_timeout(Duration::from_secs(2));
    let document = laughs();
    let read = worker.read(&document, Limits::default(), None);
    let result = tokio::time::timeout(Duration::from_secs(8), read).await.expect("it ends in time");
    assert_eq!(reason(result), ReadError::Unreadable(Reason::Time));
}

#[tokio::test]
async fn what_takes_too_much_memory_is_ended() {
    let text = "word ".repeat(1 << 20);
    let limits = Limits { characters: u64::MAX >> 1, ..Limits::default() };
    let result = worker().with_memory(96 << 20).read(text.as_bytes(), limits, None).await;
    assert_eq!(reason(result), ReadError::Unreadable(Reason::Memory));
}

#[tokio::test]
async fn bottomless_nesting_ends_the_worker_only() {
    let content = "[".repeat(2_000_000);
    let _ = worker().read(&pdf(&[&content]), Limits::default(), None).await;
    let objects = [b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), "[".repeat(1_000_000).into_bytes()];
    let result = worker().read(&pdf_of(&objects), Limits::default(), None).await;
    assert!(matches!(result, Err(WorkerError::Document(ReadError::Unreadable(_)))), "{result:?}");
}

/// Recognises nothing until it is stopped.
#[derive(Default)]
struct Endless {
    begun: AtomicBool,
    stopped: AtomicBool,
}

impl OcrEngine for Endless {
    fn words(&self, _: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError> {
        self.begun.store(true, Ordering::SeqCst);
        while !stop.is_stopped() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.stopped.store(true, Ordering::SeqCst);
        Err(OcrError::Failed)
    }

    fn turn(&self, _: &Raster, _: &Stop) -> Result<u16, OcrError> {
        Err(OcrError::Failed)
    }
}

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}

/// The children of this process, including dead ones that were not waited for.
#[cfg(target_os = "linux")]
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("there is a /proc").flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // After the name in parentheses: the state, then the parent.
        let Some((head, tail)) = stat.rsplit_once(')') else { continue };
        if tail.split_whitespace().nth(1) == Some(&own) {
            found.push(head.to_owned());
        }
    }
    found
}

#[cfg(target_os = "linux")]
#[test]
fn dropping_the_future_ends_the_worker_and_recognition() {
    alone("worker::dropping_the_future_ends_the_worker_and_recognition", async {
        let engine = Arc::new(Endless::default());
        let sample_image = sample_image(image::ImageFormat::Png);
        let task = {
            let engine: Arc<dyn OcrEngine> = Arc::<Endless>::clone(&engine);
            tokio::spawn(async move { worker().read(&sample_image, Limits::default(), Some(engine)).await })
        };
        eventually("recognition begins", || engine.begun.load(Ordering::SeqCst)).await;
        assert_eq!(children().len(), 1, "{:?}", children());
        task.abort();
        eventually("recognition stops", || engine.stopped.load(Ordering::SeqCst)).await;
        eventually("the worker is gone", || children().is_empty()).await;
    });
}

#[cfg(target_os = "linux")]
#[test]
fn no_worker_stays_whatever_it_read() {
    alone("worker::no_worker_stays_whatever_it_read", async {
        let documents = [b"text".to_vec(), b"\0".to_vec(), pdf(&["["]), laughs()];
        for document in documents {
            let _ =
                worker().with_timeout(Duration::from_secs(1)).read(&document, Limits::default(), None).await;
            assert!(children().is_empty(), "{:?}", children());
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_ends_with_its_parent_also_when_it_is_busy() {
    let mut child = Command::new(PROGRAM)
        .arg("extraction-worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("it has an input");
    let frame =
        |kind: u8, payload: &[u8]| [&[kind][..], &(payload.len() as u32).to_le_bytes()[..], payload].concat();
    input
        .write_all(&frame(b't', br#"{"memory":800000000,"cpu":60,"cpu_page":1,"pages":0}"#))
        .expect("it listens");
    let mut ready = [0; 5];
    child.stdout.as_mut().expect("it has an output").read_exact(&mut ready).expect("it answers");
    let limits = serde_json::to_value(Limits::default()).expect("it serialises");
    let task = serde_json::json!({ "limits": limits, "has_ocr": false, "languages": [] }).to_string();
    input.write_all(&frame(b't', task.as_bytes())).expect("it listens");
    input.write_all(&frame(b'd', &laughs())).expect("it listens");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("it can be asked").is_none(), "it is busy");
    // What the death of this process would do.
    drop(input);
    for _ in 0..400 {
        if child.try_wait().expect("it can be asked").is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it can be killed");
    panic!("it went on without its parent");
}
