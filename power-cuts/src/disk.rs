//! A simulated disk that loses power. Synced data survives. Of later changes any subset may survive: each write as a
//! whole, in some of its sectors or not at all; each change of a length; each folder entry until the folder itself is
//! synced. A file's content is independent of its names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use testkit::SplitMix64;

use crate::Event;

const SECTOR: usize = 512;

/// Writes to the folder `to` what remains of the folder `from` if power fails after the first `count` events. SQLite's
/// shared memory files (`-shm`) never survive.
///
/// # Panics
/// If `to` cannot be written.
pub fn after_cut(events: &[Event], count: usize, random: &mut SplitMix64, from: &Path, to: &Path) {
    let mut disk = Disk::default();
    let is_shared = |path: &Path| path.to_string_lossy().ends_with("-shm");
    for (number, event) in events[..count].iter().enumerate() {
        if !event.path().is_some_and(is_shared) {
            disk.happen(number + 1, event);
        }
    }
    disk.leave(random, from, to);
}

/// The content of one file: an inode.
#[derive(Default)]
struct Content {
    certain: Vec<u8>,
    /// Changes that no sync covers yet, each with its event number.
    later: Vec<(usize, Change)>,
    length: usize,
}

enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Change::Bytes(at, bytes) => put(content, *at, bytes),
            Change::Length(length) => content.resize(*length, 0),
        }
    }

    /// Applies the sectors that reached the disk, aligned within the file.
    fn apply_torn(&self, content: &mut Vec<u8>, random: &mut SplitMix64) {
        let Change::Bytes(at, bytes) = self else { return };
        let mut done = 0;
        while done < bytes.len() {
            let length = (SECTOR - (at + done) % SECTOR).min(bytes.len() - done);
            if random.index(2) == 0 {
                put(content, at + done, &bytes[done..done + length]);
            }
            done += length;
        }
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}

impl Content {
    fn change(&mut self, number: usize, change: Change) {
        self.length = match &change {
            Change::Bytes(at, bytes) => self.length.max(at + bytes.len()),
            Change::Length(length) => *length,
        };
        self.later.push((number, change));
    }

    fn left(&self, random: &mut SplitMix64, share: usize) -> Vec<u8> {
        let mut left = self.certain.clone();
        for (_, change) in &self.later {
            if random.index(100) < share {
                change.apply(&mut left);
            } else if share > 0 {
                change.apply_torn(&mut left, random);
            }
        }
        left
    }
}

/// What a folder entry refers to.
#[derive(Clone, Copy)]
enum Entry {
    Nothing,
    Folder,
    File(usize),
}

/// The whole disk. For each name, the versions it may refer to, with their event numbers; the first is durable.
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
            Event::Write { file, at, bytes } => {
                // Content without a name cannot be found.
                if let Some(file) = self.file(file) {
                    let content = &mut self.files[file];
                    let at = at.unwrap_or(content.length);
                    content.change(number, Change::Bytes(at, bytes.clone()));
                }
            }
            Event::SetLength { file, length } => {
                if let Some(file) = self.file(file) {
                    self.files[file].change(number, Change::Length(*length));
                }
            }
            Event::Sync { path, begun, names } => {
                self.sync_content(path, *begun);
                if *names {
                    self.sync_names(path, *begun);
                }
            }
            Event::Said(_) => {}
        }
    }

    fn sync_content(&mut self, path: &Path, begun: usize) {
        if let Some(file) = self.file(path) {
            let Content { certain, later, .. } = &mut self.files[file];
            let covered = later.iter().take_while(|(number, _)| *number <= begun).count();
            later.drain(..covered).for_each(|(_, change)| change.apply(certain));
        }
    }

    fn sync_names(&mut self, path: &Path, begun: usize) {
        for (_, history) in self.names.iter_mut().filter(|(name, _)| name.parent() == Some(path)) {
            let covered = history.iter().take_while(|(number, _)| *number <= begun).count();
            history.drain(..covered.saturating_sub(1));
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

    /// Writes what remains below `from` to the folder `to`.
    fn leave(&self, random: &mut SplitMix64, from: &Path, to: &Path) {
        // One cut in four drops every uncertain change, and one in four applies them all.
        let share = [0, 30, 70, 100][random.index(4)];
        for (name, history) in &self.names {
            let entry = if share == 0 {
                history.first()
            } else if random.index(100) < share {
                history.last()
            } else {
                history.get(random.index(history.len()))
            };
            let path = to.join(name.strip_prefix(from).expect("a name below the folder"));
            // A file is lost with its folder.
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                Some((_, Entry::Folder)) => std::fs::create_dir(path).expect("a folder"),
                Some((_, Entry::File(file))) => {
                    std::fs::write(path, self.files[*file].left(random, share)).expect("a file");
                }
                Some((_, Entry::Nothing)) | None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every content that `/d/a` may have if power fails after `count` events.
    fn left(events: &[Event], count: usize) -> BTreeSet<Option<Vec<u8>>> {
        let folder = std::env::temp_dir().join(format!("power-cuts-{}-{count}", std::process::id()));
        let mut random = SplitMix64(3);
        let found = (0..200).map(|_| {
            std::fs::create_dir(&folder).expect("a folder");
            after_cut(events, count, &mut random, Path::new("/d"), &folder);
            let content = std::fs::read(folder.join("a")).ok();
            std::fs::remove_dir_all(&folder).expect("a folder");
            content
        });
        found.collect()
    }

    #[test]
    fn only_synced_changes_are_guaranteed() {
        let (folder, file) = (PathBuf::from("/d"), PathBuf::from("/d/a"));
        let write = |bytes: &[u8]| Event::Write { file: file.clone(), at: None, bytes: bytes.to_vec() };
        let events = [
            Event::MakeFile(file.clone()),
            write(b"1"),
            Event::Sync { path: file.clone(), begun: 2, names: false },
            Event::Sync { path: folder.clone(), begun: 3, names: true },
            write(b"2"),
            Event::SetLength { file: file.clone(), length: 1 },
            // Begun before the last two.
            Event::Sync { path: file.clone(), begun: 4, names: true },
            Event::Remove(file),
            Event::Sync { path: folder.clone(), begun: 8, names: false },
            Event::Sync { path: folder, begun: 8, names: true },
        ];
        let some = |bytes: &[u8]| Some(bytes.to_vec());
        assert_eq!(left(&events, 2), BTreeSet::from([None, some(b""), some(b"1")]));
        assert_eq!(left(&events, 3), BTreeSet::from([None, some(b"1")]), "its name is not synced");
        assert_eq!(left(&events, 4), BTreeSet::from([some(b"1")]));
        assert_eq!(left(&events, 7), BTreeSet::from([some(b"1"), some(b"12")]));
        assert_eq!(left(&events, 8), BTreeSet::from([None, some(b"1"), some(b"12")]));
        assert_eq!(left(&events, 9), left(&events, 8), "of content only");
        assert_eq!(left(&events, 10), BTreeSet::from([None]));
    }
}
