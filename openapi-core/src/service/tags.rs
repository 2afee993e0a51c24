//! Entity tags of conditional requests (contract 5.4).

use http::header;

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
        let mut rest = text.trim();
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
            match rest.strip_prefix(',') {
                Some(more) => rest = more.trim_start(),
                None if rest.is_empty() => {}
                None => return None,
            }
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
        for bad in ["", "a", "\"a", "\"a\" \"b\"", "w/\"a\"", "\"a b\"", "*, \"a\""] {
            assert_eq!(TagMatch::parse(bad), None, "{bad}");
        }
        let weak = TagMatch::parse("W/\"a\"").unwrap();
        assert!(!weak.matches_strongly("\"a\"") && weak.matches_weakly("\"a\""));
    }
}
