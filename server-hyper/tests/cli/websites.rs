//! Websites that agents reply from: a running server reads one of this machine.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Sandbox, within};

/// The address of the website: it is no address of other tests.
const HOST: &str = "127.0.0.3";

/// A website of three pages, which counts what it is asked for.
fn website() -> (String, Arc<Mutex<HashMap<String, usize>>>) {
    let listener = TcpListener::bind((HOST, 0)).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let counts = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let path =
                lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            *counts.lock().unwrap().entry(path.clone()).or_default() += 1;
            let page = |title: &str, text: &str| {
                let body = format!(
                    "<title>{title}</title><nav><a href=/visits>1</a><a href=/app>2</a></nav><main><h1>{title}</h1><p>{text}</main>"
                );
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
            };
            let answer = match path.as_str() {
                "/" => page("Practice", "We are a practice for the whole family in the middle of the town."),
                "/visits" => {
                    page("Visits", "Home visits are available in Leeds on weekdays from eight to eighteen.")
                }
                "/app" => page("Portal", "<div id=root></div><script>1</script>"),
                _ => "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
            };
            // The server may have been ended.
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    (origin, asked)
}

fn show(sandbox: &Sandbox, url: &str) -> Value {
    sandbox.json(&["knowledge", "sources", "show", url, "--agent", "acme"])
}

#[test]
fn a_website_is_read_in_the_background_and_goes_on_after_a_restart() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    let (origin, asked) = website();
    let url = format!("{origin}/");
    let port = origin.rsplit(':').next().unwrap().to_owned();
    let flags = ["--outbound-allow", &format!("{HOST}/32"), "--outbound-port", &port];
    let server = sandbox.serve(&flags);
    let added = sandbox.json(&["knowledge", "sources", "add", &url, "--agent", "acme", "--every", "7d"]);
    assert_eq!(
        (&added["url"], &added["everyHours"], &added["state"]),
        (&json!(url), &json!(168), &json!("waiting"))
    );
    within(Duration::from_secs(20), "the first page is asked for", || {
        asked.lock().unwrap().contains_key("/")
    });
    assert_eq!(server.end(), 0);
    let interrupted = show(&sandbox, &url);
    assert_eq!(interrupted["website"]["state"], "waiting", "the server handed it back");

    let server = sandbox.serve(&flags);
    within(Duration::from_secs(30), "the website is read", || {
        show(&sandbox, &url)["website"]["state"] == "scheduled"
    });
    let report = show(&sandbox, &url);
    assert_eq!(
        (&report["website"]["pages"]["read"], &report["website"]["pages"]["notRead"]),
        (&json!(2), &json!(1))
    );
    let app = report["pages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|page| page["url"] == format!("{origin}/app"))
        .unwrap();
    assert_eq!((&app["outcome"], &app["documentId"]), (&json!("noText"), &Value::Null));
    assert_eq!(asked.lock().unwrap()["/"], 1, "a page that was read is not asked for again");
    let said = sandbox.run(&["knowledge", "sources", "show", &url, "--agent", "acme"]).done();
    assert!(
        said.contains("/app")
            && said.contains("the page gets its text by a script")
            && !said.contains("/visits")
    );
    let listed = sandbox.json(&["knowledge", "list", "--agent", "acme"]);
    assert!(listed.as_array().unwrap().iter().all(|document| document["source"] == added["id"]));

    let found = sandbox.json(&["knowledge", "search", "When are home visits available?", "--agent", "acme"]);
    assert_eq!(
        (&found["wouldAnswer"], &found["passages"][0]["url"]),
        (&json!(true), &json!(format!("{origin}/visits")))
    );
    sandbox.json(&["knowledge", "sources", "sync", &url, "--agent", "acme"]);
    within(Duration::from_secs(30), "it is read again", || {
        show(&sandbox, &url)["website"]["pages"]["unchanged"] == json!(2)
    });
    sandbox.json(&["knowledge", "sources", "remove", added["id"].as_str().unwrap(), "--agent", "acme"]);
    assert_eq!(sandbox.json(&["knowledge", "list", "--agent", "acme"]), json!([]));
    assert_eq!(sandbox.json(&["knowledge", "sources", "list", "--agent", "acme"]), json!([]));
    assert_eq!(server.end(), 0);
}

#[test]
fn what_is_no_website_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    let add = |url: &str, more: &[&str]| {
        let words = ["knowledge", "sources", "add", url, "--agent", "acme"];
        sandbox.run(&[&words[..], more].concat())
    };
    assert!(add("www.example.com", &[]).failed(1).contains("write such as https://www.example.com/"));
    assert!(add("https://a:b@example.com/", &[]).failed(1).contains("no user name and no password"));
    assert!(add("https://example.com/", &["--every", "90m"]).failed(2).contains("whole hours"));
    assert!(add("https://example.com/", &["--every", "91d"]).failed(1).contains("every 1 to 2160 hours"));
    add("https://example.com/", &["--once"]).done();
    assert!(add("https://example.com/#top", &[]).failed(1).contains("already has the website"));
    let missing = sandbox.run(&["knowledge", "sources", "show", "https://other.example/", "--agent", "acme"]);
    assert!(missing.failed(1).contains("there is no website 'https://other.example/'"));
}
