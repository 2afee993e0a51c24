//! A request as bytes that people can read, store and edit.
//!
//! The first line names the caller, how the body arrives and how it ends: `key 0 end`. An HTTP/1.1 request follows,
//! with lines ended by a single line feed. Names in angle brackets are placeholders for the sandbox's records: `<A>`,
//! `<CONTACT>`, `<FILE>`, `<LINK>`, `<TEMPLATE>`, `<SUBMISSION>`, `<TOKEN>`.

use bytes::Bytes;
use contract_tests::call::{Chunk, ChunkedBody};
use contract_tests::traffic;
use http::{HeaderMap, HeaderName, HeaderValue, Request};

/// The caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A key with every permission.
    Key,
    /// The same key with a wrong secret.
    WrongSecret,
    /// No credentials.
    Nobody,
    /// A caller that the host authenticated.
    Host,
    /// A widget visitor.
    Visitor,
}

/// The end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The body is complete.
    Whole,
    /// Trailers follow.
    Trailers,
    /// The client disconnects.
    Gone,
    /// The body timeout expires.
    Late,
}

const WHO: [(&str, Who); 5] = [
    ("key", Who::Key),
    ("wrong", Who::WrongSecret),
    ("nobody", Who::Nobody),
    ("host", Who::Host),
    ("visitor", Who::Visitor),
];
const ENDS: [(&str, End); 4] =
    [("end", End::Whole), ("trailers", End::Trailers), ("gone", End::Gone), ("late", End::Late)];

/// A request under construction, which may be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub who: Who,
    /// Bytes per chunk, with a pause after each; 0 sends all at once.
    pub piece: usize,
    pub end: End,
    pub method: Vec<u8>,
    pub target: Vec<u8>,
    pub version: Vec<u8>,
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Case {
    /// A request without headers or body.
    pub fn new(who: Who, method: &str, target: &str) -> Self {
        Case {
            who,
            piece: 0,
            end: End::Whole,
            method: method.into(),
            target: target.into(),
            version: b"HTTP/1.1".to_vec(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Sets the body and its media type.
    pub fn with_body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.headers.push((b"content-type".to_vec(), media_type.into()));
        self.body = body.into();
        self
    }

    /// A request of the small domain.
    pub fn of(request: &traffic::Request) -> Self {
        let (who, target) = match request.path.strip_prefix('/') {
            Some(path) if path.starts_with('/') => (Who::Nobody, path.to_owned()),
            _ => (Who::Key, format!("/v1/open{}", request.path)),
        };
        let mut case = Case::new(who, request.method, &target);
        case.headers = request
            .headers
            .iter()
            .map(|(name, value)| ((*name).into(), value.clone().into_bytes()))
            .collect();
        case.body = request.body.clone().unwrap_or_default();
        case
    }

    /// Serializes the case for [`Case::read`].
    pub fn bytes(&self) -> Vec<u8> {
        let who = WHO.iter().find(|(_, who)| *who == self.who).map_or("", |(name, _)| name);
        let end = ENDS.iter().find(|(_, end)| *end == self.end).map_or("", |(name, _)| name);
        let mut bytes = format!("{who} {} {end}\n", self.piece).into_bytes();
        bytes.extend([&self.method[..], b" ", &self.target, b" ", &self.version, b"\n"].concat());
        for (name, value) in &self.headers {
            bytes.extend([name, &b": "[..], value, b"\n"].concat());
        }
        bytes.push(b'\n');
        bytes.extend(&self.body);
        bytes
    }

    /// Parses a case leniently; `None` if nothing can be made of it.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = line(bytes)?;
        let mut words = std::str::from_utf8(first).ok()?.split(' ');
        let word = words.next()?;
        let who = WHO.iter().find(|(name, _)| *name == word)?.1;
        let piece = words.next()?.parse().ok()?;
        let word = words.next()?;
        let end = ENDS.iter().find(|(name, _)| *name == word)?.1;
        let (start, mut rest) = line(rest)?;
        // A target may contain spaces here: such a case cannot be sent, but can be mutated further.
        let (method, start) = start.split_at_checked(start.iter().position(|byte| *byte == b' ')?)?;
        let (target, version) = start.split_at_checked(start.iter().rposition(|byte| *byte == b' ')?)?;
        let mut case = Case::new(who, "", "");
        (case.piece, case.end) = (piece, end);
        case.method = method.to_vec();
        case.target = target.get(1..).unwrap_or_default().to_vec();
        case.version = version[1..].to_vec();
        while let Some((field, after)) = line(rest) {
            rest = after;
            if field.is_empty() {
                break;
            }
            let colon = field.iter().position(|byte| *byte == b':')?;
            let value = field[colon + 1..].strip_prefix(b" ").unwrap_or(&field[colon + 1..]);
            case.headers.push((field[..colon].to_vec(), value.to_vec()));
        }
        case.body = rest.to_vec();
        Some(case)
    }

    /// The request with placeholders replaced; `None` if no server could produce it.
    pub fn request(&self, names: &[(&str, String)]) -> Option<Request<ChunkedBody>> {
        let version = match &self.version[..] {
            b"HTTP/1.0" => http::Version::HTTP_10,
            b"HTTP/1.1" => http::Version::HTTP_11,
            b"HTTP/2" => http::Version::HTTP_2,
            b"HTTP/3" => http::Version::HTTP_3,
            _ => return None,
        };
        let mut request = Request::builder()
            .method(&self.method[..])
            .uri(&named(&self.target, names)[..])
            .version(version)
            .body(ChunkedBody::from(self.chunks(names)))
            .ok()?;
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name).ok()?;
            let value = HeaderValue::from_bytes(&named(value, names)).ok()?;
            request.headers_mut().try_append(name, value).ok()?;
        }
        Some(request)
    }

    fn chunks(&self, names: &[(&str, String)]) -> Vec<Chunk> {
        let body = Bytes::from(named(&self.body, names));
        let mut chunks = Vec::new();
        // However small the chunks, their number is bounded.
        let piece = if self.piece == 0 { body.len() } else { self.piece.max(body.len() / 200) };
        for at in (0..body.len()).step_by(piece.max(1)) {
            chunks.push(Chunk::Bytes(body.slice(at..body.len().min(at + piece))));
            chunks.extend((self.piece > 0).then_some(Chunk::Pause));
        }
        chunks.extend(match self.end {
            End::Whole => None,
            End::Gone => Some(Chunk::Gone),
            End::Late => Some(Chunk::Timeout),
            End::Trailers => {
                let mut fields = HeaderMap::new();
                fields.insert("x-api-key", HeaderValue::from_static("trailer"));
                Some(Chunk::Trailers(fields))
            }
        });
        chunks
    }
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Replaces placeholders in bytes.
fn named(bytes: &[u8], names: &[(&str, String)]) -> Vec<u8> {
    if !bytes.contains(&b'<') {
        return bytes.to_vec();
    }
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let name = (*first == b'<').then(|| names.iter().find(|(name, _)| rest.starts_with(name.as_bytes())));
        match name.flatten() {
            Some((name, value)) => {
                replaced.extend(value.bytes());
                rest = &rest[name.len()..];
            }
            None => {
                replaced.push(*first);
                rest = after;
            }
        }
    }
    replaced
}

#[test]
fn a_case_survives_a_round_trip() {
    let mut case = Case::new(Who::Host, "POST", "/a b?<A>").with_body("text/plain", *b"\n\xff\n");
    case.headers.push((b"x".to_vec(), b" : \xfe".to_vec()));
    (case.piece, case.end) = (3, End::Gone);
    assert_eq!(Case::read(&case.bytes()), Some(case.clone()));
    assert!(case.request(&[]).is_none(), "there is a space in its target");
    case.target = b"/<A>/<B>".to_vec();
    let request = case.request(&[("<A>", "agent".to_owned())]);
    assert!(request.is_none(), "angle brackets are none of a target's");
    case.target = b"/<A>".to_vec();
    let request = case.request(&[("<A>", "agent".to_owned())]).expect("a request");
    assert_eq!(request.uri(), "/agent");
}
