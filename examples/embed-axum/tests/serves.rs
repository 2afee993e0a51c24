//! Starts the example and calls it over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The example, ended with the test.
struct Host {
    child: Child,
    /// `host:port`
    address: String,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Host {
    fn start() -> Host {
        let mut child = Command::new(env!("CARGO_BIN_EXE_embed-axum"))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let output = child.stdout.take().expect("its output is piped");
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).expect("it prints its URL");
        let address = url.trim().strip_prefix("http://").expect("a URL").to_owned();
        Host { child, address }
    }

    /// The status line and the body of an answer.
    fn call(&self, request: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("the example listens");
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    }
}

#[test]
fn the_application_and_the_open_api_share_a_listener() {
    let host = Host::start();
    let (status, body) = host.call("GET /", "", "");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "the application's own page\n"));
    let (status, body) = host.call("GET /v1/open/health", "", "");
    assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
    let (status, body) = host.call("GET /nowhere", "", "");
    assert!(status.contains("404") && body.contains("ROUTE_NOT_FOUND"), "{status} {body}");
}

#[test]
fn a_user_of_the_application_needs_no_key() {
    let host = Host::start();
    let path = "/v1/open/contacts/chatbots/front-desk";
    let alice = "Authorization: Bearer alices-session\r\n";
    let contact = r#"{"primaryEmail":"zoe@example.com"}"#;
    for (headers, expected) in [("", 401), ("Authorization: Bearer somebody\r\n", 401), (alice, 201)] {
        let (status, body) = host.call(&format!("POST {path}"), headers, contact);
        assert!(status.contains(&expected.to_string()), "{headers}: {status} {body}");
    }
    let (status, body) = host.call(&format!("GET {path}"), alice, "");
    assert!(status.contains("200") && body.contains("zoe@example.com"), "{status} {body}");
    let (status, body) = host.call("GET /v1/open/contacts/chatbots/other", alice, "");
    assert!(status.contains("403") && body.contains("AGENT_FORBIDDEN"), "{status} {body}");
}
