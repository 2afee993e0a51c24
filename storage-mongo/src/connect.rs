//! Connecting: the client's options, the requirements on the deployment, and the handle of all other modules.

use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::options::{
    Acknowledgment, ClientOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use mongodb::{Client, ClientSession, Collection, Database};
use openapi_core::storage::{ChangeNotifier, StorageError};

use crate::config::{MongoConfig, Thresholds};
use crate::error::{Error, OpenError, Result};

/// The oldest release with snapshot reads outside of transactions.
const OLDEST_WIRE_VERSION: i32 = 13;

/// The database, with the timeouts and limits of every method. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) client: Client,
    pub(crate) db: Database,
    pub(crate) hosts: String,
    pub(crate) operation_timeout: Duration,
    pub(crate) list_timeout: Duration,
    pub(crate) write_queue: usize,
    pub(crate) write_batch: usize,
    pub(crate) thresholds: Thresholds,
    /// Wakes the readers of event logs.
    pub(crate) notifier: Arc<ChangeNotifier>,
}

impl Handle {
    pub(crate) fn collection(&self, name: &str) -> Collection<RawDocumentBuf> {
        self.db.collection(name)
    }

    /// Runs a read with its timeout.
    pub(crate) async fn read<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        with_timeout(self.operation_timeout, work).await
    }

    /// The same for a read whose error is already that of the port.
    pub(crate) async fn read_stored<T>(
        &self,
        work: impl Future<Output = Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        with_timeout(self.operation_timeout, async { Ok(work.await) }).await?
    }

    /// Runs a list with its timeout.
    pub(crate) async fn list<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        with_timeout(self.list_timeout, work).await
    }

    /// A session whose reads share one snapshot.
    pub(crate) async fn snapshot(&self) -> Result<ClientSession> {
        Ok(self.client.start_session().snapshot(true).await?)
    }
}

/// The driver has timeouts for server selection and for connecting, but none for a response.
pub(crate) async fn with_timeout<T>(timeout: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(timeout, work)
        .await
        .unwrap_or(Err(Error::Timeout("the database did not respond in time")))
}

/// Connects and checks the deployment.
pub(crate) async fn open(config: &MongoConfig) -> Result<Handle, OpenError> {
    let mut options =
        ClientOptions::parse(&config.url).await.map_err(|error| OpenError::Url(error.to_string()))?;
    let hosts = options.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let database = options.default_database.clone().unwrap_or_default();
    options.app_name.get_or_insert_with(|| "openapi".to_owned());
    options.max_pool_size.get_or_insert(config.pool);
    options.server_selection_timeout.get_or_insert(config.selection_timeout);
    options.connect_timeout.get_or_insert(config.connect_timeout);
    // Reads return only acknowledged writes, and acknowledged writes are durable; the URL cannot change that.
    options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
    options.read_concern = Some(ReadConcern::majority());
    options.write_concern = Some(WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build());
    options.retry_reads = Some(true);
    options.retry_writes = Some(true);
    let failed = |error| OpenError::of(&hosts, &database, &error);
    let client = Client::with_options(options).map_err(failed)?;
    let handle = Handle {
        db: client.database(&database),
        client,
        hosts: hosts.clone(),
        operation_timeout: config.operation_timeout,
        list_timeout: config.list_timeout,
        write_queue: config.write_queue.max(1),
        write_batch: config.write_batch.max(1),
        thresholds: config.thresholds,
        notifier: Arc::default(),
    };
    if let Err(error) = inspect(&handle, &database).await {
        handle.client.clone().shutdown().immediate(true).await;
        return Err(error);
    }
    Ok(handle)
}

async fn inspect(handle: &Handle, database: &str) -> Result<(), OpenError> {
    let hosts = || handle.hosts.clone();
    let admin = handle.client.database("admin");
    let ask = async |command: Document| {
        let asked = admin.run_command(command);
        match tokio::time::timeout(handle.operation_timeout, asked.into_future()).await {
            Ok(response) => response.map_err(|error| OpenError::of(&handle.hosts, database, &error)),
            Err(_) => Err(OpenError::Unreachable {
                hosts: handle.hosts.clone(),
                reason: "it does not respond".to_owned(),
            }),
        }
    };
    let hello = ask(doc! { "hello": 1 }).await?;
    if hello.get_i32("maxWireVersion").unwrap_or(0) < OLDEST_WIRE_VERSION {
        let found = ask(doc! { "buildInfo": 1 }).await?;
        let found = found.get_str("version").unwrap_or("unknown").to_owned();
        return Err(OpenError::TooOld { hosts: hosts(), found });
    }
    let is_router = hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
    if hello.get_str("setName").is_err() && !is_router {
        return Err(OpenError::NoReplicaSet { hosts: hosts() });
    }
    Ok(())
}
