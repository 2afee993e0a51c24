//! Announcing changes of event logs to the other servers on the database, and hearing of theirs, by `NOTIFY` on a channel
//! with the name of the PostgreSQL schema.
//!
//! `NOTIFY` is a statement of its own, after the commits and at most every 50 ms: inside of a write, it would make each commit
//! wait for a lock of the whole database and undo group commit. An announcement can be lost, so readers also look at the log
//! from time to time.

use std::sync::{Arc, Once};
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::Executor as _;
use sqlx::postgres::PgListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connect::Db;
use crate::error::{Error, Result};
use crate::rows::Statement;

/// The least time between two announcements of a server.
const PAUSE: Duration = Duration::from_millis(50);

/// The time between two attempts to hear of other servers.
const RETRY: Duration = Duration::from_secs(1);

/// After so much silence, the connection is tested.
const SILENCE: Duration = Duration::from_secs(30);

/// The tasks of a store. They end when it is closed or dropped.
pub(crate) struct Announcements {
    tasks: Mutex<JoinSet<()>>,
    listening: Once,
}

impl Announcements {
    /// Announces what the store commits from now on.
    pub(crate) fn start(db: &Db) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(announce_all(db.clone()), db.handle());
        Announcements { tasks: Mutex::new(tasks), listening: Once::new() }
    }

    /// Hears of other servers from the first call on. It needs a session, which a pooler in transaction mode does not give.
    pub(crate) fn listen(&self, db: &Db) {
        if !db.config().is_pooled {
            self.listening.call_once(|| {
                self.tasks.lock().spawn_on(listen_always(db.clone()), db.handle());
            });
        }
    }

    /// Announces the rest, and ends.
    pub(crate) async fn close(&self, db: &Db) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
        announce(db).await;
    }
}

async fn announce_all(db: Db) {
    loop {
        db.changes().arrival().await;
        announce(&db).await;
        sleep(PAUSE).await;
    }
}

/// Announces what is not announced yet. A failure costs the others the time until they look by themselves.
async fn announce(db: &Db) {
    let announcements = db.changes().take_announcements();
    if announcements.is_empty() {
        return;
    }
    let sent = async { db.read(notification(&db.config().schema, &announcements)?).await };
    if let Err(error) = sent.await {
        tracing::debug!(?error, "changes of event logs were not announced to other servers");
    }
}

/// The loss of an announcement costs little, so the commit does not wait for the disk.
fn notification(channel: &str, announcements: &[String]) -> Result<Statement> {
    Statement::new(
        "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, u.announcement) \
         FROM unnest($2::text[]) AS u (announcement)",
    )
    .bind(channel)?
    .bind(announcements)
}

async fn listen_always(db: Db) {
    loop {
        if let Err(error) = listen(&db).await {
            tracing::debug!(?error, "changes of event logs by other servers are not heard of");
        }
        sleep(RETRY).await;
    }
}

/// Hears of other servers until the connection ends.
async fn listen(db: &Db) -> Result<()> {
    let changes = Arc::clone(db.changes());
    let mut listener = PgListener::connect_with(&db.one_more()).await?;
    listener.eager_reconnect(false);
    listener.listen(&db.config().schema).await?;
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(heard) => match heard? {
                Some(heard) => changes.hear(heard.payload()),
                None => return Ok(()),
            },
            // A connection that a network has forgotten does not end by itself.
            Err(_) => timeout(db.step_timeout(), listener.execute("SELECT 1"))
                .await
                .map_err(|_| Error::Timeout("the connection to hear of other servers is dead"))?
                .map(drop)?,
        }
    }
}
