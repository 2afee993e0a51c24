//! Listing the blobs of a folder.

use std::fs::{self, DirEntry, ReadDir};
use std::io;
use std::path::Path;

use openapi_core::ports::{BlobEntry, BlobKey, BlobListing};
use openapi_core::values::{AgentId, FileId};

use super::names;
use super::prefetch::{Items, Prefetch, Source, step};

/// The most blobs that a thread collects at a time.
const BATCH: usize = 256;

/// A walk over the folders of tenants; it needs the same memory however many blobs there are.
pub(super) struct Walk {
    agents: ReadDir,
    agent: Option<(AgentId, ReadDir)>,
}

type Begun = Option<(Walk, Vec<BlobEntry>)>;

impl Walk {
    pub(super) fn begin(root: &Path) -> io::Result<Begun> {
        step(Walk { agents: fs::read_dir(root)?, agent: None })
    }

    /// The next blob.
    fn entry(&mut self) -> io::Result<Option<BlobEntry>> {
        loop {
            let Some((agent, files)) = &mut self.agent else {
                let Some(folder) = self.agents.next().transpose()? else { return Ok(None) };
                self.agent = blobs_of(&folder)?;
                continue;
            };
            match files.next().transpose()? {
                None => self.agent = None,
                Some(file) => {
                    if let Some(entry) = blob(agent, &file)? {
                        return Ok(Some(entry));
                    }
                }
            }
        }
    }
}

/// The entries of the folder of a tenant; `None` for anything else.
fn blobs_of(folder: &DirEntry) -> io::Result<Option<(AgentId, ReadDir)>> {
    let Some(agent) = folder.file_name().to_str().and_then(names::agent_of) else { return Ok(None) };
    if !folder.file_type()?.is_dir() {
        return Ok(None);
    }
    unless_gone(fs::read_dir(folder.path())).map(|files| files.map(|files| (agent, files)))
}

/// The blob in a file; `None` for any other file and for one that has just been removed.
fn blob(agent: &AgentId, file: &DirEntry) -> io::Result<Option<BlobEntry>> {
    let name = file.file_name();
    let id = name.to_str().and_then(|name| name.parse::<FileId>().ok().filter(|id| id.to_string() == name));
    let Some(id) = id else { return Ok(None) };
    let metadata = unless_gone(file.metadata())?.filter(fs::Metadata::is_file);
    Ok(metadata.map(|metadata| BlobEntry { key: BlobKey::new(agent.clone(), id), size: metadata.len() }))
}

fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

impl Source for Walk {
    type Piece = Vec<BlobEntry>;

    fn next(&mut self) -> io::Result<Option<Vec<BlobEntry>>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let Some(entry) = self.entry()? else { break };
            batch.push(entry);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}

pub(super) fn stream(begun: Begun) -> BlobListing {
    Box::pin(Items::new(Prefetch::new(begun)))
}
