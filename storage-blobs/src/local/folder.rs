//! A folder of blobs: its paths, and the step that publishes a staged file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use openapi_core::ports::BlobKey;
use openapi_core::values::AgentId;
use parking_lot::Mutex;

use super::names;
use super::offload::AdaptiveOffload;
use super::staged_file::StagedFile;
use super::sync::{private_folder, sync_content, sync_folder};

/// The folder of staged files. No tenant has such an id.
pub(super) const STAGING: &str = ".unfinished";

/// The most tenants whose folders are remembered as synced; a few MiB.
const MAX_SYNCED: usize = 65_536;

/// The bytes that are compared at a time.
const COMPARED: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    /// Tenants whose folder exists and is synced in `root`.
    synced: Mutex<HashSet<AgentId>>,
    pub(super) offload: AdaptiveOffload,
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Self {
        Folder { root, synced: Mutex::default(), offload: AdaptiveOffload::default() }
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    pub(super) fn path(&self, key: &BlobKey) -> PathBuf {
        self.agent_path(&key.agent).join(key.file.to_string())
    }

    fn agent_path(&self, agent: &AgentId) -> PathBuf {
        self.root.join(names::folder_of(agent))
    }

    /// The folder of a tenant, created if it is absent; its name survives a power cut.
    fn agent_folder(&self, agent: &AgentId) -> io::Result<PathBuf> {
        let path = self.agent_path(agent);
        // Under the lock: a folder that another thread has just created may not be synced yet.
        let mut synced = self.synced.lock();
        if !synced.contains(agent) {
            // Without its disk the folder is empty, and nothing is created in it.
            fs::metadata(self.staging())?;
            match private_folder().create(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => sync_folder(&self.root)?,
            }
            if synced.len() >= MAX_SYNCED {
                synced.clear();
            }
            synced.insert(agent.clone());
        }
        Ok(path)
    }

    fn forget(&self, agent: &AgentId) {
        self.synced.lock().remove(agent);
    }
}

impl Folder {
    /// Publishes a staged file under its key, after its content is durable. It replaces nothing.
    pub(super) fn publish(&self, staged: StagedFile, key: &BlobKey) -> io::Result<()> {
        sync_content(&staged.file)?;
        let agent = self.agent_folder(&key.agent)?;
        let (from, to) = (staged.path.as_path(), self.path(key));
        let mut linked = link(from, &to);
        if matches!(&linked, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            // Another process has removed the folder since it was created.
            self.forget(&key.agent);
            self.agent_folder(&key.agent)?;
            linked = link(from, &to);
        }
        let is_new = linked? == Linked::Now;
        sync_folder(&agent).inspect_err(|_| {
            // An unacknowledged blob must not be readable.
            if is_new {
                drop(fs::remove_file(&to));
            }
        })
    }

    /// Replaces the file of a key with a staged file, after its content is durable.
    pub(super) fn replace(&self, staged: StagedFile, key: &BlobKey) -> io::Result<()> {
        sync_content(&staged.file)?;
        let agent = self.agent_folder(&key.agent)?;
        fs::rename(&staged.path, self.path(key))?;
        sync_folder(&agent)
    }
}

#[derive(PartialEq)]
enum Linked {
    Now,
    Before,
}

/// Gives a file a second name, unless another file has it.
fn link(from: &Path, to: &Path) -> io::Result<Linked> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(Linked::Now),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => same_content(from, to),
        // Some file systems have no hard links.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) =>
        {
            if fs::exists(to)? {
                same_content(from, to)
            } else {
                fs::rename(from, to).map(|()| Linked::Now)
            }
        }
        Err(error) => Err(error),
    }
}

/// A blob never changes: an existing one must have the same content.
fn same_content(written: &Path, there: &Path) -> io::Result<Linked> {
    let (mut written, mut there) = (File::open(written)?, File::open(there)?);
    let mut same = written.metadata()?.len() == there.metadata()?.len();
    let mut buffers = (vec![0; COMPARED], vec![0; COMPARED]);
    while same {
        let length = written.read(&mut buffers.0)?;
        if length == 0 {
            return Ok(Linked::Before);
        }
        there.read_exact(&mut buffers.1[..length])?;
        same = buffers.0[..length] == buffers.1[..length];
    }
    Err(io::Error::other("another content has the same key"))
}
