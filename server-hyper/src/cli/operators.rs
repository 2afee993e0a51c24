//! `operators`: the people of the console, by the console's own operations.

use std::time::Duration;

use ::console::{Console, Grant};
use clap::Subcommand;
use http::Method;
use openapi_core::values::{Email, Line};
use serde_json::{Value, json};

use super::context::CommandContext;
use super::operations;
use crate::assemble::Contents;
use crate::config::values::duration;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Operators {
    /// Print the link by which the first owner of the console is made
    #[command(after_help = "Examples:\n  openapi-server operators setup-link\n\n\
        The link works once and for an hour; a newer one replaces it. With an operator in the store there is none.")]
    SetupLink,
    /// List the operators
    #[command(after_help = "Examples:\n  openapi-server operators list")]
    List,
    /// Show an operator
    #[command(after_help = "Examples:\n  openapi-server operators show zoe@example.com")]
    Show {
        /// The operator's address
        email: Email,
    },
    /// List the invitations that wait
    #[command(after_help = "Examples:\n  openapi-server operators invitations")]
    Invitations,
    /// Print a link by which a person becomes an operator
    #[command(
        after_help = "Examples:\n  openapi-server operators invite ada@example.com --role inbox@acme --role viewer\n\n\
        The link works once; a newer one of the address replaces it. Pass it on by a way that you trust: nothing is sent."
    )]
    Invite {
        /// The person's address, which identifies the account
        email: Email,
        /// A role on one agent, such as inbox@acme, or on all, such as admin; several are allowed
        #[arg(long, value_name = "ROLE", required = true)]
        role: Vec<Grant>,
        /// The person's name
        #[arg(long)]
        name: Option<Line<100>>,
        /// How long the link works: 1h to 30d
        #[arg(long, default_value = "7d", value_parser = duration)]
        valid: Duration,
    },
    /// Revoke an invitation: its link is refused at once
    #[command(after_help = "Examples:\n  openapi-server operators revoke-invitation ada@example.com")]
    RevokeInvitation {
        /// The address that was invited
        email: Email,
    },
    /// Replace an operator's roles
    #[command(
        after_help = "Examples:\n  openapi-server operators grant ada@example.com --role inbox@acme --role viewer"
    )]
    Grant {
        /// The operator's address
        email: Email,
        /// A role on one agent, such as inbox@acme, or on all, such as admin; several are allowed
        #[arg(long, value_name = "ROLE", required = true)]
        role: Vec<Grant>,
    },
    /// Disable an operator: all sessions end, and no way to sign in works
    #[command(after_help = "Examples:\n  openapi-server operators disable ada@example.com")]
    Disable {
        /// The operator's address
        email: Email,
    },
    /// Enable a disabled operator
    #[command(after_help = "Examples:\n  openapi-server operators enable ada@example.com")]
    Enable {
        /// The operator's address
        email: Email,
    },
    /// Remove an operator for good: account, sessions, passkeys and password
    #[command(after_help = "Examples:\n  openapi-server operators remove ada@example.com")]
    Remove {
        /// The operator's address
        email: Email,
    },
    /// Print a link by which an operator gets another way to sign in to the console
    #[command(after_help = "Examples:\n  openapi-server operators recover zoe@example.com\n\n\
        The link works once and for an hour; a newer one replaces it. Pass it on by a way that you trust. Using it ends \
        all sessions of the operator.")]
    Recover {
        /// The operator's address
        email: Email,
    },
    /// Sign an operator out of every browser
    #[command(after_help = "Examples:\n  openapi-server operators sign-out ada@example.com")]
    SignOut {
        /// The operator's address
        email: Email,
    },
}

impl Operators {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        if matches!(self, Operators::SetupLink | Operators::Invite { .. } | Operators::Recover { .. }) {
            operations::refuse_unknown_console(context)?;
        }
        context.with_conversations(Contents::Closed, async |chat| {
            self.act(&Desk { console: operations::console(context, chat)?, context }).await
        })
    }

    async fn act(self, desk: &Desk<'_>) -> Result<(), CliError> {
        match self {
            Operators::SetupLink => desk.setup_link().await,
            Operators::List => desk.list().await,
            Operators::Show { email } => desk.show(&desk.member(&email).await?),
            Operators::Invitations => desk.invitations().await,
            Operators::Invite { email, role, name, valid } => {
                let body = json!({
                    "email": email.to_string(),
                    "grants": role,
                    "name": name.map(|name| name.to_string()),
                    "validForSeconds": valid.as_secs(),
                });
                let body = without_nulls(body);
                desk.link(&desk.call(Method::POST, "/members/invitations", Some(&body)).await?)
            }
            Operators::RevokeInvitation { email } => {
                let all = desk.call(Method::GET, "/members/invitations", None).await?;
                let missing = || CliError::new(format!("nobody with the address {email} is invited"));
                let found = with_address(&all, &email).ok_or_else(missing)?;
                let path = format!("/members/invitations/{}", text(found, "id"));
                desk.call(Method::DELETE, &path, None).await?;
                desk.context.info(&format!("the invitation of {email} is revoked"));
                Ok(())
            }
            Operators::Grant { email, role } => {
                let path = format!("{}/grants", desk.path(&email).await?);
                desk.show(&desk.call(Method::PUT, &path, Some(&json!({ "grants": role }))).await?)
            }
            Operators::Disable { email } => desk.show(&desk.on(&email, Method::POST, "/disable").await?),
            Operators::Enable { email } => desk.show(&desk.on(&email, Method::POST, "/enable").await?),
            Operators::Remove { email } => {
                desk.on(&email, Method::DELETE, "").await?;
                desk.context.info(&format!("{email} is removed"));
                Ok(())
            }
            Operators::Recover { email } => desk.link(&desk.on(&email, Method::POST, "/recovery").await?),
            Operators::SignOut { email } => {
                desk.on(&email, Method::DELETE, "/sessions").await?;
                desk.context.info(&format!("{email} is signed out"));
                Ok(())
            }
        }
    }
}

/// What commands on operators work with.
struct Desk<'a> {
    console: Console,
    context: &'a CommandContext,
}

impl Desk<'_> {
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, CliError> {
        self.console.command(&self.context.operator(), method, path, body).await.map_err(CliError::new)
    }

    /// Calls an operation on the operator with an address.
    async fn on(&self, email: &Email, method: Method, rest: &str) -> Result<Value, CliError> {
        let path = format!("{}{rest}", self.path(email).await?);
        self.call(method, &path, None).await
    }

    async fn path(&self, email: &Email) -> Result<String, CliError> {
        Ok(format!("/members/{}", text(&self.member(email).await?, "id")))
    }

    async fn member(&self, email: &Email) -> Result<Value, CliError> {
        let all = self.call(Method::GET, "/members", None).await?;
        let missing = || CliError::new(format!("no operator has the address {email}"));
        with_address(&all, email).cloned().ok_or_else(missing)
    }

    async fn setup_link(&self) -> Result<(), CliError> {
        let link = self.console.setup_link(&self.context.operator()).await;
        match link.map_err(|error| CliError::new(error.to_string()))? {
            Some(link) => self.context.print(&format!("{link}\n")),
            None => Err(CliError::new("the console has an operator; see openapi-server operators recover")),
        }
    }

    fn link(&self, made: &Value) -> Result<(), CliError> {
        if self.context.json() {
            return self.context.print_json(made);
        }
        self.context.print(&format!("{}\n", text(made, "link")))
    }

    async fn list(&self) -> Result<(), CliError> {
        let all = self.call(Method::GET, "/members", None).await?;
        let all = all.as_array().cloned().unwrap_or_default();
        let heads = ["address", "name", "roles", "signs in with", "last seen", "state"];
        self.context.print_table(self.context.json(), &all, &heads, |member| {
            let seen = text(member, "lastSeenAt");
            vec![
                text(member, "email"),
                text(member, "name"),
                words(member, "grants"),
                words(member, "methods"),
                seen,
                state(member).to_owned(),
            ]
        })
    }

    async fn invitations(&self) -> Result<(), CliError> {
        let all = self.call(Method::GET, "/members/invitations", None).await?;
        let all = all.as_array().cloned().unwrap_or_default();
        let heads = ["address", "name", "roles", "invited by", "ends", "state"];
        self.context.print_table(self.context.json(), &all, &heads, |invitation| {
            let by = &invitation["invitedBy"];
            let by = if by["name"].is_string() { text(by, "name") } else { text(by, "id") };
            let state = if invitation["isVoid"] == true { "refused" } else { "waits" };
            vec![
                text(invitation, "email"),
                text(invitation, "name"),
                words(invitation, "grants"),
                by,
                text(invitation, "expiresAt"),
                state.to_owned(),
            ]
        })
    }

    fn show(&self, member: &Value) -> Result<(), CliError> {
        let lines = [
            ("id", text(member, "id")),
            ("address", text(member, "email")),
            ("name", text(member, "name")),
            ("roles", words(member, "grants")),
            ("signs in with", words(member, "methods")),
            ("sessions", member["sessions"].to_string()),
            ("last seen", text(member, "lastSeenAt")),
            ("state", state(member).to_owned()),
        ];
        self.context.print_record(self.context.json(), member, &lines)
    }
}

fn with_address<'a>(all: &'a Value, email: &Email) -> Option<&'a Value> {
    let email = email.to_string().to_lowercase();
    all.as_array()?.iter().find(|one| text(one, "email").to_lowercase() == email)
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn words(value: &Value, name: &str) -> String {
    let words = value[name].as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(", ")
}

fn state(member: &Value) -> &'static str {
    if member["isDisabled"] == true { "disabled" } else { "active" }
}

/// The members of an object that have a value.
fn without_nulls(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    body
}
