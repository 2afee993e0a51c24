//! The server on systems that confine the processes that read documents, and on systems that do not.

use std::collections::BTreeMap;
use std::time::Duration;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::extraction::{SCHEMA, extract, send};
use super::support::{Sandbox, credentials, within};

/// Numbers of system calls, which are the same on every processor: `landlock_create_ruleset`.
const LANDLOCK: i64 = 444;
/// `prctl` and `seccomp`.
const PRCTL: i64 = if cfg!(target_arch = "x86_64") { 157 } else { 167 };
const SECCOMP: i64 = if cfg!(target_arch = "x86_64") { 317 } else { 277 };
const SET_SECCOMP: u64 = 22;
const ENOSYS: u32 = 38;

/// Takes landlock and seccomp from this thread and what it starts, as an older kernel or another runtime would.
fn without_landlock_and_seccomp(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let argument = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, SET_SECCOMP);
            let rules = BTreeMap::from([
                (LANDLOCK, Vec::new()),
                (SECCOMP, Vec::new()),
                (PRCTL, vec![SeccompRule::new(vec![argument.unwrap()]).unwrap()]),
            ]);
            let missing = SeccompAction::Errno(ENOSYS);
            let target = std::env::consts::ARCH.try_into().unwrap();
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, target).unwrap();
            let program: BpfProgram = filter.try_into().unwrap();
            seccompiler::apply_filter(&program).unwrap();
            work();
        });
        thread.join().unwrap();
    });
}

#[test]
fn documents_are_refused_where_the_system_confines_nothing() {
    let sandbox = Sandbox::new();
    let keys = credentials(&sandbox.with_key());
    let parts = [("document", "Total: 12.00"), ("schema", SCHEMA)];
    let gauge =
        |metrics: &str, value: u8| metrics.contains(&format!("\nopenapi_documents_confined {value}\n"));

    let server = sandbox.serve(&[]);
    assert_eq!(extract(&server.api, &keys, &parts).0, 200);
    assert_eq!(server.ops("/readyz"), (200, "ready\n".to_owned()));
    assert!(gauge(&server.ops("/metrics").1, 1));
    server.end();

    without_landlock_and_seccomp(|| {
        let server = sandbox.serve(&[]);
        let (status, answer) = extract(&server.api, &keys, &parts);
        assert_eq!((status, &answer["code"]), (503, &"EXTRACTION_UNAVAILABLE".into()), "{answer}");
        let (status, ready) = server.ops("/readyz");
        assert_eq!(status, 200, "all else works: {ready}");
        let line = ready.lines().nth(1).unwrap();
        assert!(line.starts_with("documents: refused: ") && line.contains("landlock, seccomp"), "{line}");
        assert!(gauge(&server.ops("/metrics").1, 0));
        server.end();
        let log = sandbox.read("stderr");
        let lines: Vec<&str> =
            log.lines().filter(|line| line.contains("allow_unconfined_documents")).collect();
        assert_eq!(lines.len(), 1, "{log}");
        assert!(lines[0].contains("landlock") && lines[0].contains("\"level\":\"error\""), "{log}");

        // Commands refuse as well, and say what to do.
        sandbox.write("a.txt", "Total: 12.00");
        let refused = sandbox.run(&["extract", "a.txt", "--example", "invoice"]).failed(1);
        assert!(refused.contains("seccomp") && refused.contains("allow_unconfined_documents"), "{refused}");
        let allow = "--allow-unconfined-documents";
        sandbox.run(&["extract", "a.txt", "--example", "invoice", allow]).done();

        let server = sandbox.serve(&[allow]);
        assert_eq!(extract(&server.api, &keys, &parts).0, 200);
        let ready = server.ops("/readyz").1;
        assert!(ready.contains("documents: read without a sandbox"), "{ready}");
        assert!(gauge(&server.ops("/metrics").1, 0), "allowed is not confined");
        server.end();
        assert!(sandbox.read("stderr").contains("documents are read without a sandbox"));
    });
}

/// A bitmap of noise whose bytes are all below 128, the header too if the side is a power of two.
fn noise(side: usize) -> String {
    let number = |value: usize| u32::try_from(value).unwrap().to_le_bytes();
    let mut bytes = b"BM".to_vec();
    for value in [54 + side * side * 3, 0, 54, 40, side, side, 0x0018_0001, 0, side * side * 3, 0, 0, 0, 0] {
        bytes.extend(number(value));
    }
    let mut state = 7_u64;
    for _ in 0..side * side {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.extend([(state >> 60) as u8 * 8; 3]);
    }
    String::from_utf8(bytes).unwrap()
}

/// What the kernel says of the children of a process with this name.
fn status_of_child(parent: u32, name: &str) -> Option<String> {
    let (name, parent) = (format!("Name:\t{name}\n"), format!("\nPPid:\t{parent}\n"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut status = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    status.find(|status| status.starts_with(&name) && status.contains(&parent))
}

#[test]
fn tesseract_is_confined_while_a_server_runs_it() {
    let sandbox = Sandbox::new();
    let keys = credentials(&sandbox.with_key());
    let server = sandbox.serve(&[]);
    // The connection stays open: a client that goes ends the extraction.
    let _sent = send(&server.api, &keys, &[("document", &noise(256)), ("schema", SCHEMA)]);
    let mut status = None;
    within(Duration::from_secs(60), "tesseract runs", || {
        status = status_of_child(server.child.id(), "tesseract");
        status.is_some()
    });
    let status = status.unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.lines().any(|found| found == line), "{line}: {status}");
    }
}
