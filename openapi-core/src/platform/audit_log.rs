//! The audit log as a whole: notes of an operator, its verification, and its retention.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::audit_settings::Retention;
use super::state::Platform;
use crate::access::Actor;
use crate::audit::{
    AuditAction, ChainBreak, ChainHead, ChainProblem, ChainVerifier, ChainedEntry, PurgeMark,
};
use crate::json::Object;
use crate::storage::{ChainPosition, ChainQuery, StorageError};
use crate::values::{AgentId, Timestamp};

/// Entries read at a time, and removed in one write.
const PAGE: u32 = 1_000;

/// How often entries are looked for whose retention is over.
const RETENTION_INTERVAL_MILLIS: i64 = 3_600_000;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// The ends of the sound chains.
    pub heads: Vec<(Option<AgentId>, ChainHead)>,
    /// The entries that were read.
    pub entries: u64,
    /// Those that are older than their chain.
    pub earlier: u64,
    /// The first break of each broken chain.
    pub breaks: Vec<ChainBreak>,
}

impl Platform {
    /// Adds an entry about what an operator did to no record of a tenant, or to many at once: a bulk read, an export, the
    /// display of a secret, a change of the store.
    ///
    /// # Errors
    /// When the store fails: what is noted must then not be done.
    pub async fn note(
        &self,
        by: &Actor,
        action: AuditAction,
        agent: Option<&AgentId>,
        resource: Option<String>,
        details: &Object,
    ) -> Result<(), StorageError> {
        let entry = self.audit_entry(by, action, agent.cloned(), resource, details, self.now());
        self.storage.append_audit(&self.seal_audit(entry)).await
    }

    /// Verifies all chains of the audit log, each up to its first break. `anchors` are ends that chains had, from outside
    /// the store.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn verify_audit(
        &self,
        anchors: &[(Option<AgentId>, ChainHead)],
    ) -> Result<AuditReport, StorageError> {
        let mut of_chains: HashMap<Option<AgentId>, Vec<ChainHead>> = HashMap::new();
        for (chain, _) in self.storage.audit_heads().await? {
            of_chains.insert(chain, Vec::new());
        }
        for (chain, head) in anchors {
            of_chains.entry(chain.clone()).or_default().push(*head);
        }
        let mut chains: Vec<_> = of_chains.into_iter().collect();
        chains.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut report = AuditReport::default();
        for (chain, anchors) in chains {
            let (entries, earlier, outcome) = self.verify_chain(&chain, anchors).await?;
            report.entries += entries;
            report.earlier += earlier;
            match outcome {
                Ok(head) => report.heads.push((chain, head)),
                Err(broken) => report.breaks.push(broken),
            }
        }
        Ok(report)
    }

    async fn verify_chain(
        &self,
        chain: &Option<AgentId>,
        anchors: Vec<ChainHead>,
    ) -> Result<(u64, u64, Result<ChainHead, ChainBreak>), StorageError> {
        let keys = &self.ports.server_keys;
        let mut after = None;
        let mut page = self.chain_page(chain, after).await?;
        let mut verifier = ChainVerifier::new(keys, chain.clone(), None, anchors.iter().copied());
        // A chain whose first entry follows nothing was never purged.
        let is_whole = page.first().is_none_or(|first| first.sequence() == 1 && verifier.push(first).is_ok());
        let start = if is_whole { None } else { self.last_purge(chain).await? };
        verifier = ChainVerifier::new(keys, chain.clone(), start, anchors);
        loop {
            for (index, entry) in page.iter().enumerate() {
                if let Err(broken) = verifier.push(entry) {
                    let broken = located(broken, entry, page.get(index + 1..).unwrap_or_default(), |by| {
                        ChainVerifier::follows(keys, entry, by)
                    });
                    return Ok((verifier.entries(), verifier.earlier(), Err(broken)));
                }
                after = Some((entry.sequence(), entry.at, entry.id));
            }
            let head = if page.len() < PAGE as usize {
                Some(self.storage.audit_head(chain.as_ref()).await?)
            } else {
                None
            };
            page = self.chain_page(chain, after).await?;
            // Without further entries, the end that was read before is that of the chain.
            if let (Some(head), true) = (head, page.is_empty()) {
                return Ok((verifier.entries(), verifier.earlier(), verifier.finish(head)));
            }
        }
    }

    async fn chain_page(
        &self,
        chain: &Option<AgentId>,
        after: Option<ChainPosition>,
    ) -> Result<Vec<ChainedEntry>, StorageError> {
        self.storage.audit_chain(&ChainQuery { chain: chain.clone(), after, limit: PAGE }).await
    }

    /// The newest mark of a purge in a chain.
    async fn last_purge(&self, chain: &Option<AgentId>) -> Result<Option<PurgeMark>, StorageError> {
        let (mut last, mut after) = (None, None);
        loop {
            let page = self.chain_page(chain, after).await?;
            let Some(end) = page.last() else { return Ok(last) };
            after = Some((end.sequence(), end.at, end.id));
            last = page.iter().rev().find_map(|chained| PurgeMark::of(chained)).or(last);
        }
    }

    /// Removes the entries that are older than an instant, of one tenant's chain or of all chains, and returns how many. A
    /// chain remains verifiable from its first remaining entry, and each removal leaves an entry of its own.
    ///
    /// # Errors
    /// When the store fails; what was removed until then is noted.
    pub async fn purge_audit(
        &self,
        by: &Actor,
        agent: Option<&AgentId>,
        before: Timestamp,
    ) -> Result<u64, StorageError> {
        let mut removed = 0;
        let all = self.storage.audit_heads().await?;
        for (chain, _) in all.into_iter().filter(|(chain, _)| agent.is_none() || chain.as_ref() == agent) {
            while let Some(more) = self.purge_page(by, &chain, before).await? {
                removed += more;
            }
        }
        Ok(removed)
    }

    /// Removes the entries of a page of a chain that are old; none when there are none.
    async fn purge_page(
        &self,
        by: &Actor,
        chain: &Option<AgentId>,
        before: Timestamp,
    ) -> Result<Option<u64>, StorageError> {
        let page = self.chain_page(chain, None).await?;
        let old = page.iter().take_while(|entry| entry.at < before).collect::<Vec<_>>();
        // The marks of former purges alone are no reason for another one.
        if old.iter().all(|entry| entry.action == AuditAction::AuditPurge) {
            return Ok(None);
        }
        let Some(last) = old.last() else { return Ok(None) };
        let mut mark = match &last.link {
            Some(link) => ChainHead { sequence: link.sequence, mac: link.mac },
            None => self.last_purge(chain).await?.map_or_else(ChainHead::default, |mark| mark.0),
        };
        if last.link.is_none() {
            old.iter().for_each(|entry| mark.absorb(entry));
        }
        let mut details = Object::new();
        details.insert("before", before.to_string().as_str().into());
        details.insert("removed", crate::json::Json::Number((old.len() as u64).into()));
        let resource = PurgeMark(mark).to_resource();
        let action = AuditAction::AuditPurge;
        let entry = self.audit_entry(by, action, chain.clone(), Some(resource), &details, self.now());
        let through = (mark.sequence, last.at, last.id);
        let removed = self.storage.purge_audit(&through, &self.seal_audit(entry)).await?;
        Ok((removed > 0).then_some(removed))
    }

    /// Removes entries whose retention is over, at most once an hour.
    pub(super) async fn purge_old_audit(&self) -> Result<(), StorageError> {
        let Some(days) = self.audit.retention_days else { return Ok(()) };
        let now = self.now();
        let Retention(last) = &self.retention;
        if now.millis().saturating_sub(last.load(Ordering::Relaxed)) < RETENTION_INTERVAL_MILLIS {
            return Ok(());
        }
        let before = now.plus_millis(-i64::from(days) * 86_400_000);
        self.purge_audit(&Actor::Operator("audit_retention".to_owned()), None, before).await?;
        last.store(now.millis(), Ordering::Relaxed);
        Ok(())
    }
}

/// Tells an entry that has another position from a changed one.
fn located(
    mut broken: ChainBreak,
    entry: &ChainedEntry,
    following: &[ChainedEntry],
    follows: impl Fn(ChainHead) -> bool,
) -> ChainBreak {
    let stands_elsewhere = || {
        following.iter().filter_map(|other| other.link.as_ref()).any(|other| {
            let head = |sequence| ChainHead { sequence, mac: other.mac };
            follows(head(other.sequence)) || follows(head(other.sequence - 1))
        })
    };
    if broken.problem == ChainProblem::Changed && broken.entry == Some(entry.id) && stands_elsewhere() {
        broken.problem = ChainProblem::OutOfOrder;
    }
    broken
}
