//! A server process: found, started on a free port, ended with the thread that started it.

use std::ffi::OsStr;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

/// The startup timeout; a busy machine takes seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A child process, killed when the thread that started it ends for any reason.
pub(crate) struct Process {
    child: Child,
}

/// A command whose process ends with the thread that starts it.
pub(crate) fn bound(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program.as_ref()).stdin(Stdio::null());
    command
}

impl Process {
    /// Starts a command with its output redirected to a file.
    pub(crate) fn start(mut command: Command, log: &Path) -> Process {
        let file = File::options().create(true).append(true).open(log);
        let file = file.unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        let errors = file.try_clone().expect("a file can be had twice");
        let child = command.stdout(file).stderr(errors).spawn();
        Process { child: child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}")) }
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // The process may have exited already.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Kills the process and its descendants abruptly, like a machine failure.
    pub(crate) fn kill(&mut self) {
        let children = children_of(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in children.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The child processes of `pid`.
fn children_of(parent: u32) -> Vec<i32> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in parentheses may contain anything; the state and the parent follow it.
        let parent_of =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<u32>().ok());
        parent_of == Some(parent)
    })
    .collect()
}

/// A port that was free at the time of the call.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a local port can be had");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// How the names of the folders of servers begin.
const PREFIX: &str = "database-server-";

/// An empty folder that is removed with the value.
pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new().prefix(PREFIX).tempdir().expect("a temporary folder can be made")
}

/// Where Linux has a file system in memory.
const MEMORY: &str = "/dev/shm";
/// The room that the data of a whole test run needs there, in bytes.
const ROOM: u64 = 4 << 30;

/// Like [`folder`], in memory; on the disk where there is too little room.
pub(crate) fn folder_in_memory() -> TempDir {
    remove_abandoned();
    let room = rustix::fs::statvfs(MEMORY).map_or(0, |it| it.f_bavail.saturating_mul(it.f_frsize));
    let new = (room >= ROOM).then(|| tempfile::Builder::new().prefix(PREFIX).tempdir_in(MEMORY));
    new.and_then(Result::ok).unwrap_or_else(folder)
}

/// Removes what servers left in memory whose runner was killed.
fn remove_abandoned() {
    for entry in std::fs::read_dir(MEMORY).into_iter().flatten().flatten() {
        let (name, lock) = (entry.file_name(), entry.path().join("data/mongod.lock"));
        let owner = std::fs::read_to_string(lock).ok().and_then(|text| text.trim().parse::<u32>().ok());
        // A process that ended and that nobody has waited for has no command line.
        let is_dead = owner
            .is_some_and(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().is_empty());
        if is_dead && name.to_string_lossy().starts_with(PREFIX) {
            // Another run may remove it at the same time.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Polls until `ask` returns a value.
///
/// # Panics
/// On timeout, or if the process has ended. The message contains the end of its log.
pub(crate) fn await_answer<T>(what: &str, log: &Path, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        if began.elapsed() > TIMEOUT {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            panic!(
                "{what} does not respond; the end of its log:\n{}",
                lines[lines.len().saturating_sub(20)..].join("\n")
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[expect(clippy::disallowed_methods, reason = "the startup timeout is real time")]
fn now() -> Instant {
    Instant::now()
}

/// Finds the program in one of the folders or in `PATH`.
pub(crate) fn program(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = crate::variable("PATH").unwrap_or_default();
    let everywhere = folders.into_iter().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    everywhere.map(|folder| folder.join(name)).find(|file| file.is_file())
}
