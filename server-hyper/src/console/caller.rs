//! The streams and files of the process that called a command.
//!
//! Every method blocks. A command runs on a thread of its own, in its own process and in a server alike.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use openapi_core::audit::OsUser;
use openapi_core::ports::BlobStore;
use serde::{Deserialize, Serialize};
use storage_blobs::FolderBlobs;

/// The database in the folder of a backup.
pub const BACKUP_DATABASE: &str = "openapi.db";

/// The contents of files in the folder of a backup.
pub const BACKUP_CONTENTS: &str = "blobs";

/// The database in the folder of an encrypted backup.
pub const BACKUP_ENCRYPTED_DATABASE: &str = "openapi.db.encrypted";

/// The environment variable with the password of an encrypted backup. It is no setting: the process that a command was
/// started as reads it.
pub const BACKUP_PASSWORD: &str = "OPENAPI_BACKUP_PASSWORD";

/// The manifest in the folder of a backup.
pub const BACKUP_MANIFEST: &str = "manifest.json";

/// A file of a backup besides the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackupFile {
    /// [`BACKUP_DATABASE`].
    Database,
    /// [`BACKUP_ENCRYPTED_DATABASE`].
    EncryptedDatabase,
    /// [`BACKUP_MANIFEST`].
    Manifest,
}

impl BackupFile {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BackupFile::Database => BACKUP_DATABASE,
            BackupFile::EncryptedDatabase => BACKUP_ENCRYPTED_DATABASE,
            BackupFile::Manifest => BACKUP_MANIFEST,
        }
    }
}

/// A stream that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Who runs a command when the environment names nobody.
pub const UNNAMED: &str = "operator";

/// Facts about the caller of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallerFacts {
    /// The name of the operator for the audit log.
    pub operator: String,
    /// Whether standard output is a terminal.
    pub is_output_terminal: bool,
    /// Whether standard error is a terminal.
    pub is_error_terminal: bool,
    /// The locale of numbers, such as `de_DE.UTF-8`; empty if it is not known.
    pub locale: String,
    /// The user of the operating system. A server replaces what a caller sends by the user of the connection.
    #[serde(default)]
    pub os_user: Option<OsUser>,
}

/// The user of the operating system with a number. The name comes from the local list of users.
#[must_use]
pub fn os_user(uid: u32) -> OsUser {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid)).then(|| name.to_owned())
    });
    OsUser { uid, name }
}

/// The user of this process.
fn own_user() -> Option<OsUser> {
    #[cfg(unix)]
    return Some(os_user(rustix::process::getuid().as_raw()));
    #[cfg(not(unix))]
    return None;
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderEntry {
    /// Its name.
    pub name: std::ffi::OsString,
    /// Whether it is a folder; links are not followed.
    pub is_folder: bool,
    /// Whether it is a file, or a link to one.
    pub is_file: bool,
}

/// A future that borrows nothing from the command.
pub type Waiting = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The calling process.
pub trait Caller: Send + Sync {
    /// Writes to a stream and flushes it.
    ///
    /// # Errors
    /// As the system reports them; [`io::ErrorKind::BrokenPipe`] when the reader has closed the stream.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Standard input.
    fn stdin(&self) -> Box<dyn Read + Send>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As the system reports them.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;

    /// The password of a backup: the environment variable [`BACKUP_PASSWORD`], or what is typed into the terminal, twice
    /// for a new password.
    ///
    /// # Errors
    /// When there is neither, or both times differ.
    fn password(&self, is_new: bool) -> io::Result<String>;

    /// Creates a file that only its owner may read.
    ///
    /// # Errors
    /// When the path exists, or as the system reports them.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>>;

    /// The entries of a folder, in order of their names; `None` for a path that is no folder.
    ///
    /// # Errors
    /// As the system reports them.
    fn list(&self, path: &Path) -> io::Result<Option<Vec<FolderEntry>>>;

    /// Begins a backup in a new folder.
    ///
    /// # Errors
    /// When the folder exists or cannot be written.
    fn begin_backup(&self, to: &Path) -> io::Result<Box<dyn BackupTarget>>;

    /// Completes when the caller is interrupted (Ctrl-C). From the first call on an interrupt no longer ends the caller.
    fn interrupted(&self) -> Waiting;

    /// Marks the command as running until it is interrupted, so that a draining server does not wait for it.
    fn run_until_interrupted(&self) {}

    /// Writes a line to standard output and tells the caller to go on with `--after CURSOR` in the next server if this one
    /// ends. A process that runs its own command has no other server.
    ///
    /// # Errors
    /// As [`Caller::write`].
    fn print_resumable(&self, line: &str, cursor: &str) -> io::Result<()> {
        let _ = cursor;
        self.write(Stream::Output, line.as_bytes())
    }

    /// Whether the caller has disconnected; for work that polls.
    fn is_gone(&self) -> bool {
        false
    }

    /// Completes when the caller disconnects; its command then ends.
    fn gone(&self) -> Waiting;
}

/// A backup that is being written. It gets its name when it is complete; without [`BackupTarget::finish`] it is
/// discarded.
pub trait BackupTarget: Send + Sync {
    /// The path of the database file, if this process can write it itself.
    fn local_database(&self) -> Option<PathBuf>;

    /// Creates a file. Flushing completes it.
    ///
    /// # Errors
    /// As the system reports them.
    fn create(&self, file: BackupFile) -> io::Result<Box<dyn Write + Send>>;

    /// The store for contents of files. It only creates blobs.
    ///
    /// # Errors
    /// As the system reports them.
    fn contents(&self) -> io::Result<Arc<dyn BlobStore>>;

    /// Gives the backup its name.
    ///
    /// # Errors
    /// As the system reports them.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// This process.
#[derive(Clone, Copy, Debug)]
pub struct OwnProcess;

impl OwnProcess {
    /// What a command knows of this process.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the name of the user and the locale are no settings")]
    pub fn facts() -> CallerFacts {
        let name = std::env::var("SUDO_USER").or_else(|_| std::env::var("USER")).unwrap_or_default();
        let mut locales =
            ["LC_ALL", "LC_NUMERIC", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
        let locale = locales.find(|locale| !locale.is_empty());
        CallerFacts {
            operator: if name.is_empty() { UNNAMED.to_owned() } else { name },
            is_output_terminal: io::stdout().is_terminal(),
            is_error_terminal: io::stderr().is_terminal(),
            locale: locale.unwrap_or_default(),
            os_user: own_user(),
        }
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

impl Caller for OwnProcess {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Output => {
                let mut output = io::stdout().lock();
                output.write_all(bytes).and_then(|()| output.flush())
            }
            Stream::Error => io::stderr().write_all(bytes),
        }
    }

    fn stdin(&self) -> Box<dyn Read + Send> {
        Box::new(io::stdin())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(path)?))
    }

    fn password(&self, is_new: bool) -> io::Result<String> {
        if let Some(password) = crate::config::variable(BACKUP_PASSWORD) {
            return Ok(password);
        }
        if !io::stdin().is_terminal() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "standard input is no terminal"));
        }
        let password = rpassword::prompt_password("Password of the backup: ")?;
        if is_new && rpassword::prompt_password("The same again: ")? != password {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "both passwords differ"));
        }
        Ok(password)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(private(OpenOptions::new().write(true).create_new(true)).open(path)?))
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<FolderEntry>>> {
        if !path.is_dir() {
            return Ok(None);
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            entries.push(FolderEntry {
                name: entry.file_name(),
                is_folder: entry.file_type().is_ok_and(|kind| kind.is_dir()),
                is_file: entry.path().is_file(),
            });
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(entries))
    }

    fn begin_backup(&self, to: &Path) -> io::Result<Box<dyn BackupTarget>> {
        Ok(Box::new(BackupFolder::create(to)?))
    }

    fn interrupted(&self) -> Waiting {
        Box::pin(tokio::signal::ctrl_c())
    }

    fn gone(&self) -> Waiting {
        Box::pin(std::future::pending())
    }
}

/// A backup in a folder of this machine.
#[derive(Debug)]
pub struct BackupFolder {
    to: PathBuf,
    partial: PathBuf,
    is_finished: bool,
}

impl BackupFolder {
    /// Creates the folder under a temporary name, readable by its owner only.
    ///
    /// # Errors
    /// When `to` exists, or the folder cannot be written.
    pub fn create(to: &Path) -> io::Result<Self> {
        if to.exists() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} exists; name a folder that does not", to.display()),
            ));
        }
        let mut partial = to.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if partial.exists() {
            std::fs::remove_dir_all(&partial)?;
        }
        if let Some(parent) = partial.parent() {
            crate::private_folder::create(parent)?;
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&partial)?;
        Ok(BackupFolder { to: to.to_owned(), partial, is_finished: false })
    }
}

impl BackupTarget for BackupFolder {
    fn local_database(&self) -> Option<PathBuf> {
        Some(self.partial.join(BACKUP_DATABASE))
    }

    fn create(&self, file: BackupFile) -> io::Result<Box<dyn Write + Send>> {
        OwnProcess.create(&self.partial.join(file.name()))
    }

    fn contents(&self) -> io::Result<Arc<dyn BlobStore>> {
        let folder = FolderBlobs::open(self.partial.join(BACKUP_CONTENTS)).map_err(io::Error::other)?;
        Ok(Arc::new(folder))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        // The lock of the process that opened the copy.
        let _ = std::fs::remove_file(self.partial.join(format!("{BACKUP_DATABASE}-owner")));
        for file in [BackupFile::Database, BackupFile::EncryptedDatabase, BackupFile::Manifest] {
            if let Ok(file) = File::open(self.partial.join(file.name())) {
                file.sync_all()?;
            }
        }
        std::fs::rename(&self.partial, &self.to)?;
        self.is_finished = true;
        let parent =
            self.to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if cfg!(unix) { File::open(parent)?.sync_all() } else { Ok(()) }
    }
}

impl Drop for BackupFolder {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_dir_all(&self.partial);
        }
    }
}
