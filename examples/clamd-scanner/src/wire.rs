//! The INSTREAM part of `clamd`'s protocol: `zINSTREAM\0`, chunks with their lengths, a chunk of length 0, and a line
//! that ends with NUL.

use std::io;
use std::time::Duration;

use bytes::Buf;
use openapi_core::ports::Verdict;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::{Address, NoVerdict};

/// The maximum chunk size in bytes.
pub(crate) const MAX_CHUNK: usize = 64 * 1024;

/// The maximum response size; a name has some tens of bytes.
const MAX_ANSWER: u64 = 4 * 1024;

/// How long to wait for a response after the connection broke.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// TCP or a Unix socket.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection that sends one file to `clamd`.
pub(crate) struct Connection(Box<dyn Stream>);

impl Connection {
    /// Connects and announces a file.
    pub(crate) async fn open(address: &Address) -> io::Result<Self> {
        let mut stream: Box<dyn Stream> = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                // The last chunk is small, and the verdict waits for it.
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            #[cfg(unix)]
            Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
        };
        stream.write_all(b"zINSTREAM\0").await?;
        Ok(Connection(stream))
    }

    /// Sends a chunk of 1 to [`MAX_CHUNK`] bytes; an empty one would end the file.
    pub(crate) async fn send(&mut self, chunk: &[u8]) -> io::Result<()> {
        let length = u32::try_from(chunk.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.0.write_all_buf(&mut Buf::chain(&length.to_be_bytes()[..], chunk)).await
    }

    /// Ends the file and reads the verdict.
    pub(crate) async fn verdict(mut self) -> Result<Verdict, NoVerdict> {
        let ended = self.0.write_all(&0_u32.to_be_bytes()).await;
        match ended {
            Ok(()) => understood(&self.answer().await?),
            Err(broken) => Err(self.last_words(broken).await),
        }
    }

    /// The reason for the broken connection: `clamd` reports a file that is too long and hangs up.
    pub(crate) async fn last_words(&mut self, broken: io::Error) -> NoVerdict {
        match timeout(LAST_WORDS, self.answer()).await {
            Ok(Ok(answer)) if !answer.is_empty() => match understood(&answer) {
                Err(reason) => reason,
                Ok(_) => NoVerdict::Unreachable(broken),
            },
            _ => NoVerdict::Unreachable(broken),
        }
    }

    async fn answer(&mut self) -> io::Result<Vec<u8>> {
        let mut answer = Vec::new();
        (&mut self.0).take(MAX_ANSWER).read_to_end(&mut answer).await?;
        Ok(answer)
    }
}

/// Parses `stream: OK`, `stream: NAME FOUND` or `REASON ERROR`, each with a final NUL. Without the NUL the line is
/// incomplete, and a truncated name may end with `OK`.
fn understood(answer: &[u8]) -> Result<Verdict, NoVerdict> {
    let text = String::from_utf8_lossy(answer);
    let line = text.strip_suffix('\0').ok_or_else(|| match text.is_empty() {
        true => NoVerdict::Unreachable(io::ErrorKind::UnexpectedEof.into()),
        false => NoVerdict::Garbled(text.to_string()),
    })?;
    if let Some(reason) = line.strip_suffix(" ERROR") {
        return Err(NoVerdict::Refused(reason.to_owned()));
    }
    match line.strip_prefix("stream: ").map(|verdict| (verdict, verdict.strip_suffix(" FOUND"))) {
        Some(("OK", _)) => Ok(Verdict::Clean),
        Some((_, Some(name))) => Ok(Verdict::Infected(name.to_owned())),
        _ => Err(NoVerdict::Garbled(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let clean = understood(b"stream: OK\0").expect("a verdict");
        assert_eq!(clean, Verdict::Clean);
        let infected = understood(b"stream: Win.Test.EICAR_HDB-1 FOUND\0").expect("a verdict");
        assert_eq!(infected, Verdict::Infected("Win.Test.EICAR_HDB-1".to_owned()));
        let refused = understood(b"INSTREAM size limit exceeded. ERROR\0");
        assert!(
            matches!(refused, Err(NoVerdict::Refused(reason)) if reason == "INSTREAM size limit exceeded.")
        );
    }

    /// Only the whole line accepts a file.
    #[test]
    fn incomplete_or_unknown_responses_are_errors() {
        assert!(matches!(understood(b""), Err(NoVerdict::Unreachable(_))));
        for answer in
            [&b"stream: OK"[..], b"OK\0", b"stream: \0", b"\0", b"stream: OK\n\0", b"PONG\0", b"\xff\0"]
        {
            assert!(matches!(understood(answer), Err(NoVerdict::Garbled(_))), "{answer:?}");
        }
    }
}
