//! MongoDB.

use std::path::PathBuf;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::options::ClientOptions;
use tempfile::TempDir;

use crate::process::{self, Process};

/// The variable that holds the URL of the shared replica set.
pub const VARIABLE: &str = "TEST_MONGODB_URL";

/// The URL of the replica set that tests share.
///
/// # Panics
/// If the variable is unset. The message contains the command that starts one.
#[must_use]
pub fn url() -> String {
    crate::shared(VARIABLE, "MongoDB")
}

/// An empty database on the shared replica set, dropped with the value.
pub struct Database {
    name: String,
}

impl Database {
    /// Picks an unused database name.
    #[must_use]
    pub fn create() -> Database {
        Database { name: crate::unused_name() }
    }

    /// The URL of the database.
    ///
    /// # Panics
    /// If no server is configured. The message contains the command that starts one.
    #[must_use]
    pub fn url(&self) -> String {
        crate::of_database(&url(), &self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (url, name) = (url(), self.name.clone());
        let dropped = crate::wait(async move {
            let client = mongodb::Client::with_uri_str(url).await?;
            let dropped = client.database(&name).drop().await;
            client.shutdown().await;
            dropped
        });
        dropped.unwrap_or_else(|error: mongodb::error::Error| {
            panic!("the MongoDB server of the tests: {error}")
        });
    }
}

/// A private replica set. Its data survives [`ReplicaSet::kill`] and is removed with the value.
pub struct ReplicaSet {
    members: Vec<Member>,
    mongod: PathBuf,
    /// The default cache size of a member, in GB.
    cache: &'static str,
}

struct Member {
    process: Option<Process>,
    port: u16,
    folder: TempDir,
}

impl ReplicaSet {
    /// Starts a replica set with `members` members and waits until one is primary and the others are secondaries.
    ///
    /// # Panics
    /// If MongoDB is not installed (the message contains the install command) or does not start.
    #[must_use]
    pub fn start(members: usize) -> ReplicaSet {
        // Small, because a machine runs several members.
        ReplicaSet::with_cache(members, "0.25")
    }

    /// Like [`ReplicaSet::start`], with the data in memory where there is room. Each test makes a database with dozens of
    /// collections, and every one of them waits for the disk.
    ///
    /// # Panics
    /// As [`ReplicaSet::start`].
    #[must_use]
    pub fn in_memory(members: usize) -> ReplicaSet {
        ReplicaSet::with(members, "0.25", process::folder_in_memory)
    }

    /// Like [`ReplicaSet::start`], with a cache of `cache_gb` GB for each member.
    ///
    /// # Panics
    /// As [`ReplicaSet::start`].
    #[must_use]
    pub fn with_cache(members: usize, cache: &'static str) -> ReplicaSet {
        ReplicaSet::with(members, cache, process::folder)
    }

    fn with(members: usize, cache: &'static str, folder: fn() -> TempDir) -> ReplicaSet {
        let mongod = mongod();
        let new = || Member { process: None, port: process::free_port(), folder: folder() };
        let mut set = ReplicaSet { members: (0..members).map(|_| new()).collect(), mongod, cache };
        for member in &mut set.members {
            member.launch(&set.mongod, set.cache);
        }
        for member in &set.members {
            member.answers();
        }
        let hosts = set.members.iter().enumerate();
        let hosts: Vec<Document> =
            hosts.map(|(n, member)| doc! { "_id": n as i32, "host": member.address() }).collect();
        let settings = doc! { "electionTimeoutMillis": 1_000, "heartbeatIntervalMillis": 200 };
        let first = &set.members[0];
        first
            .ask(doc! { "replSetInitiate": { "_id": "rs0", "members": hosts, "settings": settings } })
            .unwrap_or_else(|error| panic!("the replica set cannot be made: {error}"));
        let _ = set.primary();
        for member in &set.members {
            process::await_answer("the member of the replica set", &member.log(), || member.is_in_order());
        }
        set
    }

    /// The URL of the replica set.
    #[must_use]
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.members.iter().map(Member::address).collect();
        format!("mongodb://{}/?replicaSet=rs0", addresses.join(","))
    }

    /// The index of the primary, once the members have elected one.
    ///
    /// # Panics
    /// If the election times out.
    #[must_use]
    pub fn primary(&self) -> usize {
        process::await_answer("a primary", &self.members[0].log(), || {
            self.members.iter().position(|member| member.process.is_some() && member.is_primary())
        })
    }

    /// Kills a member abruptly, like a machine failure.
    pub fn kill(&mut self, member: usize) {
        self.members[member].process = None;
    }

    /// Restarts a member with its data and waits until it responds.
    ///
    /// # Panics
    /// If the member does not respond in time.
    pub fn start_again(&mut self, member: usize) {
        self.members[member].launch(&self.mongod, self.cache);
        self.members[member].answers();
    }
}

impl Member {
    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn launch(&mut self, mongod: &PathBuf, cache: &str) {
        let data = self.folder.path().join("data");
        std::fs::create_dir_all(&data).expect("a folder can be made in a new one");
        let mut command = process::bound(mongod);
        command.args(["--bind_ip", "127.0.0.1", "--nounixsocket", "--replSet", "rs0", "--quiet"]);
        command.arg("--dbpath").arg(data).arg("--port").arg(self.port.to_string());
        command.args(["--wiredTigerCacheSizeGB", cache, "--oplogSize", "64"]);
        // Small journal files, and early closing of the files of dropped databases, of which a campaign leaves
        // hundreds.
        let engine = "log=(prealloc=false,file_max=8MB),\
                      file_manager=(close_idle_time=20,close_scan_interval=5,close_handle_minimum=500)";
        command.args(["--wiredTigerEngineConfigString", engine]);
        command.args(["--setParameter", "diagnosticDataCollectionEnabled=false"]);
        command.args(["--setParameter", "ttlMonitorSleepSecs=1"]);
        self.process = Some(Process::start(command, &self.log()));
    }

    /// Waits until the member accepts commands.
    fn answers(&self) {
        process::await_answer("the MongoDB server", &self.log(), || self.ask(doc! { "ping": 1 }).ok());
    }

    fn is_primary(&self) -> bool {
        let hello = self.ask(doc! { "hello": 1 });
        hello.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false))
    }

    /// Waits until the member is primary or secondary.
    fn is_in_order(&self) -> Option<()> {
        let hello = self.ask(doc! { "hello": 1 }).ok()?;
        let is = |name: &str| hello.get_bool(name).unwrap_or(false);
        (is("isWritablePrimary") || is("secondary")).then_some(())
    }

    /// Runs one command on this member only.
    fn ask(&self, command: Document) -> Result<Document, String> {
        let address = self.address();
        let ask = async move {
            let mut options =
                ClientOptions::parse(format!("mongodb://{address}/?directConnection=true")).await?;
            options.server_selection_timeout = Some(Duration::from_secs(2));
            options.connect_timeout = Some(Duration::from_secs(2));
            let client = mongodb::Client::with_options(options)?;
            let answer = client.database("admin").run_command(command).await;
            client.shutdown().immediate(true).await;
            answer
        };
        crate::wait(ask).map_err(|error: mongodb::error::Error| error.to_string())
    }
}

/// The server binary: where `scripts/install-tools` puts it, or elsewhere.
fn mongod() -> PathBuf {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let target = crate::variable("CARGO_TARGET_DIR").map_or(workspace, PathBuf::from);
    let program = process::program("mongod", [target.join("tools/mongodb/fiftyone/db/bin")]);
    program.unwrap_or_else(|| panic!("MongoDB is missing; run: scripts/install-tools"))
}
