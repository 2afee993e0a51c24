//! Starts the example and calls it over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The example process, killed at the end of the test.
struct Host {
    child: Child,
    /// `host:port`
    address: String,
    /// The path of the agent's contacts.
    contacts: String,
    /// The key headers.
    credentials: String,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Host {
    fn start() -> Host {
        let mut child = Command::new(env!("CARGO_BIN_EXE_embed-hyper"))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let output = child.stdout.take().expect("its output is piped");
        let lines: Vec<String> = BufReader::new(output).lines().take(3).map_while(Result::ok).collect();
        let [url, key, secret] = lines.try_into().expect("it prints a URL, a key and a secret");
        let rest = url.strip_prefix("http://").expect("a URL");
        let (address, path) = rest.split_once('/').expect("a path");
        Host {
            child,
            address: address.to_owned(),
            contacts: format!("/{path}"),
            credentials: format!("{key}\r\n{secret}\r\n"),
        }
    }

    /// The status line and the body of a response.
    fn call(&self, request: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("the example listens");
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n",
            self.address
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    }
}

#[test]
fn it_serves_the_open_api() {
    let host = Host::start();
    let (status, body) = host.call("GET /v1/open/health", "", "");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.contains("API is healthy"), "{body}");

    let contact = r#"{"primaryEmail":"zoe@example.com","firstName":"Zoë"}"#;
    let create = format!("POST {}", host.contacts);
    let (status, body) = host.call(&create, "", contact);
    assert_eq!(status, "HTTP/1.1 401 Unauthorized", "{body}");
    let (status, body) = host.call(&create, &host.credentials, contact);
    assert_eq!(status, "HTTP/1.1 201 Created", "{body}");

    let (status, body) = host.call(&format!("GET {}?search=zoe", host.contacts), &host.credentials, "");
    assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
    assert!(body.contains("zoe@example.com") && body.contains(r#""totalItems":1"#), "{body}");
}
