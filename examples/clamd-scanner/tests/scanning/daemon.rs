//! A private `clamd` for the tests: its own folder, one signature, and only 127.0.0.1.

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clamd_scanner::Address;
use tempfile::TempDir;

/// The content of the only signature.
pub const MALWARE: &[u8] = b"This-Is-The-Malware-Of-The-Scanner-Tests";

/// The maximum file size, in bytes.
pub const STREAM_MAX: usize = 1024 * 1024;

/// The startup timeout.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running `clamd`, ended on drop.
pub struct Clamd {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl Clamd {
    #[expect(clippy::disallowed_methods, reason = "a folder is added to the PATH")]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("signatures");
        std::fs::create_dir(&database).expect("a folder for signatures");
        let digits: String = MALWARE.iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(database.join("own.ndb"), format!("Openapi.Test.Malware:0:*:{digits}\n"))
            .expect("a signature");
        // Free a moment ago: clamd does not support port 0.
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let path = folder.path().display();
        let settings = format!(
            "Foreground yes\nDatabaseDirectory {path}/signatures\nTemporaryDirectory {path}\nLocalSocket {path}/socket\n\
             TCPAddr 127.0.0.1\nTCPSocket {port}\nStreamMaxLength {STREAM_MAX}\nLogFile {path}/log\nMaxThreads 4\n"
        );
        let file = folder.path().join("clamd.conf");
        std::fs::write(&file, settings).expect("settings");
        let search = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("clamd")
            .env("PATH", format!("{search}:/usr/sbin:/usr/local/sbin"))
            .arg("--config-file")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("clamd is missing: apt-get install --no-install-recommends clamav-daemon");
        let mut clamd = Clamd { child, folder, port };
        clamd.wait_until_it_listens();
        clamd
    }

    /// Both of its sockets.
    pub fn addresses(&self) -> [Address; 2] {
        let socket = self.folder.path().join("socket");
        [Address::Unix(socket), Address::Tcp(format!("127.0.0.1:{}", self.port))]
    }

    #[expect(clippy::disallowed_methods, reason = "waiting for a process")]
    fn wait_until_it_listens(&mut self) {
        let begun = Instant::now();
        while UnixStream::connect(self.folder.path().join("socket")).is_err() {
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let ended = self.child.try_wait().expect("a status");
            assert!(ended.is_none(), "clamd ended with {ended:?}: {}", log());
            assert!(begun.elapsed() < TIMEOUT, "clamd does not listen: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Clamd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
