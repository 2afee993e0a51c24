//! Starts a host of this example in a subprocess and calls it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

pub const TYPE: &str = "Content-Type: multipart/form-data; boundary=limit\r\n";

/// A form with a text file of these bytes.
pub fn form(content: &[u8]) -> Vec<u8> {
    let head = b"--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n\r\n";
    [head, content, b"\r\n--limit--\r\n"].concat()
}

/// The process, killed at the end of the test.
pub struct Host {
    pub process: Child,
    output: BufReader<ChildStdout>,
    /// `host:port`
    pub address: String,
    /// The headers of the key created at its first start.
    pub keys: String,
    /// The password of its console.
    pub password: String,
}

pub struct Reply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Reply {
    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> String {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.unwrap_or_else(|| panic!("no {name}: {}", self.head)).1.to_owned()
    }

    /// All headers.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// A string member of the body, by its name.
    pub fn member(&self, name: &str) -> &str {
        let (_, tail) = self.body.split_once(&format!("\"{name}\":\"")).expect(name);
        tail.split('"').next().expect("an end")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Host {
    /// The application over a folder.
    pub fn start(folder: &Path) -> Host {
        let mut command = Command::new(env!("CARGO_BIN_EXE_embed-axum"));
        command.arg(folder).arg("127.0.0.1:0");
        Host::of(command)
    }

    /// The minimal host in a folder.
    pub fn minimal(folder: &Path) -> Host {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minimal"));
        command.current_dir(folder);
        Host::of(command)
    }

    fn of(mut command: Command) -> Host {
        let mut process =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the example starts");
        let mut output = BufReader::new(process.stdout.take().expect("its output is piped"));
        let (mut keys, mut password) = (String::new(), String::new());
        let url = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).expect("text") > 0, "it ends without an address");
            if let Some((_, printed)) = line.split_once("with the password ") {
                printed.trim().clone_into(&mut password);
                continue;
            }
            match line.strip_prefix("http://") {
                Some(url) => break url.trim().to_owned(),
                None => keys.push_str(&line.replace('\n', "\r\n")),
            }
        };
        let address = url.split('/').next().expect("an address").to_owned();
        Host { process, output, address, keys, password }
    }

    /// The head of a request.
    pub fn begin(&self, request: &str, headers: &str, bytes: usize) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let address = &self.address;
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {bytes}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        stream
    }

    pub fn call(&self, request: &str, headers: &str, body: &[u8]) -> Reply {
        let mut stream = self.begin(request, headers, body.len());
        stream.write_all(body).expect("it reads on");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Waits until it refuses connections.
    pub fn until_closed(&self) {
        for _ in 0..1_000 {
            if TcpStream::connect(&self.address).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it still listens");
    }

    /// Its output until it exits.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        rest
    }
}
