//! Runs the binary in a temporary folder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub const BINARY: &str = env!("CARGO_BIN_EXE_openapi-server");

/// A temporary folder with a store.
pub struct Sandbox {
    folder: tempfile::TempDir,
    /// Additional environment variables of every command.
    variables: Vec<(&'static str, String)>,
}

/// The output and exit status of a command.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Said {
    /// The text on standard error of a command that failed with this status.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.stderr
    }

    /// The text on standard output of a command that succeeded.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }
}

impl Sandbox {
    pub fn new() -> Self {
        Sandbox::with(Vec::new())
    }

    /// A folder whose commands see these variables.
    pub fn with(variables: Vec<(&'static str, String)>) -> Self {
        Sandbox { folder: tempfile::tempdir().unwrap(), variables }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command in this folder that sees no settings of the machine.
    pub fn command(&self, program: &str) -> Command {
        self.confined(Command::new(program))
    }

    /// The same for a given command.
    pub fn confined(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).env_clear().env("USER", "tester").env("COLUMNS", "120");
        command.env("PATH", std::env::var("PATH").unwrap());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        self.command(BINARY).args(arguments).output().unwrap().into()
    }

    /// Runs with environment variables.
    pub fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        self.command(BINARY).envs(variables.iter().copied()).args(arguments).output().unwrap().into()
    }

    /// Runs with `--json` and returns the one document on standard output.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let said = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
    }

    /// Creates the agent `acme` and a key with all permissions.
    pub fn with_key(&self) -> Value {
        self.json(&["agents", "create", "Front desk", "--id", "acme"]);
        self.json(&["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all"])
    }

    /// Starts a server on free ports and waits until it listens.
    pub fn serve(&self, arguments: &[&str]) -> Serving {
        self.serve_as("serve", arguments)
    }

    pub fn serve_as(&self, command: &str, arguments: &[&str]) -> Serving {
        let mut server = self.command(BINARY);
        server.arg(command).args(arguments);
        self.started(server)
    }

    /// A server with this command and free ports.
    pub fn started(&self, mut server: Command) -> Serving {
        let stderr = std::fs::File::create(self.path("stderr")).unwrap();
        let mut child = server
            .args(["--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"])
            // Many servers run at a time; a test of the console names an address of its own.
            .env("OPENAPI_CONSOLE_LISTEN", "off")
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("{server:?}: {error}"));
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let (mut widget, mut console) = (None, None);
        let mut address = |name: &str| {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            if let Some(address) = line.strip_prefix("listening widget ") {
                // The demo has one by default.
                widget = Some(address.trim().to_owned());
                line.clear();
                lines.read_line(&mut line).unwrap();
            }
            if let Some(address) = line.strip_prefix("listening console ") {
                console = Some(address.trim().to_owned());
                line.clear();
                lines.read_line(&mut line).unwrap();
            }
            let address = line.trim().strip_prefix(&format!("listening {name} ")).map(str::to_owned);
            address.unwrap_or_else(|| panic!("'{line}' is not about {name}: {}", self.read("stderr")))
        };
        let (api, ops) = (address("open-api"), address("ops"));
        Serving { child, api, widget, console, ops, output: lines }
    }
}

/// A running server.
pub struct Serving {
    pub child: Child,
    /// The address of the API, with its scheme.
    pub api: String,
    /// The address of the widget's listener, with its scheme, if there is one.
    pub widget: Option<String>,
    /// The origin of the console, if there is one.
    pub console: Option<String>,
    /// The address of the operator's listener, with its scheme.
    pub ops: String,
    pub output: BufReader<std::process::ChildStdout>,
}

impl Serving {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends the server and returns its exit status.
    pub fn end(mut self) -> i32 {
        self.signal(Signal::TERM);
        self.wait()
    }

    pub fn wait(&mut self) -> i32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        request(&self.api, "GET", path, headers, "")
    }

    pub fn ops(&self, path: &str) -> (u16, String) {
        request(&self.ops, "GET", path, &[], "")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Only its own process, and only if it still runs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The headers of a key as the command line printed it.
pub fn credentials(key: &Value) -> [(&'static str, String); 2] {
    [
        ("X-API-Key", key["apiKey"].as_str().unwrap().to_owned()),
        ("X-API-Secret", key["apiSecret"].as_str().unwrap().to_owned()),
    ]
}

/// One request on a new connection.
pub fn request(
    origin: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut stream = connect(origin);
    stream.write_all(head(method, path, headers, body.len()).as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    answer(&mut stream)
}

pub fn connect(origin: &str) -> TcpStream {
    let stream = TcpStream::connect(origin.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

pub fn head(method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head + "\r\n"
}

pub fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {heard:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Waits until `condition` holds, at most `timeout`.
#[track_caller]
pub fn within(timeout: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < timeout, "not within {timeout:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
