//! The ports of the chat, in addition to those of the platform.

use std::sync::Arc;

use openapi_core::ports::Spawner;
use openapi_core::values::AgentId;

use crate::grouper::{AskedText, GroupedQuestions, QuestionGrouper};
use crate::{ChatResponder, Question, RetrieveError, Retrieved, Retriever};

/// The most passages that a responder receives.
const PASSAGES: usize = 12;

/// The responders, the retriever, the grouper and the spawner of a chat.
#[derive(Clone, Default)]
pub struct ChatPorts {
    /// The responders, which an agent's settings select by name.
    pub responders: Vec<Arc<dyn ChatResponder>>,
    /// Finds the passages for a question.
    pub retriever: Option<Arc<dyn Retriever>>,
    /// Groups the questions that the agent could not answer, for its operator.
    pub grouper: Option<Arc<dyn QuestionGrouper>>,
    /// Runs replies independently of their connections. Without it, a lost connection ends its reply.
    pub tasks: Option<Arc<dyn Spawner>>,
}

impl ChatPorts {
    /// Ports without a responder.
    #[must_use]
    pub fn new() -> Self {
        ChatPorts::default()
    }

    /// Adds a responder.
    #[must_use]
    pub fn with_responder(mut self, responder: Arc<dyn ChatResponder>) -> Self {
        self.responders.push(responder);
        self
    }

    /// Sets the retriever.
    #[must_use]
    pub fn with_retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// Sets what groups questions.
    #[must_use]
    pub fn with_grouper(mut self, grouper: Arc<dyn QuestionGrouper>) -> Self {
        self.grouper = Some(grouper);
        self
    }

    /// The groups of questions; without a grouper each question is one.
    pub(crate) async fn group(&self, questions: &[AskedText]) -> GroupedQuestions {
        match &self.grouper {
            Some(grouper) => grouper.group(questions).await,
            None => GroupedQuestions::apart(questions),
        }
    }

    /// The passages for a question to an agent; none without a retriever.
    pub(crate) async fn retrieve(
        &self,
        agent: &AgentId,
        question: &Question,
    ) -> Result<Retrieved, RetrieveError> {
        match &self.retriever {
            Some(retriever) => retriever.retrieve(agent, question, PASSAGES).await,
            None => Ok(Retrieved::default()),
        }
    }

    /// Sets the spawner that runs replies.
    #[must_use]
    pub fn with_spawner(mut self, tasks: Arc<dyn Spawner>) -> Self {
        self.tasks = Some(tasks);
        self
    }
}
