//! Real PostgreSQL and MongoDB servers for tests, on free ports, in temporary folders.
//!
//! Store tests share one server of each kind; each test gets its own database ([`postgres::Database`],
//! [`mongo::Database`]). The variables [`postgres::VARIABLE`] and [`mongo::VARIABLE`] hold the servers' URLs, which
//! [`postgres::url`] and [`mongo::url`] return. This crate's command starts both servers for another command:
//!
//! ```sh
//! cargo run -p database-servers -- cargo test -p storage-postgres
//! ```
//!
//! Tests of server failures start their own servers ([`postgres::Server`], [`mongo::ReplicaSet`]). A server and its
//! data are removed when the thread that started it ends, even after a panic. Do not start one on a thread that may
//! end early, such as an async runtime's blocking thread.

use std::sync::atomic::{AtomicU32, Ordering};

pub mod mongo;
pub mod pooler;
pub mod postgres;
mod process;

/// Runs a driver's future to completion on a separate thread, because the caller may already be inside a runtime.
fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    std::thread::spawn(move || runtime.block_on(future)).join().expect("asking a server does not panic")
}

/// A unique database name.
fn unused_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The URL of a database on the same server as `url`.
fn of_database(server: &str, name: &str) -> String {
    let (address, query) =
        server.split_once('?').map_or((server, None), |(address, query)| (address, Some(query)));
    let (scheme, rest) = address.split_once("://").expect("a URL has a scheme");
    let hosts = rest.split('/').next().unwrap_or_default();
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{hosts}/{name}{query}")
}

/// The value of an environment variable.
#[expect(clippy::disallowed_methods, reason = "the address of the tests' servers comes from the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The shared server's URL.
///
/// # Panics
/// If the variable is unset. The message contains the command that starts a server.
fn shared(name: &str, kind: &str) -> String {
    let url = variable(name);
    url.unwrap_or_else(|| {
        panic!(
            "{name} names no {kind} server for the tests: run them by `cargo run -p database-servers -- COMMAND`, \
             which starts one, or set it to the URL of yours"
        )
    })
}
