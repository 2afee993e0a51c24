//! Access: keys, secrets, permissions, and who is calling (contract 7).

mod actor;
mod api_key;
mod key;
mod permission;

pub use actor::{Actor, Caller};
pub use api_key::{ApiKey, ApiKeyPrefix, ApiSecret, SECRET_LENGTH};
pub use key::{AllowedAddress, Key, KeyLookup, KeySelector, KeyStatus, SecretHash, StoredKey};
pub use permission::{Action, Permission, Permissions, Scope};
pub use rate_limits::RateLimits;
