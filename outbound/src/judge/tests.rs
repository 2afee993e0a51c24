//! What the judge refuses, rule by rule; without any of its rules it lets something pass.

use std::collections::BTreeSet;

use super::*;

#[expect(dead_code, reason = "the integration tests use the rest")]
#[path = "../../tests/outbound/spellings.rs"]
mod spellings;

const HTTPS: OutboundSchemes = OutboundSchemes::Https;

fn word(outcome: Result<Target, Refusal>) -> &'static str {
    outcome.map_or_else(|refusal| refusal.rule.word(), |_| "passes")
}

fn judged(judge: &Judge, host: &str) -> &'static str {
    let host =
        if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    word(judge.target(&format!("https://{host}/"), HTTPS))
}

/// Addresses and names for which the judge says something else than it should.
fn deviations(judge: &Judge) -> Vec<String> {
    let expected = spellings::ADDRESSES.iter().chain(spellings::NAMES).copied();
    let expected = expected.chain(spellings::PUBLIC.iter().map(|address| (*address, "passes")));
    expected.filter(|(host, word)| judged(judge, host) != *word).map(|(host, _)| host.to_owned()).collect()
}

#[test]
fn addresses_and_names() {
    assert_eq!(deviations(&Judge::new(Policy::default())), Vec::<String>::new());
}

#[test]
fn mapped_addresses_are_those_that_they_contain() {
    let judge = Judge::new(Policy::default());
    for (address, expected) in spellings::ADDRESSES.iter().filter(|(address, _)| !address.contains(':')) {
        assert_eq!(judged(&judge, &format!("::ffff:{address}")), *expected, "{address}");
    }
    assert_eq!(judged(&judge, "::ffff:8.8.8.8"), "passes");
}

/// Each rule is needed: without it, something is judged differently.
#[test]
fn a_judge_without_any_one_rule_is_noticed() {
    for skipped in 0..BLOCKS.len() {
        let rest: Vec<Block> = [&BLOCKS[..skipped], &BLOCKS[skipped + 1..]].concat();
        let judge = Judge { blocks: rest.leak(), ..Judge::new(Policy::default()) };
        assert!(!deviations(&judge).is_empty(), "nobody misses {:?}", BLOCKS[skipped]);
    }
    for (skipped, rule) in NAME_RULES.iter().enumerate() {
        let rest: Vec<NameRule> = NAME_RULES
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != skipped)
            .map(|(_, it)| NameRule { rule: it.rule, refuses: it.refuses })
            .collect();
        let judge = Judge { names: rest.leak(), ..Judge::new(Policy::default()) };
        assert!(!deviations(&judge).is_empty(), "nobody misses {}", rule.rule);
    }
}

#[test]
fn urls_by_their_text() {
    let judge = Judge::new(Policy::default());
    for (url, expected) in [
        ("https://hooks.example.com/a?b=c", "passes"),
        ("https://hooks.example.com:443/", "passes"),
        ("https://8.8.8.8/", "passes"),
        ("", "url"),
        ("hooks.example.com", "url"),
        ("/hook", "url"),
        ("https://", "url"),
        ("https://exa mple.com/", "url"),
        ("https://1.2.3.4.5/", "url"),
        ("https://256.256.256.256/", "url"),
        ("https://[fe80::1%25eth0]/", "url"),
        ("http://hooks.example.com/", "scheme"),
        ("ftp://hooks.example.com/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://127.0.0.1/", "scheme"),
        ("data:text/plain,x", "scheme"),
        ("https://user@hooks.example.com/", "userinfo"),
        ("https://user:secret@hooks.example.com/", "userinfo"),
        ("https://:secret@hooks.example.com/", "userinfo"),
        ("https://hooks.example.com:22/", "port"),
        ("https://hooks.example.com:80/", "port"),
        ("https://hooks.example.com:0/", "port"),
    ] {
        assert_eq!(word(judge.target(url, HTTPS)), expected, "{url}");
    }
    let long = format!("https://hooks.example.com/{}", "a".repeat(MAX_URL_BYTES));
    assert_eq!(word(judge.target(&long, HTTPS)), "url");
    let refusal = judge.target("https://user:secret@hooks.example.com/path", HTTPS).unwrap_err();
    assert!(!refusal.to_string().contains("secret") && !refusal.to_string().contains("path"), "{refusal}");
}

#[test]
fn schemes_and_ports_by_policy() {
    let both = OutboundSchemes::HttpAndHttps;
    let judge = Judge::new(Policy::default());
    assert_eq!(word(judge.target("http://example.com/", both)), "passes");
    assert_eq!(word(judge.target("http://example.com:443/", both)), "passes");
    assert_eq!(word(judge.target("http://example.com:8080/", both)), "port");
    let judge = Judge::new(Policy { ports: vec![8443], http: true, ..Policy::default() });
    assert_eq!(word(judge.target("http://example.com/", HTTPS)), "passes");
    assert_eq!(word(judge.target("https://example.com:8443/", HTTPS)), "passes");
    assert_eq!(word(judge.target("https://example.com/", HTTPS)), "port");
    assert_eq!(word(judge.target("http://localhost/", HTTPS)), "reserved_name");
}

#[test]
fn redirects_are_judged_like_first_urls() {
    let both = OutboundSchemes::HttpAndHttps;
    let judge = Judge::new(Policy::default());
    let from = judge.target("https://example.com/a/b", both).unwrap();
    let next = |location: &str| judge.redirect(&from, location, both);
    assert_eq!(next("c?d").unwrap().url(), "https://example.com/a/c?d");
    assert_eq!(next("//other.example/x#y").unwrap().url(), "https://other.example/x");
    for (location, expected) in [
        ("http://example.com/", "scheme"),
        ("//127.0.0.1/", "loopback"),
        ("//localhost/", "reserved_name"),
        ("https://[::1]/", "loopback"),
        ("//a@example.com/", "userinfo"),
        ("//example.com:22/", "port"),
        ("file:///etc/passwd", "scheme"),
        ("//[", "url"),
    ] {
        assert_eq!(word(next(location)), expected, "{location}");
    }
    assert_eq!(word(next(&"a".repeat(MAX_URL_BYTES + 1))), "url");
    let plain = judge.target("http://example.com/", both).unwrap();
    assert_eq!(word(judge.redirect(&plain, "https://example.com/", both)), "passes");
    assert_eq!(word(judge.redirect(&plain, "//10.0.0.1/", both)), "private");
}

#[test]
fn one_refused_address_refuses_the_name() {
    let judge = Judge::new(Policy::default());
    let target = judge.target("https://example.com/", HTTPS).unwrap();
    let addresses = |texts: &[&str]| {
        let addresses: Vec<IpAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
        judge.addresses(&target, &addresses).map(|judged| judged.len()).map_err(|refusal| refusal.rule.word())
    };
    assert_eq!(addresses(&["8.8.8.8", "2606:4700::1"]), Ok(2));
    assert_eq!(addresses(&["8.8.8.8", "::ffff:8.8.8.8", "8.8.8.8"]), Ok(1));
    for at in 0..3 {
        let mut texts = vec!["8.8.8.8", "8.8.4.4"];
        texts.insert(at, "10.0.0.1");
        assert_eq!(addresses(&texts), Err("private"));
    }
    assert_eq!(addresses(&["8.8.8.8", "::ffff:127.0.0.1"]), Err("loopback"));
}

#[test]
fn what_the_operator_allows() {
    let allow = |texts: &[&str]| {
        let allow = texts.iter().map(|text| text.parse().unwrap()).collect();
        Judge::new(Policy { allow, ..Policy::default() })
    };
    let judge = allow(&["10.1.0.0/16", "hooks.internal:8443", "[::1]:9443"]);
    for (url, expected) in [
        ("https://10.1.2.3/", "passes"),
        ("https://[::ffff:10.1.2.3]/", "passes"),
        ("https://10.2.2.3/", "private"),
        ("https://10.1.2.3:8443/", "port"),
        ("https://hooks.internal:8443/", "passes"),
        ("https://HOOKS.internal:8443/", "passes"),
        ("https://hooks.internal/", "reserved_name"),
        ("https://hooks.internal:9443/", "port"),
        ("https://x.hooks.internal:8443/", "port"),
        ("https://[::1]:9443/", "passes"),
        ("https://[::1]/", "loopback"),
        ("http://hooks.internal:8443/", "scheme"),
        ("https://a:b@hooks.internal:8443/", "userinfo"),
    ] {
        assert_eq!(word(judge.target(url, HTTPS)), expected, "{url}");
    }
    let inside: Vec<IpAddr> = vec!["10.9.9.9".parse().unwrap()];
    let target = judge.target("https://hooks.internal:8443/", HTTPS).unwrap();
    assert_eq!(judge.addresses(&target, &inside).unwrap().len(), 1);
    let target = judge.target("https://hooks.example.com/", HTTPS).unwrap();
    assert_eq!(judge.addresses(&target, &inside).unwrap_err().rule, Rule::Private);
    let allowed: Vec<IpAddr> = vec!["10.1.9.9".parse().unwrap(), "8.8.8.8".parse().unwrap()];
    assert_eq!(judge.addresses(&target, &allowed).unwrap().len(), 2);
}

#[test]
fn words_of_rules_differ() {
    let words: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.word()).collect();
    assert_eq!(words.len(), Rule::ALL.len());
}
