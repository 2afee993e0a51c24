//! Signing in.

use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::Email;

use super::ceremony::{Ceremony, request_options};
use super::session::Session;
use super::types::NoInput;
use crate::auth::challenge::{CHALLENGE_MILLIS, Purpose, issue};
use crate::auth::cookies::{Cookie, decode, encode};
use crate::auth::records::{OperatorBody, People, Stored};
use crate::auth::session::SignedIn;
use crate::context::Context;
use crate::errors::proves_nobody;
use crate::input::{Credential, Secret, input};
use crate::operation::{Access, Metadata, Operation, Traits};

/// A new session.
pub struct Entered {
    session: Session,
    page_secret: Option<String>,
}

json_object! { Entered as "SignedIn" = |entered| {
    "session": Session = entered.session,
    "pageSecret": Option<String> {
        "description": "On plain HTTP: the pages store it and send it as `X-Console`. Else `null`, and they send `1`."
    } = entered.page_secret,
} }

impl Entered {
    pub(super) async fn of(
        cx: &Context<'_>,
        signed_in: SignedIn,
        page_secret: Option<String>,
    ) -> Result<Self, ApiError> {
        let actor = signed_in.operator.actor();
        let cx = Context { operator: &signed_in.operator, signed_in: Some(&signed_in), actor: &actor, ..*cx };
        Ok(Entered { session: Session::of(&cx).await?, page_secret })
    }
}

/// `signIn.options`
pub struct Options;

impl Operation for Options {
    const METADATA: Metadata = Metadata {
        name: "signIn.options",
        summary: "Prepares signing in with a passkey: the options of a request for any passkey of the console.",
        method: Method::Post,
        path: "/sign-in/passkey/options",
        access: Access::Public,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::ACCOUNTS_READ,
    };
    type Input = NoInput;
    type Output = Ceremony;

    async fn run(cx: Context<'_>, _: NoInput) -> Result<Reply<Ceremony>, ApiError> {
        let accounts = cx.accounts()?;
        let mut binding = [0; 16];
        cx.platform().ports().ids.fill(&mut binding);
        let seconds = 2 * CHALLENGE_MILLIS / 1_000;
        if let Some(cookie) = Cookie::Binding.set(&cx.console.settings, accounts, &encode(&binding), seconds)
        {
            cx.call.add_header(http::header::SET_COOKIE, cookie);
        }
        let challenge = issue(cx.platform(), Purpose::SignIn, &binding);
        let options = request_options(&cx, &challenge, &[]);
        let methods = if options.is_some() { vec!["passkey", "password"] } else { vec!["password"] };
        Ok(Reply::ok("Options created successfully", Ceremony { options, methods }))
    }
}

input! {
    /// The answer of a passkey.
    WithPasskey { "credential" Body credential: Credential, }
}

/// `signIn.passkey`
pub struct Passkey;

impl Operation for Passkey {
    const METADATA: Metadata = Metadata {
        name: "signIn.passkey",
        summary: "Signs in with a passkey.",
        method: Method::Post,
        path: "/sign-in/passkey",
        access: Access::Public,
        step_up: false,
        audit: &[AuditAction::OperatorSignIn],
        command: "",
        traits: Traits::SIGN_IN,
    };
    type Input = WithPasskey;
    type Output = Entered;

    async fn run(cx: Context<'_>, input: WithPasskey) -> Result<Reply<Entered>, ApiError> {
        let accounts = cx.accounts()?;
        let binding = cx.call.binding.as_deref().and_then(decode).unwrap_or_default();
        let proven = cx.console.proven_passkey(&cx, &input.credential.0, Purpose::SignIn, &binding).await?;
        let account = People(cx.platform()).get::<OperatorBody>(&proven.operator.into()).await?;
        let account: Stored<OperatorBody> =
            account.filter(|account| !account.body.is_disabled).ok_or_else(proves_nobody)?;
        let actions = [AuditAction::OperatorSignIn];
        let begun =
            cx.console.begin_session(accounts, cx.call, &account, "passkey", proven.changes, &actions);
        let (signed_in, page_secret) = begun.await?;
        Ok(Reply::ok("Signed in successfully", Entered::of(&cx, signed_in, page_secret).await?))
    }
}

input! {
    /// An address and its password.
    WithPassword {
        "email" Body email: Email,
        "password" Body password: Secret,
    }
}

/// `signIn.password`
pub struct Password;

impl Operation for Password {
    const METADATA: Metadata = Metadata {
        name: "signIn.password",
        summary: "Signs in with an e-mail address and a password.",
        method: Method::Post,
        path: "/sign-in/password",
        access: Access::Public,
        step_up: false,
        audit: &[AuditAction::OperatorSignIn],
        command: "",
        traits: Traits::SIGN_IN,
    };
    type Input = WithPassword;
    type Output = Entered;

    async fn run(cx: Context<'_>, input: WithPassword) -> Result<Reply<Entered>, ApiError> {
        let accounts = cx.accounts()?;
        let email = input.email.to_string();
        let account = cx.console.proven_password(&cx, accounts, &email, &input.password.0).await?;
        let actions = [AuditAction::OperatorSignIn];
        let begun = cx.console.begin_session(accounts, cx.call, &account, "password", Vec::new(), &actions);
        let (signed_in, page_secret) = begun.await?;
        Ok(Reply::ok("Signed in successfully", Entered::of(&cx, signed_in, page_secret).await?))
    }
}
