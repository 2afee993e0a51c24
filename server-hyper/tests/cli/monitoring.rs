//! The metrics in the dashboard, the alerts and the guide are those of a running server.

use std::collections::{BTreeMap, BTreeSet};

use super::support::{Sandbox, credentials};

const ALERTS: &str = include_str!("../../packaging/monitoring/alerts.yml");
const ALERTS_TEST: &str = include_str!("../../packaging/monitoring/alerts_test.yml");
const DASHBOARD: &str = include_str!("../../packaging/monitoring/dashboard.json");
const OPERATING: &str = include_str!("../../../docs/operating.md");

/// The names of metrics in a text with the labels that follow them in braces.
fn named(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (at, _) in text.match_indices("openapi_").chain(text.match_indices("process_")) {
        if text[..at].chars().next_back().is_some_and(|c| is_part(c) || c == '-') {
            continue;
        }
        let end = text[at..].find(|c| !is_part(c)).map_or(text.len(), |length| at + length);
        let labels = found.entry(&text[at..end]).or_default();
        // Routes have braces of their own, inside quotation marks.
        let Some(inside) = text[end..].strip_prefix('{') else { continue };
        let mut outside_of_quotes = inside.split(['"', '\'']).step_by(2);
        let first = outside_of_quotes.next().unwrap_or_default();
        let mut pieces = vec![first.split('}').next().unwrap_or_default()];
        if !first.contains('}') {
            for piece in outside_of_quotes {
                pieces.push(piece.split('}').next().unwrap_or_default());
                if piece.contains('}') {
                    break;
                }
            }
        }
        let names = pieces.into_iter().flat_map(|piece| piece.split(|c| !is_part(c)));
        labels.extend(names.filter(|name| !name.is_empty()));
    }
    found
}

/// The metrics of a server that has answered requests, refused a connection, evicted one and holds one open.
fn scraped() -> String {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let server = sandbox.serve(&["--max-connections", "1"]);
    let credentials = credentials(&key);
    let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(server.get("/v1/open/contacts/chatbots/acme", &headers).0, 200);
    let document = [("document", "Total: 12.50"), ("schema", super::extraction::SCHEMA)];
    // The one connection that may be open is still closing.
    super::support::within(std::time::Duration::from_secs(5), "a document is extracted", || {
        super::extraction::extract(&server.api, &credentials, &document).0 == 200
    });
    // An idle connection makes room for the next one; one with a request in progress does not.
    let _idle = super::support::connect(&server.api);
    super::support::within(std::time::Duration::from_secs(5), "a connection is evicted", || {
        let _ = std::panic::catch_unwind(|| server.get("/v1/open/health", &[]));
        server.ops("/metrics").1.contains("openapi_connections_evicted_total{")
    });
    let mut open = super::support::connect(&server.api);
    let further = [&headers[..], &[("Content-Type", "application/json")]].concat();
    let head = super::support::head("POST", "/v1/open/contacts/chatbots/acme", &further, 10);
    std::io::Write::write_all(&mut open, head.as_bytes()).unwrap();
    super::support::within(std::time::Duration::from_secs(5), "a request is in progress", || {
        server.ops("/metrics").1.contains("openapi_http_requests_in_flight 1\n")
    });
    super::support::within(std::time::Duration::from_secs(5), "a connection is refused", || {
        // The limit is reached, so the server answers this connection with 503 or closes it.
        let _ = std::panic::catch_unwind(|| server.get("/v1/open/health", &[]));
        server.ops("/metrics").1.contains("openapi_connections_refused_total{")
    });
    server.ops("/metrics").1
}

#[test]
fn dashboard_alerts_and_guide_name_what_is_there() {
    let metrics = scraped();
    let there = named(&metrics);
    // Prometheus adds these labels to every scrape.
    let of_prometheus = ["job", "instance"];
    let (_, section) = OPERATING.split_once("\n## Monitoring\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut used = 0;
    for (file, text) in [
        ("alerts.yml", ALERTS),
        ("alerts_test.yml", ALERTS_TEST),
        ("dashboard.json", &DASHBOARD.replace("\\\"", "\"")),
        ("docs/operating.md", section),
    ] {
        for (name, labels) in named(text) {
            assert!(there.contains_key(name), "{file}: there is no {name} in\n{metrics}");
            // A histogram has one name, and a series for each bucket.
            let known: BTreeSet<&str> = ["", "_bucket"]
                .into_iter()
                .filter_map(|part| there.get(format!("{name}{part}").as_str()))
                .flatten()
                .copied()
                .collect();
            for label in labels.into_iter().filter(|label| !of_prometheus.contains(label)) {
                assert!(known.contains(label), "{file}: {name} has no label {label}, but {known:?}");
            }
            used += 1;
        }
    }
    assert!(used >= 30, "only {used} names were found");
}

#[test]
fn the_guide_and_the_dashboard_leave_no_metric_out() {
    let metrics = scraped();
    let (_, section) = OPERATING.split_once("\n## Monitoring\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let families: Vec<&str> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(families.len() >= 10, "{families:?}");
    for family in families {
        for (file, text) in [("docs/operating.md, Monitoring", section), ("dashboard.json", DASHBOARD)] {
            assert!(text.contains(family), "{file} does not name {family}");
        }
    }
}
