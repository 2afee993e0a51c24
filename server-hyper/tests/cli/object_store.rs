//! Files whose contents are in S3: their life cycle, and downloads that the store serves.

use std::io::{Read, Write};

use serde_json::Value;

use super::file_client::{Client, contact, id};
use super::s3_server::{BUCKET, S3Server};
use super::support::{BINARY, Sandbox, Serving, connect, credentials};

/// A server whose file contents are in an S3 server.
fn serve(sandbox: &Sandbox, s3: &S3Server, more: &[&str]) -> Serving {
    let mut server = sandbox.command(BINARY);
    server.args(["serve", "--blobs", &format!("s3://{BUCKET}/crm")]).args(more).envs(s3.environment());
    sandbox.started(server)
}

/// A response: its status, its head, its body.
struct Answer(u16, String, String);

impl Answer {
    fn to(method: &str, origin: &str, target: &str) -> Self {
        let mut stream = connect(origin);
        let host = origin.strip_prefix("http://").unwrap();
        let head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        Answer(head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    /// The value of a header.
    #[track_caller]
    fn header(&self, name: &str) -> &str {
        let mut lines = self.1.lines().filter_map(|line| line.split_once(": "));
        let line = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        line.unwrap_or_else(|| panic!("no {name}: {}", self.1)).1
    }
}

#[test]
fn a_file_lives_and_dies_in_s3() {
    let (sandbox, s3) = (Sandbox::new(), S3Server::start());
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = serve(&sandbox, &s3, &["--deleted-file-retention", "0s"]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    // Longer than one part of an upload to the store.
    let content = "a line of the file\n".repeat(500_000);
    let file = id(client.upload("long.txt", &content));
    assert_eq!(s3.objects("crm/acme"), std::slice::from_ref(&file));
    assert!(!sandbox.path("data/blobs/acme").exists(), "a content is in the local folder");
    let (status, body) = server.get(&client.path(""), &client.headers());
    let listed: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &listed["data"][0]["id"]), (200, &Value::from(file.as_str())));
    assert_eq!(listed["data"][0]["fileSize"], content.len());
    let (status, found, _) = client.download(&file);
    assert_eq!(status, 200);
    assert!(found == content);
    assert_eq!(client.delete(&file).unwrap().0, 200);
    assert_eq!(server.get(&client.path(&format!("/files/{file}")), &client.headers()).0, 404);
    assert_eq!(s3.objects("crm/acme"), <[String; 0]>::default());
    assert_eq!(server.end(), 0);
}

#[test]
fn downloads_are_redirected_to_s3() {
    let (sandbox, s3) = (Sandbox::new(), S3Server::start());
    let key = sandbox.with_key();
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = serve(&sandbox, &s3, &["--redirect-downloads"]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let file = id(client.upload("Zoë.txt", "content\n"));

    let link = client.link(&file, "?expiresIn=300");
    let led = Answer::to("GET", &server.api, &link);
    assert_eq!((led.0, led.2.as_str()), (307, ""), "{}", led.1);
    for (name, value) in [
        ("cache-control", "private, no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("content-length", "0"),
    ] {
        assert_eq!(led.header(name), value);
    }
    let target = led.header("location").strip_prefix(&s3.origin).expect("a URL of the store");
    assert!(target.starts_with(&format!("/{BUCKET}/crm/acme/{file}?")), "{target}");
    let followed = Answer::to("GET", &s3.origin, target);
    assert_eq!((followed.0, followed.2.as_str()), (200, "content\n"), "{}", followed.1);
    let disposition = followed.header("content-disposition");
    assert!(disposition.starts_with("attachment"), "{disposition}");
    assert!(disposition.to_lowercase().contains("filename*=utf-8''zo%c3%ab.txt"), "{disposition}");

    // It expires with the signed URL, and cannot be extended.
    let seconds = target.split_once("X-Amz-Expires=").expect("a life").1.split('&').next().unwrap();
    assert!((200..=300).contains(&seconds.parse::<u32>().unwrap()), "{seconds}");
    let stretched = target.replace(&format!("X-Amz-Expires={seconds}"), "X-Amz-Expires=86400");
    assert_eq!(Answer::to("GET", &s3.origin, &stretched).0, 403);

    // The server itself answers requests to display a file, and HEAD requests.
    let shown = Answer::to("GET", &server.api, &client.link(&file, "?disposition=inline"));
    assert_eq!((shown.0, shown.2.as_str()), (200, "content\n"), "{}", shown.1);
    assert_eq!(Answer::to("HEAD", &server.api, &link).0, 200);
    assert_eq!(client.delete(&file).unwrap().0, 200);
    assert_eq!(Answer::to("GET", &server.api, &link).0, 404);
    assert_eq!(server.end(), 0);
    assert!(!sandbox.read("stderr").contains("X-Amz-Signature"), "a signature of the store is in the log");
}
