//! Signing in at a provider, and proving there once more who the operator is.

use http::HeaderValue;
use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::validation::Violations;
use openapi_core::values::Line;
use serde_json::{Value, json};

use crate::auth::records::{LinkKind, People};
use crate::context::Context;
use crate::errors::{not_found, proves_nobody};
use crate::input::{Input, Position, Reader, Secret, input};
use crate::oidc::flow::{CALLBACK, Intent, ReturnPath};
use crate::oidc::landing::ProviderAnswer;
use crate::oidc::provider::ProviderId;
use crate::operation::{Access, Landing, Metadata, Operation, Traits};

/// Where the browser goes.
pub struct Leaving {
    pub(super) url: String,
}

json_object! { Leaving as "Leaving" = |leaving| {
    "url": String {
        "description": "The page of the provider to which the browser goes. It leads back within 10 minutes."
    } = leaving.url,
} }

input! {
    /// A provider to sign in with.
    StartOidc {
        "provider" Body provider: ProviderId,
        "returnTo" Body return_to: ReturnPath {
            "description": "The path of the page that a success leads to; `/` without it."
        },
        "token" Body token: Option<Secret> { "description": "The token of an invitation, to accept it." },
        "name" Body name: Option<Line<100>> { "description": "With an invitation: the person's name." },
    }
}

/// `signIn.oidcStart`
pub struct Start;

impl Operation for Start {
    const METADATA: Metadata = Metadata {
        name: "signIn.oidcStart",
        summary: "Begins to sign in at a provider, or to accept an invitation there.",
        method: Method::Post,
        path: "/sign-in/oidc/start",
        access: Access::Public,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::ACCOUNTS_READ,
    };
    type Input = StartOidc;
    type Output = Leaving;

    async fn run(cx: Context<'_>, input: StartOidc) -> Result<Reply<Leaving>, ApiError> {
        cx.console.refuse_after_failures(&cx)?;
        let provider = People(cx.platform()).provider(&input.provider).await?;
        let provider = provider.filter(|provider| provider.body.is_enabled);
        let provider = provider.ok_or_else(|| not_found("provider", input.provider.as_str()))?;
        let intent = match input.token {
            None => Intent::SignIn,
            Some(Secret(token)) => {
                let found = cx.console.link(&token).await;
                let is_invitation = found.as_ref().is_ok_and(|link| link.body.kind == LinkKind::Invite);
                if !is_invitation {
                    let _ = cx.console.failed_attempt(&cx, "a link");
                    return Err(found.err().unwrap_or_else(proves_nobody));
                }
                Intent::Join { token, name: input.name.map(|name| name.to_string()) }
            }
        };
        let url = cx.console.begin_oidc(&cx, &provider, intent, input.return_to).await?;
        Ok(Reply::ok("Sign-in started successfully", Leaving { url }))
    }
}

/// The answer of a provider, whatever else is in its query.
pub struct Answered(ProviderAnswer);

/// What an answer may have in its query.
const MEMBERS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

impl Input for Answered {
    fn members() -> Vec<(Position, &'static str, bool, Value)> {
        MEMBERS.map(|name| (Position::Query, name, false, json!({ "type": "string" }))).into()
    }

    fn read(sent: &mut Reader<'_>) -> Result<Self, Violations> {
        let sole = |name: &str| sent.sole(name);
        let [code, state, iss, error, _] = MEMBERS;
        let (code, state) = (sole(code), sole(state));
        Ok(Answered(ProviderAnswer { code, state, issuer: sole(iss), error: sole(error) }))
    }
}

/// `signIn.oidcCallback`
pub struct Callback;

impl Landing for Callback {
    const METADATA: Metadata = Metadata {
        name: "signIn.oidcCallback",
        summary: "Takes the answer of a provider and leads on to a page, whose fragment says how it went.",
        method: Method::Get,
        path: CALLBACK,
        access: Access::Public,
        step_up: false,
        audit: &[
            AuditAction::OperatorSignIn,
            AuditAction::OperatorCreate,
            AuditAction::OperatorGrant,
            AuditAction::OperatorStepUp,
            AuditAction::OperatorMethod,
            AuditAction::ProviderTry,
        ],
        command: "",
        traits: Traits::LANDING,
    };
    type Input = Answered;

    async fn land(cx: Context<'_>, input: Answered) -> HeaderValue {
        cx.console.land(&cx, input.0).await
    }
}

input! {
    /// A provider that knows the operator.
    ProveOidc {
        "provider" Body provider: ProviderId,
        "returnTo" Body return_to: ReturnPath { "description": "The path of the page that it leads back to." },
    }
}

/// `session.stepUpOidc`
pub struct StepUp;

impl Operation for StepUp {
    const METADATA: Metadata = Metadata {
        name: "session.stepUpOidc",
        summary: "Begins to prove at a provider once more who the operator is.",
        method: Method::Post,
        path: "/session/step-up/oidc",
        access: Access::SignedIn,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::ACCOUNTS_READ,
    };
    type Input = ProveOidc;
    type Output = Leaving;

    async fn run(cx: Context<'_>, input: ProveOidc) -> Result<Reply<Leaving>, ApiError> {
        let own = cx.own()?;
        let provider = People(cx.platform()).provider(&input.provider).await?;
        let usable = cx.console.usable_identities(own.account.operator_id()?).await?;
        let is_linked = |issuer: &str| usable.iter().any(|(identity, _)| identity.body.issuer == issuer);
        let provider =
            provider.filter(|provider| provider.body.is_enabled && is_linked(&provider.body.issuer));
        let provider = provider.ok_or_else(|| not_found("provider", input.provider.as_str()))?;
        let intent = Intent::StepUp { session: own.session.id.as_bytes().to_vec() };
        let url = cx.console.begin_oidc(&cx, &provider, intent, input.return_to).await?;
        Ok(Reply::ok("Proof started successfully", Leaving { url }))
    }
}
