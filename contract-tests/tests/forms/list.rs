//! The list of a contact's submissions and the list of templates (contract 2.5, 4.4).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

use crate::support::{
    ALL, NOTHING, STATES, contact, draft, get, in_state, keeping_all, note, sandbox, send, submit,
    submit_path, to, try_submit,
};

on_every_backend!(
    newest_first,
    filters,
    superseded_ones,
    parameters,
    pages,
    cursors,
    altered_cursors,
    templates,
    templates_by_page,
);

fn listed(cx: &Sandbox, query: &str) -> Reply {
    get(cx, &format!("{ALL}?{query}")).expect(200)
}

fn ids(reply: &Reply) -> Vec<String> {
    reply.column("id").iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

/// This many submissions under a template that allows coexistence, newest first.
fn many(cx: &Sandbox, template: &str, count: usize) -> Vec<String> {
    let mut ids: Vec<String> = (0..count)
        .map(|_| {
            cx.advance(10);
            submit(cx, template, &json!({ "text": "x" })).id()
        })
        .collect();
    ids.reverse();
    ids
}

/// By `createdAt`, then `id`, both descending.
fn newest_first(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let early = draft(&cx, &template, &json!({ "text": "x" })).id();
    cx.advance(10);
    let mut same: Vec<String> =
        (0..5).map(|_| submit(&cx, &template, &json!({ "text": "x" })).id()).collect();
    same.sort_unstable_by(|a, b| b.cmp(a));
    cx.advance(10);
    // Submitting a draft does not move it.
    let _ = to(&cx, &early, "submitted");
    let mut expected = same;
    expected.push(early);
    let reply = listed(&cx, "");
    assert_eq!(ids(&reply), expected);
    for item in reply.data().as_array().expect("a list") {
        assert!(item.get("statusHistory").is_none());
        let mut whole =
            get(&cx, &crate::support::one(item["id"].as_str().expect("an id"))).expect(200).data().clone();
        whole.as_object_mut().expect("a record").shift_remove("statusHistory");
        assert_eq!(*item, whole);
    }
    assert_eq!((reply.header("etag"), reply.header("link").is_some()), (None, true));
}

fn filters(backend: Backend) {
    let cx = sandbox(backend);
    let (template, other) = (cx.template(&keeping_all(note())), cx.template(&keeping_all(note())));
    let _ = contact(&cx, "crm-2");
    for state in STATES {
        let _ = in_state(&cx, &template, &json!({ "text": "x" }), state);
    }
    let named = |client_id: &str| {
        let body = json!({ "formData": { "text": "x" }, "clientId": client_id });
        try_submit(&cx, &other, &body).expect(201).id()
    };
    let (a, b) = (named("A"), named("a"));
    let path = submit_path(&template).replace("crm-1001", "crm-2");
    let _ = send(&cx, "POST", &path, &json!({ "formData": { "text": "x" } })).expect(201);
    assert_eq!(listed(&cx, "").pagination()["totalItems"], 8);
    for state in STATES {
        let reply = listed(&cx, &format!("status={state}"));
        let count = if state == "submitted" { 3 } else { 1 };
        assert_eq!(reply.column("status"), vec![json!(state); count]);
    }
    assert_eq!(listed(&cx, &format!("templateId={template}")).pagination()["totalItems"], 6);
    assert_eq!(listed(&cx, &format!("templateId={}", template.to_uppercase())).pagination()["totalItems"], 6);
    assert_eq!(listed(&cx, &format!("templateId={other}&status=submitted")).pagination()["totalItems"], 2);
    assert_eq!(listed(&cx, &format!("templateId={other}&status=draft")).pagination()["totalItems"], 0);
    // Opaque: compared verbatim.
    assert_eq!(ids(&listed(&cx, "clientId=A")), [a]);
    assert_eq!(ids(&listed(&cx, &format!("clientId=a&templateId={other}"))), [b]);
    assert_eq!(listed(&cx, "clientId=nobody").data(), &json!([]));
    assert_eq!(listed(&cx, "clientId=%25").data(), &json!([]));
    // Well-formed and unknown is an empty list.
    let none = listed(&cx, &format!("templateId={NOTHING}"));
    assert_eq!((none.data(), &none.pagination()["totalPages"]), (&json!([]), &json!(0)));
    // Another agent's template counts as unknown.
    let agent = cx.new_agent("other");
    let foreign = cx.template_of(&agent, &note());
    assert_eq!(listed(&cx, &format!("templateId={foreign}")).data(), &json!([]));
}

fn superseded_ones(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let mut made = many(&cx, &template, 3);
    let _ = to(&cx, &made[1], "archived");
    for query in ["", "includeSuperseded=false", "includeSuperseded=0", "includeSuperseded="] {
        assert_eq!(ids(&listed(&cx, query)), [made[0].clone()], "{query}");
    }
    for query in ["includeSuperseded=true", "includeSuperseded=1", "includeSuperseded=TRUE"] {
        let reply = listed(&cx, query);
        assert_eq!(ids(&reply), made);
        assert_eq!(reply.pagination()["totalItems"], 3);
    }
    assert_eq!(ids(&listed(&cx, "includeSuperseded=1&status=archived")), [made.remove(1)]);
    assert_eq!(listed(&cx, "status=archived").data(), &json!([]));
}

fn parameters(backend: Backend) {
    let cx = sandbox(backend);
    let invalid = |query: &str, expected: &[(&str, &str)]| {
        let reply = get(&cx, &format!("{ALL}?{query}")).invalid(expected);
        assert!(
            reply.json["validationErrors"]
                .as_array()
                .expect("errors")
                .iter()
                .all(|error| error["in"] == "query")
        );
    };
    for malformed in ["x", "697d", "697d0000000000000000000g", "697d000000000000000000000"] {
        invalid(&format!("templateId={malformed}"), &[("templateId", "format")]);
    }
    for word in ["done", "Draft", "draft,submitted", "1"] {
        invalid(&format!("status={word}"), &[("status", "enum")]);
    }
    invalid("includeSuperseded=yes", &[("includeSuperseded", "type")]);
    invalid(&format!("clientId={}", "x".repeat(129)), &[("clientId", "maxLength")]);
    invalid("limit=0", &[("limit", "minimum")]);
    invalid("limit=101", &[("limit", "maximum")]);
    invalid("limit=ten", &[("limit", "type")]);
    invalid("page=-1", &[("page", "minimum")]);
    invalid("page=10001&limit=100", &[("page", "maximum")]);
    invalid("cursor=x", &[("cursor", "format")]);
    invalid("sortBy=createdAt", &[("sortBy", "unknown")]);
    invalid("status=draft&status=draft", &[("status", "duplicate")]);
    invalid(
        "nonsense=1&templateId=x&status=x&limit=x",
        &[("nonsense", "unknown"), ("templateId", "format"), ("status", "enum"), ("limit", "type")],
    );
    // Empty counts as absent.
    assert_eq!(
        listed(&cx, "templateId=&status=&clientId=&page=&limit=&cursor=").pagination()["itemsPerPage"],
        20
    );
    assert_eq!(listed(&cx, "page=3").pagination()["currentPage"], 3);
    let reply = get(&cx, "/forms/contacts/nobody/chatbots/<A>?limit=0").fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": "nobody" }));
}

/// The targets of `Link` by relation, below {origin}.
fn links(reply: &Reply) -> Vec<(String, String)> {
    let header = reply.header("link").expect("Link");
    let one = |link: &str| {
        let (url, relation) = link.split_once(">; rel=\"").expect("a link");
        let target = url.strip_prefix("<https://api.example.com").expect("absolute");
        (relation.trim_end_matches('"').to_owned(), target.to_owned())
    };
    header.split(", ").map(one).collect()
}

fn pages(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let made = many(&cx, &template, 5);
    let page = |page: u32| listed(&cx, &format!("templateId={template}&limit=2&page={page}"));
    let first = page(1);
    assert_eq!(ids(&first), made[..2]);
    let mut pagination = first.pagination().clone();
    pagination["nextCursor"] = Value::Null;
    assert_eq!(
        pagination,
        json!({ "currentPage": 1, "totalPages": 3, "totalItems": 5, "itemsPerPage": 2, "hasNextPage": true, "hasPreviousPage": false, "nextCursor": null })
    );
    assert_eq!(ids(&page(3)), made[4..]);
    assert_eq!(page(4).data(), &json!([]));
    assert_eq!(page(4).pagination()["currentPage"], 4);
    let relations =
        |reply: &Reply| links(reply).into_iter().map(|(relation, _)| relation).collect::<Vec<_>>();
    assert_eq!(relations(&first), ["first", "next", "last"]);
    assert_eq!(relations(&page(2)), ["first", "prev", "next", "last"]);
    assert_eq!(relations(&page(3)), ["first", "prev", "last"]);
    for (relation, target) in links(&page(2)) {
        let reply = cx.at("GET", &target).send().expect(200);
        let expected = match relation.as_str() {
            "first" | "prev" => &made[..2],
            _ => &made[4..],
        };
        assert_eq!(ids(&reply), expected, "{relation}");
    }
}

fn cursors(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let made = many(&cx, &template, 5);
    let query = format!("templateId={template}&limit=2");
    let cursor = |reply: &Reply| reply.pagination()["nextCursor"].as_str().expect("a cursor").to_owned();
    let first = listed(&cx, &query);
    // Items that come and go between requests shift nothing.
    let newer = many(&cx, &template, 2);
    let second = listed(&cx, &format!("{query}&cursor={}", cursor(&first)));
    assert_eq!(ids(&second), made[2..4]);
    assert_eq!(
        (&second.pagination()["currentPage"], &second.pagination()["totalItems"]),
        (&json!(2), &json!(7))
    );
    assert_eq!(second.pagination()["hasPreviousPage"], true);
    let third = listed(&cx, &format!("{query}&cursor={}", cursor(&second)));
    assert_eq!(ids(&third), made[4..]);
    assert_eq!(
        (&third.pagination()["nextCursor"], &third.pagination()["hasNextPage"]),
        (&Value::Null, &json!(false))
    );
    let relations: Vec<String> = links(&second).into_iter().map(|(relation, _)| relation).collect();
    assert_eq!(relations, ["first", "next"]);
    let next = links(&second).into_iter().find(|(relation, _)| relation == "next").expect("next").1;
    assert_eq!(ids(&cx.at("GET", &next).send().expect(200)), made[4..]);
    assert_eq!(ids(&listed(&cx, &query)), newer);
}

fn altered_cursors(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let _ = contact(&cx, "crm-2");
    let _ = many(&cx, &template, 3);
    let first = listed(&cx, "limit=1");
    let cursor = first.pagination()["nextCursor"].as_str().expect("a cursor").to_owned();
    let mut altered = cursor.clone();
    let last = altered.pop().expect("a character");
    altered.push(if last == 'A' { 'B' } else { 'A' });
    let refused = |path: &str, query: &str| {
        let _ = get(&cx, &format!("{path}?{query}")).invalid(&[("cursor", "format")]);
    };
    refused(ALL, &format!("limit=1&cursor={altered}"));
    refused(ALL, &format!("limit=1&cursor={}", &cursor[1..]));
    // Issued for other parameters.
    refused(ALL, &format!("limit=2&cursor={cursor}"));
    refused(ALL, &format!("cursor={cursor}"));
    refused(ALL, &format!("limit=1&status=draft&cursor={cursor}"));
    refused(ALL, &format!("limit=1&includeSuperseded=1&cursor={cursor}"));
    refused(ALL, &format!("limit=1&clientId=a&cursor={cursor}"));
    refused(ALL, &format!("limit=1&templateId={template}&cursor={cursor}"));
    refused("/forms/contacts/crm-2/chatbots/<A>", &format!("limit=1&cursor={cursor}"));
    refused("/forms/templates/chatbots/<A>", &format!("limit=1&cursor={cursor}"));
    refused("/contacts/chatbots/<A>", &format!("limit=1&cursor={cursor}"));
    let _ = get(&cx, &format!("{ALL}?limit=1&page=2&cursor={cursor}")).invalid(&[("cursor", "conflict")]);
    // The same parameters written differently are equal.
    let _ = listed(&cx, &format!("cursor={cursor}&status=&limit=01&includeSuperseded=false"));
}

const TEMPLATES: &str = "/forms/templates/chatbots/<A>";

/// Only active ones, by name without regard to case and accents.
fn templates(backend: Backend) {
    let cx = sandbox(backend);
    assert_eq!(get(&cx, TEMPLATES).expect(200).data(), &json!([]));
    let named = |name: &str| {
        let mut definition = note();
        definition["name"] = json!(name);
        definition
    };
    for name in ["beta", "Alpha", "Épsilon", "gamma", "Delta"] {
        let _ = cx.template(&named(name));
    }
    let never = cx.draft_template(&named("Draft"));
    let archived = cx.template(&named("Archived"));
    let _ = cx.archive_template(&archived);
    let reply = get(&cx, TEMPLATES).expect(200);
    assert_eq!(reply.column("name"), ["Alpha", "beta", "Delta", "Épsilon", "gamma"]);
    assert_eq!(
        (&reply.pagination()["totalItems"], &reply.pagination()["itemsPerPage"]),
        (&json!(5), &json!(100))
    );
    assert!(reply.column("status").iter().all(|status| status == "active"));
    assert_eq!(reply.column("fieldCount")[0], 4);
    let _ = cx.activate_template(&never);
    let _ = cx.activate_template(&archived);
    assert_eq!(get(&cx, TEMPLATES).pagination()["totalItems"], 7);
    // Schema and structure are available in any status.
    let _ = cx.archive_template(&archived);
    for id in [&archived, &cx.draft_template(&note())] {
        let schema = get(&cx, &format!("/forms/templates/{id}/schema/chatbots/<A>")).expect(200);
        assert_ne!(schema.data()["status"], "active");
        let _ = get(&cx, &format!("/forms/templates/{id}/structure/chatbots/<A>")).expect(200);
    }
    for document in ["schema", "structure"] {
        for (id, message) in [
            (NOTHING, "Template not found"),
            ("x", "Template not found; platform ids are 24 hexadecimal characters"),
        ] {
            let reply = get(&cx, &format!("/forms/templates/{id}/{document}/chatbots/<A>"));
            let reply = reply.fails(404, "TEMPLATE_NOT_FOUND");
            assert_eq!(reply.json["details"], json!({ "resource": "template", "id": id }));
            assert_eq!(reply.json["message"], message);
        }
    }
}

fn templates_by_page(backend: Backend) {
    let cx = sandbox(backend);
    let ids: Vec<Value> = (0..3)
        .map(|at| {
            let mut definition = note();
            // Ids break ties of equal names.
            definition["name"] = json!(if at == 2 { "Other" } else { "Equal" });
            json!(cx.template(&definition))
        })
        .collect();
    let mut expected = vec![ids[0].clone(), ids[1].clone()];
    expected.sort_unstable_by(|a, b| a.as_str().cmp(&b.as_str()));
    expected.push(ids[2].clone());
    assert_eq!(get(&cx, TEMPLATES).column("id"), expected);
    let mut seen = Vec::new();
    let mut query = "limit=1".to_owned();
    loop {
        let reply = get(&cx, &format!("{TEMPLATES}?{query}")).expect(200);
        seen.extend(reply.column("id"));
        match reply.pagination()["nextCursor"].as_str() {
            Some(cursor) => query = format!("limit=1&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, expected);
    let reply = get(&cx, &format!("{TEMPLATES}?limit=2&page=2")).expect(200);
    assert_eq!((reply.column("id"), &reply.pagination()["totalPages"]), (expected[2..].to_vec(), &json!(2)));
    let _ = get(&cx, &format!("{TEMPLATES}?status=draft")).invalid(&[("status", "unknown")]);
    let _ = get(&cx, &format!("{TEMPLATES}?limit=101")).invalid(&[("limit", "maximum")]);
    // A schema's tag moves with every change of the template.
    let id = ids[0].as_str().expect("an id");
    let tag = || {
        let reply = get(&cx, &format!("/forms/templates/{id}/schema/chatbots/<A>"));
        reply.header("etag").expect("a tag").to_owned()
    };
    let mut tags = vec![tag()];
    let mut definition = note();
    definition["name"] = json!("Renamed");
    let _ = cx.edit_template(id, &definition);
    tags.push(tag());
    let _ = cx.archive_template(id);
    tags.push(tag());
    assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
}
