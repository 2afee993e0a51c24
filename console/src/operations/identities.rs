//! The operator's own accounts at providers.

use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, json_object};
use openapi_core::operation::Method;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::values::{Line, Timestamp};

use super::me::{change, own, own_record};
use super::oidc::Leaving;
use super::types::NoInput;
use crate::auth::cookies::encode;
use crate::auth::records::People;
use crate::context::Context;
use crate::errors::not_found;
use crate::input::input;
use crate::oidc::flow::{Intent, ReturnPath};
use crate::oidc::identity::{IdentityBody, grant_details, take_groups};
use crate::oidc::provider::{ProviderId, id_of};
use crate::operation::{Metadata, Operation, Traits};

/// An account at a provider as its operator sees it.
pub struct IdentityView {
    id: String,
    provider: Option<(String, String)>,
    body: IdentityBody,
}

json_object! { IdentityView as "Identity" = |view| {
    "id": String = view.id,
    "provider": Option<String> {
        "description": "The id of the provider; `null`: it was removed or switched off, so nobody signs in there."
    } = view.provider.as_ref().map(|(id, _)| id.clone()),
    "providerName": Option<String> = view.provider.as_ref().map(|(_, name)| name.clone()),
    "issuer": String = view.body.issuer,
    "email": Option<String> { "description": "The address at the provider, if it has verified one." } = view.body.email,
    "linkedAt": Timestamp = view.body.linked_at,
    "lastUsedAt": Option<Timestamp> = view.body.last_used_at,
} }

async fn views(cx: &Context<'_>) -> Result<Vec<IdentityView>, ApiError> {
    let people = People(cx.platform());
    let mut identities = people.of_operator::<IdentityBody>(cx.own()?.account.operator_id()?).await?;
    identities.sort_by_key(|identity| identity.body.linked_at);
    let mut providers = people.providers().await?;
    providers.retain(|provider| provider.body.is_enabled);
    let views = identities.into_iter().map(|identity| {
        let provider = providers.iter().find(|provider| provider.body.issuer == identity.body.issuer);
        IdentityView {
            id: encode(identity.id.as_bytes()),
            provider: provider.map(|provider| (id_of(provider).to_owned(), provider.body.name.clone())),
            body: identity.body,
        }
    });
    Ok(views.collect())
}

/// `me.identities`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = own(
        "me.identities",
        "Lists the accounts at providers that the operator signs in with.",
        (Method::Get, "/me/identities"),
        false,
        &[],
    );
    type Input = NoInput;
    type Output = Vec<IdentityView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<IdentityView>>, ApiError> {
        Ok(Reply::ok("Identities retrieved successfully", views(&cx).await?))
    }
}

input! {
    /// A provider to link.
    LinkProvider {
        "provider" Body provider: ProviderId,
        "returnTo" Body return_to: ReturnPath { "description": "The path of the page that it leads back to." },
    }
}

/// `me.linkIdentity`
pub struct Link;

impl Operation for Link {
    const METADATA: Metadata = Metadata {
        traits: Traits::ACCOUNTS_READ,
        ..own(
            "me.linkIdentity",
            "Begins to link an account at a provider, with which the operator then signs in.",
            (Method::Post, "/me/identities"),
            true,
            &[],
        )
    };
    type Input = LinkProvider;
    type Output = Leaving;

    async fn run(cx: Context<'_>, input: LinkProvider) -> Result<Reply<Leaving>, ApiError> {
        let provider = People(cx.platform()).provider(&input.provider).await?;
        let provider = provider.filter(|provider| provider.body.is_enabled);
        let provider = provider.ok_or_else(|| not_found("provider", input.provider.as_str()))?;
        let intent = Intent::Link { session: cx.own()?.session.id.as_bytes().to_vec() };
        let url = cx.console.begin_oidc(&cx, &provider, intent, input.return_to).await?;
        Ok(Reply::ok("Linking started successfully", Leaving { url }))
    }
}

input! {
    /// An account at a provider.
    OneIdentity { "identity" Path identity: Line<100>, }
}

/// `me.unlinkIdentity`
pub struct Unlink;

impl Operation for Unlink {
    const METADATA: Metadata = own(
        "me.unlinkIdentity",
        "Unlinks an account at a provider, with which nobody then signs in. Roles that its groups gave go.",
        (Method::Delete, "/me/identities/{identity}"),
        true,
        &[AuditAction::OperatorMethod, AuditAction::OperatorGrant],
    );
    type Input = OneIdentity;
    type Output = Vec<IdentityView>;

    async fn run(cx: Context<'_>, input: OneIdentity) -> Result<Reply<Vec<IdentityView>>, ApiError> {
        let id = own_record(&cx, "identity", input.identity.as_str())?;
        let found = People(cx.platform()).get::<IdentityBody>(&id).await?;
        let mut identity = found.ok_or_else(|| not_found("identity", input.identity.as_str()))?;
        let own = cx.own()?;
        let operator = own.account.operator_id()?;
        let methods = cx.console.methods_of(operator).await?;
        let usable = cx.console.usable_identities(operator).await?;
        let has_other = methods.iter().any(|method| *method != "oidc");
        if !has_other && !usable.iter().any(|(other, _)| other.id != id) {
            let text = "This is your only way to sign in; add a passkey or a password first";
            return Err(ApiError::new(ErrorCode::NotPossible, text));
        }
        // Two browsers that remove the last two ways at once meet here.
        let mut account = own.account.clone();
        take_groups(&mut account.body, &mut identity.body);
        let mut details = change("provider unlinked");
        details.insert("issuer", Json::from(identity.body.issuer.as_str()));
        let mut entries = vec![(AuditAction::OperatorMethod, details)];
        if account.body.grants != own.account.body.grants {
            account.body.updated_at = cx.platform().now();
            let details =
                grant_details(&identity.body.issuer, &own.account.body.grants, &account.body.grants);
            entries.push((AuditAction::OperatorGrant, details));
        }
        let people = People(cx.platform());
        let entries = entries
            .iter()
            .map(|(action, details)| people.audit(cx.actor, *action, &cx.operator.id, details))
            .collect();
        if !people.write(vec![identity.remove(), account.save()?], entries).await? {
            return Err(concurrent_update());
        }
        Ok(Reply::ok("Identity unlinked successfully", views(&cx).await?))
    }
}
