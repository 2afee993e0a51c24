//! Single reads: those that wait at the same time share a command.
//!
//! A command costs the server and the driver several times what one document more within it costs. So only a few
//! commands are under way at once; what is asked for meanwhile goes with the next one. A read that is alone is sent at
//! once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mongodb::bson::{Document, RawDocumentBuf, doc};
use openapi_core::contacts::Contact;
use openapi_core::values::{AgentId, ContactId};
use tokio::sync::oneshot;

use super::{row, without_keys};
use crate::connect::Handle;
use crate::document::{Fields, key};
use crate::error::{Fault, Result};
use crate::ledger::{self, ledger_key};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads};

/// How many commands are under way at the most.
const LANES: usize = 3;

/// The most contacts of one command.
const MOST: usize = 64;

/// A read that waits.
struct Wanted {
    agent: AgentId,
    contact: ContactId,
    reply: oneshot::Sender<Result<Option<RawDocumentBuf>>>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Wanted>,
    lanes: usize,
}

struct Shared {
    handle: Handle,
    state: Mutex<State>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads of single contacts.
pub(crate) struct Points {
    shared: Arc<Shared>,
}

impl Points {
    pub(crate) fn new(handle: Handle) -> Self {
        Points { shared: Arc::new(Shared { handle, state: Mutex::default() }) }
    }

    /// One contact by its id.
    pub(crate) async fn contact(&self, agent: &AgentId, contact: ContactId) -> Result<Option<Contact>> {
        let (reply, found) = oneshot::channel();
        let begins = {
            let mut state = self.shared.state();
            state.waiting.push(Wanted { agent: agent.clone(), contact, reply });
            let begins = state.lanes < LANES;
            state.lanes += usize::from(begins);
            begins
        };
        if begins {
            let lane = Lane { shared: Arc::clone(&self.shared), is_over: false };
            tokio::spawn(lane.run());
        }
        let found = found.await.map_err(|_| Fault::Corrupt("a read ended without an outcome".to_owned()))?;
        found?.map(|document| row::contact(agent, &document)).transpose()
    }
}

/// A right to have a command under way.
struct Lane {
    shared: Arc<Shared>,
    is_over: bool,
}

impl Lane {
    /// What the next command brings; none when nothing waits, and then the right is given back.
    fn next(&mut self) -> Option<Vec<Wanted>> {
        let mut state = self.shared.state();
        let count = state.waiting.len().min(MOST);
        if count == 0 {
            state.lanes -= 1;
            self.is_over = true;
            return None;
        }
        Some(state.waiting.drain(..count).collect())
    }

    async fn run(mut self) {
        while let Some(batch) = self.next() {
            let batch: Vec<Wanted> = batch.into_iter().filter(|wanted| !wanted.reply.is_closed()).collect();
            if batch.is_empty() {
                continue;
            }
            let handle = &self.shared.handle;
            let found = handle.read(fetch(handle, &batch)).await;
            for wanted in batch {
                let outcome = match &found {
                    Ok(found) => Ok(found.of(&wanted)),
                    Err(fault) => Err(fault.again()),
                };
                // Nobody listens when the future was dropped.
                let _ = wanted.reply.send(outcome);
            }
        }
    }
}

impl Drop for Lane {
    /// After a panic, or when the runtime ends: those that wait learn of it, and the next one begins anew.
    fn drop(&mut self) {
        if !self.is_over {
            let mut state = self.shared.state();
            state.lanes -= 1;
            state.waiting.clear();
        }
    }
}

/// What a command has brought.
#[derive(Default)]
struct Found {
    living: HashSet<AgentId>,
    contacts: HashMap<(AgentId, ContactId), RawDocumentBuf>,
}

impl Found {
    fn of(&self, wanted: &Wanted) -> Option<RawDocumentBuf> {
        let place = (wanted.agent.clone(), wanted.contact);
        self.contacts.get(&place).filter(|_| self.living.contains(&wanted.agent)).cloned()
    }
}

async fn fetch(handle: &Handle, batch: &[Wanted]) -> Result<Found> {
    let agents: HashSet<&AgentId> = batch.iter().map(|wanted| &wanted.agent).collect();
    let contacts: HashSet<(&AgentId, ContactId)> =
        batch.iter().map(|wanted| (&wanted.agent, wanted.contact)).collect();
    let names: Vec<&str> = agents.iter().map(|agent| agent.as_str()).collect();
    let ledgers = agents.iter().map(|agent| ledger_key(agent));
    let ids: Vec<Document> =
        ledgers.chain(contacts.iter().map(|(agent, id)| key(agent, id.as_bytes()))).collect();
    let find = Find {
        limit: ids.len() as u32,
        // The agents are named once more for routers of sharded clusters.
        filter: doc! { "_id": { "$in": ids }, "_id.agent": { "$in": names } },
        projection: Some(without_keys()),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let mut found = Found::default();
    for document in Reads::alone(handle).find(collection::CONTACTS, find).await? {
        let agent = Fields(&document).agent()?;
        if !ledger::is_ledger(&document)? {
            let id = ContactId::from_bytes(Fields(&document).id()?);
            found.contacts.insert((agent, id), document);
        } else if !ledger::is_deleted(&document)? {
            found.living.insert(agent);
        }
    }
    Ok(found)
}
