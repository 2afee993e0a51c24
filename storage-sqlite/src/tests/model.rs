//! Random histories, compared step by step with the in-memory model. They run inside the crate, where the thresholds of
//! [`crate::contacts`] are so low that a few contacts pass them.

use crate::SqliteStorage;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::ContactKeys;
use openapi_core::contacts::{Contact, ContactRef, SearchTerm, SharedContact};
use openapi_core::json::RawObject;
use openapi_core::schema::{ContactSchema, FieldDefinition, FieldType};
use openapi_core::storage::{
    AgentStore, AuditQuery, AuditStore, ContactFilter, ContactQuery, ContactSchemaStore, ContactSort,
    ContactStore, Effects, IdempotencyKey, IdempotencyRecord, IdempotencyStore, Order, Result, SortPosition,
    StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, ContactStatus, Email, Phone, PhoneCode, Tag, TextValue};
use storage_memory::MemoryStorage;

use super::support::{Folder, agent_id, at, contact, contact_id, entry, insert_agent, wait, write};
use testkit::SplitMix64;

const NAMES: &[&str] = &[
    "Zoë",
    "zoe",
    "Okafor",
    "o'brien",
    "O\"Brien",
    "Ann",
    "ann-marie",
    "李明",
    "李 明华",
    "Straße",
    "e\u{301}lan",
    "Ab",
    "x",
    "é",
    "Müller-Lüdenscheidt",
    "\u{301}",
    "Łukasz",
];
const TAGS: &[&str] = &["vip", "VIP Gold", "Newsletter", "é", "a b c", "lead-2024"];
const TERMS: &[&str] = &[
    "zoe",
    "Zoë",
    "oka",
    "kafor",
    "okafor",
    "o'b",
    "o\"brien",
    "an",
    "a",
    "李",
    "李明",
    "明华",
    "ss",
    "stras",
    "ludensch",
    "example.com",
    "contact1",
    "7946",
    "4420",
    "+44",
    "20-7946",
    "0958",
    "%",
    "_",
    "*",
    "gold vip",
    "ann contact",
    "zzz",
    "plan",
    "silver gold",
    "müller-lüdenscheidt",
    "^",
    "\" OR 1",
    "(",
    "NEAR",
    "AND",
];

struct Run {
    rng: SplitMix64,
    sqlite: SqliteStorage,
    memory: MemoryStorage,
    agents: Vec<(AgentId, ContactSchema)>,
    clock: u64,
}

/// Both outcomes, distinguished by kind.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, sqlite: Result<T>, memory: Result<T>) -> Option<T> {
    let kind = |outcome: Result<T>| {
        outcome.map_err(|error| {
            assert!(
                !matches!(error.kind, StorageErrorKind::Internal | StorageErrorKind::Unavailable),
                "{what}: {error:?}"
            );
            error.kind
        })
    };
    let (sqlite, memory) = (kind(sqlite), kind(memory));
    assert_eq!(sqlite, memory, "{what}");
    sqlite.ok()
}

impl Run {
    fn name(&mut self) -> Option<&'static str> {
        (!self.rng.one_in(3)).then(|| self.rng.pick(NAMES))
    }

    fn fill(&mut self, contact: &mut Contact) {
        contact.first_name = self.name().map(|name| TextValue::parse(name).unwrap());
        contact.last_name = self.name().map(|name| TextValue::parse(name).unwrap());
        contact.external_reference_id =
            (!self.rng.one_in(3)).then(|| format!("crm-{}", self.rng.below(30)).parse().unwrap());
        let email = match self.rng.below(4) {
            0 => "Zoe@Bücher.example".to_owned(),
            1 => "zoë@xn--bcher-kva.example".to_owned(),
            _ => format!("Contact{}@example.com", self.rng.below(12)),
        };
        contact.primary_email = Email::parse(&email).unwrap();
        contact.primary_phone = self.rng.one_in(2).then(|| Phone::parse("20 7946 0958").unwrap());
        contact.primary_phone_code = self.rng.one_in(2).then(|| PhoneCode::parse("44").unwrap());
        contact.tags =
            TAGS.iter().filter(|_| self.rng.one_in(3)).map(|tag| Tag::parse(tag).unwrap()).collect();
        contact.status = self.rng.pick(&ContactStatus::ALL);
        contact.custom_fields = match self.rng.below(3) {
            0 => RawObject::default(),
            1 => raw(r#"{"plan":"gold","member":"m1"}"#),
            _ => raw(format!(r#"{{"plan":"silver\u0001x","member":"m{}"}}"#, self.rng.below(20))),
        };
    }

    fn step(&mut self) {
        self.clock += 1;
        let (agent, schema) = self.rng.pick(&self.agents);
        let number = self.rng.below(40);
        let id = contact_id(number);
        let stored = wait(self.memory.contact(&agent, &ContactRef::Id(id))).unwrap();
        match self.rng.below(20) {
            0..=6 => {
                let mut new = contact(&agent, number);
                self.fill(&mut new);
                // Instants of few values, so that ties occur.
                new.created_at = at(self.rng.below(6) as i64);
                new.updated_at = at(self.rng.below(6) as i64);
                let mut write = write(&new, &schema, self.clock);
                if self.rng.one_in(4) {
                    write.effects.replay = Some(IdempotencyRecord {
                        key: IdempotencyKey([self.rng.below(5) as u8; 32]),
                        fingerprint: [7; 32],
                        status: 201,
                        location: Some("/somewhere".to_owned()),
                        body: "{}".into(),
                        resource: Some(id),
                        expires_at: at(self.clock as i64 + self.rng.below(60) as i64),
                    });
                }
                if self.rng.one_in(20) {
                    write.schema_version += 1;
                }
                same(
                    "insert",
                    wait(self.sqlite.insert_contact(&agent, &write)),
                    wait(self.memory.insert_contact(&agent, &write)),
                );
            }
            7..=13 => {
                let mut new = stored.map_or_else(|| contact(&agent, number), SharedContact::into_contact);
                let expected = if self.rng.one_in(10) { new.version + 1 } else { new.version };
                new.version += 1;
                if self.rng.one_in(3) {
                    new.archived_at = if new.is_archived() { None } else { Some(at(self.clock as i64)) };
                } else {
                    self.fill(&mut new);
                }
                if !self.rng.one_in(3) {
                    new.updated_at = at(self.rng.below(9) as i64);
                }
                let write = write(&new, &schema, self.clock);
                same(
                    "update",
                    wait(self.sqlite.update_contact(&agent, expected, &write)),
                    wait(self.memory.update_contact(&agent, expected, &write)),
                );
            }
            14 => {
                let effects =
                    Effects::audited(entry(&agent, self.clock, AuditAction::ContactErase, &id.to_string()));
                same(
                    "erase",
                    wait(self.sqlite.erase_contact(&agent, id, effects.audit[0].at, &effects)),
                    wait(self.memory.erase_contact(&agent, id, effects.audit[0].at, &effects)),
                );
            }
            15 => {
                let key = IdempotencyKey([self.rng.below(5) as u8; 32]);
                let now = at(self.clock as i64);
                same(
                    "replay",
                    wait(self.sqlite.replay(&agent, &key, now)),
                    wait(self.memory.replay(&agent, &key, now)),
                );
                same(
                    "sweep",
                    wait(self.sqlite.sweep_idempotency_records(now, 100)),
                    wait(self.memory.sweep_idempotency_records(now, 100)),
                );
            }
            16 => self.change_schema(&agent),
            _ => {}
        }
        same(
            "contact",
            wait(self.sqlite.contact(&agent, &ContactRef::Id(id))),
            wait(self.memory.contact(&agent, &ContactRef::Id(id))),
        );
        let external = ContactRef::External(format!("crm-{}", self.rng.below(30)).parse().unwrap());
        same(
            "by external id",
            wait(self.sqlite.contact(&agent, &external)),
            wait(self.memory.contact(&agent, &external)),
        );
        for _ in 0..3 {
            self.list(&agent);
        }
    }

    fn change_schema(&mut self, agent: &AgentId) {
        let index = self.agents.iter().position(|(id, _)| id == agent).unwrap();
        let mut schema = self.agents[index].1.clone();
        schema.version += 1;
        schema.custom_fields = if self.rng.one_in(2) {
            Vec::new()
        } else {
            let mut member: FieldDefinition =
                schema.fields.iter().find(|field| field.name == "firstName").unwrap().clone();
            member.name = "member".to_owned();
            member.kind = FieldType::String;
            member.custom = true;
            member.unique = self.rng.one_in(2);
            vec![member]
        };
        for field in &mut schema.fields {
            if field.name == "lastName" || field.name == "primaryPhone" {
                field.sensitive = self.rng.one_in(2);
            }
        }
        let effects =
            Effects::audited(entry(agent, self.clock, AuditAction::ContactSchemaReplace, agent.as_str()));
        let outcome = same(
            "schema",
            wait(self.sqlite.replace_contact_schema(agent, &schema, &effects)),
            wait(self.memory.replace_contact_schema(agent, &schema, &effects)),
        );
        if outcome.is_some() {
            self.agents[index].1 = schema;
        }
        same(
            "schemas",
            wait(self.sqlite.contact_schema_history(agent)),
            wait(self.memory.contact_schema_history(agent)),
        );
    }

    fn list(&mut self, agent: &AgentId) {
        let rng = &mut self.rng;
        let filter = ContactFilter {
            search: if rng.one_in(2) { SearchTerm::split(rng.pick(TERMS)) } else { Vec::new() },
            status: rng.one_in(3).then(|| rng.pick(&ContactStatus::ALL)),
            tag: rng.one_in(3).then(|| Tag::fold(rng.pick(TAGS))),
            include_archived: rng.one_in(2),
            primary_email: rng.one_in(6).then(|| {
                let email = rng.pick(&[
                    "zoe@bücher.example",
                    "contact3@example.com",
                    "ZOË@bücher.example",
                    "none@example.com",
                ]);
                Email::parse(email).unwrap().normalized()
            }),
            created_since: rng.one_in(4).then(|| at(rng.below(7) as i64)),
            updated_since: rng.one_in(4).then(|| at(rng.below(9) as i64)),
        };
        let sort = rng.pick(&ContactSort::ALL);
        let order = rng.pick(&[Order::Ascending, Order::Descending]);
        let limit = rng.below(8) as u32;
        let window = if rng.one_in(2) {
            Window::Page { offset: rng.below(12), limit }
        } else {
            // The position of a contact, or one it had under other filters.
            let all = ContactQuery {
                filter: ContactFilter { include_archived: true, ..ContactFilter::default() },
                sort,
                order,
                window: Window::Page { offset: 0, limit: 100 },
            };
            let all = wait(self.memory.contacts(agent, &all)).unwrap().contacts;
            let schema = &self.agents.iter().find(|(id, _)| id == agent).unwrap().1;
            match all.get(rng.below(all.len().max(1) as u64) as usize) {
                None => Window::Page { offset: 0, limit },
                Some(contact) => {
                    let key = sort.key(contact, &ContactKeys::of(contact, schema));
                    let id = if rng.one_in(4) { contact_id(rng.below(40)) } else { contact.id };
                    Window::After { position: SortPosition { key, id }, limit }
                }
            }
        };
        let query = ContactQuery { filter, sort, order, window };
        same(
            &format!("{query:?}"),
            wait(self.sqlite.contacts(agent, &query)),
            wait(self.memory.contacts(agent, &query)),
        );
    }
}

pub(super) fn run(folder: &Folder, seed: u64, steps: u64) {
    let mut run = Run {
        rng: SplitMix64(seed),
        sqlite: super::open_small(folder),
        memory: MemoryStorage::new(),
        agents: Vec::new(),
        clock: 0,
    };
    for id in ["a", "other-agent"] {
        let id = agent_id(id);
        let schema = insert_agent(&run.memory, &id);
        insert_agent(&run.sqlite, &id);
        run.agents.push((id, schema));
    }
    for step in 0..steps {
        run.step();
        if step % 100 == 99 {
            // In another state of the search index, and from the file.
            std::thread::sleep(std::time::Duration::from_millis(if step % 200 == 99 { 450 } else { 0 }));
            drop(run.sqlite);
            run.sqlite = super::open_small(folder);
        }
    }
    for newest_first in [true, false] {
        for agent in [None, Some(agent_id("a"))] {
            let query = AuditQuery { agent, after: None, newest_first, limit: 10_000 };
            let entries =
                same("audit", wait(run.sqlite.audit_entries(&query)), wait(run.memory.audit_entries(&query)))
                    .unwrap();
            let middle = entries.get(entries.len() / 2).map(|entry| (entry.at, entry.id));
            let query = AuditQuery { after: middle, limit: 7, ..query };
            same("audit", wait(run.sqlite.audit_entries(&query)), wait(run.memory.audit_entries(&query)));
        }
    }
    for (id, _) in run.agents.clone() {
        let mut agent = super::support::agent(&id);
        agent.status = openapi_core::agents::AgentStatus::Deleted;
        let effects = Effects::audited(entry(&id, run.clock + 1, AuditAction::AgentDelete, id.as_str()));
        same(
            "delete",
            wait(run.sqlite.update_agent(&agent, &effects)),
            wait(run.memory.update_agent(&agent, &effects)),
        );
        loop {
            let removed =
                same("purge", wait(run.sqlite.purge_agent(&id, 7)), wait(run.memory.purge_agent(&id, 7)));
            if removed == Some(0) {
                break;
            }
        }
    }
    let query = AuditQuery { agent: None, after: None, newest_first: false, limit: 10_000 };
    same("audit", wait(run.sqlite.audit_entries(&query)), wait(run.memory.audit_entries(&query)));
}

#[test]
fn random_histories_end_like_the_model() {
    for seed in 0..4 {
        run(&Folder::new(), seed, 600);
    }
}

fn raw(text: impl Into<String>) -> RawObject {
    RawObject::from_text(text).expect("an object")
}
