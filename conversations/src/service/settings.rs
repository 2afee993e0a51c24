//! An agent as the widget sees it: its settings, ready for use for some seconds.

use std::sync::Arc;

use openapi_core::agents::AgentStatus;
use openapi_core::reply::ApiError;
use openapi_core::values::{AgentId, Timestamp};

use super::agent_view::AgentView;
use super::call::WidgetRequest;
use super::errors::agent_not_available;
use super::state::Inner;

impl Inner {
    /// The agent, if it is there and not disabled: unknown, disabled and deleted ones are answered alike.
    pub(super) async fn view(
        &self,
        agent: &AgentId,
        visit: &mut WidgetRequest,
    ) -> Result<Arc<AgentView>, ApiError> {
        let view = match self.views.fresh(agent, visit.now) {
            Some(view) => view,
            None => self.read_view(agent, visit.now).await?,
        };
        if view.agent.status != AgentStatus::Active {
            return Err(agent_not_available());
        }
        visit.agent = Some(agent.clone());
        Ok(view)
    }

    async fn read_view(&self, id: &AgentId, now: Timestamp) -> Result<Arc<AgentView>, ApiError> {
        let agent = self.storage.agent(id).await?;
        // The same work for an agent that is not there.
        let (settings, _) = self.conversations.stored_settings(id).await?;
        let (identity, _) = self.conversations.stored_secrets(id).await?;
        // Only agents that are served are cached; for any other agent, each call reads the store.
        let agent =
            agent.filter(|agent| agent.status == AgentStatus::Active).ok_or_else(agent_not_available)?;
        let previous = identity.previous.filter(|_| identity.previous_until.is_some_and(|until| until > now));
        let secrets = identity
            .current
            .iter()
            .chain(&previous)
            .filter_map(|name| self.conversations.identity_secret(id, name))
            .collect();
        let view = AgentView { agent, settings, secrets };
        let same = view.clone();
        self.views.keep(id.clone(), now, |known| *known == same, || Ok(view))
    }
}
