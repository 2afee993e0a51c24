//! Settings of the API, and what a server passes to it with a request.

use std::net::IpAddr;

use crate::limits::AddressLimits;
use crate::service_info::ServiceInfo;

/// Settings of the API; the defaults are the contract's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The names of the service.
    pub service_info: ServiceInfo,
    /// The largest JSON body, in bytes (1 MiB).
    pub max_json_bytes: u64,
    /// The largest file of a contact, in bytes (25 MiB); at most [`Settings::MAX_FILE_BYTES`].
    pub max_file_bytes: u64,
    /// The largest document of an extraction, in bytes (20 MiB).
    pub max_document_bytes: u64,
    /// The longest path and query, in bytes (8 KiB).
    pub max_uri_bytes: usize,
    /// The largest header block, in bytes of names and values (16 KiB).
    pub max_header_bytes: usize,
    /// Limits per address.
    pub address_limits: AddressLimits,
    /// Origins of web pages that may call the API from a browser; `*` for all. None by default.
    pub cors_origins: Vec<String>,
    /// Whether replies carry `Strict-Transport-Security`: the service itself terminates TLS.
    pub strict_transport_security: bool,
    /// Whether `{origin}/openapi.json` exists.
    pub serves_document: bool,
}

impl Settings {
    /// The most that [`Settings::max_file_bytes`] may be: 1 GiB (contract 9).
    pub const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;

    /// The contract's settings under these names.
    #[must_use]
    pub fn new(service_info: ServiceInfo) -> Self {
        Settings {
            service_info,
            max_json_bytes: 1024 * 1024,
            max_file_bytes: 25 * 1024 * 1024,
            max_document_bytes: 20 * 1024 * 1024,
            max_uri_bytes: 8 * 1024,
            max_header_bytes: 16 * 1024,
            address_limits: AddressLimits::default(),
            cors_origins: Vec::new(),
            strict_transport_security: false,
            serves_document: true,
        }
    }
}

/// The address a request came from. A server puts it into the extensions of the request: the socket's address, or what
/// a trusted proxy says. Set it: without it all clients share the address `0.0.0.0`, and so one limit of failed
/// authentications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// The error with which a server's body ends when it was not received in time; answered 408 REQUEST_TIMEOUT. Any other
/// error of a body means that the client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request body was not received in time")]
pub struct ReceiptTimeout;
