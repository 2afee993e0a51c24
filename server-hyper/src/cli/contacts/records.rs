//! `contacts list`, `show`, `create`, `update`, `archive` and `unarchive`: the console's operations.

use ::console::imports::{CUSTOM, Columns, cell};
use ::console::{Command, CommandAnswer, CommandRefused};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use http::Method;
use openapi_core::access::{Caller, Permissions};
use openapi_core::admin::AdminError;
use openapi_core::contacts::ContactRef;
use openapi_core::json::{Json, Object};
use openapi_core::platform::Platform;
use openapi_core::reply::ErrorCode;
use openapi_core::service::{ContactTarget, OpenApiService, TagMatch};
use openapi_core::storage::ContactSort;
use openapi_core::values::{AgentId, ContactId, ContactStatus, Email, Timestamp};
use serde::Serialize;

use super::Which;
use super::fields::Fields;
use crate::cli::context::CommandContext;
use crate::cli::operations::{self, Operations};
use crate::cli::output::{optional, shortened};
use crate::error::CliError;

/// The arguments of `contacts list`.
#[derive(Debug, Args)]
pub struct List {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Only contacts in which all of these terms occur
    #[arg(long, value_name = "TERMS")]
    search: Option<String>,
    /// Only contacts with this tag, ignoring case
    #[arg(long)]
    tag: Option<String>,
    /// Only contacts of this status: active, inactive or blocked
    #[arg(long)]
    status: Option<ContactStatus>,
    /// Only contacts with this e-mail address, ignoring case
    #[arg(long, value_name = "ADDRESS")]
    email: Option<Email>,
    /// Only contacts created at this time or later
    #[arg(long, value_name = "RFC3339")]
    created_since: Option<Timestamp>,
    /// Only contacts changed at this time or later
    #[arg(long, value_name = "RFC3339")]
    updated_since: Option<Timestamp>,
    /// List archived contacts as well
    #[arg(long)]
    include_archived: bool,
    /// The field that contacts are sorted by
    #[arg(long, value_name = "FIELD", default_value = "createdAt",
        value_parser = PossibleValuesParser::new(ContactSort::ALL.map(ContactSort::as_str)))]
    sort_by: String,
    /// The direction
    #[arg(long, value_name = "ORDER", default_value = "desc")]
    sort_order: Direction,
    /// Page number, from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    page: u64,
    /// Contacts per page
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// `nextCursor` of an earlier page of the same list, instead of a page number
    #[arg(long, conflicts_with = "page")]
    cursor: Option<String>,
}

/// The direction of a list.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Direction {
    /// Smallest first
    Asc,
    /// Largest first
    Desc,
}

/// The state that a change is about.
#[derive(Debug, Args)]
pub struct State {
    /// Change nothing unless the contact still has this etag
    #[arg(long, value_name = "ETAG", value_parser = entity_tag)]
    if_match: Option<String>,
}

/// Reads an entity tag; a shell may have removed its quotes.
fn entity_tag(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let quoted = if text == "*" || text.contains('"') { text.to_owned() } else { format!("\"{text}\"") };
    let tags = TagMatch::parse(&quoted).filter(|_| !text.is_empty() && quoted.is_ascii());
    tags.map(|_| quoted).ok_or("is no etag; `contacts show` prints the one of a contact")
}

impl List {
    fn query(&self) -> Vec<(&'static str, String)> {
        let order = match self.sort_order {
            Direction::Asc => "asc",
            Direction::Desc => "desc",
        };
        let filters = [
            ("search", optional(self.search.as_ref())),
            ("tag", optional(self.tag.as_ref())),
            ("status", optional(self.status.as_ref())),
            ("primaryEmail", optional(self.email.as_ref())),
            ("createdSince", optional(self.created_since.as_ref())),
            ("updatedSince", optional(self.updated_since.as_ref())),
            ("includeArchived", if self.include_archived { "true".to_owned() } else { String::new() }),
        ];
        let mut query: Vec<_> = filters.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        query.push(("sortBy", self.sort_by.clone()));
        query.push(("sortOrder", order.to_owned()));
        query.push(("limit", self.limit.to_string()));
        query.push(match &self.cursor {
            Some(cursor) => ("cursor", cursor.clone()),
            None => ("page", self.page.to_string()),
        });
        query
    }
}

/// A page of contacts.
#[derive(Serialize)]
struct Listed<'a> {
    contacts: &'a [Json],
    pagination: &'a Json,
}

const HEADS: [&str; 6] = ["id", "external id", "name", "e-mail", "status", "tags"];

/// Prints a page of contacts.
pub fn list(context: &CommandContext, list: &List) -> Result<(), CliError> {
    with_desk(context, &list.agent, async |desk| {
        let query = list.query();
        let call = Command { query: &query, ..GET };
        let answer = desk.call("", call).await?;
        let Json::Array(contacts) = &answer.data else { return Err(malformed()) };
        if context.json() {
            return context.print_json(&Listed { contacts, pagination: &answer.pagination });
        }
        context.print_table(false, contacts, &HEADS, row)?;
        let number = |name: &str| member(&answer.pagination, name).map(cell).unwrap_or_default();
        if !matches!(number("totalPages").as_str(), "0" | "1") {
            let (page, pages) = (number("currentPage"), number("totalPages"));
            context.info(&format!("page {page} of {pages}, {} contacts", number("totalItems")));
        }
        Ok(())
    })
}

/// Prints a contact.
pub fn show(context: &CommandContext, which: &Which, reveal: bool) -> Result<(), CliError> {
    with_desk(context, &which.agent, async |desk| {
        let id = desk.id(which).await?;
        let answer = if reveal {
            desk.call(&format!("/{id}/reveal"), Command { method: &Method::POST, ..GET }).await?
        } else {
            desk.call(&format!("/{id}"), GET).await?
        };
        print(context, answer)
    })
}

/// Creates a contact.
pub fn create(context: &CommandContext, agent: &AgentId, fields: &Fields) -> Result<(), CliError> {
    with_desk(context, agent, async |desk| {
        let body = fields.body(context, &desk.columns().await?, &[])?;
        let call = Command { method: &Method::POST, body: Some(&body), ..GET };
        print(context, desk.call("", call).await?)
    })
}

/// Changes a contact.
pub fn update(
    context: &CommandContext,
    which: &Which,
    fields: &Fields,
    unset: &[String],
    state: &State,
) -> Result<(), CliError> {
    with_desk(context, &which.agent, async |desk| {
        let body = fields.body(context, &desk.columns().await?, unset)?;
        let id = desk.id(which).await?;
        let if_match = state.if_match.as_deref();
        let call = Command { method: &Method::PATCH, body: Some(&body), if_match, ..GET };
        print(context, desk.call(&format!("/{id}"), call).await?)
    })
}

/// Archives a contact, or takes it out of the archive.
pub fn archive(
    context: &CommandContext,
    which: &Which,
    state: &State,
    operation: &str,
) -> Result<(), CliError> {
    with_desk(context, &which.agent, async |desk| {
        let id = desk.id(which).await?;
        let call = Command { method: &Method::POST, if_match: state.if_match.as_deref(), ..GET };
        print(context, desk.call(&format!("/{id}/{operation}"), call).await?)
    })
}

pub(super) const GET: Command<'static> =
    Command { method: &Method::GET, path: "", query: &[], if_match: None, body: None };

/// What commands on contacts work with.
pub(super) struct Desk<'a> {
    context: &'a CommandContext,
    operations: &'a Operations,
    agent: &'a AgentId,
}

/// Runs work on the contacts of an agent that exists.
pub(super) fn with_desk(
    context: &CommandContext,
    agent: &AgentId,
    work: impl AsyncFnOnce(&Desk<'_>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    operations::with(context, async |operations| {
        let path = format!("/agents/{agent}");
        operations.run(Command { path: &path, ..GET }).await.map_err(|refused| no_agent(refused, agent))?;
        work(&Desk { context, operations, agent }).await
    })
}

impl Desk<'_> {
    /// Calls an operation on the contacts of the agent.
    pub(super) async fn call(&self, below: &str, command: Command<'_>) -> Result<CommandAnswer, CliError> {
        let path = format!("/agents/{}/contacts{below}", self.agent);
        let command = Command { path: &path, ..command };
        self.operations.run(command).await.map_err(failed)
    }

    async fn columns(&self) -> Result<Columns, CliError> {
        let path = format!("/agents/{}/contact-schema", self.agent);
        let schema = self.operations.run(Command { path: &path, ..GET }).await?.data;
        let schema = serde_json::from_str(&schema.to_text()).map_err(|_| malformed())?;
        Ok(Columns::of(&schema))
    }

    /// The platform id of a contact.
    pub(super) async fn id(&self, which: &Which) -> Result<ContactId, CliError> {
        let target = which.target()?;
        let external = match (&target, self.operations) {
            (ContactRef::Id(id), Operations::There(_)) => return Ok(*id),
            (ContactRef::External(external), Operations::There(_)) => external.to_string(),
            (_, Operations::Here { platform, .. }) => return self.stored_id(platform, which, &target).await,
        };
        let missing = || CliError::new(format!("there is no contact '{}'", which.contact));
        let mut query = vec![
            ("search", external.clone()),
            ("includeArchived", "true".to_owned()),
            ("limit", "100".to_owned()),
        ];
        loop {
            let page = self.call("", Command { query: &query, ..GET }).await?;
            let Json::Array(contacts) = &page.data else { return Err(malformed()) };
            let text =
                |contact: &Json, name: &str| member(contact, name).and_then(Json::as_str).map(str::to_owned);
            let is_it = |contact: &&Json| text(contact, "externalReferenceId").as_deref() == Some(&external);
            if let Some(found) = contacts.iter().find(is_it) {
                return text(found, "id").and_then(|id| id.parse().ok()).ok_or_else(malformed);
            }
            let next = member(&page.pagination, "nextCursor").and_then(Json::as_str).ok_or_else(missing)?;
            query.truncate(3);
            query.push(("cursor", next.to_owned()));
        }
    }

    /// The same from the store of this process.
    async fn stored_id(
        &self,
        platform: &Platform,
        which: &Which,
        target: &ContactRef,
    ) -> Result<ContactId, CliError> {
        let caller = Caller {
            agent_id: self.agent.clone(),
            actor: self.context.operator(),
            permissions: Permissions::all(),
            address: None,
            request_id: String::new(),
        };
        let found = platform.contact(&caller, &ContactTarget::from(target)).await;
        let contact = found.map_err(|error| match error.code() {
            ErrorCode::ContactNotFound => CliError::new(format!("there is no contact '{}'", which.contact)),
            _ => CliError::new(error.message().to_owned()),
        })?;
        Ok(contact.id)
    }
}

/// An agent that does not exist, as other commands say it.
fn no_agent(refused: CommandRefused, agent: &AgentId) -> CliError {
    if refused.code == "NOT_FOUND" {
        return AdminError::NotFound { what: "agent", id: agent.to_string() }.into();
    }
    refused.into()
}

/// An error of an operation, with what to do about it.
fn failed(refused: CommandRefused) -> CliError {
    let detail = |name: &str| member(&refused.details, name).and_then(Json::as_str);
    let next = match refused.code.as_str() {
        "CONTACT_ARCHIVED" => "; run `contacts unarchive` first".to_owned(),
        "PRECONDITION_FAILED" => {
            let etag = refused.etag.as_deref().unwrap_or_default();
            return CliError::new(format!(
                "the contact has changed since it was read, and now has the etag {etag}; look at it with `contacts show` \
                 and try again"
            ));
        }
        _ => detail("existingContactId").map(|id| format!(": {id}")).unwrap_or_default(),
    };
    CliError::new(format!("{}{next}", refused.text))
}

pub(super) fn malformed() -> CliError {
    CliError::new("the answer of the operation is malformed")
}

pub(super) fn member<'a>(value: &'a Json, name: &str) -> Option<&'a Json> {
    value.as_object()?.get(name)
}

/// The paths of the values of a contact that are hidden.
fn masked(contact: &Json) -> Vec<&str> {
    match member(contact, "masked") {
        Some(Json::Array(paths)) => paths.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What stands for a hidden value in a table.
const HIDDEN: &str = "(hidden)";

fn row(contact: &Json) -> Vec<String> {
    let masked = masked(contact);
    let text = |name: &str| {
        let stored = member(contact, name).map(cell).unwrap_or_default();
        if masked.contains(&name) { HIDDEN.to_owned() } else { stored }
    };
    let names: Vec<String> = ["firstName", "middleName", "lastName"].map(text).to_vec();
    let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let is_archived = member(contact, "isArchived") == Some(&Json::Bool(true));
    vec![
        text("id"),
        shortened(&text("externalReferenceId"), 24),
        shortened(&names.join(" "), 24),
        shortened(&text("primaryEmail"), 32),
        if is_archived { format!("{}, archived", text("status")) } else { text("status") },
        shortened(&text("tags"), 24),
    ]
}

/// Prints a contact with its entity tag.
fn print(context: &CommandContext, answer: CommandAnswer) -> Result<(), CliError> {
    let Json::Object(mut contact) = answer.data else { return Err(malformed()) };
    if let Some(etag) = &answer.etag {
        contact.insert("etag", etag.as_str().into());
    }
    let record = Json::Object(contact.clone());
    let mut lines = Vec::new();
    for (name, value) in contact.iter() {
        match value {
            // The two say nothing that another line does not.
            _ if matches!(name, "masked" | "isArchived") => {}
            Json::Object(custom) if name == CUSTOM => lines.extend(members(custom)),
            value => lines.push((name.to_owned(), cell(value))),
        }
    }
    for path in masked(&record) {
        let hidden = "(hidden; --reveal shows it)".to_owned();
        match lines.iter_mut().find(|(name, _)| name == path) {
            Some((_, value)) => *value = hidden,
            None => lines.push((path.to_owned(), hidden)),
        }
    }
    let lines: Vec<(&str, String)> =
        lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    context.print_record(context.json(), &record, &lines)
}

fn members(custom: &Object) -> impl Iterator<Item = (String, String)> {
    custom.iter().map(|(name, value)| (format!("{CUSTOM}.{name}"), cell(value)))
}
