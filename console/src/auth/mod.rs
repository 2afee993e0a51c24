//! Operators with accounts: how they sign in, what they sign in with, and their sessions.

pub(crate) mod caller;
pub(crate) mod challenge;
pub(crate) mod cookies;
pub(crate) mod invitations;
pub(crate) mod limits;
pub(crate) mod links;
pub(crate) mod members;
pub(crate) mod passkey;
pub(crate) mod password;
pub(crate) mod prove;
pub(crate) mod records;
pub(crate) mod recovery;
pub(crate) mod session;
pub(crate) mod token_changes;
pub(crate) mod tokens;
pub(crate) mod totp;
pub(crate) mod watch;
