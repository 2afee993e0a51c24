//! A model endpoint: it implements the part of the chat-completions protocol that the server uses, at its own pace.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::report::Failure;

/// Its output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The pause before each word.
    pub(crate) pace: Duration,
    /// Words per reply.
    pub(crate) words: usize,
}

/// A running endpoint.
pub(crate) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    calls: AtomicUsize,
    is_cut_short: AtomicBool,
}

impl Model {
    /// Starts it on this runtime.
    pub(crate) fn start(runtime: &Runtime, manner: Manner) -> Result<Self, Failure> {
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let answering = Arc::clone(&shared);
        runtime.spawn(async move {
            let mut answers = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                answers.spawn(answer(stream, manner, Arc::clone(&answering)));
                while answers.try_join_next().is_some() {}
            }
        });
        Ok(Model { address, shared })
    }

    /// Its address; its path is `/v1`.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of requests.
    pub(crate) fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// While set, ends each reply after its current word; a new reply has a single word, sent immediately.
    pub(crate) fn cut_short(&self, is_cut_short: bool) {
        self.shared.is_cut_short.store(is_cut_short, Ordering::Relaxed);
    }
}

async fn answer(mut stream: TcpStream, manner: Manner, shared: Arc<Shared>) -> std::io::Result<()> {
    let mut request = Vec::with_capacity(8_192);
    // The body is an object and arrives with or after the head; its content is irrelevant.
    while !request.ends_with(b"}") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    shared.calls.fetch_add(1, Ordering::Relaxed);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for _ in 0..manner.words {
        if !shared.is_cut_short.load(Ordering::Relaxed) {
            tokio::time::sleep(manner.pace).await;
        }
        let word = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n";
        stream.write_all(word.as_bytes()).await?;
        if shared.is_cut_short.load(Ordering::Relaxed) {
            break;
        }
    }
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
               data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\ndata: [DONE]\n\n";
    stream.write_all(end.as_bytes()).await
}
