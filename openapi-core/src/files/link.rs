//! Signed links: anyone with a link may download the file until it expires (contract 2.2).

use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Disposition;
use crate::access::ApiKey;
use crate::server_keys::ServerKeys;
use crate::values::{AgentId, FileId, Timestamp};

/// What separates signatures of links from other uses of a server key.
const PURPOSE: &str = "file link";

/// A permission to download one file, as its query carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The file.
    pub file: FileId,
    /// When the link ends, in whole seconds.
    pub expires_at: Timestamp,
    /// Who asked for it: the link ends with them.
    pub issuer: Issuer,
    /// How the file is offered.
    pub disposition: Disposition,
}

/// Whom a link was issued to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// A key; written as the key.
    Key(ApiKey),
    /// Somebody whom the host platform authenticated itself, acting for an agent; written `agent:<id>`.
    Agent(AgentId),
}

impl Issuer {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("agent:") {
            Some(agent) => agent.parse().ok().map(Issuer::Agent),
            None => ApiKey::parse(text).map(Issuer::Key),
        }
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Issuer::Key(key) => key.fmt(f),
            Issuer::Agent(agent) => write!(f, "agent:{agent}"),
        }
    }
}

impl Link {
    /// The shortest and the longest life, in seconds.
    pub const LIFETIMES: RangeInclusive<u64> = 60..=86_400;

    /// The life of a link that asks for none, in seconds.
    pub const USUAL_LIFETIME: u64 = 900;

    /// What is signed. No part can hold the separator.
    fn message(&self) -> String {
        let Link { file, expires_at, issuer, disposition } = self;
        format!("{file}\n{}\n{issuer}\n{}", expires_at.seconds(), disposition.as_str())
    }

    /// Path and query below {origin}.
    #[must_use]
    pub fn target(&self, keys: &ServerKeys) -> String {
        let Link { file, expires_at, issuer, disposition } = self;
        let signature = URL_SAFE_NO_PAD.encode(keys.tag(PURPOSE, self.message().as_bytes()));
        format!(
            "/download/files/{file}?exp={}&kid={issuer}&d={}&sig={signature}",
            expires_at.seconds(),
            disposition.as_str()
        )
    }

    /// Reads the query of a download of `file`; `None` when a part is missing or altered. Other parameters are ignored.
    /// Whether the link is over is not looked at: what comes before is (contract 2.2).
    #[must_use]
    pub fn read(keys: &ServerKeys, file: FileId, query: &[(String, String)]) -> Option<Self> {
        let part = |name: &str| {
            let mut values = query.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
            values.next().filter(|_| values.next().is_none())
        };
        let seconds = part("exp")?;
        // Another spelling of the same number is an altered link.
        let spelled = seconds.bytes().all(|byte| byte.is_ascii_digit()) && !seconds.starts_with('0');
        let seconds: i64 = seconds.parse().ok().filter(|_| spelled && seconds.len() <= 12)?;
        let link = Link {
            file,
            expires_at: Timestamp::from_millis(seconds * 1_000),
            issuer: Issuer::parse(part("kid")?)?,
            disposition: Disposition::of_word(part("d")?)?,
        };
        let signature = URL_SAFE_NO_PAD.decode(part("sig")?).ok()?;
        (signature.len() == 32 && keys.verifies(PURPOSE, link.message().as_bytes(), &signature))
            .then_some(link)
    }

    /// Whether the link has ended.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }
}
