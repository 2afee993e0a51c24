//! Runs a command with a PostgreSQL and a MongoDB server for its tests.

use std::process::{Command, ExitCode};

use database_servers::{mongo, postgres};

const USAGE: &str = "\
Usage: database-servers [--in-memory] COMMAND [ARGUMENTS]

Starts a PostgreSQL server and a MongoDB replica set of one member, on free local ports, in temporary folders; runs the
command with TEST_POSTGRES_URL and TEST_MONGODB_URL set to them; stops both and removes what they stored. A variable
that is set already names a server that is there, and none is started in its place. The exit status is the command's.

scripts/install-tools installs the servers.

  --in-memory  store the data of MongoDB in /dev/shm where that has 4 GiB of room: no commit waits for a disk, so tests
               take less time; measurements mean nothing

Examples:
  cargo run -p database-servers -- cargo test -p storage-postgres
  cargo run -p database-servers -- --in-memory cargo test -p storage-mongo
  cargo run -p database-servers -- bash";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let in_memory = arguments.next_if(|argument| argument == "--in-memory").is_some();
    let program = match arguments.next() {
        None => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
        Some(flag) if flag == "--help" || flag == "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(program) => program,
    };
    let mut command = Command::new(&program);
    command.args(arguments);
    let postgres = is_unset(postgres::VARIABLE).then(postgres::Server::start);
    if let Some(server) = &postgres {
        command.env(postgres::VARIABLE, server.url());
    }
    let start = if in_memory { mongo::ReplicaSet::in_memory } else { mongo::ReplicaSet::start };
    let mongo = is_unset(mongo::VARIABLE).then(|| start(1));
    if let Some(set) = &mongo {
        command.env(mongo::VARIABLE, set.url());
    }
    match command.status() {
        // A command killed by a signal has no exit code.
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("database-servers: cannot run {}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the address of the tests' servers comes from the environment")]
fn is_unset(name: &str) -> bool {
    std::env::var_os(name).is_none_or(|value| value.is_empty())
}
