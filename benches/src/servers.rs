//! Servers under test: subprocesses on free ports, measured from outside.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::machine::{self, monotonic};
use crate::report::Failure;
use crate::subprocess;
use crate::world::SERVER_KEY_HEX;

/// The timeout for shutting down or becoming idle.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The observation time of an idle server.
const REST: Duration = Duration::from_millis(500);

/// A running server, ended on drop.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    /// Not closed, so that the server may continue writing.
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// The bare hyper server with bodies of this size.
    pub(crate) fn bare(bytes: u64) -> Result<Self, Failure> {
        let mut command = subprocess::command(crate::bare::COMMAND)?;
        command.arg(bytes.to_string());
        Server::start(command, "bare")
    }

    /// The bare hyper server of a file.
    pub(crate) fn bare_file(path: &Path) -> Result<Self, Failure> {
        let mut command = subprocess::command(crate::bare_file::COMMAND)?;
        command.arg(path);
        Server::start(command, "bare")
    }

    /// `openapi-server serve` on an SQLite file with the default settings; its log goes to a file next to the
    /// database.
    pub(crate) fn openapi(binary: &Path, database: &Path) -> Result<Self, Failure> {
        let log = std::fs::File::create(database.with_extension("log"))?;
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--store"])
            .arg(format!("sqlite:{}", database.display()))
            .env("OPENAPI_SERVER_KEY", SERVER_KEY_HEX)
            .stderr(log);
        Server::start(command, "open-api")
    }

    /// `openapi-server serve` with the settings in these environment variables.
    pub(crate) fn with_settings(binary: &Path, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log", "error"])
            .envs(settings.iter().copied());
        Server::start(command, "open-api")
    }

    fn start(mut command: Command, listener: &str) -> Result<Self, Failure> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| {
                format!("cannot start {}: {error}", command.get_program().to_string_lossy())
            })?;
        let output = child.stdout.take().ok_or("the server has no output")?;
        let mut output = BufReader::new(output);
        let prefix = format!("listening {listener} http://");
        let mut line = String::new();
        let address = loop {
            line.clear();
            if output.read_line(&mut line)? == 0 {
                let _ = child.kill();
                let _ = child.wait();
                return Err("the server ended before it listened; its log says why".into());
            }
            if let Some(address) = line.trim_end().strip_prefix(&prefix) {
                break address.parse()?;
            }
        };
        Ok(Server { child, address, _output: output })
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// User and system time used so far.
    pub(crate) fn cpu(&self) -> Result<Duration, Failure> {
        machine::process_cpu(self.child.id())
    }

    /// Resident memory in MiB: total, and without mapped files.
    pub(crate) fn memory(&self) -> Result<(f64, f64), Failure> {
        machine::process_memory(self.child.id())
    }

    /// Waits until it uses no CPU: until its search index is merged.
    ///
    /// # Errors
    /// On timeout.
    pub(crate) fn rest(&self) -> Result<(), Failure> {
        let begun = monotonic();
        let mut before = self.cpu()?;
        while begun.elapsed() < TIMEOUT {
            std::thread::sleep(REST);
            let now = self.cpu()?;
            if now - before <= REST / 25 {
                return Ok(());
            }
            before = now;
        }
        Err("the server does not come to rest".into())
    }

    /// Shuts it down gracefully.
    ///
    /// # Errors
    /// If it does not exit with status 0 in time.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
        kill_process(pid, Signal::TERM)?;
        let begun = monotonic();
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the server ended with {status}").into()),
                None if begun.elapsed() > TIMEOUT => return Err("the server does not end".into()),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds the server, so that no stale one is measured, with this program's profile.
pub(crate) fn binary() -> Result<PathBuf, Failure> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let program = std::env::current_exe()?;
    let folder = program.parent().ok_or("this program has no folder")?;
    // cargo names the folder after the profile, except for `dev`.
    let profile = folder.file_name().unwrap_or_default().to_string_lossy().replace("debug", "dev");
    eprintln!("building openapi-server with the profile {profile}");
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--profile", &profile, "--package", "server-hyper"])
        .current_dir(&workspace)
        .status()?;
    if !status.success() {
        return Err(format!("cargo build --profile {profile} --package server-hyper failed").into());
    }
    Ok(folder.join("openapi-server"))
}
