//! One file: its brotli form, and the others that are made of it when a client asks for them.

use bytes::Bytes;
use http::StatusCode;
use http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::OnceLock;

/// A static file.
#[derive(Debug)]
pub(crate) struct File {
    content_type: &'static str,
    etag: HeaderValue,
    brotli: Bytes,
    plain: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

/// The response to a request for a file. The body is empty with status 304.
#[derive(Debug, Clone)]
pub struct Response {
    /// 200, or 304 when the client has the file.
    pub status: StatusCode,
    /// All headers except `Content-Length`.
    pub headers: HeaderMap,
    /// The bytes in the encoding that the headers name.
    pub body: Bytes,
}

impl File {
    /// A file of which the brotli form exists.
    pub(crate) fn compressed(content_type: &'static str, brotli: &'static [u8]) -> Self {
        Self {
            content_type,
            etag: etag(brotli),
            brotli: Bytes::from_static(brotli),
            plain: OnceLock::new(),
            gzip: OnceLock::new(),
        }
    }

    /// A file that is compressed now.
    pub(crate) fn plain(content_type: &'static str, plain: Bytes) -> Self {
        let mut brotli = Vec::new();
        let parameters = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
        // Writing to memory does not fail.
        let _ = brotli::BrotliCompress(&mut &plain[..], &mut brotli, &parameters);
        Self {
            content_type,
            etag: etag(&brotli),
            brotli: Bytes::from(brotli),
            plain: OnceLock::from(plain),
            gzip: OnceLock::new(),
        }
    }

    fn identity(&self) -> Bytes {
        let open = || {
            let mut out = Vec::new();
            let _ = brotli::BrotliDecompress(&mut &self.brotli[..], &mut out);
            Bytes::from(out)
        };
        self.plain.get_or_init(open).clone()
    }

    fn gzip(&self) -> Bytes {
        let pack = || {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            let _ = encoder.write_all(&self.identity());
            Bytes::from(encoder.finish().unwrap_or_default())
        };
        self.gzip.get_or_init(pack).clone()
    }

    pub(crate) fn respond(&self, accept_encoding: &str, if_none_match: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (CONTENT_TYPE, self.content_type),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (VARY, "Accept-Encoding"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(ETAG, self.etag.clone());
        let known = if_none_match.is_some_and(|tags| {
            let mut tags = tags.split(',').map(|tag| tag.trim().trim_start_matches("W/"));
            tags.any(|tag| tag == "*" || tag.as_bytes() == self.etag.as_bytes())
        });
        if known {
            return Response { status: StatusCode::NOT_MODIFIED, headers, body: Bytes::new() };
        }
        let (encoding, body) = if accepts(accept_encoding, "br") {
            (Some("br"), self.brotli.clone())
        } else if accepts(accept_encoding, "gzip") {
            (Some("gzip"), self.gzip())
        } else {
            (None, self.identity())
        };
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        Response { status: StatusCode::OK, headers, body }
    }
}

fn etag(bytes: &[u8]) -> HeaderValue {
    let mut text = String::from("\"");
    for byte in &Sha256::digest(bytes)[..8] {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// Whether an `Accept-Encoding` header allows an encoding: by name or by `*`, with a weight above 0.
fn accepts(header: &str, encoding: &str) -> bool {
    let weight = |name: &str| {
        header.split(',').find_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let named = parts.next().is_some_and(|one| one.eq_ignore_ascii_case(name));
            let zero = parts.any(|part| {
                part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0))
            });
            named.then_some(!zero)
        })
    };
    weight(encoding).or_else(|| weight("*")).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn script() -> File {
        File::plain("text/javascript; charset=utf-8", Bytes::from("const a = 1;\n".repeat(500)))
    }

    #[test]
    fn every_variant_has_the_same_bytes() {
        let file = script();
        let plain = file.respond("", None);
        assert_eq!(plain.body.len(), 6500);
        assert!(!plain.headers.contains_key(CONTENT_ENCODING));
        let gzip = file.respond("gzip", None);
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut out).unwrap();
        assert_eq!(out, plain.body);
        let brotli = file.respond("gzip, br", None);
        let mut out = Vec::new();
        brotli::BrotliDecompress(&mut &brotli.body[..], &mut out).unwrap();
        assert_eq!(out, plain.body);
        assert_eq!(brotli.headers[CONTENT_ENCODING], "br");
    }

    #[test]
    fn accept_encoding_selects_the_encoding() {
        for (accepted, expected) in
            [("br;q=0, gzip;q=0.5", Some("gzip")), ("*", Some("br")), ("*;q=0", None), ("deflate", None)]
        {
            let response = script().respond(accepted, None);
            let encoding = response.headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(encoding, expected, "{accepted}");
        }
    }

    #[test]
    fn a_matching_etag_gives_not_modified() {
        let file = script();
        let tag = file.etag.to_str().unwrap();
        for (tags, known) in [(tag, true), (&format!("W/{tag}, \"x\""), true), ("*", true), ("\"x\"", false)]
        {
            let response = file.respond("br", Some(tags));
            assert_eq!(response.status == StatusCode::NOT_MODIFIED, known, "{tags}");
            assert_eq!(response.body.is_empty(), known, "{tags}");
        }
    }
}
