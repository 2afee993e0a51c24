//! GET /files/chatbots/<A>/<cid> (contract 2.5, 4.3).

use contract_tests::document::ORIGIN;
use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

use crate::support::{contact, file_path, files_of, sandbox, upload};

on_every_backend!(
    an_empty_list,
    newest_first,
    by_name_without_regard_to_case,
    by_size,
    ties_by_id,
    pages,
    cursors,
    mismatched_cursors,
    cursors_survive_changes,
    links,
    faults,
    deleted_files_are_absent,
    files_of_other_contacts_are_absent,
);

fn list(cx: &Sandbox, contact: &str, query: &str) -> Reply {
    cx.get(&format!("{}?{query}", files_of(contact))).expect(200)
}

fn cursor(reply: &Reply) -> Option<String> {
    reply.pagination()["nextCursor"].as_str().map(str::to_owned)
}

fn an_empty_list(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let reply = cx.get(&files_of(&contact)).expect(200);
    assert_eq!(
        reply.text,
        r#"{"success":true,"message":"Files retrieved successfully","data":[],"pagination":{"currentPage":1,"totalPages":0,"totalItems":0,"itemsPerPage":20,"hasNextPage":false,"hasPreviousPage":false,"nextCursor":null}}"#
    );
    assert_eq!(reply.header("etag"), None);
    let _ = cx.get(&files_of("697dc8165d4ffa83cfc35c00")).fails(404, "CONTACT_NOT_FOUND");
    let reply = cx.get(&files_of("crm-1")).fails(404, "CONTACT_NOT_FOUND");
    assert!(reply.json["message"].as_str().is_some_and(|text| text.contains("24 hexadecimal characters")));
}

fn newest_first(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let mut ids: Vec<Value> = Vec::new();
    for name in ["b.txt", "a.txt", "c.txt"] {
        cx.advance(1);
        ids.push(json!(upload(&cx, &contact, name, b"x").id()));
    }
    for query in ["sortOrder=asc", "sortBy=createdAt&sortOrder=asc", "sortOrder=asc&sortBy="] {
        assert_eq!(list(&cx, &contact, query).column("id"), ids);
    }
    ids.reverse();
    for query in
        ["", "sortBy=createdAt", "sortOrder=desc", "sortBy=createdAt&sortOrder=desc", "sortBy=&sortOrder="]
    {
        assert_eq!(list(&cx, &contact, query).column("id"), ids);
    }
}

fn by_name_without_regard_to_case(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for name in [
        "b.txt",
        "A.txt",
        "a.txt",
        "C.txt",
        "Ab.txt",
        "10.txt",
        "9.txt",
        "\u{c4}.txt",
        "\u{e4}.txt",
        "a",
        "_.txt",
    ] {
        // Ids begin with their creation time in seconds.
        cx.advance(1_000);
        let _ = upload(&cx, &contact, name, b"x");
    }
    let names = list(&cx, &contact, "sortBy=fileName&sortOrder=asc").column("fileName");
    // Equal except for case: the older first.
    assert_eq!(
        names,
        [
            "10.txt",
            "9.txt",
            "_.txt",
            "a",
            "A.txt",
            "a.txt",
            "Ab.txt",
            "b.txt",
            "C.txt",
            "\u{c4}.txt",
            "\u{e4}.txt"
        ]
    );
    let mut reversed = list(&cx, &contact, "sortBy=fileName").column("fileName");
    reversed.reverse();
    assert_eq!(reversed, names, "the default order is descending, ties included");
}

fn by_size(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for size in [10, 9, 100, 1, 1_000, 99] {
        let _ = upload(&cx, &contact, "a.txt", &vec![b'x'; size]);
    }
    assert_eq!(
        list(&cx, &contact, "sortBy=fileSize&sortOrder=asc").column("fileSize"),
        [1, 9, 10, 99, 100, 1_000]
    );
    assert_eq!(list(&cx, &contact, "sortBy=fileSize").column("fileSize"), [1_000, 100, 99, 10, 9, 1]);
}

fn ties_by_id(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let mut ids: Vec<String> = (0..7).map(|_| upload(&cx, &contact, "a.txt", b"x").id()).collect();
    ids.sort();
    for sort in ["createdAt", "fileName", "fileSize"] {
        let ascending = list(&cx, &contact, &format!("sortBy={sort}&sortOrder=asc")).column("id");
        assert_eq!(ascending, ids, "{sort}");
        let mut descending = list(&cx, &contact, &format!("sortBy={sort}")).column("id");
        descending.reverse();
        assert_eq!(descending, ids, "{sort}");
    }
}

/// A sandbox with files whose names and sizes repeat.
fn with_files(backend: Backend, count: usize) -> (Sandbox, String) {
    let (cx, contact) = sandbox(backend);
    for n in 0..count {
        let _ =
            upload(&cx, &contact, &format!("{}.txt", ["a", "B", "A", "c"][n % 4]), &vec![b'x'; 1 + n % 3]);
        cx.advance(i64::from(n % 2 == 0));
    }
    (cx, contact)
}

fn pages(backend: Backend) {
    let (cx, contact) = with_files(backend, 7);
    let all = list(&cx, &contact, "limit=100").column("id");
    for limit in 1..9_usize {
        let pages = 7_usize.div_ceil(limit);
        for page in 1..=pages + 1 {
            let reply = list(&cx, &contact, &format!("limit={limit}&page={page}"));
            let begun = ((page - 1) * limit).min(7);
            assert_eq!(reply.column("id"), all[begun..(begun + limit).min(7)]);
            assert_eq!(
                *reply.pagination(),
                json!({ "currentPage": page, "totalPages": pages, "totalItems": 7, "itemsPerPage": limit,
                    "hasNextPage": page < pages, "hasPreviousPage": page > 1, "nextCursor": cursor(&reply) })
            );
            assert_eq!(cursor(&reply).is_some(), page < pages);
        }
    }
    let (cx, contact) = with_files(backend, 21);
    let reply = list(&cx, &contact, "");
    assert_eq!((reply.column("id").len(), &reply.pagination()["totalPages"]), (20, &json!(2)));
}

fn cursors(backend: Backend) {
    let (cx, contact) = with_files(backend, 13);
    for sort in ["createdAt", "fileName", "fileSize"] {
        for order in ["asc", "desc"] {
            let all = list(&cx, &contact, &format!("limit=100&sortBy={sort}&sortOrder={order}")).column("id");
            for limit in [1, 4, 12, 13, 14] {
                let base = format!("limit={limit}&sortBy={sort}&sortOrder={order}");
                let mut reply = list(&cx, &contact, &base);
                let (mut seen, mut page) = (reply.column("id"), 1);
                while let Some(next) = cursor(&reply) {
                    reply = list(&cx, &contact, &format!("{base}&cursor={next}"));
                    page += 1;
                    seen.extend(reply.column("id"));
                    assert_eq!(
                        (&reply.pagination()["currentPage"], &reply.pagination()["totalItems"]),
                        (&json!(page), &json!(13))
                    );
                }
                assert_eq!(reply.pagination()["hasNextPage"], false);
                assert_eq!((seen, page), (all.clone(), 13_u64.div_ceil(limit)), "{base}");
            }
        }
    }
}

fn mismatched_cursors(backend: Backend) {
    let (cx, own) = with_files(backend, 5);
    let next = cursor(&list(&cx, &own, "limit=2&sortBy=fileName")).expect("a cursor");
    let fits = format!("limit=2&sortBy=fileName&cursor={next}");
    let _ = list(&cx, &own, &fits);
    let _ = list(&cx, &own, &format!("cursor={next}&sortBy=fileName&limit=2"));
    for other in [
        "limit=2",
        "limit=3&sortBy=fileName",
        "limit=2&sortBy=fileSize",
        "limit=2&sortBy=fileName&sortOrder=asc",
        "",
    ] {
        let reply =
            cx.get(&format!("{}?{other}&cursor={next}", files_of(&own))).invalid(&[("cursor", "format")]);
        assert_eq!(reply.violation(0)["in"], "query");
    }
    for at in 0..next.len() {
        let mut altered = next.clone().into_bytes();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).expect("ASCII");
        let query = format!("{}?limit=2&sortBy=fileName&cursor={altered}", files_of(&own));
        let _ = cx.get(&query).invalid(&[("cursor", "format")]);
    }
    for nonsense in ["x", ".", "e30.e30", "%00", &next[1..], &format!("{next}A"), &next.to_uppercase()] {
        let query = format!("{}?limit=2&sortBy=fileName&cursor={nonsense}", files_of(&own));
        let _ = cx.get(&query).invalid(&[("cursor", "format")]);
    }
    let _ = cx.get(&format!("{}?{fits}&page=1", files_of(&own))).invalid(&[("cursor", "conflict")]);
    // Of another contact, another list, another agent.
    let second = contact(&cx);
    let _ = cx.get(&format!("{}?{fits}", files_of(&second))).invalid(&[("cursor", "format")]);
    let of_contacts = cursor(&cx.get("/contacts/chatbots/<A>?limit=1").expect(200)).expect("a cursor");
    let _ =
        cx.get(&format!("{}?limit=1&cursor={of_contacts}", files_of(&own))).invalid(&[("cursor", "format")]);
    let _ = cx.get(&format!("/contacts/chatbots/<A>?limit=2&cursor={next}")).invalid(&[("cursor", "format")]);
}

/// Items created or removed between requests shift nothing (contract 2.5).
fn cursors_survive_changes(backend: Backend) {
    let (cx, contact) = with_files(backend, 9);
    let all = list(&cx, &contact, "limit=100&sortOrder=asc").column("id");
    let first = list(&cx, &contact, "limit=3&sortOrder=asc");
    let id = |at: usize| all[at].as_str().expect("an id").to_owned();
    // Before, at and after the cursor's position.
    for at in [0, 2, 4] {
        let _ = cx.call("DELETE", &file_path(&contact, &id(at))).send().expect(200);
    }
    cx.advance(1_000);
    let new = json!(upload(&cx, &contact, "new.txt", b"x").id());
    let second =
        list(&cx, &contact, &format!("limit=3&sortOrder=asc&cursor={}", cursor(&first).expect("a cursor")));
    assert_eq!(second.column("id"), [all[3].clone(), all[5].clone(), all[6].clone()]);
    let third =
        list(&cx, &contact, &format!("limit=3&sortOrder=asc&cursor={}", cursor(&second).expect("a cursor")));
    assert_eq!(third.column("id"), [all[7].clone(), all[8].clone(), new]);
    assert_eq!(cursor(&third), None);
}

fn links(backend: Backend) {
    let (cx, contact) = with_files(backend, 5);
    let path = format!("{ORIGIN}/v1/open/files/chatbots/{}/{contact}", cx.agent);
    let relations = |reply: &Reply| -> Vec<String> {
        let link = reply.header("link").unwrap_or_default().to_owned();
        let mut found: Vec<String> = link
            .split(", ")
            .filter(|link| !link.is_empty())
            .map(|link| {
                let (target, relation) = link.split_once(">; rel=").expect("a relation");
                assert!(target.starts_with(&format!("<{path}?")), "{target}");
                relation.trim_matches('"').to_owned()
            })
            .collect();
        found.sort();
        found
    };
    for (query, expected) in [
        ("limit=2", vec!["first", "last", "next"]),
        ("limit=2&page=2", vec!["first", "last", "next", "prev"]),
        ("limit=2&page=3", vec!["first", "last", "prev"]),
        ("limit=5", vec!["first", "last"]),
    ] {
        assert_eq!(relations(&list(&cx, &contact, query)), expected, "{query}");
    }
    let reply = list(&cx, &contact, "limit=2&sortBy=fileName");
    let next = cursor(&reply).expect("a cursor");
    let reply = list(&cx, &contact, &format!("limit=2&sortBy=fileName&cursor={next}"));
    assert_eq!(relations(&reply), ["first", "next"]);
    // A link leads where it says.
    let link = reply.header("link").expect("links");
    let target = link.split(", ").find(|link| link.ends_with("rel=\"next\"")).expect("next");
    let target = target.split_once('>').expect("an end").0.trim_start_matches('<').replace(ORIGIN, "");
    let followed = cx.at("GET", &target).send().expect(200);
    assert_eq!(followed.column("id").len(), 1);
}

fn faults(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (query, field, kind) in [
        ("sortBy=updatedAt", "sortBy", "enum"),
        ("sortBy=filename", "sortBy", "enum"),
        ("sortBy=name", "sortBy", "enum"),
        ("sortOrder=ASC", "sortOrder", "enum"),
        ("sortOrder=up", "sortOrder", "enum"),
        ("limit=0", "limit", "minimum"),
        ("limit=101", "limit", "maximum"),
        ("limit=x", "limit", "type"),
        ("page=0", "page", "minimum"),
        ("page=-1", "page", "minimum"),
        ("page=1.5", "page", "type"),
        ("page=50001", "page", "maximum"),
        ("search=a", "search", "unknown"),
        ("includeArchived=1", "includeArchived", "unknown"),
        ("limit=1&limit=1", "limit", "duplicate"),
    ] {
        let reply = cx.get(&format!("{}?{query}", files_of(&contact))).invalid(&[(field, kind)]);
        assert_eq!(reply.violation(0)["in"], "query", "{query}");
    }
    let reply = cx.get(&format!("{}?sortOrder=x&nonsense=1&sortBy=y&limit=0", files_of(&contact)));
    let _ = reply.invalid(&[
        ("sortOrder", "enum"),
        ("nonsense", "unknown"),
        ("sortBy", "enum"),
        ("limit", "minimum"),
    ]);
    // 404 takes precedence.
    let _ = cx.get(&format!("{}?limit=0", files_of("x"))).fails(404, "CONTACT_NOT_FOUND");
}

fn deleted_files_are_absent(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let mut ids: Vec<String> = (0..3).map(|_| upload(&cx, &contact, "a.txt", b"x").id()).collect();
    ids.sort();
    let _ = cx.call("DELETE", &file_path(&contact, &ids[1])).send().expect(200);
    for sort in ["createdAt", "fileName", "fileSize"] {
        let reply = list(&cx, &contact, &format!("sortBy={sort}&sortOrder=asc"));
        assert_eq!(reply.column("id"), [ids[0].clone(), ids[2].clone()]);
        assert_eq!(reply.pagination()["totalItems"], 2);
    }
}

fn files_of_other_contacts_are_absent(backend: Backend) {
    let (cx, first) = sandbox(backend);
    let second = contact(&cx);
    let id = upload(&cx, &first, "a.txt", b"x").id();
    assert_eq!(list(&cx, &first, "").column("id"), [id]);
    assert_eq!(list(&cx, &second, "").column("id"), Vec::<Value>::new());
}
