//! `mail`: e-mail to visitors.

use clap::{Args, Subcommand};
use conversations::mail::{Mailer, OutgoingMail};
use openapi_core::values::Email;
use serde_json::json;

use super::context::CommandContext;
use crate::config::Config;
use crate::config::flags::MailArgs;
use crate::config::mail::mailer_of;
use crate::config::typed::Names;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Mail {
    /// Send a message to an address, with the settings of the server
    #[command(after_help = "Examples:\n  \
        openapi-server mail test you@example.com --config openapi.toml\n  \
        openapi-server mail test you@example.com --smtp-host smtp.example.com --mail-from support@example.com --json\n\n\
        Exit status 1 means that the SMTP server has not taken the message; the error says why.")]
    Test(Test),
}

#[derive(Debug, Args)]
pub struct Test {
    /// The address
    address: String,
    #[command(flatten)]
    settings: MailArgs,
}

impl Mail {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let Mail::Test(test) = self;
        let config = Config::read(context.flags(), Some(&test.settings.values))?;
        let to: Email =
            test.address.parse().map_err(|_| CliError::usage(format!("'{}' is no address", test.address)))?;
        let mailer = mailer_of(&config)?
            .ok_or_else(|| CliError::usage("there is no SMTP server; set smtp_host and mail_from"))?;
        let name = Names::of(&config)?.service_name;
        let now = openapi_core::ports::Clock::now(&crate::ports::SystemClock);
        let text = format!("{name} can send e-mail to visitors with these settings.");
        let mail = OutgoingMail {
            id: format!("test.{}", now.millis()),
            to,
            subject: format!("Test of {name}"),
            html: format!(
                "<!doctype html>\n<html lang=\"en\">\n<title>Test</title>\n<p>{text}</p>\n</html>\n"
            ),
            text: format!("{text}\n"),
            from_name: name,
            unsubscribe_url: None,
        };
        let sent = context.run(async { Ok(mailer.send(&mail).await) })?;
        match sent {
            Ok(()) if context.json() => context.print_json(&json!({ "taken": true })),
            Ok(()) => context.print("the SMTP server has taken the message\n"),
            Err(error) => Err(CliError::new(format!(
                "the SMTP server has not taken the message: {error}; check smtp_host, smtp_port, smtp_tls and the password"
            ))),
        }
    }
}
