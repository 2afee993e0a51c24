//! Reading jobs.

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::storage::{Job, JobPage, JobQuery, JobState, Queue, QueueFront, QueueLoad, Window};
use openapi_core::values::{AgentId, JobId};
use storage_common::records;

use super::{key_of, queue_number, read_job, state};
use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::shapes::scope;
use crate::transaction::{DocumentReader, Find};

/// As [`openapi_core::storage::QueueStore::job`].
pub(super) async fn one(handle: &Handle, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>> {
    let mut reads = DocumentReader::new(handle);
    let filter = doc! { "_id": key_of(scope, id), "state": { "$ne": state(JobState::Erased) } };
    // Without a stored job the tenant need not be read.
    let Some(found) = reads.one(collection::JOBS, filter, None).await? else { return Ok(None) };
    Ok(scope::living(&mut reads, &[found], read_job).await?.pop().map(|(_, job)| job))
}

/// The filter of a list, and the index that has it newest first.
fn chosen(scope: Option<&AgentId>, query: &JobQuery) -> (Document, &'static str) {
    let mut filter = doc! { "_id.agent": scope::value(scope), "queue": queue_number(query.queue) };
    let mut states = doc! { "$ne": state(JobState::Erased) };
    if !query.states.is_empty() {
        states.insert("$in", query.states.iter().map(|it| state(*it).into()).collect::<Vec<Bson>>());
    }
    filter.insert("state", states);
    let mut hint = index::JOBS_BY_CREATED_AT;
    if let Some(client_id) = &query.client_id {
        filter.insert("clientId", &**client_id);
        hint = index::JOBS_BY_CLIENT_ID;
    }
    if let Some(batch) = &query.batch {
        filter.insert("batch", &**batch);
        hint = index::JOBS_BY_BATCH;
    }
    (filter, hint)
}

/// The find for a page.
pub(crate) fn find(scope: Option<&AgentId>, query: &JobQuery) -> Find {
    let (mut filter, hint) = chosen(scope, query);
    let (skip, limit) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit),
        Window::After { position: (created_at, id), limit } => {
            // As in `forms::read`.
            let (at, id) = (time(*created_at), binary(id.as_bytes()));
            filter.insert("createdAt", doc! { "$lte": at });
            filter.insert("$or", vec![doc! { "createdAt": { "$lt": at } }, doc! { "_id.id": { "$lt": id } }]);
            (0, *limit)
        }
    };
    Find {
        filter,
        projection: Some(doc! { "result": 0 }),
        sort: Some(doc! { "createdAt": -1, "_id.id": -1 }),
        skip,
        limit,
        hint: Some(hint),
    }
}

/// Whether a scope is a deleted or absent tenant.
async fn is_gone(reads: &mut DocumentReader<'_>, scope: Option<&AgentId>) -> Result<bool> {
    Ok(!scope::gone(reads, std::iter::once(Ok(scope.cloned()))).await?.is_empty())
}

/// As [`openapi_core::storage::QueueStore::jobs`].
pub(super) async fn page(handle: &Handle, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if is_gone(&mut reads, scope).await? {
        return Ok(JobPage::default());
    }
    let (filter, hint) = chosen(scope, query);
    let total = reads.count(collection::JOBS, filter, Some(hint)).await?;
    let find = find(scope, query);
    if find.limit == 0 || find.skip >= total {
        return Ok(JobPage { jobs: Vec::new(), total });
    }
    let found = reads.find(collection::JOBS, find).await?;
    let jobs = found.iter().map(|job| records::listed_job(&mut Fields(job))).collect::<Result<_>>()?;
    Ok(JobPage { jobs, total })
}

/// The pipeline that counts documents by state; from the ready ones it takes the time of the oldest.
fn by_state(filter: Document) -> Vec<Document> {
    let group = doc! { "_id": "$state", "n": { "$sum": 1 }, "oldest": { "$min": "$createdAt" } };
    vec![doc! { "$match": filter }, doc! { "$group": group }, doc! { "$sort": { "_id": 1 } }]
}

fn state_of(group: &RawDocumentBuf) -> Result<JobState> {
    let number = Fields(group).integer("_id")?;
    let state = u16::try_from(number).ok().and_then(JobState::of_number);
    state.ok_or_else(|| corrupt(format_args!("{number} is no state of a job")))
}

/// As [`openapi_core::storage::QueueStore::count_jobs`].
pub(super) async fn counts(
    handle: &Handle,
    scope: Option<&AgentId>,
    queue: Queue,
    batch: &str,
) -> Result<Vec<(JobState, u64)>> {
    let mut reads = DocumentReader::new(handle);
    let filter = doc! {
        "_id.agent": scope::value(scope),
        "queue": queue_number(queue),
        "batch": batch,
        "state": { "$ne": state(JobState::Erased) },
    };
    let groups = reads.aggregate(collection::JOBS, by_state(filter), Some(index::JOBS_BY_BATCH)).await?;
    if is_gone(&mut reads, scope).await? {
        return Ok(Vec::new());
    }
    groups.iter().map(|group| Ok((state_of(group)?, Fields(group).count("n")?))).collect()
}

/// The find for jobs of a queue in a state, by turn.
pub(crate) fn by_turn(queue: Queue, of: JobState, descending: bool, at_most: u32) -> Find {
    let way = if descending { -1 } else { 1 };
    Find {
        filter: doc! { "queue": queue_number(queue), "state": state(of) },
        sort: Some(doc! { "turn": way, "_id.id": way, "_id.agent": way }),
        limit: at_most,
        hint: Some(index::JOBS_BY_TURN),
        ..Find::default()
    }
}

/// The find for the greatest turn of the jobs of a scope in a state.
pub(crate) fn last(queue: Queue, scope: Option<&AgentId>, of: JobState) -> Find {
    Find {
        filter: doc! {
            "_id.agent": scope::value(scope),
            "queue": queue_number(queue),
            "state": state(of),
        },
        projection: Some(doc! { "turn": 1 }),
        sort: Some(doc! { "turn": -1 }),
        limit: 1,
        hint: Some(index::JOBS_BY_STATE),
        ..Find::default()
    }
}

/// The documents of a find, without those of deleted tenants.
pub(super) async fn living(reads: &mut DocumentReader<'_>, find: &Find) -> Result<Vec<RawDocumentBuf>> {
    let mut gone: Vec<Bson> = Vec::new();
    // To the database 0 means no limit.
    if find.limit == 0 {
        return Ok(Vec::new());
    }
    loop {
        let mut filter = find.filter.clone();
        if !gone.is_empty() {
            filter.insert("_id.agent", doc! { "$nin": gone.clone() });
        }
        let found = reads.find(collection::JOBS, Find { filter, ..find.clone() }).await?;
        let more = scope::gone(reads, found.iter().map(|job| scope::of(job))).await?;
        if more.is_empty() {
            return Ok(found);
        }
        gone.extend(more.iter().map(|agent| Bson::from(agent.as_str())));
    }
}

/// As [`openapi_core::storage::QueueStore::queue_front`].
pub(super) async fn front(handle: &Handle, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    let mut front = QueueFront::default();
    for (of, descending) in [(JobState::Ready, false), (JobState::Running, true)] {
        let found = living(&mut reads, &by_turn(queue, of, descending, 1)).await?;
        if let Some(job) = found.first() {
            front.head = Fields(job).count("turn")?;
            break;
        }
    }
    if is_gone(&mut reads, scope).await? {
        return Ok(front);
    }
    for of in [JobState::Ready, JobState::Scheduled, JobState::Running] {
        if let Some(job) = reads.find(collection::JOBS, last(queue, scope, of)).await?.first() {
            front.last = front.last.max(Fields(job).count("turn")?);
        }
    }
    Ok(front)
}

/// The pipeline of the load of a queue: the unfinished jobs of each scope, by state.
pub(crate) fn load_of(queue: Queue) -> Vec<Document> {
    let filter = doc! { "queue": queue_number(queue), "state": { "$lte": state(JobState::Running) } };
    let group = doc! {
        "_id": { "agent": "$_id.agent", "state": "$state" },
        "n": { "$sum": 1 },
        "oldest": { "$min": "$createdAt" },
    };
    vec![doc! { "$match": filter }, doc! { "$group": group }]
}

/// As [`openapi_core::storage::QueueStore::queue_load`].
pub(super) async fn load(handle: &Handle, queue: Queue) -> Result<QueueLoad> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    let groups = reads.aggregate(collection::JOBS, load_of(queue), Some(index::JOBS_BY_TURN)).await?;
    let gone = scope::gone(&mut reads, groups.iter().map(|group| scope::of(group))).await?;
    let mut load = QueueLoad::default();
    for group in &groups {
        if scope::of(group)?.is_some_and(|agent| gone.contains(&agent)) {
            continue;
        }
        let mut fields = Fields(group);
        let jobs = fields.count("n")?;
        match fields.integer("_id.state")? {
            0 => {
                load.ready += jobs;
                let oldest = fields.time("oldest")?;
                load.oldest = Some(load.oldest.map_or(oldest, |at| at.min(oldest)));
            }
            1 => load.scheduled += jobs,
            _ => load.running += jobs,
        }
    }
    Ok(load)
}
