//! Document extraction (contract 4.5, 12, 13).

mod answers;
mod batches;
mod corrections;
mod credits;
mod form;
mod idempotency;
mod jobs;
mod precedence;
mod rules;
mod storing;
mod support;
