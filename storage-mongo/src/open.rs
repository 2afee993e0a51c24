//! Opening the store.

use crate::audit;
use crate::backfill;
use crate::config::MongoConfig;
use crate::connect;
use crate::contacts::{self, ContactLoader};
use crate::error::OpenError;
use crate::migrate::{self, Migration};
use crate::shapes;
use crate::store::MongoStorage;
use crate::watch::Watch;
use crate::writer::Writer;

impl MongoStorage {
    /// Connects to the database, and migrates its collections and indexes to this release's version. When several servers
    /// start at once, one migrates and the others wait.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the deployment and what to do.
    pub async fn open(config: MongoConfig) -> Result<Self, OpenError> {
        let handle = connect::open(&config).await?;
        let upgrades = migrate::Upgrades {
            begin_chains: |handle| Box::pin(audit::begin_chains(handle)),
            move_records: |handle| Box::pin(shapes::move_records(handle)),
        };
        if let Err(error) = migrate::migrate(&handle, upgrades, &backfill::KEYS).await {
            handle.client.clone().shutdown().immediate(true).await;
            return Err(error);
        }
        let writer = Writer::new(handle.clone(), |handle, agent, jobs| {
            Box::pin(contacts::store_batch(handle, agent, jobs))
        });
        let (loader, watch) = (ContactLoader::new(&handle), Watch::start(&handle));
        Ok(MongoStorage { writer, loader, watch, handle, config })
    }

    /// The migrations that opening the database would apply; none when it is up to date. Changes nothing.
    ///
    /// # Errors
    /// As [`MongoStorage::open`], for a database that cannot be reached or is newer.
    pub async fn pending_migrations(config: &MongoConfig) -> Result<&'static [Migration], OpenError> {
        let handle = connect::open(config).await?;
        let version = migrate::version(&handle).await;
        handle.client.clone().shutdown().immediate(true).await;
        version.map(migrate::pending)
    }
}
