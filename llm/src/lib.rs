//! A client for language-model endpoints that speak the chat-completions protocol.
//!
//! An operator describes an endpoint once ([`EndpointConfig`]). A [`Client`] sends a [`Request`] either for a whole
//! [`Completion`] ([`Client::complete`]) or for a stream of chunks ([`Client::stream`]).
//!
//! | Concern | Behaviour |
//! |---|---|
//! | Parameters that an endpoint rejects | The client drops or renames the rejected parameter, sends the request again and remembers what the endpoint accepted ([`Structured`] lists the ways to ask for JSON). |
//! | Overload and network failures | [`RetryPolicy`] decides: exponential backoff with jitter, or what `Retry-After` asks for. |
//! | Repeated failures | [`CircuitBreaker`] rejects calls for half a minute after five failures within a minute. |
//! | Size | Each event and each response has a limit in bytes. |
//! | Secrets | No error and no `Debug` output contains the API key, the query of the URL, the request or the response. |
//!
//! The client runs on tokio. It follows no redirects and uses no proxy.
//!
//! # `Retry-After`
//!
//! The header is either a number of seconds, fractions included, or a date. A date is compared with the `Date` header of
//! the same response, so the clocks of client and server need not agree. A header that cannot be read, or a date
//! without a `Date`, counts as no header. A client waits for as long as the header says, plus up to a quarter so that
//! clients that failed together do not return together; it does not wait longer than [`RetryPolicy::max_wait`] or past
//! the deadline of the call. In those cases the call fails at once, and [`Error::Transient`] reports the wait.

mod budget;
mod circuit_breaker;
mod client;
mod config;
mod error;
mod request;
mod response;
mod retry;
mod sse;
mod stream;
#[cfg(feature = "stub")]
pub mod stub;

pub use budget::Budget;
pub use circuit_breaker::CircuitBreaker;
pub use client::Client;
pub use config::{ApiKey, ConfigError, EndpointConfig, Price, Structured};
pub use error::Error;
pub use request::{Image, JsonFormat, Message, Parameter, Request, Role, Tool};
pub use response::{Completion, StreamChunk, ToolCallPiece, Usage};
pub use retry::RetryPolicy;
pub use stream::ChunkStream;
pub use url::Url;
