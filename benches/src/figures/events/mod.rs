//! `event-log`, `engine-event-log`, `webhook-delay`, `engine-webhook-delay`, `webhook-throughput`, `event-streams`,
//! `jobs`, `log-scrub`: the costs and delays of events, webhooks and background jobs.

mod delay;
mod jobs;
mod log;
mod scrub;
mod site;
mod streams;
mod throughput;

pub(super) use delay::{on_engines as engine_webhook_delay, run as webhook_delay};
pub(super) use jobs::run as jobs;
pub(super) use log::{on_engines as engine_event_log, run as event_log};
pub(super) use scrub::run as log_scrub;
pub(super) use streams::run as event_streams;
pub(super) use throughput::run as webhook_throughput;
