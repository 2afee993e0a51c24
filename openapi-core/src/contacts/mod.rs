//! The contact: a person in the CRM of one agent (contract 2.1).

mod fields;
mod keys;
pub(crate) mod phone_forms;
mod record;
mod shared;

#[cfg(test)]
pub(crate) use fields::READ_ONLY;
pub(crate) use fields::default_source;
pub use fields::{ContactChanges, NewContact};
pub use fields::{ContactFields, Field};
pub use keys::{ContactKeys, SearchTerm, UniqueValue};
pub use record::{Contact, ContactRef, Preview};
pub use shared::SharedContact;
