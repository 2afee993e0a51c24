//! A disk whose power is cut: what a process did to its files, read from a trace of its system calls, and what could be
//! found of it at a moment later on.
//!
//! What a sync covered is there. Of what came behind it any part may be: each write or none of it, or some sectors of it;
//! each change of a length; each change of a folder until the folder itself was synced.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::support::Dice;

const SECTOR: usize = 512;

/// One thing that happened, in the order of the trace.
#[derive(Debug)]
pub(super) enum Event {
    MakeFolder(PathBuf),
    MakeFile(PathBuf),
    Remove(PathBuf),
    Write {
        file: PathBuf,
        at: usize,
        bytes: Vec<u8>,
    },
    SetLength {
        file: PathBuf,
        length: usize,
    },
    /// A sync that covers the first `begun` events.
    Sync {
        path: PathBuf,
        begun: usize,
    },
    /// A line written to standard output.
    Said(String),
}

fn text(hex: &str) -> Vec<u8> {
    let (octets, rest) = hex.as_bytes().as_chunks::<4>();
    assert!(rest.is_empty(), "{hex:.80}");
    octets
        .iter()
        .map(|octet| u8::from_str_radix(std::str::from_utf8(&octet[2..]).unwrap(), 16).expect("\\xNN"))
        .collect()
}

fn path(hex: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(text(hex)).unwrap())
}

/// What lies between two marks.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {text:.200}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} in {text:.200}")).0
}

impl Event {
    fn path(&self) -> Option<&Path> {
        match self {
            Event::MakeFolder(path)
            | Event::MakeFile(path)
            | Event::Remove(path)
            | Event::Write { file: path, .. }
            | Event::SetLength { file: path, .. }
            | Event::Sync { path, .. } => Some(path),
            Event::Said(_) => None,
        }
    }
}

/// Reads a trace of `strace -f -y -xx`, as far as it is about files below `folder` or standard output.
pub(super) fn events(trace: &str, folder: &Path) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    // Of each thread the call that it is in: its text so far, and how many events there were when it began.
    let mut calls: HashMap<&str, (String, usize)> = HashMap::new();
    for line in trace.lines() {
        let (thread, line) = line.split_once(' ').expect("a thread's number");
        let line = line.trim_start();
        let (call, begun) = if let Some(begin) = line.strip_suffix(" <unfinished ...>") {
            if let Some(said) = said(begin) {
                events.push(said);
            } else {
                calls.insert(thread, (begin.to_owned(), events.len()));
            }
            continue;
        } else if let Some((_, end)) = line.split_once(" resumed>") {
            let Some((begin, begun)) = calls.remove(thread) else { continue };
            (begin + end, begun)
        } else {
            (line.to_owned(), events.len())
        };
        let Some((call, outcome)) = call.rsplit_once(" = ") else { continue };
        if !outcome.starts_with('-') {
            let event = event(call, outcome, begun);
            events.extend(event.filter(|event| event.path().is_none_or(|path| path.starts_with(folder))));
        }
    }
    events
}

/// A line of standard output, which is out as soon as its writing begins.
fn said(call: &str) -> Option<Event> {
    let bytes = call.strip_prefix("write(1<")?;
    Some(Event::Said(String::from_utf8_lossy(&text(between(bytes, ", \"", "\""))).into_owned()))
}

fn event(call: &str, outcome: &str, begun: usize) -> Option<Event> {
    let (name, arguments) = call.trim_end().split_once('(').expect("a call");
    let arguments = arguments.trim_end_matches(')');
    let opened = || path(between(arguments, "<", ">"));
    let named = || path(between(arguments, "\"", "\""));
    let last = || arguments.rsplit_once(", ").and_then(|(_, last)| last.parse::<usize>().ok());
    Some(match name {
        "mkdir" => Event::MakeFolder(named()),
        "openat" if arguments.contains("O_CREAT") => Event::MakeFile(path(between(outcome, "<", ">"))),
        "openat" => return None,
        "unlink" => Event::Remove(named()),
        "write" => return said(call),
        "pwrite64" => {
            assert!(!arguments.contains("\"..."), "the trace leaves out what was written");
            let bytes = text(between(arguments, ", \"", "\""));
            assert_eq!(outcome.parse(), Ok(bytes.len()), "a short write");
            Event::Write { file: opened(), at: last().expect("an offset"), bytes }
        }
        "ftruncate" => Event::SetLength { file: opened(), length: last().expect("a length") },
        "fsync" | "fdatasync" => Event::Sync { path: opened(), begun },
        other => panic!("nothing is known of {other}"),
    })
}

/// The contents of one file: an inode.
#[derive(Default)]
struct Contents {
    certain: Vec<u8>,
    /// Changes that no sync covers yet, each with the number of its event.
    later: Vec<(usize, Change)>,
}

enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Change::Bytes(at, bytes) => {
                let end = at + bytes.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[*at..end].copy_from_slice(bytes);
            }
            Change::Length(length) => contents.resize(*length, 0),
        }
    }

    /// The sectors of a write that reached the disk, those aligned in the file.
    fn torn(&self, dice: &mut Dice) -> Vec<Change> {
        let Change::Bytes(at, bytes) = self else { return Vec::new() };
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < bytes.len() {
            let length = (SECTOR - (at + done) % SECTOR).min(bytes.len() - done);
            if dice.one_in(2) {
                pieces.push(Change::Bytes(at + done, bytes[done..done + length].to_vec()));
            }
            done += length;
        }
        pieces
    }
}

/// What is in a folder under a name.
#[derive(Clone, Copy)]
enum Entry {
    Nothing,
    Folder,
    File(usize),
}

/// What a name stood for, one thing behind another with the number of the event; the first is certain.
type History = Vec<(usize, Entry)>;

/// Everything on the disk.
#[derive(Default)]
struct Disk {
    names: BTreeMap<PathBuf, History>,
    files: Vec<Contents>,
}

impl Disk {
    fn happen(&mut self, number: usize, event: &Event) {
        match event {
            Event::MakeFolder(path) => self.name(number, path, Entry::Folder),
            Event::MakeFile(path) => {
                if self.file(path).is_none() {
                    self.files.push(Contents::default());
                    self.name(number, path, Entry::File(self.files.len() - 1));
                }
            }
            Event::Remove(path) => self.name(number, path, Entry::Nothing),
            Event::Write { file, at, bytes } => {
                self.change(number, file, Change::Bytes(*at, bytes.clone()));
            }
            Event::SetLength { file, length } => self.change(number, file, Change::Length(*length)),
            Event::Sync { path, begun } => {
                if let Some(file) = self.file(path) {
                    let Contents { certain, later } = &mut self.files[file];
                    let covered = later.iter().take_while(|(number, _)| number <= begun).count();
                    later.drain(..covered).for_each(|(_, change)| change.apply(certain));
                }
                for (_, history) in self.names.iter_mut().filter(|(name, _)| name.parent() == Some(path)) {
                    let covered = history.iter().take_while(|(number, _)| number <= begun).count();
                    history.drain(..covered.saturating_sub(1));
                }
            }
            Event::Said(_) => {}
        }
    }

    fn name(&mut self, number: usize, path: &Path, entry: Entry) {
        self.names.entry(path.to_owned()).or_insert_with(|| vec![(0, Entry::Nothing)]).push((number, entry));
    }

    fn file(&self, path: &Path) -> Option<usize> {
        match self.names.get(path)?.last()? {
            (_, Entry::File(file)) => Some(*file),
            _ => None,
        }
    }

    fn change(&mut self, number: usize, path: &Path, change: Change) {
        // What is changed has been made, or lies under a name that is gone already.
        if let Some(file) = self.file(path) {
            self.files[file].later.push((number, change));
        }
    }

    /// Writes what is left of everything below `from` to the folder `to`.
    fn leave(&self, dice: &mut Dice, from: &Path, to: &Path) {
        // In one cut of four nothing uncertain is left, in one all of it.
        let share = dice.pick(&[0, 30, 70, 100]);
        for (name, history) in &self.names {
            let keeps_up = dice.below(100) < share;
            let entry = if keeps_up {
                history.last()
            } else {
                history.get(dice.below(history.len() as u64) as usize)
            };
            let entry = if share == 0 { history.first() } else { entry };
            let path = to.join(name.strip_prefix(from).unwrap());
            // Without its folder nothing is left of a file.
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                Some((_, Entry::Folder)) => std::fs::create_dir(path).unwrap(),
                Some((_, Entry::File(file))) => {
                    let contents = &self.files[*file];
                    let mut left = contents.certain.clone();
                    for (_, change) in &contents.later {
                        if dice.below(100) < share {
                            change.apply(&mut left);
                        } else if share > 0 {
                            change.torn(dice).iter().for_each(|piece| piece.apply(&mut left));
                        }
                    }
                    std::fs::write(path, left).unwrap();
                }
                Some((_, Entry::Nothing)) | None => {}
            }
        }
    }
}

/// Puts into `to` what is left of `from` when the power is cut behind the first `count` events.
pub(super) fn after_cut(events: &[Event], count: usize, dice: &mut Dice, from: &Path, to: &Path) {
    let mut disk = Disk::default();
    for (number, event) in events[..count].iter().enumerate() {
        // The memory that processes share about the log is nothing that outlives them.
        let is_shared = |path: &Path| path.to_string_lossy().ends_with("-shm");
        match event {
            Event::MakeFile(path) | Event::Write { file: path, .. } | Event::SetLength { file: path, .. }
                if is_shared(path) => {}
            _ => disk.happen(number + 1, event),
        }
    }
    disk.leave(dice, from, to);
}
