//! The service of the widget. `operations` is the table of its calls; each of the others is one service or what several
//! of them share.

mod access;
mod admission;
mod agent_view;
mod agents;
mod api;
mod call;
mod errors;
mod leads;
mod locator;
mod operations;
mod replies;
mod repository;
mod session;
mod streams;
mod turns;
mod uploads;
mod visitors;

pub use api::WidgetApi;
