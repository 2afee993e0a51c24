//! The bare file server: hyper with its defaults, one file for every request. It is the lower bound for a file server
//! on hyper.

use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use crate::report::Failure;

/// The name of this subprocess.
pub(crate) const COMMAND: &str = "bare-file";

/// Serves the file until the process is killed.
pub(crate) fn serve(path: &str) -> Result<(), Failure> {
    let path = PathBuf::from(path);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening bare http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            let path = path.clone();
            tokio::spawn(async move {
                let answer = service_fn(move |_| {
                    let chunks = Chunks::of(path.clone());
                    async move { Ok::<_, Infallible>(Response::new(StreamBody::new(chunks))) }
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer)
                    .await;
            });
        }
    })
}

/// The chunks of a file, each read on a blocking thread.
struct Chunks {
    file: Option<File>,
    reading: Option<tokio::task::JoinHandle<std::io::Result<(File, Bytes)>>>,
}

impl Chunks {
    fn of(path: PathBuf) -> Self {
        Chunks { file: File::open(path).ok(), reading: None }
    }
}

impl futures_core::Stream for Chunks {
    type Item = std::io::Result<Frame<Bytes>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(mut file) = self.file.take() {
            self.reading = Some(tokio::task::spawn_blocking(move || {
                let mut chunk = vec![0; 128 * 1024];
                let read = file.read(&mut chunk)?;
                chunk.truncate(read);
                Ok((file, Bytes::from(chunk)))
            }));
        }
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        match Pin::new(reading).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(Ok((file, chunk)))) if !chunk.is_empty() => {
                self.reading = None;
                self.file = Some(file);
                Poll::Ready(Some(Ok(Frame::data(chunk))))
            }
            Poll::Ready(_) => {
                self.reading = None;
                Poll::Ready(None)
            }
        }
    }
}
