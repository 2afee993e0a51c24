//! API keys: the page Settings → API Permissions.

use openapi_core::access::{
    Action, AllowedAddress, Key, KeySelector, KeyStatus, Permission, Permissions, RateLimits, Scope,
};
use openapi_core::admin::{Admin, IssuedKey, KeyEdit, NewKey};
use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, Block, KeyId, Line, Timestamp};

use http_body_util::BodyExt;

use super::types::{ActorView, Names, OneAgent};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{confirmed, failed, not_found};
use crate::input::{OrNull, Secret, input};
use crate::operation::{Access, Metadata, Operation, Traits};

input! {
    /// A key of an agent.
    OneKey {
        "agent" Path agent: AgentId,
        "key" Path key: KeySelector,
    }
}

input! {
    /// A key, confirmed by its name.
    ConfirmedKey {
        "agent" Path agent: AgentId,
        "key" Path key: KeySelector,
        "confirm" Body confirm: Line<100> { "description": "The key's name, typed again." },
    }
}

input! {
    /// A new key.
    CreateKey {
        "agent" Path agent: AgentId,
        "name" Body name: Line<100>,
        "description" Body description: Option<Block<500>>,
        "permissions" Body permissions: Permissions,
        "perMinute" Body per_minute: Option<u32> { "minimum": 1, "maximum": 1000, "default": 60 },
        "perHour" Body per_hour: Option<u32> { "minimum": 1, "maximum": 10000, "default": 1000 },
        "allowedAddresses" Body allowed_addresses: Option<Vec<AllowedAddress>>,
        "expiresAt" Body expires_at: Option<Timestamp>,
    }
}

input! {
    /// Changes of a key; what is left out stays.
    EditKey {
        "agent" Path agent: AgentId,
        "key" Path key: KeySelector,
        "name" Body name: Option<Line<100>>,
        "description" Body description: Option<OrNull<Block<500>>>,
        "permissions" Body permissions: Option<Permissions>,
        "perMinute" Body per_minute: Option<u32> { "minimum": 1, "maximum": 1000 },
        "perHour" Body per_hour: Option<u32> { "minimum": 1, "maximum": 10000 },
        "allowedAddresses" Body allowed_addresses: Option<Vec<AllowedAddress>>,
        "expiresAt" Body expires_at: Option<OrNull<Timestamp>>,
    }
}

input! {
    /// How long the former secret stays valid.
    RotateKey {
        "agent" Path agent: AgentId,
        "key" Path key: KeySelector,
        "graceSeconds" Body grace_seconds: Option<u32> { "minimum": 0, "maximum": 604_800, "default": 86_400 },
    }
}

/// A key as operators see it.
pub struct KeyView(Key, ActorView);

impl KeyView {
    async fn of(cx: &Context<'_>, key: Key) -> Result<Self, ApiError> {
        let created_by = Names::default().view(cx, &key.created_by).await?;
        Ok(KeyView(key, created_by))
    }
}

json_object! { KeyView as "Key" = |view| {
    "id": KeyId = view.0.id,
    "agentId": AgentId = view.0.agent_id,
    "apiKey": String { "description": "The public part." } = view.0.api_key.to_string(),
    "name": Line<100> = view.0.name,
    "description": Option<Block<500>> = view.0.description,
    "permissions": Vec<String> = view.0.permissions.iter().map(|permission| permission.to_string()).collect(),
    "perMinute": u32 = view.0.limits.per_minute,
    "perHour": u32 = view.0.limits.per_hour,
    "allowedAddresses": Vec<String> =
        view.0.allowed_addresses.iter().map(|address| address.to_string()).collect(),
    "expiresAt": Option<Timestamp> = view.0.expires_at,
    "status": &'static str { "enum": ["active", "disabled", "revoked"] } = match view.0.status {
        KeyStatus::Active => "active",
        KeyStatus::Disabled => "disabled",
        KeyStatus::Revoked => "revoked",
    },
    "createdBy": ActorView = view.1,
    "createdAt": Timestamp = view.0.created_at,
    "updatedAt": Timestamp = view.0.updated_at,
    "lastUsedAt": Option<Timestamp> { "description": "At most a minute late." } = view.0.last_used_at,
    "lastUsedAddress": Option<String> = view.0.last_used_address.map(|address| address.to_string()),
} }

/// A key with its secret, which is shown this once.
pub struct Issued {
    key: KeyView,
    secret: String,
}

json_object! { Issued as "IssuedKey" = |issued| {
    "key": KeyView = issued.key,
    "secret": String { "description": "Shown this once." } = issued.secret,
} }

impl Issued {
    async fn of(cx: &Context<'_>, issued: IssuedKey) -> Result<Self, ApiError> {
        let secret = issued.secret.expose().to_owned();
        Ok(Issued { key: KeyView::of(cx, issued.key).await?, secret })
    }
}

fn etag(key: &Key) -> String {
    format!("\"{}\"", key.updated_at.millis())
}

async fn reply(cx: &Context<'_>, message: &'static str, key: Key) -> Result<Reply<KeyView>, ApiError> {
    let etag = etag(&key);
    Ok(Reply::ok(message, KeyView::of(cx, key).await?).with_etag(etag))
}

/// The key, if it is one of the agent's.
async fn key_of(cx: &Context<'_>, agent: &AgentId, selector: &KeySelector) -> Result<Key, ApiError> {
    let key = cx.platform().key(selector).await.map_err(failed)?;
    if key.agent_id == *agent {
        return Ok(key);
    }
    let id = match selector {
        KeySelector::Id(id) => id.to_string(),
        KeySelector::ApiKey(key) => key.to_string(),
    };
    Err(not_found("key", &id))
}

/// `keys.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = Metadata {
        name: "keys.list",
        summary: "Lists the keys of an agent, oldest first.",
        method: Method::Get,
        path: "/agents/{agent}/keys",
        access: Access::Agent(Capability::KeysRead),
        step_up: false,
        audit: &[],
        command: "keys list --agent AGENT",
        traits: Traits::NONE,
    };
    type Input = OneAgent;
    type Output = Vec<KeyView>;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<Vec<KeyView>>, ApiError> {
        let keys = cx.platform().keys(&input.agent).await.map_err(failed)?;
        let mut names = Names::default();
        let mut views = Vec::with_capacity(keys.len());
        for key in keys {
            let created_by = names.view(&cx, &key.created_by).await?;
            views.push(KeyView(key, created_by));
        }
        Ok(Reply::ok("Keys retrieved successfully", views))
    }
}

/// `keys.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = Metadata {
        name: "keys.show",
        summary: "Shows a key, without its secrets.",
        method: Method::Get,
        path: "/agents/{agent}/keys/{key}",
        access: Access::Agent(Capability::KeysRead),
        step_up: false,
        audit: &[],
        command: "keys show KEY",
        traits: Traits::NONE,
    };
    type Input = OneKey;
    type Output = KeyView;

    async fn run(cx: Context<'_>, input: OneKey) -> Result<Reply<KeyView>, ApiError> {
        reply(&cx, "Key retrieved successfully", key_of(&cx, &input.agent, &input.key).await?).await
    }
}

/// `keys.create`
pub struct Create;

impl Operation for Create {
    const METADATA: Metadata = Metadata {
        name: "keys.create",
        summary: "Creates a key. Its secret is in the answer and nowhere else.",
        method: Method::Post,
        path: "/agents/{agent}/keys",
        access: Access::Agent(Capability::KeysManage),
        step_up: true,
        audit: &[AuditAction::KeyCreate],
        command: "keys create --agent AGENT --name NAME --allow contacts:read",
        traits: Traits::SECRET,
    };
    type Input = CreateKey;
    type Output = Issued;

    async fn run(cx: Context<'_>, input: CreateKey) -> Result<Reply<Issued>, ApiError> {
        super::access::grantable(&cx, &input.agent, input.permissions)?;
        let usual = RateLimits::default();
        let key = NewKey {
            agent_id: input.agent,
            name: input.name,
            description: input.description,
            permissions: input.permissions,
            limits: RateLimits {
                per_minute: input.per_minute.unwrap_or(usual.per_minute),
                per_hour: input.per_hour.unwrap_or(usual.per_hour),
            },
            allowed_addresses: input.allowed_addresses.unwrap_or_default(),
            expires_at: input.expires_at,
        };
        let issued = cx.platform().create_key(cx.actor, key).await.map_err(failed)?;
        let mut reply = Reply::ok("Key created successfully", Issued::of(&cx, issued).await?);
        reply.status = 201;
        Ok(reply)
    }
}

/// `keys.edit`
pub struct Edit;

impl Operation for Edit {
    const METADATA: Metadata = Metadata {
        name: "keys.edit",
        summary: "Changes name, description, permissions, rates, addresses or end of a key.",
        method: Method::Patch,
        path: "/agents/{agent}/keys/{key}",
        access: Access::Agent(Capability::KeysManage),
        step_up: true,
        audit: &[AuditAction::KeyEdit],
        command: "keys edit KEY",
        traits: Traits::VERSIONED,
    };
    type Input = EditKey;
    type Output = KeyView;

    async fn run(cx: Context<'_>, input: EditKey) -> Result<Reply<KeyView>, ApiError> {
        let key = key_of(&cx, &input.agent, &input.key).await?;
        super::access::grantable(&cx, &input.agent, key.permissions)?;
        let tag = etag(&key);
        let id = key.id;
        let current = KeyView::of(&cx, key).await?;
        cx.refuse_stale(&tag, || serde_json::to_value(current).unwrap_or_default())?;
        if let Some(permissions) = input.permissions {
            super::access::grantable(&cx, &input.agent, permissions)?;
        }
        let edit = KeyEdit {
            name: input.name,
            description: input.description.map(|OrNull(description)| description),
            permissions: input.permissions,
            per_minute: input.per_minute,
            per_hour: input.per_hour,
            allowed_addresses: input.allowed_addresses,
            expires_at: input.expires_at.map(|OrNull(end)| end),
        };
        let edited = cx.platform().edit_key(cx.actor, &KeySelector::Id(id), edit).await.map_err(failed)?;
        reply(&cx, "Key updated successfully", edited).await
    }
}

/// `keys.rotate`
pub struct Rotate;

impl Operation for Rotate {
    const METADATA: Metadata = Metadata {
        name: "keys.rotate",
        summary: "Gives a key a new secret. The former one stays valid for a while.",
        method: Method::Post,
        path: "/agents/{agent}/keys/{key}/rotate",
        access: Access::Agent(Capability::KeysManage),
        step_up: true,
        audit: &[AuditAction::KeyRotate],
        command: "keys rotate KEY --grace 24h",
        traits: Traits::SECRET,
    };
    type Input = RotateKey;
    type Output = Issued;

    async fn run(cx: Context<'_>, input: RotateKey) -> Result<Reply<Issued>, ApiError> {
        let key = key_of(&cx, &input.agent, &input.key).await?;
        // The new secret gives the caller what the key may do.
        super::access::grantable(&cx, &input.agent, key.permissions)?;
        let grace = u64::from(input.grace_seconds.unwrap_or(86_400)) * 1_000;
        let issued =
            cx.platform().rotate_key(cx.actor, &KeySelector::Id(key.id), grace).await.map_err(failed)?;
        Ok(Reply::ok("Key rotated successfully", Issued::of(&cx, issued).await?))
    }
}

/// An operation that changes whether a key works.
macro_rules! on_key {
    ($(#[$doc:meta])* $name:ident: $metadata:expr, $method:ident, $message:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl Operation for $name {
            const METADATA: Metadata = $metadata;
            type Input = OneKey;
            type Output = KeyView;

            async fn run(cx: Context<'_>, input: OneKey) -> Result<Reply<KeyView>, ApiError> {
                let key = key_of(&cx, &input.agent, &input.key).await?;
                let key = cx.platform().$method(cx.actor, &KeySelector::Id(key.id)).await.map_err(failed)?;
                reply(&cx, $message, key).await
            }
        }
    };
}

on_key! {
    /// `keys.disable`
    Disable: Metadata {
        name: "keys.disable",
        summary: "Disables a key: its requests are refused at once.",
        method: Method::Post,
        path: "/agents/{agent}/keys/{key}/disable",
        access: Access::Agent(Capability::KeysManage),
        step_up: false,
        audit: &[AuditAction::KeyDisable],
        command: "keys disable KEY",
        traits: Traits::NONE,
    }, disable_key, "Key disabled successfully"
}

on_key! {
    /// `keys.enable`
    Enable: Metadata {
        name: "keys.enable",
        summary: "Enables a disabled key.",
        method: Method::Post,
        path: "/agents/{agent}/keys/{key}/enable",
        access: Access::Agent(Capability::KeysManage),
        step_up: false,
        audit: &[AuditAction::KeyEnable],
        command: "keys enable KEY",
        traits: Traits::NONE,
    }, enable_key, "Key enabled successfully"
}

/// `keys.revoke`
pub struct Revoke;

impl Operation for Revoke {
    const METADATA: Metadata = Metadata {
        name: "keys.revoke",
        summary: "Revokes a key for good.",
        method: Method::Post,
        path: "/agents/{agent}/keys/{key}/revoke",
        access: Access::Agent(Capability::KeysManage),
        step_up: true,
        audit: &[AuditAction::KeyRevoke],
        command: "keys revoke KEY",
        traits: Traits::NONE,
    };
    type Input = ConfirmedKey;
    type Output = KeyView;

    async fn run(cx: Context<'_>, input: ConfirmedKey) -> Result<Reply<KeyView>, ApiError> {
        let key = key_of(&cx, &input.agent, &input.key).await?;
        confirmed(input.confirm.as_str(), key.name.as_str())?;
        let key = cx.platform().revoke_key(cx.actor, &KeySelector::Id(key.id)).await.map_err(failed)?;
        reply(&cx, "Key revoked successfully", key).await
    }
}

input! {
    /// A key with its secret.
    TryKey {
        "agent" Path agent: AgentId,
        "apiKey" Body api_key: Line<200>,
        "secret" Body secret: Secret,
    }
}

/// A request and what it was answered.
pub struct Tried {
    method: &'static str,
    path: String,
    status: u16,
    body: String,
}

json_object! { Tried as "TriedRequest" = |tried| {
    "method": &'static str = tried.method,
    "path": String = tried.path,
    "status": u16 = tried.status,
    "body": String { "description": "As it was answered, up to 4,096 characters." } = tried.body,
} }

/// How much of an answer is shown.
const MOST_SHOWN: usize = 4_096;

/// `keys.try`
pub struct Try;

impl Operation for Try {
    const METADATA: Metadata = Metadata {
        name: "keys.try",
        summary: "Sends a request of the Open API with a key and its secret, counted like any other.",
        method: Method::Post,
        path: "/agents/{agent}/keys/try",
        access: Access::Agent(Capability::KeysManage),
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::READ,
    };
    type Input = TryKey;
    type Output = Vec<Tried>;

    async fn run(cx: Context<'_>, input: TryKey) -> Result<Reply<Vec<Tried>>, ApiError> {
        let agent = &input.agent;
        let paths = [
            "/health".to_owned(),
            format!("/contacts/chatbots/{agent}?limit=1"),
            format!("/forms/templates/chatbots/{agent}?limit=1"),
        ];
        let allowed = cx.platform().keys(agent).await.map_err(failed)?;
        let Some(key) = allowed.iter().find(|key| key.api_key.as_str() == input.api_key.as_str()) else {
            return Err(not_found("key", ""));
        };
        let may = |scope| key.permissions.allows(Permission::new(scope, Action::Read));
        let wanted = [true, may(Scope::Contacts), may(Scope::Forms)];
        let base = cx.platform().service_info().base_path();
        let mut tried = Vec::new();
        for (path, _) in paths.into_iter().zip(wanted).filter(|(_, wanted)| *wanted).take(2) {
            let path = format!("{base}/v1/open{path}");
            let mut request = http::Request::get(&path)
                .header("x-api-key", input.api_key.as_str())
                .header("x-api-secret", &input.secret.0)
                .body(http_body_util::Empty::new())
                .map_err(|_| not_found("key", ""))?;
            if let Some(address) = cx.call.address {
                request.extensions_mut().insert(openapi_core::api::PeerAddress(address));
            }
            let response = cx.console.api.handle(request).await;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|_| ApiError::unavailable())?.to_bytes();
            let text = String::from_utf8_lossy(&body);
            tried.push(Tried { method: "GET", path, status, body: text.chars().take(MOST_SHOWN).collect() });
        }
        Ok(Reply::ok("Key tried successfully", tried))
    }
}
