//! One file of the widget: its bytes, its compressed variants, and the response to a request for it.

use bytes::Bytes;
use http::StatusCode;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};
use std::io::Write;

/// Encodings in order of preference: the best compression first.
const ENCODINGS: [&str; 3] = ["br", "zstd", "gzip"];

/// A static file, served for the lifetime of the process.
#[derive(Debug, Clone)]
pub struct File {
    path: String,
    etag: HeaderValue,
    immutable: bool,
    plain: Bytes,
    /// In the order of [`ENCODINGS`].
    packed: [Bytes; 3],
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
    pub(crate) fn new(path: String, text: String, hash: &str) -> Self {
        let plain = Bytes::from(text);
        let packed = [brotli(&plain), zstd(&plain), gzip(&plain)].map(Bytes::from);
        let etag = HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"0\""));
        Self { path, etag, immutable: false, plain, packed }
    }

    /// The same bytes under a path that contains their hash, so caches may store them forever.
    pub(crate) fn pinned(&self, path: String) -> Self {
        Self { path, immutable: true, ..self.clone() }
    }

    /// The path at which the file is served.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The uncompressed file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.plain
    }

    /// The response to a `GET` or `HEAD` with these values of `Accept-Encoding` and `If-None-Match`. For `HEAD` the caller
    /// leaves the body out.
    #[must_use]
    pub fn respond(&self, accept_encoding: &str, if_none_match: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        let cache = if self.immutable {
            "max-age=31536000, immutable"
        } else {
            "max-age=300, stale-while-revalidate=86400"
        };
        for (name, value) in [
            (CONTENT_TYPE, "text/javascript; charset=utf-8"),
            (CACHE_CONTROL, cache),
            (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
            (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (VARY, "Accept-Encoding"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(ETAG, self.etag.clone());
        let known = if_none_match.is_some_and(|tags| {
            tags.split(',')
                .map(|tag| tag.trim().trim_start_matches("W/"))
                .any(|tag| tag == "*" || tag.as_bytes() == self.etag.as_bytes())
        });
        if known {
            return Response { status: StatusCode::NOT_MODIFIED, headers, body: Bytes::new() };
        }
        let chosen = ENCODINGS.iter().position(|encoding| accepts(accept_encoding, encoding));
        if let Some(at) = chosen {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(ENCODINGS[at]));
        }
        let body = chosen.map_or(&self.plain, |at| &self.packed[at]).clone();
        Response { status: StatusCode::OK, headers, body }
    }
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

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, ..Default::default() };
    // Writing to memory does not fail.
    let _ = brotli::BrotliCompress(&mut &plain[..], &mut out, &parameters);
    out
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 19).unwrap_or_default()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn script() -> File {
        let text = "const a = 1;\n".repeat(500);
        File::new("/embed.js".to_owned(), text, "00112233aabbccdd")
    }

    #[test]
    fn every_compressed_variant_decompresses_to_the_same_bytes() {
        let file = script();
        let open = |encoding: &str, body: &[u8]| {
            let mut out = Vec::new();
            match encoding {
                "br" => brotli::BrotliDecompress(&mut &body[..], &mut out).unwrap(),
                "zstd" => out = zstd::decode_all(body).unwrap(),
                _ => {
                    flate2::read::GzDecoder::new(body).read_to_end(&mut out).unwrap();
                }
            }
            out
        };
        for encoding in ENCODINGS {
            let response = file.respond(encoding, None);
            assert_eq!(response.headers[CONTENT_ENCODING], encoding);
            assert!(response.body.len() < file.bytes().len() / 4, "{encoding}");
            assert_eq!(open(encoding, &response.body), file.bytes(), "{encoding}");
        }
    }

    #[test]
    fn accept_encoding_selects_the_encoding() {
        let file = script();
        for (accepted, expected) in [
            ("", None),
            ("identity", None),
            ("gzip, deflate", Some("gzip")),
            ("gzip, deflate, br, zstd", Some("br")),
            ("br;q=0, gzip;q=0.5", Some("gzip")),
            ("*", Some("br")),
            ("*;q=0", None),
            ("GZIP", Some("gzip")),
            ("br; q=0.0, *", Some("zstd")),
        ] {
            let response = file.respond(accepted, None);
            assert_eq!(
                response.headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap()),
                expected,
                "{accepted}"
            );
            assert_eq!(response.status, StatusCode::OK);
        }
    }

    #[test]
    fn headers_are_those_of_a_public_script() {
        let file = script();
        let headers = file.respond("", None).headers;
        for (name, value) in [
            ("content-type", "text/javascript; charset=utf-8"),
            ("access-control-allow-origin", "*"),
            ("cross-origin-resource-policy", "cross-origin"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "max-age=300, stale-while-revalidate=86400"),
            ("vary", "Accept-Encoding"),
            ("etag", "\"00112233aabbccdd\""),
        ] {
            assert_eq!(headers[name], value, "{name}");
        }
        let pinned = file.pinned("/embed.x.js".to_owned());
        assert_eq!(pinned.respond("", None).headers["cache-control"], "max-age=31536000, immutable");
    }

    #[test]
    fn a_matching_etag_gives_not_modified() {
        let file = script();
        for (tags, known) in [
            ("\"00112233aabbccdd\"", true),
            ("W/\"00112233aabbccdd\", \"x\"", true),
            ("*", true),
            ("\"x\"", false),
        ] {
            let response = file.respond("br", Some(tags));
            assert_eq!(response.status == StatusCode::NOT_MODIFIED, known, "{tags}");
            assert_eq!(response.body.is_empty(), known, "{tags}");
        }
    }
}
