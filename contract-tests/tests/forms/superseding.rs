//! One submission supersedes another (contract 2.3.2).

use std::collections::BTreeSet;

use contract_tests::{Backend, Sandbox, on_every_backend};
use serde_json::{Value, json};

use crate::support::{
    ALL, BATCH, change, contact, draft, get, keeping_all, latest, note, read, sandbox, send, submit,
    submit_path, to, try_submit,
};

on_every_backend!(
    a_chain,
    the_old_one_keeps_its_status,
    drafts_take_no_part,
    an_archived_head,
    coexisting_submissions,
    another_policy,
    pairs_are_independent,
    a_draft_under_an_earlier_policy,
    every_way_to_submit,
    many_at_once,
);

fn data() -> Value {
    json!({ "text": "x" })
}

/// The submissions of a template that were submitted and are not superseded.
fn heads(cx: &Sandbox, template: &str) -> Vec<String> {
    let reply = get(cx, &format!("{ALL}?templateId={template}&includeSuperseded=true&limit=100")).expect(200);
    let items = reply.data().as_array().expect("a list");
    let is_head = |item: &&Value| !item["submittedAt"].is_null() && item["isSuperseded"] == false;
    items.iter().filter(is_head).map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

fn a_chain(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let mut before: Option<String> = None;
    for revision in 1..=5 {
        cx.advance(1_000);
        let new = submit(&cx, &template, &data());
        assert_eq!(new.data()["revision"], revision);
        assert_eq!(new.data()["supersedes"], json!(before));
        assert_eq!(
            (&new.data()["isSuperseded"], &new.data()["supersededBy"], &new.data()["supersededAt"]),
            (&json!(false), &Value::Null, &Value::Null)
        );
        if let Some(old) = before {
            let old = read(&cx, &old);
            assert_eq!(old.data()["isSuperseded"], true);
            assert_eq!(old.data()["supersededBy"], json!(new.id()));
            assert_eq!(old.data()["supersededAt"], new.data()["submittedAt"]);
            assert_eq!(old.data()["updatedAt"], new.data()["submittedAt"]);
        }
        assert_eq!(heads(&cx, &template), [new.id()]);
        assert_eq!(get(&cx, &latest(&template)).expect(200).id(), new.id());
        before = Some(new.id());
    }
}

fn the_old_one_keeps_its_status(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    for state in ["submitted", "under_review", "approved", "rejected"] {
        let old = crate::support::in_state(&cx, &template, &data(), state);
        cx.advance(10);
        let _ = submit(&cx, &template, &data());
        let now = read(&cx, &old.id());
        for name in [
            "status",
            "formData",
            "statusHistory",
            "reviewedBy",
            "reviewedAt",
            "submittedAt",
            "createdAt",
            "revision",
        ] {
            assert_eq!(now.data()[name], old.data()[name], "{state} {name}");
        }
        assert_ne!(now.header("etag"), old.header("etag"));
    }
}

fn drafts_take_no_part(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let one = draft(&cx, &template, &data());
    let other = draft(&cx, &template, &data());
    cx.advance(10);
    let first = submit(&cx, &template, &data());
    assert_eq!((&first.data()["revision"], &first.data()["supersedes"]), (&json!(1), &Value::Null));
    cx.advance(10);
    for draft in [&one, &other] {
        assert_eq!(read(&cx, &draft.id()).data(), draft.data());
    }
    // Entering `submitted` from a draft supersedes as a submit does.
    let handed_in = to(&cx, &one.id(), "submitted");
    assert_eq!(
        (&handed_in.data()["revision"], &handed_in.data()["supersedes"]),
        (&json!(2), &json!(first.id()))
    );
    assert_eq!(read(&cx, &first.id()).data()["supersededBy"], json!(one.id()));
    assert_eq!(read(&cx, &other.id()).data(), other.data());
    // Entering it again after a review does not.
    cx.advance(10);
    let _ = to(&cx, &one.id(), "rejected");
    let back = to(&cx, &one.id(), "submitted");
    assert_eq!((&back.data()["revision"], &back.data()["supersedes"]), (&json!(2), &json!(first.id())));
    let _ = to(&cx, &other.id(), "archived");
    assert_eq!(heads(&cx, &template), [one.id()]);
}

/// Archiving the current one does not restore an older one, and a later one still supersedes it.
fn an_archived_head(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let first = submit(&cx, &template, &data()).id();
    cx.advance(10);
    let second = submit(&cx, &template, &data()).id();
    cx.advance(10);
    let _ = to(&cx, &second, "archived");
    assert_eq!(read(&cx, &first).data()["supersededBy"], json!(second));
    assert_eq!(heads(&cx, &template), std::slice::from_ref(&second));
    let _ = get(&cx, &latest(&template)).fails(404, "SUBMISSION_NOT_FOUND");
    cx.advance(10);
    let third = submit(&cx, &template, &data());
    assert_eq!((&third.data()["revision"], &third.data()["supersedes"]), (&json!(3), &json!(second)));
    let old = read(&cx, &second);
    assert_eq!((&old.data()["status"], &old.data()["isSuperseded"]), (&json!("archived"), &json!(true)));
}

fn coexisting_submissions(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let mut ids = BTreeSet::new();
    for _ in 0..3 {
        cx.advance(10);
        let new = submit(&cx, &template, &data());
        assert_eq!((&new.data()["revision"], &new.data()["supersedes"]), (&json!(1), &Value::Null));
        assert!(ids.insert(new.id()));
        assert_eq!(get(&cx, &latest(&template)).expect(200).id(), new.id());
    }
    let drafted = draft(&cx, &template, &data()).id();
    assert_eq!(to(&cx, &drafted, "submitted").data()["revision"], 1);
    ids.insert(drafted);
    assert_eq!(heads(&cx, &template).into_iter().collect::<BTreeSet<_>>(), ids);
    let element = json!({ "templateId": template, "formData": data() });
    let batch = send(&cx, "POST", BATCH, &json!({ "submissions": [element, element] })).expect(201);
    assert_eq!(batch.data()["results"][1]["submission"]["revision"], 1);
    assert_eq!(heads(&cx, &template).len(), 6);
}

/// After a change of policy, the next submission restores the rule of one current submission.
fn another_policy(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    for _ in 0..3 {
        cx.advance(10);
        let _ = submit(&cx, &template, &data());
    }
    let newest = get(&cx, &latest(&template)).expect(200).id();
    let _ = cx.edit_template(&template, &note());
    assert_eq!(heads(&cx, &template).len(), 3);
    cx.advance(10);
    let next = submit(&cx, &template, &data());
    assert_eq!((&next.data()["revision"], &next.data()["supersedes"]), (&json!(2), &json!(newest)));
    assert_eq!(heads(&cx, &template), [next.id()]);
    let _ = cx.edit_template(&template, &keeping_all(note()));
    cx.advance(10);
    let retained = submit(&cx, &template, &data());
    assert_eq!((&retained.data()["revision"], &retained.data()["supersedes"]), (&json!(1), &Value::Null));
    assert_eq!(heads(&cx, &template).len(), 2);
}

fn pairs_are_independent(backend: Backend) {
    let cx = sandbox(backend);
    let (template, other) = (cx.template(&note()), cx.template(&note()));
    let _ = contact(&cx, "crm-2");
    let first = submit(&cx, &template, &data());
    let _ = submit(&cx, &other, &data());
    let path = submit_path(&template).replace("crm-1001", "crm-2");
    let elsewhere = send(&cx, "POST", &path, &json!({ "formData": data() })).expect(201);
    assert_eq!(elsewhere.data()["revision"], 1);
    assert_eq!(read(&cx, &first.id()).data(), first.data());
}

/// A batch supersedes in the order of its elements; a rejected request supersedes nothing.
fn every_way_to_submit(backend: Backend) {
    let cx = sandbox(backend);
    let (template, other) = (cx.template(&note()), cx.template(&keeping_all(note())));
    let first = submit(&cx, &template, &data());
    cx.advance(10);
    let refused = json!({ "submissions": [{ "templateId": template, "formData": data() }, { "templateId": other, "formData": {} }] });
    let _ = send(&cx, "POST", BATCH, &refused).fails(400, "VALIDATION_ERROR");
    let _ = try_submit(&cx, &template, &json!({ "formData": {} })).fails(400, "VALIDATION_ERROR");
    let preview =
        send(&cx, "POST", &format!("{}?dryRun=1", submit_path(&template)), &json!({ "formData": data() }));
    assert_eq!((&preview.data()["revision"], &preview.data()["supersedes"]), (&json!(2), &json!(first.id())));
    assert_eq!(read(&cx, &first.id()).data(), first.data());
    let draft = json!({ "templateId": template, "formData": {}, "status": "draft" });
    let body = json!({ "submissions": [draft, { "templateId": template, "formData": data() }, draft] });
    let reply = send(&cx, "POST", BATCH, &body).expect(201);
    let result = |at: usize| reply.data()["results"][at]["submission"].clone();
    assert_eq!((&result(1)["revision"], &result(1)["supersedes"]), (&json!(2), &json!(first.id())));
    assert_eq!((&result(0)["revision"], &result(0)["supersedes"]), (&json!(1), &Value::Null));
    assert_eq!(read(&cx, &first.id()).data()["supersededBy"], result(1)["id"]);
}

/// Of concurrent submissions exactly one is current, and the chain has no gap and no branch.
fn many_at_once(backend: Backend) {
    const THREADS: usize = 8;
    const EACH: usize = 6;
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let drafts: Vec<String> = (0..THREADS).map(|_| draft(&cx, &template, &data()).id()).collect();
    let stored: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = drafts
            .iter()
            .map(|drafted| {
                scope.spawn(|| {
                    let mut stored = 0;
                    for round in 0..EACH {
                        let reply = match round {
                            0 => change(&cx, drafted, &json!({ "status": "submitted" })),
                            1 => send(
                                &cx,
                                "POST",
                                BATCH,
                                &json!({ "submissions": [{ "templateId": template, "formData": data() }] }),
                            ),
                            _ => try_submit(&cx, &template, &json!({ "formData": data() })),
                        };
                        match reply.status {
                            200 | 201 => stored += 1,
                            _ => {
                                let _ = reply.fails(409, "CONCURRENT_UPDATE");
                            }
                        }
                    }
                    stored
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
    });
    assert!(stored > 0);
    assert_eq!(heads(&cx, &template).len(), 1);
    let reply = get(&cx, &format!("{ALL}?includeSuperseded=1&limit=100")).expect(200);
    let mut chain: Vec<&Value> = reply
        .data()
        .as_array()
        .expect("a list")
        .iter()
        .filter(|item| !item["submittedAt"].is_null())
        .collect();
    assert_eq!(chain.len(), stored);
    chain.sort_by_key(|item| item["revision"].as_u64());
    for (at, item) in chain.iter().enumerate() {
        assert_eq!(item["revision"], at + 1);
        assert_eq!(
            item["supersedes"],
            at.checked_sub(1).map_or(Value::Null, |before| chain[before]["id"].clone())
        );
        assert_eq!(item["supersededBy"], chain.get(at + 1).map_or(Value::Null, |next| next["id"].clone()));
    }
}

/// The template's present policy applies, also to a draft created under an earlier version.
fn a_draft_under_an_earlier_policy(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let drafted = draft(&cx, &template, &data()).id();
    let _ = cx.edit_template(&template, &note());
    cx.advance(10);
    let head = submit(&cx, &template, &data()).id();
    cx.advance(10);
    let handed_in = to(&cx, &drafted, "submitted");
    assert_eq!((&handed_in.data()["revision"], &handed_in.data()["supersedes"]), (&json!(2), &json!(head)));
    assert_eq!(handed_in.data()["templateVersion"], 1);
    assert_eq!(heads(&cx, &template), [drafted]);
}
