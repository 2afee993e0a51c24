//! A client of the API: one request at a time, each over a connection of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::Credentials;
use crate::report::Failure;

/// The response timeout, longer than the longest wait that a request may ask for.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Requests per key, below the 1,000 allowed in a minute.
pub(crate) const REQUESTS_OF_A_KEY: usize = 960;

/// The boundary of the parts of a form.
const BOUNDARY: &str = "e7c1a95b";

/// A client with keys, which it uses one after the other.
pub(crate) struct Caller {
    address: SocketAddr,
    keys: Vec<Credentials>,
    sent: usize,
}

impl Caller {
    pub(crate) fn new(address: SocketAddr, keys: Vec<Credentials>) -> Self {
        Caller { address, keys, sent: 0 }
    }

    /// The `data` of the response.
    ///
    /// # Errors
    /// If the status is no success.
    pub(crate) fn get(&mut self, path: &str) -> Result<Value, Failure> {
        self.send("GET", path, "", "")
    }

    /// As [`Caller::get`], of a request with a JSON body.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<Value, Failure> {
        self.send("POST", path, "Content-Type: application/json\r\n", body)
    }

    /// As [`Caller::get`], of a request with a form; the part `document` is a file.
    pub(crate) fn post_form(&mut self, path: &str, parts: &[(&str, &str)]) -> Result<Value, Failure> {
        let mut body = String::new();
        for (name, content) in parts {
            let file = if *name == "document" { "; filename=\"a.txt\"" } else { "" };
            body.push_str(&format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{content}\r\n"
            ));
        }
        body.push_str(&format!("--{BOUNDARY}--\r\n"));
        let media_type = format!("Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n");
        self.send("POST", path, &media_type, &body)
    }

    fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<Value, Failure> {
        let Credentials { key, secret } =
            self.keys.get(self.sent / REQUESTS_OF_A_KEY).ok_or("the client has too few keys")?;
        self.sent += 1;
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(
            format!(
                "{method} {path} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\nX-API-Secret: {secret}\r\n\
                 Connection: close\r\n{more}Content-Length: {}\r\n\r\n{body}",
                self.address,
                body.len()
            )
            .as_bytes(),
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").ok_or("a response has no head")?;
        if head.get(9..10) != Some("2") {
            return Err(format!("{method} {path} was answered {response}").into());
        }
        let mut body: Value = serde_json::from_str(body)?;
        Ok(body["data"].take())
    }
}
