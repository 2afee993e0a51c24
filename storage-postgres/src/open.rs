//! Opening the store.

use crate::announcements::Announcements;
use crate::backfill;
use crate::config::PostgresConfig;
use crate::connect::{self, Db};
use crate::contacts::{self, ContactLoader};
use crate::error::OpenError;
use crate::migrate::{self, Migration};
use crate::store::PostgresStorage;
use crate::writer::Writer;

impl PostgresStorage {
    /// Connects, creates the tables if they are absent, and migrates them to this release's version. When several servers
    /// start at once, one migrates and the others wait.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the database and what to do.
    pub async fn open(config: PostgresConfig) -> Result<Self, OpenError> {
        let ((), server) = connect::on_connection(&config, async |db| {
            migrate::check_server(db, &config).await?;
            migrate::migrate(db, &config).await
        })
        .await?;
        let db = Db::new(config, server);
        if let Err(error) = backfill::bring_up_to_date(&db).await {
            db.close().await;
            return Err(OpenError::of_work(db.config(), error));
        }
        let writer = Writer::start(&db, |connection, (jobs, wait)| {
            let batch = jobs.iter().map(|job| &job.write).collect();
            Box::pin(contacts::store_batch(connection, batch, *wait))
        });
        let (loader, announcements) = (ContactLoader::new(&db), Announcements::start(&db));
        Ok(PostgresStorage { writer, loader, announcements, db })
    }

    /// The migrations that opening the database would apply; none when it is up to date. Changes nothing.
    ///
    /// # Errors
    /// As [`PostgresStorage::open`].
    pub async fn pending_migrations(config: &PostgresConfig) -> Result<&'static [Migration], OpenError> {
        let (version, _) = connect::on_connection(config, async |db| {
            migrate::check_server(db, config).await?;
            migrate::version(db, config).await
        })
        .await?;
        Ok(migrate::pending(version))
    }
}
