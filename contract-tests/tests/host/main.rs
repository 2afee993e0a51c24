//! Nothing is forced on a host: what the library asks of the system, and what its handlers are.

mod cancellation;
mod handlers;
mod system_calls;
