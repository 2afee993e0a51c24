//! PostgreSQL.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use sqlx::Connection;
use tempfile::TempDir;

use crate::process::{self, Process};

/// The variable that holds the URL of the shared server; its role may create databases.
pub const VARIABLE: &str = "TEST_POSTGRES_URL";

/// The URL of the shared server; its role may create databases.
///
/// # Panics
/// If the variable is unset. The message contains the command that starts one.
#[must_use]
pub fn url() -> String {
    crate::shared(VARIABLE, "PostgreSQL")
}

/// An empty database on the shared server. It is dropped with the value, even if sessions are still open.
pub struct Database {
    name: String,
}

impl Database {
    /// Creates a database.
    ///
    /// # Panics
    /// If no server is configured (the message contains the command that starts one) or the server refuses.
    #[must_use]
    pub fn create() -> Database {
        let name = crate::unused_name();
        run(format!("CREATE DATABASE {name}"));
        Database { name }
    }

    /// The URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        crate::of_database(&url(), &self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        run(format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// Runs a statement on the shared server.
fn run(statement: String) {
    let url = url();
    let run = async move {
        let mut server = sqlx::PgConnection::connect(&url).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut server).await?;
        server.close().await
    };
    crate::wait(run)
        .unwrap_or_else(|error: sqlx::Error| panic!("the PostgreSQL server of the tests: {error}"));
}

/// A private server. Its data survives [`Server::kill`] and is removed with the value.
pub struct Server {
    process: Option<Process>,
    binaries: PathBuf,
    port: u16,
    settings: Vec<String>,
    folder: TempDir,
}

impl Server {
    /// Starts a server and waits until it responds.
    ///
    /// # Panics
    /// If PostgreSQL is not installed (the message contains the install command) or does not start.
    #[must_use]
    pub fn start() -> Server {
        Server::with_settings(&[])
    }

    /// Like [`Server::start`], with further settings as `name=value`.
    ///
    /// # Panics
    /// As [`Server::start`].
    #[must_use]
    pub fn with_settings(settings: &[&str]) -> Server {
        Server::in_folder(process::folder(), settings)
    }

    /// Like [`Server::start`], with TLS by a certificate and its key in PEM.
    ///
    /// # Panics
    /// As [`Server::start`].
    #[must_use]
    pub fn with_certificate(certificate: &str, key: &str) -> Server {
        let folder = process::folder();
        for (name, text) in [("certificate", certificate), ("key", key)] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a temporary file can be written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))
                .expect("its permissions can be set");
            if let Some((user, group)) = unprivileged() {
                chown(&path, Some(user), Some(group)).expect("root may give files away");
            }
        }
        let of = |name: &str| folder.path().join(name).display().to_string();
        let (certificate, key) =
            (format!("ssl_cert_file={}", of("certificate")), format!("ssl_key_file={}", of("key")));
        Server::in_folder(folder, &["ssl=on", &certificate, &key])
    }

    fn in_folder(folder: TempDir, settings: &[&str]) -> Server {
        if let Some((user, group)) = unprivileged() {
            chown(folder.path(), Some(user), Some(group)).expect("root may give folders away");
        }
        let mut server = Server {
            process: None,
            binaries: binaries(),
            port: process::free_port(),
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            folder,
        };
        server.initialise();
        server.start_again();
        server
    }

    /// The URL of a superuser on the database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Kills all server processes at once, like a machine failure.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Restarts like the system service: cuts off sessions; committed data stays.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::INT);
            process::await_answer("the stopping server", &self.log(), || process.has_ended().then_some(()));
        }
    }

    /// Restarts the server on the same port with its data and waits until it responds.
    ///
    /// # Panics
    /// If it does not respond in time.
    pub fn start_again(&mut self) {
        let log = self.log();
        process::await_answer("the PostgreSQL server", &log, || {
            // The server refuses to start until a surviving process of the previous one notices that its parent is
            // gone.
            if self.process.as_mut().is_none_or(Process::has_ended) {
                self.process = Some(Process::start(self.command(), &log));
            }
            let mut ask = Command::new(self.binaries.join("pg_isready"));
            ask.args(["--quiet", "--host=127.0.0.1", "--dbname=postgres", "--port"])
                .arg(self.port.to_string());
            ask.status().is_ok_and(|status| status.success()).then_some(())
        });
    }

    /// One of PostgreSQL's own programs, such as `pgbench`, connected to the server's database `postgres`.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.binaries.join(name));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        command.env("PGUSER", "postgres").env("PGDATABASE", "postgres");
        command
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Creates the cluster with a locale that treats letters beyond ASCII as letters.
    fn initialise(&self) {
        let mut command = as_unprivileged(&self.binaries.join("initdb"));
        command.args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]);
        let output = command.arg("--pgdata").arg(self.data()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run initdb: {error}"));
        assert!(output.status.success(), "initdb failed: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The server command. `fsync` is off because the data does not outlive the folder.
    fn command(&self) -> Command {
        let mut command = as_unprivileged(&self.binaries.join("postgres"));
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        let settings =
            ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "fsync=off"];
        let quiet = ["full_page_writes=off", "logging_collector=off", "shared_buffers=256MB"];
        let own = self.settings.iter().map(String::as_str);
        for setting in settings.into_iter().chain(quiet).chain(own) {
            command.args(["-c", setting]);
        }
        command
    }
}

/// The folder of the server binaries; Debian does not put it in `PATH`.
fn binaries() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let program = process::program("postgres", folders);
    let program = program.unwrap_or_else(|| panic!("PostgreSQL is missing; run: scripts/install-tools"));
    program.parent().unwrap_or(Path::new("/")).to_owned()
}

/// The major version of binaries in `…/15/bin`.
fn version(binaries: &Path) -> u32 {
    let name = binaries.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).unwrap_or(0)
}

/// The server refuses to run as root. Returns the user and group to run as instead of root, `None` for other users.
pub(crate) fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |name: &str| {
        let fields: Vec<&str> =
            users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|user| user[0] == name)?;
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    Some(of("postgres").or_else(|| of("nobody")).expect("there is a user besides root"))
}

/// A command that ends with the calling thread and does not run as root.
pub(crate) fn as_unprivileged(program: &Path) -> Command {
    let Some((user, group)) = unprivileged() else { return process::bound(program) };
    let mut command = process::bound("setpriv");
    // The inner call sets the parent-death signal again, because changing the user clears it.
    command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}
