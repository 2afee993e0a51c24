//! Trying an agent.

use conversations::admin::{Trial, TrialAnswer, TrialReply};
use conversations::{FoundPassage, Outcome};
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, Block, KnowledgeId, Line};

use super::inbox::Cited;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::failed;
use crate::input::input;
use crate::operation::{Access, Metadata, Operation, Traits};

input! {
    /// A question to an agent.
    AskAgent {
        "agent" Path agent: AgentId,
        "question" Body question: Block<4000>,
        "before" Body before: Option<Block<4000>> { "description": "The question before it, which a short one continues." },
        "locale" Body locale: Option<Line<35>> { "description": "The visitor's language, as a BCP 47 tag; `en` if it is left out." },
    }
}

/// A passage that a question finds.
pub struct PassageView(FoundPassage);

json_object! { PassageView as "FoundPassage" = |view| {
    "documentId": KnowledgeId = view.0.document,
    "title": String = view.0.title,
    "url": Option<String> = view.0.url,
    "headings": Vec<String> = view.0.headings,
    "page": Option<u32> = view.0.page,
    "text": String = view.0.text,
    "score": f64 { "description": "Comparable within one search only." } = rounded(view.0.score),
} }

/// A reply that is stored nowhere.
pub struct ReplyView(TrialReply);

json_object! { ReplyView as "TrialReply" = |view| {
    "text": String { "description": "Markdown." } = view.0.text,
    "outcome": Option<&'static str> {
        "enum": ["answered", "unsure", "small_talk", "unknown", "stopped", "queued", "limited", null],
        "description": "`null` of a reply that failed."
    } = view.0.outcome.map(outcome),
    "sources": Vec<Cited> = view.0.sources.iter().map(Cited::of).collect(),
    "error": Option<String> { "description": "Why it failed." } = view.0.error.map(|error| error.to_string()),
} }

/// What a question finds, and what the agent replies.
pub struct AnswerView {
    answer: TrialAnswer,
    millis: u64,
}

json_object! { AnswerView as "TrialAnswer" = |view| {
    "coverage": f64 { "description": "How sure it is that the best passages answer, 0 to 1." } = rounded(view.answer.found.coverage),
    "minCoverage": f64 { "description": "What the agent's settings ask for." } = rounded(view.answer.min_coverage),
    "hasDocuments": bool = view.answer.found.has_documents,
    "passages": Vec<PassageView> { "description": "Best first." } = view.answer.found.passages.iter().cloned().map(PassageView).collect::<Vec<_>>(),
    "reply": Option<ReplyView> { "description": "`null` where a model replies: a reply costs." } = view.answer.reply.clone().map(ReplyView),
    "millis": u64 = view.millis,
} }

/// Three digits after the point.
pub(super) fn rounded(share: f32) -> f64 {
    (f64::from(share) * 1_000.0).round() / 1_000.0
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Unsure => "unsure",
        Outcome::SmallTalk => "small_talk",
        Outcome::Unknown => "unknown",
        Outcome::Stopped => "stopped",
        Outcome::Queued => "queued",
        Outcome::Limited => "limited",
    }
}

/// `studio.ask`
pub struct Ask;

impl Operation for Ask {
    const METADATA: Metadata = Metadata {
        name: "studio.ask",
        summary: "Asks an agent a question as a visitor would, and shows what it finds. Nothing is stored or charged.",
        method: Method::Post,
        path: "/agents/{agent}/studio/ask",
        access: Access::Agent(Capability::StudioRead),
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::READ,
    };
    type Input = AskAgent;
    type Output = AnswerView;

    async fn run(cx: Context<'_>, input: AskAgent) -> Result<Reply<AnswerView>, ApiError> {
        let trial = Trial {
            question: input.question.to_string(),
            before: input.before.map(|before| before.to_string()),
            locale: input.locale.map_or_else(|| "en".to_owned(), |locale| locale.to_string()),
        };
        let began = cx.platform().now();
        let answer = cx.console.chat.try_question(&input.agent, trial).await.map_err(failed)?;
        let millis = u64::try_from(cx.platform().now().millis_since(began)).unwrap_or(0);
        Ok(Reply::ok("Question answered successfully", AnswerView { answer, millis }))
    }
}
