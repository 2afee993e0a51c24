//! Operations: everything about one in one module, and the table that the console is made of.

use std::future::Future;

use futures_core::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header};
use openapi_core::api::{ApiBody, Outcome};
use openapi_core::audit::AuditAction;
use openapi_core::json::JsonSchema;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::validation::Violations;
use serde::Serialize;
use serde_json::Value;

use crate::capability::Capability;
use crate::context::Context;
use crate::forward::Forwarded;
use crate::input::{Input, Position, Reader};

/// What is known of an operation before it is called.
#[derive(Debug)]
pub struct Metadata {
    /// The name: `keys.create`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The method.
    pub method: Method,
    /// The path after `/console/v1`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Whether the caller must have proved within 10 minutes who they are.
    pub step_up: bool,
    /// What the audit log notes; empty for an operation that only reads.
    pub audit: &'static [AuditAction],
    /// The command that does the same, without the program's name; empty where there is none.
    pub command: &'static str,
    /// What it is about beyond the rest.
    pub traits: Traits,
}

/// What sets an operation apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Whether a change by a browser needs `If-Match`.
    pub is_versioned: bool,
    /// Whether the answer holds a secret, which is never stored.
    pub has_secret: bool,
    /// Whether it exists with the console's own accounts alone.
    pub of_accounts: bool,
    /// Whether it changes nothing, although its method is not GET.
    pub is_read: bool,
    /// Whether a session may call it that can only set up a way to sign in.
    pub sets_up: bool,
    /// Whether its answer is a stream of events.
    pub is_live: bool,
    /// Whether a browser comes to it from another site, and its answer leads to a page of the console.
    pub is_landing: bool,
}

impl Traits {
    /// Nothing sets it apart.
    pub const NONE: Traits = Traits {
        is_versioned: false,
        has_secret: false,
        of_accounts: false,
        is_read: false,
        sets_up: false,
        is_live: false,
        is_landing: false,
    };
    /// Its answer is a stream of events.
    pub const LIVE: Traits = Traits { is_live: true, ..Traits::NONE };
    /// A change of a record that others may change.
    pub const VERSIONED: Traits = Traits { is_versioned: true, ..Traits::NONE };
    /// The answer holds a secret.
    pub const SECRET: Traits = Traits { has_secret: true, ..Traits::NONE };
    /// It is about the console's own accounts.
    pub const ACCOUNTS: Traits = Traits { of_accounts: true, ..Traits::NONE };
    /// It is about accounts, and its answer holds a secret.
    pub const ACCOUNTS_SECRET: Traits = Traits { has_secret: true, ..Traits::ACCOUNTS };
    /// It is about accounts and changes one that others may change.
    pub const ACCOUNTS_VERSIONED: Traits = Traits { is_versioned: true, ..Traits::ACCOUNTS };
    /// It changes nothing.
    pub const READ: Traits = Traits { is_read: true, ..Traits::NONE };
    /// It is about accounts and changes nothing.
    pub const ACCOUNTS_READ: Traits = Traits { is_read: true, ..Traits::ACCOUNTS };
    /// It sets up a way to sign in.
    pub const SETS_UP: Traits = Traits { sets_up: true, ..Traits::ACCOUNTS };
    /// It prepares a way to sign in, and changes nothing.
    pub const SETS_UP_READ: Traits = Traits { sets_up: true, ..Traits::ACCOUNTS_READ };
    /// It leads a browser that comes from another site on.
    pub const LANDING: Traits = Traits { is_landing: true, ..Traits::ACCOUNTS };
    /// It signs in.
    pub const SIGN_IN: Traits = Traits::ACCOUNTS_SECRET;
}

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// Anybody who is signed in.
    SignedIn,
    /// Who has a capability on the agent in the path.
    Agent(Capability),
    /// Who has a capability on the whole installation.
    Installation(Capability),
}

impl Metadata {
    /// Whether description and access agree: an agent's operation has `{agent}` in its path, a change is audited, and
    /// only a change is.
    pub(crate) const fn is_sound(&self) -> bool {
        let has_agent = contains(self.path, "/agents/{agent}");
        let is_get = matches!(self.method, Method::Get);
        let changes = (!is_get || self.traits.is_landing) && !self.traits.is_read;
        has_agent == matches!(self.access, Access::Agent(_)) && changes != self.audit.is_empty()
    }

    /// Whether a service token may call it: nothing about accounts, people, tokens and sign-in, and nothing that needs no
    /// caller.
    #[must_use]
    pub const fn admits_tokens(&self) -> bool {
        use Capability::{MembersManage, MembersRead, SignInManage, TokensManage};
        let is_about_people = matches!(
            self.access,
            Access::Public
                | Access::Installation(MembersRead | MembersManage | SignInManage | TokensManage)
                | Access::Agent(MembersRead | MembersManage | SignInManage | TokensManage)
        );
        !self.traits.of_accounts && !is_about_people
    }

    /// Whether it changes something.
    #[must_use]
    pub const fn changes(&self) -> bool {
        !self.audit.is_empty()
    }
}

const fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let mut start = 0;
    while start + part.len() <= text.len() {
        let mut at = 0;
        while at < part.len() && text[start + at] == part[at] {
            at += 1;
        }
        if at == part.len() {
            return true;
        }
        start += 1;
    }
    false
}

/// One operation: its description, its input, and what it does.
pub trait Operation: 'static {
    /// What is known of it before it is called.
    const METADATA: Metadata;
    /// What is sent.
    type Input: Input;
    /// What `data` of the answer holds.
    type Output: Serialize + JsonSchema + Send;

    /// Does it.
    fn run(
        cx: Context<'_>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Reply<Self::Output>, ApiError>> + Send;
}

/// An operation whose answer is a stream of server-sent events.
pub trait Live: 'static {
    /// What is known of it before it is called.
    const METADATA: Metadata;
    /// What is sent.
    type Input: Input;
    /// What `data` of an event holds.
    type Output: JsonSchema;

    /// Opens the stream. What fails before it begins is an error as of any operation.
    fn open(cx: Context<'_>, input: Self::Input) -> impl Future<Output = Result<ApiBody, ApiError>> + Send;
}

/// An operation that a browser comes to from another site, and whose answer leads to a page of the console: 303.
pub trait Landing: 'static {
    /// What is known of it before it is called.
    const METADATA: Metadata;
    /// What is sent.
    type Input: Input;

    /// Does it, and returns where the browser goes next: a failure has a page too.
    fn land(cx: Context<'_>, input: Self::Input) -> impl Future<Output = HeaderValue> + Send;
}

type Run =
    for<'a> fn(Context<'a>, &mut Reader<'_>) -> Result<BoxFuture<'a, Result<Outcome, ApiError>>, Violations>;

/// A member of an input: where it is sent, its name, whether it is required, and its schema.
pub type InputMember = (Position, &'static str, bool, Value);

/// An operation in the table: the same for all, whatever their types.
pub struct Entry {
    /// Its description.
    pub metadata: &'static Metadata,
    /// The members of its input.
    pub members: fn() -> Vec<InputMember>,
    /// The schema of `data` in its answer, the name of the schema, and whether it is a list with `pagination`.
    pub output: fn() -> (Value, Option<&'static str>),
    pub(crate) run: RunKind,
}

pub(crate) enum RunKind {
    /// By its own function.
    Own(Run),
    /// By an endpoint of the Open API.
    Forwarded(Forwarded),
}

impl Entry {
    /// The entry of an operation. One whose description contradicts itself does not compile.
    #[must_use]
    pub const fn of<Op: Operation>() -> Self {
        const { assert!(Op::METADATA.is_sound(), "path, access and audit actions of an operation disagree") };
        Entry {
            metadata: &Op::METADATA,
            members: Op::Input::members,
            output: || (Op::Output::schema(), Op::Output::NAME),
            run: RunKind::Own(run::<Op>),
        }
    }

    /// The entry of an operation that leads a browser on.
    #[must_use]
    pub const fn landing<Op: Landing>() -> Self {
        const { assert!(Op::METADATA.is_sound() && Op::METADATA.traits.is_landing, "not a landing") };
        Entry {
            metadata: &Op::METADATA,
            members: Op::Input::members,
            output: || (serde_json::json!({ "type": "null" }), None),
            run: RunKind::Own(land::<Op>),
        }
    }

    /// The entry of an operation whose answer is a stream.
    #[must_use]
    pub const fn live<Op: Live>() -> Self {
        const { assert!(Op::METADATA.is_sound() && Op::METADATA.traits.is_live, "not a stream") };
        Entry {
            metadata: &Op::METADATA,
            members: Op::Input::members,
            output: || (Op::Output::schema(), Op::Output::NAME),
            run: RunKind::Own(open::<Op>),
        }
    }
}

fn run<'a, Op: Operation>(
    cx: Context<'a>,
    sent: &mut Reader<'_>,
) -> Result<BoxFuture<'a, Result<Outcome, ApiError>>, Violations> {
    let input = Op::Input::read(sent)?;
    Ok(Box::pin(async move { Outcome::success(Op::run(cx, input).await?) }))
}

fn land<'a, Op: Landing>(
    cx: Context<'a>,
    sent: &mut Reader<'_>,
) -> Result<BoxFuture<'a, Result<Outcome, ApiError>>, Violations> {
    let input = Op::Input::read(sent)?;
    Ok(Box::pin(async move {
        let headers = HeaderMap::from_iter([(header::LOCATION, Op::land(cx, input).await)]);
        Ok(Outcome::Content { status: 303, headers, body: ApiBody::empty() })
    }))
}

fn open<'a, Op: Live>(
    cx: Context<'a>,
    sent: &mut Reader<'_>,
) -> Result<BoxFuture<'a, Result<Outcome, ApiError>>, Violations> {
    let input = Op::Input::read(sent)?;
    Ok(Box::pin(async move {
        let body = Op::open(cx, input).await?;
        let headers = ApiBody::EVENT_HEADERS.into_iter().collect();
        Ok(Outcome::Content { status: 200, headers, body })
    }))
}
