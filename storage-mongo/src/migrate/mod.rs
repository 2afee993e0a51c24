//! Collections and indexes: numbered, append-only migrations.
//!
//! An interrupted step can be repeated: it creates only what is absent. One server migrates at a time. It holds a lock
//! that expires by the clock of the database, so a server that dies does not block the others for long.

mod steps;

use std::pin::Pin;
use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::error::ErrorKind;
use openapi_core::storage::StorageErrorKind;
use storage_common::migrations;

use crate::connect::Handle;
use crate::document::{FieldReader, Fields};
use crate::error::{Error, OpenError, Result};
use crate::transaction::DocumentReader;

pub use steps::Migration;
use steps::{AUDIT_CHAIN, SHAPES};
pub(crate) use steps::{Collection, Index, MIGRATIONS, collection, index};

/// The version of this release.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// The migrations that a database of `version` lacks.
pub(crate) fn pending(version: i64) -> &'static [Migration] {
    migrations::pending(MIGRATIONS, version)
}

/// How long the lock is valid without being renewed.
const LOCK: Duration = Duration::from_secs(30);

/// How often the lock is renewed, and how often another server checks whether it is free.
const LOCK_STEP: Duration = Duration::from_secs(5);

/// How long a server waits for another one that is migrating.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The version of the schema in the database, 0 for an empty one.
///
/// # Errors
/// When the database belongs to something else or to a newer release.
pub(crate) async fn version(handle: &Handle) -> Result<i64, OpenError> {
    let found = handle.read(async {
        let stored =
            DocumentReader::new(handle).one(collection::MIGRATIONS, doc! { "_id": "schema" }, None).await?;
        stored.map_or(Ok(0), |stored| Fields(&stored).integer("version"))
    });
    let found = found.await.map_err(|error| refused(handle, error))?;
    if found == 0 {
        refuse_foreign(handle).await?;
    }
    if found > KNOWN {
        return Err(OpenError::Newer { database: handle.db.name().to_owned(), found, known: KNOWN });
    }
    Ok(found)
}

/// Refuses a database with collections that this crate has never migrated, and adds nothing to it.
async fn refuse_foreign(handle: &Handle) -> Result<(), OpenError> {
    let looked = handle.list(async {
        // The lock precedes the first collection: a server that lists a collection then sees the lock.
        let mut collections = handle.db.list_collection_names().await?;
        collections.retain(|name| !name.starts_with("system."));
        let begun = doc! { "_id": { "$in": ["lock", "schema"] } };
        let begun = DocumentReader::new(handle).one(collection::MIGRATIONS, begun, None).await?;
        // The collection of the lock is there a moment before the lock.
        let alien = doc! { "_id": { "$nin": ["lock", "schema"] } };
        if DocumentReader::new(handle).one(collection::MIGRATIONS, alien, None).await?.is_none() {
            collections.retain(|name| name != collection::MIGRATIONS);
        }
        Ok(collections.into_iter().min().filter(|_| begun.is_none()))
    });
    match looked.await.map_err(|error| refused(handle, error))? {
        Some(collection) => Err(OpenError::Foreign { database: handle.db.name().to_owned(), collection }),
        None => Ok(()),
    }
}

fn refused(handle: &Handle, error: Error) -> OpenError {
    let (hosts, database) = (&handle.hosts, handle.db.name());
    let other = |reason: String| OpenError::Mongo { database: database.to_owned(), reason };
    match error {
        Error::Driver(error) => OpenError::of(hosts, database, &error),
        Error::Timeout(what) => OpenError::Unreachable { hosts: hosts.clone(), reason: what.to_owned() },
        Error::Corrupt(what) => other(what),
        Error::Conflict => other("another server keeps changing it".to_owned()),
        Error::Known(kind) => other(kind.to_string()),
    }
}

/// Work on the content of the database that follows the migrations.
pub(crate) struct Backfill {
    /// Whether it is done.
    pub(crate) is_done: for<'h> fn(&'h Handle) -> Work<'h, bool>,
    /// Does it, or the rest of it.
    pub(crate) run: for<'h> fn(&'h Handle) -> Work<'h, ()>,
}

/// The future of a [`Backfill`].
pub(crate) type Work<'h, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'h>>;

/// Whether the database has the schema and the keys of this release.
async fn is_current(handle: &Handle, backfill: &Backfill) -> Result<bool, OpenError> {
    if !pending(version(handle).await?).is_empty() {
        return Ok(false);
    }
    handle.read((backfill.is_done)(handle)).await.map_err(|error| refused(handle, error))
}

/// Migrates the database to the version of this release.
///
pub(crate) async fn migrate(
    handle: &Handle,
    upgrades: Upgrades,
    backfill: &Backfill,
) -> Result<(), OpenError> {
    let mut waited = Duration::ZERO;
    while !is_current(handle, backfill).await? {
        let lock = Lock::of(handle).await.map_err(|error| refused(handle, error))?;
        if lock.take().await.map_err(|error| refused(handle, error))? {
            let done = lock.hold_while(apply_all(handle, upgrades, backfill)).await;
            lock.release().await;
            return done.map_err(|error| refused(handle, error)).and(version(handle).await.map(drop));
        }
        if waited >= MAX_WAIT {
            let database = handle.db.name().to_owned();
            return Err(OpenError::Migrating { database, waited: waited.as_secs() });
        }
        // Most concurrent starts end at once, so the first checks follow quickly.
        let step = LOCK_STEP.min(waited.max(Duration::from_millis(100)));
        tokio::time::sleep(step).await;
        waited += step;
    }
    Ok(())
}

/// Work of a step besides collections and indexes. It can be repeated.
pub(crate) type Upgrade = for<'a> fn(&'a Handle) -> Work<'a, ()>;

/// The work of the steps that have some.
#[derive(Clone, Copy)]
pub(crate) struct Upgrades {
    /// Begins the chains of the audit log.
    pub(crate) begin_chains: Upgrade,
    /// Moves small records and rate-limit windows to the collection of records.
    pub(crate) move_records: Upgrade,
}

async fn apply_all(handle: &Handle, upgrades: Upgrades, backfill: &Backfill) -> Result<()> {
    let stored =
        DocumentReader::new(handle).one(collection::MIGRATIONS, doc! { "_id": "schema" }, None).await?;
    let version = stored.map_or(Ok(0), |stored| Fields(&stored).integer("version"))?;
    for step in pending(version) {
        let mut making = tokio::task::JoinSet::new();
        for collection in step.collections {
            let handle = handle.clone();
            making.spawn(async move { make(&handle, collection).await });
        }
        while let Some(made) = making.join_next().await {
            made.map_err(crate::error::corrupt)??;
        }
        match step.version {
            AUDIT_CHAIN => (upgrades.begin_chains)(handle).await?,
            SHAPES => (upgrades.move_records)(handle).await?,
            _ => {}
        }
        handle
            .collection(collection::MIGRATIONS)
            .update_one(doc! { "_id": "schema" }, doc! { "$set": { "version": step.version } })
            .upsert(true)
            .await?;
        tracing::info!(version = step.version, name = step.name, "migrated the database");
    }
    (backfill.run)(handle).await
}

/// Creates a collection and its indexes if they are absent.
async fn make(handle: &Handle, wanted: &Collection) -> Result<()> {
    const NAMESPACE_EXISTS: i32 = 48;
    match handle.db.create_collection(wanted.name).await {
        Ok(()) => {}
        Err(error) if matches!(&*error.kind, ErrorKind::Command(c) if c.code == NAMESPACE_EXISTS) => {}
        Err(error) => return Err(error.into()),
    }
    if wanted.indexes.is_empty() {
        return Ok(());
    }
    let command = doc! {
        "createIndexes": wanted.name,
        "indexes": wanted.indexes.iter().map(definition).collect::<Vec<_>>(),
        "writeConcern": { "w": "majority" },
        // Without it the command waits for members that do not respond.
        "commitQuorum": "majority",
    };
    handle.db.run_command(command).await?;
    Ok(())
}

fn definition(index: &Index) -> Document {
    let key: Document = index.fields.iter().map(|field| ((*field).to_owned(), Bson::Int32(1))).collect();
    let mut definition = doc! { "name": index.name, "key": key };
    if index.unique {
        definition.insert("unique", true);
    }
    if let Some(field) = index.only_with {
        let mut with = Document::new();
        with.insert(field, doc! { "$exists": true });
        definition.insert("partialFilterExpression", with);
    }
    definition
}

/// The right to migrate, which expires.
struct Lock<'h> {
    handle: &'h Handle,
    /// The holder: a session id that the driver generates.
    holder: Document,
    _session: mongodb::ClientSession,
}

impl<'h> Lock<'h> {
    async fn of(handle: &'h Handle) -> Result<Self> {
        let session = handle.client.start_session().await?;
        Ok(Lock { handle, holder: session.id().clone(), _session: session })
    }

    /// Takes or renews the lock; returns whether this server has it.
    async fn take(&self) -> Result<bool> {
        let migrations = self.handle.collection(collection::MIGRATIONS);
        let free = doc! { "$setOnInsert": { "until": DateTime::from_millis(0) } };
        match migrations.update_one(doc! { "_id": "lock" }, free).upsert(true).await.map_err(Error::from) {
            Ok(_) | Err(Error::Conflict) => {}
            Err(error) => return Err(error),
        }
        let filter = doc! {
            "_id": "lock",
            "$expr": { "$or": [
                { "$eq": ["$holder", { "$literal": self.holder.clone() }] },
                { "$lt": ["$until", "$$NOW"] },
            ] },
        };
        let until = doc! { "$add": ["$$NOW", LOCK.as_millis() as i64] };
        let change = vec![doc! { "$set": { "holder": { "$literal": self.holder.clone() }, "until": until } }];
        Ok(migrations.update_one(filter, change).await?.matched_count == 1)
    }

    /// Renews the lock until the work is done.
    async fn hold_while<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let renew = async {
            loop {
                tokio::time::sleep(LOCK_STEP).await;
                match self.take().await {
                    Ok(true) => {}
                    Ok(false) => return Error::Known(StorageErrorKind::Unavailable),
                    Err(error) => tracing::warn!(?error, "cannot renew the lock of the migration"),
                }
            }
        };
        tokio::select! {
            done = work => done,
            lost = renew => Err(lost),
        }
    }

    async fn release(&self) {
        let filter = doc! { "_id": "lock", "holder": self.holder.clone() };
        let free = doc! { "$set": { "until": DateTime::from_millis(0) } };
        if let Err(error) = self.handle.collection(collection::MIGRATIONS).update_one(filter, free).await {
            tracing::warn!(%error, "cannot release the lock of the migration; it expires");
        }
    }
}
