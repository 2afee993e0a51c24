//! Agents as the widget sees them: their settings, cached for some seconds, and their published configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderValue, header};
use openapi_core::agents::AgentStatus;
use openapi_core::api::Outcome;
use openapi_core::json::{Json, Object};
use openapi_core::platform::{Cache, Platform};
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, Timestamp};
use sha2::{Digest, Sha256};

use super::agent_view::AgentView;
use super::call::{Call, SentToken};
use super::errors::agent_not_available;
use crate::conversations::Conversations;
use crate::widget::config::{Configuration, LeadForm};
use crate::widget::{Texts, hex};

/// Reads and caches agents.
pub(super) struct Agents {
    conversations: Arc<Conversations>,
    texts: Texts,
    views: Cache<AgentId, AgentView>,
}

impl Agents {
    pub(super) fn new(conversations: Arc<Conversations>, texts: Texts) -> Self {
        Agents { conversations, texts, views: Cache::default() }
    }

    fn platform(&self) -> &Platform {
        self.conversations.platform()
    }

    /// An active agent.
    ///
    /// # Errors
    /// 404 AGENT_NOT_AVAILABLE, the same for unknown, disabled and deleted agents.
    pub(super) async fn view(&self, id: &AgentId, now: Timestamp) -> Result<Arc<AgentView>, ApiError> {
        if let Some(view) = self.views.fresh(id, now) {
            return Ok(view);
        }
        let agent = self.conversations.storage.agent(id).await?;
        // An absent agent takes the same work, so that its response takes the same time.
        let (settings, _) = self.conversations.stored_settings(id).await?;
        let (identity, _) = self.conversations.stored_secrets(id).await?;
        // The cache holds active agents only. For any other agent, each call reads the store.
        let agent =
            agent.filter(|agent| agent.status == AgentStatus::Active).ok_or_else(agent_not_available)?;
        let previous = identity.previous.filter(|_| identity.previous_until.is_some_and(|until| until > now));
        let names = identity.current.iter().chain(&previous);
        let secrets = names.filter_map(|name| self.conversations.identity_secret(id, name)).collect();
        let view = AgentView { agent, settings, secrets };
        let same = view.clone();
        self.views.keep(id.clone(), now, |known| *known == same, || Ok(view))
    }

    /// The lead form of an agent; none if it asks for no fields.
    pub(super) async fn lead_form(
        &self,
        view: &AgentView,
        collected: &BTreeMap<String, String>,
    ) -> Result<Option<LeadForm>, ApiError> {
        if view.settings.lead.fields.is_empty() {
            return Ok(None);
        }
        let schema = self.platform().schema(&view.agent.id, false).await?;
        let form = LeadForm::of(&view.settings.lead, schema.schema());
        Ok(form.map(|form| form.filled(collected, &schema, &view.agent.id, self.platform().now())))
    }

    /// `GET /config`.
    pub(super) async fn configuration(&self, call: Call<'_, Option<SentToken>>) -> Result<Outcome, ApiError> {
        let agent = &call.view.agent;
        let schema = self.platform().schema(&agent.id, false).await?;
        let (locale, strings) = self.texts(call.body.get("locale").and_then(Json::as_str));
        let settings = &call.view.settings;
        let name = agent.name.as_str();
        let data = Configuration::new(&agent.id, name, settings, schema.schema(), &locale, strings);
        let caching = HeaderValue::from_static("max-age=60, stale-while-revalidate=600");
        let reply = Reply::ok("Widget configuration", data).with_header(header::CACHE_CONTROL, caching);
        let mut outcome = Outcome::success(reply)?;
        if let Outcome::Answered { reply, body, conditional } = &mut outcome {
            // A weak tag, so that a proxy may compress the body.
            reply.etag = Some(format!("W/\"{}\"", hex(&Sha256::digest(body)[..8])));
            *conditional = true;
        }
        Ok(outcome)
    }

    /// The texts of the widget in a language, looked up as `de-AT`, `de`, `en`, with the tag that was found.
    fn texts(&self, wanted: Option<&str>) -> (String, Object) {
        let mut tag = wanted.unwrap_or("en");
        loop {
            if let Some(found) = (self.texts)(tag) {
                return found;
            }
            match tag.rsplit_once(['-', '_']) {
                Some((shorter, _)) => tag = shorter,
                None => return ("en".to_owned(), Object::new()),
            }
        }
    }
}
