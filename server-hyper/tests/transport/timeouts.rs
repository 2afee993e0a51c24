//! Timeouts: how long the server waits for a client, and what the client receives.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use server_hyper::config::timeouts::Timeouts;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::support::{Options, Server, StandIn, answers, api, get, send, start, talk};

const SHORT: Duration = Duration::from_millis(300);

/// Longer than any limit of a test, shorter than the defaults.
const LONG: Duration = Duration::from_secs(5);

async fn server(change: impl FnOnce(&mut Timeouts)) -> Server {
    let mut options = Options::default();
    change(&mut options.timeouts);
    start(StandIn, options).await
}

/// How long a connection stays open after `bytes` were sent, and the response.
async fn open_time(address: SocketAddr, bytes: &str) -> (Duration, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let begun = Instant::now();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    // A reset is an end as well.
    let _ = timeout(LONG, stream.read_to_end(&mut heard)).await.expect("the connection is ended");
    (begun.elapsed(), String::from_utf8(heard).unwrap())
}

fn is_about(took: Duration, expected: Duration) -> bool {
    took >= expected - Duration::from_millis(20) && took < expected + Duration::from_secs(1)
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_ended() {
    let server = server(|timeouts| timeouts.head = SHORT).await;
    let (took, heard) = open_time(server.address, "").await;
    assert!(is_about(took, SHORT) && heard.is_empty(), "{took:?} {heard}");
}

#[tokio::test]
async fn a_head_that_stalls_or_trickles_is_ended() {
    let server = server(|timeouts| timeouts.head = SHORT).await;
    let (took, heard) = open_time(server.address, "GET / HTTP/1.1\r\nHost: a\r\nX-").await;
    assert!(is_about(took, SHORT) && heard.is_empty(), "{took:?} {heard}");
    // An byte now and then does not help, neither in the first head nor in a later one.
    for before in [String::new(), get("/")] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(before.as_bytes()).await.unwrap();
        let begun = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\nX-A: ").await.unwrap();
        let trickling = async {
            while stream.write_all(b"a").await.is_ok() {
                sleep(Duration::from_millis(40)).await;
            }
        };
        timeout(LONG, trickling).await.expect("the connection is ended");
        assert!(is_about(begun.elapsed(), SHORT), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_resting_connection_has_its_own_limit() {
    let server = server(|timeouts| {
        timeouts.head = Duration::from_millis(150);
        timeouts.idle = Duration::from_millis(600);
    })
    .await;
    let (took, heard) = open_time(server.address, &get("/")).await;
    assert!(is_about(took, Duration::from_millis(600)), "{took:?}");
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
}

#[tokio::test]
async fn a_long_request_outlives_the_limits_of_heads() {
    let server = server(|timeouts| {
        timeouts.head = Duration::from_millis(100);
        timeouts.idle = Duration::from_millis(200);
    })
    .await;
    let heard = send(server.address, get("/slow/700").as_bytes()).await;
    assert_eq!(heard.answers[0].text(), "slow");
}

#[tokio::test]
async fn a_body_that_stalls_is_answered_408() {
    let server = server(|timeouts| timeouts.body_idle = SHORT).await;
    let (took, heard) =
        open_time(server.address, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc").await;
    assert!(heard.starts_with("HTTP/1.1 408"), "{heard}");
    assert!(took >= SHORT, "{took:?}");
}

#[tokio::test]
async fn some_bodies_may_take_longer_than_others() {
    let server = server(|timeouts| {
        timeouts.body_idle = SHORT;
        timeouts.body_total = SHORT;
    })
    .await;
    for (path, expected) in [("/body", "408"), ("/body/patient", "200")] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..9 {
            sleep(Duration::from_millis(80)).await;
            // One that was answered already takes no more.
            let _ = stream.write_all(b"x").await;
        }
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with(&format!("HTTP/1.1 {expected}")), "{path}: {heard}");
    }
}

#[tokio::test]
async fn a_body_that_trickles_is_answered_408_when_its_time_is_over() {
    let server = server(|timeouts| {
        timeouts.body_idle = SHORT;
        timeouts.body_total = Duration::from_millis(700);
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let trickling = tokio::spawn(async move {
        while writer.write_all(b"1\r\nx\r\n").await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    });
    let mut heard = vec![0; 4096];
    let read = timeout(LONG, reader.read(&mut heard)).await.unwrap().unwrap();
    assert!(heard[..read].starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&heard[..read]));
    trickling.abort();
}

#[tokio::test]
async fn the_api_answers_a_stalled_body_in_its_envelope() {
    let (web, key) = api().await;
    let mut options = Options::default();
    options.timeouts.body_idle = SHORT;
    options.timeouts.linger = SHORT;
    let server = start(web, options).await;
    let head = format!(
        "POST /v1/open/contacts/chatbots/acme HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\nX-API-Secret: {}\r\nContent-Length: 99\r\n\r\n{{",
        key.key.api_key,
        key.secret.expose()
    );
    let (_, heard) = open_time(server.address, &head).await;
    let answer = &answers(heard.as_bytes(), false)[0];
    assert_eq!(answer.status, 408);
    assert!(answer.text().contains("\"code\":\"REQUEST_TIMEOUT\""), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_let_go() {
    let server = server(|timeouts| timeouts.write = SHORT).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // More than the buffers of the system hold.
    stream.write_all(get("/big/67108864").as_bytes()).await.unwrap();
    let begun = Instant::now();
    while server.metrics.encode().contains("openapi_connections{listener=\"open-api\"} 1\n")
        || begun.elapsed() < Duration::from_millis(50)
    {
        assert!(begun.elapsed() < LONG, "the connection is still open");
        sleep(Duration::from_millis(20)).await;
    }
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    drop(stream);
}

#[tokio::test]
async fn a_slow_reader_that_goes_on_reading_gets_everything() {
    let server = server(|timeouts| timeouts.write = SHORT).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(get("/big/16777216").as_bytes()).await.unwrap();
    let mut heard = 0;
    let mut chunk = vec![0; 1024 * 1024];
    while heard < 16 * 1024 * 1024 {
        let read = timeout(LONG, stream.read(&mut chunk)).await.unwrap().unwrap();
        assert_ne!(read, 0, "ended after {heard}");
        heard += read;
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_early_answer_is_seen_though_the_body_is_still_coming() {
    let server = server(|_| ()).await;
    let head = "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 33554432\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    bytes.resize(bytes.len() + 32 * 1024 * 1024, b'x');
    for _ in 0..5 {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let heard = talk(stream, &bytes, LONG).await;
        assert_eq!(heard.answers[0].status, 413);
        assert!(heard.closed && !heard.reset, "{heard:?}");
    }
}

#[tokio::test]
async fn an_early_answer_comes_without_100_continue() {
    let server = server(|timeouts| timeouts.linger = SHORT).await;
    let head = "POST /refuse HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n";
    let heard = send(server.address, head.as_bytes()).await;
    assert_eq!(heard.answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [413]);
    let head = "POST /body HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc";
    let heard = send(server.address, head.as_bytes()).await;
    assert_eq!(heard.answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [100, 200]);
}

#[tokio::test]
async fn a_client_that_never_stops_sending_is_let_go() {
    let server = server(|timeouts| timeouts.linger = SHORT).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"POST /refuse HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await
        .unwrap();
    let begun = Instant::now();
    let sending = async {
        while stream.write_all(b"4\r\nabcd\r\n").await.is_ok() {
            sleep(Duration::from_millis(30)).await;
        }
    };
    timeout(LONG, sending).await.expect("the connection is ended");
    assert!(begun.elapsed() >= SHORT - Duration::from_millis(50), "{:?}", begun.elapsed());
}
