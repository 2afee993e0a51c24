//! Random requests for forms.

use serde_json::{Value, json};

use super::{Known, Request, external, maybe, request, with_json};
use crate::SplitMix64;

fn form_data(random: &mut SplitMix64) -> Value {
    let good = [
        json!({ "rating": 5 }),
        json!({ "rating": 3, "comment": "x" }),
        json!({ "rating": 1, "comment": "Ünal\n\"q\"" }),
        json!({ "rating": 2, "comment": null }),
    ];
    let bad = [json!({}), json!({ "rating": 9 }), json!({ "rating": "5" })];
    if random.one_in(10) { random.pick(&bad) } else { random.pick(&good) }
}

fn form_body(random: &mut SplitMix64) -> Value {
    let mut body = json!({ "formData": form_data(random) });
    if random.one_in(3) {
        body["status"] = json!(random.pick(&["draft", "draft", "submitted", "approved"]));
    }
    maybe(random, &mut body, "submissionNotes", 5, "Two\nlines");
    let client = random.pick(&["x", "X", "X y", "é"]);
    maybe(random, &mut body, "clientId", 4, client);
    body
}

pub(super) fn forms(random: &mut SplitMix64, known: &Known) -> Request {
    let template =
        if random.one_in(25) { "697d00000000000000000000".to_owned() } else { random.pick(&known.templates) };
    let contact = external(random);
    let submission = if known.submissions.is_empty() {
        "697d00000000000000000000".to_owned()
    } else {
        random.pick(&known.submissions)
    };
    match random.below(20) {
        0..=4 => with_json(
            request("POST", format!("/forms/submit/{template}/contacts/{contact}")),
            &form_body(random),
        ),
        5 => {
            let elements: Vec<Value> = (0..=random.below(3))
                .map(|_| {
                    let mut body = form_body(random);
                    body["templateId"] = json!(random.pick(&known.templates));
                    body
                })
                .collect();
            let mut body = json!({ "submissions": elements });
            if random.one_in(2) {
                body["allOrNone"] = json!(random.one_in(2));
            }
            with_json(request("POST", format!("/forms/batch/contacts/{contact}/chatbots/<A>")), &body)
        }
        6..=9 => {
            let mut body = json!({});
            if random.one_in(2) {
                body["formData"] = form_data(random);
            }
            if random.one_in(2) {
                body["status"] =
                    json!(random.pick(&["submitted", "under_review", "approved", "rejected", "archived"]));
            }
            maybe(random, &mut body, "reviewNotes", 4, "Gut");
            with_json(request("PUT", format!("/forms/submissions/{submission}/chatbots/<A>")), &body)
        }
        10..=11 => request("GET", format!("/forms/submissions/{submission}/chatbots/<A>")),
        12..=13 => {
            let drafts = random.pick(&["", "?includeDrafts=true"]);
            request(
                "GET",
                format!("/forms/contacts/{contact}/templates/{template}/latest/chatbots/<A>{drafts}"),
            )
        }
        14 => request(
            "GET",
            format!(
                "/forms/templates/chatbots/<A>?limit={}&page={}",
                random.below(3) + 1,
                random.below(3) + 1
            ),
        ),
        15 => request(
            "GET",
            format!("/forms/templates/{template}/{}/chatbots/<A>", random.pick(&["schema", "structure"])),
        ),
        16 => known.next_page("/forms/contacts", random),
        _ => {
            let mut query = vec![format!("limit={}", random.below(4) + 1)];
            for (one_in, part) in [
                (3, format!("templateId={template}")),
                (4, format!("status={}", random.pick(&["draft", "submitted", "approved", "archived"]))),
                (3, "includeSuperseded=true".to_owned()),
                (5, format!("clientId={}", random.pick(&["x", "X%20y", "%C3%A9"]))),
                (3, format!("page={}", random.below(3) + 1)),
            ] {
                if random.one_in(one_in) {
                    query.push(part);
                }
            }
            request("GET", format!("/forms/contacts/{contact}/chatbots/<A>?{}", query.join("&")))
        }
    }
}
