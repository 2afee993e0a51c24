//! Builds the input of a responder: the passages, the history and the visitor.

use openapi_core::contacts::ContactRef;
use openapi_core::storage::StorageError;
use openapi_core::values::Timestamp;

use super::Replies;
use super::reply::Job;
use crate::storage::{MessageQuery, MessageSelector};
use crate::{ChatAgent, ChatLine, ChatTurn, ChatVisitor, Message, Question, Retrieved, Speaker, TokenBudget};

/// The most lines of history that a responder receives.
const HISTORY: u32 = 20;
/// The most bytes of history that a responder receives: about 4,000 tokens.
const HISTORY_BYTES: usize = 12_000;

impl Replies {
    /// Builds the input of a responder.
    pub(super) async fn chat_turn(
        &self,
        job: &Job,
        budget: TokenBudget,
        deadline: Timestamp,
    ) -> Result<ChatTurn, StorageError> {
        let (view, conversation) = (&job.view, &job.conversation);
        let agent = &view.agent.id;
        let which = MessageSelector::Before(job.question.seq);
        let query = MessageQuery { conversation: conversation.id, which, limit: HISTORY - 1 };
        let before = self.repository.storage.messages(agent, &query).await?;
        let last_question = before.iter().rev().find(|message| message.role == Speaker::Visitor);
        let question = Question {
            text: job.question.text.clone(),
            before: last_question.map(|message| message.text.clone()),
            locale: conversation.locale.clone(),
        };
        let found = self.ports.retrieve(agent, &question).await.unwrap_or_else(|error| {
            tracing::warn!(%agent, %error, "failed to search the documents of an agent");
            Retrieved::default()
        });
        let mut history: Vec<ChatLine> = Vec::new();
        let mut left = HISTORY_BYTES;
        for message in std::iter::once(&job.question).chain(before.iter().rev()) {
            let text = line(message);
            if !history.is_empty() && text.len() > left {
                break;
            }
            left = left.saturating_sub(text.len());
            history.push(ChatLine { speaker: message.role, text });
        }
        history.reverse();
        let now = self.repository.platform.now();
        Ok(ChatTurn {
            agent: ChatAgent::of(&view.agent, &view.settings),
            conversation: conversation.id,
            turn: job.turn.clone(),
            history,
            visitor: ChatVisitor {
                level: conversation.level_at(now),
                fields: self.released(job, now).await?,
                locale: conversation.locale.clone(),
                time_zone: conversation.time_zone.clone(),
                page: conversation.page.clone(),
                metadata: conversation.metadata.clone(),
            },
            found,
            can_offer_form: view.can_offer_form(conversation),
            form_fields: view.settings.lead.fields.clone(),
            budget,
            now,
            deadline,
        })
    }

    /// The fields of a verified visitor's contact that the operator releases.
    async fn released(&self, job: &Job, now: Timestamp) -> Result<Vec<(String, String)>, StorageError> {
        let names = &job.view.settings.chat.llm.released_fields;
        let contact = job.conversation.contact_id.filter(|_| job.conversation.level_at(now) == 2);
        let Some(contact) = contact.filter(|_| !names.is_empty()) else { return Ok(Vec::new()) };
        let agent = &job.view.agent.id;
        let Some(contact) = self.repository.storage.contact(agent, &ContactRef::Id(contact)).await? else {
            return Ok(Vec::new());
        };
        let Ok(members) = serde_json::to_value(&contact) else { return Ok(Vec::new()) };
        let value = |name: &str| match name.strip_prefix("customFields.") {
            Some(name) => members.get("customFields").and_then(|custom| custom.get(name)),
            None => members.get(name),
        };
        let released = names.iter().filter_map(|name| {
            let value = value(name).filter(|value| !value.is_null())?;
            Some((name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        });
        Ok(released.collect())
    }
}

/// A message as a responder reads it: its text and the names of its files.
fn line(message: &Message) -> String {
    let mut line = message.text.clone();
    for upload in &message.uploads {
        let blank = if line.is_empty() { "" } else { "\n" };
        line.push_str(&format!("{blank}[{}]", upload.name));
    }
    line
}
