//! Messages over real connections to an SMTP server of the test.

mod messages;
mod server;
