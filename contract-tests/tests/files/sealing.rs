//! Contents at rest (contract 2.2): sealed while they arrive, opened by parts, and never served after a change.

use std::future::poll_fn;
use std::sync::Arc;

use async_trait::async_trait;
use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use openapi_core::admin::Admin;
use openapi_core::audit::ChainedEntry;
use openapi_core::contacts::ContactRef;
use openapi_core::files::ContactFile;
use openapi_core::platform::{ContentFault, SealProgress};
use openapi_core::ports::{BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter, MemoryBlobs};
use openapi_core::seal::{Sealer, sealed_bytes};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::storage::{AuditQuery, Effects, FileQuota, FileWrite};
use openapi_core::values::{FileId, Timestamp};

use crate::support::{file_path, follow, link, sandbox, sha256, upload};

on_every_backend!(
    contents_are_sealed,
    changed_contents_are_not_served,
    contents_of_former_releases_are_sealed,
    contents_move_to_the_current_key,
    what_cannot_be_sealed_stays,
    erased_contents_stay_away,
    downloads_are_audited,
);

/// A text of three frames of 64 KiB and a part of one.
fn content() -> Vec<u8> {
    (0..200_000_u32).map(|at| b'a' + (at % 23) as u8).collect()
}

fn key(cx: &Sandbox, id: &str) -> BlobKey {
    BlobKey::new(cx.agent.clone(), id.parse().expect("an id"))
}

fn stored(cx: &Sandbox, key: &BlobKey) -> Vec<u8> {
    wait(async {
        let size = cx.blobs.size(key).await.expect("a size").expect("a content");
        let mut stream = cx.blobs.read(key, 0..size).await.expect("a stream");
        let mut bytes = Vec::new();
        while let Some(piece) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            bytes.extend_from_slice(&piece.expect("bytes"));
        }
        bytes
    })
}

fn put(cx: &Sandbox, key: &BlobKey, bytes: &[u8]) {
    wait(async {
        let mut writer = cx.blobs.replace(key).await.expect("a writer");
        writer.write(bytes.to_vec().into()).await.expect("written");
        writer.finish().await.expect("finished");
    });
}

fn record(cx: &Sandbox, id: &str) -> ContactFile {
    let id: FileId = id.parse().expect("an id");
    wait(cx.store.storage.file(&cx.agent, id)).expect("read").expect("a file")
}

fn seal(cx: &Sandbox) -> SealProgress {
    wait(cx.platform.seal_contents(&mut |_| {})).expect("sealed")
}

/// A file as a release before the sealing stored it.
fn plain_file(cx: &Sandbox, contact: &str, like: &str, number: u8, content: &[u8]) -> String {
    let storage = &cx.store.storage;
    let contact = ContactRef::Id(contact.parse().expect("an id"));
    let contact = wait(storage.contact(&cx.agent, &contact)).expect("read").expect("a contact");
    let file = ContactFile {
        id: FileId::from_bytes([number; 12]),
        file_size: content.len() as u64,
        sha256: sha256(content).parse().expect("a digest"),
        server_key: None,
        ..record(cx, like)
    };
    let quota = FileQuota { files_of_contact: 100, bytes_of_agent: None };
    let write = FileWrite::new(file.clone(), &contact, quota, Effects::default());
    wait(storage.insert_file(&cx.agent, &write)).expect("stored");
    let id = file.id.to_string();
    put(cx, &key(cx, &id), content);
    id
}

fn range(cx: &Sandbox, link: &str, range: &str) -> Reply {
    cx.at("GET", link).anonymous().header("range", range).send()
}

fn contents_are_sealed(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let content = content();
    let id = upload(&cx, &contact, "a.bin.txt", &content).id();
    let sealed = stored(&cx, &key(&cx, &id));
    assert_eq!(sealed.len() as u64, sealed_bytes(content.len() as u64));
    assert!(!sealed.windows(8).any(|bytes| *bytes == content[..8]), "the content is stored as it is");
    assert_eq!(record(&cx, &id).server_key.as_deref(), Some(cx.ports().server_keys.current_id()));
    let link = link(&cx, &contact, &id, "");
    let reply = follow(&cx, &link).expect(200);
    assert!(*reply.bytes == *content);
    assert_eq!(reply.header("etag"), Some(format!("\"{}\"", sha256(&content)).as_str()));
    assert_eq!(cx.get(&file_path(&contact, &id)).data()["fileSize"], content.len());
    for (first, last) in [(0, 0), (65_535, 65_536), (65_536, 131_071), (131_072, 199_999), (1, 199_998)] {
        let reply = range(&cx, &link, &format!("bytes={first}-{last}")).expect(206);
        assert!(*reply.bytes == content[first..=last], "{first}-{last}");
    }
}

fn changed_contents_are_not_served(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let content = content();
    let id = upload(&cx, &contact, "a.txt", &content).id();
    let other = upload(&cx, &contact, "b.txt", &content).id();
    let link = link(&cx, &contact, &id, "");
    let key_of_file = key(&cx, &id);
    let intact = stored(&cx, &key_of_file);
    let swapped = stored(&cx, &key(&cx, &other));
    let mut changed = intact.clone();
    changed[70_000] ^= 1;
    for wrong in [swapped.as_slice(), &content, &intact[..100], &[], &intact[..65_000]] {
        put(&cx, &key_of_file, wrong);
        let _ = follow(&cx, &link).fails(500, "INTERNAL_ERROR");
        let _ = range(&cx, &link, "bytes=100-200").fails(500, "INTERNAL_ERROR");
    }
    put(&cx, &key_of_file, &changed);
    // The second frame was changed: the first is served, a part of the second never.
    let _ = range(&cx, &link, "bytes=0-65535").expect(206);
    let _ = range(&cx, &link, "bytes=65536-65536").fails(500, "INTERNAL_ERROR");
    put(&cx, &key_of_file, &intact);
    assert!(*follow(&cx, &link).expect(200).bytes == *content);
}

fn contents_of_former_releases_are_sealed(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let content = content();
    let new = upload(&cx, &contact, "a.txt", &content).id();
    let plain = plain_file(&cx, &contact, &new, 1, &content);
    // A job was killed after it had replaced the content.
    let half = plain_file(&cx, &contact, &new, 2, b"half done");
    let mut sealer = Sealer::new(&cx.ports().server_keys, &key(&cx, &half));
    let mut bytes = sealer.push(b"half done").expect("sealed").to_vec();
    bytes.extend_from_slice(&sealer.finish().expect("sealed"));
    put(&cx, &key(&cx, &half), &bytes);
    let is_served = |cx: &Sandbox| {
        let reply = follow(cx, &link(cx, &contact, &plain, "")).expect(200);
        assert!(*reply.bytes == *content);
        let part = range(cx, &link(cx, &contact, &plain, ""), "bytes=70000-140000").expect(206);
        assert!(*part.bytes == content[70_000..=140_000]);
        assert_eq!(follow(cx, &link(cx, &contact, &half, "")).expect(200).text, "half done");
        assert_eq!(wait(cx.platform.check_contents()).expect("checked").faults, []);
    };
    is_served(&cx);
    let uses = || wait(cx.store.storage.server_key_uses()).expect("uses");
    assert_eq!(uses().unsealed_files, 2);
    let mut reports = 0;
    let done = wait(cx.platform.seal_contents(&mut |_| reports += 1)).expect("sealed");
    assert_eq!((done.files, done.sealed, reports), (3, 2, 2));
    assert_eq!((done.bytes, done.faults.len()), (content.len() as u64 + 9, 0));
    is_served(&cx);
    assert_eq!((uses().unsealed_files, seal(&cx).sealed), (0, 0));
    let sealed = stored(&cx, &key(&cx, &plain));
    assert_eq!(sealed.len() as u64, sealed_bytes(content.len() as u64));
}

fn contents_move_to_the_current_key(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", &content()).id();
    let foreign = ServerKey::new(&[8; 32]);
    let with = |keys: ServerKeys| {
        let mut ports = cx.ports();
        ports.server_keys = keys;
        cx.rebuilt(ports, |_| {})
    };
    let without = with(ServerKeys::new(foreign, Vec::new()));
    assert_eq!(seal(&without).faults.len(), 1, "the key of the content is not there");
    let current = ServerKey::new(&[9; 32]);
    let sandboxes = ServerKey::new(&[7; 32]);
    let after = with(ServerKeys::new(current.clone(), vec![sandboxes]));
    assert_eq!(seal(&after).sealed, 1);
    assert_eq!(record(&cx, &id).server_key.as_deref(), Some(current.id()));
    let alone = with(ServerKeys::new(current, Vec::new()));
    let mut content_of =
        wait(alone.platform.file_content(&cx.agent, id.parse().expect("an id"))).expect("opens");
    let first = wait(poll_fn(|cx| content_of.as_mut().poll_next(cx))).expect("bytes").expect("bytes");
    assert!(content().starts_with(&first));
}

fn what_cannot_be_sealed_stays(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let new = upload(&cx, &contact, "a.txt", b"text").id();
    let [damaged, cut, gone] = [1, 2, 3].map(|number| plain_file(&cx, &contact, &new, number, b"some text"));
    put(&cx, &key(&cx, &damaged), b"some tExt");
    put(&cx, &key(&cx, &cut), b"some");
    wait(cx.blobs.remove(&key(&cx, &gone))).expect("removed");
    let done = seal(&cx);
    assert_eq!((done.files, done.sealed), (4, 0));
    let texts: Vec<String> = done.faults.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains(&damaged) && text.contains("digest")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains(&cut)), "{texts:?}");
    assert!(done.faults.contains(&ContentFault::Missing(key(&cx, &gone))), "{texts:?}");
    assert_eq!(stored(&cx, &key(&cx, &damaged)), b"some tExt");
    assert_eq!(record(&cx, &damaged).server_key, None);
}

/// A contact is erased while its content is sealed: the content does not come back.
fn erased_contents_stay_away(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let new = upload(&cx, &contact, "a.txt", b"text").id();
    let plain = plain_file(&cx, &contact, &new, 1, b"some text");
    let blobs = Arc::new(Erasing { inner: cx.blobs.clone(), cx: cx.restarted(), contact: contact.clone() });
    let slow = cx.rebuilt(cx.ports().with_blobs(blobs), |_| {});
    let _ = seal(&slow);
    assert!(wait(cx.store.storage.file(&cx.agent, plain.parse().expect("an id"))).expect("read").is_none());
    assert_eq!(wait(cx.blobs.size(&key(&cx, &plain))).expect("a size"), None);
    let reference = ContactRef::Id(contact.parse().expect("an id"));
    assert!(wait(cx.platform.erase_contact(&operator(), &cx.agent, &reference)).is_err());
}

/// A store in front of another, which erases a contact before a content is replaced.
struct Erasing {
    inner: MemoryBlobs,
    cx: Sandbox,
    contact: String,
}

#[async_trait]
impl BlobStore for Erasing {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.inner.create(key).await
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        let reference = ContactRef::Id(self.contact.parse().expect("an id"));
        let _ = self.cx.platform.erase_contact(&operator(), &self.cx.agent, &reference).await;
        self.inner.replace(key).await
    }

    async fn read(&self, key: &BlobKey, range: std::ops::Range<u64>) -> BlobResult<BlobStream> {
        self.inner.read(key, range).await
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        self.inner.size(key).await
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        self.inner.remove(key).await
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        self.inner.list().await
    }

    async fn sweep_unfinished(&self, before: Timestamp) -> BlobResult<u64> {
        self.inner.sweep_unfinished(before).await
    }

    async fn probe(&self) -> BlobResult<()> {
        self.inner.probe().await
    }
}

fn downloads_are_audited(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", &content()).id();
    let link = link(&cx, &contact, &id, "expiresIn=86400");
    let noted = || -> Vec<ChainedEntry> {
        let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 100, ..AuditQuery::default() };
        let entries = wait(cx.platform.audit(&query)).expect("the log");
        entries.into_iter().filter(|entry| entry.action.as_str() == "file.download").collect()
    };
    let _ = cx.at("HEAD", &link).anonymous().send().expect(200);
    let _ = range(&cx, &link, "bytes=900000-").expect(416);
    assert_eq!(noted().len(), 0, "no byte was sent");
    for part in ["bytes=0-9", "bytes=70000-70009", "bytes=0-"] {
        let _ = range(&cx, &link, part).expect(206);
    }
    let first = noted();
    assert_eq!(first.len(), 1, "repeats in an hour share an entry");
    assert_eq!(first[0].resource.as_deref(), Some(id.as_str()));
    assert_eq!(first[0].contact_id.map(|id| id.to_string()), Some(contact.clone()));
    assert!(matches!(&first[0].actor, openapi_core::access::Actor::ApiKey(_)));
    cx.advance(3_600_000);
    wait(cx.platform.maintain()).expect("maintenance");
    let all = noted();
    assert_eq!(all.len(), 2);
    let further = serde_json::to_value(&all.iter().max_by_key(|entry| entry.at).expect("an entry").details);
    assert_eq!(further.expect("JSON")["count"], 2);
    let _ = follow(&cx, &link).expect(200);
    assert_eq!(noted().len(), 3, "another hour");
}
