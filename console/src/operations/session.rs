//! Who is signed in, what that person may do, and the proof of identity before what can do great harm.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, header};
use openapi_core::audit::AuditAction;
use openapi_core::json::{JsonSchema, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::ceremony::{Ceremony, request_options};
use super::types::{NoInput, Nothing, Person};
use crate::auth::challenge::{Purpose, issue};
use crate::auth::cookies::Cookie;
use crate::auth::records::People;
use crate::auth::session::{STEP_UP_MILLIS, SignedIn};
use crate::capability::{Capability, Reach};
use crate::context::Context;
use crate::errors::proves_nobody;
use crate::grants::Grants;
use crate::input::{Credential, Secret, input};
use crate::oidc::provider::id_of;
use crate::operation::{Access, Metadata, Operation, Traits};

/// Capabilities, each `full`, or `masked` where sensitive values are left out.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Capabilities(BTreeMap<&'static str, &'static str>);

impl JsonSchema for Capabilities {
    const NAME: Option<&'static str> = Some("Capabilities");

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": { "type": "string", "enum": ["full", "masked"] } })
    }
}

fn capabilities(reach: impl Fn(Capability) -> Option<Reach>) -> Capabilities {
    let word = |reach| if reach == Reach::Full { "full" } else { "masked" };
    let reaches = Capability::ALL.iter().filter_map(|known| Some((known.as_str(), word(reach(*known)?))));
    Capabilities(reaches.collect())
}

/// Capabilities by agent.
#[derive(Serialize)]
#[serde(transparent)]
pub struct ByAgent(BTreeMap<String, Capabilities>);

impl JsonSchema for ByAgent {
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": Capabilities::reference() })
    }
}

/// A provider on the sign-in page.
pub struct Offered {
    id: String,
    name: String,
}

json_object! { Offered as "OfferedProvider" = |offered| {
    "id": String = offered.id,
    "name": String = offered.name,
} }

/// The providers that are switched on, by name.
async fn offered(cx: &Context<'_>) -> Result<Vec<Offered>, ApiError> {
    let providers = People(cx.platform()).providers().await?;
    let on = providers.into_iter().filter(|provider| provider.body.is_enabled);
    let mut offered: Vec<Offered> =
        on.map(|provider| Offered { id: id_of(&provider).to_owned(), name: provider.body.name }).collect();
    offered.sort_by_cached_key(|offered| (offered.name.to_lowercase(), offered.id.clone()));
    Ok(offered)
}

/// The signed-in operator.
pub struct Session {
    person: Option<Person>,
    installation: Capabilities,
    agents: ByAgent,
    step_up_until: Option<Timestamp>,
    methods: Vec<&'static str>,
    providers: Vec<Offered>,
    is_set_up: bool,
    needs_method: bool,
    has_accounts: bool,
    service_name: String,
    public_url: String,
    api_key_prefix: String,
    build: &'static str,
}

json_object! { Session as "Session" = |session| {
    "operator": Option<Person> { "description": "`null`: nobody is signed in." } = session.person,
    "capabilities": Capabilities {
        "description": "On every agent, and on the installation."
    } = session.installation,
    "agentCapabilities": ByAgent {
        "description": "On each agent that a grant names, what holds on every agent included."
    } = session.agents,
    "stepUpUntil": Option<Timestamp> = session.step_up_until,
    "methods": Vec<&'static str> { "description": "How one can sign in: `passkey`, `password`. Providers follow in `providers`." } = session.methods,
    "providers": Vec<Offered> { "description": "The providers that one can sign in with." } = session.providers,
    "isSetUp": bool { "description": "Whether there is an operator." } = session.is_set_up,
    "needsMethod": bool {
        "description": "Whether the session can only set up a way to sign in: a passkey, or a password with one-time codes."
    } = session.needs_method,
    "hasAccounts": bool { "description": "Whether accounts are the console's own." } = session.has_accounts,
    "serviceName": String = session.service_name,
    "publicUrl": String { "description": "The URL of the Open API." } = session.public_url,
    "apiKeyPrefix": String = session.api_key_prefix,
    "build": &'static str = session.build,
} }

/// When a proof of identity is too old.
fn step_up_until(cx: &Context<'_>) -> Option<Timestamp> {
    let until = cx.operator.authenticated_at?.plus_millis(STEP_UP_MILLIS);
    (until > cx.platform().now()).then_some(until)
}

impl Session {
    pub(super) async fn of(cx: &Context<'_>) -> Result<Self, ApiError> {
        let grants: &Grants = &cx.operator.grants;
        let named = grants.as_slice().iter().filter_map(|grant| grant.agent.as_ref());
        let settings = &cx.console.settings;
        let has_accounts = settings.accounts.is_some();
        let mut methods = Vec::new();
        if has_accounts {
            methods.extend(settings.relying_party().map(|_| "passkey"));
            methods.push("password");
        }
        let service = cx.platform().service_info();
        Ok(Session {
            person: (!cx.operator.id.is_empty()).then(|| Person::of(cx)),
            installation: capabilities(|capability| grants.installation_reach(capability)),
            agents: ByAgent(
                named
                    .map(|agent| {
                        (agent.to_string(), capabilities(|capability| grants.reach(capability, agent)))
                    })
                    .collect(),
            ),
            step_up_until: step_up_until(cx),
            methods,
            providers: if has_accounts { offered(cx).await? } else { Vec::new() },
            is_set_up: !has_accounts || People(cx.platform()).is_set_up().await?,
            needs_method: cx.signed_in().is_some_and(|signed_in| signed_in.session.body.is_limited),
            has_accounts,
            service_name: service.service_name().to_owned(),
            public_url: service.public_url().to_owned(),
            api_key_prefix: service.api_key_prefix().as_str().to_owned(),
            build: settings.build,
        })
    }
}

/// `session.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = Metadata {
        name: "session.show",
        summary: "Shows who is signed in and what that person may do.",
        method: Method::Get,
        path: "/session",
        access: Access::Public,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::NONE,
    };
    type Input = NoInput;
    type Output = Session;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Session>, ApiError> {
        Ok(Reply::ok("Session retrieved successfully", Session::of(&cx).await?))
    }
}

/// `session.stepUpOptions`
pub struct StepUpOptions;

impl Operation for StepUpOptions {
    const METADATA: Metadata = Metadata {
        name: "session.stepUpOptions",
        summary: "Prepares a proof of identity: the options of a request for one of the operator's passkeys.",
        method: Method::Post,
        path: "/session/step-up/options",
        access: Access::SignedIn,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::ACCOUNTS_READ,
    };
    type Input = NoInput;
    type Output = Ceremony;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Ceremony>, ApiError> {
        let own = cx.own()?;
        let operator = own.account.operator_id()?;
        let methods = cx.console.methods_of(operator).await?;
        let ids = cx.console.credentials_of(operator).await?;
        let challenge = issue(cx.platform(), Purpose::StepUp, own.session.id.as_bytes());
        let options = request_options(&cx, &challenge, &ids).filter(|_| !ids.is_empty());
        Ok(Reply::ok("Options created successfully", Ceremony { options, methods }))
    }
}

input! {
    /// A proof of identity: a passkey, or the password with a one-time code.
    Proof {
        "credential" Body credential: Option<Credential>,
        "password" Body password: Option<Secret>,
        "code" Body code: Option<Secret> { "description": "The one-time code that a password needs." },
    }
}

/// How long a proof counts.
pub struct Proven(Timestamp);

json_object! { Proven as "StepUp" = |proven| {
    "stepUpUntil": Timestamp = proven.0,
} }

/// `session.stepUp`
pub struct StepUp;

impl Operation for StepUp {
    const METADATA: Metadata = Metadata {
        name: "session.stepUp",
        summary: "Proves once more who the operator is. It counts for 10 minutes.",
        method: Method::Post,
        path: "/session/step-up",
        access: Access::SignedIn,
        step_up: false,
        audit: &[AuditAction::OperatorStepUp],
        command: "",
        traits: Traits::SIGN_IN,
    };
    type Input = Proof;
    type Output = Proven;

    async fn run(cx: Context<'_>, input: Proof) -> Result<Reply<Proven>, ApiError> {
        let own: &SignedIn = cx.own()?;
        let accounts = cx.accounts()?;
        let mut changes = Vec::new();
        let method = match (input.credential, input.password, input.code) {
            (Some(credential), None, None) => {
                let binding = own.session.id.as_bytes();
                let found = cx.console.proven_passkey(&cx, &credential.0, Purpose::StepUp, binding).await?;
                if found.operator != own.account.operator_id()? {
                    return Err(proves_nobody());
                }
                changes.extend(found.changes);
                "passkey"
            }
            (None, Some(password), Some(code)) => {
                let email = &own.account.body.email;
                let proven = cx.console.proven_password(&cx, accounts, email, &password.0).await?;
                let totp = proven.totp.ok_or_else(proves_nobody)?;
                let operator = own.account.operator_id()?;
                changes.push(cx.console.proven_code(&cx, operator, totp, &code.0)?);
                "password"
            }
            _ => return Err(proves_nobody()),
        };
        let now = cx.platform().now();
        let mut session = own.session.clone();
        session.body.authenticated_at = now;
        changes.push(session.save()?);
        let mut details = Object::new();
        details.insert("method", method.into());
        let people = People(cx.platform());
        let action = AuditAction::OperatorStepUp;
        let audit = people.audit(cx.actor, action, &cx.operator.id, &details);
        if !people.write(changes, vec![audit]).await? {
            return Err(openapi_core::platform::concurrent_update());
        }
        Ok(Reply::ok("Identity proven successfully", Proven(now.plus_millis(STEP_UP_MILLIS))))
    }
}

/// `session.end`
pub struct End;

impl Operation for End {
    const METADATA: Metadata = Metadata {
        name: "session.end",
        summary: "Signs out.",
        method: Method::Delete,
        path: "/session",
        access: Access::SignedIn,
        step_up: false,
        audit: &[AuditAction::OperatorSignOut],
        command: "",
        traits: Traits::SETS_UP,
    };
    type Input = NoInput;
    type Output = Nothing;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Nothing>, ApiError> {
        let own = cx.own()?;
        let accounts = cx.accounts()?;
        let people = People(cx.platform());
        let action = AuditAction::OperatorSignOut;
        let audit = people.audit(cx.actor, action, &cx.operator.id, &Object::new());
        if !people.write(vec![own.session.remove()], vec![audit]).await? {
            // Another request of the session noted its use: read it again.
            cx.console.end_session(&cx, &own.session.id, action).await?;
        }
        if let Some(gone) = Cookie::Session.set(&cx.console.settings, accounts, "", 0) {
            cx.call.add_header(header::SET_COOKIE, gone);
        }
        let clear = HeaderValue::from_static("\"cache\", \"storage\"");
        cx.call.add_header(HeaderName::from_static("clear-site-data"), clear);
        Ok(Reply::ok("Signed out successfully", Nothing))
    }
}
