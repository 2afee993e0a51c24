//! Every endpoint, one file each.

mod contacts;
mod description;
mod extraction;
mod health;
