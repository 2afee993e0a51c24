//! One job: from its content to its result.

use std::time::Duration;

use bytes::Bytes;

use crate::extraction::{
    DocumentFacts, Extraction, ExtractionJob, ExtractionMetadata, ExtractionSchema, ExtractionTask, JobError,
    SentDocument,
};
use crate::platform::Platform;
use crate::platform::errors::file_not_found;
use crate::platform::extraction::errors::not_extracted;
use crate::platform::files::whole;
use crate::ports::{BlobErrorKind, BlobKey};
use crate::reply::{ApiError, ErrorCode};
use crate::seal;
use crate::service::ExtractedDocument;
use crate::values::{AgentId, FileId, Timestamp};

/// What a job came to.
pub(super) enum Outcome {
    /// A result and what it costs.
    Done(Box<ExtractedDocument>, u64),
    /// The engine or a store is away: try again.
    Again,
    /// It cannot be done.
    Failed(JobError),
}

impl From<&ApiError> for JobError {
    fn from(error: &ApiError) -> Self {
        JobError { code: error.code().as_str().to_owned(), message: error.message().to_owned() }
    }
}

/// Does a job once.
pub(super) async fn run(platform: &Platform, it: &ExtractionJob, timeout: Duration) -> Outcome {
    match extract(platform, it, timeout).await {
        Ok((document, cost)) => Outcome::Done(Box::new(document), cost),
        Err(error) => match error.code() {
            ErrorCode::ExtractionUnavailable
            | ErrorCode::StorageUnavailable
            | ErrorCode::ServiceUnavailable => Outcome::Again,
            _ => Outcome::Failed(JobError::from(&error)),
        },
    }
}

async fn extract(
    platform: &Platform,
    it: &ExtractionJob,
    timeout: Duration,
) -> Result<(ExtractedDocument, u64), ApiError> {
    let begun = platform.now();
    let body = &it.body;
    let schema = ExtractionSchema::parse(body.schema.as_bytes()).map_err(ApiError::from)?;
    let document =
        SentDocument { content: content(platform, it).await?, file_name: body.document.file_name.clone() };
    let opened = platform.ports.extractor.open(document, platform.extraction.limits, timeout).await;
    let opened = opened.map_err(not_extracted)?;
    let text = opened.text();
    let account = platform.storage.credit_account(&it.agent_id).await?;
    let cost = account.map_or(0, |account| account.rates.cost(text.page_count, text.character_count));
    let left = timeout.saturating_sub(spent(platform, begun));
    let task = ExtractionTask {
        schema: schema.clone(),
        instructions: body.instructions.clone(),
        agent: it.agent_id.clone(),
        timeout: left,
    };
    let found = opened.extract(task).await.map_err(not_extracted)?;
    let extraction = Extraction::of(&schema, found.fields, &found.warnings);
    let document = DocumentFacts {
        page_count: text.page_count,
        character_count: text.character_count,
        ocr_applied: text.ocr_applied,
        language: found.language,
        ..body.document.clone()
    };
    let processing_time = u64::try_from(spent(platform, begun).as_millis()).unwrap_or(0);
    let metadata =
        ExtractionMetadata { processing_time, document, usage: Default::default(), engine: found.engine };
    Ok((ExtractedDocument { extraction, metadata }, cost))
}

fn spent(platform: &Platform, begun: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(platform.now().millis_since(begun)).unwrap_or(0))
}

/// The content of the document: that of a contact's file, or what the service holds for the job.
async fn content(platform: &Platform, it: &ExtractionJob) -> Result<Bytes, ApiError> {
    let (agent, body) = (&it.agent_id, &it.body);
    let found = match (body.content, body.file) {
        (Some(id), _) => match platform.storage.document(agent, id).await? {
            Some(stored) => platform.sealed_content(agent, id, stored.file_size).await?,
            None => None,
        },
        (None, Some(id)) => match platform.storage.file(agent, id).await? {
            Some(file) if Some(file.contact_id) == body.contact => platform.content_of(agent, &file).await?,
            _ => None,
        },
        (None, None) => None,
    };
    let id = body.content.or(body.file).map(|id| id.to_string()).unwrap_or_default();
    found.ok_or_else(|| file_not_found(&id))
}

impl Platform {
    /// The whole content of a document that the service holds; none if it is gone.
    pub(super) async fn sealed_content(
        &self,
        agent: &AgentId,
        id: FileId,
        size: u64,
    ) -> Result<Option<Bytes>, ApiError> {
        let key = BlobKey::new(agent.clone(), id);
        let source =
            seal::Source { blobs: &*self.ports.blobs, keys: &self.ports.server_keys, key: &key, size };
        match seal::read(source, 0..size).await {
            Ok(stream) => Ok(Some(whole(stream).await?)),
            Err(error) if error.kind == BlobErrorKind::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
