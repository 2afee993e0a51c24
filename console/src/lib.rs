//! The console API: what operators do, as one table of typed operations (docs/console-api.md).
//!
//! A dashboard, a host application and scripts call the same operations. They share one validation, one check of roles,
//! one audit trail and one set of errors.
//!
//! [`Console`] is a `tower_service::Service` over [`Conversations`](conversations::Conversations) and their platform. A
//! host application mounts it below a path of its own and puts an [`Operator`] whom it has signed in into the extensions
//! of each request; the network cannot carry one. With [`AccountSettings`] operators sign in to the console itself.
//! Reading order: `capability` → `grants` → `state` → `context` → `operation` → `operations` → `service` → `auth` → `stream`.

mod auth;
mod call;
mod capability;
mod command;
mod context;
mod errors;
mod forward;
mod grants;
pub mod imports;
mod input;
mod live;
mod oidc;
mod operation;
pub mod operations;
mod operator;
mod pause;
mod reference;
mod replays;
mod service;
mod settings;
mod state;
mod stream;

pub use auth::records::server_keys_of_codes;
pub use auth::tokens::server_keys_of_tokens;
pub use auth::totp::totp_code;
pub use call::SignInOutcome;
pub use capability::{Capability, Reach, Role};
pub use command::{Command, CommandAnswer, CommandRefused};
pub use context::Context;
pub use grants::{Grant, Grants};
pub use input::{Input, Member, Position};
pub use live::{EventPages, LiveStreams};
pub use oidc::provider::server_keys_of_providers;
pub use operation::{Access, Entry, InputMember, Landing, Live, Metadata, Operation, Traits};
pub use operations::OPERATIONS;
pub use operator::Operator;
pub use reference::{openapi, reference, typescript};
pub use service::Console;
pub use settings::{API_PATH, AccountSettings, ConsoleSettings, DocumentReader, PasswordCost, WidgetTags};
pub use state::Inner;
