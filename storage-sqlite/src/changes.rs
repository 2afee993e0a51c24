//! How processes that share a database tell each other that stored contacts have changed: a number in a small file
//! beside it.
//!
//! The number is odd while a transaction that changes or removes a contact is being committed, and another even number
//! after each. Who has seen the same even number before and after a read knows that nothing came in between, at the
//! price of reading eight bytes: a fraction of what SQLite takes to see whether its file has changed. One process, which
//! holds the [`Lease`], need not even read them each time. New contacts do not move the number.
//!
//! Nothing of it has to survive a power cut, because what it guards lies in the memory of processes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::connect;
use crate::error::OpenError;
use crate::lease::Lease;

/// How often is looked whether another process has finished its commit.
const LOOK: Duration = Duration::from_millis(1);

/// The number that every process sees.
#[derive(Debug)]
pub(crate) struct Changes {
    file: File,
    lease: Lease,
}

/// A commit of changes that is under way. Its end is told however it ends.
#[derive(Debug)]
pub(crate) struct Change<'c> {
    changes: &'c Changes,
    /// The number before, if it was one that reads could rely on.
    pub(crate) before: Option<u64>,
    /// The number after.
    pub(crate) after: u64,
}

impl Changes {
    /// Opens the files beside the database, which is there, and makes them if they are not. None where files know no locks
    /// or no reads at a place, as on some network file systems.
    pub(crate) fn open(database: &Path) -> Result<Option<Self>, OpenError> {
        if !cfg!(unix) {
            return Ok(None);
        }
        // One file for all names of the database, as SQLite does with its own.
        let database = std::fs::canonicalize(database)
            .map_err(|source| OpenError::File { path: database.to_owned(), source })?;
        let open = |suffix| {
            let path = connect::beside(&database, suffix);
            connect::private_file(&path).map_err(|source| OpenError::File { path, source })
        };
        let changes = Changes { file: open("-changes")?, lease: Lease::new(open("-lease")?) };
        match changes.begin_with_sound_number() {
            Ok(()) => Ok(Some(changes)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
            Err(source) => Err(OpenError::File { path: connect::beside(&database, "-changes"), source }),
        }
    }

    /// Sees to a number that a process left in the middle.
    fn begin_with_sound_number(&self) -> io::Result<()> {
        match self.file.try_lock() {
            Ok(()) => {
                let settled = self.settle();
                self.file.unlock()?;
                settled
            }
            // Somebody is at it.
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Makes a number even that a process left in the middle when it was killed there.
    fn settle(&self) -> io::Result<()> {
        match self.number()? {
            number if number.is_multiple_of(2) => Ok(()),
            number => self.write(number.wrapping_add(1)),
        }
    }

    /// The number; of a file that was just made one that counts as left in the middle.
    fn number(&self) -> io::Result<u64> {
        match self.read() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(1),
            read => read,
        }
    }

    /// The number; none while something is being changed, or when it cannot be read.
    pub(crate) fn now(&self) -> Option<u64> {
        self.lease.number(|| self.read().ok().filter(|number| number.is_multiple_of(2)))
    }

    /// Tells all that something is about to change, and returns when nobody relies on a number of before. Called inside the
    /// transaction that does it, so that other writers of this database have ended theirs; one that has not yet told so is
    /// waited for at most as long as `patience`.
    pub(crate) fn begin(&self, patience: Duration) -> io::Result<Change<'_>> {
        let mut waited = Duration::ZERO;
        loop {
            match self.file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if waited < patience => {
                    sleep(LOOK);
                    waited += LOOK;
                }
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        let number = match self.number() {
            Ok(number) => number,
            Err(error) => {
                self.file.unlock()?;
                return Err(error);
            }
        };
        let odd = number.wrapping_add(1) | 1;
        let before = Some(number).filter(|number| number.is_multiple_of(2));
        // From here on the lock is given back, and the number made even, by the end of the change.
        let change = Change { changes: self, before, after: odd.wrapping_add(1) };
        self.lease.change_begins();
        self.write(odd)?;
        self.lease.wait_for_others()?;
        Ok(change)
    }

    #[cfg(unix)]
    fn read(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut bytes, 0)?;
        Ok(u64::from_le_bytes(bytes))
    }

    #[cfg(unix)]
    fn write(&self, number: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, &number.to_le_bytes(), 0)
    }

    #[cfg(not(unix))]
    fn read(&self) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(unix))]
    fn write(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        // A number that stays odd costs speed until the next change, and no read goes wrong.
        if let Err(error) = self.changes.write(self.after) {
            tracing::warn!(%error, "the end of a change could not be told to those who keep contacts in memory");
        }
        self.changes.lease.change_ends();
        if let Err(error) = self.changes.file.unlock() {
            tracing::warn!(%error, "the lock on the number of changes could not be given back");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::tests::support::Folder;

    #[test]
    fn a_change_is_seen_by_everybody_who_shares_the_file() {
        let folder = Folder::new();
        let database = folder.path().join("a.db");
        std::fs::write(&database, "").unwrap();
        let (one, other) =
            (Changes::open(&database).unwrap().unwrap(), Changes::open(&database).unwrap().unwrap());
        let before = other.now().unwrap();
        let change = one.begin(Duration::ZERO).unwrap();
        assert_eq!((one.now(), other.now()), (None, None), "in the middle nothing is sure");
        assert_eq!(
            other.begin(Duration::from_millis(3)).unwrap_err().kind(),
            io::ErrorKind::TimedOut,
            "one at a time"
        );
        assert_eq!((change.before, change.after), (Some(before), before + 2));
        drop(change);
        assert_eq!((one.now(), other.now()), (Some(before + 2), Some(before + 2)));
        let change = other.begin(Duration::ZERO).unwrap();
        assert_eq!(change.after, before + 4);
    }

    #[test]
    fn every_name_of_a_database_leads_to_one_number() {
        let folder = Folder::new();
        let database = folder.path().join("a.db");
        std::fs::write(&database, "").unwrap();
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let link = folder.path().join("elsewhere/link.db");
        std::os::unix::fs::symlink(&database, &link).unwrap();
        let (one, other) =
            (Changes::open(&database).unwrap().unwrap(), Changes::open(&link).unwrap().unwrap());
        drop(one.begin(Duration::ZERO).unwrap());
        assert!(one.now().is_some());
        assert_eq!(one.now(), other.now());
        assert!(other.begin(Duration::ZERO).is_ok_and(|_| one.now().is_none()));
    }

    #[test]
    fn what_a_killed_process_left_in_the_middle_is_settled() {
        let folder = Folder::new();
        let database = folder.path().join("a.db");
        std::fs::write(&database, "").unwrap();
        let one = Changes::open(&database).unwrap().unwrap();
        let before = one.now().unwrap();
        let leave_in_the_middle = |number| {
            one.write(number).unwrap();
            // As the process would have waited before it committed.
            sleep(Duration::from_millis(3));
        };
        leave_in_the_middle(before + 1);
        assert_eq!(one.now(), None);
        // By the next change, whose `before` nobody can rely on.
        let change = one.begin(Duration::ZERO).unwrap();
        assert_eq!((change.before, change.after), (None, before + 4));
        drop(change);
        assert_eq!(one.now(), Some(before + 4));
        // By whoever opens the database next.
        leave_in_the_middle(before + 5);
        let other = Changes::open(&database).unwrap().unwrap();
        assert_eq!((one.now(), other.now()), (Some(before + 6), Some(before + 6)));
        // A power cut may leave anything.
        for rubbish in [&b""[..], b"\x01\x02", &[0xff; 8], &[0x55; 20]] {
            std::fs::write(connect::beside(&database, "-changes"), rubbish).unwrap();
            let opened = Changes::open(&database).unwrap().unwrap();
            assert!(opened.now().is_some());
            drop(opened.begin(Duration::ZERO).unwrap());
            assert!(opened.now().is_some());
        }
    }

    /// Nobody goes by a number of before a commit of which was heard, and the one who holds the lease seldom reads it.
    #[test]
    fn no_number_outlives_a_commit() {
        const COMMITS: u64 = 150;
        let folder = Folder::new();
        let database = folder.path().join("a.db");
        std::fs::write(&database, "").unwrap();
        let open = || Changes::open(&database).unwrap().unwrap();
        // What the database holds, in the place of one.
        let (stored, heard_of) = (AtomicU64::new(0), AtomicU64::new(0));
        let turn = Mutex::new(());
        let commit = |changes: &Changes| {
            let _turn = turn.lock().unwrap();
            let change = changes.begin(Duration::from_secs(5)).unwrap();
            let value = stored.fetch_add(1, Ordering::SeqCst) + 1;
            drop(change);
            heard_of.store(value, Ordering::SeqCst);
        };
        let (holder, beside) = (open(), open());
        assert!(holder.now().is_some());
        let read = |changes: &Changes| {
            let mut kept = (0, None);
            let (mut from_memory, mut reads) = (0_u64, 0_u64);
            while heard_of.load(Ordering::SeqCst) < 2 * COMMITS {
                let heard = heard_of.load(Ordering::SeqCst);
                let number = changes.now();
                if number.is_none() || kept.1 != number {
                    let value = stored.load(Ordering::SeqCst);
                    // What was read while something changed cannot be kept.
                    kept = (value, number.filter(|_| changes.now() == number));
                } else {
                    from_memory += 1;
                }
                reads += 1;
                assert!(kept.0 >= heard, "{} is older than {heard}", kept.0);
            }
            assert!(from_memory > 0 && from_memory < reads);
        };
        let (read, commit) = (&read, &commit);
        std::thread::scope(|threads| {
            for changes in [&holder, &holder, &beside] {
                threads.spawn(move || read(changes));
            }
            for changes in [&holder, &beside] {
                threads.spawn(move || {
                    for _ in 0..COMMITS {
                        commit(changes);
                        sleep(Duration::from_micros(200));
                    }
                });
            }
        });
    }

    #[test]
    fn the_lease_goes_on_to_another_when_its_holder_has_ended() {
        let folder = Folder::new();
        let database = folder.path().join("a.db");
        std::fs::write(&database, "").unwrap();
        let open = || Changes::open(&database).unwrap().unwrap();
        let (one, other) = (open(), open());
        let reads = |changes: &Changes| (0..2_000).for_each(|_| assert!(changes.now().is_some()));
        reads(&one);
        reads(&other);
        assert_eq!((one.lease.is_held(), other.lease.is_held()), (true, false));
        // Who only writes asks for the lease and does not take it.
        drop(open().begin(Duration::ZERO).unwrap());
        drop(one);
        drop(open().begin(Duration::ZERO).unwrap());
        reads(&other);
        assert!(other.lease.is_held());
    }
}
