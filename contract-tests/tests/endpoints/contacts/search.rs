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
    letters_and_punctuation_that_people_type,
    numbers_in_every_form,
    control_characters,
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
        ("  okafor   zoe  vip ", "a"),
        ("okafor zoe\n", "a"),
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

fn letters_and_punctuation_that_people_type(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (name, first, typed) in [
        ("a", "Łukasz", "lukasz"),
        ("b", "Søren", "soren"),
        ("c", "Đức", "duc"),
        ("d", "Işık", "isik"),
        ("e", "Ægir Þórðarson", "aegir thordarson"),
        ("f", "Ħamrun", "HAMRUN"),
        ("g", "Ŋaahitaga Ŧuohttá", "naahitaga tuohtta"),
        ("h", "O’Hara", "o'hara"),
        ("i", "Kaʻiulani", "ka'iulani"),
        ("j", "Anne\u{2011}Claire", "anne-claire"),
        ("k", "Jean – Luc", "jean - luc"),
        ("l", "Lou\u{a0}Ann", "lou ann"),
        ("m", "D\u{202f}Aubigné", "d aubigne"),
        ("n", "Kwa\u{ad}me Ɓala", "kwame bala"),
    ] {
        let _ = cx.create(&json!({ "primaryEmail": format!("{name}@x.co"), "firstName": first }));
        for search in
            [typed, first, &first.to_uppercase(), &typed.replace('\'', "\u{2bc}").replace('-', "\u{2013}")]
        {
            assert_eq!(found(&cx, search), [name], "{search:?} finds {first}");
        }
    }
    let reply = cx.get("/contacts/chatbots/<A>?sortBy=firstName&sortOrder=asc").expect(200);
    let sorted: Vec<String> = reply
        .column("primaryEmail")
        .iter()
        .map(|email| email.as_str().unwrap_or_default()[..1].to_owned())
        .collect();
    assert_eq!(sorted.concat(), "ejmcfdkinlaghb", "as the plain letters sort");
}

fn numbers_in_every_form(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (name, phone, code) in [
        ("a", "+44 20 7946 0958", None),
        ("b", "0044 20 7946 0958", None),
        ("c", "+44 (0)20 7946 0958", None),
        ("d", "20 7946 0958", Some("+44")),
        ("e", "020 7946 0958", Some("44")),
        ("f", "020 7946 0958", None),
        ("g", "tel:+44-20-7946-0958;ext=12", None),
    ] {
        let _ = cx.create(&json!({ "primaryEmail": format!("{name}@x.co"), "primaryPhone": phone, "primaryPhoneCode": code }));
    }
    let _ = cx.create(&json!({ "primaryEmail": "z@x.co", "primaryPhone": "+49 30 7946 0958" }));
    for search in [
        "+44 20 7946 0958",
        "+442079460958",
        "0044 20 7946 0958",
        "00442079460958",
        "+44 (0)20 7946 0958",
        "020 7946 0958",
        "(020) 7946-0958",
        "02079460958",
        "20 7946 0958",
        "tel:+44-20-7946-0958",
        "+44\u{a0}20\u{2011}7946\u{2011}0958",
        "＋４４２０７９４６０９５８",
    ] {
        assert_eq!(found(&cx, search).concat(), "abcdefg", "{search:?}");
    }
    assert_eq!(found(&cx, "030 7946 0958"), ["z"]);
    assert_eq!(found(&cx, "+49 20 7946 0958"), ["f"], "another country, but for a number without one");
    assert_eq!(found(&cx, "7946 0958").len(), 8);
}

/// On every store the same, before anything is searched.
fn control_characters(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&json!({ "primaryEmail": "a@x.co", "tags": ["ab"] }));
    for control in (0..0x20).chain(0x7f..0xa0_u32).filter_map(char::from_u32) {
        let mut bytes = [0; 4];
        let encoded: String =
            control.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect();
        for parameter in ["search", "tag"] {
            for value in [format!("a{encoded}b"), format!("x{encoded}{encoded}y")] {
                let _ = cx
                    .get(&format!("/contacts/chatbots/<A>?{parameter}={value}"))
                    .invalid(&[(parameter, "invalidCharacters")]);
            }
            // White space is trimmed first.
            let alone = cx.get(&format!("/contacts/chatbots/<A>?{parameter}={encoded}"));
            match control.is_whitespace() {
                true => assert_eq!(alone.expect(200).column("id").len(), 1, "{encoded}"),
                false => drop(alone.invalid(&[(parameter, "invalidCharacters")])),
            }
        }
    }
}
