//! A call of the widget: the context of its request, and what its operation receives.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use openapi_core::api::{PeerAddress, ResponseSummary};
use openapi_core::files::Upload;
use openapi_core::json::Object;
use openapi_core::limits::Network;
use openapi_core::reply::ApiError;
use openapi_core::values::Timestamp;
use parking_lot::Mutex;

use super::agent_view::AgentView;
use super::errors::token_invalid;
use crate::widget::OpenSlot;
use crate::widget::token::VisitorToken;

/// The context of a request.
pub(super) struct WidgetRequest {
    pub(super) summary: ResponseSummary,
    pub(super) now: Timestamp,
    /// The origin of the page as the browser sends it; empty if it sends none.
    pub(super) origin: String,
    pub(super) has_origin: bool,
    pub(super) address: IpAddr,
    /// The address, or the /64 of an IPv6 address.
    pub(super) network: Network,
    /// The origin whose pages may read the response; `*` for all.
    pub(super) readers: HeaderValue,
    /// Whether the response depends on the origin.
    pub(super) varies: bool,
    /// The client wants the events of a turn as one document.
    pub(super) wants_document: bool,
}

impl WidgetRequest {
    pub(super) fn new(parts: &Parts, request_id: String, now: Timestamp) -> Self {
        let peer = parts.extensions.get::<PeerAddress>();
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let origin = parts.headers.get(header::ORIGIN);
        let accepted = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let preferred = accepted.and_then(|types| types.split(';').next()).unwrap_or_default();
        WidgetRequest {
            summary: ResponseSummary::new(request_id),
            now,
            origin: origin.and_then(|origin| origin.to_str().ok()).unwrap_or_default().to_ascii_lowercase(),
            has_origin: origin.is_some(),
            address,
            network: Network::of(address),
            readers: HeaderValue::from_static("*"),
            varies: false,
            wants_document: preferred.trim().eq_ignore_ascii_case("application/json"),
        }
    }

    /// Adds the headers by which a browser decides which pages may read the response.
    pub(super) fn cors_headers(&self, headers: &mut HeaderMap) {
        if self.varies {
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.readers.clone());
        let exposed = HeaderValue::from_static("Retry-After, X-Request-Id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// A visitor's valid token with its text.
pub(super) struct SentToken {
    pub(super) token: VisitorToken,
    pub(super) text: String,
}

/// An admitted call. `T` is [`SentToken`] for operations of a visitor, `Option<SentToken>` for the others.
pub(super) struct Call<'a, T> {
    pub(super) request: &'a WidgetRequest,
    pub(super) view: Arc<AgentView>,
    pub(super) token: T,
    /// The members of the body or the query.
    pub(super) body: Object,
    /// The file of an upload; in a lock because its content is no [`Sync`] stream.
    pub(super) file: Mutex<Upload>,
    /// The used share of the limits that have counted the call so far, 0 to 1.
    pub(super) share: f64,
    /// The slot of the stream that an operation on events opens.
    pub(super) stream: Option<OpenSlot>,
}

impl<'a> Call<'a, Option<SentToken>> {
    /// The call as one of a visitor.
    ///
    /// # Errors
    /// 401 TOKEN_INVALID without a token.
    pub(super) fn of_visitor(self) -> Result<Call<'a, SentToken>, ApiError> {
        let Call { request, view, token, body, file, share, stream } = self;
        let token = token.ok_or_else(token_invalid)?;
        Ok(Call { request, view, token, body, file, share, stream })
    }
}
