//! The document of a contact: the record, and under `keys` what it is found by.

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::json::RawObject;
use openapi_core::values::{AgentId, ContactId, ContactStatus, StoredText, Timestamp};

use super::grams::grams;
use crate::document::{Fields, Value, integer, key, object_text, put, time};
use crate::error::{Result, corrupt};

/// The field of `externalReferenceId` among the unique values. No schema can give the name to another field.
pub(super) const EXTERNAL: &str = "externalReferenceId";

/// The number that stands for a status: its place in [`ContactStatus::ALL`].
pub(super) const fn status_number(status: ContactStatus) -> i32 {
    match status {
        ContactStatus::Active => 0,
        ContactStatus::Inactive => 1,
        ContactStatus::Blocked => 2,
    }
}

/// The place of contacts in counters and indexes: status and whether they are archived, in one number.
pub(super) const fn place(status: ContactStatus, archived: bool) -> i32 {
    status_number(status) + if archived { 3 } else { 0 }
}

/// A unique value as it is stored and looked for. No name of a field contains the character in between.
pub(super) fn unique(field: &str, value: &str) -> String {
    format!("{field}\0{value}")
}

/// The label of contacts with a folded tag.
pub(super) fn tag_label(tag: &str) -> String {
    format!("t:{tag}")
}

/// The tag of a label, if it is one of a tag.
pub(super) fn tag_of_label(label: &str) -> Option<&str> {
    label.strip_prefix("t:")
}

/// The label of contacts with an address in normal form.
pub(super) fn email_label(email: &str) -> String {
    format!("e:{email}")
}

/// A sort key: text, or what stands behind every text where there is none.
fn sort_key(text: Option<&str>) -> Bson {
    text.map_or(Bson::Boolean(false), |text| Bson::String(text.to_owned()))
}

/// What no other contact of the agent may have.
pub(super) fn unique_values(contact: &Contact, keys: &ContactKeys) -> Vec<String> {
    let external = contact.external_reference_id.iter().map(|id| unique(EXTERNAL, id.as_str()));
    let mut values: Vec<String> =
        external.chain(keys.unique.iter().map(|value| unique(&value.field, &value.value))).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The labels of a contact, sorted.
pub(super) fn labels(keys: &ContactKeys) -> Vec<String> {
    let tags = keys.tags.iter().map(|tag| tag_label(tag));
    let mut labels: Vec<String> = tags.chain([email_label(&keys.email)]).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// What a contact is found by.
pub(super) fn keys_document(contact: &Contact, keys: &ContactKeys) -> Document {
    let mut document = doc! {
        "place": place(contact.status, contact.is_archived()),
        "firstName": sort_key(keys.first_name.as_deref()),
        "lastName": sort_key(keys.last_name.as_deref()),
        "primaryEmail": &keys.primary_email,
        "labels": labels(keys),
        "search": &keys.search,
        "digits": &keys.digits,
        "grams": grams(&keys.search, &keys.digits),
    };
    let unique = unique_values(contact, keys);
    put(&mut document, "unique", (!unique.is_empty()).then_some(unique));
    document
}

/// The change that leaves a contact these unique values alone. An empty array would be a value of its own in the index,
/// and one that two contacts cannot have.
pub(super) fn only_unique(values: &[&str]) -> Document {
    if values.is_empty() {
        doc! { "$unset": { "keys.unique": true } }
    } else {
        doc! { "$set": { "keys.unique": values } }
    }
}

/// The document of a contact.
pub(super) fn document(contact: &Contact, keys: &ContactKeys) -> Result<Document> {
    let mut document = doc! { "_id": key(&contact.agent_id, contact.id.as_bytes()) };
    let into = &mut document;
    let text = |text: Option<&str>| text.map(str::to_owned);
    into.insert("version", integer(contact.version)?);
    put(into, "externalReferenceId", text(contact.external_reference_id.as_ref().map(|id| id.as_str())));
    put(into, "salutation", text(contact.salutation.as_ref().map(|line| line.as_str())));
    put(into, "firstName", text(contact.first_name.as_ref().map(|line| line.as_str())));
    put(into, "middleName", text(contact.middle_name.as_ref().map(|line| line.as_str())));
    put(into, "lastName", text(contact.last_name.as_ref().map(|line| line.as_str())));
    put(into, "dob", text(contact.dob.as_ref().map(|date| date.as_str())));
    put(into, "gender", text(contact.gender.as_ref().map(|line| line.as_str())));
    into.insert("primaryEmail", contact.primary_email.as_str());
    put(into, "primaryPhone", text(contact.primary_phone.as_ref().map(|phone| phone.as_str())));
    put(into, "primaryPhoneCode", text(contact.primary_phone_code.as_ref().map(|code| code.as_str())));
    put(into, "fullAddress", text(contact.full_address.as_ref().map(|address| address.as_str())));
    let tags: Vec<&str> = contact.tags.iter().map(|tag| tag.as_str()).collect();
    put(into, "tags", (!tags.is_empty()).then_some(tags));
    into.insert("status", status_number(contact.status));
    into.insert("source", contact.source.as_str());
    put(into, "lastContactedAt", contact.last_contacted_at.map(time));
    put(into, "customFields", object_text(&contact.custom_fields));
    put(into, "archivedAt", contact.archived_at.map(time));
    into.insert("createdAt", time(contact.created_at));
    into.insert("updatedAt", time(contact.updated_at));
    into.insert("keys", keys_document(contact, keys));
    Ok(document)
}

fn status(number: i64) -> Result<ContactStatus> {
    usize::try_from(number)
        .ok()
        .and_then(|number| ContactStatus::ALL.get(number).copied())
        .ok_or_else(|| corrupt(format_args!("{number} is no status")))
}

/// The mandatory value of a field.
fn there<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| corrupt(format_args!("a contact has no field '{name}'")))
}

/// Reads a document in one pass over its fields.
pub(crate) fn contact(agent: &AgentId, document: &RawDocument) -> Result<Contact> {
    let (mut id, mut primary_email, mut state, mut source) = (None, None, None, None);
    let (mut created_at, mut updated_at, mut version) = (None, None, None);
    let (mut external_reference_id, mut salutation, mut first_name, mut middle_name) =
        (None, None, None, None);
    let (mut last_name, mut dob, mut gender, mut primary_phone) = (None, None, None, None);
    let (mut primary_phone_code, mut full_address, mut tags) = (None, None, Vec::new());
    let (mut last_contacted_at, mut archived_at): (Option<Timestamp>, Option<Timestamp>) = (None, None);
    let mut custom_fields = RawObject::default();
    for element in document.iter_elements() {
        let element = element.map_err(corrupt)?;
        let value = element.value().map_err(corrupt)?;
        match element.key().as_str() {
            "_id" => {
                let key = value.as_document().ok_or_else(|| value.wrong("document"))?;
                id = Some(ContactId::from_bytes(Fields(key).bytes("id")?));
            }
            "version" => version = Some(value.count()?),
            "externalReferenceId" => external_reference_id = Some(value.text()?),
            "salutation" => salutation = Some(value.text()?),
            "firstName" => first_name = Some(value.text()?),
            "middleName" => middle_name = Some(value.text()?),
            "lastName" => last_name = Some(value.text()?),
            "dob" => dob = Some(value.text()?),
            "gender" => gender = Some(value.text()?),
            "primaryEmail" => primary_email = Some(value.text()?),
            "primaryPhone" => primary_phone = Some(value.text()?),
            "primaryPhoneCode" => primary_phone_code = Some(value.text()?),
            "fullAddress" => full_address = Some(value.text()?),
            "tags" => {
                let stored = value.as_array().ok_or_else(|| value.wrong("array"))?;
                for tag in stored {
                    tags.push(StoredText::from_stored(tag.map_err(corrupt)?.str()?));
                }
            }
            "status" => state = Some(status(value.integer()?)?),
            "source" => source = Some(value.text()?),
            "lastContactedAt" => last_contacted_at = Some(value.time()?),
            "customFields" => custom_fields = value.object()?,
            "archivedAt" => archived_at = Some(value.time()?),
            "createdAt" => created_at = Some(value.time()?),
            "updatedAt" => updated_at = Some(value.time()?),
            _ => {}
        }
    }
    Ok(Contact {
        id: there(id, "_id")?,
        agent_id: agent.clone(),
        external_reference_id,
        salutation,
        first_name,
        middle_name,
        last_name,
        dob,
        gender,
        primary_email: there(primary_email, "primaryEmail")?,
        primary_phone,
        primary_phone_code,
        full_address,
        tags,
        status: there(state, "status")?,
        source: there(source, "source")?,
        last_contacted_at,
        custom_fields,
        archived_at,
        created_at: there(created_at, "createdAt")?,
        updated_at: there(updated_at, "updatedAt")?,
        version: there(version, "version")?,
    })
}

/// What a write needs to know of a stored contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) version: u64,
    pub(super) archived: bool,
    pub(super) derived: Derived,
}

/// What is derived from a contact and counted or unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Derived {
    pub(super) place: usize,
    pub(super) has_first_name: bool,
    pub(super) has_last_name: bool,
    /// Folded tags, sorted, each once.
    pub(super) tags: Vec<String>,
    /// As [`unique`] spells them.
    pub(super) unique: Vec<String>,
}

impl Derived {
    /// What a contact with these keys has.
    pub(super) fn of(contact: &Contact, keys: &ContactKeys) -> Self {
        let mut tags = keys.tags.clone();
        tags.sort_unstable();
        tags.dedup();
        Derived {
            place: place(contact.status, contact.is_archived()) as usize,
            has_first_name: keys.first_name.is_some(),
            has_last_name: keys.last_name.is_some(),
            tags,
            unique: unique_values(contact, keys),
        }
    }
}

impl Stored {
    /// The fields that [`Stored::read`] reads.
    pub(super) fn projection() -> Document {
        doc! {
            "version": 1, "archivedAt": 1, "keys.place": 1, "keys.firstName": 1, "keys.lastName": 1,
            "keys.labels": 1, "keys.unique": 1,
        }
    }

    pub(super) fn read(document: &RawDocumentBuf) -> Result<(ContactId, Self)> {
        let fields = Fields(document);
        let keys = fields.within("keys")?;
        let has = |name: &str| Ok::<_, crate::error::Fault>(keys.value(name)?.as_str().is_some());
        let mut tags: Vec<String> = strings(keys, "labels")?
            .iter()
            .filter_map(|label| tag_of_label(label).map(str::to_owned))
            .collect();
        tags.sort_unstable();
        let derived = Derived {
            place: usize::try_from(keys.integer("place")?).map_err(corrupt)?,
            has_first_name: has("firstName")?,
            has_last_name: has("lastName")?,
            tags,
            unique: strings(keys, "unique")?,
        };
        let archived = fields.optional("archivedAt")?.is_some();
        let stored = Stored { version: fields.count("version")?, archived, derived };
        Ok((ContactId::from_bytes(fields.id()?), stored))
    }
}

/// The texts of an array; none of an absent one.
pub(super) fn strings(fields: Fields<'_>, name: &str) -> Result<Vec<String>> {
    let Some(value) = fields.optional(name)? else { return Ok(Vec::new()) };
    let array = value.as_array().ok_or_else(|| value.wrong("array"))?;
    array.into_iter().map(|text| Ok(text.map_err(corrupt)?.str()?.to_owned())).collect()
}
