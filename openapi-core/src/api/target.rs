//! The target of a request: path segments and query pairs, decoded (contract 5.1).

use std::borrow::Cow;

use http::Uri;
use memchr::memchr_iter;

use crate::reply::{ApiError, ErrorCode};

/// Path and query, decoded.
pub(super) struct Target<'a> {
    /// The segments after the leading slash; one trailing slash is ignored.
    pub(super) segments: Vec<Cow<'a, str>>,
    /// The pairs of the query, in order.
    pub(super) query_pairs: Vec<(String, String)>,
}

impl<'a> Target<'a> {
    pub(super) fn read(uri: &'a Uri) -> Result<Self, ApiError> {
        let path = uri.path();
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
        // Endpoints have fewer; a longer path grows it.
        let mut segments = Vec::with_capacity(8);
        let mut start = 0;
        for end in memchr_iter(b'/', path.as_bytes()).chain([path.len()]) {
            let segment = decode(&path[start..end], false)
                .ok_or_else(|| bad_request("Invalid percent-encoding in the request path"))?;
            segments.push(segment);
            start = end + 1;
        }
        let pairs = uri.query().unwrap_or("").split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = decode(name, true).zip(decode(value, true));
            let (name, value) =
                decoded.ok_or_else(|| bad_request("Invalid percent-encoding in the query"))?;
            Ok((name.into_owned(), value.into_owned()))
        });
        Ok(Target { segments, query_pairs: pairs.collect::<Result<_, ApiError>>()? })
    }
}

fn bad_request(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, message)
}

/// Percent-decodes text; `+` is a blank in a query. `None` for a malformed escape or bytes that are not UTF-8.
fn decode(text: &str, plus_is_blank: bool) -> Option<Cow<'_, str>> {
    let special = |byte: &u8| *byte == b'%' || plus_is_blank && *byte == b'+';
    if !text.as_bytes().iter().any(special) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let (&high, after) = rest.split_first()?;
                let (&low, after) = after.split_first()?;
                let nibble =
                    |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
                decoded.push(nibble(high)? << 4 | nibble(low)?);
                rest = after;
            }
            b'+' if plus_is_blank => decoded.push(b' '),
            byte => decoded.push(byte),
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(path: &str) -> Option<Vec<String>> {
        let uri: Uri = path.parse().unwrap();
        Some(Target::read(&uri).ok()?.segments.into_iter().map(Cow::into_owned).collect())
    }

    #[test]
    fn segments_are_split_before_they_are_decoded() {
        assert_eq!(segments("/a%2Fb/c+d/").unwrap(), ["a/b", "c+d"]);
        assert_eq!(segments("/a//b").unwrap(), ["a", "", "b"]);
        assert_eq!(segments("/a/b//").unwrap(), ["a", "b", ""], "one trailing slash is ignored, not two");
        assert_eq!(segments("/").unwrap(), [""]);
        assert_eq!(segments("/../%2e").unwrap(), ["..", "."]);
        for bad in ["/%", "/%2", "/%zz", "/%ff"] {
            assert!(segments(bad).is_none(), "{bad}");
        }
        let uri: Uri = "/?a=1+2&b&&c=%26".parse().unwrap();
        let pairs = Target::read(&uri).ok().unwrap().query_pairs;
        assert_eq!(pairs, [("a", "1 2"), ("b", ""), ("c", "&")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
