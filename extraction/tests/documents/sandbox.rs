//! The sandboxes of the worker and of the OCR engine, on a system that has what they need and on one that lacks it.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use extraction::document::Limits;
use extraction::document::ocr::{OcrEngine, OcrError, Raster, Stop, Tesseract, TesseractError};
use extraction::worker::{Worker, WorkerError};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::files::scan;
use crate::worker::PROGRAM;

/// Starts a program as the OCR engine is started, and gives what became of it.
fn confined(may_miss: &str, models: &str, program: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(["extraction-ocr", may_miss, models, program])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdin.take());
    child.wait_with_output().expect("it ends")
}

/// Takes landlock and seccomp, or one of them, from this thread and what it starts, as an older kernel would.
fn lack(landlock: bool, seccomp: bool) {
    let mut rules = std::collections::BTreeMap::new();
    if landlock {
        rules.insert(libc::SYS_landlock_create_ruleset, Vec::new());
    }
    if seccomp {
        rules.insert(libc::SYS_seccomp, Vec::new());
        let set = libc::PR_SET_SECCOMP as u64;
        let set =
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, set).expect("a condition");
        rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![set]).expect("a rule")]);
    }
    let target = std::env::consts::ARCH.try_into().expect("a known processor");
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, target).expect("a filter");
    let program: seccompiler::BpfProgram = filter.try_into().expect("a program");
    seccompiler::apply_filter(&program).expect("it is applied");
}

/// A thread of its own for what cannot be undone.
fn on_a_thread(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(work).join().expect("it does not panic"));
}

fn blocking<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

#[test]
fn where_the_system_lacks_any_part_nothing_is_read() {
    for (landlock, seccomp) in [(true, false), (false, true), (true, true)] {
        on_a_thread(|| {
            lack(landlock, seccomp);
            let read = |worker: Worker| blocking(worker.read(b"Total: 1", Limits::default(), None));
            let refused = read(Worker::at(PROGRAM)).expect_err("it is not confined");
            let WorkerError::Unconfined(sandbox) = &refused else { panic!("{refused:?}") };
            assert_eq!((sandbox.landlock, sandbox.seccomp), (!landlock, !seccomp));
            assert_eq!(refused.to_string().contains("landlock"), landlock, "{refused}");
            assert_eq!(refused.to_string().contains("seccomp"), seccomp, "{refused}");
            let read = read(Worker::at(PROGRAM).allow_unconfined(true)).expect("the host has said so");
            assert_eq!(read.pages.len(), 1);

            let engine = Worker::at(PROGRAM).confine(Tesseract::default());
            let Err(TesseractError::Unconfined(why)) = engine.check() else { panic!("it starts") };
            assert_eq!((why.contains("landlock"), why.contains("seccomp")), (landlock, seccomp), "{why}");
            let raster = Raster { width: 40, height: 40, dpi: 300.0, pixels: vec![255; 1600] };
            assert_eq!(engine.words(&raster, &Stop::default()), Err(OcrError::Unavailable));
            let output = confined("anyhow", "", "/bin/echo", &["it starts"]);
            assert_eq!(output.stdout, b"it starts\n", "{output:?}");
        });
    }
}

/// Perl stands for an engine that a hostile image has taken over: it can do what any program can.
#[test]
fn an_engine_that_is_taken_over_reaches_nothing_but_its_own() {
    let folder = std::env::temp_dir().join(format!("extraction-sandbox-{}", std::process::id()));
    let models = folder.join("models");
    std::fs::create_dir_all(&models).expect("a folder");
    std::fs::write(folder.join("server-keys"), "secret").expect("a file");
    std::fs::write(models.join("eng.traineddata"), "model").expect("a file");
    let (shown, number) =
        (folder.display().to_string(), if cfg!(target_arch = "x86_64") { 234 } else { 131 });
    let script = format!(
        r#"
        sub said {{ print "$_[0]: ", ($_[1] ? "yes" : "no"), "\n" }}
        $| = 1;
        said("model", open(F, "<", "{shown}/models/eng.traineddata"));
        said("library", opendir(D, "/usr/lib"));
        said("own signal", syscall({number}, $$ + 0, $$ + 0, 0) == 0);
        said("key", open(F, "<", "{shown}/server-keys"));
        said("passwd", open(F, "<", "/etc/passwd"));
        said("environment", open(F, "<", "/proc/" . getppid() . "/environ"));
        said("write model", open(F, ">", "{shown}/models/eng.traineddata"));
        said("write file", open(F, ">", "{shown}/written"));
        said("remove", unlink("{shown}/models/eng.traineddata"));
        said("socket", socket(S, 2, 1, 0));
        said("local socket", socket(S, 1, 1, 0));
        said("process", defined(fork()));
        said("kill", kill("CONT", getppid()));
        said("signal to the parent", syscall({number}, getppid(), getppid(), 0) == 0);
        said("owner of a stream", syscall({fcntl}, 1, 8, getppid()) == 0);
        exec("/bin/sh", "-c", "echo a shell");
        said("shell", 0);
        "#,
        fcntl = libc::SYS_fcntl,
    );
    let file = models.join("script");
    std::fs::write(&file, script).expect("a file");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let output = confined("confined", &path(&models), "perl", &[&path(&file)]);
    let model = std::fs::read_to_string(models.join("eng.traineddata"));
    let written = folder.join("written").exists();
    std::fs::remove_dir_all(&folder).expect("it is removed");
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    let (allowed, refused) = lines.split_at(lines.len().min(3));
    assert_eq!(allowed, ["model: yes", "library: yes", "own signal: yes"], "{output:?}");
    assert_eq!(refused.len(), 13, "{output:?}");
    assert!(refused.iter().all(|line| line.ends_with(": no")), "{refused:#?}");
    assert_eq!((model.expect("it is there").as_str(), written), ("model", false));
}

/// The kernel's word about the real engine while it works.
#[test]
fn tesseract_works_and_is_confined() {
    let engine = Worker::at(PROGRAM).confine(Tesseract::default());
    engine.check().expect("tesseract is installed, and this system can confine it");
    let document = scan(&["Invoice number RE-2043"]);
    let read = blocking(async {
        let worker = Worker::at(PROGRAM).with_timeout(Duration::from_secs(60));
        worker.read(&document, Limits::default(), Some(Arc::new(engine.clone()))).await
    });
    let words = crate::lines(&read.expect("it is read")).join(" ");
    assert!(words.contains("RE-2043"), "{words}");

    // Noise keeps it busy.
    let pixels =
        (0..1_500_u64 * 1_500).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    let raster = Raster { width: 1_500, height: 1_500, dpi: 300.0, pixels };
    let stop = Stop::default();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| engine.words(&raster, &stop));
        let status = status_of_child("tesseract");
        stop.stop();
        let _ = work.join();
        let status = status.expect("it runs");
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.lines().any(|found| found == line), "{line}: {status}");
        }
    });
}

/// What the kernel says of a child of this process, as soon as it has become this program.
fn status_of_child(name: &str) -> Option<String> {
    let parent = format!("PPid:\t{}", std::process::id());
    for _ in 0..4_000 {
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else { continue };
            if status.starts_with(&format!("Name:\t{name}\n")) && status.lines().any(|line| line == parent) {
                return Some(status);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

#[test]
fn a_program_that_is_not_there_or_none_is_said_so() {
    assert_eq!(confined("confined", "", "no-such-program", &[]).status.code(), Some(127));
    assert_eq!(confined("confined", "", "/etc/passwd", &[]).status.code(), Some(126));
    let engine = Worker::at(PROGRAM).confine(Tesseract::new(Path::new("/etc/passwd"), &["eng"]));
    assert_eq!(engine.check(), Err(TesseractError::NotInstalled));
}
