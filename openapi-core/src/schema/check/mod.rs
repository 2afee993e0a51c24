//! Checks a contact of a request against the agent's schema: one walk over the members as sent, every violation at
//! once, and the record that is to be stored (contract 2.1.1, 2.1.3, 2.1.4, 6.2).

mod custom;
mod found;
mod limits;
mod standard;

pub(super) use limits::key;

use std::borrow::Cow;
use std::collections::HashMap;

use self::found::{Found, MISSING, MISSING_CUSTOM, required};
use super::pattern::{InvalidPattern, Pattern};
use super::{ContactSchema, FieldDefinition};
use crate::contacts::{Contact, default_source};
use crate::json::{Json, Object, RawObject};
use crate::service_info::ServiceInfo;
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{AgentId, ContactId, ContactStatus, Date, Timestamp};

/// A contact schema made ready to check requests: patterns compiled, defaults read. Made once for each version.
#[derive(Clone, Debug)]
pub struct CompiledSchema {
    schema: ContactSchema,
    patterns: HashMap<String, Pattern>,
    /// Defaults that differ from the built-in ones, by member.
    defaults: Vec<(String, Json)>,
    /// Defaults of declared custom fields, by name.
    custom_defaults: Vec<(String, Json)>,
    id_segment: String,
}

/// What the service adds to a created contact.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The id.
    pub id: ContactId,
    /// The agent.
    pub agent_id: AgentId,
    /// The creation time.
    pub now: Timestamp,
}

impl CompiledSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When a pattern is not a regular expression; schemas set through the operator's port are checked before.
    pub fn new(schema: ContactSchema, service_info: &ServiceInfo) -> Result<Self, InvalidPattern> {
        let mut patterns = HashMap::new();
        for field in schema.fields.iter().chain(&schema.custom_fields) {
            // The published pattern of a standard phone code holds after its normalisation, which the value does.
            if let Some(pattern) = &field.pattern {
                patterns.insert(path_of(field), Pattern::new(pattern)?);
            }
        }
        let builtin = ContactSchema::builtin(schema.agent_id.clone(), schema.updated_at);
        let differing = schema
            .fields
            .iter()
            .filter(|field| builtin.field(&field.name).is_none_or(|known| known.default != field.default));
        let default = |field: &FieldDefinition| Some((field.name.clone(), field.default.clone()?));
        let defaults = differing.filter_map(default).collect();
        let custom_defaults = schema.custom_fields.iter().filter_map(default).collect();
        let id_segment = service_info.id_segment().to_owned();
        Ok(CompiledSchema { patterns, defaults, custom_defaults, id_segment, schema })
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &ContactSchema {
        &self.schema
    }

    /// The contact that a create body makes.
    ///
    /// # Errors
    /// Every violation, in order.
    pub fn create(&self, body: &Object, identity: Identity) -> Result<Contact, Violations> {
        let mut found = Found::default();
        let body = self.with_defaults(body);
        let fields = self.read(&body, Mode::Create, identity.now, &mut found);
        for field in &self.schema.fields {
            // A required `customFields` is one with members; a sent `null` of a required field was found by `read`.
            if field.must_be_sent() && body.get(&field.name).is_none() {
                found.push(MISSING, required(&field.name));
            }
        }
        if body.get("customFields").is_none_or(|value| *value == Json::Null) {
            self.missing_custom_fields(&Object::new(), MISSING_CUSTOM, &mut found);
        }
        let contact = fields.into_contact(identity.id, identity.agent_id, identity.now);
        if let Some(contact) = &contact {
            self.phones_agree(contact, &body, &mut found);
        }
        match contact {
            Some(contact) if found.is_empty() => Ok(contact),
            _ => Err(found.into_violations()),
        }
    }

    /// The contact that an update body makes of `current`; times and version are as before.
    ///
    /// # Errors
    /// Every violation, in order.
    pub fn update(&self, current: &Contact, body: &Object, now: Timestamp) -> Result<Contact, Violations> {
        let mut found = Found::default();
        let fields = self.read(body, Mode::Update, now, &mut found);
        let mut contact = current.clone();
        fn set<T>(slot: &mut Option<T>, field: Option<Option<T>>) {
            if let Some(value) = field {
                *slot = value;
            }
        }
        set(&mut contact.external_reference_id, fields.external_reference_id);
        set(&mut contact.salutation, fields.salutation);
        set(&mut contact.first_name, fields.first_name);
        set(&mut contact.middle_name, fields.middle_name);
        set(&mut contact.last_name, fields.last_name);
        set(&mut contact.dob, fields.dob);
        set(&mut contact.gender, fields.gender);
        set(&mut contact.primary_phone, fields.primary_phone);
        set(&mut contact.primary_phone_code, fields.primary_phone_code);
        set(&mut contact.full_address, fields.full_address);
        set(&mut contact.last_contacted_at, fields.last_contacted_at);
        if let Some(Some(email)) = fields.primary_email {
            contact.primary_email = email;
        }
        if let Some(Some(status)) = fields.status {
            contact.status = status;
        }
        if let Some(tags) = fields.tags {
            contact.tags = tags.unwrap_or_default();
        }
        if let Some(source) = fields.source {
            contact.source = source.unwrap_or_else(default_source);
        }
        match fields.custom_fields {
            Some(None) => contact.custom_fields = RawObject::default(),
            Some(Some(patch)) => {
                let before = current.custom_fields.members();
                let mut merged = before.clone();
                let sent = patch.members();
                merged.merge(&sent);
                let at = position(body, "customFields");
                limits::whole(&merged).into_iter().for_each(|fault| {
                    found.push(at, ValidationError::new(Location::Body, "customFields", None, fault));
                });
                // What a merge leaves empty is cleared, member by member.
                let required_whole =
                    self.schema.fields.iter().any(|field| field.name == "customFields" && field.required);
                if required_whole && merged.is_empty() {
                    found.push(at, required("customFields"));
                }
                let supplied = |field: &&FieldDefinition| field.required && sent.get(&field.name).is_some();
                for field in self.schema.custom_fields.iter().filter(supplied) {
                    let emptied =
                        matches!(merged.get(&field.name), Some(Json::Object(inner)) if inner.is_empty());
                    if emptied {
                        found.push(at, required(&path_of(field)));
                    }
                }
                // Equal members in another order are no change: what is stored stays as it is.
                if !merged.same(&before) {
                    contact.custom_fields = RawObject::new(&merged);
                }
            }
            None => {}
        }
        self.phones_agree(&contact, body, &mut found);
        if found.is_empty() { Ok(contact) } else { Err(found.into_violations()) }
    }

    /// The body with the schema's own defaults for absent and `null` members. The built-in ones need no member.
    fn with_defaults<'a>(&self, body: &'a Object) -> Cow<'a, Object> {
        if self.defaults.is_empty() && self.custom_defaults.is_empty() {
            return Cow::Borrowed(body);
        }
        let mut filled = body.clone();
        let empty = |value: Option<&Json>| value.is_none_or(|value| *value == Json::Null);
        for (name, default) in &self.defaults {
            if empty(filled.get(name)) {
                filled.insert(name.clone(), default.clone());
            }
        }
        let mut members = match filled.get("customFields") {
            None | Some(Json::Null) => Object::new(),
            Some(Json::Object(members)) => members.clone(),
            // Of another type: a violation, to which defaults add nothing.
            Some(_) => return Cow::Owned(filled),
        };
        let mut added = false;
        for (name, default) in &self.custom_defaults {
            if empty(members.get(name)) {
                members.insert(name.clone(), default.clone());
                added = true;
            }
        }
        if added {
            filled.insert("customFields", Json::Object(members));
        }
        Cow::Owned(filled)
    }

    fn phones_agree(&self, contact: &Contact, body: &Object, found: &mut Found) {
        let sent = body.get("primaryPhone").or_else(|| body.get("primaryPhoneCode")).is_some();
        let (Some(phone), Some(code)) = (&contact.primary_phone, &contact.primary_phone_code) else { return };
        let faulty = found.listed.iter().any(|(_, violation)| violation.field.starts_with("primaryPhone"));
        if sent && !faulty && !phone.agrees_with(code) {
            let at = position(body, "primaryPhone").min(position(body, "primaryPhoneCode"));
            let fault = ValidationIssue::new(
                ValidationCode::Conflict,
                "must begin with the digits of primaryPhoneCode",
            );
            found.push(at, self.violation("primaryPhone", Some(&Json::from(phone.as_str())), fault));
        }
    }

    /// A violation at a field of the body; values of sensitive fields are not repeated.
    fn violation(&self, path: &str, value: Option<&Json>, fault: ValidationIssue) -> ValidationError {
        let top = path.split('[').next().unwrap_or(path);
        let declared = match top.strip_prefix("customFields.") {
            Some(rest) => format!("customFields.{}", rest.split('.').next().unwrap_or(rest)),
            None => top.to_owned(),
        };
        let value = value.filter(|_| !self.schema.is_sensitive(&declared));
        ValidationError::new(Location::Body, path, value, fault)
    }
}

/// Whether absent fields take defaults or stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Create,
    Update,
}

fn position(body: &Object, name: &str) -> usize {
    body.iter().position(|(member, _)| member == name).unwrap_or(MISSING)
}

/// How errors and keys name a field.
fn path_of(field: &FieldDefinition) -> String {
    if field.custom { format!("customFields.{}", field.name) } else { field.name.clone() }
}

/// The date that is today somewhere on earth: in UTC+14.
fn latest_today(now: Timestamp) -> Date {
    now.date_at_offset(14)
}

/// The statuses, for the message of `enum`.
pub(super) fn statuses() -> ValidationIssue {
    ValidationIssue::not_one_of(&ContactStatus::ALL.map(ContactStatus::as_str))
}
