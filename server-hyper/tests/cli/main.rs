//! The real binary on temporary stores.

#![expect(
    clippy::disallowed_methods,
    reason = "tests set the environment of the commands they run, and wait"
)]
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod agent_settings;
mod chat_models;
#[cfg(unix)]
mod console;
mod console_listener;
mod console_stream;
mod contact_records;
mod contacts;
mod conversations;
mod copy;
mod corrections;
#[cfg(target_os = "linux")]
mod document_sandbox;
mod engines;
mod events;
mod examples;
mod extraction;
mod file_client;
mod files;
mod fleet;
mod fleet_widget;
mod forms;
mod import_files;
mod insights;
mod jobs;
mod knowledge;
mod mail;
mod model_endpoint;
mod monitoring;
mod object_store;
mod operators;
mod outbound;
#[cfg(target_os = "linux")]
mod power_cuts;
#[cfg(unix)]
mod read_only;
mod s3_server;
mod service;
mod service_tokens;
mod settings;
mod sign_in;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod visitor;
mod webhooks;
#[cfg(target_os = "linux")]
mod websites;
mod widget_abuse;
mod widget_connections;
mod widget_listener;
mod widget_protection;
