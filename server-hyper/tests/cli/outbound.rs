//! `outbound check`, and the settings of requests to URLs of tenants.

use serde_json::json;

use super::support::Sandbox;

#[test]
fn the_rule_that_refuses_a_url_is_named() {
    let sandbox = Sandbox::new();
    for (url, rule) in [
        ("https://127.0.0.1/", "loopback"),
        ("https://0x7f.1/", "loopback"),
        ("https://169.254.169.254/latest/meta-data", "link_local"),
        ("https://[::ffff:10.0.0.1]/", "private"),
        ("https://hooks.internal/secret-path", "reserved_name"),
        ("https://8.8.8.8:8443/", "port"),
        ("http://8.8.8.8/", "scheme"),
        ("https://user:secret@8.8.8.8/", "userinfo"),
        ("hooks.example.com", "url"),
    ] {
        let error = sandbox.run(&["outbound", "check", url]).failed(1);
        assert!(
            error.contains(&format!("refused by the rule {rule}: ")) && !error.contains("secret"),
            "{url}: {error}"
        );
        let said = sandbox.run(&["outbound", "check", url, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(
            (&shown["allowed"], &shown["rule"], &shown["error"]),
            (&json!(false), &json!(rule), &json!("refused"))
        );
    }
    let said = sandbox.run(&["outbound", "check", "https://8.8.8.8/hook#here"]).done();
    assert_eq!(said, "allowed: https://8.8.8.8/hook\n  8.8.8.8:443\n");
    // No store is opened or made.
    assert!(!sandbox.path("data").exists());
}

#[test]
fn settings_decide() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "s.toml",
        "outbound_allow = [\"10.1.0.0/16\", \"hooks.internal:8443\"]\noutbound_port = [\"443\", \"9443\"]\n",
    );
    let check = |url: &str| sandbox.run(&["outbound", "check", url, "--config", "s.toml"]);
    assert!(check("https://10.1.2.3:9443/").done().contains("  10.1.2.3:9443\n"));
    assert!(check("https://10.2.0.1/").failed(1).contains("add its address or HOST:PORT to outbound_allow"));
    assert!(check("https://10.1.2.3:8443/").failed(1).contains("rule port"));
    let http = sandbox.run(&["outbound", "check", "http://8.8.8.8/", "--with-http"]).done();
    assert!(http.contains("  8.8.8.8:80\n"), "{http}");
    sandbox.run(&["outbound", "check", "http://8.8.8.8/", "--outbound-http"]).done();
    // A server with such settings does not start.
    for (flag, text, part) in [
        ("--outbound-allow", "hooks.internal", "neither a block of addresses nor a host with its port"),
        ("--outbound-allow", "0.0.0.0/0", "would allow nearly every address"),
        ("--outbound-port", "0", "is not a port"),
        ("--outbound-port", "https", "is not a port"),
    ] {
        for command in [&["outbound", "check", "https://8.8.8.8/"][..], &["config", "check"]] {
            let error = sandbox.run(&[command, &[flag, text]].concat()).failed(2);
            assert!(error.contains(part), "{command:?} {flag} {text}: {error}");
        }
    }
}
