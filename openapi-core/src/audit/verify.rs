//! Verifying a chain: pure, fed entry by entry.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::chain::{digest_of, hex_of, mac_of};
use super::{AuditAction, ChainHead, ChainLink, ChainedEntry};
use crate::server_keys::ServerKeys;
use crate::values::{AgentId, AuditId};

/// Up to which entry a purge has removed a chain: what the first remaining entry follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PurgeMark(pub ChainHead);

impl PurgeMark {
    /// The text in [`AuditEntry::resource`](super::AuditEntry::resource): the number and the MAC.
    #[must_use]
    pub fn to_resource(self) -> String {
        format!("{}:{}", self.0.sequence, hex_of(&self.0.mac))
    }

    /// Reads the mark of an entry; none of an entry about anything else.
    #[must_use]
    pub fn of(entry: &super::AuditEntry) -> Option<Self> {
        if entry.action != AuditAction::AuditPurge {
            return None;
        }
        let (sequence, mac) = entry.resource.as_deref()?.split_once(':')?;
        Some(PurgeMark(ChainHead { sequence: sequence.parse().ok()?, mac: read_mac(mac)? }))
    }
}

/// Reads the 64 hexadecimal digits of a MAC.
fn read_mac(text: &str) -> Option<[u8; 32]> {
    let mut mac = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in mac.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(mac)
}

impl ChainHead {
    /// The MAC as hexadecimal digits.
    #[must_use]
    pub fn mac_text(&self) -> String {
        hex_of(&self.mac)
    }

    /// A head of the number and the hexadecimal digits of the MAC.
    #[must_use]
    pub fn from_text(sequence: u64, mac: &str) -> Option<Self> {
        Some(ChainHead { sequence, mac: read_mac(mac)? })
    }
}

/// What is wrong where a chain breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChainProblem {
    /// The entry, or its MAC, is not the one that was stored.
    Changed,
    /// The entry with this number is not there.
    Missing,
    /// The entry is not part of the chain.
    Inserted,
    /// The entry has another position than it was stored at.
    OutOfOrder,
    /// The server key of the entry is not among the server's keys.
    UnknownKey,
    /// The payload was removed, and no erasure is in the log.
    PayloadRemoved,
    /// The entries that are older than the chain are not those that its first entry covers.
    EarlierChanged,
    /// The end that the store notes is not that of the entries.
    HeadChanged,
    /// The entry differs from the one that was there when the server noted the end of the chain in its anchor file.
    AnchorDiffers,
}

impl fmt::Display for ChainProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChainProblem::Changed => "changed",
            ChainProblem::Missing => "missing",
            ChainProblem::Inserted => "inserted",
            ChainProblem::OutOfOrder => "out of order",
            ChainProblem::UnknownKey => "sealed with a server key that is not among the server's keys",
            ChainProblem::PayloadRemoved => "without its payload, and no erasure is in the log",
            ChainProblem::EarlierChanged => "the entries that are older than the chain have changed",
            ChainProblem::HeadChanged => "the noted end of the chain is not the end of its entries",
            ChainProblem::AnchorDiffers => "not the entry that the anchor file names",
        })
    }
}

/// The first break of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainBreak {
    /// The tenant; none for the chain of entries without one.
    pub agent_id: Option<AgentId>,
    /// The number of the entry; 0 for entries that are older than the chain.
    pub sequence: u64,
    /// The entry, if there is one.
    pub entry: Option<AuditId>,
    /// What is wrong.
    pub problem: ChainProblem,
}

/// Verifies one chain: takes its entries by number, those that are older than the chain first, by time and id.
pub struct ChainVerifier<'k> {
    keys: &'k ServerKeys,
    chain: Option<AgentId>,
    anchors: BTreeMap<u64, [u8; 32]>,
    start: Option<PurgeMark>,
    head: ChainHead,
    earlier: u64,
    entries: u64,
    last_mark: Option<PurgeMark>,
    erased: HashSet<String>,
    is_deleted: bool,
    /// The entries without their payload.
    emptied: Vec<(u64, AuditId, [Option<String>; 2])>,
}

impl<'k> ChainVerifier<'k> {
    /// A verifier. `start` is the last purge, without which the chain must be complete; `anchors` are heads that the chain
    /// had.
    #[must_use]
    pub fn new(
        keys: &'k ServerKeys,
        chain: Option<AgentId>,
        start: Option<PurgeMark>,
        anchors: impl IntoIterator<Item = ChainHead>,
    ) -> Self {
        let anchors = anchors.into_iter().map(|head| (head.sequence, head.mac)).collect();
        ChainVerifier {
            keys,
            chain,
            anchors,
            start,
            head: start.map_or_else(ChainHead::default, |mark| mark.0),
            earlier: 0,
            entries: 0,
            last_mark: None,
            erased: HashSet::new(),
            is_deleted: false,
            emptied: Vec::new(),
        }
    }

    /// How many entries were verified.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// How many of them are older than the chain.
    #[must_use]
    pub fn earlier(&self) -> u64 {
        self.earlier
    }

    /// Whether an entry was chained after an entry with this MAC, as the one with the number after it.
    #[must_use]
    pub fn follows(keys: &ServerKeys, chained: &ChainedEntry, before: ChainHead) -> bool {
        let Some(link) = &chained.link else { return false };
        let there = ChainLink { sequence: before.sequence + 1, ..link.clone() };
        mac_of(&chained.entry, &there, &before.mac, keys) == Some(link.mac)
    }

    fn broken(&self, sequence: u64, entry: Option<AuditId>, problem: ChainProblem) -> ChainBreak {
        ChainBreak { agent_id: self.chain.clone(), sequence, entry, problem }
    }

    /// Verifies the next entry.
    ///
    /// # Errors
    /// The break, if the chain breaks here.
    pub fn push(&mut self, chained: &ChainedEntry) -> Result<(), ChainBreak> {
        let ChainedEntry { entry, link } = chained;
        let id = Some(entry.id);
        self.entries += 1;
        let Some(link) = link else {
            if entry.agent_id != self.chain || self.head.sequence > 0 {
                return Err(self.broken(0, id, ChainProblem::Inserted));
            }
            self.earlier += 1;
            self.head.absorb(entry);
            return Ok(());
        };
        let sequence = link.sequence;
        let broken = |problem| Err(self.broken(sequence, id, problem));
        if entry.agent_id != self.chain || sequence <= self.head.sequence {
            return broken(ChainProblem::Inserted);
        }
        if sequence > self.head.sequence + 1 {
            return Err(self.broken(self.head.sequence + 1, None, ChainProblem::Missing));
        }
        let is_payload_sound = match link.salt {
            Some(_) => digest_of(entry, link.salt) == link.digest,
            None => entry.details.is_empty(),
        };
        if !is_payload_sound {
            return broken(ChainProblem::Changed);
        }
        match mac_of(entry, link, &self.head.mac, self.keys) {
            None => return broken(ChainProblem::UnknownKey),
            Some(mac) if mac == link.mac => {}
            Some(_) if sequence == 1 && self.earlier > 0 => return broken(ChainProblem::EarlierChanged),
            Some(_) => return broken(ChainProblem::Changed),
        }
        if self.anchors.get(&sequence).is_some_and(|anchor| *anchor != link.mac) {
            return broken(ChainProblem::AnchorDiffers);
        }
        self.head = ChainHead { sequence, mac: link.mac };
        self.note(chained);
        Ok(())
    }

    /// Notes what later entries and the end are judged by.
    fn note(&mut self, chained: &ChainedEntry) {
        let entry = &chained.entry;
        self.last_mark = PurgeMark::of(entry).or(self.last_mark);
        match entry.action {
            AuditAction::ContactErase => self.erased.extend(entry.resource.clone()),
            AuditAction::AgentDelete => self.is_deleted = true,
            _ => {}
        }
        let had_payload = chained.link.as_ref().is_some_and(|link| link.digest != [0; 32]);
        if had_payload && entry.details.is_empty() {
            let subjects = [entry.resource.clone(), entry.contact_id.map(|contact| contact.to_string())];
            self.emptied.push((chained.sequence(), entry.id, subjects));
        }
    }

    /// Verifies the end: that the last entry is the one that the store notes.
    ///
    /// # Errors
    /// The break, if there is one.
    pub fn finish(self, stored: ChainHead) -> Result<ChainHead, ChainBreak> {
        if self.start != self.last_mark.filter(|_| self.start.is_some()) {
            return Err(self.broken(
                self.start.map_or(0, |mark| mark.0.sequence),
                None,
                ChainProblem::Missing,
            ));
        }
        let anchored = self.anchors.last_key_value().map_or(0, |(sequence, _)| *sequence);
        if self.head.sequence < stored.sequence.max(anchored) {
            return Err(self.broken(self.head.sequence + 1, None, ChainProblem::Missing));
        }
        if self.head != stored {
            let problem =
                if stored.sequence == 0 { ChainProblem::EarlierChanged } else { ChainProblem::HeadChanged };
            return Err(self.broken(stored.sequence, None, problem));
        }
        let is_erased = |subjects: &[Option<String>; 2]| {
            self.is_deleted || subjects.iter().flatten().any(|subject| self.erased.contains(subject))
        };
        match self.emptied.iter().find(|(.., subjects)| !is_erased(subjects)) {
            Some((sequence, id, _)) => Err(self.broken(*sequence, Some(*id), ChainProblem::PayloadRemoved)),
            None => Ok(self.head),
        }
    }
}
