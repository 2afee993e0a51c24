//! E-mail to visitors who have left: what a person has replied, and a link that leads back to the conversation.
//!
//! A conversation that is mailed about has one job in the queue [`Mail`](openapi_core::storage::Queue::Mail), which has
//! its id. A reply schedules the job before it is stored, so no reply goes without. When the job is due,
//! [`Conversations::send_due_mail`](crate::Conversations::send_due_mail) decides what the visitor has not read, and
//! sends it through the port [`Mailer`]. The job stays as long as the conversation, because it has the limits.

mod compose;
mod escape;
mod link;
mod markdown;
mod pages;
mod port;
mod queue;
mod state;
mod texts;
mod worker;

pub use pages::{MailPages, OptOutPage};
pub use port::{MailError, MailOutcome, Mailer, OutgoingMail};
pub use worker::{MailObserver, MailParts};
