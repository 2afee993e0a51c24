//! Request heads: a table of raw requests and their responses.

use super::support::{api, send, start};

/// The expected outcome of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// These statuses, and the connection stays.
    Open(&'static [u16]),
    /// These statuses, and the connection ends.
    Closed(&'static [u16]),
    /// An error without a body: the head cannot be parsed.
    Bare(u16),
}

use Expected::{Bare, Closed, Open};

const HEALTH: &str = "/v1/open/health";

/// `{H}` stands for a valid Host line, `{health}` for the path of the health check.
const VECTORS: &[(&str, &str, Expected)] = &[
    // Valid heads.
    ("plain", "GET {health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("head", "HEAD {health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("options", "OPTIONS {health} HTTP/1.1\r\n{H}\r\n", Open(&[204])),
    ("options asterisk", "OPTIONS * HTTP/1.1\r\n{H}\r\n", Open(&[204])),
    ("absolute target", "GET http://a{health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("absolute target, scheme in capitals", "GET HTTP://a{health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("absolute target of https with port", "GET https://a:443{health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("absolute target beats Host", "GET http://b{health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("absolute target without path", "GET http://a HTTP/1.1\r\n{H}\r\n", Open(&[404])),
    ("absolute target with query only", "GET http://a?x=1 HTTP/1.1\r\n{H}\r\n", Open(&[404])),
    ("HTTP/1.0 without Host", "GET {health} HTTP/1.0\r\n\r\n", Closed(&[200])),
    ("HTTP/1.0 with Host", "GET {health} HTTP/1.0\r\n{H}\r\n", Closed(&[200])),
    ("HTTP/1.0 keep-alive", "GET {health} HTTP/1.0\r\n{H}Connection: keep-alive\r\n\r\n", Open(&[200])),
    ("Host with port", "GET {health} HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", Open(&[200])),
    ("Host with empty port", "GET {health} HTTP/1.1\r\nHost: example.com:\r\n\r\n", Open(&[200])),
    ("Host in IPv6", "GET {health} HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", Open(&[200])),
    ("Host between blanks", "GET {health} HTTP/1.1\r\nHost:\t a \r\n\r\n", Open(&[200])),
    ("Host in capitals", "GET {health} HTTP/1.1\r\nHOST: A\r\n\r\n", Open(&[200])),
    ("empty lines in front", "\r\n\r\nGET {health} HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    ("Connection close", "GET {health} HTTP/1.1\r\n{H}Connection: close\r\n\r\n", Closed(&[200])),
    ("two in a row", "GET {health} HTTP/1.1\r\n{H}\r\nGET {health} HTTP/1.1\r\n{H}\r\n", Open(&[200, 200])),
    ("an empty header value", "GET {health} HTTP/1.1\r\n{H}X-A:\r\n\r\n", Open(&[200])),
    ("a header value beyond ASCII", "GET {health} HTTP/1.1\r\n{H}X-A: é\r\n\r\n", Open(&[200])),
    ("a length of zero", "GET {health} HTTP/1.1\r\n{H}Content-Length: 0\r\n\r\n", Open(&[200])),
    (
        "a body on GET",
        "GET {health} HTTP/1.1\r\n{H}Content-Length: 3\r\n\r\nabcGET {health} HTTP/1.1\r\n{H}\r\n",
        Open(&[200, 200]),
    ),
    (
        "a chunked body on GET",
        "GET {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET {health} HTTP/1.1\r\n{H}\r\n",
        Open(&[200, 200]),
    ),
    (
        "chunked in capitals",
        "GET {health} HTTP/1.1\r\n{H}Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
        Open(&[200]),
    ),
    (
        "an Upgrade nobody knows",
        "GET {health} HTTP/1.1\r\n{H}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        Open(&[200]),
    ),
    ("two slashes", "GET //v1/open/health HTTP/1.1\r\n{H}\r\n", Open(&[404])),
    ("a trailing slash", "GET {health}/ HTTP/1.1\r\n{H}\r\n", Open(&[200])),
    // Line feeds alone, which a proxy may take for data.
    ("bare line feeds", "GET {health} HTTP/1.1\nHost: a\n\n", Closed(&[400])),
    ("a bare line feed after the request line", "GET {health} HTTP/1.1\n{H}\r\n", Closed(&[400])),
    (
        "a header hidden after a bare line feed",
        "POST {health} HTTP/1.1\r\n{H}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Closed(&[400]),
    ),
    ("a head that ends with a bare line feed", "GET {health} HTTP/1.1\r\n{H}\n", Closed(&[400])),
    ("a bare line feed in front", "\nGET {health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    (
        "a bare line feed after a good request",
        "GET {health} HTTP/1.1\r\n{H}\r\nGET {health} HTTP/1.1\r\nHost: a\n\r\n",
        Closed(&[200, 400]),
    ),
    (
        "a bare line feed in trailers",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\n\nGET {health} HTTP/1.1\r\n{H}\r\n",
        Closed(&[400]),
    ),
    (
        "a bare line feed after the size of a chunk",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
        Closed(&[405]),
    ),
    // Methods.
    ("TRACE", "TRACE {health} HTTP/1.1\r\n{H}\r\n", Open(&[405])),
    ("TRACE elsewhere", "TRACE /nothing HTTP/1.1\r\n{H}\r\n", Open(&[404])),
    ("a method in lower case", "get {health} HTTP/1.1\r\n{H}\r\n", Open(&[405])),
    ("an unknown method", "BREW {health} HTTP/1.1\r\n{H}\r\n", Open(&[405])),
    ("POST where only GET is", "POST {health} HTTP/1.1\r\n{H}Content-Length: 0\r\n\r\n", Open(&[405])),
    ("CONNECT", "CONNECT a:443 HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("CONNECT with a path", "CONNECT {health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("a long method", "ABCDEFGHIJKLMNOPQRSTUVWXYZ {health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("a method of 10 KB", "{10K} {health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("a method that is no token", "G@T {health} HTTP/1.1\r\n{H}\r\n", Bare(400)),
    ("no method", " {health} HTTP/1.1\r\n{H}\r\n", Bare(400)),
    // Host.
    ("no Host", "GET {health} HTTP/1.1\r\n\r\n", Closed(&[400])),
    ("no Host but an absolute target", "GET http://a{health} HTTP/1.1\r\n\r\n", Closed(&[400])),
    ("two Hosts", "GET {health} HTTP/1.1\r\n{H}Host: b\r\n\r\n", Closed(&[400])),
    ("the same Host twice", "GET {health} HTTP/1.1\r\n{H}{H}\r\n", Closed(&[400])),
    ("two Hosts in HTTP/1.0", "GET {health} HTTP/1.0\r\n{H}{H}\r\n", Closed(&[400])),
    ("an empty Host", "GET {health} HTTP/1.1\r\nHost:\r\n\r\n", Closed(&[400])),
    ("a Host with a blank", "GET {health} HTTP/1.1\r\nHost: a b\r\n\r\n", Closed(&[400])),
    ("a Host with a path", "GET {health} HTTP/1.1\r\nHost: a/b\r\n\r\n", Closed(&[400])),
    ("a Host with a user", "GET {health} HTTP/1.1\r\nHost: u@a\r\n\r\n", Closed(&[400])),
    ("a Host that is a list", "GET {health} HTTP/1.1\r\nHost: a, b\r\n\r\n", Closed(&[400])),
    ("a Host with a port in letters", "GET {health} HTTP/1.1\r\nHost: a:http\r\n\r\n", Closed(&[400])),
    ("a Host with a port too high", "GET {health} HTTP/1.1\r\nHost: a:70000\r\n\r\n", Closed(&[400])),
    ("a Host with half brackets", "GET {health} HTTP/1.1\r\nHost: [::1\r\n\r\n", Closed(&[400])),
    ("a Host beyond ASCII", "GET {health} HTTP/1.1\r\nHost: é\r\n\r\n", Closed(&[400])),
    // Lengths.
    (
        "two equal lengths",
        "POST {health} HTTP/1.1\r\n{H}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        Closed(&[400]),
    ),
    (
        "two different lengths",
        "POST {health} HTTP/1.1\r\n{H}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        Bare(400),
    ),
    ("a list of lengths", "POST {health} HTTP/1.1\r\n{H}Content-Length: 3, 3\r\n\r\nabc", Bare(400)),
    ("a negative length", "POST {health} HTTP/1.1\r\n{H}Content-Length: -1\r\n\r\n", Bare(400)),
    ("a length with a sign", "POST {health} HTTP/1.1\r\n{H}Content-Length: +3\r\n\r\nabc", Bare(400)),
    ("a length in hexadecimal", "POST {health} HTTP/1.1\r\n{H}Content-Length: 0x3\r\n\r\nabc", Bare(400)),
    ("an empty length", "POST {health} HTTP/1.1\r\n{H}Content-Length:\r\n\r\n", Bare(400)),
    (
        "a length beyond 64 bits",
        "POST {health} HTTP/1.1\r\n{H}Content-Length: 99999999999999999999\r\n\r\n",
        Bare(400),
    ),
    (
        "a length after many blanks",
        "POST {health} HTTP/1.1\r\n{H}Content-Length:                                        3\r\n\r\nabc",
        Closed(&[400]),
    ),
    (
        "length, then chunked",
        "POST {health} HTTP/1.1\r\n{H}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Closed(&[400]),
    ),
    (
        "chunked, then length",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        Closed(&[400]),
    ),
    (
        "a request hidden after length and chunked",
        "POST {health} HTTP/1.1\r\n{H}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET {health} HTTP/1.1\r\n{H}\r\n",
        Closed(&[400]),
    ),
    (
        "an ambiguous request after a good one",
        "GET {health} HTTP/1.1\r\n{H}\r\nPOST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        Closed(&[200, 400]),
    ),
    // Transfer-Encoding.
    ("gzip", "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: gzip\r\n\r\n", Bare(400)),
    ("identity", "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: identity\r\n\r\n", Bare(400)),
    (
        "chunked misspelt",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        Bare(400),
    ),
    (
        "chunked, then gzip",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked, gzip\r\n\r\n",
        Bare(400),
    ),
    (
        "gzip, then chunked",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        Closed(&[400]),
    ),
    (
        "chunked twice in a list",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        Closed(&[400]),
    ),
    (
        "chunked on two lines",
        "POST {health} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Closed(&[400]),
    ),
    (
        "chunked in HTTP/1.0",
        "POST {health} HTTP/1.0\r\n{H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Bare(400),
    ),
    // Targets.
    ("a target without a slash", "GET health HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("a target that is a host with a port", "GET a:80 HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("a target that is a query", "GET ?x=1 HTTP/1.1\r\n{H}\r\n", Bare(400)),
    ("an asterisk for GET", "GET * HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("another scheme", "GET ftp://a{health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("an absolute target with a user", "GET http://u:p@a{health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("an absolute target without a host", "GET http://{health} HTTP/1.1\r\n{H}\r\n", Bare(400)),
    ("an absolute target with a bad port", "GET http://a:x{health} HTTP/1.1\r\n{H}\r\n", Closed(&[400])),
    ("no target", "GET HTTP/1.1\r\n{H}\r\n", Bare(400)),
    ("a blank in the target", "GET /a b HTTP/1.1\r\n{H}\r\n", Bare(400)),
    ("half an escape in the path", "GET /v1/%4 HTTP/1.1\r\n{H}\r\n", Open(&[400])),
    ("an escape that is no UTF-8", "GET /v1/%ff HTTP/1.1\r\n{H}\r\n", Open(&[400])),
    ("half an escape in the query", "GET {health}?a=% HTTP/1.1\r\n{H}\r\n", Open(&[400])),
    ("a path of 9 KB", "GET /{9K} HTTP/1.1\r\n{H}\r\n", Open(&[414])),
    ("a path of 70 KB", "GET /{70K} HTTP/1.1\r\n{H}\r\n", Closed(&[414])),
    // Versions.
    ("HTTP/0.9", "GET {health}\r\n\r\n", Bare(400)),
    ("HTTP/1.2", "GET {health} HTTP/1.2\r\n{H}\r\n", Bare(400)),
    ("HTTP/2.0", "GET {health} HTTP/2.0\r\n{H}\r\n", Bare(400)),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Closed(&[])),
    ("another protocol", "GET {health} HTTPS/1.1\r\n{H}\r\n", Bare(400)),
    // Header lines.
    ("a blank in front of the colon", "GET {health} HTTP/1.1\r\nHost : a\r\n\r\n", Bare(400)),
    ("a folded line", "GET {health} HTTP/1.1\r\n{H}X-A: b\r\n c\r\n\r\n", Bare(400)),
    ("a line without a colon", "GET {health} HTTP/1.1\r\n{H}X-A\r\n\r\n", Bare(400)),
    ("a line without a name", "GET {health} HTTP/1.1\r\n{H}: b\r\n\r\n", Bare(400)),
    ("a zero byte in a value", "GET {health} HTTP/1.1\r\n{H}X-A: \0\r\n\r\n", Bare(400)),
    ("a carriage return in a value", "GET {health} HTTP/1.1\r\n{H}X-A: b\rc\r\n\r\n", Bare(400)),
    ("headers of 20 KB", "GET {health} HTTP/1.1\r\n{H}X-A: {20K}\r\n\r\n", Open(&[431])),
    ("headers of 200 KB", "GET {health} HTTP/1.1\r\n{H}X-A: {200K}\r\n\r\n", Closed(&[431])),
    ("headers of 600 KB", "GET {health} HTTP/1.1\r\n{H}X-A: {600K}\r\n\r\n", Closed(&[431])),
    ("a header name of 70 KB", "GET {health} HTTP/1.1\r\n{H}{70K}: b\r\n\r\n", Closed(&[431])),
    ("500 header lines", "GET {health} HTTP/1.1\r\n{H}{500 lines}\r\n", Bare(431)),
    // Other things.
    ("a TLS handshake", "\x16\x03\x01\x02\0\x01\0\x01\r\n\r\n", Bare(400)),
    ("noise", "\u{1}\u{2}\u{3}\r\n\r\n", Bare(400)),
];

fn expand(text: &str) -> Vec<u8> {
    let mut text = text.replace("{H}", "Host: a\r\n").replace("{health}", HEALTH);
    for kilo in [9, 10, 20, 70, 200, 600] {
        text = text.replace(&format!("{{{kilo}K}}"), &"A".repeat(kilo * 1024));
    }
    text.replace("{500 lines}", &"X-A: b\r\n".repeat(500)).into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_head_is_answered_as_it_should() {
    let (api, _) = api().await;
    let server = start(api, super::support::Options::default()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for (name, text, expected) in VECTORS {
        let address = server.address;
        tasks.spawn(async move {
            let heard = send(address, &expand(text)).await;
            let statuses: Vec<u16> = heard.answers.iter().map(|answer| answer.status).collect();
            let all_json = heard.answers.iter().all(|answer| {
                answer.status < 400
                    || answer.header("content-type") == Some("application/json; charset=utf-8")
                        && serde_json::from_slice::<serde_json::Value>(&answer.body).is_ok_and(|body| {
                            body["requestId"].as_str() == answer.header("x-request-id")
                                && body["code"].is_string()
                        })
            });
            let fits = match expected {
                Open(expected) => statuses == *expected && !heard.closed && all_json,
                Closed(expected) => statuses == *expected && heard.closed && !heard.reset && all_json,
                Bare(expected) => {
                    statuses == [*expected]
                        && heard.closed
                        && !heard.reset
                        && heard.answers[0].body.is_empty()
                }
            };
            (!fits).then(|| format!("{name}: expected {expected:?}, heard {statuses:?}, {heard:?}"))
        });
    }
    let wrong: Vec<String> = tasks.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(VECTORS.len() >= 60);
}
