//! The malware scanner port: infected files are rejected, and files that cannot be scanned are not accepted.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use contract_tests::{Backend, Form, Sandbox, on_every_backend};
use openapi_core::ports::{FileScan, FileScanner, ScanError, Verdict};

use crate::support::{blobs, nothing_is_stored, sandbox, send, upload};

on_every_backend!(
    infected_files,
    sees_every_byte,
    failing_scanners,
    content_comes_before_validation,
    a_failure_comes_last,
);

/// When a scanner fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    Begin,
    Push,
    Finish,
}

/// Reports content with `EICAR` as malware.
#[derive(Clone, Default)]
struct Scanner {
    seen: Arc<Mutex<Vec<u8>>>,
    failing: Option<Failing>,
}

impl Scanner {
    fn check(&self, point: Failing) -> Result<(), ScanError> {
        if self.failing == Some(point) { Err(ScanError("the scanner is away".into())) } else { Ok(()) }
    }
}

#[async_trait]
impl FileScanner for Scanner {
    async fn begin(&self) -> Result<Box<dyn FileScan>, ScanError> {
        self.check(Failing::Begin)?;
        self.seen.lock().expect("no panic").clear();
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl FileScan for Scanner {
    async fn push(&mut self, bytes: &Bytes) -> Result<(), ScanError> {
        self.check(Failing::Push)?;
        self.seen.lock().expect("no panic").extend_from_slice(bytes);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<Verdict, ScanError> {
        self.check(Failing::Finish)?;
        let infected = self.seen.lock().expect("no panic").windows(5).any(|five| five == b"EICAR");
        Ok(if infected { Verdict::Infected("Eicar-Signature".to_owned()) } else { Verdict::Clean })
    }
}

fn scanned(backend: Backend, scanner: &Scanner) -> (Sandbox, String) {
    let (cx, contact) = sandbox(backend);
    (cx.rebuilt(cx.ports().with_scanner(Arc::new(scanner.clone())), |_| {}), contact)
}

fn infected_files(backend: Backend) {
    let (cx, contact) = scanned(backend, &Scanner::default());
    let reply = send(&cx, &contact, &Form::of_file("a.txt", b"an EICAR file"));
    let reply = reply.fails(415, "UNSUPPORTED_FILE_TYPE");
    assert_eq!(reply.json["details"]["detected"], "text/plain");
    assert!(!reply.text.contains("Eicar-Signature"), "the name is for the log");
    nothing_is_stored(&cx, &contact);
    let _ = upload(&cx, &contact, "a.txt", b"a clean file");
}

fn sees_every_byte(backend: Backend) {
    let scanner = Scanner::default();
    let (cx, contact) = scanned(backend, &scanner);
    let content: Vec<u8> = b"GIF89a".iter().copied().chain((0..=255).cycle().take(300_000)).collect();
    let _ = upload(&cx, &contact, "a.gif", &content);
    assert!(*scanner.seen.lock().expect("no panic") == content);
}

fn failing_scanners(backend: Backend) {
    for failing in [Failing::Begin, Failing::Push, Failing::Finish] {
        let (cx, contact) = scanned(backend, &Scanner { failing: Some(failing), ..Scanner::default() });
        let reply = send(&cx, &contact, &Form::of_file("a.txt", b"text")).fails(503, "SERVICE_UNAVAILABLE");
        assert!(reply.header("retry-after").is_some(), "{failing:?}");
        nothing_is_stored(&cx, &contact);
    }
}

/// Contract 6.3: step 11 comes before step 12.
fn content_comes_before_validation(backend: Backend) {
    let (cx, contact) = scanned(backend, &Scanner::default());
    let form = Form::of_file("a.txt", b"EICAR").text("other", "1");
    let _ = send(&cx, &contact, &form).fails(415, "UNSUPPORTED_FILE_TYPE");
    assert_eq!(blobs(&cx), []);
}

/// Contract 6.3: execution is the last step.
fn a_failure_comes_last(backend: Backend) {
    for failing in [Failing::Begin, Failing::Push, Failing::Finish] {
        let (cx, contact) = scanned(backend, &Scanner { failing: Some(failing), ..Scanner::default() });
        let form = Form::of_file("a.txt", b"text").text("other", "1");
        let _ = send(&cx, &contact, &form).invalid(&[("other", "unknown")]);
        let form = Form::of_file("a.txt", b"MZ\x90\0\x03\0\0\0");
        let _ = send(&cx, &contact, &form).fails(415, "UNSUPPORTED_FILE_TYPE");
        nothing_is_stored(&cx, &contact);
    }
}
