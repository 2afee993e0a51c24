//! GET /contacts/chatbots/<A>: filters and sorts (contract 4.2). Pages are in `paging`, text search in `search`.

use contract_tests::sandbox::instant;
use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(
    the_example,
    an_empty_list,
    filter_by_status,
    filter_by_tag,
    filter_by_address,
    filter_by_time,
    archived_contacts,
    filters_combine,
    newest_first,
    sort_by_time,
    sort_by_text,
    null_is_last_in_both_directions,
    ties_go_by_id,
    query_errors,
    empty_values_are_absent,
    text_is_decoded,
);

const LIST: &str = "/contacts/chatbots/<A>";

fn list(cx: &Sandbox, query: &str) -> Reply {
    cx.get(&format!("{LIST}?{query}")).expect(200)
}

/// The values of `field` in the contacts that a query lists.
fn column(cx: &Sandbox, query: &str, field: &str) -> Vec<String> {
    let values = list(cx, query).column(field);
    values.iter().map(|value| value.as_str().unwrap_or("-").to_owned()).collect()
}

fn create_named(cx: &Sandbox, first_names: &[Option<&str>]) {
    for name in first_names {
        let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "firstName": name, "lastName": name }));
    }
}

/// Contract 4.2, literally except for the cursor.
fn the_example(backend: Backend) {
    let cx = story::sandbox(backend);
    let _ = cx.create(&json!({ "primaryEmail": "other@example.com", "lastName": "Other" }));
    let _ = cx.create(&json!({ "primaryEmail": "ada@example.com", "lastName": "Okafor" }));
    cx.clock.set(instant("2026-01-31T09:15:02.124Z"));
    // The example's contact is the newest; its times differ from the others.
    cx.clock.set(instant("2026-01-31T09:15:02.123Z"));
    let id = cx.create(&story::new_contact()).id();
    let reply = list(&cx, "search=okafor&limit=1&sortBy=firstName");
    let cursor = reply.pagination()["nextCursor"].clone();
    let expected = json!({ "success": true, "message": "Contacts retrieved successfully", "data": [story::contact()],
      "pagination": { "currentPage": 1, "totalPages": 2, "totalItems": 2, "itemsPerPage": 1, "hasNextPage": true, "hasPreviousPage": false, "nextCursor": cursor } });
    assert_eq!(story::mapped(&reply.text, &id), expected.to_string());
    assert_eq!(reply.header("etag"), None);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

fn an_empty_list(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.get(LIST).expect(200);
    assert_eq!(*reply.data(), json!([]));
    let expected = json!({ "currentPage": 1, "totalPages": 0, "totalItems": 0, "itemsPerPage": 20, "hasNextPage": false, "hasPreviousPage": false, "nextCursor": null });
    assert_eq!(reply.pagination().to_string(), expected.to_string());
    assert_eq!(reply.header("link"), None);
}

fn filter_by_status(backend: Backend) {
    let cx = Sandbox::new(backend);
    for status in ["active", "inactive", "blocked", "active"] {
        let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "status": status }));
    }
    assert_eq!(column(&cx, "status=active", "status"), ["active", "active"]);
    assert_eq!(column(&cx, "status=inactive", "status"), ["inactive"]);
    assert_eq!(column(&cx, "status=blocked", "status"), ["blocked"]);
    for bad in ["Active", "archived", "active%20", "active,blocked", "%20active"] {
        let _ = cx.get(&format!("{LIST}?status={bad}")).invalid(&[("status", "enum")]);
    }
}

fn filter_by_tag(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "firstName": "A", "tags": ["VIP", "a b"] }));
    let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "firstName": "B", "tags": ["straße", "vip2"] }));
    assert_eq!(column(&cx, "tag=vip", "firstName"), ["A"]);
    assert_eq!(column(&cx, "tag=%20ViP%20", "firstName"), ["A"], "trimmed");
    assert_eq!(column(&cx, "tag=a+B", "firstName"), ["A"]);
    assert_eq!(column(&cx, "tag=STRASSE", "firstName"), ["B"]);
    for none in ["vi", "strasse%20", "unknown", "a%2Bb", "%25", "_", "*", "v%C3%ADp"] {
        let expected: &[&str] = if none == "strasse%20" { &["B"] } else { &[] };
        assert_eq!(column(&cx, &format!("tag={none}"), "firstName"), expected, "{none}");
    }
    let _ = list(&cx, &format!("tag={}", "x".repeat(64)));
    let _ = cx.get(&format!("{LIST}?tag={}", "x".repeat(65))).invalid(&[("tag", "maxLength")]);
    let _ = list(&cx, &format!("tag={}", "%C3%A9".repeat(64)));
    assert_eq!(list(&cx, "tag=%20").pagination()["totalItems"], 2, "blank is absent");
    // Renaming a tag moves the contact.
    let id = list(&cx, "tag=vip2").data()[0]["id"].as_str().expect("an id").to_owned();
    let _ = cx.update(&id, &json!({ "tags": ["new"] }));
    assert!(column(&cx, "tag=vip2", "firstName").is_empty());
    assert_eq!(column(&cx, "tag=NEW", "firstName"), ["B"]);
}

fn filter_by_address(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (email, name) in [("Zoe@Bücher.example", "A"), ("zoe@example.com", "B"), ("a+b@example.com", "C")] {
        let _ = cx.create(&json!({ "primaryEmail": email, "firstName": name }));
    }
    assert_eq!(column(&cx, "primaryEmail=zoe%40xn--bcher-kva.example", "firstName"), ["A"]);
    assert_eq!(column(&cx, "primaryEmail=ZOE@EXAMPLE.COM", "firstName"), ["B"]);
    assert_eq!(column(&cx, "primaryEmail=a%2Bb@example.com", "firstName"), ["C"]);
    assert!(column(&cx, "primaryEmail=oe@example.com", "firstName").is_empty());
    for bad in ["zoe", "zoe@", "a+b@example.com", "%25@example.com%25", "Zoe%20%3Ca@b.co%3E"] {
        let _ = cx.get(&format!("{LIST}?primaryEmail={bad}")).invalid(&[("primaryEmail", "format")]);
    }
}

fn filter_by_time(backend: Backend) {
    let cx = Sandbox::new(backend);
    let mut ids = Vec::new();
    for name in ["A", "B", "C"] {
        ids.push(cx.create(&json!({ "primaryEmail": "a@b.co", "firstName": name })).id());
        cx.advance(1_000);
    }
    let _ = cx.update(&ids[0], &json!({ "lastName": "X" }));
    for (query, names) in [
        ("createdSince=2026-01-31T09:15:02.123Z", "CBA"),
        ("createdSince=2026-01-31T09:15:02.124Z", "CB"),
        ("createdSince=2026-01-31T10:15:03.123%2B01:00", "CB"),
        ("createdSince=2026-01-31T09:15:04.124Z", ""),
        ("updatedSince=2026-01-31T09:15:04.123Z", "CA"),
        ("updatedSince=2026-01-31T09:15:04.124Z", "A"),
        ("updatedSince=2026-01-31T09:15:05.123Z&createdSince=2026-01-31T09:15:02Z", "A"),
        ("updatedSince=1970-01-01T00:00:00Z", "CBA"),
    ] {
        assert_eq!(column(&cx, query, "firstName").concat(), names, "{query}");
    }
    for bad in ["2026-01-31", "yesterday", "1769850902", "2026-01-31T09:15:02", "2026-01-31T09:15:02+01:00"] {
        let _ = cx.get(&format!("{LIST}?createdSince={bad}")).invalid(&[("createdSince", "format")]);
        let _ = cx.get(&format!("{LIST}?updatedSince={bad}")).invalid(&[("updatedSince", "format")]);
    }
}

fn archived_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    create_named(&cx, &[Some("A"), Some("B")]);
    let listed = list(&cx, "");
    let first = listed.data().as_array().into_iter().flatten().find(|contact| contact["firstName"] == "A");
    let id = first.and_then(|contact| contact["id"].as_str()).expect("an id").to_owned();
    let _ = cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/archive")).expect(200);
    for query in
        ["", "includeArchived=false", "includeArchived=0", "includeArchived=", "includeArchived=FALSE"]
    {
        assert_eq!(column(&cx, query, "firstName"), ["B"], "{query}");
    }
    for query in ["includeArchived=true", "includeArchived=1", "includeArchived=True"] {
        assert_eq!(list(&cx, query).pagination()["totalItems"], 2, "{query}");
    }
    for bad in ["yes", "2", "%20true", "on", "null"] {
        let _ = cx.get(&format!("{LIST}?includeArchived={bad}")).invalid(&[("includeArchived", "type")]);
    }
}

fn filters_combine(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (name, status, tag) in
        [("A", "active", "x"), ("B", "active", "y"), ("C", "blocked", "x"), ("D", "blocked", "y")]
    {
        let _ = cx.create(&json!({ "primaryEmail": format!("{name}@b.co"), "firstName": name, "status": status, "tags": [tag] }));
    }
    assert_eq!(column(&cx, "status=active&tag=x", "firstName"), ["A"]);
    assert_eq!(column(&cx, "status=blocked&tag=y&search=d", "firstName"), ["D"]);
    assert_eq!(column(&cx, "tag=x&primaryEmail=c@b.co", "firstName"), ["C"]);
    assert!(column(&cx, "tag=x&primaryEmail=d@b.co", "firstName").is_empty());
}

fn newest_first(backend: Backend) {
    let cx = Sandbox::new(backend);
    for name in ["A", "B", "C"] {
        create_named(&cx, &[Some(name)]);
        cx.advance(1);
    }
    assert_eq!(column(&cx, "", "firstName"), ["C", "B", "A"]);
    assert_eq!(column(&cx, "sortBy=createdAt&sortOrder=desc", "firstName"), ["C", "B", "A"]);
    assert_eq!(column(&cx, "sortOrder=asc", "firstName"), ["A", "B", "C"]);
}

fn sort_by_time(backend: Backend) {
    let cx = Sandbox::new(backend);
    let mut ids = Vec::new();
    for name in ["A", "B", "C"] {
        ids.push(cx.create(&json!({ "primaryEmail": "a@b.co", "firstName": name })).id());
        cx.advance(1);
    }
    let _ = cx.update(&ids[1], &json!({ "lastName": "X" }));
    assert_eq!(column(&cx, "sortBy=updatedAt", "firstName"), ["B", "C", "A"]);
    assert_eq!(column(&cx, "sortBy=updatedAt&sortOrder=asc", "firstName"), ["A", "C", "B"]);
    // A no-op update does not move the contact.
    cx.advance(1);
    let _ = cx.update(&ids[0], &json!({ "firstName": "A" }));
    assert_eq!(column(&cx, "sortBy=updatedAt", "firstName"), ["B", "C", "A"]);
}

/// By code point of the case-folded, accent-stripped key.
fn sort_by_text(backend: Backend) {
    let cx = Sandbox::new(backend);
    let ascending = [
        "10",
        "9",
        "Ábel",
        "adam",
        "Álvaro",
        "ANNA",
        "Straße",
        "strasse 2",
        "Zoë",
        "zoe 2",
        "Ωmega",
        "日本",
        "𝒳y",
    ];
    let mut shuffled = ascending;
    shuffled.reverse();
    shuffled.swap(2, 9);
    create_named(&cx, &shuffled.map(Some));
    let mut expected: Vec<&str> = ascending.to_vec();
    // `𝒳` is a compatibility form of `x`.
    expected.retain(|name| *name != "𝒳y");
    expected.insert(8, "𝒳y");
    for sort in ["firstName", "lastName"] {
        let query = format!("sortBy={sort}&sortOrder=asc&limit=100");
        assert_eq!(column(&cx, &query, sort), expected);
        expected.reverse();
        let query = format!("sortBy={sort}&sortOrder=desc&limit=100");
        assert_eq!(column(&cx, &query, sort), expected);
        expected.reverse();
    }
    let cx = Sandbox::new(backend);
    for email in ["b@b.co", "B1@b.co", "á@b.co", "Ab@b.co"] {
        let _ = cx.create(&json!({ "primaryEmail": email }));
    }
    let expected = ["á@b.co", "Ab@b.co", "B1@b.co", "b@b.co"];
    assert_eq!(column(&cx, "sortBy=primaryEmail&sortOrder=asc", "primaryEmail"), expected);
}

fn null_is_last_in_both_directions(backend: Backend) {
    let cx = Sandbox::new(backend);
    create_named(&cx, &[None, Some("b"), None, Some("a"), Some("c")]);
    for sort in ["firstName", "lastName"] {
        assert_eq!(column(&cx, &format!("sortBy={sort}&sortOrder=asc"), sort), ["a", "b", "c", "-", "-"]);
        assert_eq!(column(&cx, &format!("sortBy={sort}&sortOrder=desc"), sort), ["c", "b", "a", "-", "-"]);
    }
}

fn ties_go_by_id(backend: Backend) {
    let cx = Sandbox::new(backend);
    create_named(&cx, &[Some("Zoë"), Some("zoe"), None, Some("ZOE"), None, Some("Zóe")]);
    for sort in ["createdAt", "updatedAt", "firstName", "lastName", "primaryEmail"] {
        let by_name = matches!(sort, "firstName" | "lastName");
        let ascending = column(&cx, &format!("sortBy={sort}&sortOrder=asc"), "id");
        let mut descending = column(&cx, &format!("sortBy={sort}&sortOrder=desc"), "id");
        if by_name {
            assert!(ascending[..4].is_sorted() && ascending[4..].is_sorted(), "{sort}: {ascending:?}");
            let nulls = descending.split_off(4);
            assert!(nulls.iter().rev().is_sorted(), "{sort}: {nulls:?}");
        } else {
            assert!(ascending.is_sorted(), "{sort}: {ascending:?}");
        }
        assert!(descending.iter().rev().is_sorted(), "{sort}: {descending:?}");
    }
}

fn query_errors(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (query, field, kind) in [
        ("sortBy=id", "sortBy", "enum"),
        ("sortBy=CreatedAt", "sortBy", "enum"),
        ("sortBy=-createdAt", "sortBy", "enum"),
        ("sortBy=status", "sortBy", "enum"),
        ("sortOrder=ASC", "sortOrder", "enum"),
        ("sortOrder=ascending", "sortOrder", "enum"),
        ("sortOrder=1", "sortOrder", "enum"),
        ("filter=x", "filter", "unknown"),
        ("Status=active", "Status", "unknown"),
        ("status%5B%5D=active", "status[]", "unknown"),
        ("status=active&status=active", "status", "duplicate"),
        ("page=1&%70age=1", "page", "duplicate"),
    ] {
        let reply = cx.get(&format!("{LIST}?{query}")).invalid(&[(field, kind)]);
        assert_eq!(reply.violation(0)["in"], "query");
    }
    let reply = cx.get(&format!("{LIST}?sortOrder=up&x=1&limit=0&status=on&page=0&sortOrder=down"));
    let reply = reply.invalid(&[
        ("sortOrder", "enum"),
        ("x", "unknown"),
        ("limit", "minimum"),
        ("status", "enum"),
        ("page", "minimum"),
        ("sortOrder", "duplicate"),
    ]);
    let values: Vec<&Value> = (0..6).map(|index| &reply.violation(index)["value"]).collect();
    assert_eq!(values, ["up", "1", "0", "on", "0", "down"]);
}

fn empty_values_are_absent(backend: Backend) {
    let cx = Sandbox::new(backend);
    create_named(&cx, &[Some("A")]);
    let query = "page=&limit=&cursor=&search=&status=&tag=&sortBy=&sortOrder=&includeArchived=&primaryEmail=&createdSince=&updatedSince";
    assert_eq!(list(&cx, query).pagination(), cx.get(LIST).pagination());
    assert_eq!(list(&cx, "_=1&_cache=%20&_=2&&").pagination()["totalItems"], 1);
    assert_eq!(list(&cx, "").pagination()["totalItems"], 1);
}

fn text_is_decoded(backend: Backend) {
    let cx = Sandbox::new(backend);
    create_named(&cx, &[Some("A&B=C"), Some("D+E F")]);
    assert_eq!(column(&cx, "search=a%26b%3Dc", "firstName"), ["A&B=C"]);
    assert_eq!(column(&cx, "search=a%26b=c", "firstName"), ["A&B=C"]);
    assert_eq!(column(&cx, "search=d%2Be+f", "firstName"), ["D+E F"]);
    assert_eq!(column(&cx, "%73earch=d%2be%20f", "firstName"), ["D+E F"]);
    for bad in ["search=%", "search=%zz", "search=%ff", "%ff=1", "search=a&b=%C3"] {
        let reply = cx.get(&format!("{LIST}?{bad}")).fails(400, "BAD_REQUEST");
        assert_eq!(reply.json["message"], "Invalid percent-encoding in the query");
    }
}
