//! The stream below hyper: timeouts for slow heads and slow readers, checks and a limit of heads, and a close that lets the
//! client read its response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connection_state::ConnectionState;
use super::framing::Framing;
use crate::config::timeouts::Timeouts;

/// How many bytes are read and discarded at most when a connection closes.
const MAX_LINGER_BYTES: u64 = 64 * 1024 * 1024;

/// A stream with timeouts.
pub struct TimeoutStream<S> {
    stream: S,
    timeouts: Timeouts,
    state: Arc<ConnectionState>,
    /// The framing of HTTP/1.1; unset for HTTP/2, which has its own pings.
    framing: Option<Framing>,
    /// The longest head of HTTP/1.1, in bytes.
    max_head_bytes: usize,
    reading: Reading,
    write: WriteTimeout,
    linger: Linger,
}

/// The progress of closing a connection.
enum Linger {
    No,
    Reading { deadline: Pin<Box<Sleep>>, left: u64 },
    Done,
}

/// A timeout that costs nothing until an operation has to wait.
#[derive(Default)]
struct WriteTimeout {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl WriteTimeout {
    /// Whether `timeout` has elapsed since the first call after `armed` was unset.
    fn passed(&mut self, cx: &mut Context<'_>, timeout: Duration) -> bool {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        if !self.armed {
            self.armed = true;
            sleep.as_mut().reset(Instant::now() + timeout);
        }
        sleep.as_mut().poll(cx).is_ready()
    }
}

/// What the client has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// The rest of a request head; on a new connection, all of it.
    Head,
    /// The next request, or the rest of one that had an early response.
    Request,
}

/// The timeout of reads. Every request ends with a wait, so arming must be cheap: it stores the time and leaves the timer
/// alone, which then fires early and is reset.
#[derive(Default)]
struct Reading {
    since: Option<(Awaited, Instant)>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Reading {
    fn passed(&mut self, cx: &mut Context<'_>, awaited: Awaited, timeout: Duration) -> bool {
        let since = match self.since {
            Some((known, since)) if known == awaited => since,
            _ => {
                let now = Instant::now();
                self.since = Some((awaited, now));
                now
            }
        };
        let deadline = since + timeout;
        let sleep = match &mut self.sleep {
            // Already set for this or an earlier deadline and registered with this task.
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

impl<S> TimeoutStream<S> {
    /// Adds timeouts to a stream of HTTP/2.
    pub fn of_http2(stream: S, timeouts: Timeouts, state: Arc<ConnectionState>) -> Self {
        TimeoutStream::new(stream, timeouts, state, None, 0)
    }

    /// Adds timeouts to a stream of HTTP/1.1, and checks its framing. Longer heads are cut off.
    pub fn of_http1(
        stream: S,
        timeouts: Timeouts,
        state: Arc<ConnectionState>,
        max_head_bytes: usize,
    ) -> Self {
        TimeoutStream::new(stream, timeouts, state, Some(Framing::default()), max_head_bytes)
    }

    fn new(
        stream: S,
        timeouts: Timeouts,
        state: Arc<ConnectionState>,
        framing: Option<Framing>,
        max_head_bytes: usize,
    ) -> Self {
        TimeoutStream {
            stream,
            timeouts,
            state,
            framing,
            max_head_bytes,
            reading: Reading::default(),
            write: WriteTimeout::default(),
            linger: Linger::No,
        }
    }

    /// What the client has to send next, and within which time. Bodies have their own timeouts.
    fn awaited(&self) -> Option<(Awaited, Duration)> {
        let framing = self.framing.as_ref()?;
        if framing.in_head() || framing.requests() == 0 {
            Some((Awaited::Head, self.timeouts.head))
        } else if !self.state.is_active() {
            Some((Awaited::Request, self.timeouts.idle))
        } else {
            None
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(framing) = &mut this.framing {
            if framing.is_cut_off() {
                // The response ends the connection.
                return Poll::Pending;
            }
            if framing.head_bytes() > this.max_head_bytes {
                if framing.is_lost() {
                    return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
                }
                buf.put_slice(framing.cut_off(&this.state.faults));
                return Poll::Ready(Ok(()));
            }
        }
        let before = buf.filled().len();
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(result) => {
                if let Some(framing) = &mut this.framing {
                    let requests = framing.requests();
                    framing.feed(&buf.filled()[before..], &this.state.faults);
                    // A head that trickles in does not restart its timeout.
                    if framing.requests() > requests {
                        this.reading.since = None;
                    }
                }
                Poll::Ready(result)
            }
            Poll::Pending => match this.awaited() {
                Some((awaited, timeout)) if this.reading.passed(cx, awaited, timeout) => {
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

impl<S: AsyncRead + AsyncWrite + Unpin> TimeoutStream<S> {
    fn written<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(result) => {
                if self.write.armed {
                    self.write.armed = false;
                    self.state.set_blocked(false);
                    // A client that reads its response slowly is not idle.
                    self.restart_idle();
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                self.state.set_blocked(true);
                if self.write.passed(cx, self.timeouts.write) {
                    return Poll::Ready(Err(timed_out("the client did not read its response in time")));
                }
                Poll::Pending
            }
        }
    }

    /// Restarts the idle timeout, because part of a response was sent.
    fn restart_idle(&mut self) {
        self.reading.since = self.reading.since.filter(|(awaited, _)| *awaited == Awaited::Head);
    }

    /// Reads and discards what the client still sends. Closing a socket with unread data resets the connection, and the
    /// client loses the response that explains the close.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.linger {
                Linger::No => {
                    let at_rest = match &self.framing {
                        Some(framing) => framing.between_requests(),
                        None => true,
                    };
                    self.linger = if at_rest {
                        Linger::Done
                    } else {
                        let deadline = Box::pin(tokio::time::sleep(self.timeouts.linger));
                        Linger::Reading { deadline, left: MAX_LINGER_BYTES }
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(1..)) = result {
            this.restart_idle();
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
            this.restart_idle();
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

fn timed_out(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, message)
}
