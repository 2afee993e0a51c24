//! The model engine: asks any chat-completions endpoint for values and accepts only those that the document contains.
//!
//! The engine asks for every value with a quotation (`shape`, `prompt`), and about long documents in parts (`parts`).
//! What it answers is read however loosely it is written (`answer`), brought into the form of the field's
//! type by the rules of the built-in engine (`convert`), and looked for in the document (`locate`, `evidence`): where
//! it stands there, and how exactly, is its confidence. What a model says of itself counts for nothing.
//!
//! Document and guidance are data: the shape of the findings is that of the schema, whatever either of them says.

mod answer;
mod config;
mod convert;
mod evidence;
mod locate;
mod merge;
mod parts;
mod prompt;
mod shape;

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use llm::{Budget, Client, Completion, ConfigError, Error, Request, RetryPolicy};
use openapi_core::extraction::{ExtractError, ExtractionSchema, ExtractionWarning, Finding};

use self::answer::Raw;
pub use self::config::ModelConfig;
use self::evidence::Grounding;
use self::merge::Located;
use self::parts::Part;
use self::prompt::PromptTemplate;
use super::builtin::view::View;
use crate::document::{Document, PageImage};

/// What the engine found.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// One finding for each field of the schema, in its order and of its shape.
    pub findings: Vec<Finding>,
    /// What concerns the document as a whole.
    pub warnings: Vec<ExtractionWarning>,
    /// The language of the text (ISO 639-1), if detected.
    pub language: Option<&'static str>,
    /// What it took.
    pub effort: Effort,
}

/// What the answer for one document took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Requests, repetitions included.
    pub requests: u32,
    /// Tokens of the requests that were answered, as the endpoint counts them; 0 where it does not.
    pub input_tokens: u64,
    /// Tokens of their answers.
    pub output_tokens: u64,
}

/// An engine on an endpoint. It is meant to be shared: it keeps connections, and what the endpoint was found to take.
pub struct ModelEngine {
    client: Client,
    config: ModelConfig,
}

impl std::fmt::Debug for ModelEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEngine").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The request for one document, whose parts are asked about separately.
struct DocumentRequest<'a> {
    engine: &'a ModelEngine,
    view: &'a View<'a>,
    schema: &'a ExtractionSchema,
    prompt: PromptTemplate<'a>,
    images: &'a [PageImage],
    budget: Budget,
}

/// What a model replied about a part.
struct ModelReply {
    part: Part,
    raw: Vec<Raw>,
    usage: llm::Usage,
}

/// The outcome of one request.
enum Outcome {
    Completion(Completion),
    /// The response cannot be used, for a reason.
    Unusable(String),
    /// The request has more text than the model accepts.
    TooLong,
}

fn unavailable(reason: String, retry_after: Option<Duration>) -> ExtractError {
    ExtractError::Unavailable { reason, retry_after }
}

impl ModelEngine {
    /// An engine on an endpoint. It connects with the first document.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn new(config: ModelConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let client = Client::new(config.endpoint.clone())?;
        Ok(ModelEngine { client, config })
    }

    /// The name under which the engine answers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The maximum size of the page images in one request; 0 if the model accepts none.
    #[must_use]
    pub fn max_image_bytes(&self) -> usize {
        if self.config.endpoint.images { self.config.max_image_bytes } else { 0 }
    }

    /// Finds the values of a schema's fields within `timeout`. A document without text is not asked about, unless the
    /// model takes images and there are some. Dropping the future ends the request under way.
    ///
    /// The values are looked for on the caller's thread when the endpoint has answered, at a bounded cost; a host that
    /// wants its threads free for other work calls this on one of its own.
    ///
    /// # Errors
    /// [`ExtractError::Unavailable`] when the endpoint is down, overloaded, or refuses the key or the request, with a
    /// reason for the operator; [`ExtractError::BadAnswer`] when an answer is unusable, also after one attempt to
    /// repair it; [`ExtractError::TimedOut`]. No error holds anything of the document, the key or the answer.
    pub async fn extract(
        &self,
        document: &Document,
        images: &[PageImage],
        schema: &ExtractionSchema,
        instructions: Option<&str>,
        timeout: Duration,
    ) -> Result<Answer, ExtractError> {
        let view = View::new(document);
        let images = if self.config.endpoint.images { images } else { &[] };
        let mut warnings = Vec::new();
        if view.is_empty() {
            warnings.push(ExtractionWarning::NoText);
        }
        if evidence::lacks_ocr(document) {
            warnings.push(ExtractionWarning::OcrUnavailable);
        }
        if view.is_empty() && images.is_empty() {
            let findings = vec![Finding::Absent; schema.fields().len()];
            return Ok(Answer { findings, warnings, language: None, effort: Effort::default() });
        }
        let shape = shape::of(schema);
        let most = self.config.max_part_characters;
        let parts = Part::all(&view, most);
        let texts: Vec<String> = parts.iter().map(|part| part.text(&view, most)).collect();
        let guidance = instructions.map(str::trim).filter(|text| !text.is_empty());
        let all: Vec<&str> = texts.iter().map(String::as_str).chain(guidance).collect();
        let request = DocumentRequest {
            engine: self,
            view: &view,
            schema,
            prompt: PromptTemplate { schema: &shape, guidance, delimiter: prompt::delimiter(&all) },
            images,
            budget: Budget::new(self.config.max_requests, timeout),
        };
        let count = parts.len();
        let asked = stream::iter(parts.into_iter().enumerate())
            .map(|(nth, part)| request.part(part, (nth + 1, count)))
            .buffered(self.config.max_parallel)
            .try_collect::<Vec<Vec<ModelReply>>>();
        let replies = tokio::time::timeout_at(request.budget.deadline(), asked)
            .await
            .map_err(|_| ExtractError::TimedOut)??;
        let grounding = Grounding::new(&view, schema);
        let mut effort = Effort { requests: request.budget.used(), ..Effort::default() };
        let mut fields = vec![Located::Absent; schema.fields().len()];
        for reply in replies.into_iter().flatten() {
            effort.input_tokens += reply.usage.input_tokens;
            effort.output_tokens += reply.usage.output_tokens;
            let located = grounding.locate_all(schema, reply.part.span(&view), reply.raw);
            fields = fields.into_iter().zip(located).map(|(first, later)| first.merged(later)).collect();
        }
        let findings = fields.into_iter().map(Located::finding).collect();
        Ok(Answer { findings, warnings, language: grounding.language(), effort })
    }
}

impl DocumentRequest<'_> {
    /// Asks about a part; where it or the answer is too long for the model, about its halves.
    async fn part(&self, part: Part, of: (usize, usize)) -> Result<Vec<ModelReply>, ExtractError> {
        let mut pending = vec![part];
        let mut replies = Vec::new();
        while let Some(part) = pending.pop() {
            match self.reply(&part, of).await? {
                Some(reply) => replies.push(reply),
                None => match part.halves(self.view) {
                    Some([first, second]) => pending.extend([second, first]),
                    None => {
                        let reason = "the model takes less text than the smallest part of a document";
                        return Err(unavailable(reason.to_owned(), None));
                    }
                },
            }
        }
        Ok(replies)
    }

    /// The reply about a part, repaired at most once; `None` if the caller should ask about its halves.
    async fn reply(&self, part: &Part, of: (usize, usize)) -> Result<Option<ModelReply>, ExtractError> {
        let text = part.text(self.view, self.engine.config.max_part_characters);
        let images = self.images_of(part, of.0 == 1);
        let can_halve = part.halves(self.view).is_some();
        let mut unusable: Option<(Option<String>, String)> = None;
        loop {
            let mut messages = self.prompt.messages(&text, &images, of);
            if let Some((answer, reason)) = &unusable {
                messages.extend(prompt::repair(answer.as_deref(), reason));
            }
            let (answer, reason) = match self.complete(messages).await? {
                Outcome::TooLong => return Ok(None),
                Outcome::Unusable(reason) => (None, reason),
                Outcome::Completion(completion) => match answer::read(self.schema, &completion.text) {
                    Ok(raw) => {
                        return Ok(Some(ModelReply { part: part.clone(), raw, usage: completion.usage }));
                    }
                    Err(_) if completion.is_truncated && can_halve => return Ok(None),
                    Err(_) if completion.is_truncated => {
                        (None, "it is longer than the limit of tokens".to_owned())
                    }
                    Err(reason) => (Some(completion.text), reason),
                },
            };
            if unusable.is_some() {
                return Err(ExtractError::BadAnswer(reason));
            }
            unusable = Some((answer, reason));
        }
    }

    async fn complete(&self, messages: Vec<llm::Message>) -> Result<Outcome, ExtractError> {
        let config = &self.engine.config;
        let request = Request {
            model: None,
            messages,
            tools: &[],
            format: Some(self.prompt.format()),
            temperature: config.temperature,
            max_output_tokens: config.max_output_tokens,
        };
        // The deadline of the document limits waits.
        let retries = RetryPolicy { max_retries: config.max_retries, max_wait: Duration::MAX };
        match self.engine.client.complete(&request, retries, &self.budget).await {
            Ok(completion) => Ok(Outcome::Completion(completion)),
            Err(Error::Unusable(reason)) => Ok(Outcome::Unusable(reason.to_owned())),
            Err(Error::PromptTooLong) => Ok(Outcome::TooLong),
            Err(Error::Timeout) => Err(ExtractError::TimedOut),
            Err(Error::Transient { reason, retry_after, .. }) => Err(unavailable(reason, retry_after)),
            Err(error) => Err(unavailable(error.to_string(), None)),
        }
    }

    /// The images of the pages of a part that fit into one request; all of them if there is no text.
    fn images_of(&self, part: &Part, is_first: bool) -> Vec<&PageImage> {
        let pages = part.pages(self.view);
        let mut room = self.engine.config.max_image_bytes;
        let belongs = |image: &&PageImage| match pages {
            Some((first, last)) => (first..=last).contains(&image.page),
            None => is_first,
        };
        let fits = |image: &&PageImage| match room.checked_sub(image.bytes.len()) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        self.images.iter().filter(belongs).filter(fits).collect()
    }
}
