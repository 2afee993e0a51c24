//! Random requests for forms.

use serde_json::{Value, json};

use super::{Known, Request, external, maybe, request, with_json};
use crate::SplitMix64;

fn form_data(dice: &mut SplitMix64) -> Value {
    let good = [
        json!({ "rating": 5 }),
        json!({ "rating": 3, "comment": "x" }),
        json!({ "rating": 1, "comment": "Ünal\n\"q\"" }),
        json!({ "rating": 2, "comment": null }),
    ];
    let bad = [json!({}), json!({ "rating": 9 }), json!({ "rating": "5" })];
    if dice.one_in(10) { dice.pick(&bad) } else { dice.pick(&good) }
}

fn form_body(dice: &mut SplitMix64) -> Value {
    let mut body = json!({ "formData": form_data(dice) });
    if dice.one_in(3) {
        body["status"] = json!(dice.pick(&["draft", "draft", "submitted", "approved"]));
    }
    maybe(dice, &mut body, "submissionNotes", 5, "Two\nlines");
    let client = dice.pick(&["x", "X", "X y", "é"]);
    maybe(dice, &mut body, "clientId", 4, client);
    body
}

pub(super) fn forms(dice: &mut SplitMix64, known: &Known) -> Request {
    let template =
        if dice.one_in(25) { "697d00000000000000000000".to_owned() } else { dice.pick(&known.templates) };
    let contact = external(dice);
    let submission = if known.submissions.is_empty() {
        "697d00000000000000000000".to_owned()
    } else {
        dice.pick(&known.submissions)
    };
    match dice.below(20) {
        0..=4 => with_json(
            request("POST", format!("/forms/submit/{template}/contacts/{contact}")),
            &form_body(dice),
        ),
        5 => {
            let elements: Vec<Value> = (0..=dice.below(3))
                .map(|_| {
                    let mut body = form_body(dice);
                    body["templateId"] = json!(dice.pick(&known.templates));
                    body
                })
                .collect();
            let mut body = json!({ "submissions": elements });
            if dice.one_in(2) {
                body["allOrNone"] = json!(dice.one_in(2));
            }
            with_json(request("POST", format!("/forms/batch/contacts/{contact}/chatbots/<A>")), &body)
        }
        6..=9 => {
            let mut body = json!({});
            if dice.one_in(2) {
                body["formData"] = form_data(dice);
            }
            if dice.one_in(2) {
                body["status"] =
                    json!(dice.pick(&["submitted", "under_review", "approved", "rejected", "archived"]));
            }
            maybe(dice, &mut body, "reviewNotes", 4, "Gut");
            with_json(request("PUT", format!("/forms/submissions/{submission}/chatbots/<A>")), &body)
        }
        10..=11 => request("GET", format!("/forms/submissions/{submission}/chatbots/<A>")),
        12..=13 => {
            let drafts = dice.pick(&["", "?includeDrafts=true"]);
            request(
                "GET",
                format!("/forms/contacts/{contact}/templates/{template}/latest/chatbots/<A>{drafts}"),
            )
        }
        14 => request(
            "GET",
            format!("/forms/templates/chatbots/<A>?limit={}&page={}", dice.below(3) + 1, dice.below(3) + 1),
        ),
        15 => request(
            "GET",
            format!("/forms/templates/{template}/{}/chatbots/<A>", dice.pick(&["schema", "structure"])),
        ),
        _ => {
            let mut query = vec![format!("limit={}", dice.below(4) + 1)];
            for (one_in, part) in [
                (3, format!("templateId={template}")),
                (4, format!("status={}", dice.pick(&["draft", "submitted", "approved", "archived"]))),
                (3, "includeSuperseded=true".to_owned()),
                (5, format!("clientId={}", dice.pick(&["x", "X%20y", "%C3%A9"]))),
                (3, format!("page={}", dice.below(3) + 1)),
            ] {
                if dice.one_in(one_in) {
                    query.push(part);
                }
            }
            request("GET", format!("/forms/contacts/{contact}/chatbots/<A>?{}", query.join("&")))
        }
    }
}
