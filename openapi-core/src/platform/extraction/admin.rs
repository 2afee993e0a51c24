//! The operator's actions on credits and retained documents.

use std::future::poll_fn;

use crate::access::Actor;
use crate::admin::{AdminError, CreditChange};
use crate::audit::AuditAction;
use crate::credits::{CreditAccount, CreditEntry, CreditEntryKind, CreditPool, MAX_CREDITS};
use crate::json::{Json, Object};
use crate::platform::Platform;
use crate::platform::errors::lost_race;
use crate::ports::BlobKey;
use crate::seal;
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{CreditWrite, Effects, StorageErrorKind, StoredDocument};
use crate::values::{AgentId, FileId};

/// The account of an agent; one that nothing is charged to where there is none.
pub(in crate::platform) async fn credits(
    platform: &Platform,
    agent: &AgentId,
) -> Result<CreditAccount, AdminError> {
    platform.living_agent(agent).await?;
    let none = CreditAccount { unlimited: true, ..CreditAccount::default() };
    let mut account = platform.storage.credit_account(agent).await?.unwrap_or(none);
    // What a server that is gone had set aside is back, whenever that is stored.
    account.release_expired(platform.now());
    Ok(account)
}

/// Changes the account of an agent, with an entry in its ledger where a balance changed.
pub(in crate::platform) async fn change_credits(
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    change: &CreditChange,
) -> Result<CreditAccount, AdminError> {
    refuse(change)?;
    retry_on_conflict(lost_race, |_| async move {
        let mut account = credits(platform, agent).await?;
        let now = platform.now();
        let before = account.clone();
        let moved = apply(&mut account, change)?;
        account.version += 1;
        let id = platform.ports.ids.platform_id(now);
        let entry = moved.map(|Moved { kind, plan, top_up, note }| CreditEntry {
            id,
            at: now,
            kind,
            plan,
            top_up,
            available: account.available(),
            actor: by.clone(),
            request_id: None,
            note,
        });
        let details = details(change);
        let action = AuditAction::CreditsChange;
        let audit = platform.operator_audit(by, action, agent, agent.as_str(), &details, now);
        let write = CreditWrite {
            at: now,
            account: Some(account.clone()),
            entry,
            document: None,
            effects: Effects::audited(audit).with_events(platform.credits_events(by, &before, &account, now)),
        };
        let saved = platform.storage.save_credits(agent, &write).await;
        Ok(saved.retry_on(&[StorageErrorKind::Stale])?.map(|()| account))
    })
    .await
}

/// How a change moves the balances.
struct Moved {
    kind: CreditEntryKind,
    plan: i64,
    top_up: i64,
    note: Option<String>,
}

fn apply(account: &mut CreditAccount, change: &CreditChange) -> Result<Option<Moved>, AdminError> {
    let (kind, pool, credits, note) = match change {
        CreditChange::Unlimited(unlimited) => {
            account.unlimited = *unlimited;
            return Ok(None);
        }
        CreditChange::LowAt(threshold) => {
            account.low_at = Some(*threshold).filter(|threshold| *threshold > 0);
            return Ok(None);
        }
        CreditChange::Rates { per_page, characters_per_page } => {
            let rates = &mut account.rates;
            rates.per_page = per_page.unwrap_or(rates.per_page);
            rates.characters_per_page = characters_per_page.unwrap_or(rates.characters_per_page);
            return Ok(None);
        }
        CreditChange::Set { pool, credits, note } => (CreditEntryKind::Set, *pool, *credits, note),
        CreditChange::TopUp { credits, note } => {
            let sum = account.top_up.saturating_add(*credits);
            if sum > MAX_CREDITS {
                return Err(AdminError::Refused(format!("a balance may be at most {MAX_CREDITS} credits")));
            }
            (CreditEntryKind::TopUp, CreditPool::TopUp, sum, note)
        }
    };
    // A balance that somebody sets is to count.
    account.unlimited = false;
    let moved = account.set(pool, credits);
    let (plan, top_up) = match pool {
        CreditPool::Plan => (moved, 0),
        CreditPool::TopUp => (0, moved),
    };
    Ok(Some(Moved { kind, plan, top_up, note: note.clone() }))
}

fn refuse(change: &CreditChange) -> Result<(), AdminError> {
    let refused = |text: String| Err(AdminError::Refused(text));
    match change {
        CreditChange::Set { credits, .. } | CreditChange::TopUp { credits, .. } if *credits > MAX_CREDITS => {
            refused(format!("a balance may be at most {MAX_CREDITS} credits"))
        }
        CreditChange::TopUp { credits: 0, .. } => refused("a top-up needs at least 1 credit".to_owned()),
        CreditChange::Rates { characters_per_page: Some(0), .. } => {
            refused("a page of text needs at least 1 character".to_owned())
        }
        CreditChange::Rates { per_page: Some(1_000_001..), .. } => {
            refused("a page may cost at most 1000000 credits".to_owned())
        }
        CreditChange::Set { note, .. } | CreditChange::TopUp { note, .. }
            if note.as_ref().is_some_and(|note| note.chars().count() > 500) =>
        {
            refused("a note may have at most 500 characters".to_owned())
        }
        _ => Ok(()),
    }
}

/// What the audit log says of a change.
fn details(change: &CreditChange) -> Object {
    let mut details = Object::new();
    let number = |credits: u64| Json::Number(credits.into());
    match change {
        CreditChange::Set { pool, credits, .. } => {
            let pool = match pool {
                CreditPool::Plan => "plan",
                CreditPool::TopUp => "topUp",
            };
            details.insert("set", pool.into());
            details.insert("credits", number(*credits));
        }
        CreditChange::TopUp { credits, .. } => {
            details.insert("toppedUp", number(*credits));
        }
        CreditChange::Rates { per_page, characters_per_page } => {
            for (name, value) in [("perPage", per_page), ("charactersPerPage", characters_per_page)] {
                if let Some(value) = value {
                    details.insert(name, number((*value).into()));
                }
            }
        }
        CreditChange::LowAt(threshold) => {
            details.insert("lowAt", number(*threshold));
        }
        CreditChange::Unlimited(unlimited) => {
            details.insert("unlimited", Json::Bool(*unlimited));
        }
    }
    details
}

/// A retained document and its content.
pub(in crate::platform) async fn document(
    platform: &Platform,
    agent: &AgentId,
    id: FileId,
) -> Result<(StoredDocument, Vec<u8>), AdminError> {
    platform.living_agent(agent).await?;
    let not_found = || AdminError::NotFound { what: "document", id: id.to_string() };
    let document = platform.storage.document(agent, id).await?.ok_or_else(not_found)?;
    let key = BlobKey::new(agent.clone(), id);
    let mut stream = platform.ports.blobs.read(&key, 0..document.stored_size).await?;
    let mut sealed = Vec::new();
    while let Some(bytes) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await.transpose()? {
        sealed.extend_from_slice(&bytes);
    }
    let content = seal::open(&platform.ports.server_keys, &key, &sealed)
        .map_err(|why| AdminError::Conflict(format!("the document cannot be opened: {why}")))?;
    Ok((document, content))
}
