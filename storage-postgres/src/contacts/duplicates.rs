//! Who has a value that no two contacts of an agent may have: an external id, or a value of a field that the schema
//! marks `unique`. Asked for many contacts in one statement.

use std::collections::HashMap;

use openapi_core::contacts::UniqueValue;
use openapi_core::storage::Duplicate;
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::postgres::PgRow;

use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement};

/// The place of an external id among the values of a contact; those of unique fields follow from 1 on.
const EXTERNAL: usize = 0;

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
            let id = ContactId::from_bytes(columns.octets()?);
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
                EXTERNAL => "externalReferenceId",
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
