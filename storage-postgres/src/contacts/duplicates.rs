//! The holders of values that no two contacts of a tenant may share: external ids, and values of fields that the schema marks
//! `unique`. One statement finds those of many contacts.

use std::collections::HashMap;

use openapi_core::contacts::{Contact, ContactKeys, UniqueValue};
use openapi_core::storage::Duplicate;
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::connect::fetch;
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement};

/// The index of the external id among the values of a contact; the unique fields follow from 1 on.
const EXTERNAL: usize = 0;

/// The field name of the external id. No schema can give it to another field.
const EXTERNAL_FIELD: &str = "externalReferenceId";

/// The values whose holders are wanted.
#[derive(Default)]
pub(super) struct Wanted<'w> {
    contacts: i64,
    contact: Vec<i64>,
    index: Vec<i64>,
    agent: Vec<&'w str>,
    /// NULL means the external id.
    field: Vec<Option<&'w str>>,
    value: Vec<&'w str>,
}

impl<'w> Wanted<'w> {
    /// Adds the values of a contact.
    pub(super) fn add(
        &mut self,
        agent: &'w AgentId,
        external: Option<&'w ExternalId>,
        unique: &'w [UniqueValue],
    ) {
        let external = external.map(|id| (EXTERNAL, None, id.as_str()));
        let unique = unique
            .iter()
            .enumerate()
            .map(|(at, unique)| (at + 1, Some(unique.field.as_str()), unique.value.as_str()));
        for (index, field, value) in external.into_iter().chain(unique) {
            self.contact.push(self.contacts);
            self.index.push(index as i64);
            self.agent.push(agent.as_str());
            self.field.push(field);
            self.value.push(value);
        }
        self.contacts += 1;
    }

    /// The statement that finds the holders; `None` without values.
    pub(super) fn statement(self) -> Result<Option<Statement>> {
        self.with_condition("")
    }

    /// The same, without tenants that are absent or deleted.
    pub(super) fn statement_of_active(self) -> Result<Option<Statement>> {
        self.with_condition(" AND EXISTS (SELECT 1 FROM agent a WHERE a.id = u.agent AND a.status <> 2)")
    }

    fn with_condition(self, condition: &str) -> Result<Option<Statement>> {
        if self.value.is_empty() {
            return Ok(None);
        }
        Statement::new(format!(
            "WITH u AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) \
             AS u (contact, index, agent, field, value)) \
             SELECT u.contact, u.index, c.id, c.archived FROM u JOIN contact c ON c.agent = u.agent \
             AND c.external_reference_id = u.value WHERE u.field IS NULL{condition} \
             UNION ALL SELECT u.contact, u.index, c.id, c.archived FROM u JOIN contact_unique k ON k.agent = u.agent \
             AND k.field = u.field AND k.value = sha256(convert_to(u.value, 'UTF8')) \
             JOIN contact c ON c.agent = k.agent AND c.id = k.id WHERE u.field IS NOT NULL{condition}"
        ))
        .bind(self.contact)?
        .bind(self.index)?
        .bind(self.agent)?
        .bind(self.field)?
        .bind(self.value)
        .map(Some)
    }
}

/// The contact that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) id: ContactId,
    pub(super) archived: bool,
}

/// The holders of the wanted values.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<(usize, usize), Holder>);

impl Holders {
    /// Holders by the index of the contact and the index of the value.
    #[cfg(test)]
    pub(super) fn of_test<const N: usize>(holders: [((usize, usize), Holder); N]) -> Self {
        Holders(holders.into())
    }

    pub(super) fn read(rows: &[PgRow]) -> Result<Self> {
        let mut holders = HashMap::new();
        for row in rows {
            let mut columns = RowReader::new(row);
            let mut index = || usize::try_from(columns.integer()?).map_err(corrupt);
            let (contact, value) = (index()?, index()?);
            let id = ContactId::from_bytes(columns.bytes()?);
            holders.insert((contact, value), Holder { id, archived: columns.small()? != 0 });
        }
        Ok(Holders(holders))
    }

    /// The holders of the values of the `contact`-th contact except `except`, in the order in which the port reports them,
    /// each with the name of the field.
    pub(super) fn of<'s>(
        &'s self,
        contact: usize,
        except: Option<ContactId>,
        unique: &'s [UniqueValue],
    ) -> impl Iterator<Item = (&'s str, Holder)> + 's {
        (0..=unique.len()).filter_map(move |index| {
            let holder = self.0.get(&(contact, index)).filter(|holder| Some(holder.id) != except)?;
            let field = match index {
                EXTERNAL => EXTERNAL_FIELD,
                index => unique[index - 1].field.as_str(),
            };
            Some((field, *holder))
        })
    }

    /// The first duplicate of a contact.
    pub(super) fn first(
        &self,
        contact: usize,
        except: Option<ContactId>,
        unique: &[UniqueValue],
    ) -> Option<Duplicate> {
        let (field, holder) = self.of(contact, except, unique).next()?;
        Some(Duplicate { field: field.to_owned(), existing: holder.id, archived: holder.archived })
    }
}

/// Refuses contacts that share an external id or a unique value with each other or with a stored contact; the error names
/// the first of them. Each comes with its external id, if that is checked.
pub(crate) async fn refuse<'k>(
    db: &mut PgConnection,
    agent: &AgentId,
    keyed: impl Iterator<Item = (&'k Contact, &'k ContactKeys, Option<&'k ExternalId>)> + Clone,
) -> Result<()> {
    let mut wanted = Wanted::default();
    for (_, keys, external) in keyed.clone() {
        wanted.add(agent, external, &keys.unique);
    }
    let Some(statement) = wanted.statement()? else { return Ok(()) };
    let stored = Holders::read(&fetch(db, statement).await?)?;
    let mut batch: HashMap<(&str, &str), &Contact> = HashMap::new();
    for (at, (contact, keys, external)) in keyed.enumerate() {
        let external = external.map(|id| (EXTERNAL_FIELD, id.as_str()));
        let unique = keys.unique.iter().map(|own| (own.field.as_str(), own.value.as_str()));
        let own: Vec<(&str, &str)> = external.into_iter().chain(unique).collect();
        for value in &own {
            if let Some(holder) = batch.get(value).filter(|holder| holder.id != contact.id) {
                let (field, existing) = (value.0.to_owned(), holder.id);
                return Err(Duplicate { field, existing, archived: holder.is_archived() }.into());
            }
        }
        if let Some(duplicate) = stored.first(at, Some(contact.id), &keys.unique) {
            return Err(duplicate.into());
        }
        batch.extend(own.into_iter().map(|value| (value, contact)));
    }
    Ok(())
}
