//! Forms over the storage ports, and the operator's actions on templates.

mod admin;
mod batch;
mod read;
mod submit;
mod update;

pub(super) use admin::{create_template, edit_template, set_template_status};
pub(super) use batch::submit_all;
pub(super) use read::{find, latest, list, list_templates};
pub(super) use submit::submit;
pub(super) use update::update;
