//! The sandboxes of the worker and of the OCR engine: resource limits, landlock, seccomp, and exit with the parent.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::frame::{ResourceLimits, Sandbox};
use super::syscalls;

/// The stack limit in bytes; only a hostile document needs more.
const STACK: u64 = 16 << 20;
/// Descriptors: the three standard ones, and what a random number may need.
const DESCRIPTORS: u64 = 16;
/// Bytes of the stack of the thread that waits for the parent's end.
const SMALL_STACK: usize = 64 << 10;
/// The newest rules of landlock that are asked for; a kernel enforces those that it knows.
const NEWEST: ABI = ABI::V6;

/// Folders of libraries.
const LIBRARIES: [&str; 6] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"];
/// The programs that load libraries: the kernel starts them with a program.
const LOADERS: [&str; 6] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-linux-riscv64-lp64d.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
    "/lib/ld-musl-riscv64.so.1",
];
/// Below the folder of an installation: its libraries, and where packages put the models of `tesseract`.
const INSTALLED: [&str; 5] = ["lib", "lib64", "share/tessdata", "share/tesseract", "share/tesseract-ocr"];

/// The sandbox of the worker: no file, no network, no process. What needs threads starts when files are shut, and before
/// further threads are.
pub(super) fn worker<T>(limits: ResourceLimits, start: impl FnOnce() -> T) -> (Sandbox, T) {
    let limits = limit(limits);
    let landlock = restrict_files(&[]).unwrap_or(false) && is_refused(File::open("/"), Errno::ACCESS);
    end_with_parent();
    let started = start();
    let seccomp = syscalls::enforce(syscalls::of_worker())
        && is_refused(File::open("/"), Errno::PERM)
        && is_refused(UnixStream::pair(), Errno::PERM);
    (Sandbox { limits, landlock, seccomp }, started)
}

/// The sandbox of an OCR engine at this path: it reads libraries and models, and can become itself.
///
/// The parent sets its limits, because it also does so without a sandbox.
pub(super) fn ocr(program: &Path, models: Option<&Path>) -> Sandbox {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let prefixes = [Some(program.to_owned()), program.canonicalize().ok()].into_iter().flatten();
    let prefixes: Vec<PathBuf> =
        prefixes.filter_map(|program| program.parent()?.parent().map(Path::to_owned)).collect();
    let installed = prefixes.iter().flat_map(|prefix| INSTALLED.map(|folder| prefix.join(folder)));
    let readable = LIBRARIES.iter().map(PathBuf::from).chain(installed).chain(models.map(Path::to_owned));
    let executable = LOADERS.iter().map(PathBuf::from).chain([program.to_owned()]);
    let rules: Vec<_> = readable
        .map(|path| (path, read))
        .chain(executable.map(|path| (path, AccessFs::Execute | AccessFs::ReadFile)))
        .collect();
    let landlock = restrict_files(&rules).unwrap_or(false) && is_refused(File::open("/"), Errno::ACCESS);
    let seccomp = syscalls::enforce(syscalls::of_ocr()) && is_refused(UnixStream::pair(), Errno::PERM);
    Sandbox { limits: true, landlock, seccomp }
}

/// Whether the kernel refuses what the sandbox forbids, in the way in which this part of the sandbox does.
fn is_refused<T>(tried: io::Result<T>, how: Errno) -> bool {
    tried.is_err_and(|error| error.raw_os_error() == Some(how.raw_os_error()))
}

fn limit(limits: ResourceLimits) -> bool {
    let most = limits.cpu + limits.cpu_page * limits.pages;
    let limits = [
        (Resource::As, limits.memory, limits.memory),
        // The parent allows more for each page that it has recognised.
        (Resource::Cpu, limits.cpu, most),
        (Resource::Stack, STACK, STACK),
        (Resource::Nofile, DESCRIPTORS, DESCRIPTORS),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
    ];
    limits.into_iter().all(|(resource, current, maximum)| {
        // Never more than there is already.
        let given = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (current, maximum) = (current.min(given), maximum.min(given));
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) }).is_ok()
    })
}

/// No file but these, no network, no signal to others, as far as the kernel knows how; `false` or an error if it does
/// not know about files.
fn restrict_files(rules: &[(PathBuf, BitFlags<AccessFs>)]) -> Result<bool, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for (path, access) in rules {
        ruleset = ruleset.add_rules(path_beneath_rules([path], *access))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced && status.no_new_privs)
}

/// Ends the process when the parent's end of its input is closed, which the parent's death does as well.
fn end_with_parent() {
    let (begun, beginning) = std::sync::mpsc::channel();
    let wait = move || {
        let _ = begun.send(());
        let input = io::stdin();
        let mut polled = [PollFd::new(&input, PollFlags::empty())];
        loop {
            let closed = match poll(&mut polled, None) {
                Ok(_) => polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
                Err(error) => error != Errno::INTR,
            };
            if closed {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the process is the worker, started for this alone"
                )]
                std::process::exit(1);
            }
        }
    };
    // Without the thread the limits end the process, later. What it needs to begin is shut afterwards.
    if std::thread::Builder::new().stack_size(SMALL_STACK).spawn(wait).is_ok() {
        let _ = beginning.recv();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    const VARIABLE: &str = "EXTRACTION_TEST_INSIDE";

    /// What a document could try that has taken the worker over; each is refused.
    fn attempts() -> Vec<(&'static str, io::Result<()>)> {
        let init = Pid::from_raw(1).expect("a process");
        vec![
            ("read a file", File::open("/etc/passwd").map(drop)),
            ("read the process's own files", File::open("/proc/self/status").map(drop)),
            ("list a folder", std::fs::read_dir("/").map(drop)),
            ("write a file", File::create("/tmp/extraction-inside").map(drop)),
            ("ask about a file", std::fs::metadata("/etc/passwd").map(drop)),
            ("remove a file", std::fs::remove_file("/tmp/extraction-inside")),
            ("a socket", TcpListener::bind("127.0.0.1:0").map(drop)),
            ("a datagram socket", UdpSocket::bind("127.0.0.1:0").map(drop)),
            ("a pair of sockets", UnixStream::pair().map(drop)),
            ("a process", Command::new("/bin/true").status().map(drop)),
            ("a program", Err(Command::new("/bin/true").exec())),
            ("a thread", std::thread::Builder::new().spawn(|| ()).map(drop)),
            ("a signal", kill_process(init, Signal::CONT).map_err(io::Error::from)),
            (
                "a limit",
                setrlimit(Resource::Nofile, Rlimit { current: Some(9), maximum: Some(9) })
                    .map_err(io::Error::from),
            ),
        ]
    }

    /// The process that the next test starts.
    #[test]
    #[ignore = "confines its process for good"]
    #[expect(
        clippy::disallowed_methods,
        reason = "the started process learns from its environment what it is"
    )]
    fn inside() {
        if std::env::var_os(VARIABLE).is_none() {
            return;
        }
        let limits = ResourceLimits { memory: 1 << 30, cpu: 10, cpu_page: 0, pages: 0 };
        let (sandbox, ()) = worker(limits, || ());
        println!("\nsandbox {}", sandbox.is_complete());
        for (what, tried) in attempts() {
            println!("{what}: {:?}", tried.map_err(|error| error.kind()));
        }
        io::stdout().flush().expect("standard output");
    }

    #[test]
    fn a_worker_that_is_taken_over_reaches_nothing() {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--exact", "worker::sandbox::tests::inside", "--ignored", "--nocapture"])
            .env(VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        // Its end is the end of the parent.
        let input = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        drop(input);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("\nsandbox true\n"), "{output:?}");
        let tried: Vec<&str> =
            printed.lines().filter(|line| line.contains(": Err(") || line.contains(": Ok(")).collect();
        assert_eq!(tried.len(), 14, "{printed}");
        assert!(tried.iter().all(|line| line.ends_with(": Err(PermissionDenied)")), "{tried:#?}");
    }
}
