//! Downloads with signed URLs in the audit log, folded so that a link that is used often has few entries.
//!
//! The first download of a file with links of one key in an hour has an entry before a byte is sent. Further ones share
//! one entry with their count, which follows when the hour is over. A crash loses the counts of the running hour.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;

use crate::files::{ContactFile, Issuer};
use crate::values::{AgentId, ContactId, FileId, Timestamp};

const HOUR_MILLIS: i64 = 3_600_000;

/// The most files and keys whose downloads are folded at a time; beyond, all counts are written early.
const MAX_FOLDED: usize = 10_000;

/// A download, or several of one file with links of one key.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::platform) struct Download {
    pub(super) agent: AgentId,
    pub(super) file: FileId,
    pub(super) contact: ContactId,
    pub(super) issuer: Issuer,
    pub(super) address: Option<IpAddr>,
    /// 0 for the first one, which is not counted.
    pub(super) further: u64,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

impl Download {
    pub(super) fn of(file: &ContactFile, issuer: Issuer, address: Option<IpAddr>, now: Timestamp) -> Self {
        Download {
            agent: file.agent_id.clone(),
            file: file.id,
            contact: file.contact_id,
            issuer,
            address,
            further: 0,
            since: now,
            until: now,
        }
    }
}

type Key = (AgentId, FileId, String);

#[derive(Default)]
struct Hour {
    number: i64,
    /// What was downloaded in this hour, with the further downloads.
    known: HashMap<Key, Option<Download>>,
}

impl Hour {
    fn close(&mut self) -> Vec<Download> {
        std::mem::take(&mut self.known).into_values().flatten().collect()
    }
}

/// The downloads of the running hour.
#[derive(Default)]
pub(in crate::platform) struct DownloadLog(Mutex<Hour>);

impl DownloadLog {
    /// Counts a download. Returns it if it is the first of its kind, and what has an entry now because its hour is over.
    pub(super) fn count(&self, download: Download) -> (Option<Download>, Vec<Download>) {
        let mut hour = self.0.lock();
        let number = download.until.millis().div_euclid(HOUR_MILLIS);
        let key = (download.agent.clone(), download.file, download.issuer.to_string());
        let mut due = Vec::new();
        if hour.number != number || (hour.known.len() >= MAX_FOLDED && !hour.known.contains_key(&key)) {
            due = hour.close();
            hour.number = number;
        }
        match hour.known.get_mut(&key) {
            Some(Some(further)) => {
                further.further += 1;
                further.until = further.until.max(download.until);
                if further.address != download.address {
                    further.address = None;
                }
                (None, due)
            }
            Some(none) => {
                *none = Some(Download { further: 1, ..download });
                (None, due)
            }
            None => {
                hour.known.insert(key, None);
                (Some(download), due)
            }
        }
    }

    /// Forgets a download whose entry was not stored, so that the next one has it.
    pub(super) fn forget(&self, download: &Download) {
        self.0.lock().known.remove(&(download.agent.clone(), download.file, download.issuer.to_string()));
    }

    /// The further downloads of an hour that is over by `now`; without a time, those of the running hour as well.
    pub(super) fn take(&self, now: Option<Timestamp>) -> Vec<Download> {
        let mut hour = self.0.lock();
        let is_running = now.is_some_and(|now| hour.number == now.millis().div_euclid(HOUR_MILLIS));
        if is_running { Vec::new() } else { hour.close() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn download(file: u16, issuer: &str, millis: i64) -> Download {
        let mut id = [0; 12];
        id[..2].copy_from_slice(&file.to_be_bytes());
        let at = Timestamp::from_millis(millis);
        Download {
            agent: "acme".parse().unwrap(),
            file: FileId::from_bytes(id),
            contact: ContactId::from_bytes([1; 12]),
            issuer: Issuer::Agent(issuer.parse().unwrap()),
            address: None,
            further: 0,
            since: at,
            until: at,
        }
    }

    #[test]
    fn repeats_share_an_entry_when_their_hour_is_over() {
        let log = DownloadLog::default();
        let first = |file, issuer, millis| log.count(download(file, issuer, millis));
        assert_eq!(first(1, "a", 0), (Some(download(1, "a", 0)), Vec::new()));
        for millis in 1..=500 {
            assert_eq!(first(1, "a", millis), (None, Vec::new()), "{millis}");
        }
        assert_eq!(first(1, "b", 501).0, Some(download(1, "b", 501)), "links of another key");
        assert_eq!(first(2, "a", 502).0, Some(download(2, "a", 502)), "another file");
        assert_eq!(log.take(Some(Timestamp::from_millis(HOUR_MILLIS - 1))), [], "the hour is running");
        let mut further = download(1, "a", 1);
        (further.further, further.until) = (500, Timestamp::from_millis(500));
        let (next, due) = first(1, "a", HOUR_MILLIS);
        assert_eq!((next, due), (Some(download(1, "a", HOUR_MILLIS)), vec![further]));
        assert_eq!(log.take(None), []);
    }

    #[test]
    fn memory_is_bounded() {
        let log = DownloadLog::default();
        let mut written = 0;
        for file in 0..=u16::MAX {
            for _ in 0..3 {
                written += log.count(download(file, "a", 5)).1.iter().map(|due| due.further).sum::<u64>();
            }
            assert!(log.0.lock().known.len() <= MAX_FOLDED);
        }
        written += log.take(None).iter().map(|due| due.further).sum::<u64>();
        assert_eq!(written, 2 * 65_536);
    }
}
