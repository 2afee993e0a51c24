//! The input and output of the load generator.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::world::Credentials;

/// One run of the load generator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The server's address.
    pub(crate) address: SocketAddr,
    /// Connections, each with one request at a time.
    pub(crate) connections: usize,
    /// The duration, in seconds.
    pub(crate) seconds: f64,
    /// Keys; each connection uses one for [`Plan::requests_of_a_key`] requests, then the next unused one.
    pub(crate) keys: Vec<Credentials>,
    /// Requests per key, below its limits.
    pub(crate) requests_of_a_key: u32,
    /// Whether the generator busy-waits, so that responses need not wake it. It requires its own core.
    pub(crate) awake: bool,
    /// The agent in the paths.
    pub(crate) agent: String,
    /// The kind of request.
    pub(crate) work: Work,
}

/// A kind of request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// One contact by external id, at random below this number; the status is 200.
    Get {
        /// The number of contacts.
        contacts: u64,
    },
    /// New contacts, numbered from here; the status is 201.
    Create {
        /// The first number.
        from: u64,
    },
    /// Forms, each for the next contact; the status is 201.
    Submit {
        /// The number of contacts.
        contacts: u64,
        /// The template.
        template: String,
        /// The body of the request.
        body: String,
    },
}

/// The result of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Responses with the expected status.
    pub(crate) answers: u64,
    /// Bytes of the bodies.
    pub(crate) body_bytes: u64,
    /// From the first request to the last response, in seconds.
    pub(crate) seconds: f64,
    /// Keys used, which must not be used again.
    pub(crate) keys_used: usize,
    /// Median latency in microseconds.
    pub(crate) median_us: f64,
    /// The 99th percentile of the latency, in microseconds.
    pub(crate) p99_us: f64,
}

impl Outcome {
    /// Responses per second.
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }
}
