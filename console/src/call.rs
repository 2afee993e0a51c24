//! One call: what is known of the request besides its input, and the cookies of its answer.

use std::net::IpAddr;

use http::request::Parts;
use http::{HeaderName, HeaderValue, header};
use openapi_core::api::PeerAddress;
use openapi_core::reply::ErrorCode;
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
    /// Whether a browser opens a page with it, and no image or script of one.
    pub(crate) is_page: bool,
    /// The sealed cookie of a sign-in at a provider.
    pub(crate) oidc: Option<String>,
    sign_in: Mutex<Option<SignInOutcome>>,
    answer: Mutex<Vec<(HeaderName, HeaderValue)>>,
}

/// How a sign-in at a provider went: in the extensions of a response that leads to a page whether it worked or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignInOutcome {
    /// The error code of a failure.
    pub code: Option<&'static str>,
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
            is_page: text(HeaderName::from_static("sec-fetch-dest")).is_none_or(|it| it == "document"),
            oidc: cookie(Cookie::Oidc),
            sign_in: Mutex::default(),
            answer: Mutex::default(),
        }
    }

    /// Notes how a sign-in at a provider went.
    pub(crate) fn note_sign_in(&self, code: Option<ErrorCode>) {
        *self.sign_in.lock() = Some(SignInOutcome { code: code.map(ErrorCode::as_str) });
    }

    /// How a sign-in at a provider went, if the call was one.
    pub(crate) fn sign_in(&self) -> Option<SignInOutcome> {
        *self.sign_in.lock()
    }

    /// Adds a header to the answer, success or failure.
    pub(crate) fn add_header(&self, name: HeaderName, value: HeaderValue) {
        self.answer.lock().push((name, value));
    }

    /// The headers of the answer.
    pub(crate) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        std::mem::take(&mut *self.answer.lock())
    }
}
