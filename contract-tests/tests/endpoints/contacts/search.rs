//! GET /contacts/chatbots/<A>?search= (contract 4.2).

use contract_tests::{Backend, Sandbox, on_every_backend};
use serde_json::json;

on_every_backend!(
    every_searched_field,
    unsearched_fields,
    case_and_accents_do_not_count,
    every_term_occurs,
    terms_do_not_match_across_fields,
    no_wildcards,
    digits_of_phones,
    length_and_blanks,
    changes_are_found_at_once,
);

fn found(cx: &Sandbox, search: &str) -> Vec<String> {
    let encoded: String = search.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let reply = cx.get(&format!("/contacts/chatbots/<A>?sortOrder=asc&sortBy=primaryEmail&search={encoded}"));
    let names = reply.expect(200).column("primaryEmail");
    names.iter().map(|name| name.as_str().unwrap_or_default().trim_end_matches("@x.co").to_owned()).collect()
}

fn every_searched_field(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (name, field, value) in [
        ("a", "firstName", json!("xNeedlex")),
        ("b", "middleName", json!("needle")),
        ("c", "lastName", json!("NEEDLE")),
        ("d", "externalReferenceId", json!("id/needle")),
        ("e", "fullAddress", json!("12 Mill Lane\nneedle")),
        ("f", "tags", json!(["first", "a needle b"])),
        ("g", "customFields", json!({ "k": "one needle" })),
    ] {
        let mut body = json!({ "primaryEmail": format!("{name}@x.co") });
        body[field] = value;
        let _ = cx.create(&body);
    }
    let _ = cx.create(&json!({ "primaryEmail": "needle.h@x.co" }));
    let _ = cx.create(&json!({ "primaryEmail": "z@x.co" }));
    assert_eq!(found(&cx, "needle"), ["a", "b", "c", "d", "e", "f", "g", "needle.h"]);
    assert_eq!(found(&cx, "eedl"), found(&cx, "needle"), "substrings");
}

fn unsearched_fields(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&json!({
        "primaryEmail": "a@x.co", "salutation": "needle", "gender": "needle", "source": "needle", "dob": "1990-05-17",
        "customFields": { "needle": 1, "deep": { "a": "needle" }, "list": ["needle"], "number": 424242, "flag": true },
    }));
    for term in ["needle", "1990", "424242", "true", "active"] {
        assert!(found(&cx, term).is_empty(), "{term}");
    }
}

fn case_and_accents_do_not_count(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (name, first) in [
        ("a", "Zoë"),
        ("b", "STRAßE"),
        ("c", "Ｆｕｌｌ"),
        ("d", "İstanbul"),
        ("e", "ﬁn"),
        ("f", "e\u{301}tude"),
        ("g", "ΌΣΟΣ"),
    ] {
        let _ = cx.create(&json!({ "primaryEmail": format!("{name}@x.co"), "firstName": first }));
    }
    for (term, name) in [
        ("zoe", "a"),
        ("ZOË", "a"),
        ("zoé", "a"),
        ("zoe\u{308}", "a"),
        ("strasse", "b"),
        ("STRASSE", "b"),
        ("straße", "b"),
        ("full", "c"),
        ("istanbul", "d"),
        ("FIN", "e"),
        ("étude", "f"),
        ("ETUDE", "f"),
        ("όσος", "g"),
        ("οσοσ", "g"),
    ] {
        assert_eq!(found(&cx, term), [name], "{term}");
    }
}

fn every_term_occurs(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(
        &json!({ "primaryEmail": "a@x.co", "firstName": "Zoë", "lastName": "Okafor", "tags": ["vip"] }),
    );
    let _ = cx.create(&json!({ "primaryEmail": "b@x.co", "firstName": "Zoë", "lastName": "Adeyemi" }));
    for (search, names) in [
        ("zoe okafor", "a"),
        ("okafor zoe", "a"),
        ("  okafor \t zoe\n vip ", "a"),
        ("zoe\u{a0}okafor", "a"),
        ("zoe\u{3000}okafor", "a"),
        ("zoe nobody", ""),
        ("zoe", "ab"),
        ("oka for", "a"),
        ("zoe zoe", "ab"),
    ] {
        assert_eq!(found(&cx, search).concat(), names, "{search}");
    }
}

fn terms_do_not_match_across_fields(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(
        &json!({ "primaryEmail": "a@x.co", "firstName": "ab", "middleName": "cd", "tags": ["ef", "gh"] }),
    );
    for none in ["abcd", "bc", "efgh", "fg", "da"] {
        assert!(found(&cx, none).is_empty(), "{none}");
    }
}

fn no_wildcards(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(
        &json!({ "primaryEmail": "a@x.co", "firstName": "50%", "lastName": "a_b", "middleName": "c*d" }),
    );
    let _ = cx.create(
        &json!({ "primaryEmail": "b@x.co", "firstName": "500", "lastName": "axb", "middleName": "cxd" }),
    );
    for (search, names) in [
        ("50%", "a"),
        ("%", "a"),
        ("a_b", "a"),
        ("_", "a"),
        ("c*d", "a"),
        ("*", "a"),
        ("a%b", ""),
        ("?", ""),
        (".", "ab"),
        ("\\", ""),
        ("'", ""),
        ("\"", ""),
        ("x' OR '1'='1", ""),
        ("^5", ""),
        ("(", ""),
    ] {
        assert_eq!(found(&cx, search).concat(), names, "{search}");
    }
}

fn digits_of_phones(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(
        &json!({ "primaryEmail": "a@x.co", "primaryPhone": "(20) 7946-0958", "primaryPhoneCode": "44" }),
    );
    let _ = cx.create(&json!({ "primaryEmail": "b@x.co", "primaryPhone": "+1 684 555" }));
    let _ = cx.create(&json!({ "primaryEmail": "c@x.co", "primaryPhoneCode": "679" }));
    for (search, names) in [
        ("2079460958", "a"),
        ("+442079460958", "a"),
        ("442079", "a"),
        ("4420", "a"),
        ("20-7946", "a"),
        ("(0958)", "a"),
        ("07.94/60", "a"),
        ("1684555", "b"),
        ("+1-684-555", "b"),
        ("679", "c"),
        ("7946-0958", "a"),
        // As text, too.
        ("(20)", "a"),
        ("+44", "a"),
        ("+1", "b"),
        // Fewer than three digits match as text only.
        ("09", "a"),
        ("58", "a"),
        ("42", ""),
        // Two terms.
        ("684 555", "b"),
        ("44 20", "a"),
        // Not a term of digits and punctuation.
        ("x2079460958", ""),
        ("20794609588", ""),
    ] {
        assert_eq!(found(&cx, search).concat(), names, "{search}");
    }
}

fn length_and_blanks(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&json!({ "primaryEmail": "a@x.co" }));
    assert!(found(&cx, &"é".repeat(200)).is_empty());
    assert!(found(&cx, &format!("  {}  ", "é".repeat(200))).is_empty(), "measured after trimming");
    let reply = cx.get(&format!("/contacts/chatbots/<A>?search={}", "%C3%A9".repeat(201)));
    let _ = reply.invalid(&[("search", "maxLength")]);
    assert_eq!(found(&cx, "   "), ["a"], "blank is absent");
    assert_eq!(found(&cx, ""), ["a"]);
}

fn changes_are_found_at_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx
        .create(&json!({ "primaryEmail": "a@x.co", "firstName": "before", "customFields": { "k": "value" } }))
        .id();
    let _ = cx.update(&id, &json!({ "firstName": "after", "customFields": { "k": null } }));
    assert_eq!(found(&cx, "after"), ["a"]);
    assert!(found(&cx, "before").is_empty() && found(&cx, "value").is_empty());
}
