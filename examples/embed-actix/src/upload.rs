//! The body of a request on its way from actix-web to the API.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::web;
use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, channel};

/// What the API reads. A payload of actix-web stays on its thread, while the API wants a body that could leave it: the
/// parts change hands one at a time.
pub struct Upload(Receiver<io::Result<Bytes>>);

impl Upload {
    /// The body, and the work that fills it from the payload. The work ends only by being dropped.
    pub fn of(mut payload: web::Payload) -> (Self, impl Future<Output = Infallible>) {
        let (sender, receiver) = channel(1);
        let pump = async move {
            // A part is taken from the client once there is room for it.
            while let Ok(room) = sender.reserve().await {
                match poll_fn(|cx| Pin::new(&mut payload).poll_next(cx)).await {
                    Some(part) => room.send(part.map_err(io::Error::other)),
                    None => break,
                }
            }
            drop(sender);
            pending().await
        };
        (Upload(receiver), pump)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|part| part.map(|part| part.map(Frame::data)))
    }
}
