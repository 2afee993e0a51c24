//! An agent as the widget sees it: its settings, ready for use for some seconds.

use std::sync::Arc;

use super::{Inner, Visit, agent_not_available};
use crate::access::ApiSecret;
use crate::agents::{Agent, AgentStatus};
use crate::chat::AgentSettings;
use crate::platform::Platform;
use crate::reply::ApiError;
use crate::storage::{AgentRecordKind, StorageError, StorageErrorKind};
use crate::values::{AgentId, Timestamp};

use serde::{Deserialize, Serialize};

/// An agent with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentView {
    pub(super) agent: Agent,
    pub(super) settings: AgentSettings,
    /// Under which the page's server may vouch for visitors.
    pub(super) secrets: Vec<String>,
}

/// The identity secrets of an agent. They are made from a server key when they are needed, so that none is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::platform) struct IdentitySecrets {
    pub(in crate::platform) current: Option<SecretName>,
    pub(in crate::platform) previous: Option<SecretName>,
    /// Until when the previous one holds.
    pub(in crate::platform) previous_until: Option<Timestamp>,
}

/// What an identity secret is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::platform) struct SecretName {
    /// The id of the server key.
    pub(in crate::platform) key: String,
    /// Counts the secrets of the agent.
    pub(in crate::platform) number: u64,
}

impl Platform {
    /// The settings of an agent with their version; the built-in ones, version 0, where none were made.
    pub(in crate::platform) async fn agent_settings(
        &self,
        agent: &AgentId,
    ) -> Result<(AgentSettings, u64), StorageError> {
        let Some(record) = self.storage.agent_record(agent, AgentRecordKind::Settings).await? else {
            return Ok((AgentSettings::default(), 0));
        };
        match serde_json::from_str(record.body.as_str()) {
            Ok(settings) => Ok((settings, record.version)),
            Err(error) => {
                tracing::error!(%agent, %error, "stored settings cannot be read");
                Err(StorageErrorKind::Internal.into())
            }
        }
    }

    /// The identity secrets of an agent with the version of their record.
    pub(in crate::platform) async fn identity_secrets(
        &self,
        agent: &AgentId,
    ) -> Result<(IdentitySecrets, u64), StorageError> {
        let Some(record) = self.storage.agent_record(agent, AgentRecordKind::Identity).await? else {
            return Ok((IdentitySecrets::default(), 0));
        };
        let secrets = serde_json::from_str(record.body.as_str());
        secrets.map(|secrets| (secrets, record.version)).map_err(|_| StorageErrorKind::Internal.into())
    }

    /// The secret of a name; none when its server key is gone.
    pub(in crate::platform) fn identity_secret(&self, agent: &AgentId, name: &SecretName) -> Option<String> {
        let message = format!("{agent}\n{}", name.number);
        let octets = self.ports.server_keys.tag_with(&name.key, "identity secret", message.as_bytes());
        if octets.is_none() {
            tracing::warn!(%agent, key = name.key, "the server key of an identity secret is gone: make a new secret");
        }
        let octets = octets?;
        Some(ApiSecret::derived(self.brand.key_tag(), 'i', &octets))
    }
}

impl Inner {
    /// The agent, if it is there and not disabled: unknown, disabled and deleted ones are answered alike.
    pub(super) async fn view(&self, agent: &AgentId, visit: &mut Visit) -> Result<Arc<AgentView>, ApiError> {
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
        let platform = &self.platform;
        let agent = platform.storage.agent(id).await?;
        // The same work for an agent that is not there.
        let (settings, _) = platform.agent_settings(id).await?;
        let (identity, _) = platform.identity_secrets(id).await?;
        // Kept are only those that are served: whoever asks for another one waits for the same reads each time.
        let agent =
            agent.filter(|agent| agent.status == AgentStatus::Active).ok_or_else(agent_not_available)?;
        let previous = identity.previous.filter(|_| identity.previous_until.is_some_and(|until| until > now));
        let secrets = identity
            .current
            .iter()
            .chain(&previous)
            .filter_map(|name| platform.identity_secret(id, name))
            .collect();
        let view = AgentView { agent, settings, secrets };
        let same = view.clone();
        self.views.keep(id.clone(), now, |known| *known == same, || Ok(view))
    }
}
