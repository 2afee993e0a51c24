//! Parses a trace of `strace`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One event, in the order of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A folder was created.
    MakeFolder(PathBuf),
    /// A file was opened, and created if absent.
    MakeFile(PathBuf),
    /// A name was removed.
    Remove(PathBuf),
    /// A hard link: the second name refers to the first file.
    Link(PathBuf, PathBuf),
    /// Bytes were written to a file.
    Write {
        /// The file.
        file: PathBuf,
        /// The offset; the end of the file if `None`.
        at: Option<usize>,
        /// The data.
        bytes: Vec<u8>,
    },
    /// A file was truncated or extended.
    SetLength {
        /// The file.
        file: PathBuf,
        /// The new length in bytes.
        length: usize,
    },
    /// A file or folder was synced.
    Sync {
        /// The file or folder.
        path: PathBuf,
        /// The number of events before the sync began. Later events are not covered.
        begun: usize,
        /// Whether it covers a folder's entries: `fdatasync` guarantees content only.
        names: bool,
    },
    /// Data went to standard output or a socket: from here on, others know about it.
    Said(String),
}

impl Event {
    /// The affected path, for a link its new name; `None` for output.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Event::MakeFolder(path)
            | Event::MakeFile(path)
            | Event::Remove(path)
            | Event::Link(_, path)
            | Event::Write { file: path, .. }
            | Event::SetLength { file: path, .. }
            | Event::Sync { path, .. } => Some(path),
            Event::Said(_) => None,
        }
    }
}

/// Parses a trace of [`traced`](crate::traced): operations on files below `folder`, and output.
///
/// # Panics
/// If the trace contains an unknown line.
#[must_use]
pub fn events(trace: &str, folder: &Path) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    // The unfinished call of each thread: its text so far, and the number of events when it began.
    let mut calls: HashMap<&str, (String, usize)> = HashMap::new();
    for line in trace.lines() {
        let (thread, line) = line.split_once(' ').expect("a thread's number");
        let line = line.trim_start();
        let (call, begun) = if let Some(begin) = line.strip_suffix(" <unfinished ...>") {
            // Output counts as sent as soon as its write begins.
            match said(begin) {
                Some(said) => events.push(said),
                None => drop(calls.insert(thread, (begin.to_owned(), events.len()))),
            }
            continue;
        } else if let Some((_, end)) = line.split_once(" resumed>") {
            let Some((begin, begun)) = calls.remove(thread) else { continue };
            (begin + end, begun)
        } else {
            (line.to_owned(), events.len())
        };
        let Some((call, outcome)) = call.rsplit_once(" = ") else { continue };
        if !outcome.starts_with(['-', '?']) {
            let event = event(call, outcome, begun);
            events.extend(event.filter(|event| event.path().is_none_or(|path| path.starts_with(folder))));
        }
    }
    events
}

/// Decodes `\x2f\x61` into bytes.
fn bytes(hex: &str) -> Vec<u8> {
    let (bytes, rest) = hex.as_bytes().as_chunks::<4>();
    assert!(rest.is_empty(), "{hex:.80}");
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("\\xNN") as u8;
    bytes.iter().map(|byte| digit(byte[2]) << 4 | digit(byte[3])).collect()
}

fn path(hex: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes(hex)).expect("a path in UTF-8"))
}

/// The quoted strings.
fn quoted(arguments: &str) -> impl Iterator<Item = &str> {
    arguments.split('"').skip(1).step_by(2)
}

/// The path of a descriptor such as `3<\x2f\x61>`; `None` if it is closed.
fn descriptor(text: &str) -> PathBuf {
    text.split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'))
        .map(|(hex, _)| path(hex))
        .unwrap_or_default()
}

/// All data that a call writes, from one buffer or several.
fn written(arguments: &str) -> Vec<u8> {
    assert!(!arguments.contains("\"..."), "the trace omits the written data");
    quoted(arguments).flat_map(bytes).collect()
}

fn said(call: &str) -> Option<Event> {
    let (name, arguments) = call.split_once('(')?;
    if !matches!(name, "write" | "writev" | "sendto") {
        return None;
    }
    let is_heard = arguments.starts_with("1<")
        || descriptor(arguments).to_str().is_some_and(|name| name.starts_with("socket:"));
    is_heard.then(|| Event::Said(String::from_utf8_lossy(&written(arguments)).into_owned()))
}

fn event(call: &str, outcome: &str, begun: usize) -> Option<Event> {
    let (name, arguments) = call.trim_end().split_once('(').expect("a call");
    let arguments = arguments.trim_end_matches(')');
    let named = |number: usize| path(quoted(arguments).nth(number).expect("a name"));
    let last = || arguments.rsplit_once(", ").and_then(|(_, last)| last.parse().ok()).expect("a number");
    Some(match name {
        "mkdir" | "mkdirat" => Event::MakeFolder(named(0)),
        "openat" if arguments.contains("O_CREAT") => Event::MakeFile(descriptor(outcome)),
        "openat" => return None,
        "unlink" | "unlinkat" => Event::Remove(named(0)),
        "link" | "linkat" => Event::Link(named(0), named(1)),
        "write" | "writev" | "sendto" | "pwrite64" => match said(call) {
            Some(said) => said,
            None => {
                let mut bytes = written(arguments);
                bytes.truncate(outcome.trim().parse().expect("a length"));
                let at = (name == "pwrite64").then(last);
                Event::Write { file: descriptor(arguments), at, bytes }
            }
        },
        "ftruncate" => Event::SetLength { file: descriptor(arguments), length: last() },
        "fsync" => Event::Sync { path: descriptor(arguments), begun, names: true },
        "fdatasync" => Event::Sync { path: descriptor(arguments), begun, names: false },
        other => panic!("unknown call {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    #[test]
    fn calls_of_several_threads() {
        let (file, socket, other) = (hex("/d/a"), hex("socket:[7]"), hex("/e/b"));
        let trace = format!(
            "11 openat(AT_FDCWD<{cwd}>, \"{file}\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3<{file}>\n\
             11 openat(AT_FDCWD<{cwd}>, \"{file}\", O_RDONLY) = 3<{file}>\n\
             11 openat(AT_FDCWD<{cwd}>, \"{file}\", O_CREAT) = -1 EEXIST (File exists)\n\
             11 writev(3<{file}>, [{{iov_base=\"{one}\", iov_len=1}}, {{iov_base=\"{two}\", iov_len=2}}], 2) = 2\n\
             11 write(4<{other}>, \"{one}\", 1) = 1\n\
             11 fdatasync(3<{file}> <unfinished ...>\n\
             12  pwrite64(3<{file}>, \"{two}\", 2, 512 <unfinished ...>\n\
             12  <... pwrite64 resumed>) = 2\n\
             11 <... fdatasync resumed>) = 0\n\
             12 writev(5<{socket}>, [{{iov_base=\"{one}\", iov_len=1}}], 1 <unfinished ...>\n\
             12 <... writev resumed>) = 1\n\
             12 ftruncate(3<{file}>, 9) = 0\n\
             12 +++ exited with 0 +++\n",
            cwd = hex("/"),
            one = hex("1"),
            two = hex("22"),
        );
        let file = PathBuf::from("/d/a");
        assert_eq!(
            events(&trace, Path::new("/d")),
            [
                Event::MakeFile(file.clone()),
                Event::Write { file: file.clone(), at: None, bytes: b"12".to_vec() },
                Event::Write { file: file.clone(), at: Some(512), bytes: b"22".to_vec() },
                Event::Sync { path: file.clone(), begun: 2, names: false },
                Event::Said("1".to_owned()),
                Event::SetLength { file, length: 9 },
            ]
        );
        assert!(crate::is_complete(&trace, 12) && !crate::is_complete(&trace, 11));
    }
}
