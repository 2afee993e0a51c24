//! Settings: sources of values, masking, rejected values.

use serde_json::Value;

use super::support::Sandbox;

fn shown<'a>(settings: &'a Value, name: &str) -> (&'a str, &'a str) {
    let setting = settings.as_array().unwrap().iter().find(|setting| setting["setting"] == name).unwrap();
    (setting["value"].as_str().unwrap(), setting["origin"].as_str().unwrap())
}

#[test]
fn every_value_is_shown_with_its_origin_and_secrets_are_masked() {
    let sandbox = Sandbox::new();
    sandbox.write("openapi.toml", "# names\nservice_name = \"Acme\"\nlisten = \"127.0.0.1:1\"\nmax_json_size = \"2MiB\"\nhttp2 = true\n");
    let secret = "ab".repeat(32);
    let variables = [
        ("OPENAPI_CONFIG", "openapi.toml"),
        ("OPENAPI_LISTEN", "127.0.0.1:2"),
        ("OPENAPI_SERVER_KEY", secret.as_str()),
    ];
    let said = sandbox.run_with(&variables, &["config", "show", "--json", "--max-json-size", "3MiB"]);
    let settings: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown(&settings, "max_json_size"), ("3MiB", "flag --max-json-size"));
    assert_eq!(shown(&settings, "listen"), ("127.0.0.1:2", "environment OPENAPI_LISTEN"));
    assert_eq!(shown(&settings, "service_name"), ("Acme", "file openapi.toml:2"));
    assert_eq!(shown(&settings, "http2"), ("true", "file openapi.toml:5"));
    assert_eq!(shown(&settings, "id_segment"), ("platformid", "default"));
    assert_eq!(shown(&settings, "server_key"), ("****", "environment OPENAPI_SERVER_KEY"));
    assert!(!said.stdout.contains(&secret) && !said.stderr.contains(&secret));
    let table = sandbox.run_with(&variables, &["config", "show"]).done();
    assert!(table.contains("file openapi.toml:2") && !table.contains(&secret), "{table}");
}

#[test]
fn an_unknown_key_names_its_file_and_line() {
    let sandbox = Sandbox::new();
    sandbox.write("openapi.toml", "listen = \"127.0.0.1:0\"\n\nlisten_on = 5\n");
    for command in [&["config", "check"][..], &["config", "show"], &["serve"], &["agents", "list"]] {
        let said = sandbox.run(&[command, &["--config", "openapi.toml"]].concat()).failed(1);
        assert!(said.contains("openapi.toml:3: unknown key 'listen_on'"), "{said}");
    }
    assert!(sandbox.run(&["config", "check", "--config", "none.toml"]).failed(1).contains("none.toml"));
}

#[test]
fn a_check_tells_all_faults() {
    let sandbox = Sandbox::new();
    sandbox.write("openapi.toml", "max_uri_size = \"1GiB\"\nlog = \"loud\"\n");
    let said =
        sandbox.run(&["config", "check", "--config", "openapi.toml", "--listen", "0.0.0.0:80"]).failed(2);
    assert!(said.contains("max_uri_size") && said.contains("--trusted-proxies"), "{said}");
    assert_eq!(
        sandbox.run(&["config", "check", "--listen", "0.0.0.0:80", "--trusted-proxies", "10.0.0.0/8"]).done(),
        "the settings are sound\n"
    );
    let said = sandbox.run(&["config", "check", "--tls-cert", "a.pem", "--tls-key", "b.pem"]).failed(1);
    assert!(said.contains("a.pem"), "{said}");
    for (variable, fault) in [
        ("OPENAPI_LISTNE", "OPENAPI_LISTNE is not a setting; did you mean OPENAPI_LISTEN?"),
        ("OPENAPI_TRUSTED_PROXY", "did you mean OPENAPI_TRUSTED_PROXIES?"),
    ] {
        let said = sandbox.run_with(&[(variable, "x")], &["config", "check"]).failed(1);
        assert!(said.contains(fault), "{said}");
    }
    let said = sandbox.run(&["config", "check", "--trusted-proxy", "10.0.0.0/8"]).failed(2);
    assert!(said.contains("--trusted-proxies"), "{said}");
    let said = sandbox.run_with(&[("OPENAPI_ZZZ", "x")], &["config", "check"]);
    assert_eq!(said.code, 0);
    assert!(said.stderr.contains("OPENAPI_ZZZ is not a setting"), "{}", said.stderr);
}

#[test]
fn names_outside_their_forms_stop_the_service() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["--service-name", "a b"][..],
        &["--id-segment", "schema"],
        &["--api-key-prefix", "UPPER"],
        &["--public-url", "https://example.com/"],
        &["--log-format", "xml"],
    ] {
        sandbox
            .run(&[&["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off"], arguments].concat())
            .failed(2);
    }
}

#[test]
fn completions_exist_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&["completions", shell]).done();
        assert!(script.contains("contact-schema") && script.contains("ops-listen"), "{shell}");
    }
}

#[test]
fn limits_and_deadlines_of_the_widget_are_named() {
    let sandbox = Sandbox::new();
    let check = |further: &[&str]| sandbox.run(&[&["config", "check"], further].concat());
    check(&["--answer-timeout", "whole=120s", "--answer-timeout", "first_delta=45s"]).done();
    check(&["--widget-limit", "uploads=3/1h", "--widget-limit", "address_repeats=off"]).done();
    check(&["--widget-limit", "address_upload_mib=50/24h", "--widget-limit", "open_uploads=8"]).done();
    for (flag, value, fault) in [
        ("--answer-timeout", "all=5s", "there is no timeout named 'all'"),
        ("--answer-timeout", "whole", "'whole' is not NAME=DURATION"),
        ("--answer-timeout", "whole=2h", "must be from 100ms to 1h"),
        ("--widget-limit", "files=3/1h", "there is no limit named 'files'"),
    ] {
        let said = check(&[flag, value]).failed(2);
        assert!(said.contains(fault), "{flag} {value}: {said}");
    }
}

#[test]
fn settings_that_expose_secrets_cause_warnings() {
    let sandbox = Sandbox::new();
    let key = "5a".repeat(32);
    let check = |variables: &[(&str, &str)], further: &[&str]| {
        let shared = [("OPENAPI_SERVER_KEY", key.as_str()), ("OPENAPI_BLOBS", "memory:")];
        let said =
            sandbox.run_with(&[&shared[..], variables].concat(), &[&["config", "check"], further].concat());
        assert_eq!((said.code, said.stdout.as_str()), (0, "the settings are sound\n"), "{said:?}");
        said.stderr
    };
    let store = |url| check(&[("OPENAPI_STORE", url)], &[]);
    assert_eq!(store("postgres://u:secret@db.internal/d?sslmode=verify-full"), "");
    assert_eq!(store("mongodb://u:secret@127.0.0.1/d"), "");
    for url in ["postgres://u:secret@db.internal/d", "mongodb://u:secret@db.internal/d"] {
        let said = store(url);
        assert!(said.contains("warning: store: ") && said.contains("plain text"), "{said}");
        assert!(said.contains("db.internal") && !said.contains("secret"), "{said}");
    }
    let model = ["--llm", "main.url=http://models.example.com/v1", "--llm", "main.model=m"];
    assert!(check(&[], &model).contains("llm.main.url: "), "a model in plain text");
    let in_flag = check(&[], &["--store", "postgres://u:secret@localhost/d"]);
    assert!(in_flag.contains("on the command line") && in_flag.contains("--store-file"), "{in_flag}");
    assert!(!in_flag.contains("secret"), "{in_flag}");
    let minio = [("AWS_ENDPOINT_URL", "http://minio.internal:9000"), ("OPENAPI_BLOBS", "s3://bucket/x")];
    assert!(check(&minio, &[]).contains("blobs: AWS_ENDPOINT_URL"), "an object store in plain text");
    let mail = ["--smtp-host", "mail.example.com", "--mail-from", "chat@example.com", "--smtp-tls", "none"];
    let mail = [&mail[..], &["--widget-listen", "127.0.0.1:8081"]].concat();
    assert!(check(&[], &mail).contains("smtp_host: "), "e-mail in plain text");
    assert!(check(&[("OPENAPI_OUTBOUND_HTTP", "true")], &[]).contains("outbound_http: "), "plain webhooks");
    let said = sandbox.run(&["config", "check", "--trusted-proxies", "0.0.0.0/0"]).failed(2);
    assert!(said.contains("name the addresses of the proxies"), "{said}");
}

#[test]
fn files_with_a_byte_order_mark_are_read() {
    let sandbox = Sandbox::new();
    let utf_16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    sandbox.write("key", &format!("\u{feff}{}\r\n", "5a".repeat(32)));
    std::fs::write(sandbox.path("store"), utf_16("sqlite:./elsewhere/openapi.db\r\n")).unwrap();
    sandbox.write("openapi.toml", "\u{feff}store_file = \"store\"\r\nserver_key_file = \"key\"\r\n");
    let config = ["--config", "openapi.toml"];
    assert_eq!(sandbox.run(&[&["config", "check"][..], &config].concat()).done(), "the settings are sound\n");
    sandbox.run(&[&["agents", "create", "A", "--id", "a"][..], &config].concat()).done();
    assert!(sandbox.path("elsewhere/openapi.db").is_file());
    let listed = sandbox.run(&[&["server-key", "list"][..], &config].concat());
    assert_eq!(listed.code, 0, "{listed:?}");
}
