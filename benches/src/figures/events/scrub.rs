//! `log-scrub`: the erasure of a contact with many events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use openapi_core::contacts::ContactRef;
use openapi_core::events::{EventActor, EventData, EventType, NewEvent};
use openapi_core::schema::CompiledSchema;
use openapi_core::storage::LogEntry;
use openapi_core::values::{AgentId, ContactId, PlatformId};

use crate::data;
use crate::figures::Options;
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::statistics::Samples;
use crate::world::{Host, SplitMix64, write_of};

/// Events of one write while the log is filled.
const EVENTS_OF_A_WRITE: u64 = 1_000;

/// Events that are looked at in one step, as by `Platform::maintain`.
const STEP: u32 = 1_000;
/// The events that are read after the erasure.
const SHOWN: u32 = 10_000;

/// Writers during the erasure.
const WRITERS: usize = 4;

/// The pause of a writer after each write: they are to meet the scrub, not to saturate the disk.
const PAUSE: Duration = Duration::from_millis(2);

/// The events that the target is about.
const MILLION: f64 = 1_000_000.0;

pub(in crate::figures) fn run(options: &Options) -> Measured {
    let path = data::empty("log-scrub")?;
    let runtime = data::runtime()?;
    let host = Arc::new(data::open(&path)?);
    let outcome = runtime.block_on(measure(&host, options));
    drop(host);
    drop(runtime);
    data::remove_database(&path)?;
    Ok(outcome?.report(options))
}

#[derive(Default)]
struct Erasure {
    /// From the call of the erasure to its commit.
    commit_ms: f64,
    /// Events that a read after the commit shows unemptied.
    shown: usize,
    scrub_s: f64,
    before: Samples,
    during: Samples,
}

async fn measure(host: &Arc<Host>, options: &Options) -> Result<Erasure, Failure> {
    let agent = data::agent()?;
    let schema = Arc::new(host.schema(&agent).await?);
    let contact = fill(host, &agent, &schema, options.events).await?;
    let next = Arc::new(AtomicU64::new(10_000_000));
    let writers = |is_over: &Arc<AtomicBool>| {
        let (host, agent, schema) = (Arc::clone(host), agent.clone(), Arc::clone(&schema));
        let (next, is_over) = (Arc::clone(&next), Arc::clone(is_over));
        tokio::spawn(write_until(host, agent, schema, next, is_over))
    };
    let seconds = Duration::from_secs_f64(options.seconds);
    let mut erasure = Erasure::default();

    let is_over = Arc::new(AtomicBool::new(false));
    let running: Vec<_> = (0..WRITERS).map(|_| writers(&is_over)).collect();
    tokio::time::sleep(seconds).await;
    is_over.store(true, Ordering::Relaxed);
    for writer in running {
        erasure.before.extend(&writer.await??);
    }

    let is_over = Arc::new(AtomicBool::new(false));
    let running: Vec<_> = (0..WRITERS).map(|_| writers(&is_over)).collect();
    let begun = monotonic();
    host.erase(&agent, &ContactRef::Id(contact)).await?;
    erasure.commit_ms = begun.elapsed().as_secs_f64() * 1e3;
    let page = host.storage().log(&agent, 0, SHOWN).await?;
    let is_shown =
        |entry: &&LogEntry| entry.contact == Some(contact) && entry.kind != EventType::ContactErased;
    erasure.shown = page.entries.iter().filter(is_shown).count();
    let begun = monotonic();
    while host.storage().scrub_logs(STEP).await? > 0 {}
    erasure.scrub_s = begun.elapsed().as_secs_f64();
    is_over.store(true, Ordering::Relaxed);
    for writer in running {
        erasure.during.extend(&writer.await??);
    }
    Ok(erasure)
}

/// Appends the events of a contact, in the writes of other contacts.
async fn fill(
    host: &Host,
    agent: &AgentId,
    schema: &CompiledSchema,
    events: u64,
) -> Result<ContactId, Failure> {
    let write = write_of(schema, agent, 0)?;
    let contact = write.contact.id;
    host.storage().insert_contact(agent, &write).await?;
    let mut random = SplitMix64(1);
    let mut left = events;
    let mut number = 1;
    while left > 0 {
        let mut write = write_of(schema, agent, number)?;
        let count = left.min(EVENTS_OF_A_WRITE);
        let event = |_| NewEvent {
            id: PlatformId::new(write.at, random.next_u64().to_be_bytes()),
            at: write.at,
            actor: EventActor::Operator,
            contact: Some(contact),
            data: EventData::ContactCreated { contact_id: contact },
        };
        write.effects.events = (0..count).map(event).collect();
        host.storage().insert_contact(agent, &write).await?;
        left -= count;
        number += 1;
    }
    Ok(contact)
}

/// Creates contacts; the latency of each in milliseconds.
async fn write_until(
    host: Arc<Host>,
    agent: AgentId,
    schema: Arc<CompiledSchema>,
    next: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
) -> Result<Samples, Failure> {
    let mut latencies = Samples::default();
    while !is_over.load(Ordering::Relaxed) {
        let write = write_of(&schema, &agent, next.fetch_add(1, Ordering::Relaxed))?;
        let begun = monotonic();
        host.storage().insert_contact(&agent, &write).await?;
        latencies.push(begun.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(latencies)
}

impl Erasure {
    fn report(&self, options: &Options) -> Report {
        let mut report = Report::new("log-scrub");
        report.condition(format!(
            "a contact with {} events in the log of an SQLite store is erased, then its events are emptied in steps of \
             {STEP}, while {WRITERS} writers create contacts with a pause of {} ms after each",
            number(options.events as f64),
            PAUSE.as_millis()
        ));
        report.detail("erasure, to its commit", self.commit_ms, "ms");
        report.detail("events emptied within", self.scrub_s, "s");
        report.detail("create before, median", self.before.median(), "ms");
        report.detail("create before, 99 of 100 below", self.before.quantile(0.99), "ms");
        report.detail("create before, slowest", self.before.quantile(1.0), "ms");
        report.detail("creates during the scrub", self.during.len() as f64, "");
        report.detail("create during the scrub, median", self.during.median(), "ms");
        report.detail("create during the scrub, slowest", self.during.quantile(1.0), "ms");
        report.figure("events shown after the commit", self.shown as f64, "", Reach::AtMost(0.0));
        let of_a_million = self.scrub_s * MILLION / options.events as f64;
        report.figure("events emptied, for each million", of_a_million, "s", Reach::AtMost(60.0));
        let late = self.during.quantile(0.99) - self.before.quantile(0.99);
        report.figure("delay of creates, 99 of 100 below", late, "ms", Reach::AtMost(20.0));
        report
    }
}
