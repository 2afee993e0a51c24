//! Real PostgreSQL and MongoDB servers for the tests, on free ports, in temporary folders.
//!
//! Tests of stores share one server of each kind, with a database of its own for each test: [`postgres::url`] and
//! [`mongo::url`] name it, from the variables [`postgres::VARIABLE`] and [`mongo::VARIABLE`]. The command of this crate
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

pub mod mongo;
pub mod postgres;
mod process;

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
