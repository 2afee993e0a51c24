//! The anchor file: the ends of the chains of the audit log, outside the store.
//!
//! Someone who can write to the store can cut the newest entries off a chain and set its noted end. The server therefore
//! appends the ends of all changed chains to a file each minute, and `audit verify` compares them. A file on another disk,
//! or one that the system lets the server only append to, proves the most.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use openapi_core::audit::ChainHead;
use openapi_core::platform::Platform;
use openapi_core::storage::{ChainQuery, StorageError};
use openapi_core::values::{AgentId, AuditId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::server_keys::KeySource;

/// How often the server appends.
pub const INTERVAL: Duration = Duration::from_secs(60);

/// A reader keeps the last anchor that a chain has in each hour.
const HOUR_MILLIS: i64 = 3_600_000;

/// The value of the setting that switches the file off.
const OFF: &str = "off";

/// The path of the anchor file: the setting, or next to the file of the server keys; none when it is off, or there is no
/// such file.
#[must_use]
pub fn path_of(config: &Config, keys: &KeySource) -> Option<PathBuf> {
    match (config.text("audit_anchors"), keys) {
        (Some(OFF), _) => None,
        (Some(path), _) => Some(path.into()),
        (None, KeySource::File(keys)) => Some(keys.with_file_name("audit-anchors")),
        (None, _) => None,
    }
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    at: Timestamp,
    chain: Option<AgentId>,
    sequence: u64,
    mac: String,
}

/// What the file says of the chains.
#[derive(Debug, Default)]
pub struct Anchors {
    /// Ends that the chains had: the last of each hour.
    pub heads: Vec<(Option<AgentId>, ChainHead)>,
    /// The time of the last line.
    pub at: Option<Timestamp>,
    last: HashMap<Option<AgentId>, ChainHead>,
}

impl Anchors {
    /// Reads the file; an absent one has no anchors. A last line that a crash has cut is ignored.
    ///
    /// # Errors
    /// When the file cannot be read, or a line is none of an anchor.
    pub fn read(path: &Path) -> io::Result<Self> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Anchors::default()),
            opened => opened?,
        };
        let mut of_hours: HashMap<(Option<AgentId>, i64), ChainHead> = HashMap::new();
        let mut anchors = Anchors::default();
        let mut cut = None;
        for (number, line) in BufReader::new(file).lines().enumerate() {
            if let Some(error) = cut.take() {
                return Err(error);
            }
            let line = line?;
            let parsed = serde_json::from_str(&line).ok().and_then(|line: Line| {
                Some((line.at, line.chain, ChainHead::from_text(line.sequence, &line.mac)?))
            });
            let Some((at, chain, head)) = parsed else {
                let text = format!("line {} of {} is not an anchor", number + 1, path.display());
                cut = Some(io::Error::new(io::ErrorKind::InvalidData, text));
                continue;
            };
            anchors.at = Some(at);
            anchors.last.insert(chain.clone(), head);
            of_hours.insert((chain, at.millis().div_euclid(HOUR_MILLIS)), head);
        }
        anchors.heads = of_hours.into_iter().map(|((chain, _), head)| (chain, head)).collect();
        Ok(anchors)
    }

    /// Appends the ends of the chains that have changed. A chain that no longer has its last anchor is reported, and its
    /// end is not appended, so that `audit verify` finds the break.
    ///
    /// # Errors
    /// When the store or the file fails.
    pub async fn append(&mut self, platform: &Platform, path: &Path) -> Result<(), AnchorError> {
        let at = platform.now();
        let mut text = String::new();
        let mut appended = Vec::new();
        for (chain, head) in platform.storage().audit_heads().await? {
            let last = self.last.get(&chain).copied();
            if last == Some(head) {
                continue;
            }
            if let Some(last) = last
                && !continues(platform, &chain, last, head).await?
            {
                let agent = chain.as_ref().map_or("(none)", AgentId::as_str);
                tracing::error!(
                    agent,
                    sequence = last.sequence,
                    "the audit log no longer has an entry that it had; run `openapi-server audit verify`"
                );
                continue;
            }
            let line = Line { at, chain: chain.clone(), sequence: head.sequence, mac: head.mac_text() };
            text.push_str(&serde_json::to_string(&line).map_err(io::Error::from)?);
            text.push('\n');
            appended.push((chain, head));
        }
        if !text.is_empty() {
            append(path, &text)?;
        }
        self.last.extend(appended);
        Ok(())
    }
}

/// Whether a chain that now ends with `head` still has its anchor, or has purged it.
async fn continues(
    platform: &Platform,
    chain: &Option<AgentId>,
    anchor: ChainHead,
    head: ChainHead,
) -> Result<bool, StorageError> {
    if head.sequence < anchor.sequence {
        return Ok(false);
    }
    let Some(before) = anchor.sequence.checked_sub(1) else { return Ok(true) };
    let last_before = (before, Timestamp::from_millis(i64::MAX), AuditId::from_bytes([0xff; 12]));
    let query = ChainQuery { chain: chain.clone(), after: Some(last_before), limit: 1 };
    let found = platform.storage().audit_chain(&query).await?;
    let link = found.first().and_then(|entry| entry.link.as_ref());
    Ok(link.is_some_and(|link| link.sequence > anchor.sequence || link.mac == anchor.mac))
}

/// Appends text to a file that only its owner may read, and waits until it is on disk.
fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

/// Why no anchors were appended.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] StorageError),
    /// The file cannot be read or written.
    #[error("{0}")]
    File(#[from] io::Error),
}
