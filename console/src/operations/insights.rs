//! What visitors ask that an agent cannot answer.

use conversations::Outcome;
use conversations::admin::{NearestPassage, OpenQuestionGroup, OpenQuestions, OpenQuestionsQuery};
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, Timestamp};
use serde_json::{Value, json};

use super::knowledge::metadata;
use super::studio::rounded;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::failed;
use crate::input::{Limit, Member, input};
use crate::operation::{Metadata, Operation};

const DAY_MILLIS: i64 = 24 * 3_600_000;

/// How many days back: 1 to 365, 30 when it is not said.
#[derive(Clone, Copy, Debug)]
pub struct Days(u32);

impl Member for Days {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        Days::of(u32::read(value)?)
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        Days::of(u32::read_text(text)?)
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1, "maximum": 365, "default": 30 })
    }

    fn absent() -> Option<Self> {
        Some(Days(30))
    }
}

impl Days {
    fn of(days: u32) -> Result<Self, ValidationIssue> {
        let wrong = || ValidationIssue::new(ValidationCode::Maximum, "must be 1 to 365");
        (1..=365).contains(&days).then_some(Days(days)).ok_or_else(wrong)
    }
}

/// How the reply to a question ended.
#[derive(Clone, Copy, Debug)]
pub struct OpenOutcome(Outcome);

const OUTCOMES: [(&str, Outcome); 2] = [("unanswered", Outcome::Unknown), ("unsure", Outcome::Unsure)];

impl Member for OpenOutcome {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let word = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
        let known = OUTCOMES.iter().find(|(known, _)| *known == word);
        let names = OUTCOMES.map(|(known, _)| known);
        known.map(|(_, outcome)| OpenOutcome(*outcome)).ok_or_else(|| ValidationIssue::not_one_of(&names))
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": OUTCOMES.map(|(known, _)| known) })
    }
}

input! {
    /// Which questions.
    ListQuestions {
        "agent" Path agent: AgentId,
        "days" Query days: Days { "description": "Only questions of the last so many days." },
        "outcome" Query outcome: Option<OpenOutcome> { "description": "Only questions that got no answer, or only those whose reply was not sure." },
        "limit" Query limit: Limit,
    }
}

/// The passage that is nearest to a question.
pub struct NearestView(NearestPassage);

json_object! { NearestView as "NearestPassage" = |view| {
    "documentId": KnowledgeId = view.0.passage.document,
    "title": String = view.0.passage.title,
    "headings": Vec<String> = view.0.passage.headings,
    "url": Option<String> = view.0.passage.url,
    "page": Option<u32> = view.0.passage.page,
    "confidence": f64 { "description": "How sure the search is that the passage answers the question, 0 to 1." } = rounded(view.0.confidence),
    "answers": bool { "description": "Whether that is enough for the agent to answer the question by now." } = view.0.is_enough,
} }

/// Questions that ask the same.
pub struct GroupView(OpenQuestionGroup);

json_object! { GroupView as "QuestionGroup" = |view| {
    "question": String { "description": "The most central question, up to 300 characters." } = view.0.question,
    "others": Vec<String> { "description": "Up to three others in other words." } = view.0.others,
    "count": u32 { "description": "How many times it was asked." } = view.0.count(),
    "unanswered": u32 = view.0.unanswered,
    "unsure": u32 = view.0.unsure,
    "conversations": u32 = view.0.conversations,
    "visitors": u32 = view.0.visitors,
    "languages": Vec<String> = view.0.languages,
    "lastAskedAt": Timestamp = view.0.last_asked_at,
    "lastConversationId": ConversationId = view.0.conversation,
    "nearest": Option<NearestView> { "description": "In the documents of today; `null` where there are none." } = view.0.nearest.clone().map(NearestView),
} }

/// The questions that an agent could not answer.
pub struct QuestionsView {
    found: OpenQuestions,
    since: Timestamp,
}

json_object! { QuestionsView as "OpenQuestions" = |view| {
    "groups": Vec<GroupView> { "description": "Those with the most questions first." } = view.found.groups.iter().cloned().map(GroupView).collect::<Vec<_>>(),
    "totalGroups": u64 = view.found.total as u64,
    "questions": u64 { "description": "How many questions all groups have." } = view.found.questions as u64,
    "since": Timestamp = view.since,
    "partial": bool { "description": "Whether a limit was reached, so that there may be older questions." } = view.found.is_partial,
    "groupedBy": &'static str { "enum": ["meaning", "words"] } = if view.found.is_by_meaning { "meaning" } else { "words" },
} }

/// `insights.questions`
pub struct Questions;

impl Operation for Questions {
    const METADATA: Metadata = metadata(
        "insights.questions",
        "Groups the newest 500 questions that an agent could not answer, or was not sure of, by what they ask. The audit log notes who has read them.",
        (Method::Get, "/agents/{agent}/insights/questions"),
        Capability::InsightsRead,
        &[],
        "insights questions --agent AGENT",
    );
    type Input = ListQuestions;
    type Output = QuestionsView;

    async fn run(cx: Context<'_>, input: ListQuestions) -> Result<Reply<QuestionsView>, ApiError> {
        let since = cx.platform().now().plus_millis(-i64::from(input.days.0) * DAY_MILLIS);
        let outcome = input.outcome.map(|OpenOutcome(outcome)| outcome);
        let query = OpenQuestionsQuery { since, outcome, groups: input.limit.0 as usize };
        let found = cx.console.chat.open_questions(&input.agent, &query).await.map_err(failed)?;
        // What visitors wrote was read. The metadata has no action, because nothing changes; a command on the server
        // notes it itself, unless its store is read-only.
        if cx.proof.is_some() {
            let (agent, resource) = (Some(&input.agent), Some(input.agent.to_string()));
            let action = AuditAction::ConversationRead;
            cx.platform().note(cx.actor, action, agent, resource, &Object::new()).await?;
        }
        Ok(Reply::ok("Questions grouped successfully", QuestionsView { found, since }))
    }
}
