//! Uploads scanned by a real `clamd`, and by one that is down, slow, or sends invalid data.

mod daemon;
mod stand_in;

use std::sync::Arc;
use std::time::Duration;

use clamd_scanner::{Address, ClamdScanner, Timeouts};
use contract_tests::sandbox::wait;
use contract_tests::{Backend, Form, Reply, Sandbox};
use openapi_core::platform::FileSettings;
use openapi_core::ports::BlobStore as _;
use tokio::runtime::Runtime;

use daemon::{Clamd, MALWARE, STREAM_MAX};
use stand_in::StandIn;

/// An agent with a contact, whose uploads are scanned.
struct Office {
    sandbox: Sandbox,
    contact: String,
    /// The runtime of the scanner's sockets.
    runtime: Runtime,
}

impl Office {
    fn with(address: Address) -> Self {
        Office::scanned_by(ClamdScanner::new(address))
    }

    /// With a scanner that times out after 200 ms.
    fn in_a_hurry(address: Address) -> Self {
        let limit = Duration::from_millis(200);
        let timeouts = Timeouts { connect: limit, take: limit, answer: limit };
        Office::scanned_by(ClamdScanner::new(address).with_timeouts(timeouts))
    }

    fn scanned_by(scanner: ClamdScanner) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let plain = Sandbox::new(Backend::Memory);
        let ports = plain.ports().with_scanner(Arc::new(scanner));
        let sandbox = plain.rebuilt(ports, |_: &mut FileSettings| {});
        let contact = sandbox.create(&object("primaryEmail", "a@b.co")).id();
        Office { sandbox, contact, runtime: runtime.expect("a runtime") }
    }

    fn upload(&self, content: &[u8]) -> Reply {
        let _entered = self.runtime.enter();
        let path = format!("/files/chatbots/<A>/{}", self.contact);
        self.sandbox.call("POST", &path).form(&Form::of_file("letter.txt", content)).send()
    }

    #[track_caller]
    fn accepts(&self, content: &[u8]) {
        let _ = self.upload(content).expect(201);
    }

    #[track_caller]
    fn refuses(&self, content: &[u8]) {
        let reply = self.upload(content).fails(415, "UNSUPPORTED_FILE_TYPE");
        assert!(!reply.text.contains("Openapi"), "the name of the malware is for the log");
        self.keeps(0);
    }

    /// 503, and neither a record nor a content is stored.
    #[track_caller]
    fn cannot_tell(&self, content: &[u8]) {
        let reply = self.upload(content).fails(503, "SERVICE_UNAVAILABLE");
        assert!(reply.header("retry-after").is_some());
        self.keeps(0);
    }

    #[track_caller]
    fn keeps(&self, files: u64) {
        let listed = self.sandbox.get(&format!("/files/chatbots/<A>/{}", self.contact)).expect(200);
        assert_eq!(listed.pagination()["totalItems"], files);
        let mut contents = wait(self.sandbox.blobs.list()).expect("a listing");
        let first = wait(std::future::poll_fn(|cx| contents.as_mut().poll_next(cx)));
        assert_eq!(first.is_some(), files > 0, "{first:?}");
    }
}

fn object(name: &str, value: &str) -> serde_json::Value {
    serde_json::Value::Object([(name.to_owned(), value.into())].into_iter().collect())
}

/// Text of this length with the malware at this position.
fn infected(length: usize, at: usize) -> Vec<u8> {
    let mut text = b"All is well. ".repeat(length / 13 + 1);
    text.truncate(length);
    text[at..at + MALWARE.len()].copy_from_slice(MALWARE);
    text
}

#[test]
fn a_real_clamd_finds_malware_at_any_position() {
    let clamd = Clamd::start();
    for address in clamd.addresses() {
        let office = Office::with(address);
        office.refuses(MALWARE);
        // Across the boundary of two chunks, and at the end of a file of many.
        for at in [0, 64 * 1024 - MALWARE.len() / 2, 600_000 - MALWARE.len()] {
            office.refuses(&infected(600_000, at));
        }
        office.accepts(b"A clean letter");
        office.accepts(&b"All is well. ".repeat(40_000));
        office.keeps(2);
    }
}

#[test]
fn a_file_above_clamds_limit_is_rejected() {
    let clamd = Clamd::start();
    for address in clamd.addresses() {
        let office = Office::with(address);
        office.cannot_tell(&b"All is well. ".repeat(2 * STREAM_MAX / 13));
        office.accepts(b"A clean letter");
    }
}

#[test]
fn without_clamd_nothing_is_accepted() {
    let clamd = Clamd::start();
    let addresses = clamd.addresses();
    drop(clamd);
    for address in addresses {
        Office::with(address).cannot_tell(b"A clean letter");
    }
}

#[test]
fn an_unresponsive_clamd_times_out() {
    let silent = StandIn::that_answers(None);
    Office::in_a_hurry(silent.address()).cannot_tell(b"A clean letter");
    // This exceeds the sockets' buffers.
    let deaf = StandIn::that_reads_nothing();
    Office::in_a_hurry(deaf.address()).cannot_tell(&b"All is well. ".repeat(1_000_000));
}

#[test]
fn only_a_complete_clean_verdict_accepts_a_file() {
    for answer in ["", "stream: OK", "OK\0", "UNKNOWN COMMAND\0", "stream: OK ERROR\0", &"x".repeat(100_000)]
    {
        let odd = StandIn::that_answers(Some(answer.to_owned()));
        Office::with(odd.address()).cannot_tell(b"A clean letter");
    }
    let sound = StandIn::that_answers(Some("stream: OK\0".to_owned()));
    Office::with(sound.address()).accepts(b"A clean letter");
}

/// Configured as in the guide; it connects with the first upload.
#[test]
fn everything_else_works_without_clamd() {
    let plain = Sandbox::new(Backend::Memory);
    let ports = plain.ports();
    let scanner = ClamdScanner::new(Address::Tcp("127.0.0.1:3310".to_owned()));
    let ports = ports.with_scanner(Arc::new(scanner));
    let sandbox = plain.rebuilt(ports, |_: &mut FileSettings| {});
    let _ = sandbox.create(&object("primaryEmail", "a@b.co"));
}

/// Every byte, in order, in chunks with their lengths.
#[test]
fn clamd_receives_the_file_unchanged() {
    let clamd = StandIn::that_answers(Some("stream: OK\0".to_owned()));
    let office = Office::with(clamd.address());
    let content = infected(300_000, 7);
    office.accepts(&content);
    assert!(clamd.received() == content);
}
