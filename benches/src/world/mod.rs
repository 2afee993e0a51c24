//! The benchmarks' environment: real ports, agents, keys, contacts.

mod caller;
mod contacts;
mod host;
mod model;
mod receiver;
mod visitors;

pub(crate) use caller::{Caller, REQUESTS_OF_A_KEY};
pub(crate) use contacts::{Person, write_of};
pub(crate) use host::{Credentials, Host, SERVER_KEY_HEX, agent_id};
pub(crate) use model::{Manner, Model};
pub(crate) use receiver::{Behaviour, Receiver};
pub(crate) use testkit::SplitMix64;
pub(crate) use visitors::{Chat, Crowd, ORIGIN};
