//! One address that floods the widget: what it costs memory and the model, and that others are served meanwhile. The
//! benchmark `widget-abuse` does the same at length and looks at times as well.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::fleet_widget::{Endpoint, event, turn};
use super::support::{Place, Serving, answer, connect, head};

/// Turns of the flood.
const TURNS: u32 = 10_000;
/// What the memory of a server may grow by, in KiB.
const MOST_KIB: u64 = 20 * 1024;
/// Turns of an address in a minute; a challenge is asked for before that.
const TURNS_OF_ADDRESS: usize = 30;

fn send(server: &Serving, from: &str, origin: &str, body: &[u8]) -> TcpStream {
    let mut stream = connect(server.widget.as_deref().unwrap());
    let headers =
        [("Content-Type", "text/plain;charset=UTF-8"), ("Origin", origin), ("X-Forwarded-For", from)];
    stream.write_all(head("POST", "/widget/v1/turns", &headers, body.len()).as_bytes()).unwrap();
    // What is too large is answered before it is read.
    let _ = stream.write_all(body);
    stream
}

fn resident_kib(server: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_flood_from_one_address_costs_little_and_keeps_nobody_out() {
    const PAGE: &str = "https://www.example.com";
    let endpoint = Endpoint::new();
    let place = Place::new();
    place.run(&["agents", "create", "Acme", "--id", "acme"]).done();
    let settings = [
        "chat.responder=llm",
        "chat.llm.grounding=open",
        "chat.fallback=error",
        "origins=[\"https://www.example.com\"]",
    ];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    place.run(&["agents", "configure", "acme"].into_iter().chain(settings).collect::<Vec<_>>()).done();
    let url = format!("http://{}/v1", endpoint.address);
    let server = place.serve(&[
        "--widget-listen",
        "127.0.0.1:0",
        "--behind-proxy",
        "127.0.0.1",
        "--llm-endpoint",
        &url,
        "--llm-model",
        "stub",
    ]);
    let honest = |number: u32| {
        let from = format!("198.51.100.{number}");
        let body = turn(100_000 + number, &Value::Null).to_string();
        let (status, told) = answer(&mut send(&server, &from, PAGE, body.as_bytes()));
        assert_eq!(status, 200, "{told}");
        assert_eq!(event(&told, "done"), json!({ "outcome": "answered" }), "{told}");
    };
    honest(1);
    let before = resident_kib(&server);
    let asked = endpoint.asked();
    // Heads that do not come to their end stay open meanwhile.
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = connect(server.widget.as_deref().unwrap());
            stream.write_all(b"POST /widget/v1/turns HTTP/1.1\r\nHost: a\r\nX-A: ").unwrap();
            stream
        })
        .collect();
    let large = vec![b'x'; 2 << 20];
    let mut statuses = std::collections::BTreeMap::<u16, u32>::new();
    for number in 0..TURNS {
        let forged = format!("https://shop{}.example.net", number % 50);
        let origin = if number % 5 == 0 { &forged } else { PAGE };
        let body = turn(number, &Value::Null).to_string();
        let mut sent = match number % 100 {
            50 => send(&server, "203.0.113.9", origin, &large),
            _ => send(&server, "203.0.113.9", origin, body.as_bytes()),
        };
        let status = if number % 100 == 50 { 413 } else { answer(&mut sent).0 };
        *statuses.entry(status).or_default() += 1;
        if number % 2_500 == 1_250 {
            let flooded = endpoint.asked();
            honest(2 + number / 2_500);
            assert_eq!(endpoint.asked(), flooded + 1);
        }
    }
    let of_flood = endpoint.asked() - asked - 4;
    assert!((1..=TURNS_OF_ADDRESS).contains(&of_flood), "{of_flood} calls of the model, {statuses:?}");
    assert!(statuses[&429] > TURNS / 2, "{statuses:?}");
    let grown = resident_kib(&server).saturating_sub(before);
    assert!(grown <= MOST_KIB, "{grown} KiB more");
    drop(slow);
    assert_eq!(server.end(), 0);
}
