//! What the operator allows in spite of the rules.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};
use url::Host;

/// Something that the operator allows: a block of addresses, or one host with its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Addresses in this block are allowed. Rules about names and ports still hold.
    Block(IpNet),
    /// This host on this port is allowed, whatever its name and the addresses to which it resolves.
    Endpoint {
        /// The host in the form in which a parsed URL has it.
        host: Host,
        /// The port.
        port: u16,
    },
}

/// The largest blocks that can be allowed, by the length of their prefix. A larger one lifts the protection as a whole.
const MIN_PREFIX: (u8, u8) = (8, 7);

/// A text that names neither a block nor a host with a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidAllowed(String);

impl FromStr for Allowed {
    type Err = InvalidAllowed;

    fn from_str(text: &str) -> Result<Self, InvalidAllowed> {
        if let Some(block) = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)) {
            return allowed_block(text, block);
        }
        let invalid = || {
            InvalidAllowed(format!(
                "'{text}' is neither a block of addresses nor a host with its port; write 10.1.0.0/16, fd00:1::/32 or \
                 hooks.internal:8443"
            ))
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?;
        let host =
            Host::parse(host).ok().filter(|host| !host.to_string().contains('*')).ok_or_else(invalid)?;
        Ok(Allowed::Endpoint { host, port })
    }
}

/// A block, with mapped addresses as those of IPv4: in this form they are judged.
fn allowed_block(text: &str, block: IpNet) -> Result<Allowed, InvalidAllowed> {
    let block = match block {
        IpNet::V6(net) if net.prefix_len() >= 96 => match net.addr().to_ipv4_mapped() {
            Some(address) => IpNet::V4(Ipv4Net::new_assert(address, net.prefix_len() - 96)),
            None => block,
        },
        other => other,
    };
    let least = if block.addr().is_ipv4() { MIN_PREFIX.0 } else { MIN_PREFIX.1 };
    if block.prefix_len() < least {
        return Err(InvalidAllowed(format!(
            "'{text}' would allow nearly every address; the largest blocks are /{} and, of IPv6, /{}",
            MIN_PREFIX.0, MIN_PREFIX.1
        )));
    }
    Ok(Allowed::Block(block.trunc()))
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Block(block) => write!(f, "{block}"),
            Allowed::Endpoint { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_endpoints() {
        for (text, shown) in [
            ("10.1.2.3/16", "10.1.0.0/16"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("fd00::1", "fd00::1/128"),
            ("fc00::/7", "fc00::/7"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("Hooks.Internal:8443", "hooks.internal:8443"),
            ("receiver:8080", "receiver:8080"),
            ("0x7f.1:443", "127.0.0.1:443"),
            ("[FD00::1]:443", "[fd00::1]:443"),
        ] {
            assert_eq!(text.parse::<Allowed>().map(|allowed| allowed.to_string()), Ok(shown.to_owned()));
        }
        for bad in [
            "",
            "hooks.internal",
            "hooks.internal:0",
            "hooks.internal:65536",
            "hooks.internal:",
            ":443",
            "10.0.0.0/33",
            "https://hooks.internal:443",
            "a b:443",
            "*:443",
        ] {
            assert!(bad.parse::<Allowed>().is_err(), "{bad}");
        }
        for large in ["0.0.0.0/0", "10.0.0.0/7", "::/0", "2000::/3", "::ffff:0.0.0.0/96"] {
            assert!(large.parse::<Allowed>().unwrap_err().to_string().contains("nearly every"), "{large}");
        }
    }
}
