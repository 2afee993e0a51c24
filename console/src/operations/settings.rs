//! The settings of an agent's widget and chat, the secret that signs identities, and the tags for web pages.

use conversations::AgentSettings;
use conversations::admin::Configured;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object, json_object, parse};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::AgentId;

use super::types::OneAgent;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{failed, refused, stale};
use crate::input::input;
use crate::operation::{Access, Metadata, Operation, Traits};

/// The seconds for which a replaced identity secret stays valid unless the caller says otherwise: a day.
const GRACE_SECONDS: u32 = 86_400;

/// The settings of an agent.
pub struct SettingsView {
    settings: AgentSettings,
    responders: Vec<String>,
}

fn json(settings: &AgentSettings) -> Json {
    // By its text, which has numbers as they were written: 0.6, not 0.6000000238.
    let text = serde_json::to_string(settings).unwrap_or_default();
    parse(text.as_bytes()).unwrap_or(Json::Null)
}

json_object! { SettingsView as "AgentSettings" = |view| {
    "settings": Json { "type": "object", "additionalProperties": true, "description": "All members, as `agents configure` writes them." } = json(&view.settings),
    "builtIn": Json { "type": "object", "additionalProperties": true, "description": "The values of members that are left out." } = json(&AgentSettings::default()),
    "responders": Vec<String> { "description": "The values of `chat.responder` that this server knows." } = view.responders,
} }

fn view(cx: &Context<'_>, settings: AgentSettings) -> SettingsView {
    let responders = cx.console.chat.responders().into_iter().map(str::to_owned).collect();
    SettingsView { settings, responders }
}

fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

async fn current(cx: &Context<'_>, agent: &AgentId) -> Result<(SettingsView, String), ApiError> {
    let (settings, version) = cx.console.chat.versioned_settings(agent).await.map_err(failed)?;
    Ok((view(cx, settings), etag(version)))
}

/// `settings.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = Metadata {
        name: "settings.show",
        summary: "Shows the settings of an agent's widget and chat.",
        method: Method::Get,
        path: "/agents/{agent}/settings",
        access: Access::Agent(Capability::StudioRead),
        step_up: false,
        audit: &[],
        command: "agents configure ID",
        traits: Traits::NONE,
    };
    type Input = OneAgent;
    type Output = SettingsView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<SettingsView>, ApiError> {
        let (view, etag) = current(&cx, &input.agent).await?;
        Ok(Reply::ok("Settings retrieved successfully", view).with_etag(etag))
    }
}

input! {
    /// Settings.
    SaveSettings {
        "agent" Path agent: AgentId,
        "settings" Body settings: Object { "description": "All settings: what is left out gets its built-in value." },
    }
}

/// A responder that the server lacks would leave every visitor without an answer.
fn refuse_unknown_responder(settings: &Object, known: &[&str]) -> Result<(), ApiError> {
    let named = settings.get("chat").and_then(Json::as_object).and_then(|chat| chat.get("responder"));
    match named.and_then(Json::as_str) {
        Some(name) if !known.contains(&name) => {
            let text = format!("must be a responder of this server: {}", known.join(", "));
            Err(refused("chat.responder", ValidationIssue::new(ValidationCode::Enum, text)))
        }
        _ => Ok(()),
    }
}

/// `settings.save`
pub struct Save;

impl Operation for Save {
    const METADATA: Metadata = Metadata {
        name: "settings.save",
        summary: "Replaces the settings of an agent's widget and chat. Servers apply them within 5 s.",
        method: Method::Put,
        path: "/agents/{agent}/settings",
        access: Access::Agent(Capability::StudioWrite),
        step_up: false,
        audit: &[AuditAction::AgentConfigure],
        command: "agents configure ID --file FILE",
        traits: Traits::VERSIONED,
    };
    type Input = SaveSettings;
    type Output = SettingsView;

    async fn run(cx: Context<'_>, input: SaveSettings) -> Result<Reply<SettingsView>, ApiError> {
        let chat = &cx.console.chat;
        refuse_unknown_responder(&input.settings, &chat.responders())?;
        let is_expected = |version| cx.expects(&etag(version));
        let saved = chat.configure_agent_if(cx.actor, &input.agent, &input.settings, &is_expected).await;
        match saved.map_err(failed)? {
            Configured::Saved(settings, version) => {
                let reply = Reply::ok("Settings saved successfully", view(&cx, settings));
                Ok(reply.with_etag(etag(version)))
            }
            Configured::Stale(settings, version) => {
                let current = serde_json::to_value(view(&cx, settings)).unwrap_or_default();
                Err(stale(&etag(version), &current))
            }
        }
    }
}

/// The secrets that sign who a visitor is.
pub struct SecretsView(Vec<String>);

json_object! { SecretsView as "IdentitySecrets" = |view| {
    "secret": Option<String> { "description": "The secret to sign with; `null` until the first is made." } = view.0.first().cloned(),
    "previous": Option<String> { "description": "The secret before it, while it is valid." } = view.0.get(1).cloned(),
} }

async fn secrets(cx: &Context<'_>, agent: &AgentId) -> Result<Reply<SecretsView>, ApiError> {
    let secrets = cx.console.chat.identity_secrets(agent).await.map_err(failed)?;
    let resource = Some("identity secret".to_owned());
    cx.platform().note(cx.actor, AuditAction::SecretShow, Some(agent), resource, &Object::new()).await?;
    Ok(Reply::ok("Identity secrets retrieved successfully", SecretsView(secrets)))
}

/// `identity.show`
pub struct ShowIdentity;

impl Operation for ShowIdentity {
    const METADATA: Metadata = Metadata {
        name: "identity.show",
        summary: "Shows the secret with which the page's server signs who a visitor is. The audit log notes it.",
        method: Method::Post,
        path: "/agents/{agent}/identity-secret/show",
        access: Access::Agent(Capability::StudioSecret),
        step_up: true,
        audit: &[AuditAction::SecretShow],
        command: "agents identity-secret ID",
        traits: Traits::SECRET,
    };
    type Input = OneAgent;
    type Output = SecretsView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<SecretsView>, ApiError> {
        secrets(&cx, &input.agent).await
    }
}

input! {
    /// Another identity secret.
    RotateIdentity {
        "agent" Path agent: AgentId,
        "graceSeconds" Body grace_seconds: Option<u32> {
            "description": "How long the former secret stays valid, 0 to 604,800; 86,400 if it is left out."
        },
    }
}

/// `identity.rotate`
pub struct RotateSecret;

impl Operation for RotateSecret {
    const METADATA: Metadata = Metadata {
        name: "identity.rotate",
        summary: "Makes another identity secret. The former one stays valid for a while.",
        method: Method::Post,
        path: "/agents/{agent}/identity-secret/rotate",
        access: Access::Agent(Capability::StudioSecret),
        step_up: true,
        audit: &[AuditAction::AgentConfigure, AuditAction::SecretShow],
        command: "agents identity-secret ID --rotate --grace 24h",
        traits: Traits::SECRET,
    };
    type Input = RotateIdentity;
    type Output = SecretsView;

    async fn run(cx: Context<'_>, input: RotateIdentity) -> Result<Reply<SecretsView>, ApiError> {
        let grace = u64::from(input.grace_seconds.unwrap_or(GRACE_SECONDS)) * 1_000;
        let rotated = cx.console.chat.rotate_identity_secret(cx.actor, &input.agent, grace).await;
        rotated.map_err(failed)?;
        secrets(&cx, &input.agent).await
    }
}

/// What a web page needs to show an agent's widget.
pub struct InstallView {
    origin: String,
    global: String,
    tag: String,
    pinned_tag: String,
    policy: String,
}

json_object! { InstallView as "WidgetInstallation" = |view| {
    "origin": String { "description": "The widget host's." } = view.origin,
    "global": String { "description": "The object that the script defines, such as `ServiceWidget`." } = view.global,
    "tag": String { "description": "The tag that follows the server's version." } = view.tag,
    "pinnedTag": String { "description": "The tag of this build alone, with its integrity value." } = view.pinned_tag,
    "policy": String { "description": "What a page's Content-Security-Policy needs." } = view.policy,
} }

/// `settings.install`
pub struct Install;

impl Operation for Install {
    const METADATA: Metadata = Metadata {
        name: "settings.install",
        summary: "Shows the tags that put an agent's chat on a page.",
        method: Method::Get,
        path: "/agents/{agent}/install",
        access: Access::Agent(Capability::StudioRead),
        step_up: false,
        audit: &[],
        command: "agents show ID",
        traits: Traits::NONE,
    };
    type Input = OneAgent;
    type Output = InstallView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<InstallView>, ApiError> {
        let agent = cx.platform().agent(&input.agent).await.map_err(failed)?;
        let Some(widget) = &cx.console.settings.widget else {
            return Err(ApiError::new(ErrorCode::NotPossible, "This server serves no widget"));
        };
        let view = InstallView {
            origin: widget.origin(),
            global: widget.global(),
            tag: widget.tag(&agent.id),
            pinned_tag: widget.pinned_tag(&agent.id),
            policy: widget.policy(),
        };
        Ok(Reply::ok("Tags retrieved successfully", view))
    }
}
