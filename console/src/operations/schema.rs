//! The contact schema of an agent: its fields and their rules.

use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::Contact;
use openapi_core::json::{Json, JsonSchema, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::schema::{CompiledSchema, ContactSchema, FieldDefinition, Identity};
use openapi_core::storage::{SortKey, SortPosition};
use openapi_core::validation::Violations;
use openapi_core::values::{AgentId, ContactId, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::contacts::metadata;
use super::types::OneAgent;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{failed, lacks, stale};
use crate::input::input;
use crate::operation::{Metadata, Operation, Traits};

/// The contact schema of an agent.
pub struct SchemaView(Value);

impl Serialize for SchemaView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for SchemaView {
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": true })
    }
}

fn etag(schema: &ContactSchema) -> String {
    format!("\"{}\"", schema.version)
}

fn value(schema: &ContactSchema) -> Result<Value, ApiError> {
    serde_json::to_value(schema).map_err(|_| ApiError::internal())
}

fn reply(message: &'static str, schema: &ContactSchema) -> Result<Reply<SchemaView>, ApiError> {
    Ok(Reply::ok(message, SchemaView(value(schema)?)).with_etag(etag(schema)))
}

/// `schema.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "schema.show",
        "Shows the contact schema of an agent: the fields, their rules, and which are sensitive.",
        (Method::Get, "/agents/{agent}/contact-schema"),
        Capability::SchemaRead,
        &[],
        "contact-schema show --agent AGENT",
    );
    type Input = OneAgent;
    type Output = SchemaView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<SchemaView>, ApiError> {
        let schema = Admin::contact_schema(&**cx.platform(), &input.agent).await.map_err(failed)?;
        reply("Contact schema retrieved successfully", &schema)
    }
}

/// What differs in a field between two schemas.
pub struct FieldChange {
    field: String,
    change: &'static str,
    members: Vec<String>,
}

json_object! { FieldChange as "SchemaChange" = |it| {
    "field": String { "description": "As errors name it: `lastName`, `customFields.plan`; or `allowUndeclaredCustomFields`." } = it.field,
    "change": &'static str { "enum": ["added", "changed", "removed"] } = it.change,
    "members": Vec<String> { "description": "The members of the definition that differ." } = it.members,
} }

fn path_of(field: &FieldDefinition) -> String {
    if field.custom { format!("customFields.{}", field.name) } else { field.name.clone() }
}

fn members(field: &FieldDefinition) -> Object {
    match serde_json::to_value(field).map(|value| Json::from(&value)) {
        Ok(Json::Object(members)) => members,
        _ => Object::new(),
    }
}

/// What differs between two schemas, in the order of the later one; removed fields come last.
fn differences(before: &ContactSchema, after: &ContactSchema) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    for field in after.fields.iter().chain(&after.custom_fields) {
        let path = path_of(field);
        let Some(former) = before.field(&path) else {
            changes.push(FieldChange { field: path, change: "added", members: Vec::new() });
            continue;
        };
        let former = members(former);
        let differing = members(field);
        let differing = differing.iter().filter(|(name, value)| former.get(name) != Some(value));
        let members: Vec<String> = differing.map(|(name, _)| name.to_owned()).collect();
        if !members.is_empty() {
            changes.push(FieldChange { field: path, change: "changed", members });
        }
    }
    let is_gone = |path: &String| after.field(path).is_none();
    let gone = before.custom_fields.iter().map(path_of).filter(is_gone);
    changes.extend(gone.map(|field| FieldChange { field, change: "removed", members: Vec::new() }));
    if before.allow_undeclared_custom_fields != after.allow_undeclared_custom_fields {
        let field = "allowUndeclaredCustomFields".to_owned();
        changes.push(FieldChange { field, change: "changed", members: Vec::new() });
    }
    changes
}

/// A version of the schema.
pub struct SchemaVersion {
    version: u64,
    at: Timestamp,
    changes: Vec<FieldChange>,
}

json_object! { SchemaVersion as "SchemaVersion" = |it| {
    "version": u64 { "description": "1 for the built-in schema." } = it.version,
    "at": Timestamp { "description": "When it came into force." } = it.at,
    "changes": Vec<FieldChange> { "description": "What differs from the version before it." } = it.changes,
} }

/// The most versions that are listed.
const MOST_VERSIONS: usize = 100;

/// `schema.history`
pub struct History;

impl Operation for History {
    const METADATA: Metadata = metadata(
        "schema.history",
        "Lists the last 100 versions of the contact schema, the newest first, with their changes.",
        (Method::Get, "/agents/{agent}/contact-schema/versions"),
        Capability::SchemaRead,
        &[],
        "contact-schema history --agent AGENT",
    );
    type Input = OneAgent;
    type Output = Vec<SchemaVersion>;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<Vec<SchemaVersion>>, ApiError> {
        let versions = cx.platform().contact_schema_history(&input.agent).await.map_err(failed)?;
        let listed =
            versions.iter().enumerate().rev().take(MOST_VERSIONS).map(|(at, schema)| SchemaVersion {
                version: schema.version,
                at: schema.updated_at,
                changes: at
                    .checked_sub(1)
                    .and_then(|before| versions.get(before))
                    .map_or_else(Vec::new, |before| differences(before, schema)),
            });
        Ok(Reply::ok("Versions retrieved successfully", listed.collect()))
    }
}

input! {
    /// A definition of a contact schema.
    DefineSchema {
        "agent" Path agent: AgentId,
        "definition" Body definition: Object { "description": "`fields`, `customFields` and `allowUndeclaredCustomFields`: what is left out is as in the built-in schema. A schema that was read can be changed and sent back." },
    }
}

/// The current schema, and the one that a definition makes of it.
async fn defined(cx: &Context<'_>, input: &DefineSchema) -> Result<(ContactSchema, ContactSchema), ApiError> {
    let platform = cx.platform();
    let current = Admin::contact_schema(&**platform, &input.agent).await.map_err(failed)?;
    let next = current.redefined(&input.definition, platform.service_info(), platform.now())?;
    Ok((current, next))
}

/// A contact that the new rules refuse.
pub struct Refused {
    contact: ContactId,
    messages: Vec<String>,
}

json_object! { Refused as "RefusedContact" = |it| {
    "contact": ContactId = it.contact,
    "messages": Vec<String> { "description": "The rules that it breaks." } = it.messages,
} }

/// What a definition would change.
pub struct SchemaCheck {
    changes: Vec<FieldChange>,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    checked: u64,
    failing: u64,
    is_complete: bool,
    examples: Vec<Refused>,
}

json_object! { SchemaCheck as "SchemaCheck" = |it| {
    "changes": Vec<FieldChange> { "description": "What differs from the schema in force." } = it.changes,
    "contactsChecked": u64 { "description": "How many contacts were checked, archived ones included." } = it.tally.checked,
    "contactsFailing": u64 { "description": "How many of them pass the rules in force and not the new ones." } = it.tally.failing,
    "isComplete": bool { "description": "Whether every contact was checked. A check ends after 20,000 contacts or 2 s, the oldest first." } = it.tally.is_complete,
    "examples": Vec<Refused> { "description": "The first 20 of the failing contacts." } = it.tally.examples,
} }

/// Contacts read at a time, the most that are checked, how long, and how many of those that fail are named.
const PAGE: u32 = 200;
const MOST_CHECKED: u64 = 20_000;
const MOST_MILLIS: i64 = 2_000;
const MOST_EXAMPLES: usize = 20;

/// The rules that a stored contact breaks, as a new contact would.
fn broken(schema: &CompiledSchema, contact: &Contact, now: Timestamp) -> Violations {
    let Ok(Json::Object(body)) = serde_json::to_value(contact).map(|value| Json::from(&value)) else {
        return Violations::new();
    };
    let identity = Identity { id: contact.id, agent_id: contact.agent_id.clone(), now };
    schema.create(&body, identity).err().unwrap_or_default()
}

/// Counts the contacts that pass the rules in force and not the next ones.
async fn count(
    cx: &Context<'_>,
    agent: &AgentId,
    current: ContactSchema,
    next: ContactSchema,
) -> Result<Tally, ApiError> {
    let platform = cx.platform();
    let compiled = |schema| {
        // Patterns of a schema that was read or defined are regular expressions.
        CompiledSchema::new(schema, platform.service_info()).map_err(|_| ApiError::internal())
    };
    let (current, next) = (compiled(current)?, compiled(next)?);
    let begun = platform.now();
    let (mut tally, mut after) = (Tally::default(), None);
    loop {
        let page = platform.export_contacts(agent, after, PAGE).await.map_err(failed)?;
        for contact in &page {
            let faults = broken(&next, contact, begun);
            if faults.is_empty() || !broken(&current, contact, begun).is_empty() {
                continue;
            }
            tally.failing += 1;
            if tally.examples.len() < MOST_EXAMPLES {
                let messages = faults.listed().iter().map(|fault| fault.message.to_string()).collect();
                tally.examples.push(Refused { contact: contact.id, messages });
            }
        }
        tally.checked += page.len() as u64;
        let Some(last) = page.last().filter(|_| page.len() == PAGE as usize) else {
            tally.is_complete = true;
            return Ok(tally);
        };
        if tally.checked >= MOST_CHECKED || platform.now().millis_since(begun) >= MOST_MILLIS {
            return Ok(tally);
        }
        after = Some(SortPosition { key: SortKey::Time(last.created_at), id: last.id });
    }
}

/// `schema.check`
pub struct Check;

impl Operation for Check {
    const METADATA: Metadata = Metadata {
        traits: Traits::READ,
        ..metadata(
            "schema.check",
            "Checks a definition of the contact schema, and counts the contacts that would no longer pass.",
            (Method::Post, "/agents/{agent}/contact-schema/check"),
            Capability::SchemaWrite,
            &[],
            "contact-schema check --agent AGENT --file FILE",
        )
    };
    type Input = DefineSchema;
    type Output = SchemaCheck;

    async fn run(cx: Context<'_>, input: DefineSchema) -> Result<Reply<SchemaCheck>, ApiError> {
        let (current, next) = defined(&cx, &input).await?;
        let changes = differences(&current, &next);
        let tally = if changes.is_empty() {
            Tally { is_complete: true, ..Tally::default() }
        } else {
            count(&cx, &input.agent, current, next).await?
        };
        Ok(Reply::ok("Contact schema checked successfully", SchemaCheck { changes, tally }))
    }
}

/// Whether values that are hidden under one schema are shown under another one.
fn reveals(before: &ContactSchema, after: &ContactSchema) -> bool {
    let was_hidden = |field: &&FieldDefinition| before.is_sensitive(&path_of(field));
    let mut hidden = before.fields.iter().chain(&before.custom_fields).filter(was_hidden);
    hidden.any(|field| !after.is_sensitive(&path_of(field)))
}

/// `schema.replace`
pub struct Replace;

impl Operation for Replace {
    const METADATA: Metadata = Metadata {
        traits: Traits::VERSIONED,
        ..metadata(
            "schema.replace",
            "Replaces the contact schema. It applies to later writes. Only operators with `sensitive.read` can make hidden values visible.",
            (Method::Put, "/agents/{agent}/contact-schema"),
            Capability::SchemaWrite,
            &[AuditAction::ContactSchemaReplace],
            "contact-schema set --agent AGENT --file FILE",
        )
    };
    type Input = DefineSchema;
    type Output = SchemaView;

    async fn run(cx: Context<'_>, input: DefineSchema) -> Result<Reply<SchemaView>, ApiError> {
        let (current, next) = defined(&cx, &input).await?;
        cx.refuse_stale(&etag(&current), || value(&current).unwrap_or_default())?;
        let sees_all = cx.operator.grants.reach(Capability::SensitiveRead, &input.agent).is_some();
        if !sees_all && reveals(&current, &next) {
            return Err(lacks(Capability::SensitiveRead));
        }
        let (platform, version) = (cx.platform(), Some(current.version));
        let saved = platform.replace_schema(cx.actor, &input.agent, &input.definition, version).await;
        match saved.map_err(failed)? {
            Some(saved) => reply("Contact schema replaced successfully", &saved),
            None => {
                let current = Admin::contact_schema(&**platform, &input.agent).await.map_err(failed)?;
                Err(stale(&etag(&current), &value(&current)?))
            }
        }
    }
}
