//! The HTTP transport: hyper, hardened. Reading order: run → accepting → listener → connection_limit → connection → io,
//! framing, http2 → service → head, body, responses.

pub mod accepting;
pub mod access_log;
pub mod api;
pub mod body;
pub mod catch_unwind;
pub mod compress;
pub mod connection;
pub mod connection_limit;
pub mod connection_state;
pub mod console;
mod crawler;
pub mod docs;
pub mod drain;
pub mod flag;
pub mod framing;
pub mod head;
pub mod http2;
pub mod io;
pub mod key_rotation;
pub mod listener;
mod mail_pages;
mod mailing;
pub mod ops;
pub mod pages;
mod refusals;
pub mod responses;
pub mod run;
pub mod service;
pub mod texts;
pub mod tls;
pub mod widget;
