//! Files whose contents are in S3: their life cycle.

use serde_json::Value;

use super::file_client::{Client, contact, id};
use super::s3_server::{BUCKET, S3Server};
use super::support::{BINARY, Sandbox, Serving, credentials};

/// A server whose file contents are in an S3 server.
fn serve(sandbox: &Sandbox, s3: &S3Server, more: &[&str]) -> Serving {
    let mut server = sandbox.command(BINARY);
    server.args(["serve", "--blobs", &format!("s3://{BUCKET}/crm")]).args(more).envs(s3.environment());
    sandbox.started(server)
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
