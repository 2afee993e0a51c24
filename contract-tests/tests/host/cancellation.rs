//! A request dropped at any await point is all-or-nothing and does not block a retry.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use contract_tests::sandbox::{operator, wait};
use contract_tests::table::{Known, all, good, prepare, real_path, success};
use contract_tests::{Backend, Call, FaultyStorage, Form, Reply, Sandbox, Script};
use openapi_core::admin::{Admin, CreditChange};
use openapi_core::credits::CreditPool;
use openapi_core::extraction::{
    DocumentExtractor, DocumentLimits, DocumentText, ExtractError, ExtractionTask, Findings, OpenDocument,
    SentDocument, UnsupportedDocument,
};
use openapi_core::operation::EndpointMetadata;
use openapi_core::ports::{BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter, MemoryBlobs};
use openapi_core::storage::{JobQuery, JobState, LedgerQuery, Queue, Window};
use openapi_core::values::Timestamp;
use serde_json::json;
use storage_common::transfer;
use storage_common::transfer::{AgentDigest, TransferKind};
use testkit::faulty::halt;

/// Suspends once before and after every operation.
struct Halting<T>(T);

#[async_trait]
impl BlobStore for Halting<MemoryBlobs> {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        halt(true).await;
        let writer = self.0.create(key).await?;
        halt(true).await;
        Ok(Box::new(Halting(writer)))
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        halt(true).await;
        self.0.replace(key).await
    }

    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream> {
        halt(true).await;
        self.0.read(key, range).await
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        halt(true).await;
        self.0.size(key).await
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        halt(true).await;
        self.0.remove(key).await?;
        halt(true).await;
        Ok(())
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        self.0.list().await
    }

    async fn sweep_unfinished(&self, before: Timestamp) -> BlobResult<u64> {
        self.0.sweep_unfinished(before).await
    }

    async fn probe(&self) -> BlobResult<()> {
        halt(true).await;
        self.0.probe().await
    }
}

#[async_trait]
impl BlobWriter for Halting<Box<dyn BlobWriter>> {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        halt(true).await;
        self.0.write(bytes).await
    }

    async fn finish(self: Box<Self>) -> BlobResult<()> {
        halt(true).await;
        self.0.finish().await?;
        halt(true).await;
        Ok(())
    }
}

#[async_trait]
impl DocumentExtractor for Halting<Script> {
    fn detect(&self, document: &SentDocument) -> Result<&'static str, UnsupportedDocument> {
        self.0.detect(document)
    }

    async fn open(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        deadline: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError> {
        halt(true).await;
        Ok(Box::new(Halting(self.0.open(document, limits, deadline).await?)))
    }
}

#[async_trait]
impl OpenDocument for Halting<Box<dyn OpenDocument>> {
    fn text(&self) -> DocumentText {
        self.0.text()
    }

    async fn extract(self: Box<Self>, task: ExtractionTask) -> Result<Findings, ExtractError> {
        halt(true).await;
        let found = self.0.extract(task).await;
        halt(true).await;
        found
    }
}

/// A sandbox in which every operation suspends once `faulty` halts, the same each time.
fn world() -> (Sandbox, Known, Arc<FaultyStorage>) {
    let (cx, faulty) = Sandbox::faulty(Backend::Memory);
    let ports = cx.ports().with_extractor(Arc::new(Halting(Script::default())));
    let cx = cx.rebuilt(ports.with_blobs(Arc::new(Halting(cx.blobs.clone()))), |_| {});
    let plan = CreditChange::Set { pool: CreditPool::Plan, credits: 10, note: None };
    let _ = wait(cx.platform.change_credits(&operator(), &cx.agent, &plan)).expect("credits are set");
    let (cx, known) = prepare(cx);
    (cx, known, faulty)
}

fn request<'a>(cx: &'a Sandbox, meta: &EndpointMetadata, known: &Known) -> Call<'a> {
    // The request must change the compared state.
    let call = match meta.id {
        id if id.starts_with("updateContact") => {
            cx.at(meta.method.as_str(), &real_path(meta, known)).json(&json!({ "firstName": "Ann" }))
        }
        id if id.starts_with("unarchiveContact") => {
            let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
            good(cx, meta, known)
        }
        _ => good(cx, meta, known),
    };
    let call = call.slowly();
    if meta.idempotent { call.header("idempotency-key", "once") } else { call }
}

/// The credits of the jobs that wait.
fn queued(cx: &Sandbox) -> u64 {
    let query = JobQuery {
        queue: Queue::Extraction,
        states: vec![JobState::Ready],
        batch: None,
        client_id: None,
        window: Window::Page { offset: 0, limit: 100 },
    };
    let page = wait(cx.store.storage.jobs(Some(&cx.agent), &query)).expect("jobs");
    page.jobs.iter().map(|job| job.reserved.credits()).sum()
}

/// The stored state after all background work that follows a dropped request.
struct State {
    digest: AgentDigest,
    credits: u64,
}

impl State {
    fn of(cx: &Sandbox) -> Self {
        wait(cx.platform.maintain()).expect("maintained");
        let _ = wait(cx.platform.sweep_orphans(0)).expect("swept");
        let check = wait(cx.platform.check_contents()).expect("checked");
        assert!(check.faults.is_empty(), "{:?}", check.faults);
        let account = wait(cx.platform.credits(&cx.agent)).expect("an account");
        assert_eq!(account.reserved(), queued(cx), "credits stay reserved");
        let digest = wait(transfer::digest(&*cx.store.moves(), &cx.agent)).expect("a digest");
        State { digest, credits: account.available() }
    }

    /// Whether both states are equal, ignoring request counters, which are records. Credits that were reserved and released are equal,
    /// though the account was saved twice.
    fn is(&self, other: &State) -> bool {
        let counting = [TransferKind::Record, TransferKind::Key, TransferKind::CreditAccount];
        let different = self.digest.differences(&other.digest);
        self.credits == other.credits && different.iter().all(|kind| counting.contains(kind))
    }
}

/// Without an idempotency key, nobody can request the response of an extraction again: a client that disconnects
/// before the response is charged nothing and leaves no document, wherever the request was dropped.
#[test]
fn an_undelivered_response_costs_nothing() {
    let ledger = |cx: &Sandbox| {
        let query = LedgerQuery { agent: cx.agent.clone(), before: None, limit: 10 };
        let entries = wait(cx.platform.credit_entries(&query)).expect("a ledger");
        entries.iter().map(|entry| entry.kind.as_str()).collect::<Vec<_>>()
    };
    let mut refunds = 0;
    for save in ["false", "true"] {
        for times in 1.. {
            let (cx, _, faulty) = world();
            let before = State::of(&cx).credits;
            // That of the queued extraction.
            let prepared = wait(cx.platform.documents(&cx.agent, None, 10)).expect("documents").len();
            let form = Form::new().document("invoice.txt", b"total: 12");
            let form = form.text("schema", r#"{"total":{"type":"string"}}"#).text("saveToStorage", save);
            let call = cx.at("POST", "/v1/open/document-extraction/extract").form(&form).slowly();
            faulty.halt(true);
            let reply = polled(&call, times);
            faulty.halt(false);
            if let Some(reply) = reply {
                assert_eq!((reply.status, State::of(&cx).credits), (200, before - 1));
                break;
            }
            let left = State::of(&cx);
            assert_eq!(left.credits, before, "dropped after {times} polls: {:?}", ledger(&cx));
            let retained = wait(cx.platform.documents(&cx.agent, None, 10)).expect("documents");
            assert_eq!(retained.len(), prepared, "dropped after {times} polls: {retained:?}");
            let mut entries = ledger(&cx);
            entries.sort_unstable();
            assert!(matches!(entries[..], ["set"] | ["charge", "refund", "set"]), "{entries:?}");
            refunds += entries.len() / 3;
        }
    }
    assert!(refunds >= 2, "only {refunds} were dropped after the charge");
}

/// Polls a request this many times; returns its reply, if it came.
fn polled(call: &Call<'_>, times: usize) -> Option<Reply> {
    let mut running = pin!(call.answer());
    for _ in 0..times {
        if let Poll::Ready(reply) = running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(reply);
        }
    }
    None
}

#[test]
fn a_dropped_request_is_all_or_nothing() {
    let mut dropped = 0;
    for meta in all() {
        let (cx, known, _) = world();
        // Prerequisites are created beforehand.
        let _ = request(&cx, meta, &known);
        let nothing = State::of(&cx);
        let (cx, known, faulty) = world();
        let call = request(&cx, meta, &known);
        faulty.halt(true);
        assert_eq!(wait(call.answer()).status, success(meta), "{}", meta.id);
        faulty.halt(false);
        let everything = State::of(&cx);
        // A download with a signed URL and the display of a secret have audit entries.
        let leaves_entry = matches!(meta.id, "downloadFile" | "getWebhookSecret");
        // A test message leaves the endpoint as it is.
        let only_reads = meta.method.as_str() == "GET" && !leaves_entry || meta.id == "testWebhookEndpoint";
        assert_eq!(nothing.is(&everything), only_reads, "{}: what is compared tells", meta.id);
        for times in 1.. {
            let (cx, known, faulty) = world();
            let call = request(&cx, meta, &known);
            faulty.halt(true);
            let reply = polled(&call, times);
            faulty.halt(false);
            if reply.is_some() {
                break;
            }
            dropped += 1;
            let left = State::of(&cx);
            assert!(
                left.is(&nothing) || left.is(&everything),
                "{} dropped after {times} polls: it differs from nothing in {:?} and from everything in {:?}",
                meta.id,
                left.digest.differences(&nothing.digest),
                left.digest.differences(&everything.digest)
            );
            // Remains of the dropped request do not block a retry.
            let again = call.send();
            assert!(again.status < 500 && again.status != 429, "{} {}", meta.id, again.text);
            if meta.idempotent {
                assert_eq!(again.status, success(meta), "{} {}", meta.id, again.text);
                let once = State::of(&cx);
                for kind in [
                    TransferKind::Contact,
                    TransferKind::File,
                    TransferKind::Submission,
                    TransferKind::IdempotencyRecord,
                ] {
                    let (found, wanted) = (once.digest.count(kind), everything.digest.count(kind));
                    assert_eq!(found, wanted, "{} {kind:?}: it was done once", meta.id);
                }
                assert_eq!(once.credits, everything.credits, "{}: it was paid once", meta.id);
            }
        }
    }
    println!("{dropped} requests were dropped");
    assert!(dropped > 150, "only {dropped} were dropped");
}
