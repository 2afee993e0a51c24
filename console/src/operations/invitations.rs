//! Invitations of people who become operators.

use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{Email, Line, PlatformId, Timestamp};

use super::members::{MadeLink, metadata, refuse_unknown_agents};
use super::types::{ActorView, Names, NoInput, Nothing};
use crate::auth::records::Invitation;
use crate::context::Context;
use crate::errors::refused;
use crate::grants::Grants;
use crate::input::input;
use crate::operation::{Metadata, Operation, Traits};

/// How long an invitation can be used, in seconds: an hour to 30 days, 7 days when it is not said.
const VALID_SECONDS: std::ops::RangeInclusive<u32> = 3_600..=2_592_000;
const USUAL_SECONDS: u32 = 604_800;

input! {
    /// An invitation.
    OneInvitation { "invitation" Path invitation: PlatformId, }
}

input! {
    /// Who becomes an operator, with which roles.
    InviteMember {
        "email" Body email: Email { "description": "Identifies the account. Nothing is sent to it." },
        "name" Body name: Option<Line<100>>,
        "grants" Body grants: Grants,
        "validForSeconds" Body valid_for_seconds: Option<u32> {
            "minimum": 3_600, "maximum": 2_592_000, "default": 604_800
        },
    }
}

/// An invitation that waits.
pub struct InvitationView {
    id: PlatformId,
    invitation: Invitation,
    invited_by: ActorView,
    expires_at: Timestamp,
    is_void: bool,
}

json_object! { InvitationView as "Invitation" = |view| {
    "id": PlatformId { "description": "The id of the operator to be." } = view.id,
    "email": String = view.invitation.email,
    "name": Option<String> = view.invitation.name,
    "grants": Vec<String> = view.invitation.grants.words(),
    "invitedBy": ActorView = view.invited_by,
    "invitedAt": Timestamp = view.invitation.invited_at,
    "expiresAt": Timestamp = view.expires_at,
    "isVoid": bool {
        "description": "Whether its link is refused, because who invited may no longer give these roles."
    } = view.is_void,
} }

/// `members.invitations`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "members.invitations",
        "Lists the invitations that wait, the newest first. Their links are not shown again.",
        (Method::Get, "/members/invitations"),
        false,
        &[],
        ("operators invitations", Traits::ACCOUNTS),
    );
    type Input = NoInput;
    type Output = Vec<InvitationView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<InvitationView>>, ApiError> {
        let mut names = Names::default();
        let mut views = Vec::new();
        for (link, invitation) in cx.console.invitations().await? {
            views.push(InvitationView {
                id: link.body.operator,
                invited_by: names.view(&cx, &invitation.invited_by).await?,
                expires_at: link.body.expires_at,
                is_void: cx.console.is_void(&invitation).await?,
                invitation,
            });
        }
        Ok(Reply::ok("Invitations retrieved successfully", views))
    }
}

/// `members.invite`
pub struct Invite;

impl Operation for Invite {
    const METADATA: Metadata = metadata(
        "members.invite",
        "Invites a person. The answer has a link that works once, to be passed on; a former one of the address ends.",
        (Method::Post, "/members/invitations"),
        true,
        &[AuditAction::OperatorInvite],
        ("operators invite EMAIL --role inbox@acme", Traits::ACCOUNTS_SECRET),
    );
    type Input = InviteMember;
    type Output = MadeLink;

    async fn run(cx: Context<'_>, input: InviteMember) -> Result<Reply<MadeLink>, ApiError> {
        let seconds = input.valid_for_seconds.unwrap_or(USUAL_SECONDS);
        if !VALID_SECONDS.contains(&seconds) {
            let issue =
                ValidationIssue::new(ValidationCode::Maximum, "must be an hour to 30 days, in seconds");
            return Err(refused("validForSeconds", issue));
        }
        refuse_unknown_agents(&cx, "grants", input.grants.as_slice()).await?;
        let now = cx.platform().now();
        let invitation = Invitation {
            email: input.email.to_string(),
            name: input.name.map(|name| name.to_string()),
            grants: input.grants,
            invited_by: cx.actor.clone(),
            invited_at: now,
        };
        let expires_at = now.plus_millis(i64::from(seconds) * 1_000);
        let token = cx.console.invite(&cx, invitation, expires_at).await?;
        let link = cx.console.settings.link("join", &token);
        let mut reply = Reply::ok("Invitation created successfully", MadeLink { link, expires_at });
        reply.status = 201;
        Ok(reply)
    }
}

/// `members.revokeInvitation`
pub struct Revoke;

impl Operation for Revoke {
    const METADATA: Metadata = metadata(
        "members.revokeInvitation",
        "Revokes an invitation: its link is refused at once.",
        (Method::Delete, "/members/invitations/{invitation}"),
        false,
        &[AuditAction::OperatorRevokeInvitation],
        ("operators revoke-invitation EMAIL", Traits::ACCOUNTS),
    );
    type Input = OneInvitation;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneInvitation) -> Result<Reply<Nothing>, ApiError> {
        cx.console.revoke_invitation(&cx, input.invitation).await?;
        Ok(Reply::ok("Invitation revoked successfully", Nothing))
    }
}
