//! A stream of events that drives the future which produces them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use conversations::{ChatEvent, ChatEvents};
use futures_core::Stream;
use parking_lot::Mutex;

/// Takes the events of a reply.
#[derive(Clone, Default)]
pub(super) struct Emitter(Arc<Mutex<VecDeque<ChatEvent>>>);

impl Emitter {
    pub(super) fn emit(&self, event: ChatEvent) {
        self.0.lock().push_back(event);
    }

    fn take(&self) -> Option<ChatEvent> {
        self.0.lock().pop_front()
    }
}

struct Driven<F> {
    work: Option<Pin<Box<F>>>,
    events: Emitter,
}

impl<F: Future<Output = ChatEvent>> Stream for Driven<F> {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        // The work goes on only when everything it has made was taken, so that it is never far ahead of its reader.
        if let Some(event) = self.events.take() {
            return Poll::Ready(Some(event));
        }
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if let Poll::Ready(last) = work.as_mut().poll(context) {
            self.work = None;
            self.events.emit(last);
        }
        match self.events.take() {
            Some(event) => Poll::Ready(Some(event)),
            None => Poll::Pending,
        }
    }
}

/// The events that `work` emits, and at last the one that it returns. Dropping the stream drops the work.
pub(super) fn events<F>(work: impl FnOnce(Emitter) -> F) -> ChatEvents
where
    F: Future<Output = ChatEvent> + Send + 'static,
{
    let events = Emitter::default();
    Box::pin(Driven { work: Some(Box::pin(work(events.clone()))), events })
}
