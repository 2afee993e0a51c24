//! Signing in.

use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::storage::RecordChange;
use openapi_core::values::Email;

use super::ceremony::{Ceremony, request_options};
use super::session::Session;
use super::types::NoInput;
use crate::auth::challenge::{CHALLENGE_MILLIS, Purpose, issue};
use crate::auth::cookies::{Cookie, decode, encode};
use crate::auth::records::{OperatorBody, People, Stored};
use crate::auth::session::{SignInMethod, SignedIn, plain};
use crate::context::{Context, Proof};
use crate::errors::proves_nobody;
use crate::input::{Credential, Secret, input};
use crate::operation::{Access, Metadata, Operation, Traits};

/// A new session.
pub struct Entered {
    pub(super) session: Session,
    pub(super) page_secret: Option<String>,
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
        let proof = Some(Proof::Session(&signed_in));
        let cx = Context { operator: &signed_in.operator, proof, actor: &actor, ..*cx };
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
    const METADATA: Metadata = enters(
        "signIn.passkey",
        "Signs in with a passkey.",
        "/sign-in/passkey",
        &[AuditAction::OperatorSignIn],
    );
    type Input = WithPasskey;
    type Output = Entered;

    async fn run(cx: Context<'_>, input: WithPasskey) -> Result<Reply<Entered>, ApiError> {
        cx.accounts()?;
        let binding = cx.call.binding.as_deref().and_then(decode).unwrap_or_default();
        let proven = cx.console.proven_passkey(&cx, &input.credential.0, Purpose::SignIn, &binding).await?;
        let account = People(cx.platform()).get::<OperatorBody>(&proven.operator.into()).await?;
        let account: Stored<OperatorBody> =
            account.filter(|account| !account.body.is_disabled).ok_or_else(proves_nobody)?;
        let (method, actions) = (SignInMethod::Passkey, [AuditAction::OperatorSignIn]);
        let entered = enter(&cx, &account, method, proven.changes, &actions).await?;
        Ok(Reply::ok("Signed in successfully", entered))
    }
}

input! {
    /// An address and its password.
    WithPassword {
        "email" Body email: Email,
        "password" Body password: Secret,
    }
}

/// What a right password leads to.
pub struct PasswordAccepted {
    pending: Option<String>,
    signed_in: Option<Entered>,
}

json_object! { PasswordAccepted as "PasswordAccepted" = |accepted| {
    "pending": Option<String> {
        "description": "Send it to `signIn.code` with a one-time code, within 5 minutes."
    } = accepted.pending,
    "signedIn": Option<Entered> {
        "description": "For a password without one-time codes: a session of 10 minutes that can only set up a way to sign in."
    } = accepted.signed_in,
} }

/// The metadata of an operation that signs in.
const fn enters(
    name: &'static str,
    summary: &'static str,
    path: &'static str,
    audit: &'static [AuditAction],
) -> Metadata {
    let (method, access, traits) = (Method::Post, Access::Public, Traits::SIGN_IN);
    Metadata { name, summary, method, path, access, step_up: false, audit, command: "", traits }
}

/// `signIn.password`
pub struct Password;

impl Operation for Password {
    const METADATA: Metadata = enters(
        "signIn.password",
        "Checks an e-mail address and a password, which sign in together with a one-time code.",
        "/sign-in/password",
        &[AuditAction::OperatorSignIn],
    );
    type Input = WithPassword;
    type Output = PasswordAccepted;

    async fn run(cx: Context<'_>, input: WithPassword) -> Result<Reply<PasswordAccepted>, ApiError> {
        let accounts = cx.accounts()?;
        let email = input.email.to_string();
        let proven = cx.console.proven_password(&cx, accounts, &email, &input.password.0).await?;
        if proven.totp.is_some() {
            let pending = Some(cx.console.pending(&proven)?);
            let accepted = PasswordAccepted { pending, signed_in: None };
            return Ok(Reply::ok("Password accepted; send a one-time code", accepted));
        }
        let method = SignInMethod::PasswordAlone;
        let entered = enter(&cx, &proven.account, method, Vec::new(), &[AuditAction::OperatorSignIn]).await?;
        let accepted = PasswordAccepted { pending: None, signed_in: Some(entered) };
        Ok(Reply::ok("Password accepted; set up one-time codes", accepted))
    }
}

async fn enter(
    cx: &Context<'_>,
    account: &Stored<OperatorBody>,
    method: SignInMethod,
    changes: Vec<RecordChange>,
    actions: &[AuditAction],
) -> Result<Entered, ApiError> {
    let begun = cx.console.begin_session(cx.accounts()?, cx.call, account, method, changes, plain(actions));
    let (signed_in, page_secret) = begun.await?;
    Entered::of(cx, signed_in, page_secret).await
}

input! {
    /// The code that a password waits for.
    WithCode {
        "pending" Body pending: Secret { "description": "What `signIn.password` answered." },
        "code" Body code: Secret { "description": "6 digits of the authenticator app." },
    }
}

/// `signIn.code`
pub struct Code;

impl Operation for Code {
    const METADATA: Metadata = enters(
        "signIn.code",
        "Signs in with a one-time code, after the password. Five wrong codes end the attempt.",
        "/sign-in/code",
        &[AuditAction::OperatorSignIn],
    );
    type Input = WithCode;
    type Output = Entered;

    async fn run(cx: Context<'_>, input: WithCode) -> Result<Reply<Entered>, ApiError> {
        cx.accounts()?;
        let (account, changes) = cx.console.proven_pending(&cx, &input.pending.0, &input.code.0).await?;
        let actions = [AuditAction::OperatorSignIn];
        let entered = enter(&cx, &account, SignInMethod::Password, changes, &actions).await?;
        Ok(Reply::ok("Signed in successfully", entered))
    }
}

input! {
    /// An address and one of its recovery codes.
    WithRecoveryCode {
        "email" Body email: Email,
        "recoveryCode" Body recovery_code: Secret,
    }
}

/// `signIn.recover`
pub struct Recover;

impl Operation for Recover {
    const METADATA: Metadata = enters(
        "signIn.recover",
        "Uses a recovery code up for a session of 10 minutes that can only set up a way to sign in.",
        "/sign-in/recover",
        &[AuditAction::OperatorRecover],
    );
    type Input = WithRecoveryCode;
    type Output = Entered;

    async fn run(cx: Context<'_>, input: WithRecoveryCode) -> Result<Reply<Entered>, ApiError> {
        cx.accounts()?;
        let (email, code) = (input.email.to_string(), &input.recovery_code.0);
        let (account, used) = cx.console.proven_recovery(&cx, &email, code).await?;
        let (method, actions) = (SignInMethod::RecoveryCode, [AuditAction::OperatorRecover]);
        let entered = enter(&cx, &account, method, vec![used], &actions).await?;
        Ok(Reply::ok("Recovery code accepted; set up a way to sign in", entered))
    }
}
