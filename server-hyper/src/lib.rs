//! The reference server of the Open API and the operator's command line.
//!
//! Reading order: [`config`] → [`assemble`] → [`serve`] → [`cli`].

pub mod anchors;
pub mod assemble;
pub mod cli;
pub mod config;
pub mod console;
pub mod documents;
pub mod error;
pub mod knowledge;
pub mod logging;
pub mod metrics;
pub mod ports;
pub mod private_folder;
pub mod proxies;
pub mod search;
pub mod serve;
pub mod server_keys;
pub mod signals;
pub mod text_file;
pub mod write_only;
