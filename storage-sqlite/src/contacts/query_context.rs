//! What the steps of a query share.

use crate::error::Result;
use crate::readers::CancellationToken;
use crate::thresholds::Thresholds;

/// What every step of a query needs besides its arguments.
#[derive(Clone, Copy)]
pub(super) struct QueryContext<'a> {
    pub(super) thresholds: &'a Thresholds,
    pub(super) cancelled: &'a CancellationToken<'a>,
}

impl QueryContext<'_> {
    /// # Errors
    /// When the caller has dropped the future of the query.
    pub(super) fn check(&self) -> Result<()> {
        self.cancelled.check()
    }
}
