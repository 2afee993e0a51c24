//! What the load generator is told and what it tells.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::world::Credentials;

/// One run of the load generator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    /// Connections, each with one request at a time.
    pub(crate) connections: usize,
    /// How long, in seconds.
    pub(crate) seconds: f64,
    /// Keys; each connection uses one for [`Plan::requests_of_a_key`] requests, then the next unused one.
    pub(crate) keys: Vec<Credentials>,
    /// How often a key is used, so that no limit refuses.
    pub(crate) requests_of_a_key: u32,
    /// Whether the generator never sleeps, so that no answer has to wake it. It needs a core of its own.
    pub(crate) awake: bool,
    /// The agent in the paths.
    pub(crate) agent: String,
    /// What is requested.
    pub(crate) work: Work,
}

/// What is requested.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// One contact by external id, at random below this number; answered 200.
    Get {
        /// How many contacts there are.
        contacts: u64,
    },
    /// New contacts, numbered from here; answered 201.
    Create {
        /// The first number.
        from: u64,
    },
    /// Forms, each for a contact of its own in turn; answered 201.
    Submit {
        /// How many contacts there are.
        contacts: u64,
        /// The template.
        template: String,
        /// The body of the request.
        body: String,
    },
}

/// What came of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Answers with the expected status.
    pub(crate) answers: u64,
    /// Bytes of the bodies.
    pub(crate) body_bytes: u64,
    /// From the first request to the last answer, in seconds.
    pub(crate) seconds: f64,
    /// Keys that were begun; they are not to be used again.
    pub(crate) keys_used: usize,
    /// Median latency in microseconds.
    pub(crate) median_us: f64,
    /// The latency below which 99 of 100 answers came, in microseconds.
    pub(crate) p99_us: f64,
}

impl Outcome {
    /// Answers a second.
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }
}
