//! Requests for forms in the isolation property.

use contract_tests::sandbox::{object, operator, wait};
use contract_tests::{Call, Reply, Sandbox};
use openapi_core::admin::Admin;
use openapi_core::values::AgentId;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// One request of an agent for forms.
#[derive(Clone, Debug)]
pub enum FormStep {
    /// A new template of the agent, which supersedes or allows coexistence.
    Template(&'static str),
    /// The n-th template, by its documents.
    Document { at: usize, document: &'static str },
    /// A form for a contact under the n-th template.
    Submit { at: usize, contact: &'static str, key: Option<&'static str> },
    /// Two forms under the agent's first template.
    Batch { contact: &'static str, mode: bool },
    /// The n-th submission.
    Get(usize),
    /// The n-th submission changes its state.
    Move(usize, &'static str),
    /// The submissions of a contact.
    List(&'static str, &'static str),
    /// The latest of a contact under the n-th template.
    Latest { at: usize, contact: &'static str },
    /// The templates.
    Templates(&'static str),
}

impl FormStep {
    /// The template or submission that it refers to.
    pub fn index(&self) -> usize {
        match self {
            FormStep::Document { at, .. }
            | FormStep::Submit { at, .. }
            | FormStep::Latest { at, .. }
            | FormStep::Get(at)
            | FormStep::Move(at, _) => *at,
            _ => 0,
        }
    }

    /// Whether it refers to the other agent's records, if any: half of the ids are.
    pub fn is_foreign(&self) -> bool {
        self.index() % 2 == 1
    }
}

pub fn form_step(contacts: &'static [&'static str]) -> impl Strategy<Value = FormStep> {
    let contact = move || select(contacts);
    let key = proptest::option::weighted(0.3, select(vec!["k1", "k2"]));
    prop_oneof![
        3 => select(vec!["supersede", "keepAll"]).prop_map(FormStep::Template),
        1 => (0..4_usize, select(vec!["schema", "structure"])).prop_map(|(at, document)| FormStep::Document { at, document }),
        6 => (0..4_usize, contact(), key).prop_map(|(at, contact, key)| FormStep::Submit { at, contact, key }),
        2 => (contact(), any::<bool>()).prop_map(|(contact, mode)| FormStep::Batch { contact, mode }),
        2 => (0..4_usize).prop_map(FormStep::Get),
        2 => (0..4_usize, select(vec!["approved", "archived", "draft"])).prop_map(|(at, status)| FormStep::Move(at, status)),
        2 => (contact(), select(vec!["", "includeSuperseded=1", "limit=1&status=submitted"]))
            .prop_map(|(contact, query)| FormStep::List(contact, query)),
        1 => (0..4_usize, contact()).prop_map(|(at, contact)| FormStep::Latest { at, contact }),
        1 => select(vec!["", "limit=1"]).prop_map(FormStep::Templates),
    ]
}

/// Runs a step; `template` and `submission` are the ids it refers to, `own` is the agent's first template.
pub fn run<'a>(
    cx: &Sandbox,
    agent: &AgentId,
    call: impl Fn(&str, &str) -> Call<'a>,
    step: &FormStep,
    (template, submission, own): (&str, &str, &str),
) -> Reply {
    let form = json!({ "formData": { "text": "x" } });
    match step {
        FormStep::Template(policy) => {
            let definition = json!({ "name": "T", "submissionPolicy": policy, "fields": [{ "name": "text", "type": "text", "required": true }] });
            let made = wait(cx.platform.create_template(&operator(), agent, &object(&definition)));
            let id = made.expect("a template").id;
            wait(cx.platform.activate_template(&operator(), agent, id)).expect("an active template");
            call("GET", &format!("/forms/templates/{id}/schema/chatbots/<A>")).send()
        }
        FormStep::Document { document, .. } => {
            call("GET", &format!("/forms/templates/{template}/{document}/chatbots/<A>")).send()
        }
        FormStep::Submit { contact, key, .. } => {
            let call = call("POST", &format!("/forms/submit/{template}/contacts/{contact}")).json(&form);
            match key {
                Some(key) => call.header("idempotency-key", key).send(),
                None => call.send(),
            }
        }
        FormStep::Batch { contact, mode } => {
            let element = json!({ "templateId": own, "formData": { "text": "x" } });
            // At most one is stored: ids order two of one instant, and the ids differ without the other agent.
            let broken = json!({ "templateId": own, "formData": { "text": 7 } });
            let elements = if *mode { json!([element]) } else { json!([element, broken]) };
            let body = json!({ "submissions": elements, "allOrNone": mode });
            call("POST", &format!("/forms/batch/contacts/{contact}/chatbots/<A>")).json(&body).send()
        }
        FormStep::Get(_) => call("GET", &format!("/forms/submissions/{submission}/chatbots/<A>")).send(),
        FormStep::Move(_, status) => call("PUT", &format!("/forms/submissions/{submission}/chatbots/<A>"))
            .json(&json!({ "status": status }))
            .send(),
        FormStep::List(contact, query) => {
            call("GET", &format!("/forms/contacts/{contact}/chatbots/<A>?{query}")).send()
        }
        FormStep::Latest { contact, .. } => {
            call("GET", &format!("/forms/contacts/{contact}/templates/{template}/latest/chatbots/<A>")).send()
        }
        FormStep::Templates(query) => call("GET", &format!("/forms/templates/chatbots/<A>?{query}")).send(),
    }
}
