//! The HTTP transport: hyper, hardened. Reading order: run → listener → connection → io, framing → service → head, body,
//! responses.

pub mod access_log;
pub mod api;
pub mod body;
pub mod catch_unwind;
pub mod compress;
pub mod connection;
pub mod connection_limit;
pub mod connection_state;
pub mod docs;
pub mod drain;
pub mod framing;
pub mod head;
pub mod io;
pub mod key_rotation;
pub mod listener;
pub mod ops;
pub mod responses;
pub mod run;
pub mod service;
pub mod texts;
pub mod tls;
pub mod widget;
