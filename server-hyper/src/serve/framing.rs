//! Detects ambiguous framing on an HTTP/1.1 connection, which hyper hides: a request head with several `Content-Length`
//! lines, or with both `Content-Length` and `Transfer-Encoding`.
//!
//! hyper drops the lines that it does not use before a handler sees the head, as RFC 9112 allows. The contract (6.1)
//! rejects such a head, because a proxy may have used the other line (request smuggling). This parser therefore reads the
//! bytes a second time by the same framing rules. Where it cannot continue, hyper rejects the connection itself.

use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr;

/// The first request of a connection with ambiguous framing, shared with the connection's handler.
#[derive(Debug)]
pub struct Ambiguity(AtomicU64);

impl Default for Ambiguity {
    fn default() -> Self {
        Ambiguity(AtomicU64::new(u64::MAX))
    }
}

impl Ambiguity {
    /// Whether the request with this number, counted from 0, or an earlier one is ambiguous.
    #[must_use]
    pub fn reached(&self, request: u64) -> bool {
        self.0.load(Ordering::Relaxed) <= request
    }
}

/// The state of the parser.
#[derive(Debug)]
enum State {
    /// In or before a request head.
    Head,
    /// In a body of known length, with this many bytes left.
    Body(u64),
    /// In the line with the size of a chunk: the value so far.
    ChunkSize { size: u64, digits: bool },
    /// In a chunk, with this many bytes left.
    Chunk(u64),
    /// In the line break after a chunk.
    ChunkEnd,
    /// In the trailers after the last chunk; whether the current line has content.
    Trailers { content: bool },
    /// Unable to continue: hyper rejects the rest.
    Lost,
}

/// How much of a line's start is buffered: enough for the longest relevant name, its colon and a length.
const LINE_PREFIX: usize = 48;

/// The parser of one connection.
#[derive(Debug)]
pub struct Framing {
    state: State,
    /// The number of complete heads.
    requests: u64,
    /// The start of the current header line.
    line: [u8; LINE_PREFIX],
    /// The length of the current line without its end.
    line_len: usize,
    /// Whether the head has begun.
    begun: bool,
    content_lengths: u32,
    content_length: u64,
    chunked: bool,
}

impl Default for Framing {
    fn default() -> Self {
        Framing {
            state: State::Head,
            requests: 0,
            line: [0; LINE_PREFIX],
            line_len: 0,
            begun: false,
            content_lengths: 0,
            content_length: 0,
            chunked: false,
        }
    }
}

impl Framing {
    /// Whether a request head has begun but is incomplete.
    #[must_use]
    pub fn in_head(&self) -> bool {
        matches!(self.state, State::Head) && (self.begun || self.line_len > 0)
    }

    /// Whether the last request is complete.
    #[must_use]
    pub fn between_requests(&self) -> bool {
        matches!(self.state, State::Head) && !self.begun && self.line_len == 0
    }

    /// The number of complete request heads.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Parses the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8], ambiguity: &Ambiguity) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Head => self.head(bytes, ambiguity),
                State::Body(left) => {
                    let (rest, left) = skip(bytes, left);
                    self.state = if left == 0 { State::Head } else { State::Body(left) };
                    rest
                }
                State::ChunkSize { size, digits } => self.chunk_size(bytes, size, digits),
                State::Chunk(left) => {
                    let (rest, left) = skip(bytes, left);
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                    rest
                }
                State::ChunkEnd => match memchr(b'\n', bytes) {
                    Some(at) => {
                        self.state = State::ChunkSize { size: 0, digits: true };
                        &bytes[at + 1..]
                    }
                    None => return,
                },
                State::Trailers { content } => self.trailers(bytes, content),
                State::Lost => return,
            };
        }
    }

    fn head<'a>(&mut self, bytes: &'a [u8], ambiguity: &Ambiguity) -> &'a [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            self.buffer(bytes);
            return &[];
        };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        if self.line_len == 0 {
            self.line(line, line.len(), ambiguity);
        } else {
            // The line began in an earlier read.
            self.buffer(line);
            let (line, length) = (self.line, self.line_len);
            self.line_len = 0;
            self.line(&line[..length.min(LINE_PREFIX)], length, ambiguity);
        }
        rest
    }

    /// Handles a complete header line of this length; `line` has at least its first [`LINE_PREFIX`] bytes.
    fn line(&mut self, line: &[u8], length: usize, ambiguity: &Ambiguity) {
        if !matches!(line, b"" | b"\r") {
            self.begun = true;
            self.note_line(&line[..length.min(LINE_PREFIX)], length);
        } else if self.begun {
            self.end_of_head(ambiguity);
        }
    }

    fn buffer(&mut self, bytes: &[u8]) {
        if self.line_len < LINE_PREFIX {
            let take = bytes.len().min(LINE_PREFIX - self.line_len);
            self.line[self.line_len..self.line_len + take].copy_from_slice(&bytes[..take]);
        }
        self.line_len = self.line_len.saturating_add(bytes.len());
    }

    fn note_line(&mut self, line: &[u8], length: usize) {
        if !matches!(line[0], b'c' | b'C' | b't' | b'T') {
            return;
        }
        if let Some(value) = value_of(line, b"content-length:") {
            // Another parser may read a line that is too long for this one differently: it counts as a conflict.
            self.content_lengths += if length > LINE_PREFIX { 2 } else { 1 };
            // hyper rejects an invalid length.
            let text = std::str::from_utf8(value.trim_ascii()).unwrap_or("");
            self.content_length = text.parse().unwrap_or(0);
        } else if value_of(line, b"transfer-encoding:").is_some() {
            self.chunked = true;
        }
    }

    fn end_of_head(&mut self, ambiguity: &Ambiguity) {
        let ambiguous = self.content_lengths > 1 || self.content_lengths > 0 && self.chunked;
        self.state = if ambiguous {
            // The connection ends with this request.
            ambiguity.0.fetch_min(self.requests, Ordering::Relaxed);
            State::Lost
        } else if self.chunked {
            State::ChunkSize { size: 0, digits: true }
        } else if self.content_length > 0 {
            State::Body(self.content_length)
        } else {
            State::Head
        };
        self.requests += 1;
        self.begun = false;
        self.content_lengths = 0;
        self.content_length = 0;
        self.chunked = false;
    }

    fn chunk_size<'a>(&mut self, bytes: &'a [u8], mut size: u64, mut digits: bool) -> &'a [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            match (byte, char::from(*byte).to_digit(16)) {
                (b'\n', _) => {
                    self.state =
                        if size == 0 { State::Trailers { content: false } } else { State::Chunk(size) };
                    return &bytes[at + 1..];
                }
                (_, Some(digit)) if digits => match size.checked_mul(16) {
                    Some(shifted) => size = shifted + u64::from(digit),
                    None => {
                        self.state = State::Lost;
                        return &[];
                    }
                },
                // White space, extensions and the carriage return.
                _ => digits = false,
            }
        }
        self.state = State::ChunkSize { size, digits };
        &[]
    }

    fn trailers<'a>(&mut self, bytes: &'a [u8], mut content: bool) -> &'a [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if !content => {
                    self.state = State::Head;
                    return &bytes[at + 1..];
                }
                b'\n' => content = false,
                b'\r' => {}
                _ => content = true,
            }
        }
        self.state = State::Trailers { content };
        &[]
    }
}

/// Skips `left` bytes: the rest of `bytes`, and how many are still to come.
fn skip(bytes: &[u8], left: u64) -> (&[u8], u64) {
    match usize::try_from(left) {
        Ok(left) if left <= bytes.len() => (&bytes[left..], 0),
        _ => (&[], left - bytes.len() as u64),
    }
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number of complete heads and the first ambiguous one, with the bytes split at `cut`.
    fn parse(text: &[u8], cut: usize) -> (u64, Option<u64>, bool) {
        let (mut framing, ambiguity) = (Framing::default(), Ambiguity::default());
        let cut = cut.min(text.len());
        framing.feed(&text[..cut], &ambiguity);
        framing.feed(&text[cut..], &ambiguity);
        let first = (0..framing.requests()).find(|request| ambiguity.reached(*request));
        (framing.requests(), first, framing.between_requests())
    }

    const CASES: &[(&str, u64, Option<u64>, bool)] = &[
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1, None, true),
        ("\r\n\nGET / HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 2, None, true),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2, None, true),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabc", 1, None, false),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;x=1\r\n\r\n\r\n\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            2,
            None,
            true,
        ),
        ("POST / HTTP/1.1\r\nTRANSFER-ENCODING:chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", 1, None, true),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 1, Some(0), false),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-length: 3\r\n\r\n", 1, Some(0), false),
        ("POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n", 1, Some(0), false),
        (
            "GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length:2\r\ncontent-length:3\r\n\r\n",
            2,
            Some(1),
            false,
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length:                                                  5\r\n\r\nabcde",
            1,
            Some(0),
            false,
        ),
        ("GET / HTTP/1.1\r\nX: Content-Length: 5\r\nY: 1\r\n\r\n", 1, None, true),
        ("GET / HTTP/1.1\r\nContent-Length", 0, None, false),
    ];

    #[test]
    fn heads_and_bodies_are_distinguished_wherever_the_bytes_are_split() {
        for (text, requests, ambiguous, between) in CASES {
            for cut in 0..=text.len() {
                assert_eq!(
                    parse(text.as_bytes(), cut),
                    (*requests, *ambiguous, *between),
                    "{text:?} cut at {cut}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes in proptest::collection::vec(any::<u8>(), 0..600), cut in 0..600usize) {
            prop_assert_eq!(parse(&bytes, cut), parse(&bytes, 0));
        }

        #[test]
        fn chunked_bodies_end_where_they_end(chunks in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 1..300), 0..6), cut in 0..2000usize)
        {
            let mut text = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in &chunks {
                text.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
                text.extend(chunk);
                text.extend(b"\r\n");
            }
            text.extend(b"0\r\n\r\n");
            prop_assert_eq!(parse(&text, cut), (1, None, true));
        }
    }
}
