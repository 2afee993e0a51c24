//! Proptest strategies for values, requests and rows, valid and nearly valid.
//!
//! ```
//! use testkit::strategies;
//! use proptest::prelude::*;
//!
//! proptest!(|(fields in strategies::contact_fields())| {
//!     // Every generated request has what a create needs.
//!     prop_assert!(fields.primary_email.is_some());
//! });
//! ```

mod contacts;
mod hostile;
mod templates;
mod values;

pub use contacts::{
    contact, contact_fields, contact_list_query, custom_fields, nearly_valid_contact, schema_definition,
};
pub use hostile::{hostile, hostile_header, hostile_json, hostile_percent_encoded, hostile_text};
pub use templates::{Reach, form_data, template_definition};
pub use values::{
    agent_id, block, contact_id, date, email, external_id, json, line, number_text, phone, phone_code,
    status, tag, text, timestamp,
};
