//! The interactive reference at `{origin}/docs`: vendored files under a strict policy, without external resources.

use std::io::Read;
use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
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
    /// The content for clients without gzip, decompressed on demand.
    plain: OnceLock<Bytes>,
    /// A digest of the content.
    version: String,
}

/// The files of the reference.
pub struct Docs {
    assets: Vec<Asset>,
    strict_transport_security: bool,
}

impl Docs {
    /// The reference; with `strict_transport_security` its responses have that header.
    #[must_use]
    pub fn new(strict_transport_security: bool) -> Self {
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
        Docs { assets, strict_transport_security }
    }

    /// The response, if the path belongs to the reference.
    #[must_use]
    pub fn respond<B>(&self, request: &Request<B>) -> Option<Response<Bytes>> {
        let rest = request.uri().path().strip_prefix(PATH)?;
        if rest == "/" {
            let mut response = empty(StatusCode::PERMANENT_REDIRECT);
            response.headers_mut().insert(LOCATION, HeaderValue::from_static("../docs"));
            return Some(self.finish(response));
        }
        let asset = self.assets.iter().find(|asset| asset.name == rest)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(self.finish(response));
        }
        Some(self.finish(asset.respond(request)))
    }

    fn finish(&self, mut response: Response<Bytes>) -> Response<Bytes> {
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        if self.strict_transport_security {
            headers.insert(STRICT_TRANSPORT_SECURITY, super::responses::transport_security());
        }
        response
    }
}

impl Asset {
    fn respond<B>(&self, request: &Request<B>) -> Response<Bytes> {
        let as_gzip = self.gzipped && accepts_gzip(request.headers());
        let content = if self.gzipped && !as_gzip { self.plain() } else { &self.content };
        // The two encodings of a file are different bytes, so they need different strong ETags.
        let tag =
            if as_gzip { format!("\"{}-gzip\"", self.version) } else { format!("\"{}\"", self.version) };
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
            if as_gzip {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            if request.method() == Method::HEAD {
                headers.insert(CONTENT_LENGTH, content.len().into());
                *response.body_mut() = Bytes::new();
            }
        }
        response
    }

    fn plain(&self) -> &Bytes {
        self.plain.get_or_init(|| {
            let mut plain = Vec::new();
            // The file is our own; a test reads each to its end.
            let _ = flate2::read::GzDecoder::new(&*self.content).read_to_end(&mut plain);
            plain.into()
        })
    }
}

fn asset(name: &'static str, media_type: &'static str, content: &[u8], gzipped: bool) -> Asset {
    let digest = Sha256::digest(content);
    let version = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let content = Bytes::copy_from_slice(content);
    Asset { name, media_type, content, gzipped, plain: OnceLock::new(), version }
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
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
        Docs::new(false).respond(&request.body(()).unwrap())
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
            let plain = get(path, &[("accept-encoding", "gzip;q=0")]).unwrap();
            assert!(plain.headers().get(CONTENT_ENCODING).is_none());
            assert!(plain.body().len() >= file.body().len());
            assert!(std::str::from_utf8(plain.body()).is_ok(), "{path} is text as a whole");
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
