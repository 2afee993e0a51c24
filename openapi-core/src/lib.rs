//! The Open API of AI chat agents with a built-in CRM, as a library: requests, validation, envelope, keys, limits,
//! service and storage ports, independent of any server, database or async runtime.
//!
//! A host platform holds an [`api::Api`]: `http::Request` in, `http::Response` out. There are two ways to build one:
//!
//! - **Over a storage crate**: [`platform::Platform`] implements the whole service over the storage ports
//!   ([`storage::Storage`]); the crate `storage-memory` is a complete backend for tests and sandboxes.
//! - **Over your own CRM**: implement [`service::OpenApiService`]; the crate provides HTTP, validation, envelope,
//!   keys, limits and the OpenAPI document.
//!
//! ```
//! use std::sync::Arc;
//! use openapi_core::access::Actor;
//! use openapi_core::admin::{Admin, NewAgent, NewKey};
//! use openapi_core::api::Settings;
//! use openapi_core::service_info::ServiceInfo;
//! use openapi_core::platform::{Platform, Ports};
//! use openapi_core::server_keys::{ServerKey, ServerKeys};
//! use storage_memory::MemoryStorage;
//!
//! # pollster::block_on(async {
//! let keys = ServerKeys::new(ServerKey::new(&[7; 32]), vec![]);
//! let service_info = ServiceInfo::new("https://api.example.com")?;
//! let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), Ports::system(keys), service_info.clone()));
//! let api = platform.api(Settings::new(service_info));
//!
//! // What an operator does once: an agent and a key for it.
//! let by = Actor::Operator("setup".to_owned());
//! let agent = platform.create_agent(&by, NewAgent::new("Support".parse()?)).await?;
//! let key = NewKey::new(agent.id.clone(), "First key".parse()?, "contacts:all".parse()?);
//! let issued = platform.create_key(&by, key).await?;
//!
//! // What a caller does.
//! let request = http::Request::post(format!("/v1/open/contacts/chatbots/{}", agent.id))
//!     .header("X-API-Key", issued.key.api_key.as_str())
//!     .header("X-API-Secret", issued.secret.expose())
//!     .header("Content-Type", "application/json")
//!     .body(http_body_util::Full::new(bytes::Bytes::from(r#"{"primaryEmail":"zoe@example.com"}"#)))?;
//! let response = api.handle(request).await;
//! assert_eq!(response.status(), 201);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Features
//! - `system`: [`ports::SystemClock`](ports) and [`ports::SystemIds`](ports), the clock and the randomness of the
//!   machine.
//!
//! Nothing happens without the host: no thread, socket, file, environment variable or global of this crate's own.

pub mod access;
pub mod admin;
pub mod agents;
pub mod api;
pub mod audit;
pub mod auth;
pub mod contacts;
pub mod credits;
pub mod endpoints;
pub mod events;
pub mod extraction;
pub mod files;
pub mod forms;
pub mod limits;
pub mod openapi;
pub mod operation;
pub mod platform;
pub mod ports;
pub mod reply;
pub mod request;
pub mod schema;
pub mod seal;
pub mod server_keys;
pub mod service;
pub mod service_info;
pub mod storage;

pub use ::values::{self, json, validation};
