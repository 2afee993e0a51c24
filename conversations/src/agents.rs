//! The stored settings of an agent's chat, and the names of its identity secrets.

use openapi_core::access::ApiSecret;
use openapi_core::storage::{RecordKind, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::AgentSettings;
use crate::conversations::Conversations;

/// The identity secrets of an agent. They are derived from a server key when they are needed, so none is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct IdentitySecrets {
    pub(crate) current: Option<SecretName>,
    pub(crate) previous: Option<SecretName>,
    /// When the previous one expires.
    pub(crate) previous_until: Option<Timestamp>,
}

/// What an identity secret is derived from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretName {
    /// The id of the server key.
    pub(crate) key: String,
    /// Counts the secrets of the agent.
    pub(crate) number: u64,
}

impl Conversations {
    /// The settings of an agent with their version; the built-in ones, version 0, if there are none.
    pub(crate) async fn stored_settings(
        &self,
        agent: &AgentId,
    ) -> Result<(AgentSettings, u64), StorageError> {
        self.stored(agent, RecordKind::Settings).await
    }

    /// The identity secrets of an agent with the version of their record.
    pub(crate) async fn stored_secrets(
        &self,
        agent: &AgentId,
    ) -> Result<(IdentitySecrets, u64), StorageError> {
        self.stored(agent, RecordKind::Identity).await
    }

    async fn stored<T: Default + DeserializeOwned>(
        &self,
        agent: &AgentId,
        kind: RecordKind,
    ) -> Result<(T, u64), StorageError> {
        let Some(record) = self.storage.record(Some(agent), &kind.into()).await? else {
            return Ok((T::default(), 0));
        };
        let read = serde_json::from_str(record.body.as_str());
        read.map(|value| (value, record.version)).map_err(|error| {
            tracing::error!(%agent, ?kind, %error, "failed to read a stored record");
            StorageErrorKind::Internal.into()
        })
    }

    /// The secret of a name; [`None`] if its server key no longer exists.
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
