//! Extractions that run on their own (contract 12.5): queueing, reading and ending them, and the workers.

mod manage;
mod new;
mod queue;
mod retry;
mod runner;
mod settle;
mod signal;
mod work;

pub(in crate::platform) use manage::{batch, cancel, delete, find, list};
pub(in crate::platform) use queue::{queue, queue_batch};
pub(super) use signal::Signal;

use crate::extraction::{ExtractionJob, JobBody};
use crate::json::RawObject;
use crate::reply::ApiError;
use crate::storage::Job;
use crate::values::{AgentId, Timestamp};

fn record(agent: &AgentId, job: Job) -> Result<ExtractionJob, ApiError> {
    let id = job.id;
    ExtractionJob::of(agent.clone(), job).map_err(|error| {
        tracing::error!(%agent, %id, %error, "a stored extraction cannot be read");
        ApiError::internal()
    })
}

fn stored(body: &JobBody) -> Result<RawObject, ApiError> {
    let text = serde_json::to_string(body).and_then(RawObject::from_text);
    text.map_err(|error| {
        tracing::error!(%error, "failed to serialize an extraction");
        ApiError::internal()
    })
}

fn after(now: Timestamp, millis: u64) -> Timestamp {
    now.plus_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
