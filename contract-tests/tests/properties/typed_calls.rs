//! HTTP and typed calls have the same outcome (architecture 4): two sandboxes with equal clocks and ids run one
//! history, one over HTTP, the other through `Api::call`.

use contract_tests::sandbox::{object, wait};
use contract_tests::{Backend, Reply, Sandbox};
use openapi_core::access::Caller;
use openapi_core::api::{Api, Authorized};
use openapi_core::endpoints::contacts::{
    Archive, ByExternalId, ByPlatformId, Create, Get, List, Schema, Unarchive, Update,
};
use openapi_core::operation::Operation;
use openapi_core::service::{
    ArchiveContact, ContactListQuery, ContactTarget, CreateContact, ListContacts, PageRequest, PageStart,
    UpdateContact, Upsert,
};
use openapi_core::storage::{ContactSort, Order};
use openapi_core::validation::Violations;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::bodies::body;
use crate::{caller, config};

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    Create {
        body: Value,
        dry_run: bool,
    },
    Update {
        target: Name,
        body: Value,
        upsert: bool,
    },
    Archive(Name),
    Unarchive(Name),
    Get(Name),
    List {
        sort: ContactSort,
        ascending: bool,
        limit: u32,
        page: u64,
        archived: bool,
    },
    Schema,
    /// The caller has only this permission.
    Restricted {
        permission: &'static str,
        step: Box<Step>,
    },
}

/// How a step names a contact: by an external id, or as the n-th created one.
#[derive(Clone, Debug)]
enum Name {
    External(&'static str),
    Created(usize),
    Text(&'static str),
}

const IDS: [&str; 4] = ["crm-1", "crm 2/é", "archive", "x"];

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        3 => select(&IDS[..]).prop_map(Name::External),
        3 => (0..4_usize).prop_map(Name::Created),
        1 => select(vec!["nonsense", "ffffffffffffffffffffffff"]).prop_map(Name::Text),
    ]
}

fn contact() -> impl Strategy<Value = Value> {
    let id = prop_oneof![2 => select(&IDS[..]).prop_map(|id| json!(id)), 1 => Just(Value::Null)];
    prop_oneof![
        3 => (id, "[a-c]", any::<bool>()).prop_map(|(id, text, tag)| {
            json!({ "primaryEmail": format!("{text}@b.co"), "externalReferenceId": id, "firstName": text, "tags": if tag { vec![text.clone()] } else { vec![] } })
        }),
        1 => body(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let step = prop_oneof![
        4 => (contact(), any::<bool>()).prop_map(|(body, dry_run)| Step::Create { body, dry_run }),
        3 => (name(), contact(), any::<bool>()).prop_map(|(target, body, upsert)| Step::Update { target, body, upsert }),
        1 => name().prop_map(Step::Archive),
        1 => name().prop_map(Step::Unarchive),
        2 => name().prop_map(Step::Get),
        2 => (select(ContactSort::ALL.to_vec()), any::<bool>(), 1..4_u32, 1..3_u64, any::<bool>())
            .prop_map(|(sort, ascending, limit, page, archived)| Step::List { sort, ascending, limit, page, archived }),
        1 => Just(Step::Schema),
    ];
    (
        step,
        proptest::option::weighted(
            0.15,
            select(vec!["contacts:read", "contacts:create", "contacts:update", "forms:all"]),
        ),
    )
        .prop_map(|(step, permission)| match permission {
            Some(permission) => Step::Restricted { permission, step: Box::new(step) },
            None => step,
        })
}

/// The outcome on both sides: status or code, the record or the errors, the location and the tag.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done { status: u16, data: Value, pagination: Value, location: Option<String>, etag: Option<String> },
    Failed { code: String, errors: Value, message: String },
}

fn of_reply(reply: &Reply) -> Outcome {
    if reply.status < 400 {
        return Outcome::Done {
            status: reply.status,
            data: reply.data().clone(),
            pagination: reply.pagination().clone(),
            location: reply.header("location").map(str::to_owned),
            etag: reply.header("etag").map(str::to_owned),
        };
    }
    Outcome::Failed {
        code: reply.code().to_owned(),
        errors: reply.json.get("validationErrors").cloned().unwrap_or(json!([])),
        message: reply.json["message"].as_str().unwrap_or_default().to_owned(),
    }
}

fn called<Op>(api: &Api, caller: &Caller, input: Op::Input) -> Outcome
where
    Op: Operation<Caller = Caller>,
    Caller: Authorized,
{
    match wait(api.call::<Op>(caller, input)) {
        Ok(reply) => Outcome::Done {
            status: reply.status,
            data: serde_json::to_value(&reply.data).expect("JSON"),
            pagination: reply
                .pagination
                .map_or(Value::Null, |pagination| serde_json::to_value(pagination).expect("JSON")),
            location: reply.location,
            etag: reply.etag,
        },
        Err(error) => Outcome::Failed {
            code: error.code().as_str().to_owned(),
            errors: serde_json::to_value(error.violations()).expect("JSON"),
            message: error.message().to_owned(),
        },
    }
}

/// A sandbox and the ids created in it.
struct Side {
    cx: Sandbox,
    created: Vec<String>,
}

impl Side {
    fn target(&self, name: &Name) -> (bool, String) {
        match name {
            Name::External(id) => (false, (*id).to_owned()),
            Name::Created(at) => (true, self.created.get(*at).cloned().unwrap_or_else(|| "0".repeat(24))),
            Name::Text(id) => (true, (*id).to_owned()),
        }
    }

    fn path(&self, name: &Name) -> String {
        let (by_id, text) = self.target(name);
        let encoded: String = text
            .bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect();
        let segment = if by_id { "platformid/" } else { "" };
        format!("/contacts/{segment}{encoded}/chatbots/<A>")
    }

    fn by_http(&self, step: &Step, caller: &Caller) -> Outcome {
        let send = |method: &str, path: &str, body: Option<&Value>| {
            let call = self.cx.call(method, path).as_caller(caller.clone());
            let call = match body {
                Some(body) => call.json(body),
                None => call,
            };
            of_reply(&call.send())
        };
        match step {
            Step::Create { body, dry_run } => {
                send("POST", &format!("/contacts/chatbots/<A>?dryRun={dry_run}"), Some(body))
            }
            Step::Update { target, body, upsert } => {
                let query = if *upsert && !self.target(target).0 { "?upsert=true" } else { "" };
                send("PUT", &format!("{}{query}", self.path(target)), Some(body))
            }
            Step::Archive(name) => send("PATCH", &format!("{}/archive", self.path(name)), None),
            Step::Unarchive(name) => send("PATCH", &format!("{}/unarchive", self.path(name)), None),
            Step::Get(name) => send("GET", &self.path(name), None),
            Step::List { sort, ascending, limit, page, archived } => {
                let order = if *ascending { "asc" } else { "desc" };
                let query = format!(
                    "sortBy={}&sortOrder={order}&limit={limit}&page={page}&includeArchived={archived}",
                    sort.as_str()
                );
                send("GET", &format!("/contacts/chatbots/<A>?{query}"), None)
            }
            Step::Schema => send("GET", "/contacts/schema/chatbots/<A>", None),
            Step::Restricted { permission, step } => self.by_http(
                step,
                &Caller { permissions: permission.parse().expect("permissions"), ..caller.clone() },
            ),
        }
    }

    fn by_call(&self, step: &Step, caller: &Caller) -> Outcome {
        let api = &self.cx.api;
        let target = |name: &Name| {
            let (by_id, text) = self.target(name);
            (by_id, if by_id { ContactTarget::Id(text) } else { ContactTarget::External(text) })
        };
        match step {
            Step::Create { body, dry_run } => {
                let request =
                    CreateContact { fields: object(body).into(), dry_run: *dry_run, idempotency: None };
                called::<Create>(api, caller, request)
            }
            Step::Update { target: name, body, upsert } => {
                let (by_id, target) = target(name);
                let upsert = (*upsert && !by_id).then_some(Upsert::CreateOrUpdate);
                let request = UpdateContact { target, fields: object(body).into(), if_match: None, upsert };
                if by_id {
                    called::<Update<ByPlatformId>>(api, caller, request)
                } else {
                    called::<Update<ByExternalId>>(api, caller, request)
                }
            }
            Step::Archive(name) => {
                let (by_id, target) = target(name);
                let request = ArchiveContact { target, reason: None.into(), if_match: None };
                if by_id {
                    called::<Archive<ByPlatformId>>(api, caller, request)
                } else {
                    called::<Archive<ByExternalId>>(api, caller, request)
                }
            }
            Step::Unarchive(name) => {
                let (by_id, target) = target(name);
                let request = ArchiveContact { target, reason: None.into(), if_match: None };
                if by_id {
                    called::<Unarchive<ByPlatformId>>(api, caller, request)
                } else {
                    called::<Unarchive<ByExternalId>>(api, caller, request)
                }
            }
            Step::Get(name) => match target(name) {
                (true, target) => called::<Get<ByPlatformId>>(api, caller, (target, Violations::new())),
                (false, target) => called::<Get<ByExternalId>>(api, caller, (target, Violations::new())),
            },
            Step::List { sort, ascending, limit, page, archived } => {
                let query = ContactListQuery {
                    sort: *sort,
                    order: if *ascending { Order::Ascending } else { Order::Descending },
                    include_archived: *archived,
                    page: PageRequest { limit: *limit, start: PageStart::Page(*page) },
                    ..ContactListQuery::default()
                };
                called::<List>(api, caller, ListContacts { query: query.into() })
            }
            Step::Schema => called::<Schema>(api, caller, Violations::new()),
            Step::Restricted { permission, step } => self.by_call(
                step,
                &Caller { permissions: permission.parse().expect("permissions"), ..caller.clone() },
            ),
        }
    }

    fn remember(&mut self, outcome: &Outcome) {
        if let Outcome::Done { status: 201, data, .. } = outcome {
            self.created.push(data["id"].as_str().expect("an id").to_owned());
        }
    }
}

fn same_outcomes(backend: Backend, cases: u32) {
    proptest!(config(cases), |(steps in vec(step(), 1..20))| {
        let mut http = Side { cx: Sandbox::new(backend), created: Vec::new() };
        let mut typed = Side { cx: Sandbox::new(backend), created: Vec::new() };
        for step in &steps {
            // HTTP draws a request id, so the other side does too.
            let over_http = http.by_http(step, &caller(&http.cx));
            let _ = typed.cx.call("GET", "/health").send();
            let by_call = typed.by_call(step, &caller(&typed.cx));
            http.remember(&over_http);
            typed.remember(&by_call);
            prop_assert_eq!(over_http, by_call, "{:?}", step);
            http.cx.advance(1);
            typed.cx.advance(1);
        }
    });
}

#[test]
fn http_and_typed_calls_agree_on_memory() {
    same_outcomes(Backend::Memory, 400);
}

#[test]
fn http_and_typed_calls_agree_on_sqlite() {
    same_outcomes(Backend::Sqlite, 60);
}
