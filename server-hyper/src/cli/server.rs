//! `server`: the state of the server, by the console's operations.

use ::console::Command;
use ::console::imports::cell;
use clap::Subcommand;
use http::Method;
use openapi_core::json::Json;

use super::context::CommandContext;
use super::operations;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Server {
    /// Say whether the store can be read and written, and which version answers
    #[command(
        after_help = "Examples:\n  openapi-server server health\n  openapi-server server health --json\n\n\
        With --server, it also shows that a service token works there. Exit status 1 means that the server cannot work."
    )]
    Health,
}

impl Server {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let Server::Health = self;
        operations::with(context, async |operations| {
            let health = Command {
                method: &Method::GET,
                path: "/server/health",
                query: &[],
                if_match: None,
                body: None,
            };
            let health = operations.run(health).await?.data;
            let text = |name: &str| {
                health.as_object().and_then(|members| members.get(name)).map(cell).unwrap_or_default()
            };
            let is_healthy = health.as_object().and_then(|it| it.get("isHealthy")) == Some(&Json::Bool(true));
            let state = if is_healthy { "works" } else { "cannot work" };
            let lines = [
                ("state", state.to_owned()),
                ("version", text("build")),
                ("contract", text("contractVersion")),
                ("Open API", text("publicUrl")),
                ("time", text("now")),
            ];
            context.print_record(context.json(), &health, &lines)?;
            if is_healthy { Ok(()) } else { Err(CliError::new(text("problem"))) }
        })
    }
}
