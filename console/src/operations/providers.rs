//! Providers that operators sign in with: Settings → Sign-in.

use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{Line, Timestamp};
use serde_json::Value;

use super::members::refuse_unknown_agents;
use super::oidc::Leaving;
use super::types::{NoInput, Nothing};
use crate::auth::records::{People, Stored};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{not_found, refused};
use crate::input::{OrNull, Secret, input};
use crate::oidc::flow::{Intent, ReturnPath};
use crate::oidc::provider::{
    Groups, MOST_PROVIDERS, ProviderBody, ProviderId, Trial, Words, changed_members, id_of, read_domains,
    read_issuer, read_scopes,
};
use crate::oidc::steps::{Step, check, failure};
use crate::operation::{Access, Metadata, Operation, Traits};

/// A claim of a trial.
pub struct ClaimView {
    name: String,
    value: String,
}

impl ClaimView {
    fn of((name, value): &(String, String)) -> Self {
        ClaimView { name: name.clone(), value: value.clone() }
    }
}

json_object! { ClaimView as "Claim" = |claim| {
    "name": String = claim.name,
    "value": String { "description": "The JSON of the value, of which long ones are cut." } = claim.value,
} }

/// What the provider said of the owner who tried it.
pub struct TrialView(Trial);

json_object! { TrialView as "ProviderTrial" = |view| {
    "at": Timestamp = view.0.at,
    "claims": Vec<ClaimView> =
        view.0.claims.iter().map(ClaimView::of).collect(),
} }

/// A provider as owners see it.
pub struct ProviderView {
    id: String,
    etag: String,
    redirect_uri: String,
    body: ProviderBody,
}

json_object! { ProviderView as "Provider" = |view| {
    "id": String = view.id,
    "name": String { "description": "What the button says: `Continue with NAME`." } = view.body.name,
    "issuer": String = view.body.issuer,
    "clientId": String = view.body.client_id,
    "hasClientSecret": bool { "description": "The secret itself is never shown." } = !view.body.secret.is_empty(),
    "scopes": Vec<String> = view.body.scopes,
    "groupsClaim": String { "description": "The claim of ID tokens that has the person's groups." } =
        view.body.groups_claim,
    "groups": Groups {
        "description": "The roles that each group gives, at each sign-in; `*` is everyone at the provider."
    } = view.body.groups,
    "domains": Vec<String> {
        "description": "Domains of addresses that the provider verifies: who has one gets an account with the roles of their groups."
    } = view.body.domains,
    "isEnabled": bool = view.body.is_enabled,
    "redirectUri": String { "description": "To enter at the provider." } = view.redirect_uri,
    "trial": Option<TrialView> { "description": "The claims of the last trial, for a day." } =
        view.body.trial.clone().map(TrialView),
    "etag": String { "description": "To send as `If-Match` with a change." } = view.etag,
    "createdAt": Timestamp = view.body.created_at,
    "updatedAt": Timestamp = view.body.updated_at,
} }

fn view(cx: &Context<'_>, provider: Stored<ProviderBody>) -> ProviderView {
    let (id, etag) = (id_of(&provider).to_owned(), provider.etag());
    ProviderView { id, etag, redirect_uri: cx.console.redirect_uri(), body: provider.body }
}

const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    step_up: bool,
    audit: &'static [AuditAction],
    (command, traits): (&'static str, Traits),
) -> Metadata {
    let access = Access::Installation(Capability::SignInManage);
    Metadata { name, summary, method, path, access, step_up, audit, command, traits }
}

/// The tag of a provider that is not there yet.
const ABSENT: &str = "\"0\"";

async fn provider(cx: &Context<'_>, id: &ProviderId) -> Result<Stored<ProviderBody>, ApiError> {
    let found = People(cx.platform()).provider(id).await?;
    found.ok_or_else(|| not_found("provider", id.as_str()))
}

fn current(cx: &Context<'_>, provider: &Stored<ProviderBody>) -> Value {
    serde_json::to_value(view(cx, provider.clone())).unwrap_or_default()
}

/// `providers.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "providers.list",
        "Lists the providers that operators sign in with.",
        (Method::Get, "/providers"),
        false,
        &[],
        ("sign-in list", Traits::ACCOUNTS),
    );
    type Input = NoInput;
    type Output = Vec<ProviderView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<ProviderView>>, ApiError> {
        let providers = People(cx.platform()).providers().await?;
        let views = providers.into_iter().map(|provider| view(&cx, provider)).collect();
        Ok(Reply::ok("Providers retrieved successfully", views))
    }
}

input! {
    /// A provider, in place of what is stored.
    SaveProvider {
        "provider" Path provider: ProviderId,
        "name" Body name: Line<60>,
        "issuer" Body issuer: Line<300> { "description": "Its URL, exactly as the provider's description names it." },
        "clientId" Body client_id: Line<300>,
        "clientSecret" Body client_secret: Option<OrNull<Secret>> {
            "description": "Left out, the stored one stays; `null` is a client without one."
        },
        "scopes" Body scopes: Option<Words> { "description": "`openid`, `email` and `profile` without it." },
        "groupsClaim" Body groups_claim: Option<Line<100>> { "description": "`groups` without it." },
        "groups" Body groups: Option<Groups>,
        "domains" Body domains: Option<Words>,
        "isEnabled" Body is_enabled: bool { "description": "Switching on checks the provider first." },
    }
}

/// `providers.save`
pub struct Save;

impl Operation for Save {
    const METADATA: Metadata = metadata(
        "providers.save",
        "Adds a provider or replaces its settings. One that is switched on must pass the check of `providers.test`.",
        (Method::Put, "/providers/{provider}"),
        true,
        &[AuditAction::ProviderSave, AuditAction::OperatorGrant],
        ("sign-in set ID", Traits::ACCOUNTS_VERSIONED),
    );
    type Input = SaveProvider;
    type Output = ProviderView;

    async fn run(cx: Context<'_>, input: SaveProvider) -> Result<Reply<ProviderView>, ApiError> {
        let people = People(cx.platform());
        let known = people.provider(&input.provider).await?;
        match &known {
            Some(known) => cx.refuse_stale(&known.etag(), || current(&cx, known))?,
            None if cx.expects(ABSENT) => {
                if people.providers().await?.len() >= MOST_PROVIDERS {
                    let text = format!("There are at most {MOST_PROVIDERS} providers; remove one first");
                    return Err(ApiError::new(ErrorCode::NotPossible, text));
                }
            }
            None => return Err(not_found("provider", input.provider.as_str())),
        }
        refuse_unknown_agents(&cx, "groups", &input.groups.as_ref().map_or_else(Vec::new, Groups::all))
            .await?;
        let next = changed(&cx, known.as_ref(), input).await?;
        let mut details = Object::new();
        details.insert("issuer", Json::from(next.body.issuer.as_str()));
        details.insert("isEnabled", Json::Bool(next.body.is_enabled));
        let names = changed_members(known.as_ref().map(|known| &known.body), &next.body);
        details.insert("changed", Json::Array(names.into_iter().map(Json::from).collect()));
        let (mut changes, mut audit) = match &known {
            // Nobody of the former issuer signs in any more.
            Some(known) if known.body.issuer != next.body.issuer => {
                cx.console.without_groups(cx.actor, (id_of(known), &known.body.issuer)).await?
            }
            _ => Default::default(),
        };
        changes.push(next.save()?);
        audit.push(people.audit(cx.actor, AuditAction::ProviderSave, id_of(&next), &details));
        if !people.write(changes, audit).await? {
            return Err(concurrent_update());
        }
        cx.console.shared.published.forget(&next.body.issuer);
        let saved = Stored { version: next.version + 1, ..next };
        let etag = saved.etag();
        Ok(Reply::ok("Provider saved successfully", view(&cx, saved)).with_etag(etag))
    }
}

/// The provider that an input makes of the stored one.
async fn changed(
    cx: &Context<'_>,
    known: Option<&Stored<ProviderBody>>,
    input: SaveProvider,
) -> Result<Stored<ProviderBody>, ApiError> {
    let now = cx.platform().now();
    let before = known.map(|known| &known.body);
    let issuer = read_issuer(input.issuer.as_str())?;
    let is_moved = before.is_some_and(|before| before.issuer != issuer);
    let default_scopes = || Words(vec!["email".to_owned(), "profile".to_owned()]);
    let groups_claim = input.groups_claim.map_or_else(|| "groups".to_owned(), |claim| claim.to_string());
    let body = ProviderBody {
        name: input.name.to_string(),
        issuer,
        client_id: input.client_id.to_string(),
        secret: before.map(|before| before.secret.clone()).unwrap_or_default(),
        scopes: read_scopes(input.scopes.unwrap_or_else(default_scopes))?,
        groups_claim,
        groups: input.groups.unwrap_or_default(),
        domains: read_domains(input.domains.unwrap_or_default())?,
        is_enabled: input.is_enabled,
        trial: None,
        created_at: before.map_or(now, |before| before.created_at),
        updated_at: now,
    };
    let mut next = Stored::new(input.provider.record()?, body);
    next.version = known.map_or(0, |known| known.version);
    match input.client_secret {
        Some(OrNull(Some(Secret(secret)))) => next.seal_secret(cx.platform(), &secret)?,
        Some(OrNull(None)) => next.body.secret = Vec::new(),
        // The new issuer would get the secret of the old one.
        None if is_moved && !next.body.secret.is_empty() => {
            let text = "must be sent again, because the issuer is another one";
            return Err(refused("clientSecret", ValidationIssue::new(ValidationCode::Required, text)));
        }
        None => {}
    }
    let passed = before
        .is_some_and(|before| before.is_enabled && !is_moved && before.client_id == next.body.client_id);
    if next.body.is_enabled && !passed {
        let steps = check(&*cx.console.settings.outbound, &next.body.issuer).await;
        if let Some(failure) = failure(&steps) {
            let text = format!("cannot be switched on: {failure}");
            return Err(refused("isEnabled", ValidationIssue::new(ValidationCode::Conflict, text)));
        }
    }
    Ok(next)
}

input! {
    /// A provider.
    OneProvider { "provider" Path provider: ProviderId, }
}

/// What the check of a provider found.
pub struct Tested {
    steps: Vec<Step>,
}

json_object! { Tested as "ProviderTest" = |tested| {
    "passed": bool = tested.steps.iter().all(|step| step.passed == Some(true)),
    "steps": Vec<Step> = tested.steps,
} }

/// `providers.test`
pub struct Test;

impl Operation for Test {
    const METADATA: Metadata = metadata(
        "providers.test",
        "Checks what a provider publishes, step by step. Whether it accepts the client shows a trial.",
        (Method::Post, "/providers/{provider}/test"),
        false,
        &[],
        ("sign-in test ID", Traits::ACCOUNTS_READ),
    );
    type Input = OneProvider;
    type Output = Tested;

    async fn run(cx: Context<'_>, input: OneProvider) -> Result<Reply<Tested>, ApiError> {
        let provider = provider(&cx, &input.provider).await?;
        let steps = check(&*cx.console.settings.outbound, &provider.body.issuer).await;
        // What failed a moment ago may work now.
        cx.console.shared.published.forget(&provider.body.issuer);
        Ok(Reply::ok("Provider checked successfully", Tested { steps }))
    }
}

input! {
    /// A provider to try.
    TryProvider {
        "provider" Path provider: ProviderId,
        "returnTo" Body return_to: ReturnPath { "description": "The path of the page that it leads back to." },
    }
}

/// `providers.try`
pub struct Try;

impl Operation for Try {
    const METADATA: Metadata = metadata(
        "providers.try",
        "Begins to sign in at a provider to see what it says about the owner. Nobody is signed in by it.",
        (Method::Post, "/providers/{provider}/try"),
        true,
        &[],
        ("", Traits::ACCOUNTS_READ),
    );
    type Input = TryProvider;
    type Output = Leaving;

    async fn run(cx: Context<'_>, input: TryProvider) -> Result<Reply<Leaving>, ApiError> {
        let provider = provider(&cx, &input.provider).await?;
        let intent = Intent::Try { session: cx.own()?.session.id.as_bytes().to_vec() };
        let url = cx.console.begin_oidc(&cx, &provider, intent, input.return_to).await?;
        Ok(Reply::ok("Trial started successfully", Leaving { url }))
    }
}

/// `providers.remove`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = metadata(
        "providers.remove",
        "Removes a provider, and the roles that its groups gave. Operators keep their other ways to sign in.",
        (Method::Delete, "/providers/{provider}"),
        true,
        &[AuditAction::ProviderRemove, AuditAction::OperatorGrant],
        ("sign-in remove ID", Traits::ACCOUNTS_VERSIONED),
    );
    type Input = OneProvider;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneProvider) -> Result<Reply<Nothing>, ApiError> {
        let people = People(cx.platform());
        let provider = provider(&cx, &input.provider).await?;
        cx.refuse_stale(&provider.etag(), || current(&cx, &provider))?;
        let id = input.provider.as_str();
        let (mut changes, mut audit) =
            cx.console.without_groups(cx.actor, (id, &provider.body.issuer)).await?;
        changes.push(provider.remove());
        let mut details = Object::new();
        details.insert("issuer", Json::from(provider.body.issuer.as_str()));
        audit.push(people.audit(cx.actor, AuditAction::ProviderRemove, id, &details));
        if !people.write(changes, audit).await? {
            return Err(concurrent_update());
        }
        Ok(Reply::ok("Provider removed successfully", Nothing))
    }
}
