//! Waits for the end of an erasure, and says how far it has come.

use openapi_core::admin::Admin;
use openapi_core::storage::ErasureState;

use super::context::CommandContext;
use crate::error::CliError;

/// Returns when no file of the store contains what was erased.
///
/// # Errors
/// When that is not so after a minute; the store goes on by itself.
pub async fn wait(context: &CommandContext, platform: &dyn Admin) -> Result<(), CliError> {
    match platform.complete_erasures().await? {
        ErasureState::Final => {
            context.info("the erasure is final: the store has no copy left; earlier backups do");
            Ok(())
        }
        ErasureState::LeftToDatabase => {
            context.info(
                "erased from the store; the database server removes its own copies (vacuum, logs, replicas, backups) \
                 on its own schedule",
            );
            Ok(())
        }
        ErasureState::Pending => Err(CliError::new(
            "erased, but a long read, such as a running backup, keeps a copy in the store's write-ahead log; the server \
             removes the copy when the read has ended",
        )),
    }
}
