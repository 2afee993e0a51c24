//! The servers start, survive a kill and clean up.

use std::net::TcpStream;
use std::process::Command;

use database_servers::mongo::ReplicaSet;
use database_servers::postgres::Server;

/// Whether something listens at a URL; for a replica set, at its first address.
fn listens(url: &str) -> bool {
    let address =
        url.split_once("://").and_then(|(_, rest)| rest.split(['/', ',']).next()).unwrap_or_default();
    let address = address.rsplit('@').next().unwrap_or_default();
    TcpStream::connect(address).is_ok()
}

/// The processes of a killed server hold its listener for a moment longer than the server.
fn is_silent(url: &str) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        !listens(url)
    })
}

#[test]
fn a_killed_postgres_comes_back() {
    let mut server = Server::start();
    let url = server.url();
    assert!(listens(&url));
    server.kill();
    assert!(is_silent(&url));
    server.start_again();
    assert!(listens(&url));
    server.stop();
    assert!(is_silent(&url));
    server.start_again();
    drop(server);
    assert!(is_silent(&url));
}

#[test]
fn a_replica_set_elects_another_primary() {
    let mut set = ReplicaSet::start(3);
    let first = set.primary();
    set.kill(first);
    let second = set.primary();
    assert_ne!(first, second);
    set.start_again(first);
    let url = set.url();
    drop(set);
    assert!(!listens(&url));
}

#[test]
fn a_command_receives_both_server_urls() {
    let output = Command::new(env!("CARGO_BIN_EXE_database-servers"))
        .args(["sh", "-c", "echo $TEST_POSTGRES_URL $TEST_MONGODB_URL; exit 7"])
        .env_remove("TEST_POSTGRES_URL")
        .env("TEST_MONGODB_URL", "mongodb://192.0.2.1/")
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8(output.stdout).expect("URLs are text");
    let (postgres, mongo) = said.trim().split_once(' ').expect("two URLs");
    assert!(postgres.starts_with("postgres://postgres@127.0.0.1:"), "{said}");
    assert_eq!(mongo, "mongodb://192.0.2.1/", "a server that is given is used");
    assert!(!listens(postgres), "it is stopped with the command");
}

/// A runner that is killed cannot clean up; the next one does it.
#[test]
fn data_in_memory_of_a_killed_runner_is_removed_by_the_next() {
    let folders = || {
        let all = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        all.map(|entry| entry.path())
            .filter(|path| path.join("data/mongod.lock").exists())
            .collect::<Vec<_>>()
    };
    let before = folders();
    let run = |script: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_database-servers"));
        command.args(["--in-memory", "sh", "-c", script]);
        command.env("TEST_POSTGRES_URL", "postgres://192.0.2.1/").env_remove("TEST_MONGODB_URL");
        command.output().unwrap()
    };
    assert!(!run("kill -KILL $PPID").status.success());
    // The server ends a moment after the runner.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let left: Vec<_> = folders().into_iter().filter(|path| !before.contains(path)).collect();
    if left.is_empty() {
        println!("/dev/shm has too little room, so the data was on the disk");
    }
    let output = run("echo $TEST_MONGODB_URL; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("mongodb://127.0.0.1:"));
    assert!(left.iter().all(|path| !path.exists()), "{left:?}");
}
