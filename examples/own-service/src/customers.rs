//! Converts customers of the CRM to contacts of the API, and back.

use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::json::RawObject;
use openapi_core::reply::ApiError;
use openapi_core::service::ContactTarget;
use openapi_core::values::{AgentId, ContactId, ContactStatus, Line, PlatformId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params};

const SELECT: &str = "SELECT id, number, given_name, family_name, mail, phone, created, changed, \
    coalesce(version, 0) AS version, record FROM customers LEFT JOIN customer_records ON customer = id \
    WHERE tenant = :tenant";

/// The response if the CRM fails.
pub fn failed(error: rusqlite::Error) -> ApiError {
    tracing::error!(%error, "the CRM failed");
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DiskFull) => ApiError::unavailable(),
        _ => ApiError::internal(),
    }
}

/// The platform id of a customer: its creation time and the CRM's own number, so the CRM needs no column for it.
pub fn contact_id(customer: i64, created: Timestamp) -> ContactId {
    PlatformId::new(created, customer.to_be_bytes()).into()
}

/// The CRM's own number in a platform id.
pub fn customer_number(id: ContactId) -> i64 {
    let [_, _, _, _, number @ ..] = *id.as_bytes();
    i64::from_be_bytes(number)
}

/// The number of the next customer.
pub fn next_number(crm: &Connection) -> rusqlite::Result<i64> {
    crm.query_row("SELECT coalesce(max(id), 0) + 1 FROM customers", [], |row| row.get(0))
}

/// A customer as a contact; `None` without a valid email address, because every contact has one. Other columns that
/// break the API's rules are omitted.
fn contact(row: &Row<'_>, tenant: &AgentId) -> rusqlite::Result<Option<Contact>> {
    let text = |name| row.get::<_, Option<String>>(name);
    let Some(primary_email) = text("mail")?.and_then(|mail| mail.parse().ok()) else { return Ok(None) };
    let created_at = Timestamp::from_millis(row.get("created")?);
    let stored = match text("record")? {
        Some(record) => Some(serde_json::from_str::<Contact>(&record).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(9, rusqlite::types::Type::Text, error.into())
        })?),
        None => None,
    };
    let columns = Contact {
        id: contact_id(row.get("id")?, created_at),
        agent_id: tenant.clone(),
        external_reference_id: text("number")?.and_then(|number| number.parse().ok()),
        salutation: None,
        first_name: text("given_name")?.and_then(|name| name.parse().ok()),
        middle_name: None,
        last_name: text("family_name")?.and_then(|name| name.parse().ok()),
        dob: None,
        gender: None,
        primary_email,
        primary_phone: text("phone")?.and_then(|phone| phone.parse().ok()),
        primary_phone_code: None,
        full_address: None,
        tags: Vec::new(),
        status: ContactStatus::Active,
        source: "crm".parse::<Line<64>>().map_err(|_| rusqlite::Error::InvalidQuery)?,
        last_contacted_at: None,
        custom_fields: RawObject::default(),
        archived_at: None,
        created_at,
        updated_at: Timestamp::from_millis(row.get("changed")?),
        // 1 for a customer that the API has not changed.
        version: row.get::<_, i64>("version")?.max(1).unsigned_abs(),
    };
    // The CRM may reuse a number: then the additional record belongs to a deleted customer.
    let of_this_one = |stored: &Contact| stored.id == columns.id && stored.agent_id == columns.agent_id;
    Ok(Some(match stored.filter(of_this_one) {
        None => columns,
        Some(stored) => Contact {
            id: columns.id,
            agent_id: columns.agent_id,
            external_reference_id: columns.external_reference_id,
            first_name: columns.first_name,
            last_name: columns.last_name,
            primary_email: columns.primary_email,
            primary_phone: columns.primary_phone,
            created_at: columns.created_at,
            updated_at: columns.updated_at,
            version: columns.version,
            ..stored
        },
    }))
}

/// All contacts of a tenant.
pub fn all(crm: &Connection, tenant: &AgentId) -> rusqlite::Result<Vec<Contact>> {
    let mut statement = crm.prepare_cached(SELECT)?;
    let rows =
        statement.query_and_then(named_params! { ":tenant": tenant.as_str() }, |row| contact(row, tenant))?;
    rows.filter_map(Result::transpose).collect()
}

/// The contact that a request refers to.
pub fn find(crm: &Connection, tenant: &AgentId, target: &ContactTarget) -> rusqlite::Result<Option<Contact>> {
    // Text without the form of an id refers to no contact.
    let Ok(target) = target.resolve() else { return Ok(None) };
    let found = match &target {
        ContactRef::Id(id) => {
            let sql = format!("{SELECT} AND id = :id");
            let named = named_params! { ":tenant": tenant.as_str(), ":id": customer_number(*id) };
            crm.prepare_cached(&sql)?.query_row(named, |row| contact(row, tenant)).optional()?
        }
        ContactRef::External(number) => {
            let sql = format!("{SELECT} AND number = :number");
            let named = named_params! { ":tenant": tenant.as_str(), ":number": number.as_str() };
            crm.prepare_cached(&sql)?.query_row(named, |row| contact(row, tenant)).optional()?
        }
    };
    // Both the time and the number in a platform id must match.
    let is_meant = |contact: &Contact| !matches!(&target, ContactRef::Id(id) if contact.id != *id);
    Ok(found.flatten().filter(is_meant))
}

/// Another customer with the external id that a contact is to get, and whether it is archived. Customers that are not
/// contacts count too.
pub fn holder(crm: &Connection, contact: &Contact) -> rusqlite::Result<Option<(ContactId, bool)>> {
    let Some(number) = &contact.external_reference_id else { return Ok(None) };
    let sql = "SELECT id, created FROM customers WHERE tenant = ?1 AND number = ?2 AND id <> ?3";
    let parameters = (contact.agent_id.as_str(), number.as_str(), customer_number(contact.id));
    let other = crm
        .query_row(sql, parameters, |row| Ok(contact_id(row.get(0)?, Timestamp::from_millis(row.get(1)?))))
        .optional()?;
    let Some(other) = other else { return Ok(None) };
    let shown = find(crm, &contact.agent_id, &ContactTarget::Id(other.to_string()))?;
    Ok(Some((other, shown.is_some_and(|shown| shown.is_archived()))))
}

/// Writes a contact: the CRM's columns, and the whole record in the API's table.
pub fn save(crm: &Connection, contact: &Contact) -> rusqlite::Result<()> {
    let text = |value: Option<&str>| value.map(str::to_owned);
    let id = customer_number(contact.id);
    crm.execute(
        "INSERT INTO customers (id, tenant, number, given_name, family_name, mail, phone, created, changed) \
         VALUES (:id, :tenant, :number, :given, :family, :mail, :phone, :created, :changed) \
         ON CONFLICT (id) DO UPDATE SET number = :number, given_name = :given, family_name = :family, \
         mail = :mail, phone = :phone, changed = :changed",
        named_params! {
            ":id": id,
            ":tenant": contact.agent_id.as_str(),
            ":number": text(contact.external_reference_id.as_ref().map(|number| number.as_str())),
            ":given": text(contact.first_name.as_ref().map(|name| name.as_str())),
            ":family": text(contact.last_name.as_ref().map(|name| name.as_str())),
            ":mail": contact.primary_email.as_str(),
            ":phone": text(contact.primary_phone.as_ref().map(|phone| phone.as_str())),
            ":created": contact.created_at.millis(),
            ":changed": contact.updated_at.millis(),
        },
    )?;
    let record = serde_json::to_string(contact)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    crm.execute(
        "INSERT INTO customer_records (customer, version, record) VALUES (?1, ?2, ?3) \
         ON CONFLICT (customer) DO UPDATE SET version = ?2, record = ?3",
        (id, contact.version.cast_signed(), record),
    )?;
    Ok(())
}
