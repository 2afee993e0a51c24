//! The body of a reply.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a reply: known as a whole before the first octet is sent.
#[derive(Clone, Debug, Default)]
pub struct ApiBody {
    bytes: Bytes,
}

/// The error of a reply's body. Bodies known as a whole never fail; the type is concrete because some servers need one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reply could not be completed")]
pub struct ApiBodyError;

impl ApiBody {
    /// An empty body.
    #[must_use]
    pub fn empty() -> Self {
        ApiBody::default()
    }

    /// The octets that are left to be sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the octets.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl From<Bytes> for ApiBody {
    fn from(bytes: Bytes) -> Self {
        ApiBody { bytes }
    }
}

impl From<Vec<u8>> for ApiBody {
    fn from(octets: Vec<u8>) -> Self {
        ApiBody { bytes: octets.into() }
    }
}

impl From<String> for ApiBody {
    fn from(text: String) -> Self {
        ApiBody { bytes: text.into() }
    }
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = ApiBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ApiBodyError>>> {
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
