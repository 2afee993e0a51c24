//! Which part of a file a download asks for (RFC 9110 section 14, contract 2.2).

use http::{HeaderMap, header};

/// What is sent of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of it: 200.
    Whole,
    /// From one byte to another, both included: 206.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// Nothing of it: 416.
    Unsatisfiable,
    /// Nothing of it, because the client has it: 304.
    NotModified,
}

/// What a request selects of a file of this length and entity tag. A single range is honoured; every other form of
/// `Range`, and one whose `If-Range` names another state of the file, is ignored.
#[must_use]
pub fn selection(headers: &HeaderMap, etag: &str, length: u64) -> Selection {
    let mut lines = headers.get_all(header::RANGE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return Selection::Whole };
    if let Some(condition) = headers.get(header::IF_RANGE)
        && condition.as_bytes() != etag.as_bytes()
    {
        return Selection::Whole;
    }
    let text = line.to_str().unwrap_or("").trim();
    let Some(range) =
        text.get(..6).filter(|unit| unit.eq_ignore_ascii_case("bytes=")).map(|_| text[6..].trim())
    else {
        return Selection::Whole;
    };
    let Some((first, last)) = range.split_once('-').filter(|_| !range.contains(',')) else {
        return Selection::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match (first, number(first), number(last)) {
        ("", None, Some(count)) if count == 0 || length == 0 => Selection::Unsatisfiable,
        ("", None, Some(count)) => Selection::Part { first: length.saturating_sub(count), last: length - 1 },
        (_, Some(first), _) if last.is_empty() => within(first, u64::MAX, length),
        (_, Some(first), Some(last)) if first <= last => within(first, last, length),
        _ => Selection::Whole,
    }
}

fn within(first: u64, last: u64, length: u64) -> Selection {
    if first >= length {
        return Selection::Unsatisfiable;
    }
    Selection::Part { first, last: last.min(length - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn select(range: &str, length: u64) -> Selection {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::try_from(range).expect("a value"));
        selection(&headers, "\"tag\"", length)
    }

    #[test]
    fn forms() {
        let part = |first, last| Selection::Part { first, last };
        for (range, length, selected) in [
            ("bytes=0-0", 10, part(0, 0)),
            ("bytes=0-9", 10, part(0, 9)),
            ("Bytes=2-", 10, part(2, 9)),
            ("bytes=-3", 10, part(7, 9)),
            ("bytes=-30", 10, part(0, 9)),
            ("bytes=5-99999999999999999999999", 10, part(5, 9)),
            ("bytes=10-", 10, Selection::Unsatisfiable),
            ("bytes=10-20", 10, Selection::Unsatisfiable),
            ("bytes=-0", 10, Selection::Unsatisfiable),
            ("bytes=0-", 0, Selection::Unsatisfiable),
            ("bytes=-1", 0, Selection::Unsatisfiable),
            ("bytes=0-1,3-4", 10, Selection::Whole),
            ("bytes=5-2", 10, Selection::Whole),
            ("bytes=a-b", 10, Selection::Whole),
            ("bytes=-", 10, Selection::Whole),
            ("bytes", 10, Selection::Whole),
            ("items=0-1", 10, Selection::Whole),
            ("bytes=+1-2", 10, Selection::Whole),
            ("", 10, Selection::Whole),
        ] {
            assert_eq!(select(range, length), selected, "{range} of {length}");
        }
    }

    #[test]
    fn conditions() {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"tag\""));
        assert_eq!(selection(&headers, "\"tag\"", 10), Selection::Part { first: 0, last: 1 });
        assert_eq!(selection(&headers, "\"other\"", 10), Selection::Whole);
        headers.append(header::RANGE, HeaderValue::from_static("bytes=3-4"));
        assert_eq!(selection(&headers, "\"tag\"", 10), Selection::Whole);
    }

    proptest! {
        #[test]
        fn a_part_lies_in_the_file(range in "(bytes=)?[0-9-]{0,12}(,[0-9-]{0,5})?|.*", length in 0_u64..1_000) {
            let Ok(value) = HeaderValue::try_from(range) else { return Ok(()) };
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, value);
            if let Selection::Part { first, last } = selection(&headers, "\"tag\"", length) {
                prop_assert!(first <= last && last < length);
            }
        }
    }
}
