//! Random histories of submissions against the model (contract 2.3.2, 3, 4.4).

use std::collections::BTreeMap;

use contract_tests::{Backend, Reply, Sandbox};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::agreement::config;
use crate::model::{Change, Data, Form, Model, Submission, Template};
use crate::support::{ALL, BATCH, STATES, change, get, keeping_all, latest, read, sandbox, send, try_submit};

#[derive(Clone, Debug)]
enum Step {
    Submit(Form),
    Batch(Vec<Form>, bool),
    /// The n-th newest submission.
    Update(usize, Change),
    /// The n-th submission changes its state and nothing else.
    Move(usize, &'static str),
    ArchiveContact(bool),
    ArchiveTemplate(usize, bool),
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![
        6 => select(vec!["a", "b"]).prop_map(Data::Good),
        1 => Just(Data::Incomplete),
        1 => Just(Data::Bad),
    ]
}

fn form() -> impl Strategy<Value = Form> {
    (0..2_usize, data(), any::<bool>()).prop_map(|(template, data, draft)| Form { template, data, draft })
}

fn notes() -> impl Strategy<Value = Option<Option<&'static str>>> {
    option::weighted(0.3, select(vec![None, Some("n"), Some("m")]))
}

fn step() -> impl Strategy<Value = Step> {
    let change =
        (option::weighted(0.4, data()), notes(), notes(), option::weighted(0.5, select(STATES.to_vec())))
            .prop_map(|(data, notes, review, status)| Change { data, notes, review, status });
    prop_oneof![
        4 => form().prop_map(Step::Submit),
        2 => (vec(form(), 1..4), any::<bool>()).prop_map(|(forms, mode)| Step::Batch(forms, mode)),
        6 => (0..5_usize, change).prop_map(|(at, change)| Step::Update(at, change)),
        6 => (0..5_usize, select(STATES.to_vec())).prop_map(|(at, status)| Step::Move(at, status)),
        1 => any::<bool>().prop_map(Step::ArchiveContact),
        1 => (0..2_usize, any::<bool>()).prop_map(|(at, archive)| Step::ArchiveTemplate(at, archive)),
    ]
}

fn sent(data: Data) -> Value {
    match data {
        Data::Good(text) => json!({ "text": text }),
        Data::Incomplete => json!({ "text": null }),
        Data::Bad => json!({ "text": 7 }),
    }
}

/// The service and its model, side by side.
struct Both {
    cx: Sandbox,
    templates: [String; 2],
    ids: Vec<String>,
    model: Model,
}

impl Both {
    fn new(backend: Backend) -> Self {
        let cx = sandbox(backend);
        let definition =
            json!({ "name": "Text", "fields": [{ "name": "text", "type": "text", "required": true }] });
        let templates = [cx.template(&definition), cx.template(&keeping_all(definition))];
        let template = |supersedes| Template { supersedes, is_active: true };
        let model = Model {
            templates: vec![template(true), template(false)],
            is_archived: false,
            submissions: Vec::new(),
        };
        Both { cx, templates, ids: Vec::new(), model }
    }

    fn body(&self, form: &Form, in_batch: bool) -> Value {
        let mut body = json!({ "formData": sent(form.data) });
        if form.draft {
            body["status"] = json!("draft");
        }
        if in_batch {
            body["templateId"] = json!(self.templates[form.template]);
        }
        body
    }

    fn nth(&self, at: usize) -> Option<usize> {
        self.ids.len().checked_sub(at + 1)
    }

    fn update(&mut self, at: usize, asked: &Change) -> Result<(), TestCaseError> {
        let mut body = json!({});
        if let Some(data) = asked.data {
            body["formData"] = sent(data);
        }
        if let Some(notes) = asked.notes {
            body["submissionNotes"] = json!(notes);
        }
        if let Some(review) = asked.review {
            body["reviewNotes"] = json!(review);
        }
        if let Some(status) = asked.status {
            body["status"] = json!(status);
        }
        let before = read(&self.cx, &self.ids[at]);
        let was = self.model.submissions[at].clone();
        let reply = change(&self.cx, &self.ids[at], &body);
        let expected = self.model.update(at, asked);
        prop_assert_eq!((reply.status, reply.code()), expected, "{}\n{:?}", &body, &was);
        // The update time moves only with a change.
        let after = read(&self.cx, &self.ids[at]);
        if was == self.model.submissions[at] {
            prop_assert_eq!(before.data(), after.data());
            prop_assert_eq!(before.header("etag"), after.header("etag"));
        } else {
            prop_assert_eq!(reply.data(), after.data());
            prop_assert_ne!(before.header("etag"), after.header("etag"));
        }
        Ok(())
    }

    fn results(&mut self, reply: &Reply, statuses: &[u16]) -> Result<(), TestCaseError> {
        let results = reply.data()["results"].as_array().expect("results");
        let found: Vec<u64> =
            results.iter().map(|result| result["status"].as_u64().unwrap_or_default()).collect();
        prop_assert_eq!(found, statuses.iter().map(|status| u64::from(*status)).collect::<Vec<_>>());
        let stored = results.iter().filter_map(|result| result["submission"]["id"].as_str());
        self.ids.extend(stored.map(str::to_owned));
        Ok(())
    }

    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.cx.advance(7);
        match step {
            Step::Submit(form) => {
                let reply = try_submit(&self.cx, &self.templates[form.template], &self.body(form, false));
                let expected = self.model.submit(form);
                prop_assert_eq!((reply.status, reply.code()), expected);
                if reply.status == 201 {
                    self.ids.push(reply.id());
                }
            }
            Step::Batch(forms, all_or_none) => {
                let elements: Vec<Value> = forms.iter().map(|form| self.body(form, true)).collect();
                let body = json!({ "submissions": elements, "allOrNone": all_or_none });
                let reply = send(&self.cx, "POST", BATCH, &body);
                let (expected, statuses) = self.model.batch(forms, *all_or_none);
                prop_assert_eq!((reply.status, reply.code()), expected, "{}", &body);
                if reply.status < 300 {
                    self.results(&reply, &statuses)?;
                }
            }
            Step::Update(at, asked) => {
                if let Some(at) = self.nth(*at) {
                    self.update(at, asked)?;
                }
            }
            Step::Move(at, status) => {
                if let Some(at) = self.nth(*at) {
                    self.update(at, &Change { status: Some(status), ..Change::default() })?;
                }
            }
            Step::ArchiveContact(archive) => {
                let action = if *archive { "archive" } else { "unarchive" };
                let path = format!("/contacts/crm-1001/chatbots/<A>/{action}");
                let _ = send(&self.cx, "PATCH", &path, &json!({})).expect(200);
                self.model.is_archived = *archive;
            }
            Step::ArchiveTemplate(at, archive) => {
                let id = &self.templates[*at];
                let _ = if *archive { self.cx.archive_template(id) } else { self.cx.activate_template(id) };
                self.model.templates[*at].is_active = !archive;
            }
        }
        Ok(())
    }

    /// The service's view of a submission, as far as the model covers it.
    fn seen(&self, record: &Value, whole: &Value) -> Submission {
        let known = |name: &str, words: &[&'static str]| -> Option<&'static str> {
            let text = record[name].as_str()?;
            words.iter().copied().find(|word| *word == text)
        };
        let text = record["formData"]["text"].as_str();
        let at = |name: &str| self.ids.iter().position(|id| record[name] == **id);
        let state = |value: &Value| STATES.into_iter().find(|state| value == state);
        let history = whole["statusHistory"].as_array().expect("a history").iter().map(|change| {
            let notes = ["n", "m"].into_iter().find(|notes| change["notes"] == **notes);
            (state(&change["from"]), state(&change["to"]).expect("a state"), notes)
        });
        assert_eq!(record["reviewedBy"].is_null(), record["reviewedAt"].is_null());
        assert_eq!(record["isSuperseded"], json!(!record["supersededBy"].is_null()));
        Submission {
            template: self.templates.iter().position(|id| record["templateId"] == **id).expect("a template"),
            status: state(&record["status"]).expect("a state"),
            text: ["a", "b"].into_iter().find(|word| Some(*word) == text),
            notes: known("submissionNotes", &["n", "m"]),
            review: known("reviewNotes", &["n", "m"]),
            revision: record["revision"].as_u64().expect("a number"),
            supersedes: at("supersedes"),
            superseded_by: at("supersededBy"),
            is_submitted: !record["submittedAt"].is_null(),
            is_reviewed: !record["reviewedAt"].is_null(),
            history: history.collect(),
        }
    }

    /// All stored data equals the model, and the invariants hold.
    fn compare(&self) -> Result<(), TestCaseError> {
        let reply = get(&self.cx, &format!("{ALL}?includeSuperseded=1&limit=100")).expect(200);
        let records: BTreeMap<&str, &Value> = reply
            .data()
            .as_array()
            .expect("a list")
            .iter()
            .map(|record| (record["id"].as_str().expect("an id"), record))
            .collect();
        prop_assert_eq!(records.len(), self.ids.len().min(100));
        for (at, id) in self.ids.iter().enumerate() {
            let whole = read(&self.cx, id);
            let Some(record) = records.get(id.as_str()) else { continue };
            prop_assert_eq!(&self.seen(record, whole.data()), &self.model.submissions[at]);
            // The revision grows along `supersedes`.
            if let Some(before) = record["supersedes"].as_str() {
                prop_assert!(records[before]["revision"].as_u64() < record["revision"].as_u64());
                prop_assert_eq!(records[before]["supersededBy"].as_str(), Some(id.as_str()));
            }
            // The history is a chain that ends in the status.
            let history = whole.data()["statusHistory"].as_array().expect("a history").clone();
            prop_assert!(history.windows(2).all(|pair| pair[0]["to"] == pair[1]["from"]));
            prop_assert_eq!(&history[history.len() - 1]["to"], &record["status"]);
        }
        let heads = records.values().filter(|record| {
            record["templateId"] == *self.templates[0]
                && !record["submittedAt"].is_null()
                && record["isSuperseded"] == false
        });
        prop_assert!(heads.count() <= 1);
        self.compare_latest()
    }

    fn compare_latest(&self) -> Result<(), TestCaseError> {
        for (at, template) in self.templates.iter().enumerate() {
            let reply = get(&self.cx, &latest(template));
            let open = |submission: &&Submission| {
                submission.template == at
                    && submission.is_submitted
                    && submission.superseded_by.is_none()
                    && submission.status != "archived"
            };
            match self.model.submissions.iter().filter(open).count() {
                0 => prop_assert_eq!((reply.status, reply.code()), (404, "SUBMISSION_NOT_FOUND")),
                _ => {
                    let found = self.ids.iter().position(|id| *id == reply.id()).expect("a known one");
                    prop_assert!(open(&&self.model.submissions[found]));
                }
            }
        }
        Ok(())
    }
}

fn histories(backend: Backend, cases: u32) {
    let stored = std::cell::Cell::new(0_usize);
    proptest!(config(cases), |(history in vec(step(), 1..33))| {
        let mut both = Both::new(backend);
        for step in &history {
            both.run(step)?;
        }
        both.compare()?;
        stored.set(stored.get() + both.ids.len());
    });
    assert!(stored.get() > 0, "no history stored anything");
}

#[test]
fn random_histories_on_memory() {
    histories(Backend::Memory, 200);
}

#[test]
fn random_histories_on_sqlite() {
    histories(Backend::Sqlite, 60);
}
