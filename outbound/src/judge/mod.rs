//! The judge: which targets a request may have.

mod addresses;
mod allow;
mod names;
mod rule;

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use openapi_core::ports::OutboundSchemes;
use url::{Host, Position, Url};

use addresses::{BLOCKS, Block};
use names::{NAME_RULES, NameRule};

pub(crate) use addresses::canonical;
pub use allow::{Allowed, InvalidAllowed};
pub use rule::{Refusal, Rule};

/// The longest URL, in bytes.
const MAX_URL_BYTES: usize = 8 << 10;

/// The operator's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What is allowed in spite of the rules.
    pub allow: Vec<Allowed>,
    /// The allowed ports. Where `http` is accepted, its port 80 is allowed too.
    pub ports: Vec<u16>,
    /// Whether requests that demand `https` also accept `http`: for tests.
    pub http: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { allow: Vec::new(), ports: vec![443], http: false }
    }
}

/// The scheme of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    /// Plain text.
    Http,
    /// TLS.
    Https,
}

/// A target whose URL was judged. Its addresses were not.
#[derive(Clone, Debug)]
pub struct Target {
    url: Url,
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl Target {
    /// The URL without its fragment.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url[..Position::AfterQuery]
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host name to resolve, unless the host is an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            _ => None,
        }
    }

    /// The address, if the host is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The value of the header `Host`.
    pub(crate) fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    /// Path and query.
    pub(crate) fn path(&self) -> Option<Uri> {
        self.url[Position::BeforePath..Position::AfterQuery].parse().ok()
    }

    /// Whether credentials for this target may also go to `other`.
    pub(crate) fn is_same_origin(&self, other: &Target) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }
}

/// Judges targets by the rules and the policy. It resolves nothing and connects to nothing.
pub struct Judge {
    policy: Policy,
    blocks: &'static [Block],
    names: &'static [NameRule],
}

impl Judge {
    /// A judge with this policy.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Judge { policy, blocks: BLOCKS, names: NAME_RULES }
    }

    /// Judges a URL by its text: everything but the addresses to which its name resolves.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn target(&self, url: &str, schemes: OutboundSchemes) -> Result<Target, Refusal> {
        if url.len() > MAX_URL_BYTES {
            return Err(Refusal::new(Rule::Url, format!("the URL has more than {MAX_URL_BYTES} bytes")));
        }
        let url = Url::parse(url).map_err(|error| Refusal::new(Rule::Url, error.to_string()))?;
        self.judge_url(url, schemes)
    }

    /// Judges the target of a redirect, which may be relative to the URL that redirects.
    ///
    /// # Errors
    /// The first rule that refuses it. No redirect leads from `https` to `http`.
    pub(crate) fn redirect(
        &self,
        from: &Target,
        location: &str,
        schemes: OutboundSchemes,
    ) -> Result<Target, Refusal> {
        if location.len() > MAX_URL_BYTES {
            return Err(Refusal::new(Rule::Url, format!("the URL has more than {MAX_URL_BYTES} bytes")));
        }
        let url = from.url.join(location).map_err(|error| Refusal::new(Rule::Url, error.to_string()))?;
        let next = self.judge_url(url, schemes)?;
        if (from.scheme, next.scheme) == (Scheme::Https, Scheme::Http) {
            return Err(Refusal::new(Rule::Scheme, "a redirect leads from https to http"));
        }
        Ok(next)
    }

    fn judge_url(&self, url: Url, schemes: OutboundSchemes) -> Result<Target, Refusal> {
        let accepts_http = self.policy.http || schemes == OutboundSchemes::HttpAndHttps;
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" if accepts_http => Scheme::Http,
            other => return Err(Refusal::new(Rule::Scheme, format!("the scheme {other} is not accepted"))),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::new(Rule::Userinfo, "the URL contains a user name or a password"));
        }
        // URLs with these schemes always have both.
        let (Some(host), Some(port)) = (url.host().map(|host| host.to_owned()), url.port_or_known_default())
        else {
            return Err(Refusal::new(Rule::Url, "the URL has no host"));
        };
        let target = Target { scheme, host, port, url };
        if !self.allows_endpoint(&target) {
            if !(self.policy.ports.contains(&port) || (scheme == Scheme::Http && port == 80)) {
                return Err(Refusal::new(Rule::Port, format!("port {port} is not allowed")));
            }
            if let Some(name) = target.name()
                && let Some(rule) = self.names.iter().find(|rule| (rule.refuses)(name))
            {
                return Err(Refusal::new(rule.rule, format!("the name {name} is not one of a public host")));
            }
            if let Some(address) = target.address() {
                self.judge_address(address)?;
            }
        }
        Ok(target)
    }

    /// Judges all addresses to which the name of a target resolves. One refused address refuses the name, because a name
    /// that leads inside at times is not a public one.
    ///
    /// # Errors
    /// The first refused address.
    pub fn addresses(&self, target: &Target, addresses: &[IpAddr]) -> Result<Vec<SocketAddr>, Refusal> {
        if !self.allows_endpoint(target) {
            addresses.iter().try_for_each(|address| self.judge_address(*address))?;
        }
        let mut judged: Vec<SocketAddr> = Vec::with_capacity(addresses.len());
        for address in addresses {
            let address = SocketAddr::new(canonical(*address), target.port);
            if !judged.contains(&address) {
                judged.push(address);
            }
        }
        Ok(judged)
    }

    fn judge_address(&self, address: IpAddr) -> Result<(), Refusal> {
        let canonical = canonical(address);
        let allowed = self.policy.allow.iter().any(|allowed| match allowed {
            Allowed::Block(block) => block.contains(&canonical),
            Allowed::Endpoint { .. } => false,
        });
        if allowed { Ok(()) } else { addresses::judge(canonical, self.blocks) }
    }

    fn allows_endpoint(&self, target: &Target) -> bool {
        self.policy.allow.iter().any(|allowed| match allowed {
            Allowed::Endpoint { host, port } => *host == target.host && *port == target.port,
            Allowed::Block(_) => false,
        })
    }
}

#[cfg(test)]
mod tests;
