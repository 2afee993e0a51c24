//! The cookies of the console.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;
use http::{HeaderValue, header};

use crate::settings::{AccountSettings, ConsoleSettings};

/// Base64url without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of base64url without padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Which cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// The session.
    Session,
    /// Binds a challenge to a browser before there is a session.
    Binding,
    /// Says that the operator signed in with this browser before.
    Device,
    /// The sign-in that is under way at a provider.
    Oidc,
}

impl Cookie {
    /// The name: browsers accept `__Host-` over TLS only, and cookies ignore ports, so plain HTTP has the port in it.
    fn name(self, settings: &ConsoleSettings, accounts: &AccountSettings) -> String {
        let suffix = match self {
            Cookie::Session => "",
            Cookie::Binding => "-pre",
            Cookie::Device => "-device",
            Cookie::Oidc => "-oidc",
        };
        if accounts.is_plain {
            let port = settings.authority().rsplit_once(':').map_or("80", |(_, port)| port);
            format!("console-{port}{suffix}")
        } else {
            format!("__Host-console{suffix}")
        }
    }

    /// What the request sends; none if there is not exactly one.
    pub(crate) fn read(
        self,
        parts: &Parts,
        settings: &ConsoleSettings,
        accounts: &AccountSettings,
    ) -> Option<String> {
        let name = self.name(settings, accounts);
        let lines = parts.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
        let value = values.next()?;
        values.next().is_none().then(|| value.to_owned())
    }

    /// Whether the request sends it, once or more often.
    pub(crate) fn is_sent(
        self,
        parts: &Parts,
        settings: &ConsoleSettings,
        accounts: &AccountSettings,
    ) -> bool {
        let name = self.name(settings, accounts);
        let lines = parts.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        lines
            .flat_map(|line| line.split(';'))
            .any(|pair| pair.trim().split_once('=').is_some_and(|(known, _)| known == name))
    }

    /// The header that sets it for so many seconds, 0 to remove it.
    pub(crate) fn set(
        self,
        settings: &ConsoleSettings,
        accounts: &AccountSettings,
        value: &str,
        seconds: i64,
    ) -> Option<HeaderValue> {
        let name = self.name(settings, accounts);
        let secure = if accounts.is_plain { "" } else { " Secure;" };
        // The provider leads the browser back, which sends no `Strict` cookie then.
        let same_site = if self == Cookie::Oidc { "Lax" } else { "Strict" };
        let text =
            format!("{name}={value}; Path=/;{secure} HttpOnly; SameSite={same_site}; Max-Age={seconds}");
        HeaderValue::from_str(&text).ok()
    }
}
