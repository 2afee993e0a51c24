//! The contact: a person in the CRM of one agent (contract 2.1).

mod fields;
mod keys;
mod record;
mod shared;

pub use fields::{ContactFields, Field};
pub use keys::{ContactKeys, SearchTerm, UniqueValue};
pub use record::{Contact, ContactRef, Preview};
pub use shared::SharedContact;
