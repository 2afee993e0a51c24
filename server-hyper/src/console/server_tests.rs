//! Callers of every kind: disconnected, silent, flooding, of another version, too many.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::client::{self, Outcome};
use super::super::frames::Hello;
use super::*;

fn hello(program: &str) -> Hello {
    let caller = CallerFacts {
        operator: "tester".to_owned(),
        is_output_terminal: false,
        is_error_terminal: false,
        locale: String::new(),
        os_user: None,
    };
    Hello { program: program.to_owned(), arguments: vec!["openapi-server".into()], caller }
}

/// Calls from a separate thread, as a process does.
fn called(socket: &Path, program: &str) -> Option<Outcome> {
    std::thread::scope(|scope| scope.spawn(|| client::run(socket, hello(program)).unwrap()).join().unwrap())
}

/// A console in a folder of its own, and a caller that has said hello.
struct Set {
    folder: tempfile::TempDir,
    console: Console,
}

impl Set {
    fn new(run: impl Fn(&RemoteCaller) -> u8 + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = Box::new(move |_: Vec<OsString>, session| run(&RemoteCaller(session)));
        let console = Console::listen(folder.path().join("console"), run).unwrap();
        Set { folder, console }
    }

    fn call(&self) -> UnixStream {
        let mut stream = UnixStream::connect(self.folder.path().join("console")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Frame::Hello(hello(PROGRAM)).write(&mut stream).unwrap();
        stream
    }

    fn running(&self) -> usize {
        self.console.shared.sessions.lock().len()
    }
}

#[track_caller]
fn within(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = monotonic();
    while !condition() {
        assert!(monotonic().duration_since(begun) < Duration::from_secs(10), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn commands_are_for_the_user_of_the_server_and_for_root() {
    for (peer, own, expected) in
        [(1_000, 1_000, true), (0, 1_000, true), (0, 0, true), (1_001, 1_000, false), (1_000, 0, false)]
    {
        assert_eq!(is_permitted(peer, own), expected, "{peer} {own}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_socket_is_replaced_and_only_its_owner_may_use_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("console");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(called(&socket, PROGRAM).is_none(), "nobody listens");
    let console = Console::listen(socket.clone(), Box::new(|_, _| 7)).unwrap();
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let ran = called(&socket, PROGRAM);
    assert!(matches!(ran, Some(Outcome::Exited(7))), "{ran:?}");
    drop(console);
    assert!(!socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_ends_its_command() {
    let ended = Arc::new(AtomicUsize::new(0));
    let (counter, runtime) = (Arc::clone(&ended), tokio::runtime::Handle::current());
    let set = Set::new(move |caller| {
        runtime.block_on(caller.gone()).unwrap();
        let written = caller.write(Stream::Output, b"to nobody").unwrap_err();
        assert_eq!(written.kind(), io::ErrorKind::BrokenPipe);
        counter.fetch_add(1, Ordering::SeqCst);
        0
    });
    let callers = [set.call(), set.call()];
    within("both run", || set.running() == 2);
    drop(callers);
    within("both have ended", || ended.load(Ordering::SeqCst) == 2 && set.running() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_reads_slowly_holds_the_command_back() {
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let set = Set::new(move |caller| {
        while caller.write(Stream::Output, &[b'x'; MAX_CHUNK]).is_ok() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        0
    });
    let mut stream = set.call();
    for read in 0..3 {
        assert!(matches!(Frame::read(&mut stream).unwrap(), Some(Frame::Write(STDOUT, _))));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(
            written.load(Ordering::SeqCst),
            read,
            "no chunk is written before the last one was accepted"
        );
        Frame::Reply(Reply::Done).write(&mut stream).unwrap();
    }
    drop(stream);
    within("it has ended", || set.running() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_breaks_the_protocol_is_cut_off() {
    let set = Set::new(|caller| {
        while caller.write(Stream::Output, b"x").is_ok() {}
        0
    });
    let replies = |count: usize| {
        let mut bytes = Vec::new();
        (0..count).for_each(|_| Frame::Reply(Reply::Done).write(&mut bytes).unwrap());
        bytes
    };
    for sent in [replies(10_000), b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![0xff; 5]] {
        let mut stream = set.call();
        // It may be cut off before everything is sent.
        let _ = stream.write_all(&sent);
        while let Ok(Some(frame)) = Frame::read(&mut stream) {
            assert!(matches!(frame, Frame::Write(..) | Frame::Exit(0)), "{frame:?}");
        }
        within("it is cut off", || set.running() == 0);
    }
    // The first thing that is said, too.
    let mut stream = UnixStream::connect(set.folder.path().join("console")).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(!matches!(Frame::read(&mut stream), Ok(Some(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_bounded_and_refused_while_the_server_drains() {
    let runtime = tokio::runtime::Handle::current();
    let set = Set::new(move |caller| {
        runtime.block_on(caller.gone()).unwrap();
        0
    });
    let socket = set.folder.path().join("console");
    let callers: Vec<UnixStream> = (0..MAX_SESSIONS).map(|_| set.call()).collect();
    within("all run", || set.running() == MAX_SESSIONS);
    let refused = |program| match called(&socket, program) {
        Some(Outcome::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(PROGRAM), Refusal::Busy);
    assert_eq!(refused("0.0.1/1"), Refusal::Program(PROGRAM.to_owned()));
    set.console.begin_drain();
    assert_eq!(refused(PROGRAM), Refusal::Draining);
    assert_eq!(set.running(), MAX_SESSIONS, "those that run may end");
    let begun = monotonic();
    let Set { folder: _folder, console } = set;
    console.drain(begun + Duration::from_millis(100)).await;
    assert!(monotonic().duration_since(begun) < Duration::from_secs(5));
    drop(callers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_a_command_is_its_own() {
    let set = Set::new(|_| panic!("expected by the test"));
    let socket = set.folder.path().join("console");
    for _ in 0..2 {
        let ran = called(&socket, PROGRAM);
        assert!(matches!(ran, Some(Outcome::Exited(101))), "{ran:?}");
    }
    assert_eq!(set.running(), 0);
}
