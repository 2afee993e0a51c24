//! No spelling of a refused address, no resolution and no URL of a generator leads to a connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use openapi_core::ports::{Outbound, OutboundError};
use outbound::{HttpOutbound, Policy};
use proptest::collection::vec;
use proptest::prelude::*;
use tokio::net::TcpStream;

use crate::spellings::{ADDRESSES, hosts, urls};
use crate::support::{Answers, Receiver, Recorder, Refuser, crawl, get, parts, policy};

/// Whether an address is inside, by rules written apart from those of the judge.
fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = u32::from(address).to_be_bytes();
            matches!(a, 0 | 10 | 127 | 224..)
                || (a == 100 && b & 0xc0 == 64)
                || (a == 169 && b == 254)
                || (a == 172 && b & 0xf0 == 16)
                || (a == 192 && (b == 168 || (b == 0 && (c == 0 || c == 2)) || (b == 88 && c == 99)))
                || (a == 192 && matches!((b, c), (31, 196) | (52, 193) | (175, 48)))
                || (a == 198 && (b & 0xfe == 18 || (b == 51 && c == 100)))
                || (a == 203 && b == 0 && c == 113)
                || address == Ipv4Addr::new(168, 63, 129, 16)
        }
        IpAddr::V6(address) => {
            let [a, b, ..] = address.segments();
            a & 0xe000 != 0x2000
                || (a == 0x2001 && (b < 0x200 || b == 0xdb8))
                || a == 0x2002
                || address.segments()[..3] == [0x2620, 0x4f, 0x8000]
                || (a == 0x3fff && b < 0x1000)
        }
    }
}

/// A listener that only counts.
async fn counting(address: &str) -> Receiver {
    Receiver::at(address, |stream, _| async move {
        drop(stream);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_thousand_spellings_lead_to_no_connection() {
    let listener = counting("[::]:0").await;
    let port = listener.port();
    // The listener is there, on both families and on other addresses of the loopback network.
    for address in ["127.0.0.1", "127.1.2.3", "::1"] {
        TcpStream::connect(SocketAddr::new(address.parse().unwrap(), port)).await.unwrap();
    }
    while listener.connections() < 3 {
        tokio::task::yield_now().await;
    }
    let recorder = Arc::new(Recorder::default());
    let client = HttpOutbound::new(policy(&[], &[port]), parts(Answers::of(&[]), recorder.clone()));
    let (mut tried, mut by_text) = (0, 0);
    for host in hosts() {
        for (at, url) in urls(&host, port).into_iter().enumerate() {
            let refused = |error: &OutboundError| {
                // Spellings that are no URL at all are refused as such.
                matches!(error, OutboundError::Refused { .. })
            };
            let checked = client.check(&url, openapi_core::ports::OutboundSchemes::Https).unwrap_err();
            let sent = client.send(crawl(url.clone())).await.unwrap_err();
            assert!(refused(&checked) && refused(&sent), "{url}: {checked}, {sent}");
            tried += 1;
            if let OutboundError::Refused { rule, .. } = sent
                && at == 0
                && rule != "url"
            {
                by_text += 1;
            }
        }
    }
    assert!(tried >= 10_000 && by_text >= 1_000, "{tried} URLs, {by_text} spellings of hosts");
    assert_eq!(*recorder.dialed.lock(), []);
    assert_eq!(listener.connections(), 3);
}

#[tokio::test]
async fn names_that_resolve_to_refused_addresses_lead_to_no_connection() {
    let listener = counting("[::]:0").await;
    let port = listener.port();
    let url = format!("https://receiver.example:{port}/");
    for (address, expected) in ADDRESSES {
        let mapped = format!("::ffff:{address}");
        let mut answers = vec![vec![*address], vec!["8.8.8.8", *address], vec![*address, "2606:4700::1"]];
        if !address.contains(':') {
            answers.push(vec![mapped.as_str()]);
        }
        for answer in answers {
            let recorder = Arc::new(Refuser::default());
            let resolver = Answers::of(&[("receiver.example", &[&answer])]);
            let client = HttpOutbound::new(policy(&[], &[port]), parts(resolver, recorder.clone()));
            match client.send(get(url.clone())).await {
                Err(OutboundError::Refused { rule, .. }) => assert_eq!(rule, *expected, "{answer:?}"),
                other => panic!("{answer:?}: {other:?}"),
            }
            assert_eq!(*recorder.dialed.lock(), [], "{answer:?}");
        }
    }
    assert_eq!(listener.connections(), 0);
}

/// The name leads to an allowed address first, and inside at each later resolution. The client resolves once a request
/// and connects to what it has judged.
#[tokio::test]
async fn a_rebinding_resolver_gains_nothing() {
    let outside = Receiver::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let port = outside.port();
    let inside = counting(&format!("127.0.0.1:{port}")).await;
    let resolver = Answers::of(&[("receiver.example", &[&["127.0.0.2"], &["127.0.0.1"]])]);
    let recorder = Arc::new(Recorder::default());
    let client =
        HttpOutbound::new(policy(&["127.0.0.2"], &[port]), parts(resolver.clone(), recorder.clone()));
    let url = format!("http://receiver.example:{port}/");
    assert_eq!(client.send(get(url.clone())).await.unwrap().status, 200);
    assert_eq!(resolver.lookups.load(std::sync::atomic::Ordering::SeqCst), 1);
    // An idle connection to the first address exists, and does not serve a name that now leads elsewhere.
    for _ in 0..3 {
        assert_eq!(client.send(get(url.clone())).await.unwrap_err().word(), "refused");
    }
    assert_eq!((outside.connections(), inside.connections()), (1, 0));
    assert_eq!(*recorder.dialed.lock(), [SocketAddr::from(([127, 0, 0, 2], port))]);
}

/// A connection that reaches another address than the judged one carries no request.
#[tokio::test]
async fn the_peer_is_compared() {
    struct Astray(SocketAddr);
    #[async_trait::async_trait]
    impl outbound::Dial for Astray {
        async fn dial(&self, _: SocketAddr) -> std::io::Result<TcpStream> {
            TcpStream::connect(self.0).await
        }
    }
    let inside = Receiver::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let resolver = Answers::of(&[("receiver.example", &[&["8.8.8.8"]])]);
    let client =
        HttpOutbound::new(policy(&[], &[inside.port()]), parts(resolver, Arc::new(Astray(inside.address))));
    match client.send(get(inside.url("/"))).await {
        Err(OutboundError::Refused { rule, .. }) => assert_eq!(rule, "peer"),
        other => panic!("{other:?}"),
    }
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        4 => proptest::sample::select(ADDRESSES).prop_map(|(address, _)| address.parse().unwrap()),
        2 => any::<[u8; 4]>().prop_map(IpAddr::from),
        2 => any::<[u8; 16]>().prop_map(IpAddr::from),
        1 => any::<[u8; 13]>().prop_map(|rest| {
            // Within the global unicast addresses.
            let mut bytes = [0; 16];
            bytes[0] = 0x20 | (rest[0] & 0x1f);
            bytes[1..13].copy_from_slice(&rest[1..]);
            IpAddr::from(bytes)
        }),
    ]
}

fn url() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![
        4 => Just("https:".to_owned()), 2 => Just("http:".to_owned()), 1 => "[a-zA-Z]{0,6}:?",
    ];
    let slashes = prop_oneof![6 => Just("//".to_owned()), 1 => "[/\\\\]{0,4}", 1 => "[\\t\\n /\\\\]{0,3}"];
    let user = prop_oneof![6 => Just(String::new()), 1 => "[a-z.:%@]{0,8}@"];
    let host = prop_oneof![
        3 => proptest::sample::select(hosts()),
        3 => Just("receiver.example".to_owned()),
        1 => address().prop_map(|address| match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        }),
        1 => "[0-9a-fx.]{1,20}",
        1 => "\\[[0-9a-f:.]{1,30}\\]",
        1 => "\\PC{1,12}",
    ];
    let port = prop_oneof![4 => Just(String::new()), 1 => Just(":443".to_owned()), 1 => ":[0-9]{0,6}"];
    let path = prop_oneof![4 => Just("/".to_owned()), 1 => "[/\\\\?#@:a-z0-9.]{0,20}", 1 => "\\PC{0,12}"];
    (scheme, slashes, user, host, port, path).prop_map(|(a, b, c, d, e, f)| [a, b, c, d, e, f].concat())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_url_reaches_a_refused_address(url in url(), answers in vec(address(), 0..4)) {
        let refuser = Arc::new(Refuser::default());
        let texts: Vec<String> = answers.iter().map(IpAddr::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let resolver = Answers::of(&[("receiver.example", &[&texts])]);
        let allowing = Policy { http: true, ports: vec![443, 80, 8443], ..Policy::default() };
        let client = HttpOutbound::new(allowing, parts(resolver, refuser.clone()));
        let sent = runtime().block_on(client.send(crawl(url.clone())));
        prop_assert!(sent.is_err());
        for address in refuser.dialed.lock().iter() {
            prop_assert!(!is_inside(address.ip()), "{url} with {answers:?} reaches {address}");
        }
    }
}

/// The same by redirects of a receiver that may be reached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_redirect_reaches_a_refused_address() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    use tokio::io::AsyncWriteExt as _;
    let locations = Arc::new(parking_lot::Mutex::new(String::new()));
    let next = Arc::clone(&locations);
    let outside = Receiver::new(move |mut stream, _| {
        let next = Arc::clone(&next);
        async move {
            while crate::support::read_head(&mut stream).await?.is_some() {
                let location = next.lock().clone();
                let answer =
                    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await?;
            }
            Ok(())
        }
    })
    .await;
    let port = outside.port();
    let inside = counting(&format!("127.0.0.1:{port}")).await;
    let mut runner = TestRunner::deterministic();
    let mut generated: Vec<String> = hosts().into_iter().map(|host| format!("//{host}:{port}/")).collect();
    for _ in 0..500 {
        generated.push(url().new_tree(&mut runner).unwrap().current());
    }
    let recorder = Arc::new(Recorder::default());
    let resolver =
        Answers::of(&[("start.example", &[&["127.0.0.2"]]), ("receiver.example", &[&["10.0.0.1"]])]);
    let client = HttpOutbound::new(policy(&["127.0.0.2"], &[port]), parts(resolver, recorder.clone()));
    let mut tried = 0;
    for location in generated.iter().filter(|location| location.bytes().all(|byte| byte.is_ascii_graphic())) {
        locations.lock().clone_from(location);
        let _ = client.send(crawl(format!("http://start.example:{port}/"))).await;
        tried += 1;
    }
    assert!(tried > 1_000, "{tried}");
    for address in recorder.dialed.lock().iter() {
        assert!(address.ip() == IpAddr::from([127, 0, 0, 2]) || !is_inside(address.ip()), "{address}");
    }
    assert!(outside.connections() >= 1);
    assert_eq!(inside.connections(), 0);
}
