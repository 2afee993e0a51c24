//! The CRM schema of an agent: which fields a contact has and what they take (contract 2.1.4).

mod builtin;
mod check;
mod definition;
mod field;
mod json_schema;
mod keys;
mod option;
mod pattern;
pub(crate) mod properties;
mod record;
pub mod rules;

pub use check::{CompiledSchema, Identity};
pub use field::{FieldDefinition, FieldType};
pub use option::FieldOption;
pub use pattern::{InvalidPattern, Pattern};
pub use record::ContactSchema;
