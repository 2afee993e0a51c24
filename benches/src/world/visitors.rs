//! Visitors of the widget.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;

use crate::machine::monotonic;
use crate::report::Failure;

/// The timeout for all visitors to reach a state.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The origin of the visitors.
pub(crate) const ORIGIN: &str = "https://www.example.com";

/// The widget endpoint of a visitor.
#[derive(Clone, Debug)]
pub(crate) struct Chat {
    pub(crate) widget: SocketAddr,
    pub(crate) agent: String,
}

impl Chat {
    /// The request of a turn. Each number makes another turn, in a new conversation unless there is a token.
    pub(crate) fn turn(&self, number: usize, origin: &str, token: Option<&str>) -> String {
        let Chat { widget, agent } = self;
        let token = token.map_or_else(|| "null".to_owned(), |token| format!("\"{token}\""));
        let body = format!(
            "{{\"v\":1,\"agentId\":\"{agent}\",\"id\":\"00000000-0000-4000-8000-{number:012x}\",\"token\":{token},\
             \"text\":\"Tell me of {number}\",\"uploads\":[],\"lead\":null,\"user\":null,\"page\":null,\"locale\":\"en\",\
             \"tz\":\"UTC\",\"metadata\":{{}},\"persist\":\"none\",\"challenge\":null,\"hp\":\"\"}}"
        );
        format!(
            "POST /widget/v1/turns HTTP/1.1\r\nHost: {widget}\r\nOrigin: {origin}\r\nAccept: text/event-stream\r\n\
             Content-Type: text/plain;charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Connects from an address in 127.0.0.0/8.
    pub(crate) async fn connect(&self, from: Ipv4Addr) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((from, 0).into())?;
        socket.connect(self.widget).await
    }

    /// Sends a turn and reads the response to its end; calls `word` with the number of words in each delta.
    ///
    /// # Errors
    /// If the response is an error, breaks off or contains an error event.
    pub(crate) async fn ask(
        &self,
        from: Ipv4Addr,
        request: &str,
        mut word: impl FnMut(usize),
    ) -> Result<(), Failure> {
        let mut stream = self.connect(from).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut piece = Vec::with_capacity(2_048);
        loop {
            piece.clear();
            if stream.read_buf(&mut piece).await? == 0 {
                return Err("an answer was cut".into());
            }
            let text = String::from_utf8_lossy(&piece);
            word(text.matches("event: delta").count());
            if text.contains("event: done") {
                return Ok(());
            }
            if text.contains("event: error") || text.contains("HTTP/1.1 4") || text.contains("HTTP/1.1 5") {
                return Err(format!("a visitor was answered {text}").into());
            }
        }
    }
}

/// A crowd of concurrent visitors.
pub(crate) struct Crowd {
    chat: Chat,
    /// Visitors who have sent a turn.
    asked: AtomicUsize,
    shared: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Visitors who have read a word.
    reading: AtomicUsize,
    /// Visitors whose replies are complete.
    ended: AtomicUsize,
    /// Words that visitors have read.
    words: AtomicUsize,
    /// Visitors with any other response.
    failed: AtomicUsize,
}

impl Crowd {
    pub(crate) fn new(chat: Chat) -> Self {
        Crowd { chat, asked: AtomicUsize::new(0), shared: Arc::default() }
    }

    /// Words that visitors have read so far.
    pub(crate) fn words(&self) -> usize {
        self.shared.words.load(Ordering::Relaxed)
    }

    /// Sends the turns of this many visitors and waits until all are being answered.
    ///
    /// # Errors
    /// If one gets another response, or after a minute.
    pub(crate) fn ask(&self, runtime: &Runtime, count: usize) -> Result<(), Failure> {
        self.shared.reading.store(0, Ordering::Relaxed);
        self.shared.ended.store(0, Ordering::Relaxed);
        for _ in 0..count {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let (chat, shared) = (self.chat.clone(), Arc::clone(&self.shared));
            runtime.spawn(async move {
                let request = chat.turn(number, ORIGIN, None);
                let mut is_reading = false;
                // One address may have a thousand connections, and the API clients need some.
                let from = Ipv4Addr::new(127, 2, 0, u8::try_from(number % 100).unwrap_or(0));
                let asked = chat.ask(from, &request, |words| {
                    shared.words.fetch_add(words, Ordering::Relaxed);
                    if words > 0 && !is_reading {
                        is_reading = true;
                        shared.reading.fetch_add(1, Ordering::Relaxed);
                    }
                });
                let outcome = if asked.await.is_ok() { &shared.ended } else { &shared.failed };
                outcome.fetch_add(1, Ordering::Relaxed);
            });
        }
        self.wait(&self.shared.reading, count)
    }

    /// Waits until this many visitors have complete replies.
    ///
    /// # Errors
    /// As [`Crowd::ask`].
    pub(crate) fn end(&self, count: usize) -> Result<(), Failure> {
        self.wait(&self.shared.ended, count)
    }

    fn wait(&self, done: &AtomicUsize, count: usize) -> Result<(), Failure> {
        let begun = monotonic();
        while done.load(Ordering::Relaxed) < count {
            let failed = self.shared.failed.load(Ordering::Relaxed);
            if failed > 0 || begun.elapsed() > TIMEOUT {
                let done = done.load(Ordering::Relaxed);
                return Err(format!("{done} of {count} visitors got on, {failed} were not answered").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
