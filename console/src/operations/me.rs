//! The operator's own account.

use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::storage::{RecordChange, RecordId};
use openapi_core::values::{Line, Timestamp};

use super::ceremony::{Ceremony, creation_options, new_passkey};
use super::types::{NoInput, Nothing, Person};
use crate::auth::challenge::{Purpose, issue};
use crate::auth::cookies::{decode, encode};
use crate::auth::records::{PasskeyBody, People, SessionBody, Stored};
use crate::auth::session::{SignedIn, operator_of};
use crate::context::{Context, Proof};
use crate::errors::not_found;
use crate::input::{Credential, OrNull, input};
use crate::operation::{Access, Metadata, Operation, Traits};

/// The most passkeys of an operator.
const MOST_PASSKEYS: usize = 20;

input! {
    /// Changes of the own account; what is left out stays.
    EditMe {
        "name" Body name: Option<Line<100>>,
        "displayName" Body display_name: Option<OrNull<Line<100>>> { "description": "The name that visitors see." },
        "locale" Body locale: Option<OrNull<Line<35>>> { "description": "A BCP 47 tag." },
    }
}

/// Writes changes of the caller's account with their entry in the audit log.
pub(super) async fn write(
    cx: &Context<'_>,
    changes: Vec<RecordChange>,
    action: AuditAction,
    details: Object,
) -> Result<(), ApiError> {
    let people = People(cx.platform());
    let audit = people.audit(cx.actor, action, &cx.operator.id, &details);
    if people.write(changes, vec![audit]).await? { Ok(()) } else { Err(concurrent_update()) }
}

pub(super) fn change(text: &str) -> Object {
    let mut details = Object::new();
    details.insert("change", Json::from(text));
    details
}

/// The metadata of an operation on the own account.
pub(super) const fn own(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    step_up: bool,
    audit: &'static [AuditAction],
) -> Metadata {
    let access = Access::SignedIn;
    Metadata { name, summary, method, path, access, step_up, audit, command: "", traits: Traits::ACCOUNTS }
}

/// `me.update`
pub struct Update;

impl Operation for Update {
    const METADATA: Metadata = own(
        "me.update",
        "Changes the operator's own name, the name that visitors see, and the language.",
        (Method::Patch, "/me"),
        false,
        &[AuditAction::OperatorEdit],
    );
    type Input = EditMe;
    type Output = Person;

    async fn run(cx: Context<'_>, input: EditMe) -> Result<Reply<Person>, ApiError> {
        let own = cx.own()?;
        let mut account = own.account.clone();
        if let Some(name) = input.name {
            account.body.name = name.to_string();
        }
        if let Some(OrNull(name)) = input.display_name {
            account.body.display_name = name.map(|name| name.to_string());
        }
        if let Some(OrNull(locale)) = input.locale {
            account.body.locale = locale.map(|locale| locale.to_string());
        }
        account.body.updated_at = cx.platform().now();
        write(&cx, vec![account.save()?], AuditAction::OperatorEdit, Object::new()).await?;
        let signed_in = SignedIn::new(own.session.clone(), account, cx.call)?;
        let proof = Some(Proof::Session(&signed_in));
        let cx = Context { operator: &signed_in.operator, proof, ..cx };
        Ok(Reply::ok("Account updated successfully", Person::of(&cx)))
    }
}

/// A session as its operator sees it.
pub struct SessionView {
    id: String,
    is_own: bool,
    body: SessionBody,
    ends_at: Option<Timestamp>,
}

json_object! { SessionView as "OwnSession" = |view| {
    "id": String = view.id,
    "isCurrent": bool = view.is_own,
    "method": String = view.body.method,
    "createdAt": Timestamp = view.body.created_at,
    "lastSeenAt": Timestamp { "description": "At most a minute late." } = view.body.last_seen_at,
    "endsAt": Option<Timestamp> = view.ends_at,
    "address": Option<String> = view.body.address.map(|address| address.to_string()),
    "browser": Option<String> = view.body.browser,
} }

/// `me.sessions`
pub struct Sessions;

impl Operation for Sessions {
    const METADATA: Metadata =
        own("me.sessions", "Lists the operator's sessions.", (Method::Get, "/me/sessions"), false, &[]);
    type Input = NoInput;
    type Output = Vec<SessionView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<SessionView>>, ApiError> {
        let own = cx.own()?;
        let operator = own.account.operator_id()?;
        let now = cx.platform().now();
        let mut sessions = People(cx.platform()).of_operator::<SessionBody>(operator).await?;
        sessions.retain(|session| session.due_at.is_none_or(|end| end > now));
        sessions.sort_by_key(|session| std::cmp::Reverse(session.body.last_seen_at));
        let views = sessions.into_iter().map(|session| SessionView {
            id: encode(session.id.as_bytes()),
            is_own: session.id == own.session.id,
            ends_at: session.due_at,
            body: session.body,
        });
        Ok(Reply::ok("Sessions retrieved successfully", views.collect()))
    }
}

input! {
    /// A session.
    OneSession { "session" Path session: Line<100>, }
}

/// The id of a record of the caller.
pub(super) fn own_record(cx: &Context<'_>, what: &'static str, text: &str) -> Result<RecordId, ApiError> {
    let operator = cx.own()?.account.operator_id()?;
    let id = decode(text).and_then(|bytes| RecordId::from_bytes(&bytes));
    id.filter(|id| operator_of(id) == Some(operator)).ok_or_else(|| not_found(what, text))
}

/// `me.endSession`
pub struct EndSession;

impl Operation for EndSession {
    const METADATA: Metadata = own(
        "me.endSession",
        "Ends one of the operator's sessions.",
        (Method::Delete, "/me/sessions/{session}"),
        false,
        &[AuditAction::OperatorEndSession],
    );
    type Input = OneSession;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: OneSession) -> Result<Reply<Nothing>, ApiError> {
        let id = own_record(&cx, "session", input.session.as_str())?;
        if !cx.console.end_session(&cx, &id, AuditAction::OperatorEndSession).await? {
            return Err(not_found("session", input.session.as_str()));
        }
        Ok(Reply::ok("Session ended successfully", Nothing))
    }
}

/// `me.endOtherSessions`
pub struct EndOtherSessions;

impl Operation for EndOtherSessions {
    const METADATA: Metadata = own(
        "me.endOtherSessions",
        "Ends all of the operator's sessions but this one.",
        (Method::Delete, "/me/sessions"),
        false,
        &[AuditAction::OperatorEndSession],
    );
    type Input = NoInput;
    type Output = Nothing;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Nothing>, ApiError> {
        let own = cx.own()?;
        cx.console.end_others(&cx, own).await?;
        Ok(Reply::ok("Sessions ended successfully", Nothing))
    }
}

/// A passkey as its operator sees it.
pub struct PasskeyView {
    id: String,
    body: PasskeyBody,
}

json_object! { PasskeyView as "Passkey" = |view| {
    "id": String = view.id,
    "name": String = view.body.name,
    "isBackedUp": bool { "description": "Whether it is synchronised between devices." } = view.body.is_backed_up,
    "isSuspect": bool { "description": "Whether there may be a copy of it." } = view.body.is_suspect,
    "transports": Vec<String> = view.body.transports,
    "createdAt": Timestamp = view.body.created_at,
    "lastUsedAt": Option<Timestamp> = view.body.last_used_at,
} }

async fn passkeys(cx: &Context<'_>) -> Result<Vec<Stored<PasskeyBody>>, ApiError> {
    let operator = cx.own()?.account.operator_id()?;
    People(cx.platform()).of_operator::<PasskeyBody>(operator).await
}

async fn passkey_views(cx: &Context<'_>) -> Result<Vec<PasskeyView>, ApiError> {
    let mut found = passkeys(cx).await?;
    found.sort_by_key(|passkey| passkey.body.created_at);
    Ok(found.into_iter().map(|it| PasskeyView { id: encode(it.id.as_bytes()), body: it.body }).collect())
}

/// `me.passkeys`
pub struct Passkeys;

impl Operation for Passkeys {
    const METADATA: Metadata =
        own("me.passkeys", "Lists the operator's passkeys.", (Method::Get, "/me/passkeys"), false, &[]);
    type Input = NoInput;
    type Output = Vec<PasskeyView>;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Vec<PasskeyView>>, ApiError> {
        Ok(Reply::ok("Passkeys retrieved successfully", passkey_views(&cx).await?))
    }
}

/// `me.passkeyOptions`
pub struct PasskeyOptions;

impl Operation for PasskeyOptions {
    const METADATA: Metadata = Metadata {
        traits: Traits::SETS_UP_READ,
        ..own(
            "me.passkeyOptions",
            "Prepares a new passkey: its creation options.",
            (Method::Post, "/me/passkeys/options"),
            true,
            &[],
        )
    };
    type Input = NoInput;
    type Output = Ceremony;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Ceremony>, ApiError> {
        let own = cx.own()?;
        let operator = own.account.operator_id()?;
        let known = cx.console.credentials_of(operator).await?;
        let challenge = issue(cx.platform(), Purpose::Enrol, own.session.id.as_bytes());
        let names = (own.account.body.email.as_str(), own.account.body.name.as_str());
        let options = creation_options(&cx, &challenge, operator, names, &known);
        let methods = cx.console.methods_of(operator).await?;
        Ok(Reply::ok("Options created successfully", Ceremony { options, methods }))
    }
}

input! {
    /// A new passkey.
    NewPasskey {
        "name" Body name: Line<100>,
        "credential" Body credential: Credential,
    }
}

/// `me.addPasskey`
pub struct AddPasskey;

impl Operation for AddPasskey {
    const METADATA: Metadata = Metadata {
        traits: Traits::SETS_UP,
        ..own(
            "me.addPasskey",
            "Adds a passkey. A session that could only set up a way to sign in can then do everything.",
            (Method::Post, "/me/passkeys"),
            true,
            &[AuditAction::OperatorMethod],
        )
    };
    type Input = NewPasskey;
    type Output = Vec<PasskeyView>;

    async fn run(cx: Context<'_>, input: NewPasskey) -> Result<Reply<Vec<PasskeyView>>, ApiError> {
        let own = cx.own()?;
        let operator = own.account.operator_id()?;
        if passkeys(&cx).await?.len() >= MOST_PASSKEYS {
            let text = format!("An operator has at most {MOST_PASSKEYS} passkeys; remove one first");
            return Err(ApiError::new(ErrorCode::NotPossible, text));
        }
        let (binding, name) = (own.session.id.as_bytes(), input.name.to_string());
        let mut changes = new_passkey(&cx, &input.credential.0, Purpose::Enrol, binding, operator, name)?;
        let is_promoted = cx.console.promote(own, cx.accounts()?, &mut changes)?;
        write(&cx, changes, AuditAction::OperatorMethod, change("passkey added")).await?;
        if is_promoted {
            cx.console.end_others(&cx, own).await?;
        }
        Ok(Reply::ok("Passkey added successfully", passkey_views(&cx).await?))
    }
}

input! {
    /// A passkey.
    OnePasskey { "passkey" Path passkey: Line<100>, }
}

/// `me.removePasskey`
pub struct RemovePasskey;

impl Operation for RemovePasskey {
    const METADATA: Metadata = own(
        "me.removePasskey",
        "Removes a passkey.",
        (Method::Delete, "/me/passkeys/{passkey}"),
        true,
        &[AuditAction::OperatorMethod],
    );
    type Input = OnePasskey;
    type Output = Vec<PasskeyView>;

    async fn run(cx: Context<'_>, input: OnePasskey) -> Result<Reply<Vec<PasskeyView>>, ApiError> {
        let id = own_record(&cx, "passkey", input.passkey.as_str())?;
        let known = passkeys(&cx).await?;
        let methods = cx.console.methods_of(cx.own()?.account.operator_id()?).await?;
        let Some(passkey) = known.iter().find(|passkey| passkey.id == id) else {
            return Err(not_found("passkey", input.passkey.as_str()));
        };
        if known.len() == 1 && !methods.iter().any(|method| *method != "passkey") {
            let text = "This is your only way to sign in; add another way first";
            return Err(ApiError::new(ErrorCode::NotPossible, text));
        }
        // Two browsers that remove the last two at once meet here.
        let account = cx.own()?.account.save()?;
        let changes = vec![passkey.remove(), account];
        write(&cx, changes, AuditAction::OperatorMethod, change("passkey removed")).await?;
        Ok(Reply::ok("Passkey removed successfully", passkey_views(&cx).await?))
    }
}
