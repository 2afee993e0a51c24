//! What an agent answers from.

use conversations::KnowledgeDocument;
use conversations::admin::NewPair;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{AgentId, Block, JobId, KnowledgeId, Line, Timestamp};
use serde_json::{Value, json};

use super::types::OneAgent;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::failed;
use crate::input::{Content, Member, OrNull, input};
use crate::operation::{Access, Metadata, Operation, Traits};

/// A document as operators see it.
pub struct DocumentView(KnowledgeDocument);

json_object! { DocumentView as "KnowledgeDocument" = |view| {
    "id": KnowledgeId = view.0.id,
    "fileName": String = view.0.file_name,
    "title": String = view.0.title,
    "url": Option<String> = view.0.url,
    "language": Option<String> = view.0.language,
    "contentType": String = view.0.content_type,
    "characters": u64 = view.0.characters,
    "pages": Option<u32> = view.0.pages,
    "passages": u32 = view.0.passages,
    "questions": Vec<String> { "description": "Of a question-and-answer pair the phrasings of its question; of other documents none." } = view.0.questions,
    "sourceId": Option<JobId> { "description": "The website that it is a page of." } = view.0.source,
    "createdAt": Timestamp = view.0.created_at,
    "updatedAt": Timestamp = view.0.updated_at,
} }

/// What the operations on sources of an agent's replies share.
pub(super) const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    needs: Capability,
    audit: &'static [AuditAction],
    command: &'static str,
) -> Metadata {
    let access = Access::Agent(needs);
    Metadata { name, summary, method, path, access, step_up: false, audit, command, traits: Traits::NONE }
}

/// `knowledge.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "knowledge.list",
        "Lists the documents that an agent answers from, by title.",
        (Method::Get, "/agents/{agent}/knowledge"),
        Capability::StudioRead,
        &[],
        "knowledge list --agent AGENT",
    );
    type Input = OneAgent;
    type Output = Vec<DocumentView>;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<Vec<DocumentView>>, ApiError> {
        let documents = cx.console.chat.knowledge(&input.agent).await.map_err(failed)?;
        let views = documents.into_iter().map(DocumentView).collect();
        Ok(Reply::ok("Documents retrieved successfully", views))
    }
}

input! {
    /// A text.
    AddText {
        "agent" Path agent: AgentId,
        "title" Body title: Line<200>,
        "text" Body text: Block<200000> { "description": "Markdown." },
        "url" Body url: Option<OrNull<Line<2000>>> { "description": "Where visitors can read it." },
        "language" Body language: Option<OrNull<Line<35>>> { "description": "A BCP 47 tag." },
    }
}

input! {
    /// A file.
    NewFile {
        "agent" Path agent: AgentId,
        "fileName" Query file_name: Line<255>,
        "title" Query title: Option<Line<200>> { "description": "Else that of the document, or the file's name." },
        "url" Query url: Option<Line<2000>>,
        "language" Query language: Option<Line<35>>,
        "content" Content content: Content {
            "description": "Markdown, HTML, plain text, PDF or DOCX, up to 25 MiB, as application/octet-stream."
        },
    }
}

/// What the operator says of a document.
struct Stated {
    title: Option<String>,
    url: Option<String>,
    language: Option<String>,
}

async fn add(
    cx: &Context<'_>,
    agent: &AgentId,
    file_name: &str,
    content: bytes::Bytes,
    stated: Stated,
) -> Result<Reply<DocumentView>, ApiError> {
    let Some(reader) = &cx.console.settings.reader else {
        return Err(ApiError::new(ErrorCode::NotPossible, "This console reads no documents"));
    };
    let mut new = reader.read(file_name, content).await.map_err(|reason| {
        let text = format!("'{file_name}' cannot be read: {reason}");
        ApiError::new(ErrorCode::NotPossible, text)
    })?;
    if let Some(title) = stated.title {
        new.title = title;
    }
    new.url = stated.url;
    new.language = stated.language;
    let document = cx.console.chat.add_knowledge(cx.actor, agent, new).await.map_err(failed)?;
    let mut reply = Reply::ok("Document added successfully", DocumentView(document));
    reply.status = 201;
    Ok(reply)
}

/// `knowledge.add`
pub struct Add;

impl Operation for Add {
    const METADATA: Metadata = metadata(
        "knowledge.add",
        "Adds a text, which replaces the one with the same title.",
        (Method::Post, "/agents/{agent}/knowledge"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeAdd],
        "knowledge add FILE --agent AGENT",
    );
    type Input = AddText;
    type Output = DocumentView;

    async fn run(cx: Context<'_>, input: AddText) -> Result<Reply<DocumentView>, ApiError> {
        let title = input.title.to_string();
        let name: String =
            title.chars().map(|it| if it == '/' || it == '\\' { '-' } else { it }).take(200).collect();
        let stated = Stated {
            title: Some(title),
            url: input.url.and_then(|OrNull(url)| url).map(|url| url.to_string()),
            language: input.language.and_then(|OrNull(tag)| tag).map(|tag| tag.to_string()),
        };
        let content = bytes::Bytes::from(input.text.to_string().into_bytes());
        add(&cx, &input.agent, &format!("{name}.md"), content, stated).await
    }
}

/// `knowledge.addFile`
pub struct AddFile;

impl Operation for AddFile {
    const METADATA: Metadata = metadata(
        "knowledge.addFile",
        "Adds a file, which replaces the one with the same name.",
        (Method::Post, "/agents/{agent}/knowledge/files"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeAdd],
        "knowledge add FILE --agent AGENT",
    );
    type Input = NewFile;
    type Output = DocumentView;

    async fn run(cx: Context<'_>, input: NewFile) -> Result<Reply<DocumentView>, ApiError> {
        let stated = Stated {
            title: input.title.map(|title| title.to_string()),
            url: input.url.map(|url| url.to_string()),
            language: input.language.map(|tag| tag.to_string()),
        };
        add(&cx, &input.agent, input.file_name.as_str(), input.content.0, stated).await
    }
}

/// The most phrasings of a question.
const MAX_QUESTIONS: usize = 20;

/// The phrasings of a question.
#[derive(Clone, Debug)]
pub struct Questions(Vec<Line<500>>);

impl Member for Questions {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let Json::Array(items) = value else {
            return Err(ValidationIssue::wrong_type("an array of strings"));
        };
        match items.len() {
            0 => Err(ValidationIssue::new(ValidationCode::MinItems, "must have at least one question")),
            1..=MAX_QUESTIONS => items.iter().map(Line::read).collect::<Result<_, _>>().map(Questions),
            _ => {
                let text = format!("must have at most {MAX_QUESTIONS} questions");
                Err(ValidationIssue::new(ValidationCode::MaxItems, text))
            }
        }
    }

    fn schema() -> Value {
        json!({ "type": "array", "minItems": 1, "maxItems": MAX_QUESTIONS, "items": Line::<500>::schema() })
    }
}

input! {
    /// A question-and-answer pair.
    NewQuestions {
        "agent" Path agent: AgentId,
        "questions" Body questions: Questions { "description": "Phrasings of the question. The first one names the pair." },
        "answer" Body answer: Block<4000> { "description": "Markdown." },
        "title" Body title: Option<OrNull<Line<200>>> { "description": "What visitors see as the source; else the first question." },
        "url" Body url: Option<OrNull<Line<2000>>> { "description": "Where visitors can read more." },
        "language" Body language: Option<OrNull<Line<35>>> { "description": "A BCP 47 tag." },
    }
}

/// `knowledge.teach`
pub struct Teach;

impl Operation for Teach {
    const METADATA: Metadata = metadata(
        "knowledge.teach",
        "Teaches an agent the answer to a question, which replaces the one of the same first question.",
        (Method::Post, "/agents/{agent}/knowledge/pairs"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeAdd],
        "knowledge teach --agent AGENT --question QUESTION --answer ANSWER",
    );
    type Input = NewQuestions;
    type Output = DocumentView;

    async fn run(cx: Context<'_>, input: NewQuestions) -> Result<Reply<DocumentView>, ApiError> {
        let pair = NewPair {
            questions: input.questions.0.iter().map(ToString::to_string).collect(),
            answer: input.answer.to_string(),
            title: input.title.and_then(|OrNull(title)| title).map(|title| title.to_string()),
            url: input.url.and_then(|OrNull(url)| url).map(|url| url.to_string()),
            language: input.language.and_then(|OrNull(tag)| tag).map(|tag| tag.to_string()),
        };
        let document = cx.console.chat.teach(cx.actor, &input.agent, pair).await.map_err(failed)?;
        let mut reply = Reply::ok("Answer taught successfully", DocumentView(document));
        reply.status = 201;
        Ok(reply)
    }
}

input! {
    /// A document.
    OneDocument {
        "agent" Path agent: AgentId,
        "document" Path document: KnowledgeId,
    }
}

/// `knowledge.remove`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = metadata(
        "knowledge.remove",
        "Removes a document.",
        (Method::Delete, "/agents/{agent}/knowledge/{document}"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeRemove],
        "knowledge remove DOC --agent AGENT",
    );
    type Input = OneDocument;
    type Output = DocumentView;

    async fn run(cx: Context<'_>, input: OneDocument) -> Result<Reply<DocumentView>, ApiError> {
        let removed = cx.console.chat.remove_knowledge(cx.actor, &input.agent, input.document).await;
        Ok(Reply::ok("Document removed successfully", DocumentView(removed.map_err(failed)?)))
    }
}
