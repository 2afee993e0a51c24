//! Requests to URLs that tenants and web pages name: an implementation of [`openapi_core::ports::Outbound`] that
//! protects the operator's own network.
//!
//! - The URL is parsed once, by the rules of browsers, and only the parsed form is used: octal, hexadecimal and decimal
//!   spellings of addresses are addresses.
//! - Names of local networks are refused before they are resolved ([`Rule`]).
//! - One refused address refuses the name. The client connects to a judged address, compares the address that it
//!   reached, and resolves no second time, so a name that changes its address gains nothing.
//! - Each target of a redirect is judged like the first.
//! - Lookups of names are limited for each agent, so that an agent whose names hang stops no other one.
//! - Times and sizes are bounded. Nothing comes from the environment, and nothing is decompressed.
//!
//! ```no_run
//! use openapi_core::ports::{Outbound, OutboundRequest};
//! use outbound::{HttpOutbound, Parts, Policy};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let outbound = HttpOutbound::new(Policy::default(), Parts::system()?);
//! let response = outbound.send(OutboundRequest::new(http::Method::GET, "https://example.com/")).await?;
//! println!("{}", response.status);
//! # Ok(())
//! # }
//! ```

mod client;
mod connect;
mod exchange;
mod judge;
mod lookups;
mod pool;
mod resolve;

pub use client::{HttpOutbound, Parts, Resolved, SetupError};
pub use connect::{Dial, SystemDialer};
pub use judge::{Allowed, InvalidAllowed, Judge, Policy, Refusal, Rule, Target};
pub use resolve::{Resolve, SystemResolver};
