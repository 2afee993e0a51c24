//! Shared by the tests of files: a contact, and a client of its files.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::support::{Sandbox, head, request};

const BOUNDARY: &str = "b7e1f0";

pub fn contact(sandbox: &Sandbox) -> String {
    sandbox.write("c.ndjson", "{\"externalReferenceId\":\"crm-1\",\"primaryEmail\":\"a@example.com\"}\n");
    sandbox.run(&["contacts", "import", "--agent", "acme", "c.ndjson"]).done();
    let exported = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    let contact: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    contact["id"].as_str().unwrap().to_owned()
}

/// A client of a running server.
pub struct Client<'a> {
    pub origin: &'a str,
    pub keys: &'a [(&'static str, String); 2],
    pub agent: &'a str,
    pub contact: &'a str,
}

impl Client<'_> {
    pub fn headers(&self) -> Vec<(&str, &str)> {
        self.keys.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/v1/open/files/chatbots/{}/{}{rest}", self.agent, self.contact)
    }

    /// Uploads a text; `None` if the response is incomplete.
    pub fn upload(&self, name: &str, content: &str) -> Option<(u16, Value)> {
        let body = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{content}\r\n--{BOUNDARY}--\r\n"
        );
        let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
        let mut headers = self.headers();
        headers.push(("Content-Type", &media_type));
        self.ask("POST", &self.path(""), &headers, &body)
    }

    pub fn delete(&self, file: &str) -> Option<(u16, Value)> {
        self.ask("DELETE", &self.path(&format!("/files/{file}")), &self.headers(), "")
    }

    /// A request that may get no response, because the server is killed.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<(u16, Value)> {
        let address = self.origin.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(head(method, path, headers, body.len()).as_bytes()).ok()?;
        stream.write_all(body.as_bytes()).ok()?;
        let mut heard = String::new();
        stream.read_to_string(&mut heard).ok()?;
        let (head, body) = heard.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, serde_json::from_str(body).ok()?))
    }

    /// The content of a file through a signed URL, and the signature.
    pub fn download(&self, file: &str) -> (u16, String, String) {
        let target = self.link(file, "");
        let (status, content) = request(self.origin, "GET", &target, &[], "");
        (status, content, target.split_once("sig=").unwrap().1.to_owned())
    }

    /// The path and query of a signed URL.
    pub fn link(&self, file: &str, query: &str) -> String {
        let path = self.path(&format!("/files/{file}/signed-url{query}"));
        let (status, body) = request(self.origin, "GET", &path, &self.headers(), "");
        assert_eq!(status, 200, "{body}");
        let signed: Value = serde_json::from_str(&body).unwrap();
        let url = signed["data"]["url"].as_str().unwrap();
        url[url.find("/download/").unwrap()..].to_owned()
    }
}

pub fn id(answer: Option<(u16, Value)>) -> String {
    let (status, body) = answer.expect("an answer");
    assert_eq!(status, 201, "{body}");
    body["data"]["id"].as_str().unwrap().to_owned()
}

pub fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
