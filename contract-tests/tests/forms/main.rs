//! Forms (contract 2.3, 3, 4.4).

mod latest;
mod locking;
mod story;
mod superseding;
mod support;
mod transitions;
mod update;
