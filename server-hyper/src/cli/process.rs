//! The runtime and the log of a command that runs in this process.

use std::sync::Arc;

use tracing_subscriber::filter::Targets;

use crate::config::Config;
use crate::config::layers::Origin;
use crate::config::typed::Logging;
use crate::error::CliError;
use crate::logging::{self, LogWriter};

/// Runs a future to its end.
pub fn on_runtime<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(work);
    // Background tasks, such as closed connections, do not delay the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    result
}

/// The log of a command; flushed at its end.
pub struct Logged(Arc<LogWriter>);

impl Logged {
    /// The log of `serve`.
    pub fn install_for_service(config: &Config) -> Result<Self, CliError> {
        Ok(Logged(logging::install(&Logging::of(config)?)))
    }

    pub fn sink(&self) -> &LogWriter {
        &self.0
    }

    pub fn install(config: &Config) -> Result<Self, CliError> {
        let mut logging = Logging::of(config)?;
        if config.value("log").origin == Origin::Default {
            // A command prints its own result.
            logging.filter = Targets::new().with_default(tracing::Level::WARN);
        }
        Ok(Logged(logging::install(&logging)))
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.0.flush();
    }
}
