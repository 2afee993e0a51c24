//! Measures a store of many contacts. `mongo-scale URL fill AGENT COUNT` creates contacts until the agent has as many;
//! `mongo-scale URL read AGENT…` times lists and searches of each agent in turn; `mongo-scale URL get AGENT SECONDS` times single
//! reads of 64 tasks against the driver's own `find_one`; `mongo-scale URL create AGENT SECONDS` times durable creations of 64
//! tasks.

#![expect(clippy::unwrap_used, reason = "a measurement ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "what is measured is time")]
#![expect(clippy::print_stdout, reason = "what was measured is printed")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mongodb::bson::{Binary, RawDocumentBuf, doc, spec::BinarySubtype};
use openapi_core::contacts::{Contact, ContactRef, SearchTerm};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSchemaStore, ContactSort, ContactStore, Order, StorageErrorKind,
    Window,
};
use openapi_core::values::{AgentId, ContactStatus, Email, Phone, PhoneCode, Tag, TextValue};
use storage_mongo::{MongoConfig, MongoStorage};
use support::{agent_id, at, contact, contact_id, insert_agent, wait, write};

const TASKS: u64 = 64;

/// A random-looking number, the same for the same number and purpose.
fn drawn(number: u64, purpose: u64, below: u64) -> u64 {
    let mut word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (word ^ (word >> 31)) % below
}

/// A pronounceable word.
fn spoken(mut number: u64, length: u64) -> String {
    let (consonants, vowels) = (b"bcdfghjklmnprstvwz", b"aeiou");
    let letter = |position: u64| {
        let letters: &[u8] = if position.is_multiple_of(2) { consonants } else { vowels };
        let letter = letters[(number % letters.len() as u64) as usize];
        number /= letters.len() as u64;
        char::from(letter)
    };
    (0..length).map(letter).collect()
}

/// The contact of a number: names from a few thousand, and a unique address and external id.
fn person(agent: &AgentId, number: u64) -> Contact {
    let of = |purpose, below| drawn(number, purpose, below);
    let (first, last) = (spoken(of(1, 400) * 7_919, 6), spoken(of(2, 3_000) * 104_729, 8));
    let mut person = contact(agent, number);
    person.first_name = TextValue::parse(&first).ok();
    person.last_name = TextValue::parse(&last).ok();
    person.external_reference_id = format!("crm-{number:07}").parse().ok();
    person.primary_email = Email::parse(&format!("{first}.{last}{number}@example{}.com", of(3, 50))).unwrap();
    person.primary_phone = Phone::parse(&format!("20 {:04} {:04}", of(4, 10_000), of(5, 10_000))).ok();
    person.primary_phone_code = PhoneCode::parse("44").ok();
    let (street, city) = (spoken(of(6, 500) * 15_485_863, 9), spoken(of(7, 100) * 7_919, 7));
    person.full_address =
        TextValue::parse(&format!("{} {street} Lane\n{city} LS{} 4AB", of(8, 200), of(9, 20))).ok();
    let tags = [("vip", 10), ("newsletter", 3), ("lead", 5), ("customer", 4), ("rare", 1_000)];
    let has = |(position, (_, count)): &(usize, &(&str, u64))| of(20 + *position as u64, *count) == 0;
    person.tags = tags.iter().enumerate().filter(has).map(|(_, (tag, _))| Tag::parse(tag).unwrap()).collect();
    person.status = match of(10, 1_000) {
        0 => ContactStatus::Blocked,
        1..100 => ContactStatus::Inactive,
        _ => ContactStatus::Active,
    };
    person.custom_fields =
        RawObject::from_text(format!(r#"{{"plan":"gold","score":{}}}"#, of(11, 1_000))).unwrap();
    person.created_at = at(number as i64 * 137);
    person.updated_at = person.created_at;
    person
}

async fn schema(store: &MongoStorage, agent: &AgentId) -> ContactSchema {
    match store.contact_schema(agent).await.unwrap() {
        Some(schema) => schema,
        None => insert_agent(store, agent).await,
    }
}

fn query(filter: ContactFilter, sort: ContactSort, order: Order, offset: u64) -> ContactQuery {
    ContactQuery { filter, sort, order, window: Window::Page { offset, limit: 20 } }
}

async fn total(store: &MongoStorage, agent: &AgentId) -> u64 {
    let all = ContactFilter { include_archived: true, ..ContactFilter::default() };
    store.contacts(agent, &query(all, ContactSort::CreatedAt, Order::Ascending, 0)).await.unwrap().total
}

/// Creates contacts from `first` on until `enough` returns true; returns how many.
async fn create(
    store: &Arc<MongoStorage>,
    agent: &AgentId,
    first: u64,
    tasks: u64,
    enough: impl Fn(u64) -> bool + Clone + Send + Sync + 'static,
) -> u64 {
    let next = Arc::new(AtomicU64::new(first));
    let schema = schema(store, agent).await;
    let mut working = tokio::task::JoinSet::new();
    for _ in 0..tasks {
        let (store, agent, schema) = (Arc::clone(store), agent.clone(), schema.clone());
        let (next, enough) = (Arc::clone(&next), enough.clone());
        working.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if enough(number) {
                    next.fetch_sub(1, Ordering::Relaxed);
                    break;
                }
                let write = write(&person(&agent, number), &schema, number + 1);
                match store.insert_contact(&agent, &write).await {
                    Ok(()) => {}
                    Err(error) if error.kind == StorageErrorKind::AlreadyExists => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        });
    }
    while let Some(done) = working.join_next().await {
        done.unwrap();
    }
    next.load(Ordering::Relaxed) - first
}

/// The median time of a list, in milliseconds.
async fn timed(store: &MongoStorage, agent: &AgentId, rounds: usize, query: &ContactQuery) -> (f64, u64) {
    let mut times = Vec::new();
    let mut total = 0;
    for _ in 0..rounds {
        let begun = Instant::now();
        total = store.contacts(agent, query).await.unwrap().total;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], total)
}

async fn read(store: &MongoStorage, agents: &[AgentId]) {
    use ContactSort::{CreatedAt, FirstName, LastName};
    let search = |text: &str| ContactFilter { search: SearchTerm::split(text), ..ContactFilter::default() };
    let tag = |tag: &str| ContactFilter { tag: Some(tag.to_owned()), ..ContactFilter::default() };
    let rare = ContactFilter { status: Some(ContactStatus::Blocked), ..ContactFilter::default() };
    let cases = [
        ("page 1, newest first", query(ContactFilter::default(), CreatedAt, Order::Descending, 0), 200),
        ("page 1 by name", query(ContactFilter::default(), LastName, Order::Ascending, 0), 200),
        ("page 1 of a rare status by name", query(rare, LastName, Order::Descending, 0), 200),
        ("page 1 of a tag", query(tag("vip"), CreatedAt, Order::Descending, 0), 200),
        ("page 1 of a tag by name", query(tag("vip"), LastName, Order::Ascending, 0), 5),
        ("page 1 of a rare tag by name", query(tag("rare"), LastName, Order::Ascending, 0), 5),
        ("in the middle, by name", query(ContactFilter::default(), FirstName, Order::Ascending, 499_980), 3),
        ("search for one", query(search("crm-0000777"), CreatedAt, Order::Descending, 0), 50),
        ("search for what many have", query(search("example1.com"), CreatedAt, Order::Descending, 0), 1),
    ];
    for (name, query, rounds) in &cases {
        for agent in agents {
            let (median, total) = timed(store, agent, *rounds, query).await;
            println!("{name}, {agent}: {median:.2} ms, total {total}");
        }
    }
}

/// How many operations 64 tasks complete in a second.
async fn rate<F: Future<Output = ()> + Send>(
    seconds: u64,
    work: impl Fn(u64) -> F + Clone + Send + Sync + 'static,
) -> f64 {
    let (begun, count) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let mut working = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (work, count) = (work.clone(), Arc::clone(&count));
        working.spawn(async move {
            let mut number = task;
            while begun.elapsed() < Duration::from_secs(seconds) {
                work(number).await;
                number = number.wrapping_add(TASKS * 31);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while let Some(done) = working.join_next().await {
        done.unwrap();
    }
    count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

async fn get(store: &Arc<MongoStorage>, agent: &AgentId, seconds: u64) {
    let among = total(store, agent).await;
    let mut options = mongodb::options::ClientOptions::parse(&store.config().url).await.unwrap();
    options.max_pool_size = Some(store.config().pool);
    let client = mongodb::Client::with_options(options).unwrap();
    let contacts = client.default_database().unwrap().collection::<RawDocumentBuf>("contacts");
    for _ in 0..3 {
        let (contacts, of) = (contacts.clone(), agent.clone());
        let raw = rate(seconds, move |number| {
            let (contacts, of) = (contacts.clone(), of.clone());
            async move {
                let id = contact_id(number % among).as_bytes().to_vec();
                let id = Binary { subtype: BinarySubtype::Generic, bytes: id };
                let filter = doc! { "_id": { "agent": of.as_str(), "id": id } };
                let found = contacts.find_one(filter).projection(doc! { "keys": 0 }).await.unwrap();
                assert!(found.is_some());
            }
        });
        let raw = raw.await;
        let (own, of) = (Arc::clone(store), agent.clone());
        let own = rate(seconds, move |number| {
            let (own, of) = (Arc::clone(&own), of.clone());
            async move {
                let id = ContactRef::Id(contact_id(number % among));
                assert!(own.contact(&of, &id).await.unwrap().is_some());
            }
        });
        let own = own.await;
        println!("find_one {raw:.0} /s, contact() {own:.0} /s: {:.2}", own / raw);
    }
    client.shutdown().await;
}

async fn run(arguments: Vec<String>) {
    let [url, what, agents @ ..] = &arguments[..] else {
        panic!("scale URL fill|read|get|create AGENT [COUNT|SECONDS]")
    };
    let store = Arc::new(MongoStorage::open(MongoConfig::from_url(url).unwrap()).await.unwrap());
    let agent = agent_id(&agents[0]);
    let number = || agents[1].parse::<u64>().unwrap();
    match what.as_str() {
        "fill" => {
            let _ = schema(&store, &agent).await;
            let (first, count) = (total(&store, &agent).await, number());
            let begun = Instant::now();
            let created = create(&store, &agent, first, 4 * TASKS, move |number| number >= count).await;
            println!("{created} contacts in {:?}", begun.elapsed());
        }
        "read" => {
            let agents: Vec<AgentId> = agents.iter().map(|name| agent_id(name)).collect();
            read(&store, &agents).await;
        }
        "get" => get(&store, &agent, number()).await,
        "create" => {
            let _ = schema(&store, &agent).await;
            let (first, limit) = (total(&store, &agent).await, Duration::from_secs(number()));
            let begun = Instant::now();
            let created = create(&store, &agent, first, TASKS, move |_| begun.elapsed() >= limit).await;
            println!("{:.0} creations a second", created as f64 / begun.elapsed().as_secs_f64());
        }
        other => panic!("'{other}' is none of fill, read, get, create"),
    }
    store.close().await;
}

fn main() {
    wait(run(std::env::args().skip(1).collect()));
}
