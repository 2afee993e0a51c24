//! Contacts: the endpoints of the Open API with sensitive values masked, and what only operators do.

use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactChanges, ContactRef, NewContact};
use openapi_core::json::{JsonSchema, Object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, ContactId, Line};
use serde_json::{Value, json};

use super::types::Nothing;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{confirmed, failed, lacks};
use crate::forward::{Forwarded, contact_of};
use crate::input::{Position, input};
use crate::operation::{Access, Entry, InputMember, Metadata, Operation, RunKind, Traits};

/// A contact with sensitive values left out.
pub(super) struct MaskedContact;

impl JsonSchema for MaskedContact {
    const NAME: Option<&'static str> = Some("MaskedContact");

    fn schema() -> Value {
        let mut schema = Contact::schema();
        schema["description"] =
            "A contact. Sensitive values are `null`, and their paths are in `masked`.".into();
        schema["properties"]["masked"] = json!({ "type": "array", "items": { "type": "string" } });
        // Any value may be masked.
        if let Some(members) = schema["properties"].as_object_mut() {
            let stays =
                ["id", "agentId", "customFields", "isArchived", "createdAt", "updatedAt", "masked", "tags"];
            for (name, member) in members.iter_mut().filter(|(name, _)| !stays.contains(&name.as_str())) {
                let _ = name;
                if let Some(text) = member["type"].as_str().map(str::to_owned) {
                    member["type"] = json!([text, "null"]);
                }
            }
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.push("masked".into());
        }
        schema
    }
}

fn path() -> Vec<InputMember> {
    vec![(Position::Path, "agent", true, AgentId::schema())]
}

fn one() -> Vec<InputMember> {
    let contact: InputMember = (Position::Path, "contact", true, ContactId::schema());
    path().into_iter().chain([contact]).collect()
}

/// The members of a body, from its schema.
fn body<T: JsonSchema>(mut members: Vec<InputMember>, required: &[&str]) -> Vec<InputMember> {
    let schema = T::schema();
    let Some(properties) = schema["properties"].as_object() else { return members };
    // Members that the service sets are ignored in requests.
    for (name, member) in properties.iter().filter(|(_, member)| member["readOnly"] != true) {
        // The table is made once for the reference; names of the schema live as long as the program.
        let name = known_name(name);
        members.push((Position::Body, name, required.contains(&name), member.clone()));
    }
    members
}

/// The names of the fields of contacts.
fn known_name(name: &str) -> &'static str {
    const NAMES: [&str; 17] = [
        "externalReferenceId",
        "salutation",
        "firstName",
        "middleName",
        "lastName",
        "dob",
        "gender",
        "primaryEmail",
        "primaryPhone",
        "primaryPhoneCode",
        "fullAddress",
        "tags",
        "status",
        "source",
        "lastContactedAt",
        "customFields",
        "notes",
    ];
    NAMES.into_iter().find(|known| *known == name).unwrap_or("other")
}

fn list_members() -> Vec<InputMember> {
    let text = || json!({ "type": "string" });
    let mut members = path();
    members.extend([
        (Position::Query, "search", false, json!({ "type": "string", "maxLength": 200 })),
        (Position::Query, "status", false, text()),
        (Position::Query, "tag", false, text()),
        (Position::Query, "sortBy", false, text()),
        (Position::Query, "sortOrder", false, json!({ "type": "string", "enum": ["asc", "desc"] })),
        (Position::Query, "includeArchived", false, json!({ "type": "boolean" })),
        (Position::Query, "primaryEmail", false, text()),
        (Position::Query, "createdSince", false, text()),
        (Position::Query, "updatedSince", false, text()),
        (Position::Query, "page", false, json!({ "type": "integer", "minimum": 1 })),
        (
            Position::Query,
            "limit",
            false,
            json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 20 }),
        ),
        (Position::Query, "cursor", false, text()),
    ]);
    members
}

pub(super) const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    needs: Capability,
    audit: &'static [AuditAction],
    command: &'static str,
) -> Metadata {
    let access = Access::Agent(needs);
    Metadata { name, summary, method, path, access, step_up: false, audit, command, traits: Traits::NONE }
}

const fn forwarded(method: &'static str, path: &'static str) -> RunKind {
    RunKind::Forwarded(Forwarded { method, path })
}

fn one_output() -> (Value, Option<&'static str>) {
    (MaskedContact::schema(), MaskedContact::NAME)
}

const COLLECTION: &str = "/agents/{agent}/contacts";
const ONE: &str = "/agents/{agent}/contacts/{contact}";

/// `contacts.list`
pub(super) const LIST: Entry = Entry {
    metadata: &metadata(
        "contacts.list",
        "Lists, searches and filters contacts, with exact totals.",
        (Method::Get, COLLECTION),
        Capability::ContactsRead,
        &[],
        "contacts list --agent AGENT",
    ),
    members: list_members,
    output: || (json!({ "type": "array", "items": MaskedContact::reference() }), None),
    run: forwarded("GET", "/contacts/chatbots/{agent}"),
};

/// `contacts.show`
pub(super) const SHOW: Entry = Entry {
    metadata: &metadata(
        "contacts.show",
        "Shows a contact.",
        (Method::Get, ONE),
        Capability::ContactsRead,
        &[],
        "contacts show REF --agent AGENT",
    ),
    members: one,
    output: one_output,
    run: forwarded("GET", "/contacts/{by-id}/{contact}/chatbots/{agent}"),
};

/// `contacts.create`
pub(super) const CREATE: Entry = Entry {
    metadata: &metadata(
        "contacts.create",
        "Creates a contact.",
        (Method::Post, COLLECTION),
        Capability::ContactsWrite,
        &[AuditAction::ContactCreate],
        "contacts create --agent AGENT --set primaryEmail=ada@example.com",
    ),
    members: || body::<NewContact>(path(), &["primaryEmail"]),
    output: one_output,
    run: forwarded("POST", "/contacts/chatbots/{agent}"),
};

/// `contacts.update`
pub(super) const UPDATE: Entry = Entry {
    metadata: &Metadata {
        traits: Traits::VERSIONED,
        ..metadata(
            "contacts.update",
            "Merges fields into a contact: what is left out stays, `null` clears.",
            (Method::Patch, ONE),
            Capability::ContactsWrite,
            &[AuditAction::ContactUpdate],
            "contacts update REF --agent AGENT --set lastName=Byron",
        )
    },
    members: || body::<ContactChanges>(one(), &[]),
    output: one_output,
    run: forwarded("PUT", "/contacts/{by-id}/{contact}/chatbots/{agent}"),
};

/// `contacts.archive`
pub(super) const ARCHIVE: Entry = Entry {
    metadata: &metadata(
        "contacts.archive",
        "Hides a contact from lists and closes it to changes.",
        (Method::Post, "/agents/{agent}/contacts/{contact}/archive"),
        Capability::ContactsWrite,
        &[AuditAction::ContactArchive],
        "contacts archive REF --agent AGENT",
    ),
    members: one,
    output: one_output,
    run: forwarded("PATCH", "/contacts/{by-id}/{contact}/chatbots/{agent}/archive"),
};

/// `contacts.unarchive`
pub(super) const UNARCHIVE: Entry = Entry {
    metadata: &metadata(
        "contacts.unarchive",
        "Takes a contact out of the archive.",
        (Method::Post, "/agents/{agent}/contacts/{contact}/unarchive"),
        Capability::ContactsWrite,
        &[AuditAction::ContactUnarchive],
        "contacts unarchive REF --agent AGENT",
    ),
    members: one,
    output: one_output,
    run: forwarded("PATCH", "/contacts/{by-id}/{contact}/chatbots/{agent}/unarchive"),
};

input! {
    /// A contact.
    OneContact {
        "agent" Path agent: AgentId,
        "contact" Path contact: ContactId,
    }
}

/// `contacts.reveal`
pub struct Reveal;

impl Operation for Reveal {
    const METADATA: Metadata = metadata(
        "contacts.reveal",
        "Shows a contact with its sensitive values. The audit log notes who has seen them.",
        (Method::Post, "/agents/{agent}/contacts/{contact}/reveal"),
        Capability::SensitiveRead,
        &[AuditAction::ContactReveal],
        "contacts show REF --agent AGENT --reveal",
    );
    type Input = OneContact;
    type Output = Contact;

    async fn run(cx: Context<'_>, input: OneContact) -> Result<Reply<Contact>, ApiError> {
        if cx.operator.grants.reach(Capability::ContactsRead, &input.agent).is_none() {
            return Err(lacks(Capability::ContactsRead));
        }
        let contact = contact_of(&cx, &input.agent, input.contact).await?;
        let (action, resource) = (AuditAction::ContactReveal, Some(input.contact.to_string()));
        let agent = Some(&input.agent);
        cx.platform().note(cx.actor, action, agent, resource, &Object::new()).await?;
        let etag = contact.etag();
        Ok(Reply::ok("Contact revealed successfully", contact).with_etag(etag))
    }
}

input! {
    /// A contact, confirmed by its external id or its address.
    EraseContact {
        "agent" Path agent: AgentId,
        "contact" Path contact: ContactId,
        "confirm" Body confirm: Line<320> { "description": "The contact's external id or address, typed again." },
    }
}

/// `contacts.erase`
pub struct Erase;

impl Operation for Erase {
    const METADATA: Metadata = Metadata {
        step_up: true,
        ..metadata(
            "contacts.erase",
            "Erases a contact with everything that belongs to it.",
            (Method::Post, "/agents/{agent}/contacts/{contact}/erase"),
            Capability::ContactsErase,
            &[AuditAction::ContactErase],
            "contacts erase REF --agent AGENT",
        )
    };
    type Input = EraseContact;
    type Output = Nothing;

    async fn run(cx: Context<'_>, input: EraseContact) -> Result<Reply<Nothing>, ApiError> {
        let contact = contact_of(&cx, &input.agent, input.contact).await?;
        let external = contact.external_reference_id.as_ref().map(ToString::to_string);
        if external.as_deref() != Some(input.confirm.as_str()) {
            confirmed(
                &input.confirm.as_str().to_lowercase(),
                &contact.primary_email.to_string().to_lowercase(),
            )?;
        }
        let target = ContactRef::Id(input.contact);
        cx.platform().erase_contact(cx.actor, &input.agent, &target).await.map_err(failed)?;
        Ok(Reply::ok("Contact erased successfully", Nothing))
    }
}
