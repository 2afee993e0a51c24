//! The names of a service (contract 1): a setting outside its allowed values cannot be represented.

use openapi_core::access::ApiKeyPrefix;
use openapi_core::service_info::ServiceInfo;

fn service_info() -> ServiceInfo {
    ServiceInfo::new("https://api.example.com").expect("a valid URL")
}

#[test]
fn defaults() {
    let service_info = service_info();
    assert_eq!(
        (service_info.service_name(), service_info.id_segment(), service_info.api_key_prefix().as_str()),
        ("Service", "platformid", "svc")
    );
}

#[test]
fn service_names() {
    for good in ["A", "a1", "Acme", &"x".repeat(32)] {
        assert_eq!(service_info().with_service_name(good).expect("a name").service_name(), good);
    }
    for bad in ["", "1a", "_a", "a-b", "a b", "é", &"x".repeat(33)] {
        assert!(service_info().with_service_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn id_segments() {
    for good in ["ab", "a1", "acme-id", "a-", &"x".repeat(32), "platformid", "schemas"] {
        assert_eq!(service_info().with_id_segment(good).expect("a segment").id_segment(), good);
    }
    for bad in [
        "",
        "a",
        "1a",
        "-a",
        "A1",
        "a_b",
        "a.b",
        "a/b",
        "é1",
        &"x".repeat(33),
        "schema",
        "chatbots",
        "archive",
        "unarchive",
    ] {
        assert!(service_info().with_id_segment(bad).is_err(), "{bad}");
    }
}

#[test]
fn api_key_prefixes() {
    for good in ["ab", "svc", "a1234567"] {
        assert_eq!(ApiKeyPrefix::new(good).expect("a tag").as_str(), good);
    }
    for bad in ["", "a", "1a", "A1", "a-b", "a_b", "a12345678", "é1"] {
        assert!(ApiKeyPrefix::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn public_urls() {
    for good in
        ["http://127.0.0.1:8080", "https://api.example.com", "https://example.com/prefix", "http://[::1]:1"]
    {
        assert_eq!(ServiceInfo::new(good).expect("a URL").public_url(), good);
    }
    for bad in [
        "",
        "api.example.com",
        "/v1",
        "//x",
        "https://example.com/",
        "https://example.com/a/",
        "ftp://a",
        "https://",
        "https://a?b",
        "https://a#b",
        "https://u:p@a",
        " https://a",
        "https://a b",
    ] {
        assert!(ServiceInfo::new(bad).is_err(), "{bad}");
    }
}
