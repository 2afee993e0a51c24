//! An embedded call makes system calls for memory only. `src/bin/embedded.rs` is traced.
//!
//! Reading the clock or the environment makes no system call: `disallowed-methods` in `openapi-core/clippy.toml`
//! forbids both, as well as threads, files and sockets.

use std::collections::BTreeMap;
use std::process::Command;

/// Memory for the host's allocator.
const MEMORY: [&str; 6] = ["brk", "madvise", "mmap", "mprotect", "mremap", "munmap"];

/// A host run, traced between its marks.
struct Traced {
    /// Its system calls, each with its line.
    calls: Vec<(String, String)>,
    output: String,
    /// The host's exit status.
    code: Option<i32>,
}

fn trace(arguments: &[&str]) -> Traced {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("embedded-{}.trace", arguments.join("-")));
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&file).arg(env!("CARGO_BIN_EXE_embedded")).args(arguments);
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{error}: install strace: apt-get install --yes strace"));
    let text = std::fs::read_to_string(&file).expect("a trace");
    let is_mark = |line: &str, name: &str| line.contains(&format!("\"/embedded-calls-{name}\""));
    let begin = text.lines().position(|line| is_mark(line, "begin")).expect("the first mark");
    let end = text.lines().position(|line| is_mark(line, "end")).expect("the second mark");
    let calls = text.lines().take(end).skip(begin + 1).map(|line| {
        // `1234 brk(NULL) = 0x5000`, `1234 <... brk resumed>) = 0`, `1234 +++ exited with 0 +++`
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let name: String = call.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        (name, line.to_owned())
    });
    Traced {
        calls: calls.collect(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        code: output.status.code(),
    }
}

impl Traced {
    /// The calls that do not concern memory.
    fn foreign(&self) -> Vec<&str> {
        let is_seed = |name: &str, line: &str| {
            // The seed of std's hash maps, drawn by the first user on each thread.
            name == "getrandom" && line.contains(", 16, GRND_INSECURE) = 16")
        };
        let seeds = self.calls.iter().filter(|(name, line)| is_seed(name, line)).count();
        let foreign = self.calls.iter().filter(|(name, line)| {
            let is_memory =
                MEMORY.contains(&name.as_str()) && (name != "mmap" || line.contains("MAP_ANONYMOUS"));
            !is_memory && (seeds != 1 || !is_seed(name, line))
        });
        foreign.map(|(_, line)| line.as_str()).collect()
    }
}

#[test]
fn embedded_calls_make_only_memory_system_calls() {
    let traced = trace(&[]);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, _) in &traced.calls {
        *counts.entry(name).or_default() += 1;
    }
    println!("{}: {counts:?}", traced.output.trim());
    let calls: u32 = traced.output.split(' ').next().and_then(|calls| calls.parse().ok()).unwrap_or_default();
    assert!(calls >= 45, "only {}", traced.output);
    assert_eq!(traced.foreign(), [""; 0]);
    assert!(counts.contains_key("brk") || counts.contains_key("mmap"), "nothing was traced");
    // 3: a panic of the library; 4: a subscriber for all threads; 5: another panic hook.
    assert_eq!(traced.code, Some(0));
}

/// The trace shows forbidden system calls.
#[test]
fn forbidden_system_calls_are_detected() {
    for fault in ["file", "thread", "socket", "process", "wait", "output"] {
        let traced = trace(&[fault]);
        assert!(!traced.foreign().is_empty(), "{fault} is not seen");
        println!("{fault}: {}", traced.foreign()[0]);
    }
    for (fault, code) in [("panic", 3), ("subscriber", 4), ("hook", 5)] {
        assert_eq!(trace(&[fault]).code, Some(code), "{fault}");
    }
}
