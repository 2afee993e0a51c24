//! Real PostgreSQL and MongoDB servers for the tests, on free ports, in temporary folders.
//!
//! Tests of stores share one server of each kind, with a database of its own for each test ([`postgres::Database`],
//! [`mongo::Database`]). The servers are those that [`postgres::url`] and [`mongo::url`] name, from the variables [`postgres::VARIABLE`] and [`mongo::VARIABLE`]. The command of this crate
//! starts both for another command:
//!
//! ```sh
//! cargo run -p database-servers -- cargo test -p storage-postgres
//! ```
//!
//! Tests of what happens when a server dies start servers of their own ([`postgres::Server`], [`mongo::ReplicaSet`]).
//! Nothing is kept, and nothing stays: a server ends with the thread that started it, whatever becomes of that one.
//! So do not start one on a thread that ends before the server is to (as the threads for blocking work of an async
//! runtime may).

use std::sync::atomic::{AtomicU32, Ordering};

pub mod mongo;
pub mod postgres;
mod process;

/// Runs a future of the drivers to its end, on a thread of its own: the caller may be inside of a runtime already.
fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    std::thread::spawn(move || runtime.block_on(future)).join().expect("asking a server does not panic")
}

/// A name that no other database has.
fn unused_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The URL of a database on the server of another URL.
fn of_database(server: &str, name: &str) -> String {
    let (address, query) =
        server.split_once('?').map_or((server, None), |(address, query)| (address, Some(query)));
    let (scheme, rest) = address.split_once("://").expect("a URL has a scheme");
    let hosts = rest.split('/').next().unwrap_or_default();
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{hosts}/{name}{query}")
}

/// The value of a variable.
#[expect(clippy::disallowed_methods, reason = "where the tests' servers are is told by the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The shared server's URL.
///
/// # Panics
/// When it is not given, with the line that starts one.
fn shared(name: &str, kind: &str) -> String {
    let url = variable(name);
    url.unwrap_or_else(|| {
        panic!(
            "{name} names no {kind} server for the tests: run them by `cargo run -p database-servers -- COMMAND`, \
             which starts one, or set it to the URL of yours"
        )
    })
}
