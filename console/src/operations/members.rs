//! Operators as other operators see and change them: Settings → Members.

use openapi_core::audit::AuditAction;
use openapi_core::json::{Object, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::values::{PlatformId, Timestamp};

use super::types::{NoInput, Nothing};
use crate::auth::cookies::encode;
use crate::auth::links::LINK_MILLIS;
use crate::auth::members::{Activity, Change};
use crate::auth::records::{OperatorBody, People, Stored, digest};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{not_found, refused};
use crate::grants::Grants;
use crate::input::input;
use crate::operation::{Access, Metadata, Operation, Traits};

input! {
    /// An operator.
    OneMember { "member" Path member: PlatformId, }
}

input! {
    /// Other roles of an operator, in place of the former ones.
    GrantRoles {
        "member" Path member: PlatformId,
        "grants" Body grants: Grants,
    }
}

/// An operator as other operators see them.
pub struct MemberView {
    id: PlatformId,
    body: OperatorBody,
    activity: Activity,
}

json_object! { MemberView as "Member" = |view| {
    "id": PlatformId = view.id,
    "name": String = view.body.name,
    "displayName": Option<String> { "description": "The name that visitors see." } = view.body.display_name,
    "email": String = view.body.email,
    "grants": Vec<String> { "description": "Roles, each as `inbox@acme`, or `owner` on all agents." } =
        view.body.grants.words(),
    "isDisabled": bool = view.body.is_disabled,
    "methods": Vec<&'static str> { "description": "How the operator signs in: `passkey`, `password`, `oidc` at a provider." } =
        methods(&view.activity),
    "sessions": u32 { "description": "Browsers that are signed in." } = view.activity.sessions,
    "lastSeenAt": Option<Timestamp> {
        "description": "In a session that is stored, or by a passkey; at most a minute late."
    } = view.activity.last_seen_at,
    "recoveredAt": Option<Timestamp> {
        "description": "When a recovery code of the operator was last used."
    } = view.activity.recovered_at,
    "createdAt": Timestamp = view.body.created_at,
    "updatedAt": Timestamp = view.body.updated_at,
} }

fn methods(activity: &Activity) -> Vec<&'static str> {
    let known = [
        (activity.has_passkey, "passkey"),
        (activity.has_password, "password"),
        (activity.has_identity, "oidc"),
    ];
    known.into_iter().filter_map(|(has, method)| has.then_some(method)).collect()
}

/// A link, which is shown this once.
pub struct MadeLink {
    pub(super) link: String,
    pub(super) expires_at: Timestamp,
}

json_object! { MadeLink as "MadeLink" = |made| {
    "link": String { "description": "Shown this once." } = made.link,
    "expiresAt": Timestamp = made.expires_at,
} }

/// The metadata of an operation on operators.
pub(super) const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    step_up: bool,
    audit: &'static [AuditAction],
    (command, traits): (&'static str, Traits),
) -> Metadata {
    let reads = audit.is_empty();
    let needs = if reads { Capability::MembersRead } else { Capability::MembersManage };
    let access = Access::Installation(needs);
    Metadata { name, summary, method, path, access, step_up, audit, command, traits }
}

/// What of an operator others edit: a change made on another state is refused.
fn etag(body: &OperatorBody) -> String {
    let grants = body.grants.words().join(",");
    let digest = digest(&[grants.as_bytes(), &[u8::from(body.is_disabled)]]);
    format!("\"{}\"", encode(&digest[..12]))
}

async fn view(cx: &Context<'_>, account: Stored<OperatorBody>) -> Result<MemberView, ApiError> {
    let id = account.operator_id()?;
    let activity = cx.console.activity(id, cx.accounts()?.idle_millis).await?;
    Ok(MemberView { id, body: account.body, activity })
}

async fn reply(
    cx: &Context<'_>,
    message: &'static str,
    account: Stored<OperatorBody>,
) -> Result<Reply<MemberView>, ApiError> {
    let etag = etag(&account.body);
    Ok(Reply::ok(message, view(cx, account).await?).with_etag(etag))
}

/// `members.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "members.list",
        "Lists the operators, by name.",
        (Method::Get, "/members"),
        false,
        &[],
        ("operators list", Traits::ACCOUNTS),
    );
    type Input = NoInput;
    type Output = Vec<MemberView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<MemberView>>, ApiError> {
        let members = cx.console.members(cx.accounts()?.idle_millis).await?;
        let views = members.into_iter().map(|(account, activity)| {
            Ok(MemberView { id: account.operator_id()?, body: account.body, activity })
        });
        Ok(Reply::ok("Members retrieved successfully", views.collect::<Result<_, ApiError>>()?))
    }
}

/// `members.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "members.show",
        "Shows an operator.",
        (Method::Get, "/members/{member}"),
        false,
        &[],
        ("operators show EMAIL", Traits::ACCOUNTS),
    );
    type Input = OneMember;
    type Output = MemberView;

    async fn run(cx: Context<'_>, input: OneMember) -> Result<Reply<MemberView>, ApiError> {
        let account = People(cx.platform()).get::<OperatorBody>(&input.member.into()).await?;
        let account = account.ok_or_else(|| not_found("operator", &input.member.to_string()))?;
        reply(&cx, "Member retrieved successfully", account).await
    }
}

/// Refuses grants on agents that do not exist.
pub(super) async fn refuse_unknown_agents(
    cx: &Context<'_>,
    field: &'static str,
    grants: &[crate::grants::Grant],
) -> Result<(), ApiError> {
    use openapi_core::admin::Admin;
    use openapi_core::validation::{ValidationCode, ValidationIssue};
    let agents = cx.platform().agents().await.map_err(crate::errors::failed)?;
    let named = grants.iter().filter_map(|grant| grant.agent.as_ref());
    let unknown = named.into_iter().find(|named| !agents.iter().any(|agent| agent.id == **named));
    unknown.map_or(Ok(()), |id| {
        let text = format!("names the agent {id}, which does not exist");
        Err(refused(field, ValidationIssue::new(ValidationCode::Enum, text)))
    })
}

/// `members.grant`
pub struct Grant;

impl Operation for Grant {
    const METADATA: Metadata = metadata(
        "members.grant",
        "Replaces an operator's roles. They hold from the next request on.",
        (Method::Put, "/members/{member}/grants"),
        true,
        &[AuditAction::OperatorGrant],
        ("operators grant EMAIL --role inbox@acme", Traits::ACCOUNTS_VERSIONED),
    );
    type Input = GrantRoles;
    type Output = MemberView;

    async fn run(cx: Context<'_>, input: GrantRoles) -> Result<Reply<MemberView>, ApiError> {
        refuse_unknown_agents(&cx, "grants", input.grants.as_slice()).await?;
        let action = AuditAction::OperatorGrant;
        let changed = cx.console.change_member(&cx, input.member, action, |body, details: &mut Object| {
            let tag = etag(body);
            let activity = Activity::default();
            let current = MemberView { id: input.member, body: body.clone(), activity };
            cx.refuse_stale(&tag, || serde_json::to_value(current).unwrap_or_default())?;
            details.insert("before", body.grants.to_json());
            details.insert("after", input.grants.to_json());
            body.grants = input.grants.clone();
            Ok(Change::Save)
        });
        reply(&cx, "Roles changed successfully", changed.await?).await
    }
}

/// `members.disable`
pub struct Disable;

impl Operation for Disable {
    const METADATA: Metadata = metadata(
        "members.disable",
        "Disables an operator: all sessions end, and no way to sign in works.",
        (Method::Post, "/members/{member}/disable"),
        true,
        &[AuditAction::OperatorDisable],
        ("operators disable EMAIL", Traits::ACCOUNTS),
    );
    type Input = OneMember;
    type Output = MemberView;

    async fn run(cx: Context<'_>, input: OneMember) -> Result<Reply<MemberView>, ApiError> {
        let action = AuditAction::OperatorDisable;
        let changed = cx.console.change_member(&cx, input.member, action, |body, _| {
            body.is_disabled = true;
            Ok(Change::SignOut)
        });
        reply(&cx, "Member disabled successfully", changed.await?).await
    }
}

/// `members.enable`
pub struct Enable;

impl Operation for Enable {
    const METADATA: Metadata = metadata(
        "members.enable",
        "Enables a disabled operator, with the former roles and ways to sign in.",
        (Method::Post, "/members/{member}/enable"),
        true,
        &[AuditAction::OperatorEnable],
        ("operators enable EMAIL", Traits::ACCOUNTS),
    );
    type Input = OneMember;
    type Output = MemberView;

    async fn run(cx: Context<'_>, input: OneMember) -> Result<Reply<MemberView>, ApiError> {
        let action = AuditAction::OperatorEnable;
        let changed = cx.console.change_member(&cx, input.member, action, |body, _| {
            body.is_disabled = false;
            Ok(Change::Save)
        });
        reply(&cx, "Member enabled successfully", changed.await?).await
    }
}

/// `members.remove`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = metadata(
        "members.remove",
        "Removes an operator for good: account, sessions, passkeys and password.",
        (Method::Delete, "/members/{member}"),
        true,
        &[AuditAction::OperatorRemove],
        ("operators remove EMAIL", Traits::ACCOUNTS),
    );
    type Input = OneMember;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneMember) -> Result<Reply<Nothing>, ApiError> {
        let action = AuditAction::OperatorRemove;
        cx.console.change_member(&cx, input.member, action, |_, _| Ok(Change::Remove)).await?;
        Ok(Reply::ok("Member removed successfully", Nothing))
    }
}

/// `members.endSessions`
pub struct EndSessions;

impl Operation for EndSessions {
    const METADATA: Metadata = metadata(
        "members.endSessions",
        "Signs an operator out of every browser.",
        (Method::Delete, "/members/{member}/sessions"),
        true,
        &[AuditAction::OperatorEndSession],
        ("operators sign-out EMAIL", Traits::ACCOUNTS),
    );
    type Input = OneMember;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneMember) -> Result<Reply<Nothing>, ApiError> {
        let action = AuditAction::OperatorEndSession;
        cx.console.change_member(&cx, input.member, action, |_, _| Ok(Change::EndSessions)).await?;
        Ok(Reply::ok("Sessions ended successfully", Nothing))
    }
}

/// `members.recover`
pub struct Recover;

impl Operation for Recover {
    const METADATA: Metadata = metadata(
        "members.recover",
        "Makes a link by which an operator gets another way to sign in. It works once and for an hour.",
        (Method::Post, "/members/{member}/recovery"),
        true,
        &[AuditAction::OperatorRecoveryLink],
        ("operators recover EMAIL", Traits::ACCOUNTS_SECRET),
    );
    type Input = OneMember;
    type Output = MadeLink;

    async fn run(cx: Context<'_>, input: OneMember) -> Result<Reply<MadeLink>, ApiError> {
        let action = AuditAction::OperatorRecoveryLink;
        let expires_at = cx.platform().now().plus_millis(LINK_MILLIS);
        let mut made = String::new();
        let changed = cx.console.change_member(&cx, input.member, action, |body, _| {
            if body.is_disabled {
                let text = "The operator is disabled. Enable the operator first";
                return Err(ApiError::new(ErrorCode::NotPossible, text));
            }
            let (token, link) = cx.console.new_recovery(input.member, expires_at);
            made = token;
            Ok(Change::Recover(Box::new(link)))
        });
        changed.await?;
        let link = cx.console.settings.link("setup", &made);
        let mut reply = Reply::ok("Link created successfully", MadeLink { link, expires_at });
        reply.status = 201;
        Ok(reply)
    }
}
