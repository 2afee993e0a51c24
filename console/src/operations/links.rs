//! Accounts by link.

use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Object, json_object};
use openapi_core::operation::Method;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::storage::RecordChange;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{AgentId, Email, Line, PlatformId, Timestamp};

use super::ceremony::{TotpSeed, confirmed_totp, creation_options, new_passkey, new_password, new_totp};
use super::session::Session;
use super::sign_in::Entered;
use super::types::Names;
use crate::auth::challenge::{Purpose, issue};
use crate::auth::records::{ATTEMPTS, Invitation, LinkBody, LinkKind, OperatorBody, Stored, unique_email};
use crate::auth::session::{SignInMethod, plain};
use crate::capability::Role;
use crate::context::Context;
use crate::errors::{failed, refused};
use crate::grants::{Grant, Grants};
use crate::input::{Credential, Secret, input};
use crate::operation::{Access, Metadata, Operation, Traits};

input! {
    /// A link.
    OneLink { "token" Body token: Secret { "description": "What follows `#` in the link." }, }
}

/// A role of an invitation.
pub struct RoleView {
    role: Role,
    agent_id: Option<AgentId>,
    agent_name: Option<String>,
}

json_object! { RoleView as "InvitedRole" = |view| {
    "role": &'static str { "enum": Role::ALL.map(Role::as_str) } = view.role.as_str(),
    "agentId": Option<AgentId> { "description": "`null`: on all agents." } = view.agent_id,
    "agentName": Option<String> = view.agent_name,
} }

/// What a link does.
pub struct LinkView {
    kind: LinkKind,
    email: Option<String>,
    name: Option<String>,
    inviter: Option<String>,
    roles: Vec<RoleView>,
    expires_at: Timestamp,
    options: Option<Object>,
    totp: TotpSeed,
    service_name: String,
}

json_object! { LinkView as "Link" = |link| {
    "kind": &'static str { "enum": ["setUp", "recover", "invite"] } = match link.kind {
        LinkKind::SetUp => "setUp",
        LinkKind::Recover => "recover",
        LinkKind::Invite => "invite",
    },
    "email": Option<String> { "description": "The address that the link is for." } = link.email,
    "name": Option<String> { "description": "The name of who is invited or recovers." } = link.name,
    "inviter": Option<String> { "description": "The name of who invites." } = link.inviter,
    "roles": Vec<RoleView> { "description": "What an invitation gives." } = link.roles,
    "expiresAt": Timestamp = link.expires_at,
    "publicKey": Option<Object> {
        "description": "For `PublicKeyCredential.parseCreationOptionsFromJSON()`, after the page has put name and \
            address into `user`; `null` without passkeys."
    } = link.options,
    "totp": TotpSeed { "description": "For the one-time codes that a password needs." } = link.totp,
    "serviceName": String = link.service_name,
} }

/// `links.inspect`
pub struct Inspect;

impl Operation for Inspect {
    const METADATA: Metadata = Metadata {
        name: "links.inspect",
        summary: "Shows what a link does, without using it up.",
        method: Method::Post,
        path: "/links/inspect",
        access: Access::Public,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::ACCOUNTS_READ,
    };
    type Input = OneLink;
    type Output = LinkView;

    async fn run(cx: Context<'_>, input: OneLink) -> Result<Reply<LinkView>, ApiError> {
        cx.console.refuse_after_failures(&cx)?;
        let link = match cx.console.link(&input.token.0).await {
            Ok(link) => link.body,
            Err(error) => {
                let _ = cx.console.failed_attempt(&cx, "a link");
                return Err(error);
            }
        };
        let challenge = issue(cx.platform(), Purpose::Link, input.token.0.as_bytes());
        let (email, name, known) = match (link.kind, &link.invitation) {
            (LinkKind::Recover, _) => {
                let account = cx.console.recovered(&link).await?.body;
                let known = cx.console.credentials_of(link.operator).await?;
                (Some(account.email), Some(account.name), known)
            }
            (_, Some(invited)) => (Some(invited.email.clone()), invited.name.clone(), Vec::new()),
            (_, None) => (None, None, Vec::new()),
        };
        let names = (email.as_deref().unwrap_or("operator"), name.as_deref().unwrap_or("Operator"));
        let options = creation_options(&cx, &challenge, link.operator, names, &known);
        let totp = new_totp(&cx, link.operator, input.token.0.as_bytes(), names.0)?;
        let service_name = cx.platform().service_info().service_name().to_owned();
        let (inviter, roles) = match &link.invitation {
            Some(invitation) => invited(&cx, invitation).await?,
            None => (None, Vec::new()),
        };
        let LinkBody { kind, expires_at, .. } = link;
        let view = LinkView { kind, email, name, inviter, roles, expires_at, options, totp, service_name };
        Ok(Reply::ok("Link retrieved successfully", view))
    }
}

/// Who invites, and to what.
async fn invited(
    cx: &Context<'_>,
    invitation: &Invitation,
) -> Result<(Option<String>, Vec<RoleView>), ApiError> {
    let agents = cx.platform().agents().await.map_err(failed)?;
    let roles = invitation.grants.as_slice().iter().map(|grant| {
        let named = agents.iter().find(|agent| Some(&agent.id) == grant.agent.as_ref());
        let agent_name = named.map(|agent| agent.name.to_string());
        RoleView { role: grant.role, agent_id: grant.agent.clone(), agent_name }
    });
    let roles = roles.collect();
    let inviter = Names::default().name(cx, &invitation.invited_by).await?;
    Ok((inviter, roles))
}

input! {
    /// A new account, or another way to sign in to one: a passkey, a password with one-time codes, or both. A recovery needs
    /// neither name nor address, an invitation has the address.
    AcceptLink {
        "token" Body token: Secret,
        "name" Body name: Option<Line<100>>,
        "email" Body email: Option<Email>,
        "credential" Body credential: Option<Credential>,
        "password" Body password: Option<Secret>,
        "enrolment" Body enrolment: Option<Secret> { "description": "With a password: that of `totp`." },
        "code" Body code: Option<Secret> { "description": "With a password: the first one-time code." },
    }
}

/// A session of an account that has just been made or recovered, with its recovery codes.
pub struct Accepted {
    entered: Entered,
    recovery_codes: Vec<String>,
}

json_object! { Accepted as "AcceptedLink" = |accepted| {
    "session": Session = accepted.entered.session,
    "pageSecret": Option<String> {
        "description": "On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`."
    } = accepted.entered.page_secret,
    "recoveryCodes": Vec<String> {
        "description": "Each leads back into the account once. Shown this once."
    } = accepted.recovery_codes,
} }

/// `links.accept`
pub struct Accept;

impl Operation for Accept {
    const METADATA: Metadata = Metadata {
        name: "links.accept",
        summary: "Creates the account of a link and signs in.",
        method: Method::Post,
        path: "/links/accept",
        access: Access::Public,
        step_up: false,
        audit: &[AuditAction::OperatorCreate, AuditAction::OperatorSignIn],
        command: "",
        traits: Traits::SIGN_IN,
    };
    type Input = AcceptLink;
    type Output = Accepted;

    async fn run(cx: Context<'_>, input: AcceptLink) -> Result<Reply<Accepted>, ApiError> {
        let accounts = cx.accounts()?;
        cx.console.refuse_after_failures(&cx)?;
        let link = match cx.console.link(&input.token.0).await {
            Ok(link) => link,
            Err(error) => {
                let _ = cx.console.failed_attempt(&cx, "a link");
                return Err(error);
            }
        };
        if input.credential.is_none() && input.password.is_none() {
            let issue = ValidationIssue::new(ValidationCode::Required, "send a passkey or a password");
            return Err(refused("credential", issue));
        }
        let mut account = match link.body.kind {
            LinkKind::SetUp => first_owner(&cx, &input, link.body.operator)?,
            LinkKind::Recover => cx.console.recovered(&link.body).await?,
            LinkKind::Invite => invited_account(&cx, &input, &link.body)?,
        };
        account.body.updated_at = cx.platform().now();
        let mut changes = vec![link.remove(), account.save()?];
        let method = methods(&cx, &input, &account, &mut changes).await?;
        let recovery_codes = cx.console.new_recovery_codes(account.operator_id()?, &mut changes).await?;
        if link.body.kind == LinkKind::Recover {
            account.version += 1;
            let actions = [AuditAction::OperatorMethod, AuditAction::OperatorSignIn];
            let begun = cx
                .console
                .begin_session(accounts, cx.call, &account, method, changes, plain(&actions))
                .await?;
            // A person who was signed in may be the reason for the recovery.
            cx.console.end_others(&cx, &begun.0).await?;
            let entered = Entered::of(&cx, begun.0, begun.1).await?;
            let accepted = Accepted { entered, recovery_codes };
            return Ok(Reply::ok("Account recovered successfully", accepted));
        }
        let actions = [AuditAction::OperatorCreate, AuditAction::OperatorSignIn];
        for _ in 0..ATTEMPTS {
            let mut changes = changes.clone();
            if let Some(invitation) = &link.body.invitation {
                changes.extend(cx.console.author(invitation).await?);
            }
            let begun =
                cx.console.begin_session(accounts, cx.call, &account, method, changes, plain(&actions)).await;
            match begun {
                // The author's account was written in the meantime, or the link was used.
                Err(error)
                    if error.code() == ErrorCode::Unauthenticated && link.body.invitation.is_some() =>
                {
                    cx.console.link(&input.token.0).await?;
                }
                begun => {
                    let (signed_in, page_secret) = begun?;
                    let entered = Entered::of(&cx, signed_in, page_secret).await?;
                    let accepted = Accepted { entered, recovery_codes };
                    return Ok(Reply::ok("Account created successfully", accepted));
                }
            }
        }
        Err(concurrent_update())
    }
}

/// The account of an invitation.
fn invited_account(
    cx: &Context<'_>,
    input: &AcceptLink,
    link: &LinkBody,
) -> Result<Stored<OperatorBody>, ApiError> {
    let invitation = link.invitation.as_ref().ok_or_else(ApiError::internal)?;
    if let Some(sent) = &input.email
        && unique_email(&sent.to_string()) != unique_email(&invitation.email)
    {
        let issue = ValidationIssue::new(ValidationCode::Conflict, "is not the address that was invited");
        return Err(refused("email", issue));
    }
    let name = input.name.as_ref().map(ToString::to_string).or_else(|| invitation.name.clone());
    let name = name.ok_or_else(|| refused("name", ValidationIssue::required()))?;
    let (email, grants) = (invitation.email.clone(), invitation.grants.clone());
    Ok(OperatorBody::account(link.operator, (email, name, grants), cx.platform().now()))
}

/// The account of the first owner.
fn first_owner(
    cx: &Context<'_>,
    input: &AcceptLink,
    operator: PlatformId,
) -> Result<Stored<OperatorBody>, ApiError> {
    let missing = |name: &str| refused(name, ValidationIssue::required());
    let name = input.name.as_ref().ok_or_else(|| missing("name"))?.to_string();
    let email = input.email.as_ref().ok_or_else(|| missing("email"))?.to_string();
    let grants = Grants::new(vec![Grant { role: Role::Owner, agent: None }]);
    Ok(OperatorBody::account(operator, (email, name, grants), cx.platform().now()))
}

/// Adds the password and the passkey of an input to the changes, and names the stronger one.
async fn methods(
    cx: &Context<'_>,
    input: &AcceptLink,
    account: &Stored<OperatorBody>,
    changes: &mut Vec<RecordChange>,
) -> Result<SignInMethod, ApiError> {
    let operator = account.operator_id()?;
    let token = input.token.0.as_bytes();
    let mut method = SignInMethod::Passkey;
    if let Some(Secret(password)) = &input.password {
        let missing = |name: &str| refused(name, ValidationIssue::required());
        let enrolment = input.enrolment.as_ref().ok_or_else(|| missing("enrolment"))?;
        let code = input.code.as_ref().ok_or_else(|| missing("code"))?;
        changes.push(new_password(cx, account, password).await?);
        changes.extend(confirmed_totp(cx, operator, token, (&enrolment.0, &code.0)).await?);
        method = SignInMethod::Password;
    }
    if let Some(Credential(credential)) = &input.credential {
        let name = "Passkey".to_owned();
        changes.extend(new_passkey(cx, credential, Purpose::Link, token, operator, name)?);
        method = SignInMethod::Passkey;
    }
    Ok(method)
}
