//! The dashboard's files for a server: bytes, content types, headers, and variants that are compressed once.
//!
//! The files are built from TypeScript and committed in `dist`, so this crate needs no Node. The binary holds their brotli
//! form; the others are made of it on first use. The base path is written into the document when a [`Dashboard`] is made.
//!
//! ```
//! let dashboard = dashboard::Dashboard::new("/admin");
//! let document = dashboard.respond("/admin/a/acme/contacts", "gzip, br", None).expect("the application");
//! assert_eq!(document.headers["content-encoding"], "br");
//! assert!(dashboard.respond("/admin/assets/none.js", "br", None).is_none());
//! ```

mod file;
mod files;

use bytes::Bytes;
use file::File;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

pub use file::Response;

const DOCUMENT: &str = include_str!("../dist/index.html");
const ASSETS: &str = "/assets/";

/// The policy of the document: scripts, styles and requests of its own origin only, no frames around it, and no text that
/// becomes HTML or a script.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
    connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The dashboard under a base path.
#[derive(Debug)]
pub struct Dashboard {
    base: String,
    document: File,
    assets: Vec<(&'static str, File)>,
}

impl Dashboard {
    /// The dashboard below `base`: empty, or a path such as `/admin`. Characters other than letters, digits and `/-_.~` are
    /// removed, so that the path cannot end the attribute of the document in which it stands.
    #[must_use]
    pub fn new(base: &str) -> Self {
        let plain =
            |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '/' | '-' | '_' | '.' | '~');
        let base: String = base.trim_end_matches('/').chars().filter(plain).collect();
        let document = Bytes::from(DOCUMENT.replace("{{base}}", &base));
        let assets = files::FILES
            .iter()
            .map(|(path, content_type, brotli)| (*path, File::compressed(content_type, brotli)))
            .collect();
        Self { base, document: File::plain("text/html; charset=utf-8", document), assets }
    }

    /// The response to a `GET` or `HEAD` of a path, with these values of `Accept-Encoding` and `If-None-Match`: a file, or
    /// else the document, whose script reads the path. None for a file that does not exist, and outside of the base path.
    /// For `HEAD` the caller leaves the body out.
    #[must_use]
    pub fn respond(
        &self,
        path: &str,
        accept_encoding: &str,
        if_none_match: Option<&str>,
    ) -> Option<Response> {
        let inside = path.strip_prefix(self.base.as_str())?;
        if !inside.is_empty() && !inside.starts_with('/') {
            return None;
        }
        if !inside.starts_with(ASSETS) {
            let mut response = self.document.respond(accept_encoding, if_none_match);
            document_headers(&mut response.headers);
            return Some(response);
        }
        let (_, file) = self.assets.iter().find(|(name, _)| Some(*name) == inside.strip_prefix('/'))?;
        let mut response = file.respond(accept_encoding, if_none_match);
        set(&mut response.headers, CACHE_CONTROL, "max-age=31536000, immutable");
        Some(response)
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn document_headers(headers: &mut HeaderMap) {
    set(headers, CACHE_CONTROL, "no-cache");
    set(headers, CONTENT_SECURITY_POLICY, POLICY);
    set(headers, REFERRER_POLICY, "no-referrer");
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, X_FRAME_OPTIONS, "DENY");
    set(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(
        headers,
        HeaderName::from_static("permissions-policy"),
        "publickey-credentials-create=(self), publickey-credentials-get=(self), clipboard-write=(self), camera=(), \
         microphone=(), geolocation=(), payment=(), usb=(), serial=(), hid=(), midi=(), display-capture=()",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    fn names(text: &str) -> Vec<String> {
        let mut names: Vec<String> = text
            .split("assets/")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_document_names_files_that_exist_below_the_base_path() {
        for base in ["", "/admin"] {
            let dashboard = Dashboard::new(base);
            let document = dashboard.respond(&format!("{base}/a/acme"), "", None).unwrap();
            let text = String::from_utf8(document.body.to_vec()).unwrap();
            assert!(!text.contains("{{"), "{text}");
            let named = names(&text);
            assert!(named.len() >= 4, "{named:?}");
            for name in named {
                let path = format!("{base}/assets/{name}");
                assert!(text.contains(&format!("\"{path}\"")), "{path}");
                assert_eq!(dashboard.respond(&path, "", None).unwrap().status, StatusCode::OK, "{path}");
            }
        }
    }

    #[test]
    fn pages_are_the_document_and_unknown_files_are_none() {
        let dashboard = Dashboard::new("/admin/");
        for path in ["/admin", "/admin/", "/admin/a/acme/inbox", "/admin/assetsx"] {
            assert!(dashboard.respond(path, "br", None).is_some(), "{path}");
        }
        for path in
            ["/", "/administrator", "/admin/assets/", "/admin/assets/kit.js", "/admin/assets/../index.html"]
        {
            assert!(dashboard.respond(path, "br", None).is_none(), "{path}");
        }
    }

    #[test]
    fn the_base_path_cannot_break_out_of_the_document() {
        let dashboard = Dashboard::new("/a\"><script>alert(1)</script>");
        let document = dashboard.respond("/ascriptalert1/script", "", None).unwrap();
        let text = String::from_utf8(document.body.to_vec()).unwrap();
        assert!(!text.contains("<script>") && text.contains("content=\"/ascriptalert1/script\""), "{text}");
    }

    #[test]
    fn the_document_has_its_policy_and_files_are_immutable() {
        let dashboard = Dashboard::new("");
        let document = dashboard.respond("/", "", None).unwrap();
        assert_eq!(document.headers["content-security-policy"], POLICY);
        assert_eq!(document.headers["cache-control"], "no-cache");
        assert_eq!(document.headers["referrer-policy"], "no-referrer");
        assert_eq!(document.headers["cross-origin-opener-policy"], "same-origin");
        let (path, _, _) = files::FILES[0];
        let file = dashboard.respond(&format!("/{path}"), "", None).unwrap();
        assert_eq!(file.headers["cache-control"], "max-age=31536000, immutable");
        assert!(!file.headers.contains_key("access-control-allow-origin"));
    }
}
