//! Connections: their settings, and how reads and writes use them.
//!
//! - A read is one statement. If its connection is dead, for example after a restart of the server, it runs again on
//!   another one. The caller notices only a delay.
//! - A write is one transaction on a task of its own. A caller that drops its future neither leaves half of the write nor
//!   costs the connection. The transaction runs again after a conflict or on a dead connection, but never after its commit
//!   was lost: its outcome is then unknown, and the caller gets `Unavailable`.
//! - Nothing waits for ever: the server bounds each statement, and a timeout here bounds each step.
//! - Through a pooler in transaction mode each transaction has another session. Every read is a transaction then, every
//!   transaction begins with the settings, and no statement has a name.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use openapi_core::storage::{StorageError, StorageErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Postgres, Row, Transaction};
use storage_common::retry::{RetryPolicy, retry_on_conflict};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::changes::{self, Changes};
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
    /// The server to which new connections go, as a position in the settings.
    server: Arc<AtomicUsize>,
    /// The runtime that the store was opened on.
    handle: Handle,
    changes: Arc<Changes>,
}

tokio::task_local! {
    /// Set while the task works through a pooler in transaction mode, where a named statement would be missing in the next
    /// session, or be there already.
    static UNNAMED: ();
}

/// Whether statements get no names.
fn is_unnamed() -> bool {
    UNNAMED.try_with(|()| ()).is_ok()
}

/// The settings of every session, or those of one transaction.
fn settings(config: &PostgresConfig) -> String {
    let PostgresConfig { schema, statement_timeout, lock_timeout, .. } = config;
    let set = if config.is_pooled { "SET LOCAL" } else { "SET" };
    // Every statement of this crate touches few rows: compiling it or running it in parallel costs more than it saves.
    let common = format!(
        "{set} search_path = \"{schema}\"; {set} statement_timeout = {}; {set} lock_timeout = {}; \
         {set} idle_in_transaction_session_timeout = {}; {set} jit = off; {set} max_parallel_workers_per_gather = 0",
        statement_timeout.as_millis(),
        lock_timeout.as_millis(),
        (*statement_timeout + GRACE).as_millis(),
    );
    if config.is_pooled {
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {common}")
    } else {
        format!("{common}; SET default_transaction_isolation = 'read committed'")
    }
}

/// Begins a transaction with the settings of the store.
async fn begin<'c>(
    db: &'c mut PgConnection,
    config: &PostgresConfig,
) -> sqlx::Result<Transaction<'c, Postgres>> {
    if config.is_pooled { db.begin_with(AssertSqlSafe(settings(config))).await } else { db.begin().await }
}

/// A connection outside the pool, with the same settings, and the position of its server: the first that can write.
pub(crate) async fn single(config: &PostgresConfig) -> Result<(PgConnection, usize), OpenError> {
    for (parameter, path) in &config.files {
        std::fs::metadata(path)
            .and_then(|_| std::fs::File::open(path))
            .map_err(|source| OpenError::File { parameter: parameter.clone(), path: path.clone(), source })?;
    }
    let mut first = None;
    for server in 0..config.servers.len() {
        let connecting = async {
            let mut db = PgConnection::connect_with(&config.connect(server)).await?;
            if !config.is_pooled {
                sqlx::raw_sql(AssertSqlSafe(settings(config))).execute(&mut db).await?;
            }
            check_writable(&mut db, config).await?;
            Ok(db)
        };
        let connected = match timeout(config.connect_timeout, connecting).await {
            Ok(connected) => connected.map_err(|error| OpenError::of(config, error)),
            Err(_) => Err(OpenError::Timeout { server: config.server() }),
        };
        match connected {
            Ok(db) => return Ok((db, server)),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or(OpenError::Timeout { server: config.server() }))
}

/// Where there are several servers, a standby is as good as unreachable.
async fn check_writable(db: &mut PgConnection, config: &PostgresConfig) -> sqlx::Result<()> {
    if config.servers.len() > 1 {
        let read_only: String =
            sqlx::raw_sql("SHOW transaction_read_only").fetch_one(db).await?.try_get(0)?;
        if read_only == "on" {
            return Err(sqlx::Error::Io(std::io::Error::other("the server is read-only, perhaps a standby")));
        }
    }
    Ok(())
}

/// Runs work on a connection of its own, while a store is opened. Through a pooler it is one transaction.
pub(crate) async fn on_connection<T>(
    config: &PostgresConfig,
    work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, OpenError>,
) -> Result<(T, usize), OpenError> {
    let (mut db, server) = single(config).await?;
    if !config.is_pooled {
        return Ok((work(&mut db).await?, server));
    }
    let of = |error| OpenError::of(config, error);
    let mut transaction = begin(&mut db, config).await.map_err(of)?;
    let done = UNNAMED.scope((), work(&mut transaction)).await?;
    transaction.commit().await.map_err(of)?;
    Ok((done, server))
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

/// Connections to the server at this position.
fn pool(config: &Arc<PostgresConfig>, server: usize, max_connections: u32) -> PgPool {
    let set_up = Arc::clone(config);
    PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(config.connect_timeout)
        // A dead connection is detected by its first statement; testing it first would cost each request a round trip.
        .test_before_acquire(false)
        .acquire_slow_threshold(config.connect_timeout)
        .after_connect(move |connection, _| {
            let config = Arc::clone(&set_up);
            Box::pin(async move {
                if !config.is_pooled {
                    sqlx::raw_sql(AssertSqlSafe(settings(&config))).execute(&mut *connection).await?;
                }
                check_writable(connection, &config).await
            })
        })
        .connect_lazy_with(config.connect(server))
}

impl Db {
    /// A pool of connections to the server at this position.
    pub(crate) fn new(config: PostgresConfig, server: usize) -> Self {
        let config = Arc::new(config);
        Db {
            pool: pool(&config, server, config.max_connections),
            config,
            server: Arc::new(AtomicUsize::new(server)),
            handle: Handle::current(),
            changes: Arc::default(),
        }
    }

    /// A pool of one connection besides the others, for what holds a connection.
    pub(crate) fn one_more(&self) -> PgPool {
        pool(&self.config, self.server.load(Ordering::Relaxed), 1)
    }

    pub(crate) fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Sends new connections to the next server.
    fn fail_over(&self) {
        if self.config.servers.len() > 1 {
            let next = self.server.fetch_add(1, Ordering::Relaxed) + 1;
            self.pool.set_connect_options(self.config.connect(next));
        }
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
        let acquiring = retry_on_conflict(cut, || async {
            let acquired = self.pool.acquire().await.map_err(Error::from);
            if acquired.as_ref().is_err_and(Error::ends_connection) {
                self.fail_over();
            }
            acquired
        });
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
        let reading = self.one_read(connection.get()?, statement.clone());
        let found = timeout(self.step_timeout(), reading)
            .await
            .unwrap_or(Err(Error::Timeout("the database did not respond to a read in time")));
        connection.is_idle = found.as_ref().err().is_none_or(|error| !error.ends_connection());
        found
    }

    async fn one_read(&self, db: &mut PgConnection, statement: Statement) -> Result<Vec<PgRow>> {
        if !self.config.is_pooled {
            return rows(db, statement).await;
        }
        let mut transaction = begin(db, &self.config).await?;
        let found = UNNAMED.scope((), rows(&mut transaction, statement)).await?;
        transaction.commit().await?;
        Ok(found)
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
        let attempt = attempt(connection.get()?, &self.config, input, work);
        let attempting =
            async { if self.config.is_pooled { UNNAMED.scope((), attempt).await } else { attempt.await } };
        match timeout(limit, changes::noting(attempting)).await {
            Ok((Ok(done), appended)) => {
                connection.is_idle = true;
                self.changes.committed(appended);
                Ok(done)
            }
            Ok((Err(TransactionError::CommitUnknown(error)), appended)) => {
                tracing::warn!(?error, "commit outcome unknown: connection lost");
                self.changes.committed(appended);
                Err(Error::Timeout("the connection was lost during a commit"))
            }
            Ok((Err(TransactionError::RolledBack(error)), _)) => {
                connection.is_idle = !error.ends_connection();
                Err(error)
            }
            Err(_) => Err(Error::Timeout("the database did not complete a write in time")),
        }
    }
}

async fn rows(db: &mut PgConnection, statement: Statement) -> Result<Vec<PgRow>> {
    let Statement { sql, values, is_persistent } = statement;
    let is_named = is_persistent && !is_unnamed();
    let query = sqlx::query_with(AssertSqlSafe(sql), values).persistent(is_named);
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
    let is_named = is_persistent && !is_unnamed();
    let done = sqlx::query_with(AssertSqlSafe(sql), values).persistent(is_named).execute(db).await?;
    Ok(done.rows_affected())
}

async fn attempt<A: Sync, T>(
    connection: &mut PgConnection,
    config: &PostgresConfig,
    input: &A,
    work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
) -> Result<T, TransactionError> {
    use TransactionError::{CommitUnknown, RolledBack};
    let mut transaction = begin(connection, config).await.map_err(|error| RolledBack(error.into()))?;
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
    sqlx::query("SELECT current_setting($1)").persistent(false).bind(name).fetch_one(db).await?.try_get(0)
}
