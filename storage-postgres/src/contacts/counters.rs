//! Counters, tags and unique values, which change with contacts.

use std::collections::{BTreeMap, BTreeSet};

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::values::{AgentId, ContactId};
use sqlx::PgConnection;

use super::stored::{Slot, Stored};
use crate::connect::execute;
use crate::error::Result;
use crate::rows::Statement;

/// A row of `contact_tag`.
type TagRow<'w> = (&'w str, String, Slot, ContactId);

/// The changes of counters, tags and unique values that belong to changes of contacts.
#[derive(Default)]
pub(super) struct Derived<'w> {
    counts: BTreeMap<(&'w str, i16, i16), i64>,
    tag_counts: BTreeMap<(&'w str, String, i16, i16), i64>,
    tags_gone: Vec<TagRow<'w>>,
    tags_new: Vec<TagRow<'w>>,
    freed: Vec<(&'w str, ContactId)>,
    unique: Vec<(&'w str, &'w str, &'w str, ContactId)>,
}

impl<'w> Derived<'w> {
    /// Notes that the slot and the tags of a contact change.
    pub(super) fn change(
        &mut self,
        agent: &'w AgentId,
        id: ContactId,
        before: Option<(Slot, &BTreeSet<String>)>,
        after: Option<(Slot, &BTreeSet<String>)>,
    ) {
        let agent = agent.as_str();
        for (side, difference) in [(before, -1), (after, 1)] {
            if let Some((slot, _)) = side {
                *self.counts.entry((agent, slot.archived, slot.status)).or_default() += difference;
            }
        }
        let of = |side: Option<(Slot, &BTreeSet<String>)>| -> BTreeSet<(Slot, String)> {
            side.into_iter()
                .flat_map(|(slot, tags)| tags.iter().map(move |tag| (slot, tag.clone())))
                .collect()
        };
        let (before, after) = (of(before), of(after));
        for (rows, own, other, difference) in
            [(&mut self.tags_gone, &before, &after, -1), (&mut self.tags_new, &after, &before, 1)]
        {
            for (slot, tag) in own.difference(other) {
                rows.push((agent, tag.clone(), *slot, id));
                let count = self.tag_counts.entry((agent, tag.clone(), slot.archived, slot.status));
                *count.or_default() += difference;
            }
        }
    }

    /// Notes that a contact is stored and replaces the one before.
    pub(super) fn set(
        &mut self,
        agent: &'w AgentId,
        contact: &'w Contact,
        keys: &'w ContactKeys,
        before: Option<&Stored>,
    ) {
        let tags = keys.tags.iter().cloned().collect();
        self.change(
            agent,
            contact.id,
            before.map(|before| (before.slot, &before.tags)),
            Some((Slot::of(contact), &tags)),
        );
        for unique in &keys.unique {
            self.unique.push((agent.as_str(), &unique.field, &unique.value, contact.id));
        }
    }

    /// Notes that a stored contact gives up its unique values.
    pub(super) fn free(&mut self, agent: &'w AgentId, id: ContactId) {
        self.freed.push((agent.as_str(), id));
    }

    pub(super) async fn write(self, db: &mut PgConnection) -> Result<()> {
        self.write_counts(db).await?;
        self.write_tag_counts(db).await?;
        let gone = "DELETE FROM contact_tag t USING unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], \
                    $5::bigint[], $6::bytea[]) AS u (agent, tag, archived, status, created_at, id) \
                    WHERE t.agent = u.agent AND t.tag = u.tag AND t.archived = u.archived AND t.status = u.status \
                    AND t.created_at = u.created_at AND t.id = u.id";
        write_tags(db, gone, &self.tags_gone).await?;
        let new = "INSERT INTO contact_tag (agent, tag, archived, status, created_at, id) \
                   SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::bigint[], \
                   $6::bytea[])";
        write_tags(db, new, &self.tags_new).await?;
        if !self.freed.is_empty() {
            let statement = Statement::new(
                "DELETE FROM contact_unique k USING unnest($1::text[], $2::bytea[]) AS u (agent, id) \
                 WHERE k.agent = u.agent AND k.id = u.id",
            )
            .bind(self.freed.iter().map(|(agent, _)| *agent).collect::<Vec<_>>())?
            .bind(self.freed.iter().map(|(_, id)| id.as_bytes().as_slice()).collect::<Vec<_>>())?;
            execute(db, statement).await?;
        }
        write_unique(db, &self.unique).await
    }

    async fn write_counts(&self, db: &mut PgConnection) -> Result<()> {
        let counts: Vec<_> = self.counts.iter().filter(|(_, difference)| **difference != 0).collect();
        if counts.is_empty() {
            return Ok(());
        }
        let statement = Statement::new(
            "INSERT INTO contact_count (agent, archived, status, total) \
             SELECT * FROM unnest($1::text[], $2::smallint[], $3::smallint[], $4::bigint[]) \
             ON CONFLICT (agent, archived, status) DO UPDATE SET total = contact_count.total + excluded.total",
        )
        .bind(counts.iter().map(|((agent, ..), _)| *agent).collect::<Vec<_>>())?
        .bind(counts.iter().map(|((_, archived, _), _)| *archived).collect::<Vec<_>>())?
        .bind(counts.iter().map(|((.., status), _)| *status).collect::<Vec<_>>())?
        .bind(counts.iter().map(|(_, difference)| **difference).collect::<Vec<_>>())?;
        execute(db, statement).await?;
        Ok(())
    }

    async fn write_tag_counts(&self, db: &mut PgConnection) -> Result<()> {
        let counts: Vec<_> = self.tag_counts.iter().filter(|(_, difference)| **difference != 0).collect();
        if counts.is_empty() {
            return Ok(());
        }
        let bound = |sql: &'static str| {
            Statement::new(sql)
                .bind(counts.iter().map(|((agent, ..), _)| *agent).collect::<Vec<_>>())?
                .bind(counts.iter().map(|((_, tag, ..), _)| tag.as_str()).collect::<Vec<_>>())?
                .bind(counts.iter().map(|((_, _, archived, _), _)| *archived).collect::<Vec<_>>())?
                .bind(counts.iter().map(|((.., status), _)| *status).collect::<Vec<_>>())?
                .bind(counts.iter().map(|(_, difference)| **difference).collect::<Vec<_>>())
        };
        let changed = "INSERT INTO tag_count (agent, tag, archived, status, total) \
                       SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::bigint[]) \
                       ON CONFLICT (agent, tag, archived, status) DO UPDATE SET total = tag_count.total + excluded.total";
        execute(db, bound(changed)?).await?;
        if counts.iter().any(|(_, difference)| **difference < 0) {
            // Tags come and go: counters that fall to 0 would accumulate.
            let gone = "DELETE FROM tag_count t USING unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], \
                        $5::bigint[]) AS u (agent, tag, archived, status, difference) \
                        WHERE t.agent = u.agent AND t.tag = u.tag AND t.archived = u.archived \
                        AND t.status = u.status AND t.total = 0 AND u.difference < 0";
            execute(db, bound(gone)?).await?;
        }
        Ok(())
    }
}

async fn write_tags(db: &mut PgConnection, sql: &'static str, rows: &[TagRow<'_>]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(sql)
        .bind(rows.iter().map(|(agent, ..)| *agent).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(_, tag, ..)| tag.as_str()).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(_, _, slot, _)| slot.archived).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(_, _, slot, _)| slot.status).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(_, _, slot, _)| slot.created_at).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(.., id)| id.as_bytes().as_slice()).collect::<Vec<_>>())?;
    execute(db, statement).await?;
    Ok(())
}

/// Stores unique values and the contacts that have them.
pub(super) async fn write_unique(
    db: &mut PgConnection,
    unique: &[(&str, &str, &str, ContactId)],
) -> Result<()> {
    if unique.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(
        "INSERT INTO contact_unique (agent, field, value, id) \
         SELECT agent, field, sha256(convert_to(value, 'UTF8')), id \
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS u (agent, field, value, id)",
    )
    .bind(unique.iter().map(|(agent, ..)| *agent).collect::<Vec<_>>())?
    .bind(unique.iter().map(|(_, field, ..)| *field).collect::<Vec<_>>())?
    .bind(unique.iter().map(|(_, _, value, _)| *value).collect::<Vec<_>>())?
    .bind(unique.iter().map(|(.., id)| id.as_bytes().as_slice()).collect::<Vec<_>>())?;
    execute(db, statement).await?;
    Ok(())
}
