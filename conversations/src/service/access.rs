//! The authenticator of the widget's calls: token → agent → origin.

use std::sync::Arc;

use http::HeaderValue;
use openapi_core::json::{Json, Object};
use openapi_core::platform::Platform;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::AgentId;

use super::admission::Admission;
use super::agent_view::AgentView;
use super::agents::Agents;
use super::call::{SentToken, WidgetRequest};
use super::errors::{agent_not_available, token_invalid};
use super::operations::{Handler, Operation, RequestBody};
use crate::widget::token::VisitorToken;

/// Decides who may make a call.
pub(super) struct Authenticator {
    pub(super) platform: Arc<Platform>,
    pub(super) agents: Arc<Agents>,
    pub(super) admission: Arc<Admission>,
    /// The origin of this service, whose pages may show every widget.
    pub(super) own_origin: Option<String>,
}

impl Authenticator {
    /// The agent of a call from a page that may show the agent's widget.
    ///
    /// # Errors
    /// 401 TOKEN_INVALID, 404 AGENT_NOT_AVAILABLE, 403 ORIGIN_NOT_ALLOWED, 429 RATE_LIMIT_EXCEEDED.
    pub(super) async fn view(
        &self,
        request: &mut WidgetRequest,
        operation: &Operation,
        body: &Object,
        token: Option<&SentToken>,
    ) -> Result<Arc<AgentView>, ApiError> {
        if let (Handler::Visitor(_), Some(sent)) = (&operation.handler, token) {
            self.admission.admit_visitor(request, sent.token.visitor)?;
        }
        let agent = match (token, body.get("agentId").and_then(Json::as_str)) {
            (Some(sent), Some(named)) if named != sent.token.agent.as_str() => return Err(token_invalid()),
            (Some(sent), _) => sent.token.agent.clone(),
            (None, Some(named)) => named.parse::<AgentId>().map_err(|_| agent_not_available())?,
            (None, None) => return Err(agent_not_available()),
        };
        let view = self.agents.view(&agent, request.now).await?;
        request.summary.agent = Some(agent);
        self.admit_origin(&view, request, matches!(operation.body, RequestBody::Query))?;
        Ok(view)
    }

    /// The token of a call, which the operations of a visitor require.
    ///
    /// # Errors
    /// 401 TOKEN_INVALID.
    pub(super) fn token(
        &self,
        request: &WidgetRequest,
        operation: &Operation,
        body: &Object,
    ) -> Result<Option<SentToken>, ApiError> {
        let text = match (body.get("token"), &operation.handler) {
            (None | Some(Json::Null), Handler::Public(_)) => return Ok(None),
            (Some(Json::String(text)), _) => text,
            _ => return Err(token_invalid()),
        };
        let keys = &self.platform.ports().server_keys;
        let token = VisitorToken::read(keys, text, &request.origin, request.now).ok_or_else(token_invalid)?;
        Ok(Some(SentToken { token, text: text.to_string() }))
    }

    /// Whether the page may show this agent's widget. If the agent admits only some origins, the response is from now
    /// on for this origin alone.
    fn admit_origin(
        &self,
        view: &AgentView,
        request: &mut WidgetRequest,
        is_read_only: bool,
    ) -> Result<(), ApiError> {
        let rules = &view.settings.origins;
        request.varies = !rules.is_empty();
        if request.varies
            && request.has_origin
            && let Ok(origin) = HeaderValue::from_str(&request.origin)
        {
            request.readers = origin;
        }
        let is_own = self.own_origin.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(&request.origin));
        let is_admitted = if request.has_origin {
            request.origin != "null"
                && (is_own || rules.is_empty() || rules.iter().any(|rule| rule.admits(&request.origin)))
        } else {
            is_read_only || rules.is_empty()
        };
        if is_admitted {
            return Ok(());
        }
        let origin = if request.has_origin { request.origin.as_str() } else { "null" };
        let message = format!("Origin {origin} is not allowed for agent {}", view.agent.id);
        Err(ApiError::new(ErrorCode::OriginNotAllowed, message).with_detail("origin", origin))
    }
}
