//! Trials: an operator asks an agent a question, and nothing is stored.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use openapi_core::admin::AdminError;
use openapi_core::agents::Agent;
use openapi_core::ports::timeout;
use openapi_core::values::{AgentId, ConversationId};

use crate::admin::{Trial, TrialAnswer, TrialReply};
use crate::conversations::Conversations;
use crate::{
    AgentSettings, ChatAgent, ChatError, ChatEvent, ChatLine, ChatResponder, ChatTurn, ChatVisitor, Question,
    RetrieveError, Retrieved, Speaker, TokenBudget, Usage,
};

/// How long a reply may take.
const REPLY_MILLIS: u64 = 30_000;
/// The most bytes of a reply.
const MAX_REPLY: usize = 64 * 1024;

impl Conversations {
    /// Answers a question as a visitor without a conversation would be answered. Nothing is stored, counted or charged,
    /// so a responder that is paid for is not called.
    ///
    /// # Errors
    /// As the other methods of the operator's side.
    pub async fn try_question(&self, agent: &AgentId, trial: Trial) -> Result<TrialAnswer, AdminError> {
        let agent = self.platform.living_agent(agent).await?;
        let (settings, _) = self.stored_settings(&agent.id).await?;
        let question = Question { text: trial.question, before: trial.before, locale: trial.locale.clone() };
        let found = self.ports.retrieve(&agent.id, &question).await.map_err(|error| match error {
            RetrieveError::Storage(error) => AdminError::from(error),
        })?;
        let min_coverage = settings.chat.min_coverage;
        let name = settings.chat.responder.clone();
        let turn = self.trial_turn(&agent, &settings, &question, found.clone());
        let responder = self.ports.responders.iter().find(|responder| responder.name() == name);
        let reply = match responder {
            Some(responder) if responder.most(&turn) == Usage::default() => {
                let timer = &*self.platform.ports().timer;
                let late = TrialReply { error: Some(ChatError::Timeout), ..TrialReply::default() };
                Some(timeout(timer, REPLY_MILLIS, reply(&**responder, turn)).await.unwrap_or(late))
            }
            Some(_) => None,
            None => Some(TrialReply { error: Some(ChatError::Unavailable), ..TrialReply::default() }),
        };
        Ok(TrialAnswer { found, min_coverage, reply })
    }

    fn trial_turn(
        &self,
        agent: &Agent,
        settings: &AgentSettings,
        question: &Question,
        found: Retrieved,
    ) -> ChatTurn {
        let now = self.platform.now();
        let id = self.platform.ports().ids.platform_id(now);
        let before = question.before.iter().map(String::as_str);
        let history = before.chain([question.text.as_str()]);
        ChatTurn {
            agent: ChatAgent::of(agent, settings),
            conversation: ConversationId::from(id),
            turn: id.to_string(),
            history: history
                .map(|text| ChatLine { speaker: Speaker::Visitor, text: text.to_owned() })
                .collect(),
            visitor: ChatVisitor { locale: question.locale.clone(), ..ChatVisitor::default() },
            found,
            can_offer_form: !settings.lead.fields.is_empty(),
            form_fields: settings.lead.fields.clone(),
            budget: TokenBudget::default(),
            now,
            deadline: now.plus_millis(i64::try_from(REPLY_MILLIS).unwrap_or(i64::MAX)),
        }
    }
}

/// The whole reply of a responder. One that panics has failed.
async fn reply(responder: &dyn ChatResponder, turn: ChatTurn) -> TrialReply {
    let mut reply = TrialReply::default();
    let failed = |error| TrialReply { error: Some(error), ..TrialReply::default() };
    let Ok(mut events) = catch_unwind(AssertUnwindSafe(|| responder.respond(turn))) else {
        return failed(ChatError::Internal);
    };
    loop {
        let event = poll_fn(|cx| {
            catch_unwind(AssertUnwindSafe(|| events.as_mut().poll_next(cx)))
                .unwrap_or(Poll::Ready(Some(ChatEvent::Error(ChatError::Internal))))
        });
        match event.await {
            Some(ChatEvent::Delta(text)) => {
                let room = MAX_REPLY.saturating_sub(reply.text.len());
                reply.text.push_str(&text[..text.floor_char_boundary(room)]);
            }
            Some(ChatEvent::Replace(text)) => {
                reply.text = text[..text.floor_char_boundary(MAX_REPLY)].to_owned();
            }
            Some(ChatEvent::Done { outcome, sources, .. }) => {
                return TrialReply { outcome: Some(outcome), sources, ..reply };
            }
            Some(ChatEvent::Error(error)) => return TrialReply { error: Some(error), ..reply },
            Some(_) => {}
            None => return failed(ChatError::Internal),
        }
    }
}
