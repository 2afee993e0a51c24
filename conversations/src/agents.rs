//! What is stored of an agent for its chat: settings, and what its identity secrets are made from.

use openapi_core::access::ApiSecret;
use openapi_core::storage::{RecordKind, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::AgentSettings;
use crate::conversations::Conversations;

/// The identity secrets of an agent. They are made from a server key when they are needed, so that none is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct IdentitySecrets {
    pub(crate) current: Option<SecretName>,
    pub(crate) previous: Option<SecretName>,
    /// Until when the previous one holds.
    pub(crate) previous_until: Option<Timestamp>,
}

/// What an identity secret is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretName {
    /// The id of the server key.
    pub(crate) key: String,
    /// Counts the secrets of the agent.
    pub(crate) number: u64,
}

impl Conversations {
    /// The settings of an agent with their version; the built-in ones, version 0, where none were made.
    pub(crate) async fn stored_settings(
        &self,
        agent: &AgentId,
    ) -> Result<(AgentSettings, u64), StorageError> {
        let Some(record) = self.storage.record(agent, RecordKind::Settings).await? else {
            return Ok((AgentSettings::default(), 0));
        };
        match serde_json::from_str(record.body.as_str()) {
            Ok(settings) => Ok((settings, record.version)),
            Err(error) => {
                tracing::error!(%agent, %error, "failed to read stored settings");
                Err(StorageErrorKind::Internal.into())
            }
        }
    }

    /// The identity secrets of an agent with the version of their record.
    pub(crate) async fn stored_secrets(
        &self,
        agent: &AgentId,
    ) -> Result<(IdentitySecrets, u64), StorageError> {
        let Some(record) = self.storage.record(agent, RecordKind::Identity).await? else {
            return Ok((IdentitySecrets::default(), 0));
        };
        let secrets = serde_json::from_str(record.body.as_str());
        secrets.map(|secrets| (secrets, record.version)).map_err(|_| StorageErrorKind::Internal.into())
    }

    /// The secret of a name; none when its server key is gone.
    pub(crate) fn identity_secret(&self, agent: &AgentId, name: &SecretName) -> Option<String> {
        let message = format!("{agent}\n{}", name.number);
        let bytes =
            self.platform.ports().server_keys.tag_with(&name.key, "identity secret", message.as_bytes());
        if bytes.is_none() {
            tracing::warn!(%agent, key = name.key, "the server key of an identity secret no longer exists: create a new secret");
        }
        let bytes = bytes?;
        Some(ApiSecret::derived(self.platform.service_info().api_key_prefix(), 'i', &bytes))
    }
}
