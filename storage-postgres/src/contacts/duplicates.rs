//! Who has a value that no two contacts of an agent may have: an external id, or a value of a field that the schema
//! marks `unique`. Asked for many contacts in one statement.

use std::collections::HashMap;

use openapi_core::contacts::{Contact, ContactKeys, UniqueValue};
use openapi_core::storage::Duplicate;
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::connect::fetch;
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement};

/// The place of an external id among the values of a contact; those of unique fields follow from 1 on.
const EXTERNAL: usize = 0;

/// The name of the external id among the fields. No schema can give it to another field.
const EXTERNAL_FIELD: &str = "externalReferenceId";

/// What is asked for.
#[derive(Default)]
pub(super) struct Asked<'w> {
    contacts: i64,
    contact: Vec<i64>,
    place: Vec<i64>,
    agent: Vec<&'w str>,
    /// NULL asks for an external id.
    field: Vec<Option<&'w str>>,
    value: Vec<&'w str>,
}

impl<'w> Asked<'w> {
    /// Asks for the values of a further contact.
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
        for (place, field, value) in external.into_iter().chain(unique) {
            self.contact.push(self.contacts);
            self.place.push(place as i64);
            self.agent.push(agent.as_str());
            self.field.push(field);
            self.value.push(value);
        }
        self.contacts += 1;
    }

    /// The statement that finds the holders; `None` when nothing is asked for.
    pub(super) fn statement(self) -> Result<Option<Statement>> {
        self.with_condition("")
    }

    /// The same, but for agents that are not there.
    pub(super) fn statement_of_living(self) -> Result<Option<Statement>> {
        self.with_condition(" AND EXISTS (SELECT 1 FROM agent a WHERE a.id = u.agent AND a.status <> 2)")
    }

    fn with_condition(self, condition: &str) -> Result<Option<Statement>> {
        if self.value.is_empty() {
            return Ok(None);
        }
        Statement::new(format!(
            "WITH u AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) \
             AS u (contact, place, agent, field, value)) \
             SELECT u.contact, u.place, c.id, c.archived FROM u JOIN contact c ON c.agent = u.agent \
             AND c.external_reference_id = u.value WHERE u.field IS NULL{condition} \
             UNION ALL SELECT u.contact, u.place, c.id, c.archived FROM u JOIN contact_unique k ON k.agent = u.agent \
             AND k.field = u.field AND k.value = sha256(convert_to(u.value, 'UTF8')) \
             JOIN contact c ON c.agent = k.agent AND c.id = k.id WHERE u.field IS NOT NULL{condition}"
        ))
        .bind(self.contact)?
        .bind(self.place)?
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

/// Who has what was asked for.
#[derive(Debug, Default)]
pub(super) struct Holders(HashMap<(usize, usize), Holder>);

impl Holders {
    /// Holders by the place of the contact and the place of the value.
    #[cfg(test)]
    pub(super) fn of_test<const N: usize>(holders: [((usize, usize), Holder); N]) -> Self {
        Holders(holders.into())
    }

    pub(super) fn read(rows: &[PgRow]) -> Result<Self> {
        let mut holders = HashMap::new();
        for row in rows {
            let mut columns = Columns::of(row);
            let mut place = || usize::try_from(columns.integer()?).map_err(corrupt);
            let (contact, place) = (place()?, place()?);
            let id = ContactId::from_bytes(columns.bytes()?);
            holders.insert((contact, place), Holder { id, archived: columns.small()? != 0 });
        }
        Ok(Holders(holders))
    }

    /// The holders of the values of the contact that was asked for as the `contact`-th, but for `except`, in the order
    /// in which they are told, each with the name of the field.
    pub(super) fn of<'s>(
        &'s self,
        contact: usize,
        except: Option<ContactId>,
        unique: &'s [UniqueValue],
    ) -> impl Iterator<Item = (&'s str, Holder)> + 's {
        (0..=unique.len()).filter_map(move |place| {
            let holder = self.0.get(&(contact, place)).filter(|holder| Some(holder.id) != except)?;
            let field = match place {
                EXTERNAL => EXTERNAL_FIELD,
                place => unique[place - 1].field.as_str(),
            };
            Some((field, *holder))
        })
    }

    /// What is told of a contact whose values others have.
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

/// Refuses contacts that share an external id or a unique value among each other, or with one that is stored: of the
/// contacts, by place, the first that does. Each comes with the external id that is to be its own.
pub(crate) async fn refuse<'k>(
    db: &mut PgConnection,
    agent: &AgentId,
    keyed: impl Iterator<Item = (&'k Contact, &'k ContactKeys, Option<&'k ExternalId>)> + Clone,
) -> Result<()> {
    let mut asked = Asked::default();
    for (_, keys, external) in keyed.clone() {
        asked.add(agent, external, &keys.unique);
    }
    let Some(statement) = asked.statement()? else { return Ok(()) };
    let before = Holders::read(&fetch(db, statement).await?)?;
    let mut here: HashMap<(&str, &str), &Contact> = HashMap::new();
    for (at, (contact, keys, external)) in keyed.enumerate() {
        let external = external.map(|id| (EXTERNAL_FIELD, id.as_str()));
        let unique = keys.unique.iter().map(|own| (own.field.as_str(), own.value.as_str()));
        let own: Vec<(&str, &str)> = external.into_iter().chain(unique).collect();
        for value in &own {
            if let Some(holder) = here.get(value).filter(|holder| holder.id != contact.id) {
                let (field, existing) = (value.0.to_owned(), holder.id);
                return Err(Duplicate { field, existing, archived: holder.is_archived() }.into());
            }
        }
        if let Some(duplicate) = before.first(at, Some(contact.id), &keys.unique) {
            return Err(duplicate.into());
        }
        here.extend(own.into_iter().map(|value| (value, contact)));
    }
    Ok(())
}
