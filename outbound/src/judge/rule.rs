//! The rules by which a target is refused.

use std::fmt;

use openapi_core::ports::OutboundError;

/// Declares the rules: variant, word, meaning.
macro_rules! rules {
    ($($(#[$doc:meta])+ $rule:ident = $word:literal;)+) => {
        /// A rule that refuses a target. Its word is the label of the metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[$doc])+ $rule,)+
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$rule,)+];

            /// The word of the rule.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Rule::$rule => $word,)+
                }
            }
        }
    };
}

rules! {
    /// The text is no absolute URL with a host.
    Url = "url";
    /// The scheme is not accepted, or a redirect leads from `https` to `http`.
    Scheme = "scheme";
    /// The URL contains a user name or a password.
    Userinfo = "userinfo";
    /// The port is not one that the operator allows.
    Port = "port";
    /// The host name has no dot, so it is one of the local network.
    SingleLabel = "single_label";
    /// The host name ends with a dot.
    TrailingDot = "trailing_dot";
    /// The host name belongs to this machine or to a local network, such as `localhost` and `*.internal`.
    ReservedName = "reserved_name";
    /// The address means this machine: loopback and unspecified addresses.
    Loopback = "loopback";
    /// The address belongs to a private network.
    Private = "private";
    /// The address is link-local, where clouds answer with credentials.
    LinkLocal = "link_local";
    /// The address is that of a cloud's metadata service.
    Metadata = "metadata";
    /// The address is a multicast or broadcast address.
    Multicast = "multicast";
    /// The address is for documentation or benchmarks.
    Documentation = "documentation";
    /// The address contains another address, as NAT64, 6to4 and Teredo do.
    Translation = "translation";
    /// The address is reserved, or outside the global unicast addresses of IPv6.
    Reserved = "reserved";
    /// The connection reached another address than the one that was judged.
    Peer = "peer";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A refused target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused by the rule {rule}: {reason}")]
pub struct Refusal {
    /// The rule.
    pub rule: Rule,
    /// The target and why the rule refuses it, without path and query of the URL.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn new(rule: Rule, reason: impl Into<String>) -> Self {
        Refusal { rule, reason: reason.into() }
    }
}

impl From<Refusal> for OutboundError {
    fn from(refusal: Refusal) -> Self {
        OutboundError::Refused { rule: refusal.rule.word(), reason: refusal.reason }
    }
}
