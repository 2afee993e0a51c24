//! A `multipart/form-data` body, part by part, on `multer`.
//!
//! `multer` takes in whatever its stream has at once and knows no limit for the heads of parts, so that the stream here
//! gives one chunk each time the parser can go no further without, and what is given while no part is found is counted.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use multer::{Field, Multipart};
use parking_lot::Mutex;

use crate::chunk_stream::{BodyStream, CHUNK_BYTES, ChunkStream, SharedChunkStream, advance, lock};
use values::part_head;

/// The most bytes that may stand in front of a part's content: the heads of the part, or what precedes the first one.
const MAX_HEAD_BYTES: u64 = 128 * 1024;

/// The longest boundary (RFC 2046).
const MAX_BOUNDARY: usize = 70;

/// What a caller answers where a body is no form.
pub trait FormError: Send + 'static {
    /// The body cannot be read, for this reason.
    fn malformed(reason: &str) -> Self;
}

/// The part of a form that holds a file, with the errors of the caller.
pub struct FilePart<E> {
    /// Its name.
    pub name: &'static str,
    /// How large the file may be.
    pub max_bytes: u64,
    /// What a body may hold beyond it, in bytes.
    pub max_beyond: u64,
    /// The answer to a larger one, with the limit and the length that was declared.
    pub too_large: fn(u64, Option<u64>) -> E,
}

impl<E> Clone for FilePart<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for FilePart<E> {}

impl<E> FilePart<E> {
    /// Refuses a body whose declared length is more than the limits of the file and the other parts.
    ///
    /// # Errors
    /// That of [`FilePart::too_large`].
    pub fn refuse_declared(&self, bytes: Option<u64>) -> Result<(), E> {
        match bytes.filter(|bytes| *bytes > self.max_bytes.saturating_add(self.max_beyond)) {
            Some(bytes) => Err((self.too_large)(self.max_bytes, Some(bytes))),
            None => Ok(()),
        }
    }
}

/// One thing that a form holds.
pub enum Piece {
    /// A part begins.
    Part {
        /// Its name.
        name: String,
        /// The name of its file.
        file_name: Option<String>,
        /// Whether it is the file.
        is_file: bool,
    },
    /// Bytes of the part that began last.
    Bytes(Bytes),
}

/// A form being read.
pub struct Form<E> {
    parser: Multipart<'static>,
    /// The part whose content is read.
    field: Option<(Field<'static>, IsFile)>,
    feed: Arc<Mutex<ChunkStream<E>>>,
    part: FilePart<E>,
    /// Bytes of parts named as the file that came out of the parser.
    file_bytes: u64,
    is_over: bool,
}

/// Whether a part is the file.
type IsFile = bool;

/// Why the content of a part breaks off.
enum Broken<E> {
    Body(E),
    Form(multer::Error),
}

/// The next bytes of a part: first what the parser has, then what it need not see, then what it makes of one more
/// chunk.
fn poll_field<E>(
    feed: &Mutex<ChunkStream<E>>,
    cx: &mut Context<'_>,
    field: &mut Field<'static>,
) -> Poll<Option<Result<Bytes, Broken<E>>>> {
    lock(feed).credit = false;
    if let Poll::Ready(bytes) = Pin::new(&mut *field).poll_next(cx) {
        return Poll::Ready(bytes.map(|bytes| bytes.map_err(Broken::Form)));
    }
    if let Some(content) = ready!(lock(feed).poll_content(cx)) {
        return Poll::Ready(Some(content.map_err(Broken::Body)));
    }
    let bytes = ready!(advance(feed, cx, |cx| Pin::new(&mut *field).poll_next(cx)));
    Poll::Ready(bytes.map(|bytes| bytes.map_err(Broken::Form)))
}

impl<E: FormError> Form<E> {
    /// A form with this media type.
    ///
    /// # Errors
    /// BAD_REQUEST without a boundary that can be one.
    pub fn new(content_type: &str, body: BodyStream<E>, part: FilePart<E>) -> Result<Self, E> {
        let boundary = multer::parse_boundary(content_type)
            .map_err(|_| E::malformed("the Content-Type names no boundary"))?;
        if boundary.is_empty() || boundary.len() > MAX_BOUNDARY {
            return Err(E::malformed("the boundary must have 1 to 70 characters"));
        }
        let feed = ChunkStream::new(body, &boundary);
        let feed = Arc::new(Mutex::new(feed));
        Ok(Form {
            parser: Multipart::new(SharedChunkStream(Arc::clone(&feed)), boundary),
            field: None,
            feed,
            part,
            file_bytes: 0,
            is_over: false,
        })
    }

    /// How large the file may be.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.part.max_bytes
    }

    /// The next piece; `None` at the end of the body.
    ///
    /// # Errors
    /// 400, 408 and 413, as contract 6.3 says of step 8.
    pub async fn piece(&mut self) -> Result<Option<Piece>, E> {
        if let Some((field, is_file)) = &mut self.field {
            let feed = &self.feed;
            let bytes = poll_fn(|cx| poll_field(feed, cx, field)).await;
            match bytes {
                Some(Ok(bytes)) => {
                    if *is_file {
                        self.file_bytes += bytes.len() as u64;
                    }
                    self.refuse_excess()?;
                    return Ok(Some(Piece::Bytes(bytes)));
                }
                Some(Err(Broken::Body(error))) => return Err(error),
                Some(Err(Broken::Form(error))) => return Err(self.failure(&error)),
                None => self.field = None,
            }
        }
        if !self.is_over
            && let Some(field) = self.next_part().await?
        {
            let head = part_head::read(field.headers()).map_err(E::malformed)?;
            self.field = Some((field, head.name == self.part.name));
            let part_head::Head { name, file_name, is_file } = head;
            return Ok(Some(Piece::Part { name, file_name, is_file }));
        }
        self.is_over = true;
        self.drain().await?;
        Ok(None)
    }

    async fn next_part(&mut self) -> Result<Option<Field<'static>>, E> {
        let Form { parser, feed, .. } = self;
        let given_before = lock(feed).given;
        let found = poll_fn(|cx| {
            advance(feed, cx, |cx| {
                if lock(feed).given - given_before > MAX_HEAD_BYTES {
                    return Poll::Ready(None);
                }
                parser.poll_next_field(cx).map(Some)
            })
        })
        .await;
        match found {
            Some(Ok(field)) => {
                self.refuse_excess()?;
                Ok(field)
            }
            Some(Err(error)) => Err(self.failure(&error)),
            None => Err(E::malformed("more than 128 KiB stand in front of the content of a part")),
        }
    }

    /// Takes what follows the last boundary.
    async fn drain(&mut self) -> Result<(), E> {
        while !lock(&self.feed).ended {
            let chunk = poll_fn(|cx| lock(&self.feed).poll_chunk(cx)).await;
            chunk.transpose()?;
            self.refuse_excess()?;
        }
        Ok(())
    }

    /// Refuses a body with too much besides its file, and one that is longer than any that would be accepted: parts
    /// named as the file may be many. What the parser still holds may be the file's.
    fn refuse_excess(&self) -> Result<(), E> {
        let feed = lock(&self.feed);
        let unparsed = if self.is_over { 0 } else { 2 * CHUNK_BYTES as u64 };
        let beyond = feed.given.saturating_sub(self.file_bytes).saturating_sub(unparsed);
        let FilePart { max_bytes, max_beyond, too_large, .. } = self.part;
        if beyond > max_beyond || feed.given > max_bytes.saturating_add(max_beyond) {
            Err(too_large(max_bytes, None))
        } else {
            Ok(())
        }
    }

    fn failure(&self, error: &multer::Error) -> E {
        if let Some(failure) = lock(&self.feed).failure.take() {
            return failure;
        }
        E::malformed(match error {
            multer::Error::IncompleteStream | multer::Error::IncompleteFieldData { .. } => {
                "it does not follow its boundary, or the closing boundary is missing"
            }
            _ => "the headers of a part are malformed",
        })
    }
}
