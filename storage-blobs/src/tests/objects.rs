//! Object stores beyond the suite, against an S3 server.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use openapi_core::ports::{BlobErrorKind, BlobKey, BlobResult, BlobStore};
use openapi_core::values::Timestamp;

use super::conformance::wait;
use super::s3_server::{BUCKET, S3Server};
use crate::{BlobsUrl, open};

fn key(agent: &str) -> BlobKey {
    format!("{agent}/697e00000000000000000001").parse().unwrap()
}

async fn write(blobs: &dyn BlobStore, key: &BlobKey, bytes: Vec<u8>) -> BlobResult<()> {
    let mut writer = blobs.create(key).await?;
    writer.write(bytes.into()).await?;
    writer.finish().await
}

async fn listed(blobs: &dyn BlobStore) -> Vec<String> {
    let mut listing = blobs.list().await.unwrap();
    let mut keys = Vec::new();
    while let Some(entry) = std::future::poll_fn(|context| listing.as_mut().poll_next(context)).await {
        keys.push(entry.unwrap().key.to_string());
    }
    keys.sort();
    keys
}

fn kind<T>(result: BlobResult<T>) -> Option<BlobErrorKind> {
    result.err().map(|error| error.kind)
}

#[expect(clippy::disallowed_methods, reason = "how long an answer takes")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn objects_lie_under_the_prefix_and_others_are_left_alone() {
    wait(async {
        let server = S3Server::start().await;
        let (blobs, other, all) = (server.blobs("here"), server.blobs("here2"), server.blobs(""));
        write(blobs.as_ref(), &key("a"), b"bytes".into()).await.unwrap();
        write(other.as_ref(), &key("b"), b"bytes".into()).await.unwrap();
        write(all.as_ref(), &key("c"), b"bytes".into()).await.unwrap();
        fs::write(server.object("here/notes.txt"), b"x").unwrap();
        fs::write(server.object("here/a/697E00000000000000000001"), b"x").unwrap();
        assert_eq!(fs::read(server.object("here/a/697e00000000000000000001")).unwrap(), b"bytes");
        assert_eq!(listed(blobs.as_ref()).await, ["a/697e00000000000000000001"]);
        assert_eq!(listed(other.as_ref()).await, ["b/697e00000000000000000001"]);
        assert_eq!(listed(all.as_ref()).await, ["c/697e00000000000000000001"]);
        blobs.remove(&key("a")).await.unwrap();
        assert!(server.object("here/notes.txt").exists() && server.object("here2/b").exists());
    });
}

#[test]
fn a_dropped_writer_aborts_its_upload() {
    wait(async {
        let server = S3Server::start().await;
        let blobs = server.blobs("");
        let mut writer = blobs.create(&key("a")).await.unwrap();
        writer.write(vec![7; 11 * 1024 * 1024].into()).await.unwrap();
        assert!(server.unfinished() > 0, "the parts are somewhere");
        drop(writer);
        for _ in 0..100 {
            if server.unfinished() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(server.unfinished(), 0);
        assert_eq!(blobs.size(&key("a")).await.unwrap(), None);
        assert_eq!(blobs.sweep_unfinished(Timestamp::from_millis(i64::MAX)).await.unwrap(), 0);
    });
}

#[test]
fn a_connection_that_breaks_is_tried_again() {
    wait(async {
        let server = S3Server::start().await;
        let blobs = server.blobs("");
        server.hang_ups.store(2, Ordering::SeqCst);
        write(blobs.as_ref(), &key("a"), vec![7; 6 * 1024 * 1024]).await.unwrap();
        server.hang_ups.store(2, Ordering::SeqCst);
        assert_eq!(blobs.size(&key("a")).await.unwrap(), Some(6 * 1024 * 1024));
    });
}

#[test]
fn a_dead_store_is_unavailable_within_ten_seconds() {
    wait(async {
        let server = S3Server::start().await;
        let blobs = server.blobs("");
        write(blobs.as_ref(), &key("a"), b"bytes".into()).await.unwrap();
        server.silent.store(true, Ordering::SeqCst);
        let (a, b) = (key("a"), key("b"));
        let begun = now();
        let (size, read, probe, written, removed) = tokio::join!(
            blobs.size(&a),
            blobs.read(&a, 0..1),
            blobs.probe(),
            write(blobs.as_ref(), &b, b"bytes".into()),
            blobs.remove(&a),
        );
        let unavailable = Some(BlobErrorKind::Unavailable);
        assert_eq!(kind(size), unavailable);
        assert_eq!(kind(probe), unavailable);
        assert_eq!(kind(written), unavailable);
        assert_eq!(kind(removed), unavailable);
        assert!(begun.elapsed() < Duration::from_secs(11), "{:?}", begun.elapsed());
        assert_eq!(kind(read), unavailable);
        server.silent.store(false, Ordering::SeqCst);
        assert_eq!(blobs.size(&key("a")).await.unwrap(), Some(5), "it is there again");
    });
}

#[test]
fn nobody_listening_and_wrong_keys_and_no_bucket_are_unavailable() {
    wait(async {
        let server = S3Server::start().await;
        let with = |name: &str, value: &str| {
            let mut environment = server.environment();
            environment.push((name.to_owned(), value.to_owned()));
            environment
        };
        let url = |text: &str| text.parse::<BlobsUrl>().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let bucket = url(&format!("s3://{BUCKET}"));
        for blobs in [
            open(&bucket, with("AWS_ENDPOINT_URL", &format!("http://{free}"))).unwrap(),
            open(&bucket, with("AWS_SECRET_ACCESS_KEY", "another")).unwrap(),
        ] {
            let begun = now();
            assert_eq!(kind(blobs.probe().await), Some(BlobErrorKind::Unavailable));
            let written = write(blobs.as_ref(), &key("a"), b"bytes".into()).await;
            assert_eq!(kind(written), Some(BlobErrorKind::Unavailable));
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        }
        let nowhere = open(&url("s3://nowhere"), server.environment()).unwrap();
        assert_eq!(kind(nowhere.probe().await), Some(BlobErrorKind::Unavailable));
    });
}

#[test]
fn errors_of_unsuitable_settings_say_what_to_set() {
    let refused = |url: &str, environment: &[(&str, &str)]| {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        match open(&url.parse().unwrap(), environment) {
            Ok(_) => panic!("{url} was opened"),
            Err(error) => error.to_string(),
        }
    };
    for (url, environment, advice) in [
        ("s3://b", [("AWS_ENDPOINT_URL", "http://minio:9000")].as_slice(), "AWS_ALLOW_HTTP=true"),
        ("s3://b", &[("AWS_ENDPOINT_URL_S3", "http://minio:9000")], "AWS_ALLOW_HTTP=true"),
        ("s3://b", &[("AWS_ACCESS_KEY_ID", "key")], "AWS_SECRET_ACCESS_KEY"),
        ("s3://b", &[("AWS_SECRET_ACCESS_KEY", "secret")], "set AWS_ACCESS_KEY_ID"),
        ("az://c", &[], "AZURE_STORAGE_ACCOUNT_NAME"),
        ("gs://b", &[("GOOGLE_SERVICE_ACCOUNT", "/nowhere/key.json")], "/nowhere/key.json"),
        ("s3://b", &[("HTTPS_PROXY", "http://")], "HTTPS_PROXY is no URL of a proxy"),
    ] {
        let error = refused(url, environment);
        assert!(
            error.contains(advice) && error.contains(url) && !error.contains("secret'"),
            "{url}: {error}"
        );
    }
}

/// No credentials in logs.
#[test]
fn a_store_shows_no_secrets() {
    let environment = [("AWS_ACCESS_KEY_ID", "AKIA"), ("AWS_SECRET_ACCESS_KEY", "hushhush")]
        .map(|(n, v)| (n.to_owned(), v.to_owned()));
    let blobs = crate::ObjectBlobs::open(&"s3://b/p".parse().unwrap(), &environment).unwrap();
    assert!(!format!("{blobs:?}").contains("hushhush") && format!("{blobs:?}").contains("\"p\""));
}
