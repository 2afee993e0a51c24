//! A flood of connections to the widget's listener: requests to the API with a key are neither refused nor slow.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::support::{Sandbox, Serving, credentials, head};

/// Loopback addresses of the flood.
const HOSTS: u8 = 11;

fn socket_address(origin: &str) -> SocketAddr {
    origin.strip_prefix("http://").unwrap().parse().unwrap()
}

async fn connect_from(host: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    socket.connect(to).await.unwrap()
}

/// Idle connections to the widget's listener: silent ones, and some with the beginning of a head.
async fn flood(server: &Serving, connections: usize) -> Vec<TcpStream> {
    let widget = socket_address(server.widget.as_deref().unwrap());
    let mut held = Vec::with_capacity(connections);
    for number in 0..connections {
        let mut stream = connect_from(10 + (number % usize::from(HOSTS)) as u8, widget).await;
        if number % 2 == 0 {
            // The server may have closed the connection to make room for the next one.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nX-A: ").await;
        }
        held.push(stream);
    }
    held
}

/// The times of so many requests with a key, each on its own connection; each must be answered.
async fn requests(server: &Serving, key: &Value, count: usize) -> Vec<Duration> {
    let api = socket_address(&server.api);
    let credentials = credentials(key);
    let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
    let request = head("GET", "/v1/open/contacts/chatbots/acme", &headers, 0);
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        let mut stream = connect_from(200, api).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        times.push(begun.elapsed());
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    times.sort_unstable();
    times
}

/// A server, and a key that may send as many requests as any.
fn server(further: &[&str]) -> (Sandbox, Serving, Value) {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    let key = ["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all"];
    let key = sandbox.json(&[&key[..], &["--per-minute", "1000", "--per-hour", "10000"]].concat());
    let server = sandbox.serve(&[&["--widget-listen", "127.0.0.1:0", "--log", "error"], further].concat());
    (sandbox, server, key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_the_widgets_listener_refuses_no_request_with_a_key() {
    let (_sandbox, server, key) = server(&["--max-connections", "40", "--widget-max-connections", "200"]);
    let held = flood(&server, 1_100).await;
    requests(&server, &key, 200).await;
    let metrics = server.ops("/metrics").1;
    assert!(metrics.contains("openapi_connections_evicted_total{listener=\"widget\"}"), "{metrics}");
    assert!(!metrics.contains("openapi_connections_refused_total{listener=\"open-api\""), "{metrics}");
    drop(held);
    assert_eq!(server.end(), 0);
}

/// The figure: 11,000 idle connections to the widget's listener at its default limits. Compares times, so it needs a
/// machine that does nothing else (CONTRIBUTING.md).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "compares times"]
async fn eleven_thousand_idle_connections_cost_the_api_little() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    let (_sandbox, server, key) = server(&[]);
    let p99 = |times: &[Duration]| times[times.len() * 99 / 100];
    requests(&server, &key, 100).await;
    let quiet = p99(&requests(&server, &key, 400).await);
    let held = flood(&server, 11_000).await;
    let flooded = p99(&requests(&server, &key, 400).await);
    println!("99th percentile: {quiet:?} without, {flooded:?} with {} connections", held.len());
    assert!(flooded <= quiet * 2, "{quiet:?} without, {flooded:?} with the connections");
    let metrics = server.ops("/metrics").1;
    assert!(!metrics.contains("openapi_connections_refused_total{listener=\"open-api\""), "{metrics}");
}
