//! Shared by the file tests.

use std::future::poll_fn;

use contract_tests::sandbox::wait;
use contract_tests::{Backend, Form, Reply, Sandbox};
use openapi_core::platform::FileSettings;
use openapi_core::ports::{BlobEntry, BlobStore};
use serde_json::json;
use sha2::{Digest, Sha256};

/// A sandbox with one contact, and the contact's platform id.
pub fn sandbox(backend: Backend) -> (Sandbox, String) {
    with_contact(Sandbox::new(backend))
}

/// A sandbox with a limit on the bytes of a file, and a contact.
pub fn sandbox_up_to(backend: Backend, max_file_bytes: u64) -> (Sandbox, String) {
    with_contact(Sandbox::with_settings(backend, |settings| settings.max_file_bytes = max_file_bytes))
}

/// A sandbox with another file policy, and a contact.
pub fn sandbox_with(backend: Backend, change: impl FnOnce(&mut FileSettings)) -> (Sandbox, String) {
    let cx = Sandbox::new(backend);
    with_contact(cx.rebuilt(cx.ports(), change))
}

/// Adds a contact.
pub fn with_contact(cx: Sandbox) -> (Sandbox, String) {
    let id = contact(&cx);
    (cx, id)
}

/// Creates a contact and returns its platform id.
pub fn contact(cx: &Sandbox) -> String {
    cx.create(&json!({ "primaryEmail": "a@b.co" })).id()
}

/// The path of a contact's files.
pub fn files_of(contact: &str) -> String {
    format!("/files/chatbots/<A>/{contact}")
}

/// The path of a file.
pub fn file_path(contact: &str, file: &str) -> String {
    format!("/files/chatbots/<A>/{contact}/files/{file}")
}

/// A request for an upload.
pub fn send(cx: &Sandbox, contact: &str, form: &Form) -> Reply {
    cx.call("POST", &files_of(contact)).form(form).send()
}

/// Uploads a file.
#[track_caller]
pub fn upload(cx: &Sandbox, contact: &str, name: &str, content: &[u8]) -> Reply {
    send(cx, contact, &Form::of_file(name, content)).expect(201)
}

/// Reads the record of a file.
pub fn read(cx: &Sandbox, contact: &str, file: &str) -> Reply {
    cx.get(&file_path(contact, file))
}

/// The path and query below {origin} of a signed URL.
#[track_caller]
pub fn link(cx: &Sandbox, contact: &str, file: &str, query: &str) -> String {
    let reply = cx.get(&format!("{}/signed-url?{query}", file_path(contact, file))).expect(200);
    target(reply.data()["url"].as_str().expect("a URL"))
}

/// A URL without its origin.
#[track_caller]
pub fn target(url: &str) -> String {
    url.strip_prefix("https://api.example.com").expect("{origin}").to_owned()
}

/// Follows a signed URL.
pub fn follow(cx: &Sandbox, link: &str) -> Reply {
    cx.at("GET", link).anonymous().send()
}

/// The stored contents.
pub fn blobs(cx: &Sandbox) -> Vec<BlobEntry> {
    let mut listing = wait(cx.blobs.list()).expect("a listing");
    let mut entries = Vec::new();
    while let Some(entry) = wait(poll_fn(|cx| listing.as_mut().poll_next(cx))) {
        entries.push(entry.expect("an entry"));
    }
    entries
}

/// The number of a contact's files.
#[track_caller]
pub fn total(cx: &Sandbox, contact: &str) -> u64 {
    let reply = cx.get(&files_of(contact)).expect(200);
    reply.pagination()["totalItems"].as_u64().expect("a number")
}

/// Neither a record nor a content exists.
#[track_caller]
pub fn nothing_is_stored(cx: &Sandbox, contact: &str) {
    assert_eq!(total(cx, contact), 0, "a record is left");
    assert_eq!(blobs(cx), [], "a content is left");
}

/// SHA-256 as hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
