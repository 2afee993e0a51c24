//! Service tokens: Settings → Service tokens.

use std::collections::BTreeSet;

use openapi_core::access::AllowedAddress;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{Line, PlatformId, Timestamp};
use serde_json::{Value, json};

use super::OPERATIONS;
use super::members::refuse_unknown_agents;
use super::types::{ActorView, Names, NoInput};
use crate::auth::records::{ServiceTokenBody, Stored};
use crate::auth::token_changes::NewToken;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{confirmed, refused};
use crate::grants::Grants;
use crate::input::{Member, input, texts};
use crate::operation::{Access, Metadata, Operation, Traits};

/// How long a token works, in seconds: an hour to 366 days, 90 days when it is not said.
const VALID_SECONDS: std::ops::RangeInclusive<u32> = 3_600..=31_622_400;
const USUAL_SECONDS: u32 = 7_776_000;

/// The operations that ask people for a proof of identity and that a token may be made for.
fn dangerous() -> impl Iterator<Item = &'static Metadata> {
    OPERATIONS.iter().map(|entry| entry.metadata).filter(|it| it.step_up && it.admits_tokens())
}

/// Names of operations that ask people for a proof of identity.
#[derive(Clone, Debug, Default)]
pub struct Dangerous(BTreeSet<&'static str>);

impl Member for Dangerous {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let parse = |text: Result<&str, ValidationIssue>| {
            let text = text?;
            dangerous().map(|known| known.name).find(|known| *known == text).ok_or_else(|| {
                let known: Vec<_> = dangerous().map(|known| known.name).collect();
                let known = known.join(", ");
                let text = format!("'{text}' is none of the operations that must be named here: {known}");
                ValidationIssue::new(ValidationCode::Enum, text)
            })
        };
        texts(value)?.map(parse).collect::<Result<_, _>>().map(Dangerous)
    }

    fn schema() -> Value {
        let known: Vec<_> = dangerous().map(|known| known.name).collect();
        json!({ "type": "array", "uniqueItems": true, "items": { "type": "string", "enum": known } })
    }
}

input! {
    /// A new token.
    CreateToken {
        "name" Body name: Line<100>,
        "grants" Body grants: Grants { "description": "Never `owner`." },
        "validForSeconds" Body valid_for_seconds: Option<u32> {
            "minimum": 3_600, "maximum": 31_622_400, "default": 7_776_000
        },
        "addresses" Body addresses: Option<Vec<AllowedAddress>>,
        "dangerous" Body dangerous: Option<Dangerous> {
            "description": "Operations marked † that the token may call. People prove their identity for them."
        },
    }
}

input! {
    /// A token, confirmed by its name.
    ConfirmedToken {
        "token" Path token: PlatformId,
        "confirm" Body confirm: Line<100> { "description": "The token's name, typed again." },
    }
}

/// A token as operators see it.
pub struct TokenView {
    id: PlatformId,
    body: ServiceTokenBody,
    state: &'static str,
    created_by: ActorView,
}

impl TokenView {
    async fn of(
        cx: &Context<'_>,
        names: &mut Names,
        token: Stored<ServiceTokenBody>,
    ) -> Result<Self, ApiError> {
        let now = cx.platform().now();
        let state = match token.body.revoked_at {
            Some(_) => "revoked",
            None if token.body.expires_at <= now => "expired",
            None => "active",
        };
        let created_by = names.view(cx, &token.body.created_by).await?;
        Ok(TokenView { id: token.token_id()?, body: token.body, state, created_by })
    }
}

json_object! { TokenView as "ServiceToken" = |view| {
    "id": PlatformId = view.id,
    "name": String = view.body.name,
    "start": String { "description": "The beginning of the token, to recognise it." } = view.body.start,
    "grants": Vec<String> { "description": "Roles, each as `inbox@acme`, or `viewer` on all agents." } =
        view.body.grants.words(),
    "dangerous": Vec<String> = view.body.dangerous,
    "addresses": Vec<String> = view.body.addresses.iter().map(ToString::to_string).collect(),
    "state": &'static str { "enum": ["active", "expired", "revoked"] } = view.state,
    "createdBy": ActorView = view.created_by,
    "createdAt": Timestamp = view.body.created_at,
    "expiresAt": Timestamp = view.body.expires_at,
    "revokedAt": Option<Timestamp> = view.body.revoked_at,
    "lastUsedAt": Option<Timestamp> { "description": "At most a minute late." } = view.body.last_used_at,
    "lastUsedAddress": Option<String> = view.body.last_used_address.map(|address| address.to_string()),
} }

/// A token with its text, which is shown this once.
pub struct IssuedToken {
    token: TokenView,
    secret: String,
}

json_object! { IssuedToken as "IssuedServiceToken" = |issued| {
    "token": TokenView = issued.token,
    "secret": String { "description": "What requests send as `Authorization: Bearer`. Shown this once." } =
        issued.secret,
} }

/// The metadata of an operation on tokens.
const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    audit: &'static [AuditAction],
    (command, traits): (&'static str, Traits),
) -> Metadata {
    let access = Access::Installation(Capability::TokensManage);
    Metadata { name, summary, method, path, access, step_up: !audit.is_empty(), audit, command, traits }
}

/// `tokens.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "tokens.list",
        "Lists the service tokens, the newest first; for 30 days also those that have ended.",
        (Method::Get, "/tokens"),
        &[],
        ("tokens list", Traits::ACCOUNTS),
    );
    type Input = NoInput;
    type Output = Vec<TokenView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<TokenView>>, ApiError> {
        let mut names = Names::default();
        let mut views = Vec::new();
        for token in cx.console.tokens().await? {
            views.push(TokenView::of(&cx, &mut names, token).await?);
        }
        Ok(Reply::ok("Service tokens retrieved successfully", views))
    }
}

/// `tokens.create`
pub struct Create;

impl Operation for Create {
    const METADATA: Metadata = metadata(
        "tokens.create",
        "Creates a service token. Its text is in the answer and nowhere else.",
        (Method::Post, "/tokens"),
        &[AuditAction::TokenCreate],
        ("tokens create NAME --role developer@acme --expires 90d", Traits::ACCOUNTS_SECRET),
    );
    type Input = CreateToken;
    type Output = IssuedToken;

    async fn run(cx: Context<'_>, input: CreateToken) -> Result<Reply<IssuedToken>, ApiError> {
        let seconds = input.valid_for_seconds.unwrap_or(USUAL_SECONDS);
        if !VALID_SECONDS.contains(&seconds) {
            let is_less = seconds < *VALID_SECONDS.start();
            let code = if is_less { ValidationCode::Minimum } else { ValidationCode::Maximum };
            let issue = ValidationIssue::new(code, "must be an hour to 366 days, in seconds");
            return Err(refused("validForSeconds", issue));
        }
        if input.grants.are_of_owner() {
            let text = "must not have owner: a service token is at most an admin";
            return Err(refused("grants", ValidationIssue::new(ValidationCode::Enum, text)));
        }
        refuse_unknown_agents(&cx, "grants", input.grants.as_slice()).await?;
        let named = input.dangerous.unwrap_or_default().0;
        refuse_out_of_reach(&input.grants, &named)?;
        let new = NewToken {
            name: input.name.to_string(),
            grants: input.grants,
            dangerous: named.into_iter().map(str::to_owned).collect(),
            addresses: input.addresses.unwrap_or_default(),
            expires_at: cx.platform().now().plus_millis(i64::from(seconds) * 1_000),
        };
        let (token, secret) = cx.console.create_token(&cx, new).await?;
        let token = TokenView::of(&cx, &mut Names::default(), token).await?;
        let mut reply = Reply::ok("Service token created successfully", IssuedToken { token, secret });
        reply.status = 201;
        Ok(reply)
    }
}

/// Refuses operations that none of the grants allows.
fn refuse_out_of_reach(grants: &Grants, named: &BTreeSet<&'static str>) -> Result<(), ApiError> {
    let all = grants.as_slice();
    let lacking = dangerous().filter(|known| named.contains(known.name)).find_map(|known| {
        let capability = match known.access {
            Access::Public | Access::SignedIn => return None,
            Access::Agent(capability) => capability,
            Access::Installation(capability) => {
                return grants.installation_reach(capability).is_none().then_some((known.name, capability));
            }
        };
        let has =
            |grant: &crate::grants::Grant| grant.role.reach(capability, grant.agent.is_none()).is_some();
        (!all.iter().any(has)).then_some((known.name, capability))
    });
    lacking.map_or(Ok(()), |(name, capability)| {
        let text = format!("'{name}' needs {capability}, which none of the roles has");
        Err(refused("dangerous", ValidationIssue::new(ValidationCode::Conflict, text)))
    })
}

/// `tokens.revoke`
pub struct Revoke;

impl Operation for Revoke {
    const METADATA: Metadata = metadata(
        "tokens.revoke",
        "Revokes a service token for good: its requests are refused at once, and its streams end within 5 s.",
        (Method::Delete, "/tokens/{token}"),
        &[AuditAction::TokenRevoke],
        ("tokens revoke ID", Traits::ACCOUNTS),
    );
    type Input = ConfirmedToken;
    type Output = TokenView;

    async fn run(cx: Context<'_>, input: ConfirmedToken) -> Result<Reply<TokenView>, ApiError> {
        let confirm = input.confirm.as_str();
        let revoked =
            cx.console.revoke_token(&cx, input.token, |body| confirmed(confirm, &body.name)).await?;
        let view = TokenView::of(&cx, &mut Names::default(), revoked).await?;
        Ok(Reply::ok("Service token revoked successfully", view))
    }
}
