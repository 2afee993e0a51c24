//! Forms (contract 2.3, 3, 4.4).

mod batch;
mod latest;
mod list;
mod locking;
mod precedence;
mod story;
mod submit;
mod superseding;
mod support;
mod transitions;
mod update;
mod values;
