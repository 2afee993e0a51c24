//! A store with pauses, outages and acknowledgements that get lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract_tests::backend::wait;
use conversations::storage::ConversationStorage;
use openapi_core::storage::{Result, StorageErrorKind};
use testkit::delegate::Delegate;

use crate::executor::{Process, Simulation};

/// The faults that are switched on.
#[derive(Default)]
pub struct Faults {
    /// The store loses acknowledgements, the network loses messages.
    pub are_on: AtomicBool,
    /// The store is unavailable.
    pub outage: AtomicBool,
}

impl Faults {
    pub fn are_on(&self) -> bool {
        self.are_on.load(Ordering::Relaxed)
    }
}

/// The connection of a server to the store.
pub struct Disk {
    pub process: Process,
    pub inner: Arc<dyn ConversationStorage>,
    pub simulation: Simulation,
    pub faults: Arc<Faults>,
}

impl Delegate for Disk {
    type Inner = dyn ConversationStorage;

    fn inner(&self) -> &Self::Inner {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.simulation.note(format!("  server {} {method}", self.process));
        self.simulation.pause().await;
        if self.faults.outage.load(Ordering::Relaxed) {
            return Err(StorageErrorKind::Unavailable.into());
        }
        // A call has its effect at one instant of the simulation, also on a store with threads of its own.
        let done = wait(call);
        self.simulation.pause().await;
        if self.faults.are_on() && self.simulation.one_in(150) {
            return Err(StorageErrorKind::Unavailable.into());
        }
        done
    }
}

testkit::delegate_storage!(Disk);
