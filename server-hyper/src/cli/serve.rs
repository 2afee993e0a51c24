//! `serve` and `demo`: runs the service.

use super::context::CommandContext;
use super::demo;
use super::process::{Logged, on_runtime};
use crate::assemble::StoreUrl;
use crate::config::Config;
use crate::config::flags::ServeArgs;
use crate::config::typed::{Names, Serving};
use crate::error::CliError;

/// Examples of `serve`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server serve\n  \
    openapi-server serve --listen 127.0.0.1:8080 --store sqlite:./data/openapi.db --log info,access=off\n  \
    openapi-server serve --config openapi.toml\n  \
    openapi-server serve --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --public-url https://api.example.com\n  \
    openapi-server serve --listen 0.0.0.0:8080 --trusted-proxies 10.0.0.0/8 --public-url https://api.example.com\n\n\
    SIGTERM and SIGINT drain: no new connections, running requests end, exit status 0; a second signal ends at once. \
    SIGHUP reads certificate and key again.";

/// Runs the service until a signal ends it.
pub fn run(context: &CommandContext, flags: &ServeArgs, with_demo: bool) -> Result<(), CliError> {
    let mut config = Config::read(context.flags(), Some(&flags.values))?;
    if with_demo {
        // The demo also shows the widget, on a free port.
        config.default_to("widget_listen", "127.0.0.1:0");
    }
    // Report all errors in the settings before anything is opened.
    Serving::of(&config)?;
    Names::of(&config)?;
    let store = StoreUrl::parse(config.store())?;
    let log = Logged::install_for_service(&config)?;
    on_runtime(async {
        crate::serve::run::run(
            &config,
            log.sink(),
            super::run_in_server,
            async |conversations, origin, widget| {
                if with_demo {
                    let endpoints = demo::Endpoints {
                        origin,
                        widget,
                        id_segment: config.text("id_segment").unwrap_or_default(),
                    };
                    demo::prepare(context, conversations, &endpoints, &store).await?;
                } else if store.is_in_memory() {
                    tracing::warn!("the store is in memory: all data is lost when the server ends");
                }
                Ok(())
            },
        )
        .await
    })
}
