//! The document of a contact: the record, and its search and sort keys under `keys`.

use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::json::RawObject;
use openapi_core::values::{AgentId, ContactId, ContactStatus, StoredText, Timestamp};
use storage_common::fields;

use super::grams::grams;
use crate::document::{FieldReader, Fields, Value, code, integer, key, object_text, put, time};
use crate::error::{Error, Result, corrupt};

/// The field name of the external id among the unique values. No schema can give it to another field.
pub(super) const EXTERNAL: &str = "externalReferenceId";

/// The slot of a contact in counters and indexes: the status and whether it is archived, in one number.
pub(super) fn slot(status: ContactStatus, archived: bool) -> i32 {
    code(status) + if archived { 3 } else { 0 }
}

/// The stored form of a unique value. No field name contains the separator.
pub(super) fn unique(field: &str, value: &str) -> String {
    format!("{field}\0{value}")
}

/// The label of contacts with a folded tag.
pub(super) fn tag_label(tag: &str) -> String {
    format!("t:{tag}")
}

/// The tag of a label, unless it is an e-mail label.
pub(super) fn tag_of_label(label: &str) -> Option<&str> {
    label.strip_prefix("t:")
}

/// The label of contacts with an e-mail address in normal form.
pub(super) fn email_label(email: &str) -> String {
    format!("e:{email}")
}

/// A sort key; `false`, which sorts after every text, where there is none.
fn sort_key(text: Option<&str>) -> Bson {
    text.map_or(Bson::Boolean(false), |text| Bson::String(text.to_owned()))
}

/// The values that no other contact of the tenant may have.
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

/// The keys of a contact.
pub(crate) fn keys_document(contact: &Contact, keys: &ContactKeys) -> Document {
    let mut document = doc! {
        "slot": slot(contact.status, contact.is_archived()),
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

/// The change that leaves a contact only these unique values. An empty array would be a value in the unique index, so only
/// one contact could have it.
pub(super) fn only_unique(values: &[&str]) -> Document {
    if values.is_empty() {
        doc! { "$unset": { "keys.unique": true } }
    } else {
        doc! { "$set": { "keys.unique": values } }
    }
}

/// The projection of a find that reads the record.
pub(crate) fn without_keys() -> Document {
    doc! { "keys": 0 }
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
    into.insert("status", code(contact.status));
    into.insert("source", contact.source.as_str());
    put(into, "lastContactedAt", contact.last_contacted_at.map(time));
    put(into, "customFields", object_text(&contact.custom_fields));
    put(into, "archivedAt", contact.archived_at.map(time));
    into.insert("createdAt", time(contact.created_at));
    into.insert("updatedAt", time(contact.updated_at));
    into.insert("keys", keys_document(contact, keys));
    Ok(document)
}

/// The value of a mandatory field.
fn mandatory<T>(value: Option<T>, name: &str) -> Result<T> {
    value.ok_or_else(|| corrupt(format_args!("a contact has no field '{name}'")))
}

fn stored<T: StoredText>(value: RawBsonRef<'_>) -> Result<T> {
    value.str().map(T::from_stored)
}

/// Reads a document in one pass over its fields: looking up each of them would scan the document each time.
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
            "version" => version = Some(u64::try_from(value.integer()?).map_err(corrupt)?),
            "externalReferenceId" => external_reference_id = Some(stored(value)?),
            "salutation" => salutation = Some(stored(value)?),
            "firstName" => first_name = Some(stored(value)?),
            "middleName" => middle_name = Some(stored(value)?),
            "lastName" => last_name = Some(stored(value)?),
            "dob" => dob = Some(stored(value)?),
            "gender" => gender = Some(stored(value)?),
            "primaryEmail" => primary_email = Some(stored(value)?),
            "primaryPhone" => primary_phone = Some(stored(value)?),
            "primaryPhoneCode" => primary_phone_code = Some(stored(value)?),
            "fullAddress" => full_address = Some(stored(value)?),
            "tags" => {
                let stored = value.as_array().ok_or_else(|| value.wrong("array"))?;
                for tag in stored {
                    tags.push(StoredText::from_stored(tag.map_err(corrupt)?.str()?));
                }
            }
            "status" => state = Some(fields::code::<_, Error>(value.integer()?)?),
            "source" => source = Some(stored(value)?),
            "lastContactedAt" => last_contacted_at = Some(value.time()?),
            "customFields" => custom_fields = RawObject::from_text(value.str()?).map_err(corrupt)?,
            "archivedAt" => archived_at = Some(value.time()?),
            "createdAt" => created_at = Some(value.time()?),
            "updatedAt" => updated_at = Some(value.time()?),
            _ => {}
        }
    }
    Ok(Contact {
        id: mandatory(id, "_id")?,
        agent_id: agent.clone(),
        external_reference_id,
        salutation,
        first_name,
        middle_name,
        last_name,
        dob,
        gender,
        primary_email: mandatory(primary_email, "primaryEmail")?,
        primary_phone,
        primary_phone_code,
        full_address,
        tags,
        status: mandatory(state, "status")?,
        source: mandatory(source, "source")?,
        last_contacted_at,
        custom_fields,
        archived_at,
        created_at: mandatory(created_at, "createdAt")?,
        updated_at: mandatory(updated_at, "updatedAt")?,
        version: mandatory(version, "version")?,
    })
}

/// The texts of an array; none for an absent one.
pub(super) fn strings(fields: Fields<'_>, name: &str) -> Result<Vec<String>> {
    let Some(value) = fields.optional(name)? else { return Ok(Vec::new()) };
    let array = value.as_array().ok_or_else(|| value.wrong("array"))?;
    array.into_iter().map(|text| Ok(text.map_err(corrupt)?.str()?.to_owned())).collect()
}
