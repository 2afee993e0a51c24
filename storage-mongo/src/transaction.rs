//! Reads and transactions.
//!
//! A transaction reads a snapshot of majority-committed data, and its commit is acknowledged when a majority has it on disk.
//! When another transaction changes the same documents or the primary steps down, the server labels the error as
//! transient. The store then retries the transaction, with growing pauses, until the timeout.

use std::pin::Pin;
use std::time::Duration;

use mongodb::bson::{Document, RawArrayBuf, RawDocumentBuf, doc, rawdoc};
use mongodb::options::{
    Acknowledgment, Hint, ReadConcern, ReadPreference, SelectionCriteria, TransactionOptions, WriteConcern,
};
use mongodb::{ClientSession, Cursor, SessionCursor};
use openapi_core::events::EventType;
use openapi_core::values::AgentId;
use storage_common::error::{Retry, Retryable};
use storage_common::retry::{RetryPolicy, retry_with};

use crate::connect::{Handle, with_timeout};
use crate::document::{FieldReader, Fields, ids};
use crate::error::{Error, Result, corrupt};

/// The work of a transaction; it may run more than once.
pub(crate) type Work<I, T> = for<'a> fn(&'a mut Transaction, &'a I) -> Working<'a, T>;

/// The future of [`Work`].
pub(crate) type Working<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// How often a transaction is retried because another server stored the same key. The next attempt sees the key, so a longer
/// series has another cause.
const MAX_CONFLICT_RETRIES: u32 = 8;

/// The longest pause before a retry.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The most bytes of the statements of one command; the server's limit is 16 MiB.
const MAX_COMMAND_BYTES: usize = 8 << 20;

/// The most statements of one command; the server's limit is 100,000.
const MAX_COMMAND_STATEMENTS: usize = 10_000;

/// Reads documents, with or without a session.
pub(crate) struct DocumentReader<'s> {
    handle: &'s Handle,
    session: Option<&'s mut ClientSession>,
}

/// A find command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Find {
    pub(crate) filter: Document,
    pub(crate) projection: Option<Document>,
    pub(crate) sort: Option<Document>,
    pub(crate) skip: u64,
    /// 0 means no limit.
    pub(crate) limit: u32,
    /// The name of the index to use.
    pub(crate) hint: Option<&'static str>,
}

impl<'s> DocumentReader<'s> {
    /// Reads without a session.
    pub(crate) fn new(handle: &'s Handle) -> Self {
        DocumentReader { handle, session: None }
    }

    /// Reads within a session.
    pub(crate) fn in_session(handle: &'s Handle, session: &'s mut ClientSession) -> Self {
        DocumentReader { handle, session: Some(session) }
    }

    pub(crate) async fn one(
        &mut self,
        collection: &str,
        filter: Document,
        projection: Option<Document>,
    ) -> Result<Option<RawDocumentBuf>> {
        let collection = self.handle.collection(collection);
        let find = collection
            .find_one(filter)
            .with_options(mongodb::options::FindOneOptions::builder().projection(projection).build());
        Ok(match &mut self.session {
            Some(session) => find.session(&mut **session).await?,
            None => find.await?,
        })
    }

    pub(crate) async fn find(&mut self, collection: &str, find: Find) -> Result<Vec<RawDocumentBuf>> {
        if find.skip > i64::MAX as u64 {
            return Ok(Vec::new());
        }
        let collection = self.handle.collection(collection);
        let options = mongodb::options::FindOptions::builder()
            .projection(find.projection)
            .sort(find.sort)
            .skip((find.skip > 0).then_some(find.skip))
            .limit((find.limit > 0).then_some(i64::from(find.limit)))
            // A larger batch is whatever fits into one response.
            .batch_size((find.limit > 0).then_some(find.limit.min(i32::MAX as u32)))
            .hint(find.hint.map(|name| Hint::Name(name.to_owned())))
            .build();
        let action = collection.find(find.filter).with_options(options);
        match &mut self.session {
            Some(session) => {
                let cursor = action.session(&mut **session).await?;
                collect_with(cursor, session).await
            }
            None => collect(action.await?).await,
        }
    }

    pub(crate) async fn aggregate(
        &mut self,
        collection: &str,
        pipeline: Vec<Document>,
        hint: Option<&'static str>,
    ) -> Result<Vec<RawDocumentBuf>> {
        let collection = self.handle.collection(collection);
        let options = mongodb::options::AggregateOptions::builder()
            .hint(hint.map(|name| Hint::Name(name.to_owned())))
            .build();
        let action = collection.aggregate(pipeline).with_options(options).with_type::<RawDocumentBuf>();
        match &mut self.session {
            Some(session) => {
                let cursor = action.session(&mut **session).await?;
                collect_with(cursor, session).await
            }
            None => collect(action.await?).await,
        }
    }

    /// How many documents match a filter.
    pub(crate) async fn count(
        &mut self,
        collection: &str,
        filter: Document,
        hint: Option<&'static str>,
    ) -> Result<u64> {
        let pipeline = vec![doc! { "$match": filter }, doc! { "$count": "n" }];
        let counted = self.aggregate(collection, pipeline, hint).await?;
        counted.first().map_or(Ok(0), |counted| Fields(counted).count("n"))
    }
}

async fn collect(mut cursor: Cursor<RawDocumentBuf>) -> Result<Vec<RawDocumentBuf>> {
    let mut found = Vec::new();
    while cursor.advance().await? {
        found.push(cursor.current().to_owned());
    }
    Ok(found)
}

async fn collect_with(
    mut cursor: SessionCursor<RawDocumentBuf>,
    session: &mut ClientSession,
) -> Result<Vec<RawDocumentBuf>> {
    let mut found = Vec::new();
    while cursor.advance(session).await? {
        found.push(cursor.current().to_owned());
    }
    Ok(found)
}

/// One statement of an update.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) filter: Document,
    /// A replacement document, or operators.
    pub(crate) change: Document,
    pub(crate) upsert: bool,
    pub(crate) many: bool,
}

impl Update {
    /// Changes one document.
    pub(crate) fn one(filter: Document, change: Document) -> Self {
        Update { filter, change, upsert: false, many: false }
    }

    /// Changes one document, or inserts it.
    pub(crate) fn upsert(filter: Document, change: Document) -> Self {
        Update { filter, change, upsert: true, many: false }
    }

    /// Changes every document.
    pub(crate) fn many(filter: Document, change: Document) -> Self {
        Update { filter, change, upsert: false, many: true }
    }
}

/// A running transaction.
pub(crate) struct Transaction {
    handle: Handle,
    session: ClientSession,
    /// The tenant to whose event log this attempt has appended, and the types of the events.
    appended: Option<(AgentId, Vec<EventType>)>,
}

impl Transaction {
    pub(crate) fn reads(&mut self) -> DocumentReader<'_> {
        DocumentReader::in_session(&self.handle, &mut self.session)
    }

    /// Stores new documents.
    pub(crate) async fn insert(&mut self, collection: &str, documents: &[Document]) -> Result<()> {
        let statements = documents.iter().map(raw).collect::<Result<Vec<_>>>()?;
        self.command("insert", collection, "documents", statements).await.map(drop)
    }

    /// Changes documents, one statement after the other; returns how many matched.
    pub(crate) async fn update(&mut self, collection: &str, updates: &[Update]) -> Result<u64> {
        let statement = |update: &Update| {
            Ok(rawdoc! {
                "q": raw(&update.filter)?, "u": raw(&update.change)?,
                "upsert": update.upsert, "multi": update.many,
            })
        };
        let statements = updates.iter().map(statement).collect::<Result<Vec<_>>>()?;
        self.command("update", collection, "updates", statements).await
    }

    /// Removes every document that matches a filter; returns how many.
    pub(crate) async fn delete(&mut self, collection: &str, filter: Document) -> Result<u64> {
        let statement = rawdoc! { "q": raw(&filter)?, "limit": 0 };
        self.command("delete", collection, "deletes", vec![statement]).await
    }

    /// Removes up to `at_most` documents that match a filter; returns how many.
    pub(crate) async fn delete_some(
        &mut self,
        collection: &str,
        filter: Document,
        at_most: u32,
    ) -> Result<u64> {
        let find = Find {
            filter: filter.clone(),
            projection: Some(doc! { "_id": 1 }),
            limit: at_most,
            ..Find::default()
        };
        let found = self.reads().find(collection, find).await?;
        if found.is_empty() {
            return Ok(0);
        }
        self.delete(collection, doc! { "$and": [filter, { "_id": { "$in": ids(&found)? } }] }).await
    }

    /// Counts events, and wakes the readers of the tenant's event log, after the commit.
    pub(crate) fn notify_after_commit(&mut self, agent: &AgentId, kinds: impl Iterator<Item = EventType>) {
        let (_, known) = self.appended.get_or_insert_with(|| (agent.clone(), Vec::new()));
        known.extend(kinds);
    }

    /// Changes one document and returns its content before.
    pub(crate) async fn replace_before(
        &mut self,
        collection: &str,
        filter: Document,
        change: Document,
    ) -> Result<Option<RawDocumentBuf>> {
        let collection = self.handle.collection(collection);
        Ok(collection.find_one_and_update(filter, change).session(&mut self.session).await?)
    }

    async fn command(
        &mut self,
        name: &str,
        collection: &str,
        list: &str,
        statements: Vec<RawDocumentBuf>,
    ) -> Result<u64> {
        let mut done = 0;
        let mut rest = statements.into_iter().peekable();
        while rest.peek().is_some() {
            let mut part = RawArrayBuf::new();
            let (mut bytes, mut count) = (0, 0);
            while let Some(statement) = rest.next_if(|next| {
                count == 0
                    || bytes + next.as_bytes().len() < MAX_COMMAND_BYTES && count < MAX_COMMAND_STATEMENTS
            }) {
                bytes += statement.as_bytes().len();
                count += 1;
                part.push(statement);
            }
            let mut command = RawDocumentBuf::new();
            let field = |name: &str| mongodb::bson::raw::CString::try_from(name).map_err(corrupt);
            command.append(field(name)?, collection);
            command.append(field(list)?, part);
            done += self.run(command).await?;
        }
        Ok(done)
    }

    async fn run(&mut self, command: RawDocumentBuf) -> Result<u64> {
        let answer = self.handle.db.run_raw_command(command).session(&mut self.session).await?;
        let failed = answer.get_array("writeErrors").ok().and_then(|errors| errors.first());
        if let Some(failed) = failed.and_then(|failed| failed.as_document()) {
            let code = failed.get_i32("code").unwrap_or(0);
            return Err(Error::of_write(code, failed.get_str("errmsg").unwrap_or("no message")));
        }
        let count = answer.get_i32("n").map_err(corrupt)?;
        u64::try_from(count).map_err(corrupt)
    }
}

fn raw(document: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document).map_err(corrupt)
}

fn options(handle: &Handle) -> TransactionOptions {
    TransactionOptions::builder()
        .read_concern(ReadConcern::snapshot())
        .write_concern(WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build())
        .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
        .max_commit_time(handle.operation_timeout)
        .build()
}

/// How long a long transaction may take. By default the server ends a transaction after 60 s
/// (`transactionLifetimeLimitSeconds`).
const LONG: Duration = Duration::from_secs(600);

impl Handle {
    /// Runs `work` in a transaction until it commits, is refused, or times out.
    pub(crate) async fn transact<I: Sync, T: Send>(&self, input: &I, work: Work<I, T>) -> Result<T> {
        with_timeout(self.operation_timeout, self.attempts(input, work)).await
    }

    /// The same for work that may exceed the operation timeout. Only its first attempt may begin after the timeout, so an
    /// unavailable database is reported in time.
    pub(crate) async fn transact_long<I: Sync, T: Send>(&self, input: &I, work: Work<I, T>) -> Result<T> {
        with_timeout(LONG, self.attempts(input, work)).await
    }

    async fn attempts<I: Sync, T: Send>(&self, input: &I, work: Work<I, T>) -> Result<T> {
        let session = self.client.start_session().await?;
        let transaction = Transaction { handle: self.clone(), session, appended: None };
        let policy = transaction.retries(Some(self.operation_timeout));
        retry_with(policy, transaction, |mut transaction| async move {
            let outcome = transaction.attempt(input, work).await;
            (transaction, outcome)
        })
        .await
    }
}

/// The error of a commit, which is repeated while its outcome is unknown.
#[derive(Debug)]
struct CommitError(Error);

impl Retryable for CommitError {
    fn retry(&self) -> Retry {
        if self.0.leaves_commit_unknown() { Retry::Conflict } else { Retry::Never }
    }
}

impl Transaction {
    async fn attempt<I, T>(&mut self, input: &I, work: Work<I, T>) -> Result<T> {
        self.appended = None;
        self.session.start_transaction().with_options(options(&self.handle)).await?;
        let done = match work(self, input).await {
            Ok(done) => done,
            Err(error) => {
                // If this fails as well, the server ends the transaction by itself.
                let _ = self.session.abort_transaction().await;
                return Err(error);
            }
        };
        let policy = self.retries(None);
        let committed = retry_with(policy, &mut self.session, |session| async move {
            let outcome = session.commit_transaction().await.map_err(|error| CommitError(error.into()));
            (session, outcome)
        });
        committed.await.map_err(|CommitError(error)| error)?;
        if let Some((agent, kinds)) = self.appended.take() {
            self.handle.notifier.count(kinds);
            self.handle.notifier.notify(&agent);
        }
        Ok(done)
    }

    /// The session's id seeds the jitter of the pauses, so that two servers do not meet again.
    fn retries(&self, time_limit: Option<Duration>) -> RetryPolicy {
        let id = self.session.id().get_binary_generic("id");
        let seed = id.ok().and_then(|id| id.get(..8)?.try_into().ok()).map(u64::from_le_bytes);
        RetryPolicy {
            max_conflicts: u32::MAX,
            max_races: MAX_CONFLICT_RETRIES,
            max_reconnects: 0,
            reconnect_pause: Duration::ZERO,
            first_pause: Duration::from_millis(2),
            max_pause: MAX_PAUSE,
            time_limit,
            jitter: seed,
        }
    }
}
