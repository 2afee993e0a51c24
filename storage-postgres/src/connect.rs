//! Connections: how they are set up, and how reads and writes use them.
//!
//! - A read is one statement. One that finds its connection dead, as after a restart of the server, is done again on
//!   another; nobody notices more than a delay.
//! - A write is one transaction, on a task of its own: whoever waits for it may go away without leaving half of it, and
//!   without losing the connection. It is done again when another transaction was in the way or the connection was
//!   dead, but never when the commit itself was lost: then nobody can tell what became of it, and the caller is told
//!   that the store is not available.
//! - Nothing waits for ever: each statement has a deadline at the server, and each step one here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use openapi_core::storage::{StorageError, StorageErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Postgres, Row};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::config::PostgresConfig;
use crate::error::{Fault, OpenError, Result};
use crate::rows::Statement;

/// How often a transaction is tried that others are in the way of.
const CONFLICTS: u32 = 6;

/// How long is waited behind the first conflict; behind each further one twice as long.
const BACKOFF: Duration = Duration::from_millis(4);

/// By how much a step may take longer here than its statement at the server before the server is given up.
const GRACE: Duration = Duration::from_secs(1);

/// Ways of reading that are otherwise shut; for one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    /// Few rows may be collected and sorted.
    Sorting,
    /// Many rows may be joined as well.
    Joining,
}

impl Ways {
    pub(crate) const fn opened(self) -> &'static str {
        match self {
            Ways::Sorting => "SET LOCAL enable_sort = on",
            Ways::Joining => {
                "SET LOCAL enable_sort = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"
            }
        }
    }
}

/// How long work on all contacts of an agent may take.
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

/// What every connection is told before it is used.
fn settings(config: &PostgresConfig) -> String {
    let PostgresConfig { schema, statement_timeout, lock_timeout, .. } = config;
    // Every statement of this crate is a short one on a few rows, for which compiling it or sharing it among processes
    // costs more than it brings; and the order in which parts of a list are read must stay the written one. What
    // PostgreSQL knows of the average agent says nothing of a large one, nor what it knew of a new table of the same
    // table an hour later: so it is told that reading all of a table, or of an agent, is never the better way, nor
    // sorting what an index has in order.
    format!(
        "SET search_path = \"{schema}\"; SET statement_timeout = {}; SET lock_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}; SET default_transaction_isolation = 'read committed'; \
         SET jit = off; SET max_parallel_workers_per_gather = 0; SET enable_seqscan = off; SET enable_hashjoin = off; \
         SET enable_mergejoin = off; SET enable_sort = off; SET enable_incremental_sort = off",
        statement_timeout.as_millis(),
        lock_timeout.as_millis(),
        (*statement_timeout + GRACE).as_millis(),
    )
}

/// A connection of its own, set up as those of the pool.
pub(crate) async fn single(config: &PostgresConfig) -> Result<PgConnection, OpenError> {
    let connecting = async {
        let mut db = PgConnection::connect_with(&config.connect).await?;
        sqlx::raw_sql(AssertSqlSafe(settings(config))).execute(&mut db).await?;
        Ok(db)
    };
    match timeout(config.connect_timeout, connecting).await {
        Ok(connected) => connected.map_err(|error| OpenError::of(config, error)),
        Err(_) => Err(OpenError::Timeout { place: config.place() }),
    }
}

/// A connection of the pool while it is used. Dropped in the middle of a statement it is closed: nobody could tell
/// what it would answer next.
struct Lease {
    connection: Option<PoolConnection<Postgres>>,
    is_idle: bool,
}

impl Lease {
    fn connection(&mut self) -> Result<&mut PgConnection> {
        self.is_idle = false;
        match &mut self.connection {
            Some(connection) => Ok(&mut *connection),
            None => Err(crate::error::corrupt("a connection was used behind its return")),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.is_idle
        {
            drop(connection.detach());
        }
    }
}

/// How a transaction ended without being stored.
enum Setback {
    /// Nothing of it is stored.
    Undone(Fault),
    /// Nobody can tell.
    Unknown(Fault),
}

impl Db {
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let set_up: Arc<str> = settings(&config).into();
        let pool = PgPoolOptions::new()
            .max_connections(config.max_connections)
            .acquire_timeout(config.connect_timeout)
            // A dead connection shows when it is used; asking it first would cost every request a round trip.
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
    pub(crate) fn patience(&self) -> Duration {
        self.config.statement_timeout + GRACE
    }

    /// How long a read waits at the most: for a connection, and for an answer on it.
    pub(crate) fn patience_of_read(&self) -> Duration {
        self.config.connect_timeout + GRACE + self.patience()
    }

    /// How many connections may turn out to be dead one after another: all there are.
    fn dead_at_most(&self) -> u32 {
        self.config.max_connections
    }

    async fn lease(&self) -> Result<Lease> {
        let connecting = async {
            loop {
                match self.pool.acquire().await {
                    // Cut off while it was being made, as by a server that is just ending or by a balancer before it.
                    Err(sqlx::Error::Io(_) | sqlx::Error::Protocol(_)) => sleep(BACKOFF).await,
                    connected => return connected,
                }
            }
        };
        // A little more than the pool's own deadline, which it keeps by itself but for what it does behind connecting.
        match timeout(self.config.connect_timeout + GRACE, connecting).await {
            Ok(connection) => Ok(Lease { connection: Some(connection?), is_idle: true }),
            Err(_) => Err(Fault::Late("no connection to the database could be made in time")),
        }
    }

    /// The rows of a statement that changes nothing.
    pub(crate) async fn read(&self, statement: Statement) -> Result<Vec<PgRow>> {
        let mut dead = 0;
        loop {
            let mut lease = self.lease().await?;
            let found = match timeout(self.patience(), rows(lease.connection()?, statement.clone())).await {
                Ok(found) => found,
                Err(_) => Err(Fault::Late("the database did not answer a read in time")),
            };
            match found {
                Err(Fault::Late(what)) => return Err(Fault::Late(what)),
                Err(fault) if fault.ends_connection() => {
                    dead += 1;
                    if dead > self.dead_at_most() {
                        return Err(fault);
                    }
                    tracing::debug!(?fault, "a connection to the database was dead");
                }
                found => {
                    lease.is_idle = true;
                    return found;
                }
            }
        }
    }

    /// The rows of a statement that changes nothing, read in further ways.
    pub(crate) async fn read_widely(&self, statement: Statement, ways: Ways) -> Result<Vec<PgRow>> {
        let deadline = self.patience();
        self.transaction(
            &(statement, ways),
            |db, (statement, ways)| {
                Box::pin(async move {
                    sqlx::raw_sql(ways.opened()).execute(&mut *db).await?;
                    rows(db, statement.clone()).await
                })
            },
            deadline,
        )
        .await
    }

    /// The only row of a statement, if it has one.
    pub(crate) async fn read_one(&self, statement: Statement) -> Result<Option<PgRow>> {
        Ok(self.read(statement).await?.into_iter().next())
    }

    /// Does `work` in a transaction.
    pub(crate) async fn write<A, T>(
        &self,
        input: A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
    ) -> Result<T, StorageError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.spawn(input, work, self.patience() + self.config.lock_timeout).await
    }

    /// The same for work on all contacts of an agent, each statement of which may take as long as it does.
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
        deadline: Duration,
    ) -> Result<T, StorageError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let db = self.clone();
        let task = self.handle.spawn(async move { db.transaction(&input, work, deadline).await });
        match task.await {
            Ok(done) => Ok(done?),
            Err(error) if error.is_panic() => {
                Err(StorageError::new(StorageErrorKind::Internal, format!("a write panicked: {error}")))
            }
            Err(error) => Err(StorageError::new(StorageErrorKind::Unavailable, error)),
        }
    }

    /// Does `work` in a transaction, again where that is safe and may help.
    pub(crate) async fn transaction<A: Sync, T: Send>(
        &self,
        input: &A,
        work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
        deadline: Duration,
    ) -> Result<T> {
        let (mut dead, mut conflicts) = (0, 0);
        loop {
            let mut lease = self.lease().await?;
            let done = timeout(deadline, attempt(lease.connection()?, input, work)).await;
            let fault = match done {
                Ok(Ok(done)) => {
                    lease.is_idle = true;
                    return Ok(done);
                }
                Ok(Err(Setback::Unknown(fault))) => {
                    tracing::warn!(?fault, "a commit was lost; what became of it nobody knows");
                    return Err(Fault::Late("the connection was lost during a commit"));
                }
                Ok(Err(Setback::Undone(fault))) => fault,
                Err(_) => return Err(Fault::Late("the database did not do a write in time")),
            };
            if fault.ends_connection() {
                dead += 1;
                if dead > self.dead_at_most() {
                    return Err(fault);
                }
                tracing::debug!(?fault, "a connection to the database was dead");
                continue;
            }
            lease.is_idle = true;
            if !fault.is_conflict() {
                return Err(fault);
            }
            conflicts += 1;
            if conflicts >= CONFLICTS {
                return Err(fault);
            }
            drop(lease);
            sleep(BACKOFF * (1 << conflicts)).await;
        }
    }
}

async fn rows(db: &mut PgConnection, statement: Statement) -> Result<Vec<PgRow>> {
    let Statement { sql, values, is_kept } = statement;
    let query = sqlx::query_with(AssertSqlSafe(sql), values).persistent(is_kept);
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
    let Statement { sql, values, is_kept } = statement;
    let done = sqlx::query_with(AssertSqlSafe(sql), values).persistent(is_kept).execute(db).await?;
    Ok(done.rows_affected())
}

async fn attempt<A: Sync, T>(
    connection: &mut PgConnection,
    input: &A,
    work: for<'c> fn(&'c mut PgConnection, &'c A) -> Work<'c, T>,
) -> Result<T, Setback> {
    let mut transaction = connection.begin().await.map_err(|error| Setback::Undone(error.into()))?;
    match work(&mut transaction, input).await {
        Ok(done) => {
            transaction.commit().await.map_err(|error| {
                let fault = Fault::from(error);
                // What the server says about a commit is true; only when it says nothing, nobody knows.
                if fault.ends_connection() { Setback::Unknown(fault) } else { Setback::Undone(fault) }
            })?;
            Ok(done)
        }
        Err(fault) => {
            if !fault.ends_connection() {
                transaction.rollback().await.map_err(|error| Setback::Undone(error.into()))?;
            }
            Err(Setback::Undone(fault))
        }
    }
}

/// Lets the statements of a transaction take as long as they do.
pub(crate) async fn without_deadline(db: &mut PgConnection) -> Result<()> {
    execute(db, Statement::new("SET LOCAL statement_timeout = 0")).await.map(drop)
}

/// The value of a setting of the server.
pub(crate) async fn setting(db: &mut PgConnection, name: &'static str) -> sqlx::Result<String> {
    sqlx::query("SELECT current_setting($1)").bind(name).fetch_one(db).await?.try_get(0)
}
