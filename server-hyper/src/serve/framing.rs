//! Checks the heads of an HTTP/1.1 connection for what hyper accepts or hides: several `Content-Length` lines, both
//! `Content-Length` and `Transfer-Encoding`, lines that end with a bare line feed, and heads that are too long.
//!
//! hyper drops the lines that it does not use before a handler sees the head, as RFC 9112 allows. The contract (6.1)
//! rejects such a head, because a proxy may have used the other line, or may take a bare line feed for data (request
//! smuggling). This parser therefore reads the bytes a second time by the same framing rules. Where it cannot continue,
//! hyper rejects the connection itself.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use memchr::memchr;

/// Why a request is rejected because of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadFault {
    /// It names its length more than once.
    Lengths,
    /// A line ends with a line feed alone.
    BareLineFeed,
    /// It exceeds the limit; its end was cut off.
    TooLong,
}

/// The first request of a connection with a faulty head, shared with the connection's handler.
#[derive(Debug)]
pub struct HeadFaults {
    request: AtomicU64,
    fault: AtomicU8,
}

impl Default for HeadFaults {
    fn default() -> Self {
        HeadFaults { request: AtomicU64::new(u64::MAX), fault: AtomicU8::new(0) }
    }
}

impl HeadFaults {
    /// The fault of the request with this number, counted from 0, or of an earlier one.
    #[must_use]
    pub fn of(&self, request: u64) -> Option<HeadFault> {
        (self.request.load(Ordering::Acquire) <= request).then(|| match self.fault.load(Ordering::Relaxed) {
            0 => HeadFault::Lengths,
            1 => HeadFault::BareLineFeed,
            _ => HeadFault::TooLong,
        })
    }

    /// Records the fault of a request, after which the connection ends. Only the stream records faults.
    fn set(&self, request: u64, fault: HeadFault) {
        if self.request.load(Ordering::Relaxed) == u64::MAX {
            let fault = match fault {
                HeadFault::Lengths => 0,
                HeadFault::BareLineFeed => 1,
                HeadFault::TooLong => 2,
            };
            self.fault.store(fault, Ordering::Relaxed);
            self.request.store(request, Ordering::Release);
        }
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
    /// In the trailers after the last chunk; whether the current line has content, and ends with a carriage return so far.
    Trailers { content: bool, cr: bool },
    /// Unable to continue: hyper rejects the rest.
    Lost,
    /// After a head that was cut off.
    CutOff,
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
    /// Whether the last byte of an unfinished line is a carriage return.
    ends_with_cr: bool,
    /// The bytes of the current head so far.
    head_bytes: usize,
    /// Whether the request line is complete.
    begun: bool,
    /// Whether a line of the head ended with a line feed alone.
    has_bare_line_feed: bool,
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
            ends_with_cr: false,
            head_bytes: 0,
            begun: false,
            has_bare_line_feed: false,
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

    /// The bytes of an incomplete request head, with the empty lines in front of it; or those after which the parser
    /// could not continue.
    #[must_use]
    pub fn head_bytes(&self) -> usize {
        self.head_bytes
    }

    /// Whether the parser could not continue.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost)
    }

    /// Whether a head was cut off: the connection takes nothing more.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        matches!(self.state, State::CutOff)
    }

    /// Gives up an incomplete head, and returns what completes it. hyper then hands the beginning of the head to the
    /// handler, which rejects it, instead of buffering the rest.
    pub fn cut_off(&mut self, faults: &HeadFaults) -> &'static [u8] {
        faults.set(self.requests, HeadFault::TooLong);
        self.requests += 1;
        self.state = State::CutOff;
        self.head_bytes = 0;
        let prefix = &self.line[..self.line_len.min(LINE_PREFIX)];
        match (self.begun, self.line_len) {
            (true, 0) => b"\r\n",
            (false, 0) => b"GET / HTTP/1.1\r\n\r\n",
            _ if self.ends_with_cr => b"\n\r\n",
            (false, _) => b" HTTP/1.1\r\n\r\n",
            (true, _) if prefix.contains(&b':') => b"\r\n\r\n",
            (true, _) => b":\r\n\r\n",
        }
    }

    /// The number of complete request heads.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Parses the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8], faults: &HeadFaults) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Head => self.head(bytes, faults),
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
                State::Trailers { content, cr } => self.trailers(bytes, content, cr, faults),
                State::Lost => {
                    self.head_bytes = self.head_bytes.saturating_add(bytes.len());
                    return;
                }
                State::CutOff => return,
            };
        }
    }

    fn head<'a>(&mut self, bytes: &'a [u8], faults: &HeadFaults) -> &'a [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            self.head_bytes = self.head_bytes.saturating_add(bytes.len());
            self.ends_with_cr = bytes.ends_with(b"\r");
            self.buffer(bytes);
            return &[];
        };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        self.head_bytes = self.head_bytes.saturating_add(end + 1);
        let is_bare = if line.is_empty() { !self.ends_with_cr } else { !line.ends_with(b"\r") };
        self.has_bare_line_feed |= is_bare;
        self.ends_with_cr = false;
        if self.line_len == 0 {
            self.line(line, line.len(), faults);
        } else {
            // The line began in an earlier read.
            self.buffer(line);
            let (line, length) = (self.line, self.line_len);
            self.line_len = 0;
            self.line(&line[..length.min(LINE_PREFIX)], length, faults);
        }
        rest
    }

    /// Handles a complete header line of this length; `line` has at least its first [`LINE_PREFIX`] bytes.
    fn line(&mut self, line: &[u8], length: usize, faults: &HeadFaults) {
        if !matches!(line, b"" | b"\r") {
            self.begun = true;
            self.note_line(&line[..length.min(LINE_PREFIX)], length);
        } else if self.begun {
            self.end_of_head(faults);
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

    fn end_of_head(&mut self, faults: &HeadFaults) {
        let fault = if self.content_lengths > 1 || self.content_lengths > 0 && self.chunked {
            Some(HeadFault::Lengths)
        } else {
            self.has_bare_line_feed.then_some(HeadFault::BareLineFeed)
        };
        self.state = if let Some(fault) = fault {
            // The connection ends with this request.
            faults.set(self.requests, fault);
            State::Lost
        } else if self.chunked {
            State::ChunkSize { size: 0, digits: true }
        } else if self.content_length > 0 {
            State::Body(self.content_length)
        } else {
            State::Head
        };
        self.requests += 1;
        self.head_bytes = 0;
        self.begun = false;
        self.content_lengths = 0;
        self.content_length = 0;
        self.chunked = false;
    }

    fn chunk_size<'a>(&mut self, bytes: &'a [u8], mut size: u64, mut digits: bool) -> &'a [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            match (byte, char::from(*byte).to_digit(16)) {
                (b'\n', _) => {
                    self.state = if size == 0 {
                        State::Trailers { content: false, cr: false }
                    } else {
                        State::Chunk(size)
                    };
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

    fn trailers<'a>(
        &mut self,
        bytes: &'a [u8],
        mut content: bool,
        mut cr: bool,
        faults: &HeadFaults,
    ) -> &'a [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                // hyper takes it for a part of the line, so a proxy may see the end of the request elsewhere.
                b'\n' if !cr => {
                    faults.set(self.requests - 1, HeadFault::BareLineFeed);
                    self.state = State::Lost;
                    return &[];
                }
                b'\n' if !content => {
                    self.state = State::Head;
                    return &bytes[at + 1..];
                }
                b'\n' => content = false,
                b'\r' => {}
                _ => content = true,
            }
            cr = *byte == b'\r';
        }
        self.state = State::Trailers { content, cr };
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

    use HeadFault::{BareLineFeed, Lengths};

    /// The first faulty request, and its fault.
    type First = Option<(u64, HeadFault)>;

    /// The number of complete heads and the first faulty one, with the bytes split at `cut`.
    fn parse(text: &[u8], cut: usize) -> (u64, First, bool) {
        let (mut framing, faults) = (Framing::default(), HeadFaults::default());
        let cut = cut.min(text.len());
        framing.feed(&text[..cut], &faults);
        framing.feed(&text[cut..], &faults);
        let first = (0..=framing.requests()).find_map(|request| Some((request, faults.of(request)?)));
        (framing.requests(), first, framing.between_requests())
    }

    const CASES: &[(&str, u64, First, bool)] = &[
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1, None, true),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 2, None, true),
        ("\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 1, Some((0, BareLineFeed)), false),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", 1, Some((0, BareLineFeed)), false),
        ("GET / HTTP/1.1\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n", 1, Some((0, BareLineFeed)), false),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", 1, Some((0, BareLineFeed)), false),
        ("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: a\n\r\n", 2, Some((1, BareLineFeed)), false),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\nGET / HTTP/1.1\r\n\r\n",
            1,
            Some((0, BareLineFeed)),
            false,
        ),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n", 1, Some((0, BareLineFeed)), false),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2, None, true),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabc", 1, None, false),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;x=1\r\n\r\n\r\n\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            2,
            None,
            true,
        ),
        ("POST / HTTP/1.1\r\nTRANSFER-ENCODING:chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", 1, None, true),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 1, Some((0, Lengths)), false),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-length: 3\r\n\r\n",
            1,
            Some((0, Lengths)),
            false,
        ),
        (
            "POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
            1,
            Some((0, Lengths)),
            false,
        ),
        (
            "GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length:2\r\ncontent-length:3\r\n\r\n",
            2,
            Some((1, Lengths)),
            false,
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length:                                                  5\r\n\r\nabcde",
            1,
            Some((0, Lengths)),
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
        fn a_bare_line_feed_anywhere_in_a_head_is_a_fault(lines in proptest::collection::vec("[A-Z]{1,60}: [ -~]{0,80}", 0..6),
            at in any::<prop::sample::Index>(), cut in 0..900usize)
        {
            let head: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
            let head = format!("GET / HTTP/1.1\r\n{head}\r\n");
            let ends: Vec<usize> = head.match_indices("\r\n").map(|(at, _)| at).collect();
            let mut bare = head.clone();
            bare.remove(ends[at.index(ends.len())]);
            prop_assert_eq!(parse(head.as_bytes(), cut).0, 1);
            let fault = parse(bare.as_bytes(), cut).1;
            prop_assert!(matches!(fault, Some((0, BareLineFeed | Lengths))), "{:?} of {:?}", fault, bare);
        }

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
