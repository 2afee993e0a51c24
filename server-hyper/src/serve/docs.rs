//! The interactive reference at `{origin}/docs`: vendored files under a strict policy, without external resources; and the
//! OpenAPI document, compressed once.

use std::io::Write;
use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use openapi_core::api::ApiBody;
use sha2::{Digest, Sha256};

/// The path of the page.
pub const PATH: &str = "/docs";

/// The strictest policy under which the viewer works.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// One file.
struct Asset {
    /// Its path below [`PATH`]; empty for the page itself.
    name: &'static str,
    media_type: &'static str,
    content: Bytes,
    /// Whether `content` is compressed with gzip.
    gzipped: bool,
    /// A digest of the content.
    version: String,
}

/// The files of the reference.
pub struct Docs {
    assets: Vec<Asset>,
    /// The OpenAPI document, plain and with gzip.
    document: OnceLock<(Bytes, Bytes)>,
}

impl Default for Docs {
    fn default() -> Self {
        Docs::new()
    }
}

impl Docs {
    /// The reference.
    #[must_use]
    pub fn new() -> Self {
        let mut assets = vec![
            asset("/init.js", SCRIPT, include_bytes!("../../assets/docs/init.js"), false),
            asset(
                "/swagger-ui-bundle.js",
                SCRIPT,
                include_bytes!("../../assets/docs/swagger-ui-bundle.js.gz"),
                true,
            ),
            asset("/swagger-ui.css", STYLE, include_bytes!("../../assets/docs/swagger-ui.css.gz"), true),
        ];
        // The page names each file with its digest, so browsers can cache the files permanently.
        let mut page = include_str!("../../assets/docs/index.html").to_owned();
        for asset in &assets {
            let path = format!("docs{}\"", asset.name);
            page = page.replace(&path, &format!("docs{}?v={}\"", asset.name, asset.version));
        }
        assets.push(asset("", HTML, page.as_bytes(), false));
        Docs { assets, document: OnceLock::new() }
    }

    /// Replaces the body of a response with the OpenAPI document by bytes that all responses share. Without that, each one
    /// would hold a copy or an encoder until its client has read it.
    #[must_use]
    pub fn share_document(&self, accepts_gzip: bool, mut response: Response<ApiBody>) -> Response<ApiBody> {
        let Some(text) = response.body().as_bytes().filter(|text| !text.is_empty()) else { return response };
        let (plain, gzip) = self.document.get_or_init(|| (Bytes::copy_from_slice(text), compressed(text)));
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        // The transport then leaves the body as it is.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
        if accepts_gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        *response.body_mut() = ApiBody::from(if accepts_gzip { gzip.clone() } else { plain.clone() });
        response
    }

    /// The response, if the path belongs to the reference.
    #[must_use]
    pub fn respond<B>(&self, request: &Request<B>) -> Option<Response<Bytes>> {
        let rest = request.uri().path().strip_prefix(PATH)?;
        if rest == "/" {
            let mut response = empty(StatusCode::PERMANENT_REDIRECT);
            response.headers_mut().insert(LOCATION, HeaderValue::from_static("../docs"));
            return Some(Docs::finish(response));
        }
        let asset = self.assets.iter().find(|asset| asset.name == rest)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(Docs::finish(response));
        }
        Some(Docs::finish(asset.respond(request)))
    }

    fn finish(mut response: Response<Bytes>) -> Response<Bytes> {
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}

impl Asset {
    /// The file as it is stored. Decompressing it for a client would make a small request cost megabytes. RFC 9110 (12.5.3)
    /// allows any coding if the client names none; a client that excludes gzip gets 406.
    fn respond<B>(&self, request: &Request<B>) -> Response<Bytes> {
        if self.gzipped && names_codings(request.headers()) && !accepts_gzip(request.headers()) {
            let mut response = empty(StatusCode::NOT_ACCEPTABLE);
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
            response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            return response;
        }
        let content = &self.content;
        let tag = format!("\"{}\"", self.version);
        let named_by_digest =
            request.uri().query().and_then(|query| query.strip_prefix("v=")) == Some(&*self.version);
        let caching = if named_by_digest { "public, max-age=31536000, immutable" } else { "no-cache" };
        let known = request.headers().get_all(IF_NONE_MATCH).iter().any(|line| {
            line.to_str()
                .is_ok_and(|line| line.split(',').any(|one| one.trim().trim_start_matches("W/") == tag))
        });
        let mut response =
            if known { empty(StatusCode::NOT_MODIFIED) } else { Response::new(content.clone()) };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(ETAG, tag);
        }
        if self.gzipped {
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        if !known {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
            if self.gzipped {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            if request.method() == Method::HEAD {
                headers.insert(CONTENT_LENGTH, content.len().into());
                *response.body_mut() = Bytes::new();
            }
        }
        response
    }
}

/// The text with gzip.
fn compressed(text: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    // Writing to memory never fails.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default().into()
}

fn asset(name: &'static str, media_type: &'static str, content: &[u8], gzipped: bool) -> Asset {
    let digest = Sha256::digest(content);
    let version = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let content = Bytes::copy_from_slice(content);
    Asset { name, media_type, content, gzipped, version }
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// Whether the client names the codings that it accepts.
fn names_codings(headers: &HeaderMap) -> bool {
    headers.contains_key(ACCEPT_ENCODING)
}

/// Whether the client names gzip among the codings that it accepts.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = quality.trim().strip_prefix("q=").is_some_and(|q| q.trim().parse() == Ok(0.0_f32));
        matches!(name.trim(), "gzip" | "*") && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, headers: &[(&'static str, &str)]) -> Option<Response<Bytes>> {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Docs::new().respond(&request.body(()).unwrap())
    }

    #[test]
    fn the_page_names_its_files_by_digest_and_they_can_be_cached() {
        let page = get("/docs", &[]).unwrap();
        assert_eq!(page.headers()[CACHE_CONTROL], "no-cache");
        let text = std::str::from_utf8(page.body()).unwrap();
        let paths: Vec<_> =
            text.split('"').filter(|part| part.starts_with("docs/")).map(|path| format!("/{path}")).collect();
        assert_eq!(paths.len(), 3, "{text}");
        for path in &paths {
            let file = get(path, &[("accept-encoding", "br, gzip")]).unwrap();
            assert_eq!(file.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable", "{path}");
            assert_eq!(file.headers()[CONTENT_SECURITY_POLICY], POLICY);
            assert!(!file.body().is_empty());
            let is_stored_with_gzip = file.headers().get(CONTENT_ENCODING).is_some();
            assert_eq!(get(path, &[]).unwrap().body(), file.body(), "{path} is sent as it is stored");
            for excluding in ["gzip;q=0", "identity", "br", ""] {
                let response = get(path, &[("accept-encoding", excluding)]).unwrap();
                let status = if is_stored_with_gzip { StatusCode::NOT_ACCEPTABLE } else { StatusCode::OK };
                assert_eq!(response.status(), status, "{path} for {excluding:?}");
                assert!(response.body().len() <= file.body().len());
            }
            let tag = file.headers()[ETAG].to_str().unwrap().to_owned();
            let again = get(path, &[("accept-encoding", "gzip"), ("if-none-match", &tag)]).unwrap();
            assert_eq!((again.status(), again.body().len()), (StatusCode::NOT_MODIFIED, 0));
            let without_digest = path.split('?').next().unwrap();
            assert_eq!(get(without_digest, &[]).unwrap().headers()[CACHE_CONTROL], "no-cache");
        }
    }

    #[test]
    fn other_paths_are_left_to_the_api() {
        assert!(
            get("/docs/other.js", &[]).is_none() && get("/docsx", &[]).is_none() && get("/", &[]).is_none()
        );
        assert_eq!(get("/docs/", &[]).unwrap().headers()[LOCATION], "../docs");
    }
}
