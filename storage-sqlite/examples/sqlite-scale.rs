//! Measures a store of many contacts. `sqlite-scale FILE fill COUNT` creates contacts until there are as many, with 64 writers
//! at once; `sqlite-scale FILE read` times the reads, `sqlite-scale FILE get AMONG ROUNDS` single ones, `sqlite-scale FILE search TERM ROUNDS` one search; `sqlite-scale FILE rest SECONDS`
//! lets the writer tidy up; `sqlite-scale FILE create SECONDS [BATCH]` times durable creates.

#![expect(clippy::unwrap_used, reason = "a measurement ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "what is measured is time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use openapi_core::contacts::{Contact, ContactRef, SearchTerm};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSchemaStore, ContactSort, ContactStore, Order, SortKey, SortPosition,
    StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, ContactStatus, Email, Phone, PhoneCode, Tag, TextValue, Timestamp};
use storage_sqlite::{SqliteConfig, SqliteStorage};
use support::{agent_id, contact, insert_agent, wait, write};
use testkit::SplitMix64;

/// A pronounceable word.
fn word(mut number: u64, length: u64) -> String {
    let (consonants, vowels) = (b"bcdfghjklmnprstvwz", b"aeiou");
    (0..length)
        .map(|position| {
            let letters: &[u8] = if position % 2 == 0 { consonants } else { vowels };
            let letter = letters[(number % letters.len() as u64) as usize];
            number /= letters.len() as u64;
            char::from(letter)
        })
        .collect()
}

fn vocabulary(rng: &mut SplitMix64, words: u64, shortest: u64) -> String {
    let number = SplitMix64(rng.below(words)).next_u64();
    word(number, shortest + number % 4)
}

fn title(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The contact of a number: names from a few thousand, and a unique address and external id.
fn person(agent: &AgentId, number: u64) -> Contact {
    let mut rng = SplitMix64(number);
    let (first, last) = (vocabulary(&mut rng, 400, 4), vocabulary(&mut rng, 3_000, 5));
    let mut person = contact(agent, number);
    let created = Timestamp::from_millis(1_700_000_000_000 + number as i64 * 137);
    person.first_name = TextValue::parse(&title(&first)).ok();
    person.last_name = TextValue::parse(&title(&last)).ok();
    person.external_reference_id = format!("crm-{number:07}").parse().ok();
    person.primary_email =
        Email::parse(&format!("{first}.{last}{number}@example{}.com", rng.below(50))).expect("scale");
    person.primary_phone =
        Phone::parse(&format!("20 {:04} {:04}", rng.below(10_000), rng.below(10_000))).ok();
    person.primary_phone_code = PhoneCode::parse("44").ok();
    let street = title(&vocabulary(&mut rng, 500, 7));
    let city = title(&vocabulary(&mut rng, 100, 6));
    person.full_address =
        TextValue::parse(&format!("{} {street} Lane\n{city} LS{} 4AB", rng.below(200), rng.below(20))).ok();
    person.tags = [("vip", 10), ("newsletter", 3), ("lead", 5), ("customer", 4), ("rare", 1_000)]
        .iter()
        .filter(|(_, count)| rng.one_in(*count))
        .map(|(tag, _)| Tag::parse(tag).expect("scale"))
        .collect();
    person.status = match rng.below(1_000) {
        0 => ContactStatus::Blocked,
        1..100 => ContactStatus::Inactive,
        _ => ContactStatus::Active,
    };
    let plan = if rng.one_in(3) { "gold" } else { "silver" };
    person.custom_fields =
        RawObject::from_text(format!(r#"{{"plan":"{plan}","score":{}}}"#, rng.below(1_000)))
            .expect("an object");
    person.created_at = created;
    person.updated_at = created;
    person
}

fn schema(store: &SqliteStorage, agent: &AgentId) -> ContactSchema {
    match wait(store.contact_schema(agent)).expect("scale") {
        Some(schema) => schema,
        None => insert_agent(store, agent),
    }
}

fn total(store: &SqliteStorage, agent: &AgentId) -> u64 {
    let query = ContactQuery {
        filter: ContactFilter { include_archived: true, ..ContactFilter::default() },
        sort: ContactSort::CreatedAt,
        order: Order::Ascending,
        window: Window::Page { offset: 0, limit: 1 },
    };
    wait(store.contacts(agent, &query)).expect("scale").total
}

/// Creates contacts from `first` on with 64 writers until `enough` returns true; returns how many.
fn create(
    store: &Arc<SqliteStorage>,
    agent: &AgentId,
    first: u64,
    enough: impl Fn(u64) -> bool + Sync,
) -> u64 {
    let next = AtomicU64::new(first);
    let schema = schema(store, agent);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if enough(number) {
                        next.fetch_sub(1, Ordering::Relaxed);
                        break;
                    }
                    let person = person(agent, number);
                    match wait(store.insert_contact(agent, &write(&person, &schema, number + 1))) {
                        Ok(()) => {}
                        Err(error) if error.kind == StorageErrorKind::AlreadyExists => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
    next.into_inner() - first
}

/// Processor time of all threads of this process so far.
fn processor() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// Processor time of each thread of the store.
fn threads() -> String {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = threads.filter_map(|thread| {
        let name = std::fs::read_to_string(thread.path().join("comm")).ok()?;
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanos = text.split(' ').next()?.parse::<u64>().ok()?;
        Some(format!("{} {:?}", name.trim(), Duration::from_nanos(nanos)))
    });
    times.collect::<Vec<_>>().join(", ")
}

fn time(what: &str, rounds: u32, mut read: impl FnMut(u32) -> u64) {
    let mut found = read(0);
    let before = processor();
    let mut took: Vec<Duration> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            found = read(round);
            start.elapsed()
        })
        .collect();
    let spent = (processor() - before) / rounds;
    took.sort();
    let micros = |time: Duration| time.as_nanos() as f64 / 1_000.0;
    let (fastest, middle) = (micros(took[0]), micros(took[took.len() / 2]));
    println!("{what:45} {:10.1} µs CPU {middle:10.1} median {fastest:10.1} least   ({found})", micros(spent));
}

/// Reads single contacts, in rounds of a thousand.
fn get(store: &SqliteStorage, agent: &AgentId, count: u64, rounds: u32) {
    let mut rng = SplitMix64(1);
    time("1,000 contacts by external id", rounds, |_| {
        for _ in 0..1_000 {
            let external = format!("crm-{:07}", rng.below(count)).parse().expect("scale");
            assert!(wait(store.contact(agent, &ContactRef::External(external))).expect("scale").is_some());
        }
        1_000
    });
    time("1,000 contacts by id", rounds, |_| {
        for _ in 0..1_000 {
            let id = support::contact_id(rng.below(count));
            assert!(wait(store.contact(agent, &ContactRef::Id(id))).expect("scale").is_some());
        }
        1_000
    });
}

fn read(store: &SqliteStorage, agent: &AgentId) {
    let count = total(store, agent);
    println!("{count} contacts, {:?} of memory", resident());
    get(store, agent, count, 200);
    let base = ContactQuery {
        filter: ContactFilter::default(),
        sort: ContactSort::CreatedAt,
        order: Order::Descending,
        window: Window::Page { offset: 0, limit: 20 },
    };
    let list = |what: &str, rounds: u32, query: ContactQuery| {
        time(what, rounds, |_| wait(store.contacts(agent, &query)).expect("scale").total);
    };
    for sort in ContactSort::ALL {
        for order in [Order::Ascending, Order::Descending] {
            list(
                &format!("page 1 of 20 by {} {order:?}", sort.as_str()),
                500,
                ContactQuery { sort, order, ..base.clone() },
            );
        }
    }
    for offset in [1_000, 100_000, 500_000, 999_980] {
        let window = Window::Page { offset, limit: 20 };
        list(&format!("20 after {offset} by createdAt"), 5, ContactQuery { window, ..base.clone() });
    }
    let window = Window::Page { offset: 500_000, limit: 20 };
    list(
        "20 after 500000 by firstName",
        5,
        ContactQuery { window, sort: ContactSort::FirstName, ..base.clone() },
    );
    let position = SortPosition { key: SortKey::Text(Some("m".into())), id: support::contact_id(0) };
    list(
        "20 after a position by firstName",
        500,
        ContactQuery {
            window: Window::After { position, limit: 20 },
            sort: ContactSort::FirstName,
            ..base.clone()
        },
    );
    let with = |change: &dyn Fn(&mut ContactFilter)| {
        let mut query = base.clone();
        change(&mut query.filter);
        query
    };
    list("status blocked", 500, with(&|filter| filter.status = Some(ContactStatus::Blocked)));
    list(
        "status blocked by lastName",
        500,
        ContactQuery {
            sort: ContactSort::LastName,
            ..with(&|filter| filter.status = Some(ContactStatus::Blocked))
        },
    );
    list("archived as well", 500, with(&|filter| filter.include_archived = true));
    list("tag vip", 500, with(&|filter| filter.tag = Some("vip".into())));
    list(
        "tag vip by lastName",
        20,
        ContactQuery { sort: ContactSort::LastName, ..with(&|filter| filter.tag = Some("vip".into())) },
    );
    list(
        "tag rare by lastName",
        200,
        ContactQuery { sort: ContactSort::LastName, ..with(&|filter| filter.tag = Some("rare".into())) },
    );
    list(
        "tag vip, status blocked",
        200,
        with(&|filter| {
            filter.tag = Some("vip".into());
            filter.status = Some(ContactStatus::Blocked);
        }),
    );
    let since = |number: u64| Some(Timestamp::from_millis(1_700_000_000_000 + number as i64 * 137));
    list(
        "updatedSince, 100 newest, by updatedAt",
        200,
        ContactQuery {
            sort: ContactSort::UpdatedAt,
            ..with(&|filter| filter.updated_since = since(count.saturating_sub(100)))
        },
    );
    list(
        "updatedSince, 100 newest, by createdAt",
        200,
        with(&|filter| filter.updated_since = since(count.saturating_sub(100))),
    );
    list("createdSince, half of all", 10, with(&|filter| filter.created_since = since(count / 2)));
    list("primaryEmail", 200, with(&|filter| filter.primary_email = Some("nobody@example.com".into())));
    let search = |what: &str, rounds: u32, terms: &mut dyn FnMut() -> String| {
        time(what, rounds, |_| {
            let query = with(&|_| {});
            let filter = ContactFilter { search: SearchTerm::split(&terms()), ..query.filter };
            wait(store.contacts(agent, &ContactQuery { filter, ..base.clone() })).expect("scale").total
        });
    };
    let mut rng = SplitMix64(7);
    search("search: an external id", 300, &mut || format!("crm-{:07}", rng.below(count)));
    search("search: the digits of one", 300, &mut || format!("{:07}", rng.below(count)));
    search("search: an address", 300, &mut || person(agent, rng.below(count)).primary_email.to_string());
    search("search: a phone number", 300, &mut || {
        person(agent, rng.below(count)).primary_phone.expect("scale").to_string().replace(' ', "-")
    });
    search("search: first and last name", 100, &mut || {
        let person = person(agent, rng.below(count));
        format!("{} {}", person.first_name.expect("scale"), person.last_name.expect("scale"))
    });
    search("search: a last name", 50, &mut || {
        person(agent, rng.below(count)).last_name.expect("scale").to_string()
    });
    search("search: nothing, six letters", 300, &mut || "qxqxqx".into());
    search("search: nothing, four digits", 100, &mut || "qx12".into());
    search("search: four digits", 20, &mut || format!("{:04}", rng.below(10_000)));
    search("search: three letters", 10, &mut || "zod".into());
    search("search: two letters", 3, &mut || "zo".into());
    search("search: one letter", 3, &mut || "z".into());
    search("search: in every contact", 3, &mut || "example".into());
    search("search: in every contact, short", 3, &mut || "com".into());
    println!("{:?} of memory", resident());
}

/// Memory of this process: in total, and without file pages.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    format!("{} {}", line("VmRSS"), line("RssAnon"))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str).unwrap_or_default();
    let number = |at: usize| argument(at).parse::<u64>().unwrap_or_default();
    let mut config = SqliteConfig::new(argument(0));
    if argument(1) == "create" && number(3) > 0 {
        config.write_batch = number(3) as usize;
    }
    if let Some(mapped) = arguments.iter().find_map(|argument| argument.strip_prefix("--mapped-mib=")) {
        config.mapped_mib = mapped.parse().unwrap();
    }
    if let Some(cache) = arguments.iter().find_map(|argument| argument.strip_prefix("--read-cache-kib=")) {
        config.read_cache_kib = cache.parse().unwrap();
    }
    let start = Instant::now();
    let store = Arc::new(SqliteStorage::open(config).expect("scale"));
    let agent = agent_id("695b6f80de7378c4412112d3");
    let stored = total(&store, &agent);
    println!("opened and counted {stored} contacts in {:?}", start.elapsed());
    schema(&store, &agent);
    let start = Instant::now();
    match argument(1) {
        "fill" => {
            let created = create(&store, &agent, stored, |at| at >= number(2));
            println!("{created} created, {:.0} a second", created as f64 / start.elapsed().as_secs_f64());
            drop(store);
            println!("closed after {:?}", start.elapsed());
        }
        "create" => {
            let length = Duration::from_secs(number(2).max(1));
            let created = create(&store, &agent, stored, |_| start.elapsed() > length);
            println!("{}", threads());
            let spent = processor().as_micros() as f64 / created as f64;
            let rate = created as f64 / start.elapsed().as_secs_f64();
            println!("{rate:.0} durable creates a second, {spent:.1} µs CPU each");
        }
        "read" => read(&store, &agent),
        "get" => get(&store, &agent, number(2), number(3) as u32),
        "rest" => std::thread::sleep(Duration::from_secs(number(2))),
        "search" => {
            let filter = ContactFilter { search: SearchTerm::split(argument(2)), ..ContactFilter::default() };
            let query = ContactQuery {
                filter,
                sort: ContactSort::CreatedAt,
                order: Order::Descending,
                window: Window::Page { offset: 0, limit: 20 },
            };
            let rounds = number(3).max(1) as u32;
            time(argument(2), rounds, |_| wait(store.contacts(&agent, &query)).expect("scale").total);
        }
        _ => println!(
            "scale FILE fill COUNT | read | get AMONG ROUNDS | search TERM ROUNDS | rest SECONDS | create SECONDS [BATCH]"
        ),
    }
}
