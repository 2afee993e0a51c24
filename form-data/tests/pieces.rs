//! Forms cut anywhere, and large ones.
#![allow(clippy::expect_used, clippy::panic, reason = "a test ends at the first surprise")]

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use form_data::{FilePart, Form, FormError, Piece};
use futures_core::Stream;
use proptest::prelude::*;

/// Why a form was refused.
#[derive(Debug)]
struct Refused(#[allow(dead_code, reason = "shown when a test fails")] String);

impl FormError for Refused {
    fn malformed(reason: &str) -> Self {
        Refused(reason.to_owned())
    }
}

/// The most bytes that the parser is given at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A body whose chunks come one after the other, each of them late.
struct Chunks {
    rest: Bytes,
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
    is_late: bool,
}

impl Stream for Chunks {
    type Item = Result<Bytes, Refused>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.is_late = !self.is_late;
        if self.is_late {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let size = self.sizes.next().unwrap_or(1).min(self.rest.len());
        let chunk = self.rest.split_to(size);
        Poll::Ready((!chunk.is_empty()).then_some(Ok(chunk)))
    }
}

fn form(body: Bytes, boundary: &str, sizes: Vec<usize>) -> Form<Refused> {
    let body = Chunks { rest: body, sizes: sizes.into_iter().cycle(), is_late: false };
    let part = FilePart {
        name: "file",
        max_bytes: 1 << 20,
        max_beyond: 1 << 20,
        too_large: |_, _| Refused("too large".to_owned()),
    };
    let form = Form::new(&format!("multipart/form-data; boundary={boundary}"), Box::pin(body), part);
    form.expect("a boundary that can be one")
}

/// The names of the parts with what they hold.
fn parts(body: &[u8], sizes: Vec<usize>) -> Result<Vec<(String, Vec<u8>)>, Refused> {
    let mut form = form(Bytes::copy_from_slice(body), BOUNDARY, sizes);
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    pollster::block_on(async {
        while let Some(piece) = form.piece().await? {
            match (piece, parts.last_mut()) {
                (Piece::Part { name, .. }, _) => parts.push((name, Vec::new())),
                (Piece::Bytes(bytes), Some((_, content))) => content.extend_from_slice(&bytes),
                (Piece::Bytes(_), None) => panic!("bytes of no part"),
            }
        }
        Ok(parts)
    })
}

/// Content made of what boundaries are made of, and of runs without any of it.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let bit = prop_oneof![
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r\n--".to_vec()),
        Just(b"\r\n--b".to_vec()),
        Just(b"--b0und".to_vec()),
        Just(b"\r\n--b0un".to_vec()),
        (1..40usize).prop_map(|length| vec![b'x'; length]),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(bit, 0..12).prop_map(|bits| bits.concat())
}

const BOUNDARY: &str = "b0und";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn parts_are_what_was_sent_however_it_was_cut(
        contents in prop::collection::vec(content(), 1..4),
        sizes in prop::collection::vec(prop_oneof![1..12usize, 1..200usize], 1..8),
    ) {
        let delimiter = format!("\r\n--{BOUNDARY}");
        prop_assume!(contents.iter().all(|content| {
            !content.windows(delimiter.len()).any(|window| window == delimiter.as_bytes())
        }));
        let mut body = Vec::new();
        for (number, content) in contents.iter().enumerate() {
            let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"p{number}\"\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        let expected: Vec<_> =
            contents.into_iter().enumerate().map(|(number, content)| (format!("p{number}"), content)).collect();
        prop_assert_eq!(parts(&body, sizes.clone()).ok(), Some(expected));
        // Without its end it is refused, wherever it was cut.
        let cut = body.len() - BOUNDARY.len() - 5;
        prop_assert!(parts(&body[..cut], sizes).is_err());
    }
}

#[test]
fn a_large_content_goes_past_the_parser() {
    let content = vec![b'x'; 3 * 256 * 1024 + 5];
    let mut body = b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n".to_vec();
    body.extend_from_slice(&content);
    body.extend_from_slice(b"\r\n--b--\r\n");
    let sent = Bytes::from(body);
    let within = sent.as_ptr() as usize..sent.as_ptr() as usize + sent.len();
    let mut form = form(sent, "b", vec![200_000]);
    let mut copied = 0;
    while let Some(piece) = pollster::block_on(form.piece()).expect("well formed") {
        if let Piece::Bytes(bytes) = piece
            && !within.contains(&(bytes.as_ptr() as usize))
        {
            copied += bytes.len();
        }
    }
    // The parser may ask twice before it finds the part.
    assert!(copied <= 2 * CHUNK_BYTES, "{copied} bytes were copied");
}
