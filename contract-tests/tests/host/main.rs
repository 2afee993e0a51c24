//! Nothing is forced on a host: the library's system calls, and the bounds of its handlers.

mod cancellation;
mod handlers;
mod system_calls;
