//! Tests of the whole process: its children and its memory.

use std::process::Command;

const VARIABLE: &str = "EXTRACTION_TEST_ALONE";

/// Runs `test` in a process of its own, whatever the test runner does: starts this binary again with the test `name`
/// (its path in this binary) as the only one.
#[expect(clippy::disallowed_methods, reason = "the started process learns from its environment what it is")]
pub fn alone(name: &str, test: impl Future<Output = ()>) {
    if std::env::var_os(VARIABLE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        return runtime.block_on(test);
    }
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .expect("this program starts again");
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{printed}{errors}");
    // A name that no test has passes without a test.
    assert!(output.status.success() && printed.contains("1 passed"), "{name} failed in a process of its own");
}
