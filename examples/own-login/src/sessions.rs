//! The open sessions: which token belongs to which user, and until when.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openapi_core::ports::{Clock, IdGenerator};
use openapi_core::values::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use crate::session::Session;

/// The lifetime of a session: a working day.
pub const LIFETIME_MILLIS: i64 = 8 * 3_600_000;

/// The maximum number of sessions; a larger host stores them in its database.
const MOST: usize = 100_000;

/// The open sessions, in memory.
pub struct Sessions {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    open: Mutex<HashMap<String, (Session, Timestamp)>>,
}

impl Sessions {
    /// An empty set of sessions.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        Sessions { clock, ids, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, (Session, Timestamp)>> {
        self.open.lock()
    }

    /// Begins a session and returns its token: 32 random bytes. `None` if there are too many sessions.
    pub fn begin(&self, session: Session) -> Option<String> {
        let mut bytes = [0; 32];
        self.ids.fill(&mut bytes);
        let (token, now) = (URL_SAFE_NO_PAD.encode(bytes), self.clock.now());
        let mut open = self.open();
        open.retain(|_, (_, ends_at)| *ends_at > now);
        if open.len() >= MOST {
            return None;
        }
        open.insert(token.clone(), (session, now.plus_millis(LIFETIME_MILLIS)));
        Some(token)
    }

    /// The user of a token, while the session lasts.
    pub fn of(&self, token: &str) -> Option<Session> {
        let open = self.open();
        let (session, ends_at) = open.get(token)?;
        (*ends_at > self.clock.now()).then(|| session.clone())
    }

    /// Ends a session.
    pub fn end(&self, token: &str) {
        self.open().remove(token);
    }
}
