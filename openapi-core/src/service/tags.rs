//! Entity tags of conditional requests (contract 5.4).

use http::{HeaderMap, header};

use crate::request::{Part, Reader, header_fault};

/// The tags of an `If-Match` or `If-None-Match` header (contract 5.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagMatch {
    /// `*`
    Any,
    /// Tags, quotes included; weak ones begin with `W/`.
    Tags(Vec<String>),
}

impl TagMatch {
    /// Reads the header: tags, a list of them, or `*`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "*" {
            return Some(TagMatch::Any);
        }
        let mut tags = Vec::new();
        // A list may have empty elements (RFC 9110, 5.6.1).
        let next = |rest: &str| rest.trim_start_matches([',', ' ', '\t']).len();
        let mut rest = text.trim();
        rest = &rest[rest.len() - next(rest)..];
        while !rest.is_empty() {
            let weak = if rest.starts_with("W/") { 2 } else { 0 };
            let inner = rest[weak..].strip_prefix('"')?;
            let end = inner.find('"')?;
            if inner[..end].bytes().any(|byte| byte <= 0x20 || byte == 0x7f) {
                return None;
            }
            let length = weak + end + 2;
            tags.push(rest[..length].to_owned());
            rest = rest[length..].trim_start();
            if !rest.is_empty() && !rest.starts_with(',') {
                return None;
            }
            rest = &rest[rest.len() - next(rest)..];
        }
        (!tags.is_empty()).then_some(TagMatch::Tags(tags))
    }

    /// Whether a strong tag is among them; weak ones never match (`If-Match`).
    #[must_use]
    pub fn matches_strongly(&self, etag: &str) -> bool {
        match self {
            TagMatch::Any => true,
            TagMatch::Tags(tags) => tags.iter().any(|tag| tag == etag),
        }
    }

    /// Whether a tag is among them, weak or strong (`If-None-Match`).
    #[must_use]
    pub fn matches_weakly(&self, etag: &str) -> bool {
        match self {
            TagMatch::Any => true,
            TagMatch::Tags(tags) => tags.iter().any(|tag| tag.strip_prefix("W/").unwrap_or(tag) == etag),
        }
    }
}

/// Whether `If-None-Match` says that the client has the state with this entity tag, in any of its forms.
#[must_use]
pub(crate) fn is_not_modified(headers: &HeaderMap, etag: &str) -> bool {
    let etag = etag.strip_prefix("W/").unwrap_or(etag);
    let lines = headers.get_all(header::IF_NONE_MATCH).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .filter_map(TagMatch::parse)
        .any(|tags| tags.matches_weakly(etag))
}

/// The header `If-Match`.
pub struct IfMatch;

impl Part for IfMatch {
    type Value = Option<TagMatch>;
    const IF_MATCH: bool = true;

    fn read(request: &mut Reader<'_>) -> Option<TagMatch> {
        let text = match request.sent.header(&header::IF_MATCH) {
            Ok(text) => text?,
            Err(violation) => {
                request.headers.push(*violation);
                return None;
            }
        };
        let tags = TagMatch::parse(&text);
        if tags.is_none() {
            let words = "must be *, an entity tag or a list of entity tags";
            request.headers.push(header_fault(&header::IF_MATCH, words));
        }
        tags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_lists_and_stars() {
        assert_eq!(TagMatch::parse(" * "), Some(TagMatch::Any));
        assert_eq!(
            TagMatch::parse("\"a\", W/\"b\",\"\""),
            Some(TagMatch::Tags(vec!["\"a\"".into(), "W/\"b\"".into(), "\"\"".into()]))
        );
        assert_eq!(TagMatch::parse(", \"a\",,"), Some(TagMatch::Tags(vec!["\"a\"".into()])));
        for bad in ["", ",", "a", "\"a", "\"a\" \"b\"", "w/\"a\"", "\"a b\"", "*, \"a\""] {
            assert_eq!(TagMatch::parse(bad), None, "{bad}");
        }
        let weak = TagMatch::parse("W/\"a\"").unwrap();
        assert!(!weak.matches_strongly("\"a\"") && weak.matches_weakly("\"a\""));
    }
}
