//! Measures a store of many contacts. `postgres-scale URL fill AGENT COUNT` creates contacts until the agent has as many, with 256
//! writers at once; `postgres-scale URL read AGENT` times the reads; `postgres-scale URL get AGENT SECONDS TASKS` and
//! `postgres-scale URL create AGENT SECONDS TASKS` count single reads and durable creates.

#![expect(clippy::unwrap_used, reason = "a measurement ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "what is measured is time")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use openapi_core::contacts::{Contact, ContactRef, SearchTerm};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSchemaStore, ContactSort, ContactStore, Order, SortKey, SortPosition,
    Window,
};
use openapi_core::values::{AgentId, ContactStatus, Email, Phone, PhoneCode, Tag, TextValue, Timestamp};
use storage_common::fixtures::{agent_id, contact, contact_id, insert_agent, write};
use storage_postgres::{PostgresConfig, PostgresStorage};
use testkit::SplitMix64;

/// A pronounceable word, the `number`-th of a vocabulary.
fn word(number: u64, shortest: u64) -> String {
    let mut number = SplitMix64(number).next_u64();
    let length = shortest + number % 4;
    (0..length)
        .map(|position| {
            let letters: &[u8] = if position % 2 == 0 { b"bcdfghjklmnprstvwz" } else { b"aeiou" };
            let letter = letters[(number % letters.len() as u64) as usize];
            number /= letters.len() as u64;
            char::from(letter)
        })
        .collect()
}

fn title(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The contact of a number: names from a few thousand, and a unique address and external id.
fn person(agent: &AgentId, number: u64) -> Contact {
    let mut rng = SplitMix64(number);
    let (first, last) = (word(rng.below(400), 4), word(400 + rng.below(3_000), 5));
    let mut person = contact(agent, number);
    person.first_name = TextValue::parse(&title(&first)).ok();
    person.last_name = TextValue::parse(&title(&last)).ok();
    person.external_reference_id = format!("crm-{number:07}").parse().ok();
    person.primary_email =
        Email::parse(&format!("{first}.{last}{number}@example{}.com", rng.below(50))).unwrap();
    person.primary_phone =
        Phone::parse(&format!("20 {:04} {:04}", rng.below(10_000), rng.below(10_000))).ok();
    person.primary_phone_code = PhoneCode::parse("44").ok();
    let (street, city) = (title(&word(4_000 + rng.below(500), 7)), title(&word(5_000 + rng.below(100), 6)));
    person.full_address =
        TextValue::parse(&format!("{} {street} Lane\n{city} LS{} 4AB", rng.below(200), rng.below(20))).ok();
    person.tags = [("vip", 10), ("newsletter", 3), ("lead", 5), ("customer", 4), ("rare", 1_000)]
        .iter()
        .filter(|(_, count)| rng.below(*count) == 0)
        .map(|(tag, _)| Tag::parse(tag).unwrap())
        .collect();
    person.status = match rng.below(1_000) {
        0 => ContactStatus::Blocked,
        1..100 => ContactStatus::Inactive,
        _ => ContactStatus::Active,
    };
    person.custom_fields =
        RawObject::from_text(format!(r#"{{"plan":"gold","score":{}}}"#, rng.below(1_000))).unwrap();
    person.created_at = Timestamp::from_millis(1_700_000_000_000 + number as i64 * 137);
    person.updated_at = person.created_at;
    person
}

async fn schema(store: &PostgresStorage, agent: &AgentId) -> ContactSchema {
    match store.contact_schema(agent).await.unwrap() {
        Some(schema) => schema,
        None => insert_agent(store, agent).await,
    }
}

fn query(filter: ContactFilter, sort: ContactSort, order: Order, offset: u64) -> ContactQuery {
    ContactQuery { filter, sort, order, window: Window::Page { offset, limit: 20 } }
}

async fn total(store: &PostgresStorage, agent: &AgentId) -> u64 {
    let filter = ContactFilter { include_archived: true, ..ContactFilter::default() };
    store.contacts(agent, &query(filter, ContactSort::CreatedAt, Order::Ascending, 0)).await.unwrap().total
}

/// Creates contacts after the existing ones with `tasks` tasks until `enough` returns true; returns how many.
async fn create(
    store: &Arc<PostgresStorage>,
    agent: &AgentId,
    tasks: usize,
    enough: impl Fn(u64) -> bool + Send + Sync + Clone + 'static,
) -> u64 {
    let first = total(store, agent).await;
    let (next, schema) = (Arc::new(AtomicU64::new(first)), schema(store, agent).await);
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let (store, agent, next) = (Arc::clone(store), agent.clone(), Arc::clone(&next));
            let (schema, enough) = (schema.clone(), enough.clone());
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if enough(number) {
                        break;
                    }
                    let write = write(&person(&agent, number), &schema, number + 1);
                    store.insert_contact(&agent, &write).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    total(store, agent).await - first
}

/// Prints the median time of an operation.
async fn time(name: &str, rounds: usize, operation: impl AsyncFn(u64) -> u64) {
    let mut times = Vec::new();
    let mut last = 0;
    for round in 0..rounds {
        let begin = Instant::now();
        last = operation(round as u64).await;
        times.push(begin.elapsed());
    }
    times.sort();
    println!("{name:<44} {:>9.3} ms  ({last})", times[rounds / 2].as_secs_f64() * 1e3);
}

async fn read(store: &PostgresStorage, agent: &AgentId) {
    let total = total(store, agent).await;
    println!("{total} contacts");
    let page = async |name: &str, filter: ContactFilter, sort, order, offset| {
        let is_long = offset > 0 || !filter.search.is_empty() || filter.tag.is_some();
        let rounds = if is_long { 5 } else { 101 };
        let query = query(filter, sort, order, offset);
        time(name, rounds, async |_| store.contacts(agent, &query).await.unwrap().total).await;
    };
    let all = ContactFilter::default;
    for sort in ContactSort::ALL {
        for order in [Order::Ascending, Order::Descending] {
            page(&format!("page 1 by {} {order:?}", sort.as_str()), all(), sort, order, 0).await;
        }
    }
    let blocked = || ContactFilter { status: Some(ContactStatus::Blocked), ..all() };
    page("page 1 of blocked by lastName", blocked(), ContactSort::LastName, Order::Ascending, 0).await;
    let tag = |tag: &str| ContactFilter { tag: Some(tag.to_owned()), ..all() };
    page("page 1 tagged vip by createdAt", tag("vip"), ContactSort::CreatedAt, Order::Descending, 0).await;
    page("page 1 tagged vip by lastName", tag("vip"), ContactSort::LastName, Order::Ascending, 0).await;
    page("page 1 tagged rare by lastName", tag("rare"), ContactSort::LastName, Order::Ascending, 0).await;
    let middle = Timestamp::from_millis(1_700_000_000_000 + total as i64 * 137 / 2);
    let since = || ContactFilter { created_since: Some(middle), ..all() };
    page("page 1 created since the middle", since(), ContactSort::CreatedAt, Order::Descending, 0).await;
    for part in [1, 10, 50, 90, 99] {
        let offset = total * part / 100;
        page(
            &format!("page at {part} % by createdAt"),
            all(),
            ContactSort::CreatedAt,
            Order::Descending,
            offset,
        )
        .await;
        page(
            &format!("page at {part} % by lastName"),
            all(),
            ContactSort::LastName,
            Order::Descending,
            offset,
        )
        .await;
    }
    let position = SortPosition { key: SortKey::Time(middle), id: contact_id(total / 2) };
    let after = ContactQuery {
        window: Window::After { position, limit: 20 },
        ..query(all(), ContactSort::CreatedAt, Order::Descending, 0)
    };
    time("page after the middle", 101, async |_| store.contacts(agent, &after).await.unwrap().total).await;
    for term in ["crm-0000777", "example7", "lane", "zzzz", "an", "a", "777", "@"] {
        let filter = ContactFilter { search: SearchTerm::split(term), ..all() };
        page(&format!("search {term}"), filter, ContactSort::LastName, Order::Ascending, 0).await;
    }
    let get = ContactRef::Id(contact_id(total / 2));
    time("one contact", 1_001, async |_| u64::from(store.contact(agent, &get).await.unwrap().is_some()))
        .await;
}

async fn get(store: &Arc<PostgresStorage>, agent: &AgentId, seconds: u64, tasks: usize) -> u64 {
    let total = total(store, agent).await;
    let end = Instant::now() + Duration::from_secs(seconds);
    let tasks: Vec<_> = (0..tasks as u64)
        .map(|task| {
            let (store, agent) = (Arc::clone(store), agent.clone());
            tokio::spawn(async move {
                let (mut rng, mut count) = (SplitMix64(task), 0);
                while Instant::now() < end {
                    let id = ContactRef::Id(contact_id(rng.below(total)));
                    assert!(store.contact(&agent, &id).await.unwrap().is_some());
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await.unwrap();
    }
    count
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, command, agent, rest @ ..] = arguments.as_slice() else {
        panic!("usage: scale URL fill|read|get|create AGENT [NUMBER [TASKS]]");
    };
    let store = Arc::new(PostgresStorage::open(PostgresConfig::from_url(url).unwrap()).await.unwrap());
    let agent = agent_id(agent);
    let number: u64 = rest.first().map_or(0, |text| text.parse().unwrap());
    let tasks: usize = rest.get(1).map_or(64, |text| text.parse().unwrap());
    let begin = Instant::now();
    let done = match command.as_str() {
        "fill" => create(&store, &agent, 256, move |next| next >= number).await,
        "create" => {
            let end = begin + Duration::from_secs(number);
            create(&store, &agent, tasks, move |_| Instant::now() >= end).await
        }
        "get" => get(&store, &agent, number, tasks).await,
        _ => {
            read(&store, &agent).await;
            0
        }
    };
    if done > 0 {
        println!("{command}: {done}, {:.0} a second", done as f64 / begin.elapsed().as_secs_f64());
    }
    store.close().await;
}
