//! The port through which e-mail leaves.

use async_trait::async_trait;
use openapi_core::values::Email;

/// An e-mail to a visitor. Its texts have no line breaks where a header has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMail {
    /// What makes the message recognisable when it is sent again: the part of its `Message-ID` before the `@`.
    pub id: String,
    /// The recipient.
    pub to: Email,
    /// The name of the sender.
    pub from_name: String,
    /// The subject.
    pub subject: String,
    /// The plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
    /// The address of the page that stops such e-mail, which also takes the one-click requests of RFC 8058.
    pub unsubscribe_url: Option<String>,
}

/// Why an e-mail was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// It may be sent later.
    #[error("{0}")]
    Temporary(String),
    /// It is refused for good.
    #[error("{0}")]
    Permanent(String),
}

/// Sends e-mail.
#[async_trait]
pub trait Mailer: Send + Sync {
    /// Hands an e-mail to a server, which is responsible for it from then on.
    ///
    /// # Errors
    /// When no server has taken it, or it is unknown whether one has.
    async fn send(&self, mail: &OutgoingMail) -> Result<(), MailError>;
}

/// What became of an attempt to send an e-mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailOutcome {
    /// A server has taken it.
    Sent,
    /// It failed and is sent again later.
    Retried,
    /// It was refused for good.
    Refused,
    /// It failed for the last time.
    GivenUp,
}

impl MailOutcome {
    /// All of them.
    pub const ALL: [MailOutcome; 4] =
        [MailOutcome::Sent, MailOutcome::Retried, MailOutcome::Refused, MailOutcome::GivenUp];

    /// The word in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            MailOutcome::Sent => "sent",
            MailOutcome::Retried => "retried",
            MailOutcome::Refused => "refused",
            MailOutcome::GivenUp => "given_up",
        }
    }
}
