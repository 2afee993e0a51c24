//! POST /document-extraction/batches

use crate::access::{Action, Caller, Permission, Scope};
use crate::endpoints::contacts::percent_encode;
use crate::extraction::QueuedBatch;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, BASE_PATH, Creation, Reply, StoredReply};
use crate::service::{Created, Replayable};
use crate::service_info::ServiceInfo;

/// Queues extractions of several documents, all or none.
pub struct QueueBatch;

const MESSAGE: &str = "Batch queued successfully";

fn path(batch: &QueuedBatch) -> String {
    format!("{BASE_PATH}/document-extraction/batches/{}", percent_encode(&batch.id))
}

impl Replayable for QueuedBatch {
    fn stored_reply(_: &ServiceInfo, batch: &QueuedBatch) -> Result<StoredReply, ApiError> {
        StoredReply::new(201, Some(path(batch)), MESSAGE, batch)
    }
}

impl Operation for QueueBatch {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "queueExtractionBatch",
        method: Method::Post,
        path: "/document-extraction/batches",
        tag: "Document extraction",
        summary: "Queue extractions of several documents",
        description: "Extracts up to 20 documents, or up to 100 files of contacts, in the background, with one schema. All are queued or none: the first document with an error decides the response, and `details.index` names it. The response has a job for each document, in their order.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Create)),
        success: &[201],
        errors: super::Queue::METADATA.errors,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = crate::service::QueueBatch;
    type Output = Creation<QueuedBatch>;

    async fn run(
        cx: Context<'_, Caller>,
        input: Self::Input,
    ) -> Result<Reply<Creation<QueuedBatch>>, ApiError> {
        Ok(match cx.service.queue_extraction_batch(cx.caller, input).await? {
            Created::New(batch) | Created::Preview(batch) => {
                let location = path(&batch);
                Reply::ok(MESSAGE, Creation::Stored(batch)).created(location)
            }
            Created::Replayed(stored) => Reply::replayed(stored),
        })
    }
}
