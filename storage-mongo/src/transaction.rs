//! Transactions: what a method changes is changed as a whole, and done anew when the server asks for it.
//!
//! A transaction reads a snapshot of what a majority has, and its commit is acknowledged when a majority has it on
//! disk. When another one changes what it changed or a primary goes, the server says so by labels: the whole is done
//! again, with growing pauses, until the deadline.

use std::pin::Pin;
use std::time::Duration;

use mongodb::bson::{Document, RawArrayBuf, RawDocumentBuf, doc, rawdoc};
use mongodb::options::{
    Acknowledgment, Hint, ReadConcern, ReadPreference, SelectionCriteria, TransactionOptions, WriteConcern,
};
use mongodb::{ClientSession, Cursor, SessionCursor};

use crate::connect::{Handle, within};
use crate::error::{Fault, Result, corrupt};

/// What is done inside of a transaction with its input; it may be called more than once.
pub(crate) type Work<I, T> = for<'a> fn(&'a mut Transaction, &'a I) -> Working<'a, T>;

/// The future of [`Work`].
pub(crate) type Working<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// How often a transaction is done anew because another server stored the same key meanwhile. The second time that key
/// is seen by what looks first, so that this many in a row mean something else.
const RACES: u32 = 8;

/// The longest pause before a transaction is done anew.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The most bytes of the statements of one command; the server takes 16 MiB.
const COMMAND_BYTES: usize = 8 << 20;

/// The most statements of one command; the server takes 100,000.
const COMMAND_STATEMENTS: usize = 10_000;

/// Reads, alone or within a session.
pub(crate) struct Reads<'s> {
    handle: &'s Handle,
    session: Option<&'s mut ClientSession>,
}

/// What a find asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Find {
    pub(crate) filter: Document,
    pub(crate) projection: Option<Document>,
    pub(crate) sort: Option<Document>,
    pub(crate) skip: u64,
    /// 0 is no limit.
    pub(crate) limit: u32,
    /// The name of the index to go by.
    pub(crate) hint: Option<&'static str>,
}

impl<'s> Reads<'s> {
    /// Reads of their own.
    pub(crate) fn alone(handle: &'s Handle) -> Self {
        Reads { handle, session: None }
    }

    /// Reads that see what the session sees.
    pub(crate) fn of(handle: &'s Handle, session: &'s mut ClientSession) -> Self {
        Reads { handle, session: Some(session) }
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
            // More than the server takes for a batch is all that fits into an answer.
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

    /// How many documents a filter lets through.
    pub(crate) async fn count(
        &mut self,
        collection: &str,
        filter: Document,
        hint: Option<&'static str>,
    ) -> Result<u64> {
        let pipeline = vec![doc! { "$match": filter }, doc! { "$count": "n" }];
        let counted = self.aggregate(collection, pipeline, hint).await?;
        counted.first().map_or(Ok(0), |counted| crate::document::Fields(counted).count("n"))
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
    /// A document in its place, or operators.
    pub(crate) change: Document,
    pub(crate) upsert: bool,
    pub(crate) many: bool,
}

impl Update {
    /// Changes one document.
    pub(crate) fn one(filter: Document, change: Document) -> Self {
        Update { filter, change, upsert: false, many: false }
    }

    /// Changes one document, or makes it.
    pub(crate) fn upsert(filter: Document, change: Document) -> Self {
        Update { filter, change, upsert: true, many: false }
    }

    /// Changes every document.
    pub(crate) fn many(filter: Document, change: Document) -> Self {
        Update { filter, change, upsert: false, many: true }
    }
}

/// A transaction at work.
pub(crate) struct Transaction {
    handle: Handle,
    session: ClientSession,
}

impl Transaction {
    pub(crate) fn reads(&mut self) -> Reads<'_> {
        Reads::of(&self.handle, &mut self.session)
    }

    /// Stores new documents.
    pub(crate) async fn insert(&mut self, collection: &str, documents: &[Document]) -> Result<()> {
        let statements = documents.iter().map(raw).collect::<Result<Vec<_>>>()?;
        self.command("insert", collection, "documents", statements).await.map(drop)
    }

    /// Changes documents, one statement after the other; returns how many were there to be changed.
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

    /// Removes every document that a filter lets through; returns how many.
    pub(crate) async fn delete(&mut self, collection: &str, filter: Document) -> Result<u64> {
        let statement = rawdoc! { "q": raw(&filter)?, "limit": 0 };
        self.command("delete", collection, "deletes", vec![statement]).await
    }

    /// Changes one document and returns what it was before.
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
                count == 0 || bytes + next.as_bytes().len() < COMMAND_BYTES && count < COMMAND_STATEMENTS
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
            return Err(Fault::of_write(code, failed.get_str("errmsg").unwrap_or("no message")));
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

/// How long a transaction that is known to be long may take; the server ends it by itself after 60 s unless it is told
/// otherwise (`transactionLifetimeLimitSeconds`).
const LONG: Duration = Duration::from_secs(600);

impl Handle {
    /// Does work in a transaction, until it is committed, refused, or late.
    pub(crate) async fn transact<I: Sync, T: Send>(&self, input: &I, work: Work<I, T>) -> Result<T> {
        within(self.operation_timeout, self.attempts(input, work)).await
    }

    /// The same for work that may take longer than the deadline. Only what begins within the deadline goes on: a database
    /// that is not there is told at once.
    pub(crate) async fn transact_at_length<I: Sync, T: Send>(
        &self,
        input: &I,
        work: Work<I, T>,
    ) -> Result<T> {
        within(LONG, self.attempts(input, work)).await
    }

    async fn attempts<I: Sync, T: Send>(&self, input: &I, work: Work<I, T>) -> Result<T> {
        let patience = tokio::time::sleep(self.operation_timeout);
        tokio::pin!(patience);
        let session = self.client.start_session().await?;
        let mut transaction = Transaction { handle: self.clone(), session };
        let mut races = 0;
        for attempt in 0_u32.. {
            let done = transaction.attempt(input, work).await;
            match done {
                Err(fault) if fault.is_transient() && (races >= RACES || patience.is_elapsed()) => {
                    return Err(fault);
                }
                Err(Fault::Raced) => races += 1,
                Err(fault) if fault.is_transient() => {
                    tracing::debug!(?fault, attempt, "a transaction is done anew");
                }
                done => return done,
            }
            let pause = transaction.pause(attempt);
            // The timer has to be looked at to elapse.
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = &mut patience, if !patience.is_elapsed() => {}
            }
        }
        Err(corrupt("a transaction was never done"))
    }
}

impl Transaction {
    async fn attempt<I, T>(&mut self, input: &I, work: Work<I, T>) -> Result<T> {
        self.session.start_transaction().with_options(options(&self.handle)).await?;
        let done = match work(self, input).await {
            Ok(done) => done,
            Err(fault) => {
                // When even this fails the server gives the transaction up by itself.
                let _ = self.session.abort_transaction().await;
                return Err(fault);
            }
        };
        for attempt in 0_u32.. {
            match self.session.commit_transaction().await.map_err(Fault::from) {
                Err(fault) if fault.leaves_commit_unknown() => {
                    tracing::debug!(?fault, attempt, "a commit is asked for again");
                    tokio::time::sleep(self.pause(attempt)).await;
                }
                committed => return committed.map(|()| done),
            }
        }
        Err(corrupt("a commit was never answered"))
    }

    /// The pause before the next attempt: twice as long each time, and spread by the session's id, so that two servers
    /// that were in each other's way do not meet again.
    fn pause(&self, attempt: u32) -> Duration {
        let id = self.session.id().get_binary_generic("id");
        let spread = id.ok().and_then(|bytes| bytes.get(attempt as usize % bytes.len().max(1)));
        let longest = Duration::from_millis(2 << attempt.min(6)).min(LONGEST_PAUSE);
        longest.mul_f64(0.25 + 0.75 * f64::from(spread.copied().unwrap_or(128)) / 255.0)
    }
}
