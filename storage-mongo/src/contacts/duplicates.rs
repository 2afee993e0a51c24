//! The holders of values that no two contacts of a tenant may share.

use std::collections::HashMap;

use mongodb::bson::doc;
use openapi_core::contacts::UniqueValue;
use openapi_core::storage::Duplicate;
use openapi_core::values::{AgentId, ContactId, ExternalId};

use super::row;
use crate::document::Fields;
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::{DocumentReader, Find};

/// The contact that has a unique value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) contact: ContactId,
    pub(super) archived: bool,
}

/// The values that no other contact may have, each with the name of its field, in the order in which the port reports them.
pub(super) fn unique_values(
    external_reference_id: Option<&ExternalId>,
    unique: &[UniqueValue],
) -> Vec<(String, String)> {
    let external =
        external_reference_id.map(|id| (row::EXTERNAL.to_owned(), row::unique(row::EXTERNAL, id.as_str())));
    let others = unique.iter().map(|value| (value.field.clone(), row::unique(&value.field, &value.value)));
    external.into_iter().chain(others).collect()
}

/// The holders of some values.
pub(super) async fn holders<'v>(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    values: impl Iterator<Item = &'v String>,
) -> Result<HashMap<String, Holder>> {
    let values: Vec<&str> = values.map(String::as_str).collect();
    let mut holders = HashMap::new();
    if values.is_empty() {
        return Ok(holders);
    }
    let find = Find {
        filter: doc! { "_id.agent": agent.as_str(), "keys.unique": { "$in": values } },
        projection: Some(doc! { "archivedAt": 1, "keys.unique": 1 }),
        hint: Some(index::CONTACTS_BY_UNIQUE),
        ..Find::default()
    };
    for found in &reads.find(collection::CONTACTS, find).await? {
        let fields = Fields(found);
        let holder = Holder {
            contact: ContactId::from_bytes(fields.id()?),
            archived: fields.optional("archivedAt")?.is_some(),
        };
        for value in row::strings(fields.within("keys")?, "unique")? {
            holders.insert(value, holder);
        }
    }
    Ok(holders)
}

/// The first value that another contact has.
pub(super) fn duplicate(
    holders: &HashMap<String, Holder>,
    except: Option<ContactId>,
    wanted: &[(String, String)],
) -> Option<Duplicate> {
    wanted.iter().find_map(|(field, value)| {
        let holder = holders.get(value).filter(|holder| Some(holder.contact) != except)?;
        Some(Duplicate { field: field.clone(), existing: holder.contact, archived: holder.archived })
    })
}
