//! The operator's settings of the audit log.

use std::sync::atomic::AtomicI64;

use crate::audit::OsUser;

/// The operator's settings of the audit log.
#[derive(Clone, Debug, Default)]
pub struct AuditSettings {
    /// How long entries are retained, in days; without a number for good.
    pub retention_days: Option<u32>,
    /// The user of the operating system who runs an operator's command.
    pub os_user: Option<OsUser>,
}

/// When entries were last looked for whose retention is over.
#[derive(Debug, Default)]
pub(super) struct Retention(pub(super) AtomicI64);
