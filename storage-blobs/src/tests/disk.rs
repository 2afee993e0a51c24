//! A disk whose power is cut: what a process did to its files, read from a trace of its system calls, and what could be
//! found of it at a moment later on.
//!
//! What a sync covered is there. Of what came behind it any part may be: each write, some sectors of it or nothing; each
//! change of a folder until the folder itself was synced. A file has its content whatever its names are.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const SECTOR: usize = 512;

/// Numbers that look drawn and are the same each time.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % sides as u64) as usize
    }
}

/// One thing that happened, in the order of the trace.
#[derive(Debug)]
pub(super) enum Event {
    MakeFolder(PathBuf),
    MakeFile(PathBuf),
    Remove(PathBuf),
    Link(PathBuf, PathBuf),
    /// What was written behind the end of a file.
    Write(PathBuf, Vec<u8>),
    /// A sync that covers the first so many events.
    Sync(PathBuf, usize),
    /// A line written to standard output.
    Said(String),
}

impl Event {
    fn path(&self) -> Option<&Path> {
        match self {
            Event::MakeFolder(path)
            | Event::MakeFile(path)
            | Event::Remove(path)
            | Event::Link(_, path)
            | Event::Write(path, _)
            | Event::Sync(path, _) => Some(path),
            Event::Said(_) => None,
        }
    }
}

fn octets(hex: &str) -> Vec<u8> {
    let (octets, rest) = hex.as_bytes().as_chunks::<4>();
    assert!(rest.is_empty(), "{hex:.80}");
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("\\xNN") as u8;
    octets.iter().map(|octet| digit(octet[2]) << 4 | digit(octet[3])).collect()
}

fn path(hex: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(octets(hex)).unwrap())
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
            // A line is out as soon as its writing begins.
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
        if !outcome.starts_with('-') {
            let event = event(call, outcome, begun);
            events.extend(event.filter(|event| event.path().is_none_or(|path| path.starts_with(folder))));
        }
    }
    events
}

fn said(call: &str) -> Option<Event> {
    let bytes = call.strip_prefix("write(1<")?;
    let text = bytes.split('"').nth(1).expect("what was written");
    Some(Event::Said(String::from_utf8_lossy(&octets(text)).into_owned()))
}

fn event(call: &str, outcome: &str, begun: usize) -> Option<Event> {
    let (name, arguments) = call.trim_end().split_once('(').expect("a call");
    let between_angles = |text: &str| path(text.split_once('<').expect("<").1.split('>').next().expect(">"));
    let named = |number: usize| path(arguments.split('"').nth(number * 2 + 1).expect("a name"));
    Some(match name {
        "mkdir" | "mkdirat" => Event::MakeFolder(named(0)),
        "openat" if arguments.contains("O_CREAT") => Event::MakeFile(between_angles(outcome)),
        "openat" => return None,
        "unlink" | "unlinkat" => Event::Remove(named(0)),
        "link" | "linkat" => Event::Link(named(0), named(1)),
        "write" => match said(call) {
            Some(said) => said,
            None => {
                assert!(!arguments.contains("\"..."), "the trace leaves out what was written");
                let mut bytes = octets(arguments.split('"').nth(1).expect("what was written"));
                bytes.truncate(outcome.trim().parse().expect("a length"));
                Event::Write(between_angles(arguments), bytes)
            }
        },
        "fsync" | "fdatasync" => Event::Sync(between_angles(arguments), begun),
        other => panic!("nothing is known of {other}"),
    })
}

/// The content of one file: an inode.
#[derive(Default)]
struct Content {
    certain: Vec<u8>,
    /// What no sync covers yet: the number of its event, its place, and the octets.
    later: Vec<(usize, usize, Vec<u8>)>,
    length: usize,
}

fn put(octets: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if octets.len() < end {
        octets.resize(end, 0);
    }
    octets[at..end].copy_from_slice(bytes);
}

/// What is in a folder under a name.
#[derive(Clone, Copy)]
enum Entry {
    Nothing,
    Folder,
    File(usize),
}

/// Everything on the disk. Of each name what it stood for, with the number of the event; the first is certain.
#[derive(Default)]
struct Disk {
    names: BTreeMap<PathBuf, Vec<(usize, Entry)>>,
    files: Vec<Content>,
}

impl Disk {
    fn happen(&mut self, number: usize, event: &Event) {
        match event {
            Event::MakeFolder(path) => self.name(number, path, Entry::Folder),
            Event::MakeFile(path) => {
                if self.file(path).is_none() {
                    self.files.push(Content::default());
                    self.name(number, path, Entry::File(self.files.len() - 1));
                }
            }
            Event::Remove(path) => self.name(number, path, Entry::Nothing),
            Event::Link(from, to) => {
                let file = self.file(from).expect("a file to be linked");
                self.name(number, to, Entry::File(file));
            }
            Event::Write(path, bytes) => {
                // What has no name any more will be found by nobody.
                if let Some(file) = self.file(path) {
                    let content = &mut self.files[file];
                    content.later.push((number, content.length, bytes.clone()));
                    content.length += bytes.len();
                }
            }
            Event::Sync(path, begun) => {
                if let Some(file) = self.file(path) {
                    let Content { certain, later, .. } = &mut self.files[file];
                    let covered = later.iter().take_while(|(number, ..)| number <= begun).count();
                    later.drain(..covered).for_each(|(_, at, bytes)| put(certain, at, &bytes));
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

    /// Writes what is left of everything below `from` to the folder `to`.
    fn leave(&self, dice: &mut Dice, from: &Path, to: &Path) {
        // In one cut of four nothing uncertain is left, in one all of it.
        let share = [0, 30, 70, 100][dice.below(4)];
        for (name, history) in &self.names {
            let entry = if share == 0 {
                history.first()
            } else if dice.below(100) < share {
                history.last()
            } else {
                history.get(dice.below(history.len()))
            };
            let path = to.join(name.strip_prefix(from).unwrap());
            // Without its folder nothing is left of a file.
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                Some((_, Entry::Folder)) => std::fs::create_dir(path).unwrap(),
                Some((_, Entry::File(file))) => {
                    std::fs::write(path, self.files[*file].left(dice, share)).unwrap();
                }
                Some((_, Entry::Nothing)) | None => {}
            }
        }
    }
}

impl Content {
    fn left(&self, dice: &mut Dice, share: usize) -> Vec<u8> {
        let mut left = self.certain.clone();
        for (_, at, bytes) in &self.later {
            if dice.below(100) < share {
                put(&mut left, *at, bytes);
            } else if share > 0 {
                let mut done = 0;
                while done < bytes.len() {
                    let length = (SECTOR - (at + done) % SECTOR).min(bytes.len() - done);
                    if dice.below(2) == 0 {
                        put(&mut left, at + done, &bytes[done..done + length]);
                    }
                    done += length;
                }
            }
        }
        left
    }
}

/// Puts into `to` what is left of `from` when the power is cut behind the first `count` events.
pub(super) fn after_cut(events: &[Event], count: usize, dice: &mut Dice, from: &Path, to: &Path) {
    let mut disk = Disk::default();
    for (number, event) in events[..count].iter().enumerate() {
        disk.happen(number + 1, event);
    }
    disk.leave(dice, from, to);
}
