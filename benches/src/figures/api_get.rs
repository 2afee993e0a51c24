//! `api-get`: the cost of the API itself, without sockets and without a database.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Empty;
use openapi_core::api::{Api, PeerAddress};
use openapi_core::values::AgentId;
use storage_memory::MemoryStorage;

use super::Options;
use crate::machine::{monotonic, thread_cpu};
use crate::report::{Failure, Measured, Reach, Report};
use crate::statistics::Samples;
use crate::world::{Credentials, Host, Person, SplitMix64, agent_id};

/// Contacts in the store.
const CONTACTS: u64 = 1_000;

/// Keys in concurrent use, in turn, as by 64 clients.
const CLIENTS: usize = 64;

/// Requests per key, below the 1,000 allowed in a minute.
const REQUESTS_OF_A_KEY: usize = 960;

/// Requests built in advance and answered within one CPU time measurement.
const BATCH: usize = 64;

/// Warm-up requests for caches and the branch predictor.
const WARM_UP: usize = 20_000;

pub(super) fn run(options: &Options) -> Measured {
    pollster::block_on(measure(options))
}

async fn measure(options: &Options) -> Measured {
    let host = Host::new(Arc::new(MemoryStorage::new()))?;
    let agent = agent_id("bench")?;
    host.agent(&agent).await?;
    host.contacts(&agent, 0..CONTACTS).await?;
    let api = host.api()?;
    let mut clients = Clients::new(&host, &agent).await?;

    let mut bytes = 0;
    for _ in 0..WARM_UP / BATCH {
        bytes = answer(&api, clients.requests().await?).await?.1;
    }
    let mut samples = Samples::default();
    let begun = monotonic();
    while begun.elapsed() < Duration::from_secs_f64(options.seconds) {
        let (used, _) = answer(&api, clients.requests().await?).await?;
        samples.push(used.as_secs_f64() * 1e6 / BATCH as f64);
    }

    let mut report = Report::new("api-get");
    report.condition(format!(
        "GET /v1/open/contacts/{{externalReferenceId}}/chatbots/{{agentId}} through Api::handle on one thread; \
         {CONTACTS} contacts with every field set, replies of {bytes} bytes; {CLIENTS} keys in turns, replaced before \
         their 1,000 requests a minute; the system's clock and randomness"
    ));
    report.condition(format!(
        "CPU time of the thread over {} batches of {BATCH} requests, their dropping and that of the replies included, \
         building the requests not",
        samples.len()
    ));
    report.detail("median of the batches", samples.median(), "µs");
    report.detail("9 of 10 batches below", samples.quantile(0.9), "µs");
    report.figure("CPU time of a request", samples.mean(), "µs", Reach::AtMost(5.0));
    Ok(report)
}

/// Answers a batch; returns the CPU time and the size of a reply's body.
async fn answer(api: &Api, requests: Vec<Request<Empty<Bytes>>>) -> Result<(Duration, usize), Failure> {
    let mut bytes = 0;
    let mut failed = None;
    let before = thread_cpu();
    for request in requests {
        let response = api.handle(request).await;
        if response.status() != StatusCode::OK {
            failed = Some(response);
            break;
        }
        bytes = response.into_body().into_bytes().map_or(0, |body| body.len());
    }
    let used = thread_cpu() - before;
    match failed {
        Some(response) => {
            let status = response.status();
            let body = response.into_body().into_bytes().unwrap_or_default();
            Err(format!("answered {status}: {}", String::from_utf8_lossy(&body)).into())
        }
        None => Ok((used, bytes)),
    }
}

/// Builds and sends requests.
struct Clients<'a> {
    host: &'a Host,
    agent: &'a AgentId,
    keys: Vec<Credentials>,
    sent: usize,
    random: SplitMix64,
}

impl<'a> Clients<'a> {
    async fn new(host: &'a Host, agent: &'a AgentId) -> Result<Self, Failure> {
        let mut clients = Clients { host, agent, keys: Vec::new(), sent: 0, random: SplitMix64(1) };
        clients.replace_keys().await?;
        Ok(clients)
    }

    async fn replace_keys(&mut self) -> Result<(), Failure> {
        self.keys.clear();
        for _ in 0..CLIENTS {
            self.keys.push(self.host.key(self.agent).await?);
        }
        self.sent = 0;
        Ok(())
    }

    /// A batch of requests, as a server passes them on.
    async fn requests(&mut self) -> Result<Vec<Request<Empty<Bytes>>>, Failure> {
        if self.sent + BATCH > REQUESTS_OF_A_KEY * CLIENTS {
            self.replace_keys().await?;
        }
        self.sent += BATCH;
        (0..BATCH).map(|number| self.request(number % CLIENTS)).collect()
    }

    fn request(&mut self, client: usize) -> Result<Request<Empty<Bytes>>, Failure> {
        let Credentials { key, secret } = &self.keys[client];
        let external_id = Person::new(self.random.below(CONTACTS)).external_id();
        let request = Request::get(format!("/v1/open/contacts/{external_id}/chatbots/{}", self.agent))
            .header("host", "127.0.0.1:8080")
            .header("x-api-key", key)
            .header("x-api-secret", secret)
            .header("accept", "application/json")
            .header("user-agent", "benches")
            .extension(PeerAddress([192, 0, 2, client as u8].into()))
            .body(Empty::new())?;
        Ok(request)
    }
}
