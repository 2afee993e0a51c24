//! The stream below hyper: time limits for slow heads and for clients that do not read, framing, and an end at which
//! the client sees its answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connection_state::ConnectionState;
use super::framing::Framing;
use super::timeouts::Timeouts;

/// At most so many bytes are read and thrown away at the end of a connection.
const LINGER_BYTES: u64 = 64 * 1024 * 1024;

/// A stream that watches its peer.
pub struct Watched<S> {
    stream: S,
    timeouts: Timeouts,
    /// The framing of HTTP/1.1; unset where HTTP/2 is spoken, which has pings of its own.
    framing: Option<(Framing, Arc<ConnectionState>)>,
    reading: Reading,
    write: Deadline,
    linger: Linger,
}

/// The end of a connection.
enum Linger {
    No,
    Reading { deadline: Pin<Box<Sleep>>, left: u64 },
    Done,
}

/// A time limit that costs nothing until something has to be waited for.
#[derive(Default)]
struct Deadline {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl Deadline {
    /// Whether `patience` has passed since the first call after `armed` was unset.
    fn passed(&mut self, cx: &mut Context<'_>, patience: Duration) -> bool {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if !self.armed {
            self.armed = true;
            sleep.as_mut().reset(Instant::now() + patience);
        }
        sleep.as_mut().poll(cx).is_ready()
    }
}

/// What is waited for from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// The rest of a request head; of a new connection all of it.
    Head,
    /// The next request, or what is left of one that was answered early.
    Request,
}

/// The wait for the client. Every request ends with one, so that it must cost next to nothing: it notes the time and
/// leaves the timer as it is, which then fires early, sees that less has passed, and is set again.
#[derive(Default)]
struct Reading {
    since: Option<(Awaited, Instant)>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Reading {
    fn passed(&mut self, cx: &mut Context<'_>, awaited: Awaited, patience: Duration) -> bool {
        let since = match self.since {
            Some((known, since)) if known == awaited => since,
            _ => {
                let now = Instant::now();
                self.since = Some((awaited, now));
                now
            }
        };
        let deadline = since + patience;
        let sleep = match &mut self.sleep {
            // Set for this or an earlier time, and enrolled with this task already.
            Some(sleep) if !sleep.is_elapsed() && sleep.deadline() <= deadline => return false,
            Some(sleep) => sleep,
            none => none.insert(Box::pin(tokio::time::sleep_until(deadline))),
        };
        if sleep.is_elapsed() && Instant::now() >= deadline {
            return true;
        }
        sleep.as_mut().reset(deadline);
        sleep.as_mut().poll(cx).is_ready()
    }
}

impl<S> Watched<S> {
    /// Watches `stream`; with `state` also the framing of HTTP/1.1.
    pub fn new(stream: S, timeouts: Timeouts, state: Option<Arc<ConnectionState>>) -> Self {
        Watched {
            stream,
            timeouts,
            framing: state.map(|state| (Framing::default(), state)),
            reading: Reading::default(),
            write: Deadline::default(),
            linger: Linger::No,
        }
    }

    /// What the client has to send next, and how long it may take. A body has limits of its own.
    fn awaited(&self) -> Option<(Awaited, Duration)> {
        let (framing, state) = self.framing.as_ref()?;
        if framing.in_head() || framing.requests() == 0 {
            Some((Awaited::Head, self.timeouts.head))
        } else if !state.is_busy() {
            Some((Awaited::Request, self.timeouts.idle))
        } else {
            None
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(result) => {
                if let Some((framing, state)) = &mut this.framing {
                    let requests = framing.requests();
                    framing.feed(&buf.filled()[before..], &state.ambiguity);
                    // A head that trickles in keeps the limit it began with.
                    if framing.requests() > requests {
                        this.reading.since = None;
                    }
                }
                Poll::Ready(result)
            }
            Poll::Pending => match this.awaited() {
                Some((awaited, patience)) if this.reading.passed(cx, awaited, patience) => {
                    Poll::Ready(Err(timed_out("the client did not send its request in time")))
                }
                Some(_) => Poll::Pending,
                None => {
                    this.reading.since = None;
                    Poll::Pending
                }
            },
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Watched<S> {
    fn written<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(result) => {
                if self.write.armed {
                    self.write.armed = false;
                    // A client that takes its answer slowly does not rest.
                    self.answered();
                }
                Poll::Ready(result)
            }
            Poll::Pending if self.write.passed(cx, self.timeouts.write) => {
                Poll::Ready(Err(timed_out("the client did not read its answer in time")))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Part of an answer went out: the connection did not rest until now, however slowly the answer is made.
    fn answered(&mut self) {
        self.reading.since = self.reading.since.filter(|(awaited, _)| *awaited == Awaited::Head);
    }

    /// Reads what the client still sends and throws it away. Closing a socket with unread bytes resets the connection,
    /// and the client would lose the answer that told it to stop.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.linger {
                Linger::No => {
                    let at_rest = match &self.framing {
                        Some((framing, _)) => framing.between_requests(),
                        None => true,
                    };
                    self.linger = if at_rest {
                        Linger::Done
                    } else {
                        let deadline = Box::pin(tokio::time::sleep(self.timeouts.linger));
                        Linger::Reading { deadline, left: LINGER_BYTES }
                    };
                }
                Linger::Reading { deadline, left } => {
                    let mut scratch = [std::mem::MaybeUninit::uninit(); 16 * 1024];
                    let mut buf = ReadBuf::uninit(&mut scratch);
                    let read = match Pin::new(&mut self.stream).poll_read(cx, &mut buf) {
                        Poll::Ready(Ok(())) => buf.filled().len() as u64,
                        Poll::Ready(Err(_)) => 0,
                        Poll::Pending => {
                            ready!(deadline.as_mut().poll(cx));
                            0
                        }
                    };
                    *left = left.saturating_sub(read);
                    if read == 0 || *left == 0 {
                        self.linger = Linger::Done;
                    }
                }
                Linger::Done => return Poll::Ready(()),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(1..)) = result {
            this.answered();
        }
        this.written(cx, result)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        if let Poll::Ready(Ok(1..)) = result {
            this.answered();
        }
        this.written(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_flush(cx);
        this.written(cx, result)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if matches!(this.linger, Linger::No) {
            let result = Pin::new(&mut this.stream).poll_shutdown(cx);
            ready!(this.written(cx, result))?;
        }
        ready!(this.poll_linger(cx));
        Poll::Ready(Ok(()))
    }
}

fn timed_out(words: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, words)
}
