//! Counts of answers: in shards, so that processors do not fight over one counter at every request.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// More than this many threads share shards.
const SHARDS: usize = 64;

/// Upper bounds of the latency histogram, in microseconds.
const BOUNDS: [u64; 14] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    10_000_000,
];

/// What tells one kind of answer from another. The texts are constants of the program: few, and no tenant among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub struct Answered {
    /// The route template; `unknown` for none, `static` for pages beside the API.
    pub route: &'static str,
    /// The method, `other` for one that no endpoint has.
    pub method: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The code of an error, empty for none.
    pub code: &'static str,
}

impl Answered {
    /// Whether both are made of the same constants: quicker than comparing texts. Two constants of the same text are
    /// counted apart and added up when they are shown.
    fn is(&self, other: &Answered) -> bool {
        std::ptr::eq(self.route, other.route)
            && std::ptr::eq(self.method, other.method)
            && self.status == other.status
            && std::ptr::eq(self.code, other.code)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct Route {
    route: &'static str,
    method: &'static str,
}

/// Latencies of one kind of answer.
#[derive(Clone, Copy, Debug, Default)]
struct Latencies {
    sum: Duration,
    count: u64,
    buckets: [u64; BOUNDS.len() + 1],
}

impl Latencies {
    fn add(&mut self, other: &Latencies) {
        self.sum += other.sum;
        self.count += other.count;
        for (ours, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *ours += theirs;
        }
    }
}

/// The counts of some threads, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    in_flight: AtomicI64,
    answers: Mutex<Vec<(Answered, Latencies)>>,
}

/// Counts of answers and of requests under way.
#[derive(Debug)]
pub struct Tally {
    shards: Box<[Shard]>,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }
}

thread_local! {
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

impl Tally {
    fn shard(&self) -> &Shard {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let place = PLACE.get().unwrap_or_else(|| {
            let place = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            PLACE.set(Some(place));
            place
        });
        &self.shards[place]
    }

    /// Notes that a request begins.
    pub fn begin(&self) {
        self.shard().in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a request ends, perhaps on another thread: only the sum over all shards says something.
    pub fn end(&self) {
        self.shard().in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts an answer.
    pub fn answered(&self, answered: &Answered, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        let mut answers = self.shard().answers.lock().unwrap_or_else(PoisonError::into_inner);
        let at = answers.iter().position(|(known, _)| known.is(answered)).unwrap_or_else(|| {
            answers.push((*answered, Latencies::default()));
            answers.len() - 1
        });
        let latencies = &mut answers[at].1;
        latencies.sum += took;
        latencies.count += 1;
        latencies.buckets[bucket] += 1;
        // The most frequent kinds move to the front.
        if at > 0 && answers[at].1.count > answers[at - 1].1.count {
            answers.swap(at, at - 1);
        }
    }
}

impl Collector for Tally {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut counts: BTreeMap<Answered, u64> = BTreeMap::new();
        let mut latencies: BTreeMap<Route, Latencies> = BTreeMap::new();
        let mut in_flight = 0;
        for shard in &self.shards {
            in_flight += shard.in_flight.load(Ordering::Relaxed);
            for (answered, of_shard) in &*shard.answers.lock().unwrap_or_else(PoisonError::into_inner) {
                *counts.entry(*answered).or_default() += of_shard.count;
                let route = Route { route: answered.route, method: answered.method };
                latencies.entry(route).or_default().add(of_shard);
            }
        }
        let gauge = ConstGauge::new(in_flight);
        gauge.encode(encoder.encode_descriptor(
            "http_requests_in_flight",
            "Requests being worked on",
            None,
            gauge.metric_type(),
        )?)?;
        let mut requests =
            encoder.encode_descriptor("http_requests", "Requests answered", None, MetricType::Counter)?;
        for (answered, count) in &counts {
            ConstCounter::new(*count).encode(requests.encode_family(answered)?)?;
        }
        let mut durations = encoder.encode_descriptor(
            "http_request_duration",
            "Time from the complete request head to the answer",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        for (route, latencies) in &latencies {
            let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::MAX]);
            let buckets: Vec<(f64, u64)> = bounds.zip(latencies.buckets).collect();
            durations.encode_family(route)?.encode_histogram::<NoLabelSet>(
                latencies.sum.as_secs_f64(),
                latencies.count,
                &buckets,
                None,
            )?;
        }
        Ok(())
    }
}
