//! The server keys: generated at the first start, stored in a file in the data folder, rotated by adding one.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use openapi_core::ports::{Clock, IdGenerator};
use openapi_core::server_keys::{KeyLookup, ServerKey, ServerKeys};
use openapi_core::values::Timestamp;

use crate::{private_folder, text_file};

const HEADING: &str = "\
# Server keys of the Open API. Without them every API secret stops working: keep this file secret, and keep a copy of it
# apart from the backups of the store. An attacker with both can guess secrets and decrypt files.
# The first key creates hashes and signatures, the others only verify.
";

/// The source of the server keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The setting `OPENAPI_SERVER_KEY`.
    Given(String),
    /// A file, which is created if it does not exist.
    File(PathBuf),
    /// The file that `OPENAPI_SERVER_KEY_FILE` names. The operator writes it, for each server alike.
    Named(PathBuf),
    /// Generated at each start, for a store in memory.
    Drawn,
    /// Not configured, although servers that share a store must share the keys.
    Shared,
}

/// One key of the file.
#[derive(Clone)]
pub struct Entry {
    bytes: [u8; 32],
    /// The creation time; unknown for configured keys.
    pub made: Option<Timestamp>,
}

impl Entry {
    /// The id of the key, which is not secret.
    #[must_use]
    pub fn id(&self) -> String {
        ServerKey::new(&self.bytes).id().to_owned()
    }
}

/// Why the server keys are unavailable.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("cannot {action} the server keys in {path}: {source}")]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A key is malformed.
    #[error(
        "{location} is not a server key; a key is 64 hexadecimal digits, such as `openssl rand -hex 32` prints"
    )]
    Form {
        /// Its location.
        location: String,
    },
    /// The source has no key.
    #[error(
        "{location} contains no server key; restore the file from your copy, or delete it to generate new keys (every API secret then stops working)"
    )]
    Empty {
        /// The source.
        location: String,
    },
    /// Servers share the store, and no key is configured.
    #[error(
        "servers that share a store need the same server key: set OPENAPI_SERVER_KEY on all of them to 64 hexadecimal digits, such as `openssl rand -hex 32` prints, and keep a copy apart from the backups of the store; without it every API secret stops working"
    )]
    Shared,
    /// There is no such key.
    #[error("there is no server key {0}; `openapi-server server-key list` shows them")]
    Unknown(String),
    /// The key is the current one.
    #[error(
        "{0} is the current server key; `openapi-server server-key rotate` puts a new one in its place first"
    )]
    Current(String),
    /// The keys are not in a file.
    #[error("{0}")]
    NotAFile(&'static str),
}

crate::error::from_error!(KeyError);

impl KeySource {
    /// Whether there are keys already, so that using them creates none.
    #[must_use]
    pub fn is_there(&self) -> bool {
        match self {
            KeySource::Given(_) => true,
            KeySource::File(path) | KeySource::Named(path) => path.exists(),
            KeySource::Drawn | KeySource::Shared => false,
        }
    }

    /// The keys, the current one first. A missing file is created.
    ///
    /// # Errors
    /// The keys cannot be read or created.
    pub fn entries(&self, clock: &dyn Clock, ids: &dyn IdGenerator) -> Result<Vec<Entry>, KeyError> {
        match self {
            KeySource::Given(text) => parse(text, "OPENAPI_SERVER_KEY"),
            KeySource::Drawn => Ok(vec![draw(clock, ids)]),
            KeySource::Shared => Err(KeyError::Shared),
            KeySource::Named(path) => {
                read(path)?.ok_or_else(|| file_error("read", path, io::ErrorKind::NotFound.into()))
            }
            KeySource::File(path) => {
                if let Some(entries) = read(path)? {
                    return Ok(entries);
                }
                match write(path, &[draw(clock, ids)], false) {
                    Ok(()) => {
                        tracing::info!(path = %path.display(), "generated server keys; keep a copy of this file apart from the backups of the store");
                    }
                    // Another process has created the file concurrently.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(source) => return Err(file_error("write", path, source)),
                }
                read(path)?.ok_or_else(|| file_error("read", path, io::ErrorKind::NotFound.into()))
            }
        }
    }

    /// Checks the keys as far as they are given, and creates none.
    ///
    /// # Errors
    /// The keys are malformed, or nobody has configured them although servers share the store.
    pub fn check(&self) -> Result<(), KeyError> {
        match self {
            KeySource::Given(text) => parse(text, "OPENAPI_SERVER_KEY").map(drop),
            KeySource::Shared => Err(KeyError::Shared),
            KeySource::File(path) | KeySource::Named(path) => read(path).map(drop),
            KeySource::Drawn => Ok(()),
        }
    }

    /// The keys as the platform uses them. Keys in a file are looked up again when something was made with another one.
    ///
    /// # Errors
    /// As [`KeySource::entries`].
    pub fn load(&self, clock: &dyn Clock, ids: &dyn IdGenerator) -> Result<ServerKeys, KeyError> {
        // Before the keys are read, so that no change after it goes unnoticed.
        let state = self.state();
        let keys = server_keys(&self.entries(clock, ids)?);
        let keys = keys.ok_or_else(|| KeyError::Empty { location: self.to_string() })?;
        Ok(match self {
            KeySource::File(path) | KeySource::Named(path) => {
                keys.with_lookup(Arc::new(FileLookup { path: path.clone(), seen: Mutex::new((state, None)) }))
            }
            KeySource::Given(_) | KeySource::Drawn | KeySource::Shared => keys,
        })
    }

    /// The state of the file of the keys, which differs after a change; none for keys without a file.
    #[must_use]
    pub fn state(&self) -> Option<FileState> {
        match self {
            KeySource::File(path) | KeySource::Named(path) => FileState::of(path),
            KeySource::Given(_) | KeySource::Drawn | KeySource::Shared => None,
        }
    }

    /// The keys, if there are any: no file is created.
    ///
    /// # Errors
    /// The keys cannot be read.
    pub fn existing(&self) -> Result<Option<ServerKeys>, KeyError> {
        let entries = match self {
            KeySource::Given(text) => Some(parse(text, "OPENAPI_SERVER_KEY")?),
            KeySource::File(path) | KeySource::Named(path) => read(path)?,
            KeySource::Drawn | KeySource::Shared => None,
        };
        Ok(entries.and_then(|entries| server_keys(&entries)))
    }

    /// Adds a new current key; the previous ones still verify.
    ///
    /// # Errors
    /// The keys are not in a file, or the file cannot be written.
    pub fn rotate(&self, clock: &dyn Clock, ids: &dyn IdGenerator) -> Result<Vec<Entry>, KeyError> {
        let path = self.file(
            "OPENAPI_SERVER_KEY sets the server keys: add a new key there on every server, as the last one, separated by a \
             comma; move it to the front when all servers have it",
        )?;
        let mut entries = self.entries(clock, ids)?;
        entries.insert(0, draw(clock, ids));
        write(path, &entries, true).map_err(|source| file_error("write", path, source))?;
        Ok(entries)
    }

    /// Removes a key that is not the current one. Returns those that are left.
    ///
    /// # Errors
    /// The keys are not in a file, the file cannot be written, or it has no such former key.
    pub fn drop_key(&self, id: &str) -> Result<Vec<Entry>, KeyError> {
        let path = self.file("OPENAPI_SERVER_KEY sets the server keys: remove the key there")?;
        let mut entries = read(path)?.unwrap_or_default();
        match entries.iter().position(|entry| entry.id() == id) {
            None => return Err(KeyError::Unknown(id.to_owned())),
            Some(0) => return Err(KeyError::Current(id.to_owned())),
            Some(at) => drop(entries.remove(at)),
        }
        write(path, &entries, true).map_err(|source| file_error("write", path, source))?;
        Ok(entries)
    }

    /// The file of the keys; the text says what to do where a setting has them.
    fn file(&self, given: &'static str) -> Result<&Path, KeyError> {
        match self {
            KeySource::File(path) => Ok(path),
            KeySource::Given(_) | KeySource::Named(_) => Err(KeyError::NotAFile(given)),
            KeySource::Shared => Err(KeyError::Shared),
            KeySource::Drawn => Err(KeyError::NotAFile("a store in memory has no persistent server keys")),
        }
    }
}

impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeySource::Given(_) => f.write_str("OPENAPI_SERVER_KEY"),
            KeySource::File(path) | KeySource::Named(path) => path.display().fmt(f),
            KeySource::Drawn => f.write_str("memory"),
            KeySource::Shared => f.write_str("OPENAPI_SERVER_KEY"),
        }
    }
}

/// What tells a file from the same one after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState(SystemTime, u64, u64);

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&file);
        #[cfg(not(unix))]
        let number = 0;
        Some(FileState(file.modified().ok()?, file.len(), number))
    }
}

/// Reads a file of keys again, once for each change: a client that sends made-up tokens causes no more than a look at its
/// state.
#[derive(Debug)]
struct FileLookup {
    path: PathBuf,
    /// The state when it was read last, and the keys, if it has changed since the start.
    seen: Mutex<(Option<FileState>, Option<ServerKeys>)>,
}

impl KeyLookup for FileLookup {
    fn look_up(&self) -> Option<ServerKeys> {
        let state = FileState::of(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != state {
            // What cannot be read now is reported by the server's watch of the file, and read after the next change.
            let keys = read(&self.path).ok().flatten().and_then(|entries| server_keys(&entries));
            *seen = (state, keys.or_else(|| seen.1.take()));
        }
        seen.1.clone()
    }
}

/// The keys as the platform uses them; `None` without any.
fn server_keys(entries: &[Entry]) -> Option<ServerKeys> {
    let mut keys = entries.iter().map(|entry| ServerKey::new(&entry.bytes));
    let current = keys.next()?;
    Some(ServerKeys::new(current, keys.collect()))
}

fn file_error(action: &'static str, path: &Path, source: io::Error) -> KeyError {
    KeyError::File { action, path: path.display().to_string(), source }
}

fn draw(clock: &dyn Clock, ids: &dyn IdGenerator) -> Entry {
    let mut bytes = [0; 32];
    ids.fill(&mut bytes);
    Entry { bytes, made: Some(clock.now()) }
}

/// The keys of a file; `None` when there is no file.
fn read(path: &Path) -> Result<Option<Vec<Entry>>, KeyError> {
    match text_file::read(path) {
        Ok(text) => parse(&text, &path.display().to_string()).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(file_error("read", path, source)),
    }
}

/// Parses keys: one per line or separated by commas, each optionally followed by its creation time; `#` starts a comment.
fn parse(text: &str, name: &str) -> Result<Vec<Entry>, KeyError> {
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            // The text may be a mistyped key: errors name its location only.
            let location = || format!("{name}, line {}", number + 1);
            let mut fields = part.split_ascii_whitespace();
            let bytes =
                fields.next().and_then(unhex).ok_or_else(|| KeyError::Form { location: location() })?;
            let made = fields.next().map(str::parse).transpose();
            entries.push(Entry { bytes, made: made.map_err(|_| KeyError::Form { location: location() })? });
        }
    }
    if entries.is_empty() { Err(KeyError::Empty { location: name.to_owned() }) } else { Ok(entries) }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(bytes)
}

/// Writes the file atomically, readable by its owner only. Without `replace` an existing file stays.
fn write(path: &Path, entries: &[Entry], replace: bool) -> io::Result<()> {
    let mut text = HEADING.to_owned();
    for entry in entries {
        for byte in entry.bytes {
            let _ = write!(text, "{byte:02x}");
        }
        let _ = match entry.made {
            Some(made) => writeln!(text, " {made}"),
            None => writeln!(text),
        };
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    private_folder::create(folder)?;
    // Files of this kind are 0600 from the moment they exist.
    let mut file = tempfile::Builder::new().prefix(".server-keys-").tempfile_in(folder)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.as_file().sync_all()?;
    let persisted = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|error| error.error)?;
    // Makes the rename durable, on systems that can sync a folder.
    let _ = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::ports::{FixedClock, SequentialIds};

    #[test]
    fn keys_are_generated_once_and_rotated_by_adding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("server-keys");
        let source = KeySource::File(path.clone());
        let (clock, ids) = (FixedClock::at(Timestamp::from_millis(0)), SequentialIds::default());
        let ids_of = |entries: Vec<Entry>| entries.iter().map(Entry::id).collect::<Vec<_>>();
        let first = ids_of(source.entries(&clock, &ids).unwrap());
        assert_eq!(ids_of(source.entries(&clock, &ids).unwrap()), first);
        let second = ids_of(source.rotate(&clock, &ids).unwrap());
        assert_eq!((second.len(), &second[1]), (2, &first[0]));
        assert_eq!(source.load(&clock, &ids).unwrap().current_id(), second[0]);
        assert_eq!(source.entries(&clock, &ids).unwrap()[0].made, Some(clock.now()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let folder = std::fs::metadata(path.parent().unwrap()).unwrap();
            assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn keys_that_are_added_later_are_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        let source = KeySource::File(folder.path().join("server-keys"));
        let (clock, ids) = (FixedClock::at(Timestamp::from_millis(0)), SequentialIds::default());
        let keys = source.load(&clock, &ids).unwrap();
        let verify = |keys: &ServerKeys, newer: &ServerKeys| {
            let (id, tag) = (newer.current_id(), newer.tag("a use", b"message"));
            let found = keys.tag_with(id, "a use", b"message");
            assert_eq!(found.is_some(), keys.verifies("a use", b"message", &tag[..16]));
            found.is_some_and(|found| found == tag)
        };
        let stranger = ServerKeys::new(ServerKey::new(&[3; 32]), Vec::new());
        assert!(verify(&keys, &keys) && !verify(&keys, &stranger));
        for _ in 0..3 {
            source.rotate(&clock, &ids).unwrap();
            let newer = source.load(&clock, &ids).unwrap();
            assert_ne!(newer.current_id(), keys.current_id());
            assert!(verify(&keys, &newer) && verify(&newer, &keys) && !verify(&keys, &stranger));
        }
        // What cannot be read changes nothing.
        let newest = source.load(&clock, &ids).unwrap();
        std::fs::write(folder.path().join("server-keys"), "no key").unwrap();
        assert!(verify(&keys, &newest) && verify(&keys, &keys) && !verify(&keys, &stranger));
        std::fs::remove_file(folder.path().join("server-keys")).unwrap();
        assert!(verify(&keys, &newest) && !verify(&keys, &stranger));
    }

    #[test]
    fn a_file_with_a_byte_order_mark_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server-keys");
        let source = KeySource::File(path.clone());
        source.check().expect("a missing file is created later");
        assert!(!path.exists());
        std::fs::write(&path, format!("\u{feff}{}\r\n", "ab".repeat(32))).unwrap();
        source.check().unwrap();
        std::fs::write(&path, "\u{feff}ab\r\n").unwrap();
        assert!(matches!(source.check(), Err(KeyError::Form { .. })));
        assert!(matches!(KeySource::Shared.check(), Err(KeyError::Shared)));
    }

    #[test]
    fn configured_keys_are_validated() {
        let (clock, ids) = (FixedClock::at(Timestamp::from_millis(0)), SequentialIds::default());
        let given =
            |text: &str| KeySource::Given(text.to_owned()).entries(&clock, &ids).map(|entries| entries.len());
        let key = "0123456789abcdefABCDEF00000000000000000000000000000000000000ffff";
        assert_eq!(given(key).unwrap(), 1);
        assert_eq!(given(&format!("{key}, {key}\n# old\n{key} 2026-01-31T00:00:00Z")).unwrap(), 3);
        for bad in
            ["", "# nothing", &key[1..], &format!("{key}0"), &key.replace('f', "g"), &format!("{key} soon")]
        {
            let error = given(bad).unwrap_err().to_string();
            assert!(!error.contains(&key[10..40]), "{error}");
        }
        assert!(KeySource::Given(key.to_owned()).rotate(&clock, &ids).is_err());
    }
}
