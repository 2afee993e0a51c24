//! The HTTP transport: hyper, hardened. Reading order: run → listener → connection → io, framing → service → head, body,
//! own.

pub mod access_log;
pub mod body;
pub mod compress;
pub mod connection;
pub mod docs;
pub mod drain;
pub mod framing;
pub mod head;
pub mod io;
pub mod link;
pub mod listener;
pub mod ops;
pub mod own;
pub mod panic;
pub mod places;
pub mod platforms;
pub mod run;
pub mod service;
pub mod texts;
pub mod tls;
pub mod web;
pub mod widget;
