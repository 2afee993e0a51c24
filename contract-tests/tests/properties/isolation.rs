//! Isolation: an agent's responses depend neither on another agent's actions nor on its existence.

use std::collections::HashMap;

use contract_tests::{Backend, Call, Credentials, Form, Reply, Sandbox};
use openapi_core::values::AgentId;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::config;
use crate::isolated_forms::{self, FormStep, form_step};

/// One request of an agent; both agents draw from the same small domain, so that they collide.
#[derive(Clone, Debug)]
enum Step {
    Create {
        id: Option<&'static str>,
        name: &'static str,
        key: Option<&'static str>,
    },
    Update {
        id: &'static str,
        name: &'static str,
        upsert: bool,
    },
    Rename {
        id: &'static str,
        to: &'static str,
    },
    Archive {
        id: &'static str,
        undo: bool,
    },
    Get(&'static str),
    /// The n-th contact that any agent created, by its platform id.
    GetById(usize),
    List(&'static str),
    /// A file for the n-th contact.
    Upload {
        at: usize,
        content: &'static str,
        key: Option<&'static str>,
    },
    /// The files of the n-th contact.
    ListFiles(usize, &'static str),
    /// The n-th file that any agent uploaded, under the agent's own contact.
    File(usize, FileAction),
    /// The other agent's n-th file under the agent's first contact.
    ForeignFile(usize, FileAction),
    /// The other agent's path with the agent's own key.
    Trespass,
    Define(&'static str),
    Schema,
    Form(FormStep),
}

/// The operation on a file.
#[derive(Clone, Copy, Debug)]
enum FileAction {
    Get,
    Sign,
    Delete,
}

impl Step {
    /// Whether it refers to the other agent's records, if any: half of the ids are.
    fn is_foreign(&self) -> bool {
        match self {
            Step::GetById(at) | Step::Upload { at, .. } | Step::ListFiles(at, _) | Step::File(at, _) => {
                at % 2 == 1
            }
            Step::ForeignFile(..) => true,
            Step::Form(step) => step.is_foreign(),
            _ => false,
        }
    }
}

const IDS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 3] = ["Zoë", "Ada", "Bo"];

fn step() -> impl Strategy<Value = Step> {
    let id = || select(&IDS[..]);
    let name = || select(&NAMES[..]);
    prop_oneof![
        4 => (proptest::option::of(id()), name(), proptest::option::weighted(0.3, select(vec!["k1", "k2"])))
            .prop_map(|(id, name, key)| Step::Create { id, name, key }),
        2 => (id(), name(), any::<bool>()).prop_map(|(id, name, upsert)| Step::Update { id, name, upsert }),
        1 => (id(), id()).prop_map(|(id, to)| Step::Rename { id, to }),
        1 => (id(), any::<bool>()).prop_map(|(id, undo)| Step::Archive { id, undo }),
        2 => id().prop_map(Step::Get),
        1 => (0..6_usize).prop_map(Step::GetById),
        2 => select(vec!["", "search=zoe", "tag=t", "primaryEmail=ada@b.co", "sortBy=firstName&limit=2", "includeArchived=1", "sortBy=primaryEmail&sortOrder=asc"])
            .prop_map(Step::List),
        4 => (0..4_usize, select(vec!["one", "two two", ""]), proptest::option::weighted(0.3, select(vec!["k1", "k2"])))
            .prop_map(|(at, content, key)| Step::Upload { at, content, key }),
        2 => (0..4_usize, select(vec!["", "sortBy=fileSize&limit=1", "sortBy=fileName&sortOrder=asc"]))
            .prop_map(|(at, query)| Step::ListFiles(at, query)),
        2 => (0..6_usize, file_action()).prop_map(|(at, action)| Step::File(at, action)),
        1 => (0..3_usize, file_action()).prop_map(|(at, action)| Step::ForeignFile(at, action)),
        1 => Just(Step::Trespass),
        1 => select(vec![
            "{}",
            r#"{"fields":[{"name":"primaryEmail","unique":true}]}"#,
            r#"{"fields":[{"name":"lastName","required":true}],"allowUndeclaredCustomFields":false}"#,
        ]).prop_map(Step::Define),
        1 => Just(Step::Schema),
        12 => form_step(&IDS).prop_map(Step::Form),
    ]
}

fn file_action() -> impl Strategy<Value = FileAction> {
    select(vec![FileAction::Get, FileAction::Sign, FileAction::Delete])
}

/// The records that an agent has created, in order.
#[derive(Default)]
struct Created {
    contacts: Vec<String>,
    /// Each with its contact.
    files: Vec<(String, String)>,
    templates: Vec<String>,
    submissions: Vec<String>,
}

impl Created {
    fn contact(&self, at: usize) -> &str {
        self.contacts.get(at).map_or(NOBODY, String::as_str)
    }

    fn file(&self, at: usize) -> (&str, &str) {
        self.files.get(at).map_or((NOBODY, NOBODY), |(contact, file)| (contact, file))
    }

    /// The n-th template and the n-th submission.
    fn form(&self, at: usize) -> (&str, &str) {
        (
            self.templates.get(at).map_or(NOBODY, String::as_str),
            self.submissions.get(at).map_or(NOBODY, String::as_str),
        )
    }

    fn add(&mut self, step: &Step, reply: &Reply) {
        if let Step::Form(FormStep::Template(_)) = step {
            let id = reply.data()["templateId"].as_str().expect("an id");
            self.templates.push(id.to_owned());
            return;
        }
        if reply.status != 201 || reply.header("idempotent-replayed").is_some() {
            return;
        }
        match step {
            Step::Upload { .. } => {
                let contact = reply.data()["contactId"].as_str().expect("an id").to_owned();
                self.files.push((contact, reply.id()));
            }
            Step::Form(FormStep::Submit { .. }) => self.submissions.push(reply.id()),
            Step::Form(_) => {}
            _ => self.contacts.push(reply.id()),
        }
    }
}

/// An unused id.
const NOBODY: &str = "697d00000000000000000000";

/// One agent in a sandbox.
struct Tenant {
    agent: AgentId,
    other: AgentId,
    key: Credentials,
    address: &'static str,
}

/// Everything of a reply that an agent can see, with ids and cursors replaced by names in order of appearance.
#[derive(Debug, PartialEq)]
struct Seen {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

/// Names ids by their first appearance.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn name(&mut self, text: &str) -> String {
        let is_id = |word: &str| {
            word.len() == 24 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && word.starts_with("697d")
        };
        let mut named = String::new();
        let mut word = String::new();
        for c in text.chars().chain(['\u{0}']) {
            if c.is_ascii_alphanumeric() {
                word.push(c);
                continue;
            }
            if is_id(&word) {
                let next = format!("id-{}", self.0.len());
                named.push_str(self.0.entry(word.clone()).or_insert(next));
            } else {
                named.push_str(&word);
            }
            word.clear();
            if c != '\u{0}' {
                named.push(c);
            }
        }
        named
    }
}

fn seen(reply: &Reply, names: &mut Names) -> Seen {
    let mut json = reply.json.clone();
    if let Some(cursor) = json.pointer_mut("/pagination/nextCursor").filter(|cursor| !cursor.is_null()) {
        *cursor = json!("a cursor");
    }
    // It is signed, so it cannot be named.
    if let Some(url) = json.pointer_mut("/data/url") {
        *url = json!("a URL");
    }
    let headers = reply.headers.iter().filter(|(name, _)| *name != "link" && *name != "content-length");
    let headers = headers
        .map(|(name, value)| (name.to_string(), names.name(value.to_str().unwrap_or_default())))
        .collect();
    let body = serde_json::from_str(&names.name(&json.to_string())).expect("JSON");
    Seen { status: reply.status, headers, body }
}

impl Tenant {
    fn new(cx: &Sandbox, agent: &AgentId, other: &AgentId, address: &'static str) -> Self {
        let key = cx.issue(|key| key.agent_id = agent.clone());
        Tenant { agent: agent.clone(), other: other.clone(), key, address }
    }

    /// `known` are the ids to refer to, `own` those of this agent.
    fn run(&self, cx: &Sandbox, step: &Step, known: &Created, own: &Created) -> Reply {
        let call = |method: &str, path: &str| {
            let path = path.replace("<A>", self.agent.as_str()).replace("<B>", self.other.as_str());
            cx.call(method, &path).with(&self.key).from(self.address).header("x-request-id", "same")
        };
        let contact = |name: &str| json!({ "primaryEmail": format!("{}@b.co", name.to_lowercase().replace('ë', "e")), "firstName": name, "tags": ["t"] });
        match step {
            Step::Create { id, name, key } => {
                let mut body = contact(name);
                body["externalReferenceId"] = json!(id);
                let call = call("POST", "/contacts/chatbots/<A>").json(&body);
                match key {
                    Some(key) => call.header("idempotency-key", key).send(),
                    None => call.send(),
                }
            }
            Step::Update { id, name, upsert } => {
                call("PUT", &format!("/contacts/{id}/chatbots/<A>?upsert={upsert}"))
                    .json(&contact(name))
                    .send()
            }
            Step::Rename { id, to } => call("PUT", &format!("/contacts/{id}/chatbots/<A>"))
                .json(&json!({ "externalReferenceId": to }))
                .send(),
            Step::Archive { id, undo } => call(
                "PATCH",
                &format!("/contacts/{id}/chatbots/<A>/{}", if *undo { "unarchive" } else { "archive" }),
            )
            .send(),
            Step::Get(id) => call("GET", &format!("/contacts/{id}/chatbots/<A>")).send(),
            Step::GetById(at) => {
                call("GET", &format!("/contacts/platformid/{}/chatbots/<A>", known.contact(*at))).send()
            }
            Step::Upload { at, content, key } => {
                let path = format!("/files/chatbots/<A>/{}", known.contact(*at / 2));
                let call = call("POST", &path).form(&Form::of_file("a.txt", content.as_bytes()));
                match key {
                    Some(key) => call.header("idempotency-key", key).send(),
                    None => call.send(),
                }
            }
            Step::ListFiles(at, query) => {
                call("GET", &format!("/files/chatbots/<A>/{}?{query}", known.contact(*at / 2))).send()
            }
            Step::File(at, action) => {
                let (contact, file) = known.file(*at / 2);
                on_file(call, contact, file, *action)
            }
            Step::ForeignFile(at, action) => on_file(call, own.contact(0), known.file(*at).1, *action),
            Step::List(query) => call("GET", &format!("/contacts/chatbots/<A>?{query}")).send(),
            Step::Trespass => call("GET", "/contacts/a/chatbots/<B>").send(),
            Step::Define(definition) => {
                let definition = serde_json::from_str(definition).expect("JSON");
                let operator = contract_tests::sandbox::operator();
                let object = contract_tests::sandbox::object(&definition);
                use openapi_core::admin::Admin;
                let _ = contract_tests::sandbox::wait(cx.platform.replace_contact_schema(
                    &operator,
                    &self.agent,
                    &object,
                ));
                call("GET", "/contacts/schema/chatbots/<A>").send()
            }
            Step::Schema => call("GET", "/contacts/schema/chatbots/<A>").send(),
            Step::Form(step) => {
                let (template, submission) = known.form(step.index() / 2);
                let ids = (template, submission, own.form(0).0);
                isolated_forms::run(cx, &self.agent, call, step, ids)
            }
        }
    }
}

fn on_file<'a>(
    call: impl Fn(&str, &str) -> Call<'a>,
    contact: &str,
    file: &str,
    action: FileAction,
) -> Reply {
    let path = format!("/files/chatbots/<A>/{contact}/files/{file}");
    match action {
        FileAction::Get => call("GET", &path).send(),
        FileAction::Sign => call("GET", &format!("{path}/signed-url")).send(),
        FileAction::Delete => call("DELETE", &path).send(),
    }
}

/// The second agent's responses, with or without the first one's part of the history.
fn history(backend: Backend, steps: &[(bool, Step)], with_other: bool) -> Vec<Seen> {
    let cx = Sandbox::new(backend);
    // Small enough that both agents' bytes together would exceed it.
    let cx = cx.rebuilt(cx.ports(), |files| files.max_bytes_of_agent = Some(15));
    let other = cx.agent.clone();
    let mine = cx.new_agent("mine");
    let (first, second) =
        (Tenant::new(&cx, &other, &mine, "192.0.2.1"), Tenant::new(&cx, &mine, &other, "192.0.2.2"));
    let mut names = Names::default();
    let (mut of_first, mut of_second) = (Created::default(), Created::default());
    let mut answers = Vec::new();
    for (is_first, step) in steps {
        // Ids begin with their creation time in seconds, so ties of a sort do not depend on the other agent's ids.
        cx.advance(1_007);
        let is_foreign = step.is_foreign();
        if *is_first {
            if with_other {
                let reply = first.run(&cx, step, if is_foreign { &of_second } else { &of_first }, &of_first);
                of_first.add(step, &reply);
            }
            continue;
        }
        // Another agent's records are reported as unknown.
        let known = if is_foreign { &of_first } else { &of_second };
        let mut reply = second.run(&cx, step, known, &of_second);
        of_second.add(step, &reply);
        if is_foreign {
            assert_eq!(reply.status, 404, "{}", reply.text);
            reply.json["details"]["id"] = json!("as asked");
        }
        let seen = seen(&reply, &mut names);
        answers.push(seen);
    }
    answers
}

fn isolated(backend: Backend, cases: u32) {
    proptest!(config(cases), |(steps in vec((any::<bool>(), step()), 2..40))| {
        let alone = history(backend, &steps, false);
        let together = history(backend, &steps, true);
        prop_assert_eq!(alone, together);
    });
}

#[test]
fn agents_are_isolated_on_memory() {
    isolated(Backend::Memory, 300);
}

#[test]
fn agents_are_isolated_on_sqlite() {
    isolated(Backend::Sqlite, 40);
}
