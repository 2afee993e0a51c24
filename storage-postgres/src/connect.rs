//! Connections: their settings, and how reads and writes use them.
//!
//! - A read is one statement. If its connection is dead, for example after a restart of the server, it runs again on
//!   another one. The caller notices only a delay.
//! - A write is one transaction on a task of its own. A caller that drops its future neither leaves half of the write nor
//!   costs the connection. The transaction runs again after a conflict or on a dead connection, but never after its commit
//!   was lost: its outcome is then unknown, and the caller gets `Unavailable`.
//! - Nothing waits for ever: the server bounds each statement, and a timeout here bounds each step.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use openapi_core::storage::{StorageError, StorageErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Postgres, Row};
use storage_common::retry::{RetryPolicy, retry_on_conflict};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::config::PostgresConfig;
use crate::error::{Error, OpenError, Result};
use crate::rows::{RowReader, Statement};

/// Attempts of a transaction that conflicts with others.
const MAX_CONFLICTS: u32 = 6;

/// The pause after the first conflict.
const FIRST_PAUSE: Duration = Duration::from_millis(8);

/// The pause before another connection is made after one was cut while it was being made.
const CONNECT_PAUSE: Duration = Duration::from_millis(4);

/// By how much a step may exceed its statement's timeout before the server counts as hanging.
const GRACE: Duration = Duration::from_secs(1);

/// How long work on all contacts of a tenant may take.
const LONG: Duration = Duration::from_secs(3_600);

/// The work of a transaction.
pub(crate) type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'c>>;

/// The database.
#[derive(Clone)]
pub(crate) struct Db {
    pool: PgPool,
    config: Arc<PostgresConfig>,
    /// The runtime that the store was opened on.
    handle: Handle,
}

/// The settings of every connection.
fn settings(config: &PostgresConfig) -> String {
    let PostgresConfig { schema, statement_timeout, lock_timeout, .. } = config;
    // Every statement of this crate touches few rows: compiling it or running it in parallel costs more than it saves.
    format!(
        "SET search_path = \"{schema}\"; SET statement_timeout = {}; SET lock_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}; SET default_transaction_isolation = 'read committed'; \
         SET jit = off; SET max_parallel_workers_per_gather = 0",
        statement_timeout.as_millis(),
        lock_timeout.as_millis(),
        (*statement_timeout + GRACE).as_millis(),
    )
}

/// A connection outside the pool, with the same settings.
pub(crate) async fn single(config: &PostgresConfig) -> Result<PgConnection, OpenError> {
    let connecting = async {
        let mut db = PgConnection::connect_with(&config.connect).await?;
        sqlx::raw_sql(AssertSqlSafe(settings(config))).execute(&mut db).await?;
        Ok(db)
    };
    match timeout(config.connect_timeout, connecting).await {
        Ok(connected) => connected.map_err(|error| OpenError::of(config, error)),
        Err(_) => Err(OpenError::Timeout { server: config.server() }),
    }
}

/// A connection of the pool. Dropped in the middle of a statement it is closed, because the rest of the statement's
/// response would reach its next user.
struct PooledConnection {
    connection: Option<PoolConnection<Postgres>>,
    is_idle: bool,
}

impl PooledConnection {
    fn get(&mut self) -> Result<&mut PgConnection> {
        self.is_idle = false;
        match &mut self.connection {
            Some(connection) => Ok(&mut *connection),
            None => Err(crate::error::corrupt("a connection was used after its return to the pool")),
        }
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.is_idle
        {
            drop(connection.detach());
        }
    }
}

/// Why a transaction did not commit.
enum TransactionError {
    /// It was rolled back.
    RolledBack(Error),
    /// The connection was lost during the commit; the outcome is unknown.
    CommitUnknown(Error),
}

impl Db {
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let set_up: Arc<str> = settings(&config).into();
        let pool = PgPoolOptions::new()
            .max_connections(config.max_connections)
            .acquire_timeout(config.connect_timeout)
            // A dead connection is detected by its first statement; testing it first would cost each request a round trip.
            .test_before_acquire(false)
            .acquire_slow_threshold(config.connect_timeout)
            .after_connect(move |connection, _| {
                let set_up = Arc::clone(&set_up);
                Box::pin(async move {
                    sqlx::raw_sql(AssertSqlSafe(set_up)).execute(connection).await?;
                    Ok(())
                })
            })
            .connect_lazy_with(config.connect.clone());
        Db { pool, config: Arc::new(config), handle: Handle::current() }
    }

    pub(crate) fn config(&self) -> &PostgresConfig {
        &self.config
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }

    /// How long one step may take.
    pub(crate) fn step_timeout(&self) -> Duration {
        self.config.statement_timeout + GRACE
    }

    /// How long a read may take: for a connection, and for its response.
    pub(crate) fn read_timeout(&self) -> Duration {
        self.config.connect_timeout + GRACE + self.step_timeout()
    }

    /// Every connection of the pool may turn out to be dead, one after another.
    fn retries(&self) -> RetryPolicy {
        RetryPolicy {
            max_conflicts: MAX_CONFLICTS,
            max_races: 0,
            max_reconnects: self.config.max_connections,
            first_pause: FIRST_PAUSE,
            max_pause: Duration::from_secs(1),
            reconnect_pause: Duration::ZERO,
            time_limit: None,
            jitter: None,
        }
    }

    async fn acquire(&self) -> Result<PooledConnection> {
        // A server that is shutting down, or a load balancer, may cut a connection while it is being made.
        let cut = RetryPolicy { max_reconnects: u32::MAX, reconnect_pause: CONNECT_PAUSE, ..self.retries() };
        let acquiring = retry_on_conflict(cut, || async { self.pool.acquire().await.map_err(Error::from) });
        // Slightly longer than the pool's own timeout, which does not cover the statement after connecting.
        match timeout(self.config.connect_timeout + GRACE, acquiring).await {
            Ok(connection) => Ok(PooledConnection { connection: Some(connection?), is_idle: true }),
            Err(_) => Err(Error::Timeout("no connection to the database could be made in time")),
        }
    }

    /// The rows of a statement that changes nothing.
    pub(crate) async fn read(&self, statement: Statement) -> Result<Vec<PgRow>> {
        retry_on_conflict(self.retries(), || self.read_once(&statement)).await
    }

    async fn read_once(&self, statement: &Statement) -> Result<Vec<PgRow>> {
        let mut connection = self.acquire().await?;
        let reading = timeout(self.step_timeout(), rows(connection.get()?, statement.clone()));
        let found =
            reading.await.unwrap_or(Err(Error::Timeout("the database did not respond to a read in time")));
        connection.is_idle = found.as_ref().err().is_none_or(|error| !error.ends_connection());
        found
    }

    /// The first row of a statement, read by `read`.
    pub(crate) async fn read_one<T>(
        &self,
        statement: Statement,
        read: impl FnOnce(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Option<T>, StorageError> {
        let rows = self.read(statement).await?;
        Ok(rows.first().map(|row| read(&mut RowReader::new(row))).transpose()?)
    }

    /// The rows of a statement, each read by `read`.
    pub(crate) async fn read_all<T>(
        &self,
        statement: Statement,
        mut read: impl FnMut(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Vec<T>, StorageError> {
        let rows = self.read(statement).await?;
        Ok(rows.iter().map(|row| read(&mut RowReader::new(row))).collect::<Result<_>>()?)
    }

    /// Runs `work` in a transaction.
    pub(crate) async fn write<A, T>(
        &self,
        input: A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
    ) -> Result<T, StorageError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.spawn(input, work, self.step_timeout() + self.config.lock_timeout).await
    }

    /// The same for work on all contacts of a tenant, whose statements have no timeout.
    pub(crate) async fn write_long<A, T>(
        &self,
        input: A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
    ) -> Result<T, StorageError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.spawn(input, work, LONG).await
    }

    async fn spawn<A, T>(
        &self,
        input: A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
        timeout: Duration,
    ) -> Result<T, StorageError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let db = self.clone();
        let task = self.handle.spawn(async move { db.transaction(&input, work, timeout).await });
        match task.await {
            Ok(done) => Ok(done?),
            Err(error) if error.is_panic() => {
                Err(StorageError::new(StorageErrorKind::Internal, format!("a write panicked: {error}")))
            }
            Err(error) => Err(StorageError::new(StorageErrorKind::Unavailable, error)),
        }
    }

    /// Runs `work` in a transaction, and again after a conflict or on a dead connection.
    pub(crate) async fn transaction<A: Sync, T: Send>(
        &self,
        input: &A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
        timeout: Duration,
    ) -> Result<T> {
        retry_on_conflict(self.retries(), || self.run(input, work, timeout)).await
    }

    async fn run<A: Sync, T: Send>(
        &self,
        input: &A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
        limit: Duration,
    ) -> Result<T> {
        let mut connection = self.acquire().await?;
        match timeout(limit, attempt(connection.get()?, input, work)).await {
            Ok(Ok(done)) => {
                connection.is_idle = true;
                Ok(done)
            }
            Ok(Err(TransactionError::CommitUnknown(error))) => {
                tracing::warn!(?error, "commit outcome unknown: connection lost");
                Err(Error::Timeout("the connection was lost during a commit"))
            }
            Ok(Err(TransactionError::RolledBack(error))) => {
                connection.is_idle = !error.ends_connection();
                Err(error)
            }
            Err(_) => Err(Error::Timeout("the database did not complete a write in time")),
        }
    }
}

async fn rows(db: &mut PgConnection, statement: Statement) -> Result<Vec<PgRow>> {
    let Statement { sql, values, is_persistent } = statement;
    let query = sqlx::query_with(AssertSqlSafe(sql), values).persistent(is_persistent);
    Ok(query.fetch_all(db).await?)
}

/// Runs a statement inside a transaction and returns its rows.
pub(crate) async fn fetch(db: &mut PgConnection, statement: Statement) -> Result<Vec<PgRow>> {
    rows(db, statement).await
}

/// The same for its first row, if it has one.
pub(crate) async fn fetch_one(db: &mut PgConnection, statement: Statement) -> Result<Option<PgRow>> {
    Ok(rows(db, statement).await?.into_iter().next())
}

/// Runs a statement inside a transaction and returns how many rows it changed.
pub(crate) async fn execute(db: &mut PgConnection, statement: Statement) -> Result<u64> {
    let Statement { sql, values, is_persistent } = statement;
    let done = sqlx::query_with(AssertSqlSafe(sql), values).persistent(is_persistent).execute(db).await?;
    Ok(done.rows_affected())
}

async fn attempt<A: Sync, T>(
    connection: &mut PgConnection,
    input: &A,
    work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
) -> Result<T, TransactionError> {
    use TransactionError::{CommitUnknown, RolledBack};
    let mut transaction = connection.begin().await.map_err(|error| RolledBack(error.into()))?;
    match work(&mut transaction, input).await {
        Ok(done) => {
            transaction.commit().await.map_err(|error| {
                let error = Error::from(error);
                // An error that the server reports means a rollback.
                if error.ends_connection() { CommitUnknown(error) } else { RolledBack(error) }
            })?;
            Ok(done)
        }
        Err(error) => {
            if !error.ends_connection() {
                transaction.rollback().await.map_err(|error| RolledBack(error.into()))?;
            }
            Err(RolledBack(error))
        }
    }
}

/// The version column of the first row of a statement.
pub(crate) async fn fetch_version(db: &mut PgConnection, statement: Statement) -> Result<Option<u64>> {
    fetch_one(db, statement).await?.map(|row| RowReader::new(&row).count()).transpose()
}

/// Removes the timeout of the statements of a transaction.
pub(crate) async fn without_timeout(db: &mut PgConnection) -> Result<()> {
    execute(db, Statement::new("SET LOCAL statement_timeout = 0")).await.map(drop)
}

/// The value of a setting of the server.
pub(crate) async fn setting(db: &mut PgConnection, name: &'static str) -> sqlx::Result<String> {
    sqlx::query("SELECT current_setting($1)").bind(name).fetch_one(db).await?.try_get(0)
}
