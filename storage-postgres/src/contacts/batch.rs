//! Creating and changing contacts, many at once: every question and every change is one statement for all of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::storage::ContactWrite;
use openapi_core::values::{AgentId, ContactId, Tag};
use sqlx::PgConnection;

pub(crate) use super::decide::Verdict;
use super::decide::{Known, decide};
use super::duplicates::{Asked, Holders};
use super::kept;
use super::row::{ContactRows, contact_rows, status_number};
use crate::connect::{execute, fetch};
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement};
use crate::{audit, replays};

/// A write that waits.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) agent: AgentId,
    /// The version that an update replaces; none creates.
    pub(crate) expected_version: Option<u64>,
    pub(crate) write: ContactWrite,
}

/// Where a contact stands in counters and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) archived: i16,
    pub(super) status: i16,
    pub(super) created_at: i64,
}

impl Place {
    fn of(contact: &Contact) -> Self {
        Place {
            archived: contact.is_archived().into(),
            status: status_number(contact.status),
            created_at: contact.created_at.millis(),
        }
    }
}

/// What a change needs to know of a stored contact.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) id: ContactId,
    pub(super) version: u64,
    pub(super) place: Place,
    /// Folded.
    pub(super) tags: BTreeSet<String>,
}

/// The columns that [`Stored::read`] reads.
pub(super) const STORED: &str = "c.id, c.version, c.archived, c.status, c.created_at, c.tags";

impl Stored {
    pub(super) fn read(columns: &mut Columns<'_>) -> Result<Self> {
        Ok(Stored {
            id: ContactId::from_bytes(columns.bytes()?),
            version: columns.count()?,
            place: Place {
                archived: columns.small()?,
                status: columns.small()?,
                created_at: columns.integer()?,
            },
            tags: columns
                .optional_str()?
                .map(|tags| tags.split('\n').map(Tag::fold).collect())
                .unwrap_or_default(),
        })
    }
}

/// What is done about an agent that another transaction holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Its writes are left for later ([`Verdict::Held`]).
    Skip,
    /// One waits for it.
    Await,
}

/// Judges the writes of a batch and stores those that may be. Runs inside a transaction of its own.
pub(crate) async fn store(db: &mut PgConnection, batch: &[Pending], held: Held) -> Result<Vec<Verdict>> {
    let known = known(db, batch, held).await?;
    let verdicts = decide(batch, &known);
    let winners: Vec<(usize, &Pending)> = batch
        .iter()
        .enumerate()
        .filter(|(place, _)| verdicts.get(*place) == Some(&Verdict::Stored))
        .collect();
    if !winners.is_empty() {
        write(db, &winners, &known).await?;
    }
    Ok(verdicts)
}

/// The places in a batch as PostgreSQL counts them.
fn places(batch: &[Pending]) -> Vec<i64> {
    (0..batch.len()).map(|place| place as i64).collect()
}

fn place(columns: &mut Columns<'_>) -> Result<usize> {
    usize::try_from(columns.integer()?).map_err(corrupt)
}

/// Locks the agents of a batch, in the order of their ids, and asks everything that the judgement needs.
async fn known(db: &mut PgConnection, batch: &[Pending], held: Held) -> Result<Known> {
    let agents: BTreeSet<&str> = batch.iter().map(|pending| pending.agent.as_str()).collect();
    let mut known = Known::default();
    hold(db, agents, held, &mut known).await?;

    let statement = Statement::new(format!(
        "SELECT u.place, {STORED} FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS u (place, agent, id) \
         JOIN contact c ON c.agent = u.agent AND c.id = u.id"
    ))
    .bind(places(batch))?
    .bind(batch.iter().map(|pending| pending.agent.as_str()).collect::<Vec<_>>())?
    .bind(batch.iter().map(|pending| pending.write.contact.id.as_bytes().as_slice()).collect::<Vec<_>>())?;
    for row in fetch(db, statement).await? {
        let mut columns = Columns::of(&row);
        known.stored.insert(place(&mut columns)?, Stored::read(&mut columns)?);
    }

    known.replayed = replayed(db, batch).await?;

    let mut asked = Asked::default();
    for Pending { agent, write, .. } in batch {
        asked.add(agent, write.contact.external_reference_id.as_ref(), &write.keys.unique);
    }
    if let Some(statement) = asked.statement()? {
        known.holders = Holders::read(&fetch(db, statement).await?)?;
    }
    Ok(known)
}

/// Locks agents that are there until the transaction ends, and reads the versions of their contact schemas in force.
async fn hold(db: &mut PgConnection, agents: BTreeSet<&str>, held: Held, known: &mut Known) -> Result<()> {
    let sql = match held {
        Held::Await => {
            "SELECT id, schema_version FROM agent WHERE id = ANY($1) AND status <> 2 ORDER BY id FOR NO KEY UPDATE"
        }
        Held::Skip => {
            "SELECT id, schema_version FROM agent WHERE id = ANY($1) AND status <> 2 ORDER BY id \
             FOR NO KEY UPDATE SKIP LOCKED"
        }
    };
    let ids: Vec<&str> = agents.iter().copied().collect();
    for row in fetch(db, Statement::new(sql).bind(ids)?).await? {
        let mut columns = Columns::of(&row);
        known.schemas.insert(columns.text()?, columns.count()?);
    }
    if held == Held::Await || known.schemas.len() == agents.len() {
        return Ok(());
    }
    // What was skipped is either not there or held by another transaction.
    let skipped: Vec<&str> = agents
        .into_iter()
        .filter(|agent| !known.schemas.keys().any(|held| held.as_str() == *agent))
        .collect();
    let statement =
        Statement::new("SELECT id FROM agent WHERE id = ANY($1) AND status <> 2").bind(skipped)?;
    for row in fetch(db, statement).await? {
        known.held.insert(Columns::of(&row).text()?);
    }
    Ok(())
}

/// The places whose idempotency key has an answer.
async fn replayed(db: &mut PgConnection, batch: &[Pending]) -> Result<HashSet<usize>> {
    let (mut places, mut agents, mut keys, mut times) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, Pending { agent, write, .. }) in batch.iter().enumerate() {
        if let Some(replay) = &write.effects.replay {
            places.push(place as i64);
            agents.push(agent.as_str());
            keys.push(replay.key.0.as_slice());
            times.push(write.effects.audit.at.millis());
        }
    }
    if places.is_empty() {
        return Ok(HashSet::new());
    }
    let statement = Statement::new(
        "SELECT u.place FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[]) AS u (place, agent, key, at) \
         JOIN replay r ON r.agent = u.agent AND r.key = u.key AND r.expires_at > u.at",
    )
    .bind(places)?
    .bind(agents)?
    .bind(keys)?
    .bind(times)?;
    fetch(db, statement).await?.iter().map(|row| place(&mut Columns::of(row))).collect()
}

async fn write(db: &mut PgConnection, winners: &[(usize, &Pending)], known: &Known) -> Result<()> {
    let (mut new, mut changed) = (ContactRows::default(), ContactRows::default());
    let mut derived = Derived::default();
    let mut last_changes = BTreeMap::new();
    for (place, Pending { agent, write, expected_version }) in winners {
        let rows = if expected_version.is_none() { &mut new } else { &mut changed };
        rows.push(agent, &write.contact, &write.keys)?;
        let before = known.stored.get(place).filter(|_| expected_version.is_some());
        if expected_version.is_some() {
            derived.free(agent, write.contact.id);
            last_changes.insert(agent.as_str(), *write.effects.audit.id.as_bytes());
        }
        derived.set(agent, &write.contact, &write.keys, before);
    }
    if !new.is_empty() {
        execute(db, new.bind(Statement::new(INSERT))?).await?;
    }
    if !changed.is_empty() {
        execute(db, changed.bind(Statement::new(UPDATE))?).await?;
        kept::note(db, &last_changes).await?;
    }
    derived.write(db).await?;
    let answers = winners
        .iter()
        .filter_map(|(_, pending)| Some((&pending.agent, pending.write.effects.replay.as_ref()?)));
    replays::put_all(db, answers).await?;
    audit::append_all(db, winners.iter().map(|(_, pending)| &pending.write.effects.audit)).await.map(drop)
}

/// Stores new contacts of an agent that is held, with everything that they are found by.
pub(crate) async fn put_new(
    db: &mut PgConnection,
    agent: &AgentId,
    contacts: &[(&Contact, ContactKeys)],
) -> Result<()> {
    let (mut rows, mut derived) = (ContactRows::default(), Derived::default());
    for (contact, keys) in contacts {
        rows.push(agent, contact, keys)?;
        derived.set(agent, contact, keys, None);
    }
    execute(db, rows.bind(Statement::new(INSERT))?).await?;
    derived.write(db).await
}

const INSERT: &str = concat!(
    "WITH u AS (SELECT * FROM ",
    contact_rows!(),
    "), searched AS (INSERT INTO contact_search (agent, id, archived, status, search, digits) ",
    "SELECT agent, id, archived, status, search, digits FROM u) ",
    "INSERT INTO contact (agent, id, first_name_key, last_name_key, primary_email_key, email, archived, status, ",
    "created_at, updated_at, version, archived_at, last_contacted_at, external_reference_id, salutation, first_name, ",
    "middle_name, last_name, dob, gender, primary_email, primary_phone, primary_phone_code, full_address, tags, ",
    "source, custom_fields) SELECT agent, id, first_name_key, last_name_key, primary_email_key, email, archived, ",
    "status, created_at, updated_at, version, archived_at, last_contacted_at, external_reference_id, salutation, ",
    "first_name, middle_name, last_name, dob, gender, primary_email, primary_phone, primary_phone_code, ",
    "full_address, tags, source, custom_fields FROM u"
);

/// What is searched is written only where it differs, so that mostly its index is not touched.
const UPDATE: &str = concat!(
    "WITH u AS (SELECT * FROM ",
    contact_rows!(),
    "), searched AS (UPDATE contact_search s SET archived = u.archived, status = u.status, search = u.search, ",
    "digits = u.digits FROM u WHERE s.agent = u.agent AND s.id = u.id AND (s.archived <> u.archived OR ",
    "s.status <> u.status OR s.search <> u.search OR s.digits <> u.digits)) ",
    "UPDATE contact c SET first_name_key = u.first_name_key, last_name_key = u.last_name_key, ",
    "primary_email_key = u.primary_email_key, email = u.email, archived = u.archived, status = u.status, ",
    "created_at = u.created_at, updated_at = u.updated_at, version = u.version, archived_at = u.archived_at, ",
    "last_contacted_at = u.last_contacted_at, external_reference_id = u.external_reference_id, ",
    "salutation = u.salutation, first_name = u.first_name, middle_name = u.middle_name, last_name = u.last_name, ",
    "dob = u.dob, gender = u.gender, primary_email = u.primary_email, primary_phone = u.primary_phone, ",
    "primary_phone_code = u.primary_phone_code, full_address = u.full_address, tags = u.tags, source = u.source, ",
    "custom_fields = u.custom_fields FROM u WHERE c.agent = u.agent AND c.id = u.id"
);

/// A row of `contact_tag`.
type TagRow<'w> = (&'w str, String, Place, ContactId);

/// What changes with contacts in counters, tags and unique values.
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
    /// Notes that a contact stood in one place with some tags and stands in another with others.
    pub(super) fn change(
        &mut self,
        agent: &'w AgentId,
        id: ContactId,
        before: Option<(Place, &BTreeSet<String>)>,
        after: Option<(Place, &BTreeSet<String>)>,
    ) {
        let agent = agent.as_str();
        for (side, difference) in [(before, -1), (after, 1)] {
            if let Some((place, _)) = side {
                *self.counts.entry((agent, place.archived, place.status)).or_default() += difference;
            }
        }
        let of = |side: Option<(Place, &BTreeSet<String>)>| -> BTreeSet<(Place, String)> {
            side.into_iter()
                .flat_map(|(place, tags)| tags.iter().map(move |tag| (place, tag.clone())))
                .collect()
        };
        let (before, after) = (of(before), of(after));
        for (rows, own, other, difference) in
            [(&mut self.tags_gone, &before, &after, -1), (&mut self.tags_new, &after, &before, 1)]
        {
            for (place, tag) in own.difference(other) {
                rows.push((agent, tag.clone(), *place, id));
                let count = self.tag_counts.entry((agent, tag.clone(), place.archived, place.status));
                *count.or_default() += difference;
            }
        }
    }

    /// Notes that a contact is stored, in place of what it was.
    fn set(
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
            before.map(|before| (before.place, &before.tags)),
            Some((Place::of(contact), &tags)),
        );
        for unique in &keys.unique {
            self.unique.push((agent.as_str(), &unique.field, &unique.value, contact.id));
        }
    }

    /// Notes that the unique values of a stored contact are given up.
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
            // Tags come and go; a counter that nothing is counted by would stay for ever.
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
        .bind(rows.iter().map(|(_, _, place, _)| place.archived).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(_, _, place, _)| place.status).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(_, _, place, _)| place.created_at).collect::<Vec<_>>())?
        .bind(rows.iter().map(|(.., id)| id.as_bytes().as_slice()).collect::<Vec<_>>())?;
    execute(db, statement).await?;
    Ok(())
}

/// Stores who has which unique values.
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
