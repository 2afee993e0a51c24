//! Contacts (contract 2.1, 4.2).

mod archive;
mod conditional;
mod create;
mod custom_fields;
mod declared_fields;
mod definition;
mod dry_run;
mod email_and_phone;
mod external_id;
mod fields;
mod get;
mod idempotency;
mod list;
mod operator_schema;
mod paging;
mod schema;
mod search;
mod sensitive_fields;
mod unique_fields;
mod update;
mod upsert;
