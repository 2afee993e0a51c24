//! The operator: reads and answers conversations, erases contacts, adds credits and changes keys.

use std::sync::Arc;

use conversations::Conversation;
use conversations::storage::{ConversationFilter, ConversationQuery};
use openapi_core::admin::{Admin, AdminError, CreditChange};
use openapi_core::audit::AuditAction;
use openapi_core::contacts::ContactRef;

use crate::executor::Simulation;
use crate::service::Service;
use crate::tenant::{Erased, TOP_UP, Tenant, operator};

pub struct Operator {
    pub service: Arc<Service>,
    pub tenant: Arc<Tenant>,
}

impl Operator {
    /// Works until `until`.
    pub async fn run(self, until: i64) {
        while self.simulation().now() < until {
            self.simulation().sleep(2_000 + self.simulation().below(15_000)).await;
            match self.simulation().below(8) {
                0..=1 => self.erase().await,
                2 => self.top_up().await,
                3 => self.rotate().await,
                4 => self.permit().await,
                _ => self.answer().await,
            }
        }
        // The agent answers what still waits.
        for conversation in self.conversations().await {
            self.change(&conversation, true).await;
        }
    }

    pub fn simulation(&self) -> &Simulation {
        &self.service.simulation
    }

    async fn conversations(&self) -> Vec<Conversation> {
        let agent = self.tenant.agent.clone();
        let listed = self.service.on_server(|server| async move {
            let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 100 };
            server.chat.conversations(&agent, &query).await
        });
        listed.await.and_then(Result::ok).map(|page| page.conversations).unwrap_or_default()
    }

    /// Replies in a conversation, or gives it back to the agent.
    async fn answer(&self) {
        let conversations = self.conversations().await;
        if conversations.is_empty() {
            return;
        }
        let at = self.simulation().below(conversations.len() as u64) as usize;
        let is_release = self.simulation().one_in(2);
        self.change(&conversations[at], is_release).await;
    }

    async fn change(&self, conversation: &Conversation, is_release: bool) {
        let (agent, id) = (self.tenant.agent.clone(), conversation.id);
        let text = format!("{} a person replies {}", self.tenant.mark, self.simulation().below(1_000));
        let done = self.service.on_server(|server| async move {
            match is_release {
                true => server.chat.release_conversation(&operator(), &agent, id).await.map(drop),
                false => {
                    server.chat.reply_to_conversation(&operator(), &agent, id, "Ada", &text).await.map(drop)
                }
            }
        });
        let done = done.await;
        // Giving back what the agent has leaves no entry.
        self.tenant.note(AuditAction::ConversationChange, !is_release && matches!(done, Some(Ok(()))));
        let outcome = match done {
            Some(Ok(())) => "done".to_owned(),
            Some(Err(error)) => error.to_string(),
            None => "unknown".to_owned(),
        };
        self.simulation().note(format!("{} operator: {outcome}", self.tenant.agent));
    }

    /// Adds credits.
    async fn top_up(&self) {
        let agent = self.tenant.agent.clone();
        let change = CreditChange::TopUp { credits: TOP_UP, note: None };
        let done = self.service.on_server(|server| async move {
            server.platform.change_credits(&operator(), &agent, &change).await.is_ok()
        });
        let done = done.await;
        self.tenant.note(AuditAction::CreditsChange, done == Some(true));
        self.simulation().note(format!("{} gets credits: {done:?}", self.tenant.agent));
    }

    /// Erases a contact whose creation was acknowledged.
    async fn erase(&self) {
        let target = {
            let contacts = self.tenant.contacts.lock();
            let known: Vec<(String, String)> = contacts
                .iter()
                .filter(|(_, known)| known.erased == Erased::No && !known.is_busy)
                .filter_map(|(external, known)| Some((external.clone(), known.id.clone()?)))
                .collect();
            match known.len() {
                0 => return,
                count => known[self.simulation().below(count as u64) as usize].clone(),
            }
        };
        let (external, id) = target;
        self.set(&external, Erased::Perhaps);
        let agent = self.tenant.agent.clone();
        let contact = ContactRef::Id(id.parse().expect("an id"));
        let erased = self.service.on_server(|server| async move {
            server.platform.erase_contact(&operator(), &agent, &contact).await
        });
        let erased = erased.await;
        self.tenant.note(AuditAction::ContactErase, matches!(erased, Some(Ok(_))));
        match erased {
            Some(Ok(_)) => self.set(&external, Erased::Yes),
            Some(Err(AdminError::NotFound { .. })) => panic!("{external} was lost before it was erased"),
            _ => {}
        }
        self.simulation().note(format!("{} erases {external}", self.tenant.agent));
    }

    fn set(&self, external: &str, erased: Erased) {
        self.tenant.contacts.lock().get_mut(external).expect("known").erased = erased;
    }
}
