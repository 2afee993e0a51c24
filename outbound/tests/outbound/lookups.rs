//! Names that hang: they take the lookups of their own agent only.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use openapi_core::ports::{Outbound, OutboundError};
use openapi_core::values::AgentId;
use outbound::{HttpOutbound, Policy, Resolve};
use parking_lot::Mutex;
use proptest::prelude::*;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::support::{Refuser, get, parts};

/// Agents whose names hang: one less than have all lookups of the process together.
const HANGING_AGENTS: usize = 31;
const MAX_OF_AGENT: usize = 8;
const MAX: usize = 256;

/// A resolver whose names below `hangs.example` are not resolved before the test says so. A name begins with its agent.
struct Hanging {
    is_over: watch::Sender<bool>,
    running: Mutex<HashMap<String, usize>>,
    /// The most lookups of one agent, and of all, that ran at the same time.
    most: Mutex<(usize, usize)>,
}

impl Hanging {
    fn new() -> Arc<Self> {
        Arc::new(Hanging {
            is_over: watch::Sender::new(false),
            running: Mutex::default(),
            most: Mutex::default(),
        })
    }

    fn running(&self) -> usize {
        self.running.lock().values().sum()
    }
}

#[async_trait]
impl Resolve for Hanging {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let agent = name.split('.').next().unwrap().to_owned();
        {
            let mut running = self.running.lock();
            let of_agent = running.entry(agent.clone()).or_default();
            *of_agent += 1;
            let of_agent = *of_agent;
            let all = running.values().sum();
            let mut most = self.most.lock();
            *most = (most.0.max(of_agent), most.1.max(all));
        }
        if name.ends_with("hangs.example") {
            self.is_over.subscribe().wait_for(|is_over| *is_over).await.unwrap();
        }
        *self.running.lock().get_mut(&agent).unwrap() -= 1;
        Ok(vec![[93, 184, 215, 14].into()])
    }
}

/// Sends a request of an agent; the error's word is `connect` if its name was resolved, because no address answers.
async fn send(client: Arc<HttpOutbound>, agent: String, host: &'static str) -> OutboundError {
    let mut request = get(format!("https://{agent}.{host}/"));
    request.agent = Some(agent.parse::<AgentId>().unwrap());
    client.send(request).await.unwrap_err()
}

/// Whatever is sent for `HANGING_AGENTS` agents whose names hang, a name of another agent is resolved at once; the
/// limits hold although callers give up; and when the names hang no more, their agents have all of their lookups again.
async fn others_resolve_at_once(hanging: Vec<usize>) {
    let resolver = Hanging::new();
    let client = parts(resolver.clone(), Arc::new(Refuser::default()));
    let client = Arc::new(HttpOutbound::new(Policy::default(), client));
    let spawn = |agent: usize, host| tokio::spawn(send(Arc::clone(&client), format!("agent-{agent}"), host));
    let begun = Instant::now();
    let waiting: Vec<_> = hanging.iter().map(|agent| spawn(*agent, "hangs.example")).collect();
    tokio::task::yield_now().await;
    assert_eq!(spawn(1_000, "works.example").await.unwrap().word(), "connect");
    assert_eq!(begun.elapsed(), Duration::ZERO, "the other agent waited");
    for request in waiting {
        assert_eq!(request.await.unwrap().word(), "timeout");
    }
    let given_up: Vec<_> = hanging.iter().map(|agent| spawn(*agent, "hangs.example")).collect();
    for request in given_up {
        assert_eq!(request.await.unwrap().word(), "timeout");
    }
    let counts = |agent: &usize| hanging.iter().filter(|other| *other == agent).count();
    let expected: usize = (0..HANGING_AGENTS).map(|agent| counts(&agent) * 2).map(|it| it.min(8)).sum();
    assert_eq!(resolver.running(), expected, "a lookup counts until it ends");
    let begun = Instant::now();
    assert_eq!(spawn(1_000, "works.example").await.unwrap().word(), "connect");
    assert_eq!(begun.elapsed(), Duration::ZERO, "the other agent waited");
    let most = *resolver.most.lock();
    assert!(most.0 <= MAX_OF_AGENT && most.1 <= MAX, "{most:?} lookups at the same time");
    resolver.is_over.send_replace(true);
    let begun = Instant::now();
    for request in hanging.iter().map(|agent| spawn(*agent, "hangs.example")) {
        assert_eq!(request.await.unwrap().word(), "connect");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "lookups are lost");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn hanging_names_stop_no_other_agent(hanging in prop::collection::vec(0..HANGING_AGENTS, 0..300)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(others_resolve_at_once(hanging));
    }
}

/// More agents than all lookups suffice for wait for one another, at most as long as their requests may.
#[tokio::test(start_paused = true)]
async fn all_lookups_together_are_bounded() {
    let resolver = Hanging::new();
    let client = parts(resolver.clone(), Arc::new(Refuser::default()));
    let client = Arc::new(HttpOutbound::new(Policy::default(), client));
    let requests = (0..400).map(|number| {
        tokio::spawn(send(Arc::clone(&client), format!("agent-{}", number / 10), "hangs.example"))
    });
    let requests: Vec<_> = requests.collect();
    for request in requests {
        assert_eq!(request.await.unwrap().word(), "timeout");
    }
    assert_eq!(*resolver.most.lock(), (MAX_OF_AGENT, MAX));
}
