//! POST /document-extraction/jobs

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::ExtractionJob;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, BASE_PATH, Creation, ErrorCode, Reply, StoredReply};
use crate::service::{Created, QueueExtraction, Replayable};
use crate::service_info::ServiceInfo;

/// Queues an extraction.
pub struct Queue;

const MESSAGE: &str = "Extraction queued successfully";

fn path(job: &ExtractionJob) -> String {
    format!("{BASE_PATH}/document-extraction/jobs/{}", job.job.id)
}

impl Replayable for ExtractionJob {
    fn stored_reply(_: &ServiceInfo, job: &ExtractionJob) -> Result<StoredReply, ApiError> {
        StoredReply::new(201, Some(path(job)), MESSAGE, job)
    }
}

impl Operation for Queue {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "queueExtraction",
        method: Method::Post,
        path: "/document-extraction/jobs",
        tag: "Document extraction",
        summary: "Queue an extraction",
        description: "Extracts a document, or a file of a contact, in the background. What is wrong with the request or the document, and too few credits, is answered at once; the credits are set aside until the job has ended. The end is an event: `extraction.completed`, `extraction.failed` or `extraction.cancelled`.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Create)),
        success: &[201],
        errors: &[
            ErrorCode::InsufficientCredits,
            ErrorCode::StorageQuotaExceeded,
            ErrorCode::ContactNotFound,
            ErrorCode::FileNotFound,
            ErrorCode::ConcurrentUpdate,
            ErrorCode::DocumentTooLarge,
            ErrorCode::DocumentEncrypted,
            ErrorCode::DocumentUnreadable,
            ErrorCode::ConcurrencyLimitExceeded,
            ErrorCode::QueueFull,
            ErrorCode::ExtractionFailed,
            ErrorCode::ExtractionUnavailable,
            ErrorCode::StorageUnavailable,
            ErrorCode::ExtractionTimeout,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = QueueExtraction;
    type Output = Creation<ExtractionJob>;

    async fn run(
        cx: Context<'_, Caller>,
        input: Self::Input,
    ) -> Result<Reply<Creation<ExtractionJob>>, ApiError> {
        Ok(match cx.service.queue_extraction(cx.caller, input).await? {
            Created::New(job) | Created::Preview(job) => {
                let location = path(&job);
                Reply::ok(MESSAGE, Creation::Stored(job)).created(location)
            }
            Created::Replayed(stored) => Reply::replayed(stored),
        })
    }
}
