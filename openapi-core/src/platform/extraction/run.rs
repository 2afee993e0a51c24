//! Runs one extraction: steps 8 to 16 of contract 6.3.

use std::time::Duration;

use super::credits::Payment;
use super::documents::{self, DocumentRetention};
use super::errors;
use super::running::JobSource;
use super::task::{Refused, Task};
use crate::access::Caller;
use crate::extraction::{
    DocumentFacts, DocumentText, Extraction, ExtractionMetadata, ExtractionTask, Findings, ReceivedForm,
};
use crate::platform::Platform;
use crate::platform::idempotency::{Claim, Claimed, claim};
use crate::ports::timeout;
use crate::reply::ApiError;
use crate::seal::sealed_bytes;
use crate::service::{ExtractDocument, Extracted, ExtractedDocument, Idempotency};
use crate::values::{FileId, PlatformId, Timestamp};

pub(in crate::platform) async fn extract(
    platform: &Platform,
    caller: &Caller,
    request: ExtractDocument,
) -> Result<Extracted, ApiError> {
    let ExtractDocument { form, idempotency, mut faults } = request;
    // Held until the answer is there.
    let mut room = platform.extractions.room(&caller.agent_id, platform.extraction.max_held_bytes);
    let received = form.receive(&mut |bytes| room.take(bytes)).await?;
    let begun = platform.now();
    let fingerprint = received.fingerprint;
    let idempotency = idempotency.map(|sent| Idempotency { fingerprint, ..sent });
    let claimed = match claim(platform, caller, idempotency.as_ref()).await? {
        Claimed::Answered(stored) => return Ok(Extracted::Replayed(stored)),
        Claimed::Run(claim) => claim,
    };
    let ReceivedForm { document, schema, instructions, save_to_storage: save, faults: of_form, .. } =
        received;
    let content_type = match &document {
        Some((document, _)) => platform.ports.extractor.detect(document).map_err(errors::unsupported)?,
        None => "",
    };
    faults.extend(of_form);
    let (Some((document, sha256)), Some(schema), true) = (document, schema, faults.is_empty()) else {
        return Err(faults.into());
    };
    let instructions = instructions.map(|text| text.as_str().to_owned());
    let task = Task { document, sha256, content_type, schema, instructions, save, begun };
    if save {
        documents::refuse_excess(platform, caller, sealed_bytes(task.document.content.len() as u64)).await?;
    }
    let _running = platform.extractions.enter(caller, platform.extraction.max_running_of_key)?;
    let id = platform.ports.ids.platform_id(platform.now());
    let work = task.run(platform, caller, id);
    // The deadline is the engine's: what it found in time is stored.
    let outcome = match timeout(&*platform.ports.timer, platform.extraction.deadline_millis, work).await {
        Some(Ok(done)) => done.store(claimed.as_ref()).await,
        Some(Err(error)) => Err(error),
        None => Err(errors::timed_out()),
    };
    // Returns the credits at once, so that a retry finds them.
    if outcome.is_err()
        && let Err(error) = platform.settle_abandoned(JobSource::Extraction(id)).await
    {
        tracing::warn!(%error, "failed to release the reservation of a failed extraction; retrying later");
    }
    outcome
}

/// An extraction that has succeeded and is not stored.
struct Done<'a> {
    payment: Payment<'a>,
    retained: Option<DocumentRetention<'a>>,
    document: ExtractedDocument,
    at: Timestamp,
}

impl Done<'_> {
    /// Stores what the extraction cost together with its answer.
    async fn store(self, claimed: Option<&Claim<'_, ExtractedDocument>>) -> Result<Extracted, ApiError> {
        let Done { payment, mut retained, document, at } = self;
        let write = retained.as_ref().map(DocumentRetention::write);
        // As soon as its record may be stored the content stays; without one it is swept.
        let mut keep = |stays: bool| {
            if let Some(retained) = &mut retained {
                retained.set_stays(stays);
            }
        };
        keep(true);
        let settled = payment.settle(document, write, claimed, at).await;
        if let Ok(Extracted::Replayed(_)) | Err(Refused::Definite(_)) = &settled {
            keep(false);
        }
        settled.map_err(|refused| match refused {
            Refused::Definite(error) | Refused::Unclear(error) => error,
        })
    }
}

impl Task {
    /// Reads the document, sets credits aside for it, keeps it where that is wanted, and finds the values. What is
    /// dropped or refused on the way undoes itself.
    async fn run<'a>(
        self,
        platform: &'a Platform,
        caller: &'a Caller,
        id: PlatformId,
    ) -> Result<Done<'a>, ApiError> {
        let extractor = &platform.ports.extractor;
        let limits = platform.extraction.limits;
        let opened = extractor.open(self.document.clone(), limits, self.remaining(platform)).await;
        let opened = opened.map_err(errors::not_extracted)?;
        let text = opened.text();

        let payment = Payment::reserve(platform, caller, id, &text).await?;
        let retained = match self.save {
            true => {
                let (document, sha256) = (&self.document, self.sha256);
                let stored = DocumentRetention::store(
                    platform,
                    caller,
                    id.into(),
                    document,
                    sha256,
                    self.content_type,
                );
                Some(stored.await?)
            }
            false => None,
        };
        let asked = ExtractionTask {
            schema: self.schema.clone(),
            instructions: self.instructions.clone(),
            agent: caller.agent_id.clone(),
            timeout: self.remaining(platform),
        };
        let found = opened.extract(asked).await.map_err(errors::not_extracted)?;

        let file = retained.as_ref().map(DocumentRetention::id);
        let at = platform.now();
        let document = self.answer(text, found, file, at);
        Ok(Done { payment, retained, document, at })
    }

    /// How much time is left.
    fn remaining(&self, platform: &Platform) -> Duration {
        let spent = u64::try_from(platform.now().millis_since(self.begun)).unwrap_or(0);
        Duration::from_millis(platform.extraction.deadline_millis.saturating_sub(spent))
    }

    /// The answer, without what it cost.
    fn answer(
        &self,
        text: DocumentText,
        found: Findings,
        file: Option<FileId>,
        now: Timestamp,
    ) -> ExtractedDocument {
        let extraction = Extraction::of(&self.schema, found.fields, &found.warnings);
        let document = DocumentFacts {
            file_name: self.document.file_name.clone(),
            content_type: self.content_type.to_owned(),
            file_size: self.document.content.len() as u64,
            sha256: self.sha256.to_string(),
            page_count: text.page_count,
            character_count: text.character_count,
            ocr_applied: text.ocr_applied,
            language: found.language,
            stored: file.is_some(),
            file_id: file.map(|file| file.to_string()),
        };
        let processing_time = u64::try_from(now.millis_since(self.begun)).unwrap_or(0);
        let usage = Default::default();
        ExtractedDocument {
            extraction,
            metadata: ExtractionMetadata { processing_time, document, usage, engine: found.engine },
        }
    }
}
