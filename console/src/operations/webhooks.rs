//! Webhooks: the endpoints of an agent. What was sent to them is in `deliveries`.

use events::Webhooks;
use events::webhooks::{
    CreateEndpoint, DeleteEndpoint, EditEndpoint, Endpoint, EndpointTarget, ReplayEvents, Replayed,
    RotateSecret, SecretView, SendTest, TestResult,
};
use openapi_core::access::Caller;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::events::EventType;
use openapi_core::json::{Json, Object, RawObject, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::service::{Created, TagMatch};
use openapi_core::validation::Violations;
use openapi_core::values::{AgentId, PlatformId};

use super::types::{Nothing, OneAgent};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{failed, not_found, stale};
use crate::input::input;
use crate::operation::{Access, Metadata, Operation, Traits};

input! {
    /// An endpoint of an agent.
    OneWebhook {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
    }
}

pub(super) const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    audit: &'static [AuditAction],
    command: &'static str,
) -> Metadata {
    let needs = if audit.is_empty() { Capability::WebhooksRead } else { Capability::WebhooksManage };
    let (access, traits) = (Access::Agent(needs), Traits::NONE);
    Metadata { name, summary, method, path, access, step_up: false, audit, command, traits }
}

/// An operation that needs a recent proof of who the caller is.
const fn proven(traits: Traits, metadata: Metadata) -> Metadata {
    Metadata { step_up: true, traits, ..metadata }
}

/// The endpoints of an agent, and who works with them.
pub(super) async fn service<'a>(
    cx: &Context<'a>,
    agent: &AgentId,
) -> Result<(&'a Webhooks, Caller), ApiError> {
    let absent = || ApiError::new(ErrorCode::EventsUnavailable, "This server sends no webhooks");
    let webhooks = cx.console.webhooks.as_ref().ok_or_else(absent)?;
    cx.platform().agent(agent).await.map_err(failed)?;
    Ok((webhooks, cx.caller(agent)))
}

/// An error as of the console.
pub(super) fn refused(webhook: PlatformId) -> impl Fn(ApiError) -> ApiError {
    move |error| match error.code() {
        ErrorCode::EndpointNotFound => not_found("webhook", &webhook.to_string()),
        _ => error,
    }
}

/// The members that were sent.
fn members<const N: usize>(sent: [(&str, Option<Json>); N]) -> Object {
    let mut members = Object::new();
    for (name, value) in sent {
        if let Some(value) = value {
            members.insert(name, value);
        }
    }
    members
}

fn reply(message: &'static str, endpoint: Endpoint) -> Reply<Endpoint> {
    let etag = endpoint.etag();
    Reply::ok(message, endpoint).with_etag(etag)
}

/// `webhooks.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "webhooks.list",
        "Lists the webhook endpoints of an agent, oldest first.",
        (Method::Get, "/agents/{agent}/webhooks"),
        &[],
        "webhooks list --agent AGENT",
    );
    type Input = OneAgent;
    type Output = Vec<Endpoint>;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<Vec<Endpoint>>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        Ok(Reply::ok("Webhooks retrieved successfully", webhooks.all(&caller).await?))
    }
}

/// A type of events.
pub struct TypeView {
    kind: EventType,
    example: RawObject,
}

json_object! { TypeView as "WebhookEventType" = |view| {
    "type": &'static str = view.kind.as_str(),
    "group": &'static str { "description": "The part before the dot: `contact.*` stands for the whole group." } =
        view.kind.as_str().split_once('.').map_or("", |(group, _)| group),
    "description": &'static str = view.kind.description(),
    "example": RawObject { "description": "Example `data`." } = view.example,
} }

/// `webhooks.catalogue`
pub struct Catalogue;

impl Operation for Catalogue {
    const METADATA: Metadata = metadata(
        "webhooks.catalogue",
        "Lists the types of events that a webhook can subscribe to.",
        (Method::Get, "/agents/{agent}/webhooks/catalogue"),
        &[],
        "events types",
    );
    type Input = OneAgent;
    type Output = Vec<TypeView>;

    async fn run(_: Context<'_>, _: OneAgent) -> Result<Reply<Vec<TypeView>>, ApiError> {
        let view = |kind: &EventType| {
            let example = RawObject::from_text(kind.example().to_string());
            example.map(|example| TypeView { kind: *kind, example }).map_err(|_| ApiError::internal())
        };
        let types = EventType::ALL.iter().map(view).collect::<Result<_, _>>()?;
        Ok(Reply::ok("Event types retrieved successfully", types))
    }
}

/// `webhooks.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "webhooks.show",
        "Shows a webhook endpoint with its progress, without its secret.",
        (Method::Get, "/agents/{agent}/webhooks/{webhook}"),
        &[],
        "webhooks show ID --agent AGENT",
    );
    type Input = OneWebhook;
    type Output = Endpoint;

    async fn run(cx: Context<'_>, input: OneWebhook) -> Result<Reply<Endpoint>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let found = webhooks.get(&caller, &input.webhook.into()).await.map_err(refused(input.webhook))?;
        Ok(reply("Webhook retrieved successfully", found))
    }
}

input! {
    /// A new endpoint.
    CreateWebhook {
        "agent" Path agent: AgentId,
        "url" Body url: Json { "type": "string", "format": "uri", "maxLength": 2048, "description": "Where events are sent: `https`, without a user name and a fragment." },
        "types" Body types: Option<Json> { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 50, "default": ["*"], "description": "Names of types, `group.*` or `*`." },
        "mode" Body mode: Option<Json> { "type": "string", "enum": ["parallel", "ordered"], "default": "parallel", "description": "`ordered`: one event at a time, none before the one before it is accepted." },
        "description" Body description: Option<Json> { "type": ["string", "null"], "maxLength": 200 },
        "from" Body from: Option<Json> { "type": "string", "enum": ["now", "oldest"], "default": "now", "description": "Whether it also gets the events that are in the log." },
    }
}

/// An endpoint with what signs its messages.
pub struct IssuedWebhook {
    webhook: Endpoint,
    secret: SecretView,
}

json_object! { IssuedWebhook as "IssuedWebhook" = |issued| {
    "webhook": Endpoint = issued.webhook,
    "secret": SecretView = issued.secret,
} }

/// `webhooks.create`
pub struct Create;

impl Operation for Create {
    const METADATA: Metadata = proven(
        Traits::SECRET,
        metadata(
            "webhooks.create",
            "Creates a webhook endpoint. The answer shows the secret that signs its messages.",
            (Method::Post, "/agents/{agent}/webhooks"),
            &[AuditAction::WebhookCreate, AuditAction::WebhookReveal],
            "webhooks create URL --agent AGENT",
        ),
    );
    type Input = CreateWebhook;
    type Output = IssuedWebhook;

    async fn run(cx: Context<'_>, input: CreateWebhook) -> Result<Reply<IssuedWebhook>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let fields = members([
            ("url", Some(input.url)),
            ("types", input.types),
            ("mode", input.mode),
            ("description", input.description),
            ("from", input.from),
        ]);
        let request = CreateEndpoint { idempotency: None, fields: fields.into() };
        // Without an idempotency key of the Open API, nothing is answered from a store.
        let Created::New(webhook) = webhooks.create(&caller, request).await? else {
            return Err(ApiError::internal());
        };
        let secret = webhooks.secret(&caller, &webhook.id.into(), Violations::new()).await?;
        let mut reply = Reply::ok("Webhook created successfully", IssuedWebhook { webhook, secret });
        reply.status = 201;
        Ok(reply)
    }
}

/// Changes an endpoint, if it is as the caller has seen it.
async fn edit(
    cx: &Context<'_>,
    agent: &AgentId,
    webhook: PlatformId,
    fields: Object,
) -> Result<Endpoint, ApiError> {
    let (webhooks, caller) = service(cx, agent).await?;
    let target = EndpointTarget::from(webhook);
    // What is no list of tags matches nothing.
    let if_match = cx.call.if_match.as_deref();
    let if_match = if_match.map(|sent| TagMatch::parse(sent).unwrap_or(TagMatch::Tags(Vec::new())));
    let request = EditEndpoint { target: target.clone(), if_match, fields: fields.into() };
    match webhooks.edit(&caller, request).await {
        Err(error) if error.code() == ErrorCode::PreconditionFailed => {
            let current = webhooks.get(&caller, &target).await.map_err(refused(webhook))?;
            Err(stale(&current.etag(), &serde_json::to_value(&current).map_err(|_| error)?))
        }
        edited => edited.map_err(refused(webhook)),
    }
}

input! {
    /// What is to change.
    EditWebhook {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "url" Body url: Option<Json> { "type": "string", "format": "uri", "maxLength": 2048 },
        "types" Body types: Option<Json> { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 50 },
        "mode" Body mode: Option<Json> { "type": "string", "enum": ["parallel", "ordered"] },
        "description" Body description: Option<Json> { "type": ["string", "null"], "maxLength": 200 },
    }
}

/// `webhooks.edit`
pub struct Edit;

impl Operation for Edit {
    const METADATA: Metadata = proven(
        Traits::VERSIONED,
        metadata(
            "webhooks.edit",
            "Changes URL, types, mode or description of a webhook endpoint.",
            (Method::Patch, "/agents/{agent}/webhooks/{webhook}"),
            &[AuditAction::WebhookEdit],
            "webhooks edit ID --agent AGENT",
        ),
    );
    type Input = EditWebhook;
    type Output = Endpoint;

    async fn run(cx: Context<'_>, input: EditWebhook) -> Result<Reply<Endpoint>, ApiError> {
        let fields = members([
            ("url", input.url),
            ("types", input.types),
            ("mode", input.mode),
            ("description", input.description),
        ]);
        let edited = edit(&cx, &input.agent, input.webhook, fields).await?;
        Ok(reply("Webhook updated successfully", edited))
    }
}

input! {
    /// With which event an endpoint goes on.
    EnableWebhook {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "resume" Body resume: Option<Json> { "type": "string", "enum": ["cursor", "now"], "default": "cursor", "description": "Whether events since it was disabled are sent, or only those that follow." },
    }
}

/// `webhooks.enable`
pub struct Enable;

impl Operation for Enable {
    const METADATA: Metadata = metadata(
        "webhooks.enable",
        "Enables a disabled webhook endpoint.",
        (Method::Post, "/agents/{agent}/webhooks/{webhook}/enable"),
        &[AuditAction::WebhookEnable],
        "webhooks enable ID --agent AGENT",
    );
    type Input = EnableWebhook;
    type Output = Endpoint;

    async fn run(cx: Context<'_>, input: EnableWebhook) -> Result<Reply<Endpoint>, ApiError> {
        let fields = members([("status", Some("enabled".into())), ("resume", input.resume)]);
        let enabled = edit(&cx, &input.agent, input.webhook, fields).await?;
        Ok(reply("Webhook enabled successfully", enabled))
    }
}

/// `webhooks.disable`
pub struct Disable;

impl Operation for Disable {
    const METADATA: Metadata = metadata(
        "webhooks.disable",
        "Disables a webhook endpoint: nothing is sent to it until it is enabled.",
        (Method::Post, "/agents/{agent}/webhooks/{webhook}/disable"),
        &[AuditAction::WebhookDisable],
        "webhooks disable ID --agent AGENT",
    );
    type Input = OneWebhook;
    type Output = Endpoint;

    async fn run(cx: Context<'_>, input: OneWebhook) -> Result<Reply<Endpoint>, ApiError> {
        let fields = members([("status", Some("disabled".into()))]);
        let disabled = edit(&cx, &input.agent, input.webhook, fields).await?;
        Ok(reply("Webhook disabled successfully", disabled))
    }
}

/// `webhooks.remove`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = proven(
        Traits::NONE,
        metadata(
            "webhooks.remove",
            "Removes a webhook endpoint with its log of attempts.",
            (Method::Delete, "/agents/{agent}/webhooks/{webhook}"),
            &[AuditAction::WebhookDelete],
            "webhooks delete ID --agent AGENT",
        ),
    );
    type Input = OneWebhook;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneWebhook) -> Result<Reply<Nothing>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let request = DeleteEndpoint { target: input.webhook.into(), faults: Violations::new() };
        webhooks.delete(&caller, request).await.map_err(refused(input.webhook))?;
        Ok(Reply::ok("Webhook removed successfully", Nothing))
    }
}

/// `webhooks.secret`
pub struct ShowSecret;

impl Operation for ShowSecret {
    const METADATA: Metadata = proven(
        Traits::SECRET,
        metadata(
            "webhooks.secret",
            "Shows what signs the messages of a webhook endpoint, and the former secret while it signs too.",
            (Method::Post, "/agents/{agent}/webhooks/{webhook}/secret"),
            &[AuditAction::WebhookReveal],
            "webhooks secret ID --agent AGENT",
        ),
    );
    type Input = OneWebhook;
    type Output = SecretView;

    async fn run(cx: Context<'_>, input: OneWebhook) -> Result<Reply<SecretView>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let secret = webhooks.secret(&caller, &input.webhook.into(), Violations::new()).await;
        Ok(Reply::ok("Secret retrieved successfully", secret.map_err(refused(input.webhook))?))
    }
}

input! {
    /// How long the former secret signs too.
    RotateWebhook {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "graceSeconds" Body grace_seconds: Option<Json> { "type": "integer", "minimum": 0, "maximum": 604_800, "default": 86_400 },
    }
}

/// `webhooks.rotate`
pub struct Rotate;

impl Operation for Rotate {
    const METADATA: Metadata = proven(
        Traits::SECRET,
        metadata(
            "webhooks.rotate",
            "Gives a webhook endpoint a new secret. The former one signs too for a while.",
            (Method::Post, "/agents/{agent}/webhooks/{webhook}/rotate"),
            &[AuditAction::WebhookRotate],
            "webhooks rotate ID --agent AGENT --grace 24h",
        ),
    );
    type Input = RotateWebhook;
    type Output = SecretView;

    async fn run(cx: Context<'_>, input: RotateWebhook) -> Result<Reply<SecretView>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let fields = members([("graceSeconds", input.grace_seconds)]);
        let request = RotateSecret { target: input.webhook.into(), fields: fields.into() };
        let secret = webhooks.rotate(&caller, request).await.map_err(refused(input.webhook))?;
        Ok(Reply::ok("Secret rotated successfully", secret))
    }
}

input! {
    /// Which example is sent.
    TestWebhook {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "type" Body kind: Option<Json> { "type": "string", "default": "contact.created", "description": "The type of the event, whose data is an example." },
    }
}

/// `webhooks.test`
pub struct Test;

impl Operation for Test {
    const METADATA: Metadata = Metadata {
        access: Access::Agent(Capability::WebhooksManage),
        traits: Traits::READ,
        ..metadata(
            "webhooks.test",
            "Sends an example of an event, which moves nothing and is not logged; 10 a minute for each endpoint.",
            (Method::Post, "/agents/{agent}/webhooks/{webhook}/test"),
            &[],
            "webhooks test ID --agent AGENT --type contact.created",
        )
    };
    type Input = TestWebhook;
    type Output = TestResult;

    async fn run(cx: Context<'_>, input: TestWebhook) -> Result<Reply<TestResult>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let fields = members([("type", input.kind)]);
        let request = SendTest { target: input.webhook.into(), fields: fields.into() };
        let result = webhooks.test(&caller, request).await.map_err(refused(input.webhook))?;
        Ok(Reply::ok("Test message sent", result))
    }
}

input! {
    /// Which events are sent again: one of the three.
    ReplayWebhook {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "after" Body after: Option<Json> { "type": ["string", "integer"], "description": "The cursor or the number of an event: all after it are sent again." },
        "since" Body since: Option<Json> { "type": "string", "format": "date-time", "description": "Events since this time are sent again." },
        "ids" Body ids: Option<Json> { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 100, "description": "Ids of single events." },
    }
}

/// `webhooks.replay`
pub struct Replay;

impl Operation for Replay {
    const METADATA: Metadata = metadata(
        "webhooks.replay",
        "Sends events of the log to a webhook endpoint again, with their ids.",
        (Method::Post, "/agents/{agent}/webhooks/{webhook}/replay"),
        &[AuditAction::WebhookReplay],
        "webhooks replay ID --agent AGENT --since 2026-01-31T09:00:00Z",
    );
    type Input = ReplayWebhook;
    type Output = Replayed;

    async fn run(cx: Context<'_>, input: ReplayWebhook) -> Result<Reply<Replayed>, ApiError> {
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let fields = members([("after", input.after), ("since", input.since), ("ids", input.ids)]);
        let request = ReplayEvents { target: input.webhook.into(), fields: fields.into() };
        let replayed = webhooks.replay(&caller, request).await.map_err(refused(input.webhook))?;
        Ok(Reply::ok("Events will be sent again", replayed))
    }
}
