//! One call: what is known of the request besides its input, and the cookies of its answer.

use std::net::IpAddr;

use http::request::Parts;
use http::{HeaderName, HeaderValue, header};
use openapi_core::api::PeerAddress;
use parking_lot::Mutex;

use crate::auth::cookies::Cookie;
use crate::settings::ConsoleSettings;

/// What a call brings along.
pub(crate) struct Call {
    pub(crate) address: Option<IpAddr>,
    pub(crate) request_id: String,
    pub(crate) browser: Option<String>,
    pub(crate) if_match: Option<String>,
    /// Where an earlier live stream ended.
    pub(crate) last_event_id: Option<String>,
    /// The values of the cookies that bind a challenge and that name a known browser.
    pub(crate) binding: Option<String>,
    pub(crate) device: Option<String>,
    /// The sealed cookie of a sign-in at a provider.
    pub(crate) oidc: Option<String>,
    answer: Mutex<Vec<(HeaderName, HeaderValue)>>,
}

/// The most bytes of a browser's name that are stored.
const MAX_BROWSER: usize = 256;

impl Call {
    pub(crate) fn of(parts: &Parts, settings: &ConsoleSettings, request_id: String) -> Self {
        let text = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let cookie = |cookie: Cookie| {
            settings.accounts.as_ref().and_then(|accounts| cookie.read(parts, settings, accounts))
        };
        Call {
            address: parts.extensions.get::<PeerAddress>().map(|peer| peer.0),
            request_id,
            browser: text(header::USER_AGENT).map(|text| text.chars().take(MAX_BROWSER).collect()),
            if_match: text(header::IF_MATCH).map(str::to_owned),
            last_event_id: text(HeaderName::from_static("last-event-id")).map(str::to_owned),
            binding: cookie(Cookie::Binding),
            device: cookie(Cookie::Device),
            oidc: cookie(Cookie::Oidc),
            answer: Mutex::default(),
        }
    }

    /// Adds a header to the answer, success or failure.
    pub(crate) fn add_header(&self, name: HeaderName, value: HeaderValue) {
        self.answer.lock().push((name, value));
    }

    /// The headers of the answer.
    pub(crate) fn into_headers(self) -> Vec<(HeaderName, HeaderValue)> {
        self.answer.into_inner()
    }
}
