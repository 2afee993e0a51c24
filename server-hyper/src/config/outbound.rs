//! Settings of requests to URLs of tenants.

use ::outbound::Policy;

use super::reader::Reader;
use super::{Config, ConfigError, values};

/// The policy of a command without a server.
///
/// # Errors
/// Every invalid setting.
pub fn policy_of(config: &Config) -> Result<Policy, ConfigError> {
    let mut reader = Reader::new(config);
    let policy = policy(&mut reader);
    reader.finish(policy)
}

/// Reads the policy.
pub(super) fn policy(reader: &mut Reader<'_>) -> Policy {
    Policy {
        allow: reader.many("outbound_allow", |text| {
            text.parse().map_err(|error: ::outbound::InvalidAllowed| error.to_string())
        }),
        ports: reader.many("outbound_port", |text| {
            let port = text.parse().ok().filter(|port: &u16| *port != 0);
            port.ok_or_else(|| format!("'{text}' is not a port; write a number from 1 to 65535"))
        }),
        http: reader.one("outbound_http", false, values::boolean),
    }
}
