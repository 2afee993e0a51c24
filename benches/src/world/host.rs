//! A platform over a store, configured like the reference server: the system's clock and randomness, one agent, keys.

use std::sync::Arc;

use conversations::storage::ConversationStorage;
use openapi_core::access::{Actor, Permissions, RateLimits};
use openapi_core::admin::{Admin, AdminError, NewAgent, NewKey};
use openapi_core::api::{Api, Settings};
use openapi_core::contacts::ContactRef;
use openapi_core::forms::FormTemplate;
use openapi_core::json::Object;
use openapi_core::platform::{Platform, Ports};
use openapi_core::schema::CompiledSchema;
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::AgentId;
use serde::{Deserialize, Serialize};
use server_hyper::ports::{SystemClock, SystemRandom};

use super::write_of;
use crate::report::Failure;

/// The server key of every benchmark, so that stored data stays readable. It protects nothing.
pub(crate) const SERVER_KEY_HEX: &str = "4242424242424242424242424242424242424242424242424242424242424242";

/// Keys created concurrently.
const KEYS_AT_ONCE: usize = 256;

/// A key with its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Credentials {
    /// The value of `X-API-Key`.
    pub(crate) key: String,
    /// The value of `X-API-Secret`.
    pub(crate) secret: String,
}

/// A platform over a store.
pub(crate) struct Host {
    platform: Arc<Platform>,
    storage: Arc<dyn ConversationStorage>,
}

/// The names of the benchmarked service.
pub(crate) fn service_info() -> Result<ServiceInfo, Failure> {
    Ok(ServiceInfo::new("http://127.0.0.1:8080")?)
}

/// An id of an agent.
pub(crate) fn agent_id(text: &str) -> Result<AgentId, Failure> {
    Ok(text.parse::<AgentId>()?)
}

fn operator() -> Actor {
    Actor::Operator("benches".to_owned())
}

impl Host {
    pub(crate) fn new(storage: Arc<dyn ConversationStorage>) -> Result<Self, Failure> {
        let server_keys = ServerKeys::new(ServerKey::new(&[0x42; 32]), Vec::new());
        let ports = Ports::new(Arc::new(SystemClock), Arc::new(SystemRandom), server_keys);
        let platform = Arc::new(Platform::new(Arc::clone(&storage) as _, ports, service_info()?));
        Ok(Host { platform, storage })
    }

    /// The API with default settings.
    pub(crate) fn api(&self) -> Result<Api, Failure> {
        Ok(self.platform.api(Settings::new(service_info()?)))
    }

    pub(crate) fn storage(&self) -> &Arc<dyn ConversationStorage> {
        &self.storage
    }

    /// Creates the agent if absent.
    pub(crate) async fn agent(&self, id: &AgentId) -> Result<(), Failure> {
        let new = NewAgent { id: Some(id.clone()), name: "Benchmark".parse()? };
        match self.platform.create_agent(&operator(), new).await {
            Ok(_) | Err(AdminError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a key with every permission and the highest limits.
    pub(crate) async fn key(&self, agent: &AgentId) -> Result<Credentials, Failure> {
        let new = NewKey {
            agent_id: agent.clone(),
            name: "Benchmark".parse()?,
            description: None,
            permissions: Permissions::all(),
            limits: RateLimits::new(RateLimits::MAX_PER_MINUTE, RateLimits::MAX_PER_HOUR)?,
            allowed_addresses: Vec::new(),
            expires_at: None,
        };
        let issued = self.platform.create_key(&operator(), new).await?;
        Ok(Credentials { key: issued.key.api_key.to_string(), secret: issued.secret.expose().to_owned() })
    }

    /// Creates keys concurrently, so that they share disk syncs.
    pub(crate) async fn keys(
        self: &Arc<Self>,
        agent: &AgentId,
        count: usize,
    ) -> Result<Vec<Credentials>, Failure> {
        let mut keys = Vec::with_capacity(count);
        let mut making = tokio::task::JoinSet::new();
        while keys.len() < count {
            while making.len() < KEYS_AT_ONCE && keys.len() + making.len() < count {
                let (host, agent) = (Arc::clone(self), agent.clone());
                making.spawn(async move { host.key(&agent).await });
            }
            if let Some(key) = making.join_next().await {
                keys.push(key??);
            }
        }
        Ok(keys)
    }

    /// Erases a contact.
    pub(crate) async fn erase(&self, agent: &AgentId, contact: &ContactRef) -> Result<(), Failure> {
        self.platform.erase_contact(&operator(), agent, contact).await?;
        Ok(())
    }

    /// Creates an active form template from a definition.
    pub(crate) async fn template(
        &self,
        agent: &AgentId,
        definition: &Object,
    ) -> Result<FormTemplate, Failure> {
        let template = self.platform.create_template(&operator(), agent, definition).await?;
        Ok(self.platform.activate_template(&operator(), agent, template.id).await?)
    }

    /// The agent's schema, for creating contacts.
    pub(crate) async fn schema(&self, agent: &AgentId) -> Result<CompiledSchema, Failure> {
        let schema = self.platform.contact_schema(agent).await?;
        Ok(CompiledSchema::new(schema, &service_info()?)?)
    }

    /// Stores the contacts of these numbers sequentially.
    pub(crate) async fn contacts(
        &self,
        agent: &AgentId,
        numbers: std::ops::Range<u64>,
    ) -> Result<(), Failure> {
        let schema = self.schema(agent).await?;
        for number in numbers {
            self.storage.insert_contact(agent, &write_of(&schema, agent, number)?).await?;
        }
        Ok(())
    }
}
