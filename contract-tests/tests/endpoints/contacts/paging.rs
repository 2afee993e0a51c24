//! Pages, cursors and links of the contact list (contract 2.5).

use std::collections::HashSet;

use contract_tests::document::ORIGIN;
use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    arithmetic,
    beyond_the_last_page,
    bounds_of_page_and_limit,
    spellings_of_numbers,
    page_times_limit,
    cursors_visit_everything_once,
    cursors_survive_changes,
    cursors_of_null_keys,
    altered_cursors,
    cursors_belong_to_their_parameters,
    cursors_belong_to_their_agent,
    cursor_and_page_exclude_each_other,
    links_of_pages,
    links_of_cursors,
    links_ignore_the_host_header,
    links_stop_at_the_deepest_page,
);

const LIST: &str = "/contacts/chatbots/<A>";

fn list(cx: &Sandbox, query: &str) -> Reply {
    cx.get(&format!("{LIST}?{query}")).expect(200)
}

fn with_contacts(backend: Backend, count: usize) -> Sandbox {
    let cx = Sandbox::new(backend);
    for n in 0..count {
        let name = (n % 3 > 0).then(|| format!("N{}", n % 4));
        let _ = cx.create(&json!({ "primaryEmail": format!("c{n}@b.co"), "firstName": name }));
        cx.advance(i64::from(n % 2 == 0));
    }
    cx
}

fn cursor(reply: &Reply) -> Option<String> {
    reply.pagination()["nextCursor"].as_str().map(str::to_owned)
}

fn arithmetic(backend: Backend) {
    let cx = with_contacts(backend, 7);
    let all: Vec<Value> = list(&cx, "limit=100").column("id");
    for limit in 1..9_usize {
        let pages = 7_usize.div_ceil(limit);
        for page in 1..=pages {
            let reply = list(&cx, &format!("limit={limit}&page={page}"));
            let begun = (page - 1) * limit;
            assert_eq!(reply.column("id"), all[begun..(begun + limit).min(7)]);
            let expected = json!({
                "currentPage": page, "totalPages": pages, "totalItems": 7, "itemsPerPage": limit,
                "hasNextPage": page < pages, "hasPreviousPage": page > 1, "nextCursor": cursor(&reply),
            });
            assert_eq!(*reply.pagination(), expected);
            assert_eq!(cursor(&reply).is_some(), page < pages);
        }
    }
}

fn beyond_the_last_page(backend: Backend) {
    let cx = with_contacts(backend, 2);
    let reply = list(&cx, "page=9&limit=1");
    assert_eq!(*reply.data(), json!([]));
    let expected = json!({ "currentPage": 9, "totalPages": 2, "totalItems": 2, "itemsPerPage": 1, "hasNextPage": false, "hasPreviousPage": true, "nextCursor": null });
    assert_eq!(*reply.pagination(), expected);
    let empty = Sandbox::new(backend);
    let reply = list(&empty, "page=9");
    assert_eq!(reply.pagination()["currentPage"], 9);
    assert_eq!(reply.pagination()["hasPreviousPage"], false, "no page at all");
}

fn bounds_of_page_and_limit(backend: Backend) {
    let cx = with_contacts(backend, 1);
    let _ = list(&cx, "limit=1&page=1");
    let _ = list(&cx, "limit=100");
    for (query, field, kind) in [
        ("limit=0", "limit", "minimum"),
        ("limit=-1", "limit", "minimum"),
        ("limit=-0", "limit", "minimum"),
        ("limit=101", "limit", "maximum"),
        ("limit=99999999999999999999999", "limit", "maximum"),
        ("limit=-99999999999999999999999", "limit", "minimum"),
        ("page=0", "page", "minimum"),
        ("page=-3", "page", "minimum"),
        ("page=99999999999999999999999", "page", "maximum"),
    ] {
        let reply = cx.get(&format!("{LIST}?{query}")).invalid(&[(field, kind)]);
        assert_eq!(
            reply.violation(0)["value"],
            query.split_once('=').expect("a pair").1,
            "nothing is clamped"
        );
    }
}

fn spellings_of_numbers(backend: Backend) {
    let cx = with_contacts(backend, 1);
    assert_eq!(list(&cx, "limit=007").pagination()["itemsPerPage"], 7);
    assert_eq!(list(&cx, "page=0001").pagination()["currentPage"], 1);
    for bad in
        ["1.0", "1e1", "%2B1", "+1", "0x1", "abc", "1%20", "%201", "--1", "-", "1,0", "%D9%A1", "null", "NaN"]
    {
        for name in ["page", "limit"] {
            let _ = cx.get(&format!("{LIST}?{name}={bad}")).invalid(&[(name, "type")]);
        }
    }
}

fn page_times_limit(backend: Backend) {
    let cx = with_contacts(backend, 1);
    let _ = list(&cx, "page=50000");
    let _ = list(&cx, "page=10000&limit=100");
    let _ = list(&cx, "page=1000000&limit=1");
    for query in ["page=50001", "page=10001&limit=100", "page=1000001&limit=1", "limit=3&page=333334"] {
        let _ = cx.get(&format!("{LIST}?{query}")).invalid(&[("page", "maximum")]);
    }
    let _ = list(&cx, "limit=3&page=333333");
}

fn cursors_visit_everything_once(backend: Backend) {
    let cx = with_contacts(backend, 23);
    for sort in ["createdAt", "updatedAt", "firstName", "lastName", "primaryEmail"] {
        for order in ["asc", "desc"] {
            let all = list(&cx, &format!("limit=100&sortBy={sort}&sortOrder={order}")).column("id");
            for limit in [1, 4, 23, 24] {
                let base = format!("limit={limit}&sortBy={sort}&sortOrder={order}");
                let mut reply = list(&cx, &base);
                let mut seen = reply.column("id");
                let mut page = 1;
                while let Some(next) = cursor(&reply) {
                    reply = list(&cx, &format!("{base}&cursor={next}"));
                    page += 1;
                    seen.extend(reply.column("id"));
                    let pagination = reply.pagination();
                    assert_eq!(
                        (&pagination["currentPage"], &pagination["totalItems"]),
                        (&json!(page), &json!(23))
                    );
                    assert_eq!(pagination["hasPreviousPage"], true);
                }
                assert_eq!(seen, all, "{base}");
                assert_eq!(page, 23_u64.div_ceil(limit));
            }
        }
    }
    // A cursor can also continue from a numbered page.
    let reply = list(&cx, "limit=5&page=3");
    let next = cursor(&reply).expect("a cursor");
    let by_cursor = list(&cx, &format!("limit=5&cursor={next}"));
    assert_eq!(by_cursor.column("id"), list(&cx, "limit=5&page=4").column("id"));
    assert_eq!(by_cursor.pagination()["currentPage"], 4);
    // It may be used any number of times.
    assert_eq!(list(&cx, &format!("limit=5&cursor={next}")).data(), by_cursor.data());
}

/// Items created or removed between requests shift nothing.
fn cursors_survive_changes(backend: Backend) {
    let cx = with_contacts(backend, 12);
    let all = list(&cx, "limit=100").column("id");
    let first = list(&cx, "limit=4");
    let next = cursor(&first).expect("a cursor");
    for n in 0..5 {
        let _ = cx.create(&json!({ "primaryEmail": format!("new{n}@b.co") }));
    }
    // The contact at the cursor's position is removed, and one of the next page.
    for gone in [&all[3], &all[5]] {
        let id = gone.as_str().expect("an id");
        let _ = cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/archive")).expect(200);
    }
    let reply = list(&cx, &format!("limit=4&cursor={next}"));
    assert_eq!(reply.column("id"), [all[4].clone(), all[6].clone(), all[7].clone(), all[8].clone()]);
    assert_eq!(reply.pagination()["totalItems"], 15);
    let reply = list(&cx, &format!("limit=4&cursor={}", cursor(&reply).expect("a cursor")));
    assert_eq!(reply.column("id"), all[9..]);
    assert_eq!(reply.pagination()["hasNextPage"], false);
    // After the last item the list is empty, not an error.
    let last = list(&cx, "limit=14");
    let next = cursor(&last).expect("a cursor");
    let oldest = list(&cx, "sortOrder=asc&limit=1").data()[0]["id"].as_str().expect("an id").to_owned();
    let _ = cx.patch(&format!("/contacts/platformid/{oldest}/chatbots/<A>/archive")).expect(200);
    let reply = list(&cx, &format!("limit=14&cursor={next}"));
    assert_eq!(*reply.data(), json!([]));
    assert_eq!(reply.pagination()["nextCursor"], Value::Null);
}

fn cursors_of_null_keys(backend: Backend) {
    let cx = Sandbox::new(backend);
    for name in [None, Some("a"), None, None, Some("b")] {
        let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "firstName": name }));
    }
    for order in ["asc", "desc"] {
        let base = format!("sortBy=firstName&sortOrder={order}&limit=1");
        let mut seen = HashSet::new();
        let mut reply = list(&cx, &base);
        let mut names = vec![reply.data()[0]["firstName"].clone()];
        seen.insert(reply.data()[0]["id"].clone());
        while let Some(next) = cursor(&reply) {
            reply = list(&cx, &format!("{base}&cursor={next}"));
            names.push(reply.data()[0]["firstName"].clone());
            assert!(seen.insert(reply.data()[0]["id"].clone()));
        }
        assert_eq!(seen.len(), 5);
        assert!(names[2..].iter().all(Value::is_null), "{names:?}");
    }
}

fn altered_cursors(backend: Backend) {
    let cx = with_contacts(backend, 3);
    let next = cursor(&list(&cx, "limit=1")).expect("a cursor");
    assert!(
        next.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)),
        "{next} needs no encoding"
    );
    let refuse = |text: &str| {
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let reply = cx.get(&format!("{LIST}?limit=1&cursor={encoded}")).invalid(&[("cursor", "format")]);
        assert_eq!(reply.violation(0)["in"], "query");
    };
    for at in 0..next.len() {
        let mut altered = next.clone().into_bytes();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        refuse(std::str::from_utf8(&altered).expect("text"));
    }
    let (payload, tag) = next.split_once('.').expect("payload and signature");
    for bad in [
        "x",
        ".",
        "..",
        "eyJvIjoxfQ.8Jk2vQ",
        payload,
        &format!("{payload}."),
        &format!(".{tag}"),
        &format!("{next}="),
        &format!("{next}A"),
        &format!(" {next}"),
        &format!("{next}.{tag}"),
        &"A".repeat(2_000),
        "é",
        "\0",
    ] {
        refuse(bad);
    }
    // Another server key signed none of these.
    let _ = list(&cx, &format!("limit=1&cursor={next}"));
}

fn cursors_belong_to_their_parameters(backend: Backend) {
    let cx = with_contacts(backend, 9);
    let base = "limit=2&sortBy=firstName&sortOrder=asc&search=c&status=active&includeArchived=true&createdSince=2026-01-01T00:00:00Z";
    let next = cursor(&list(&cx, base)).expect("a cursor");
    let _ = list(&cx, &format!("cursor={next}&{base}"));
    for (from, to) in [
        ("limit=2", "limit=3"),
        ("sortBy=firstName", "sortBy=lastName"),
        ("sortBy=firstName&", ""),
        ("sortOrder=asc", "sortOrder=desc"),
        ("search=c", "search=b"),
        ("search=c&", ""),
        ("status=active", "status=blocked"),
        ("status=active&", ""),
        ("includeArchived=true", "includeArchived=false"),
        ("createdSince=2026-01-01T00:00:00Z", "createdSince=2026-01-01T00:00:01Z"),
        ("createdSince", "updatedSince"),
        ("search=c", "search=c&tag=x"),
        ("search=c", "search=c&primaryEmail=a@b.co"),
    ] {
        let other = base.replace(from, to);
        assert_ne!(other, base);
        let _ = cx.get(&format!("{LIST}?{other}&cursor={next}")).invalid(&[("cursor", "format")]);
    }
    // Ignored parameters do not count.
    let _ = list(&cx, &format!("_=1&cursor={next}&{base}"));
}

fn cursors_belong_to_their_agent(backend: Backend) {
    let cx = with_contacts(backend, 3);
    let next = cursor(&list(&cx, "limit=1")).expect("a cursor");
    let other = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = other.clone());
    let reply = cx.call("GET", &format!("/contacts/chatbots/other?limit=1&cursor={next}")).with(&key).send();
    let _ = reply.invalid(&[("cursor", "format")]);
}

fn cursor_and_page_exclude_each_other(backend: Backend) {
    let cx = with_contacts(backend, 3);
    let next = cursor(&list(&cx, "limit=1")).expect("a cursor");
    for query in [
        format!("limit=1&cursor={next}&page=2"),
        format!("page=1&limit=1&cursor={next}"),
        "page=1&cursor=x".to_owned(),
    ] {
        let _ = cx.get(&format!("{LIST}?{query}")).invalid(&[("cursor", "conflict")]);
    }
    let _ = list(&cx, &format!("limit=1&cursor={next}&page="));
}

/// The targets of a `Link` header by relation.
fn links(reply: &Reply) -> Vec<(String, String)> {
    let Some(header) = reply.header("link") else { return Vec::new() };
    header
        .split(", ")
        .map(|link| {
            let (target, relation) = link.split_once(">; rel=\"").expect("a link");
            (relation.trim_end_matches('"').to_owned(), target.trim_start_matches('<').to_owned())
        })
        .collect()
}

fn follow(cx: &Sandbox, target: &str) -> Reply {
    let path = target.strip_prefix(ORIGIN).unwrap_or_else(|| panic!("{target} is not below the origin"));
    cx.at("GET", path).send().expect(200)
}

fn links_of_pages(backend: Backend) {
    let cx = with_contacts(backend, 7);
    for (page, relations) in [(1, "first next last"), (2, "first prev next last"), (4, "first prev last")] {
        let reply = list(&cx, &format!("limit=2&page={page}&search=b.co&sortBy=primaryEmail&_=1"));
        let found = links(&reply);
        assert_eq!(
            found.iter().map(|(relation, _)| relation.as_str()).collect::<Vec<_>>().join(" "),
            relations
        );
        for (relation, target) in &found {
            let expected = match relation.as_str() {
                "first" => 1,
                "prev" => page - 1,
                "next" => page + 1,
                _ => 4,
            };
            assert_eq!(follow(&cx, target).pagination()["currentPage"], expected, "{target}");
            let same = list(&cx, &format!("limit=2&page={expected}&search=b.co&sortBy=primaryEmail"));
            assert_eq!(follow(&cx, target).data(), same.data());
        }
    }
    let one_page = links(&cx.get(LIST).expect(200));
    assert_eq!(one_page.iter().map(|(relation, _)| relation.as_str()).collect::<Vec<_>>(), ["first", "last"]);
    // Percent-encoded values survive.
    let _ = cx.create(&json!({ "primaryEmail": "x@b.co", "firstName": "a&b=é \"<>+" }));
    let reply = list(&cx, "limit=1&search=a%26b%3D%C3%A9+%22%3C%3E%2B");
    assert_eq!(follow(&cx, &links(&reply)[0].1).data(), reply.data());
    assert_eq!(reply.pagination()["totalItems"], 1);
    let reply = cx.at("GET", "/v1/open/contacts/chatbots/<A>/?limit=3").send().expect(200);
    assert_eq!(follow(&cx, &links(&reply)[0].1).data(), reply.data());
}

fn links_of_cursors(backend: Backend) {
    let cx = with_contacts(backend, 5);
    let first = list(&cx, "limit=2&sortOrder=asc");
    let second = list(&cx, &format!("limit=2&sortOrder=asc&cursor={}", cursor(&first).expect("a cursor")));
    let found = links(&second);
    assert_eq!(found.iter().map(|(relation, _)| relation.as_str()).collect::<Vec<_>>(), ["first", "next"]);
    assert_eq!(follow(&cx, &found[0].1).data(), first.data());
    let third = follow(&cx, &found[1].1);
    assert_eq!(third.pagination()["currentPage"], 3);
    assert_eq!(links(&third).len(), 1, "the last page has no next one");
}

fn links_ignore_the_host_header(backend: Backend) {
    let cx = with_contacts(backend, 1);
    let reply =
        cx.call("GET", LIST).header("host", "evil.example").header("x-forwarded-host", "evil.example").send();
    assert!(reply.header("link").expect("links").starts_with(&format!("<{ORIGIN}/v1/open/contacts/")));
}

fn links_stop_at_the_deepest_page(backend: Backend) {
    let cx = with_contacts(backend, 2);
    let found = links(&list(&cx, "limit=1&page=1000000"));
    for (_, target) in &found {
        let _ = follow(&cx, target);
    }
}
