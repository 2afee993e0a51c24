//! Converts actix-web's request bodies for the API.

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

/// The API's view of a request body. An actix-web payload stays on its thread, but the API requires a `Send` body, so
/// parts are handed over one at a time.
pub struct Upload(Receiver<io::Result<Bytes>>);

impl Upload {
    /// Returns the body, and the future that fills it from the payload. The future ends only by being dropped.
    pub fn of(mut payload: web::Payload) -> (Self, impl Future<Output = Infallible>) {
        let (sender, receiver) = channel(1);
        let pump = async move {
            // Reads a part from the client once there is capacity for it.
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
