//! The widget's protocol as a service.

mod agent_view;
mod api;
mod begin;
mod call;
mod context;
mod errors;
mod events;
mod job;
mod leads;
mod response;
mod resume;
mod run;
mod sent;
mod settings;
mod state;
mod store;
mod target;
mod turns;
mod uploads;
mod usage;
mod usages;
mod visits;

pub use api::WidgetApi;
