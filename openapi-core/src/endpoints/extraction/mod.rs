//! Document extraction (contract 4.5).

mod cancel_job;
mod delete_job;
mod extract;
mod get_batch;
mod get_job;
mod list_jobs;
mod queue;
mod queue_batch;
mod schema_examples;

pub use cancel_job::CancelJob;
pub use delete_job::DeleteJob;
pub use extract::{Extract, Outcome};
pub use get_batch::GetBatch;
pub use get_job::GetJob;
pub use list_jobs::ListJobs;
pub use queue::Queue;
pub use queue_batch::QueueBatch;
pub use schema_examples::SchemaExamples;
