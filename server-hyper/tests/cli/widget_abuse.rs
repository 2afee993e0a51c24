//! One address floods the widget: memory and model calls stay bounded, and other visitors are served. The benchmark
//! `widget-abuse` runs longer and also measures times.

use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use super::fleet_widget::{Endpoint, event, turn};
use super::support::{Sandbox, Serving, answer, connect};
use super::widget_listener::{self, PAGE, TEXT, agent};

/// Turns of the flood.
const TURNS: u32 = 10_000;
/// The maximum growth of a server's memory, in KiB.
const MOST_KIB: u64 = 20 * 1024;
/// Turns per address and minute; challenges begin below this limit.
const TURNS_OF_ADDRESS: usize = 30;

fn send(server: &Serving, from: &str, origin: &str, body: &str) -> TcpStream {
    let headers = [TEXT, ("Origin", origin), ("X-Forwarded-For", from)];
    widget_listener::send(server, "POST", "/widget/v1/turns", &headers, body)
}

fn resident_kib(server: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_flood_from_one_address_costs_little_and_keeps_nobody_out() {
    let endpoint = Endpoint::new();
    let sandbox = Sandbox::new();
    let settings = [
        "chat.responder=llm",
        "chat.llm.grounding=open",
        "chat.fallback=error",
        "origins=[\"https://www.example.com\"]",
    ];
    agent(&sandbox, "acme", &settings);
    let url = format!("default.url=http://{}/v1", endpoint.address);
    let server = sandbox.serve(&[
        "--widget-listen",
        "127.0.0.1:0",
        "--trusted-proxies",
        "127.0.0.1",
        "--llm",
        &url,
        "--llm",
        "default.model=stub",
    ]);
    let honest = |number: u32| {
        let from = format!("198.51.100.{number}");
        let body = turn(100_000 + number, &Value::Null).to_string();
        let (status, stream) = answer(&mut send(&server, &from, PAGE, &body));
        assert_eq!(status, 200, "{stream}");
        assert_eq!(event(&stream, "done"), json!({ "outcome": "answered" }), "{stream}");
    };
    honest(1);
    let before = resident_kib(&server);
    let asked = endpoint.asked();
    // Connections with incomplete heads stay open during the flood.
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = connect(server.widget.as_deref().unwrap());
            stream.write_all(b"POST /widget/v1/turns HTTP/1.1\r\nHost: a\r\nX-A: ").unwrap();
            stream
        })
        .collect();
    let large = "x".repeat(2 << 20);
    let begun = Instant::now();
    let mut statuses = std::collections::BTreeMap::<u16, u32>::new();
    for number in 0..TURNS {
        let forged = format!("https://shop{}.example.net", number % 50);
        let origin = if number % 5 == 0 { &forged } else { PAGE };
        let body = turn(number, &Value::Null).to_string();
        let mut sent = match number % 100 {
            // From many addresses, so that no limit per address applies first.
            50 => send(&server, &format!("192.0.2.{}", number / 100), origin, &large),
            _ => send(&server, "203.0.113.9", origin, &body),
        };
        *statuses.entry(answer(&mut sent).0).or_default() += 1;
        if number % 2_500 == 1_250 {
            let flooded = endpoint.asked();
            honest(2 + number / 2_500);
            assert_eq!(endpoint.asked(), flooded + 1);
        }
    }
    let of_flood = endpoint.asked() - asked - 4;
    // A slow machine may need more than one minute.
    let minutes = 1 + usize::try_from(begun.elapsed().as_secs() / 60).unwrap();
    let most = TURNS_OF_ADDRESS * minutes;
    assert!((1..=most).contains(&of_flood), "{of_flood} calls of the model, {statuses:?}");
    assert_eq!(statuses.get(&413), Some(&(TURNS / 100)), "{statuses:?}");
    assert!(statuses[&429] > TURNS / 2, "{statuses:?}");
    let grown = resident_kib(&server).saturating_sub(before);
    assert!(grown <= MOST_KIB, "{grown} KiB more");
    drop(slow);
    assert_eq!(server.end(), 0);
}
