//! Forms (contract 2.3, 3, 4.4).

mod agreement;
mod batch;
mod definitions;
mod files;
mod histories;
mod isolation;
mod latest;
mod list;
mod locking;
mod model;
mod operator;
mod paths;
mod precedence;
mod processes;
mod story;
mod submit;
mod superseding;
mod support;
mod transitions;
mod typed_calls;
mod types;
mod update;
mod values;
