//! The model engine: any endpoint that speaks the chat-completions protocol, asked for values and held to the document.
//!
//! A model is asked for every value with the words that say it (`shape`, `prompt`); long documents in parts (`parts`).
//! What it answers is read however loosely it is written (`protocol`, `answer`), brought into the form of the field's
//! type by the rules of the built-in engine (`convert`), and looked for in the document (`locate`, `evidence`): where
//! it stands there, and how exactly, is its confidence. What a model says of itself counts for nothing.
//!
//! Document and guidance are data: the shape of the findings is that of the schema, whatever either of them says.

mod answer;
mod client;
mod config;
mod convert;
mod evidence;
mod locate;
mod merge;
mod parts;
mod prompt;
mod protocol;
mod shape;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use openapi_core::extraction::{ExtractError, ExtractionSchema, ExtractionWarning, Finding};
pub use reqwest::Url;
use serde_json::Value;

use self::answer::Raw;
use self::client::{Budget, Client, Reply, unavailable};
pub use self::config::{EndpointKey, ModelConfig, ModelConfigError, Structured};
use self::evidence::Witness;
use self::merge::Located;
use self::parts::Part;
use self::prompt::Prompt;
use self::protocol::{Dialect, Said};
use super::builtin::view::View;
use crate::document::{Document, Picture};

/// What the engine found.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// One finding for each field of the schema, in its order and of its shape.
    pub findings: Vec<Finding>,
    /// What concerns the document as a whole.
    pub warnings: Vec<ExtractionWarning>,
    /// The language of the text (ISO 639-1), where it could be told.
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
    pub prompt_tokens: u64,
    /// Tokens of their answers.
    pub answer_tokens: u64,
}

/// What an endpoint is known to take.
#[derive(Clone, Copy, Debug)]
struct Known {
    dialect: Dialect,
    /// Whether it has answered in this dialect. What it refuses once it has is refused for the one request.
    is_proved: bool,
}

/// An engine on an endpoint. It is meant to be shared: it keeps connections, and what the endpoint was found to take.
pub struct ModelEngine {
    client: Client,
    config: ModelConfig,
    known: Mutex<Known>,
}

impl std::fmt::Debug for ModelEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEngine").field("config", &self.config).finish_non_exhaustive()
    }
}

/// What one document is asked with.
struct Inquiry<'a> {
    engine: &'a ModelEngine,
    view: &'a View<'a>,
    schema: &'a ExtractionSchema,
    prompt: Prompt<'a>,
    pictures: &'a [Picture],
    budget: Budget,
}

/// What a model said about a part.
struct Heard {
    part: Part,
    raw: Vec<Raw>,
    prompt_tokens: u64,
    answer_tokens: u64,
}

/// One answer of a model.
enum Outcome {
    Said(Said),
    /// It cannot be used, for a reason.
    Unusable(String),
    /// The request has more text than the model takes.
    TooLong,
}

impl ModelEngine {
    /// An engine on an endpoint. Nothing is asked yet.
    ///
    /// # Errors
    /// What [`ModelConfigError`] says.
    pub fn new(config: ModelConfig) -> Result<Self, ModelConfigError> {
        config.check()?;
        let client = Client::new(&config)?;
        let known = Known { dialect: Dialect::first(config.structured), is_proved: false };
        Ok(ModelEngine { client, config, known: Mutex::new(known) })
    }

    /// The name under which the engine answers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Bytes of the images of pages that are of use to it in one request; 0 where it takes none.
    #[must_use]
    pub fn image_bytes(&self) -> usize {
        if self.config.images { self.config.image_bytes } else { 0 }
    }

    /// Finds the values of a schema's fields within `patience`. A document without text is not asked about, unless the
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
        pictures: &[Picture],
        schema: &ExtractionSchema,
        instructions: Option<&str>,
        patience: Duration,
    ) -> Result<Answer, ExtractError> {
        let view = View::new(document);
        let pictures = if self.config.images { pictures } else { &[] };
        let mut warnings = Vec::new();
        if view.is_empty() {
            warnings.push(ExtractionWarning::NoText);
        }
        if evidence::lacks_recognition(document) {
            warnings.push(ExtractionWarning::OcrUnavailable);
        }
        if view.is_empty() && pictures.is_empty() {
            let findings = vec![Finding::Absent; schema.fields().len()];
            return Ok(Answer { findings, warnings, language: None, effort: Effort::default() });
        }
        let shape = shape::of(schema);
        let most = self.config.part_characters;
        let parts = Part::all(&view, most);
        let texts: Vec<String> = parts.iter().map(|part| part.text(&view, most)).collect();
        let guidance = instructions.map(str::trim).filter(|text| !text.is_empty());
        let all: Vec<&str> = texts.iter().map(String::as_str).chain(guidance).collect();
        let inquiry = Inquiry {
            engine: self,
            view: &view,
            schema,
            prompt: Prompt { schema: &shape, guidance, mark: prompt::mark(&all) },
            pictures,
            budget: Budget::new(self.config.requests, patience),
        };
        let count = parts.len();
        let asked = stream::iter(parts.into_iter().enumerate())
            .map(|(nth, part)| inquiry.part(part, (nth + 1, count)))
            .buffered(self.config.parallel)
            .try_collect::<Vec<Vec<Heard>>>();
        let heard = tokio::time::timeout_at(inquiry.budget.deadline(), asked)
            .await
            .map_err(|_| ExtractError::TimedOut)??;
        let witness = Witness::new(&view, schema);
        let mut effort = Effort { requests: inquiry.budget.used(self.config.requests), ..Effort::default() };
        let mut fields = vec![Located::Absent; schema.fields().len()];
        for heard in heard.into_iter().flatten() {
            effort.prompt_tokens += heard.prompt_tokens;
            effort.answer_tokens += heard.answer_tokens;
            let located = witness.hear(schema, heard.part.span(&view), heard.raw);
            fields = fields.into_iter().zip(located).map(|(first, later)| first.merged(later)).collect();
        }
        let findings = fields.into_iter().map(Located::finding).collect();
        Ok(Answer { findings, warnings, language: witness.language(), effort })
    }

    fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the dialect of a request that was answered. A mode that has worked is not given up for one schema
    /// that the endpoint does not take in it.
    fn learn(&self, dialect: Dialect) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = if known.is_proved { known.dialect.mode } else { dialect.mode };
        *known = Known { dialect: Dialect { mode, ..dialect }, is_proved: true };
    }
}

impl Inquiry<'_> {
    /// Asks about a part; where it or the answer is too long for the model, about its halves.
    async fn part(&self, part: Part, of: (usize, usize)) -> Result<Vec<Heard>, ExtractError> {
        let mut waiting = vec![part];
        let mut heard = Vec::new();
        while let Some(part) = waiting.pop() {
            match self.answer(&part, of).await? {
                Some(answer) => heard.push(answer),
                None => match part.halves(self.view) {
                    Some([first, second]) => waiting.extend([second, first]),
                    None => {
                        let reason = "the model takes less text than the smallest part of a document";
                        return Err(unavailable(reason.to_owned(), None));
                    }
                },
            }
        }
        Ok(heard)
    }

    /// The answer about a part, repaired once where it has to be; none where it is to be asked about in halves.
    async fn answer(&self, part: &Part, of: (usize, usize)) -> Result<Option<Heard>, ExtractError> {
        let text = part.text(self.view, self.engine.config.part_characters);
        let pictures = self.pictures_of(part, of.0 == 1);
        let can_halve = part.halves(self.view).is_some();
        let mut unusable: Option<(Option<String>, String)> = None;
        loop {
            let outcome = self
                .ask(|mode| {
                    let mut messages = self.prompt.messages(mode, &text, &pictures, of);
                    if let Some((answer, fault)) = &unusable {
                        messages.extend(prompt::repair(answer.as_deref(), fault));
                    }
                    messages
                })
                .await?;
            let (answer, fault) = match outcome {
                Outcome::TooLong => return Ok(None),
                Outcome::Unusable(fault) => (None, fault),
                Outcome::Said(said) => match answer::read(self.schema, &said.text) {
                    Ok(raw) => {
                        let Said { prompt_tokens, answer_tokens, .. } = said;
                        return Ok(Some(Heard { part: part.clone(), raw, prompt_tokens, answer_tokens }));
                    }
                    Err(_) if said.is_cut && can_halve => return Ok(None),
                    Err(_) if said.is_cut => (None, "it is longer than the limit of tokens".to_owned()),
                    Err(fault) => (Some(said.text), fault),
                },
            };
            if unusable.is_some() {
                return Err(ExtractError::BadAnswer(fault));
            }
            unusable = Some((answer, fault));
        }
    }

    /// Asks in the dialect that the endpoint is known to take, and in others where it refuses that.
    async fn ask(&self, messages: impl Fn(Structured) -> Vec<Value>) -> Result<Outcome, ExtractError> {
        let config = &self.engine.config;
        let mut dialect = self.engine.known().dialect;
        loop {
            let body = protocol::request(
                dialect,
                &config.model,
                &messages(dialect.mode),
                self.prompt.schema,
                config.answer_tokens,
                config.temperature,
            );
            match self.engine.client.ask(&body, &self.budget).await? {
                Reply::Body(body) => {
                    self.engine.learn(dialect);
                    let said = protocol::said(&body);
                    return Ok(said.map_or_else(|fault| Outcome::Unusable(fault.to_owned()), Outcome::Said));
                }
                Reply::TooLarge => return Ok(Outcome::Unusable("it has too many bytes".to_owned())),
                Reply::Refused(refusal) if refusal.is_too_long() => return Ok(Outcome::TooLong),
                Reply::Refused(refusal) => {
                    dialect = dialect.next(&refusal, config.structured == Structured::Auto).ok_or_else(|| {
                        let reason = format!(
                            "the endpoint refuses the request ({}); check the name of the model and what it takes",
                            refusal.shown()
                        );
                        unavailable(reason, None)
                    })?;
                }
            }
        }
    }

    /// The images of the pages of a part that one request may have; all of them where there is no text.
    fn pictures_of(&self, part: &Part, is_first: bool) -> Vec<&Picture> {
        let pages = part.pages(self.view);
        let mut room = self.engine.config.image_bytes;
        let belongs = |picture: &&Picture| match pages {
            Some((first, last)) => (first..=last).contains(&picture.page),
            None => is_first,
        };
        let fits = |picture: &&Picture| match room.checked_sub(picture.bytes.len()) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        self.pictures.iter().filter(belongs).filter(fits).collect()
    }
}
