//! The protocol between worker and parent: frames of a kind, a length and that many bytes.

use std::{fmt, io};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::document::{Limits, Warning};

/// Bytes of the longest frame.
pub(super) const LONGEST: u32 = 128 << 20;

/// Kinds of frames, and what is in them.
pub(super) mod kind {
    /// To the worker: [`Task`](super::Task), then the document.
    pub(crate) const TASK: u8 = b't';
    pub(crate) const DOCUMENT: u8 = b'd';
    /// To the worker: the result of OCR.
    pub(crate) const ANSWER: u8 = b'a';
    /// From the worker: its sandbox.
    pub(crate) const READY: u8 = b'r';
    /// From the worker: it reads an image itself, and goes on.
    pub(crate) const READING: u8 = b'g';
    /// From the worker: an image whose words or rotation it requests.
    pub(crate) const WORDS: u8 = b'w';
    pub(crate) const TURN: u8 = b'o';
    /// From the worker: a page; the number and the image of a page; finally [`Rest`](super::Rest), or why there is none.
    pub(crate) const PAGE: u8 = b'p';
    pub(crate) const IMAGE: u8 = b'i';
    pub(crate) const REST: u8 = b'e';
    pub(crate) const ERROR: u8 = b'x';
}

/// The worker's instructions for the document that follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) limits: Limits,
    /// Whether the parent recognises images.
    pub(super) has_ocr: bool,
    /// The languages in which the worker reads images itself; none if it does not.
    pub(super) languages: Vec<String>,
}

/// What a document is besides its pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) page_count: Option<u32>,
    pub(super) warnings: Vec<Warning>,
}

/// The argument that asks a program to be a worker.
pub(super) const ASKED: &str = "extraction-worker";
/// The argument that asks a program to confine itself and to become an OCR engine.
pub(super) const ASKED_OCR: &str = "extraction-ocr";

/// The parts of the sandbox that are in force. A system may lack some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Limits on memory, processor time, files and descriptors.
    pub limits: bool,
    /// No files and, on newer systems, no network (landlock).
    pub landlock: bool,
    /// Only the system calls that computing needs (seccomp).
    pub seccomp: bool,
}

impl Sandbox {
    /// Whether all parts are in force. Only then is a process confined that a hostile document has taken over.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.missing().next().is_none()
    }

    /// The parts that are not in force.
    pub fn missing(self) -> impl Iterator<Item = &'static str> {
        let parts =
            [("landlock", self.landlock), ("seccomp", self.seccomp), ("resource limits", self.limits)];
        parts.into_iter().filter_map(|(name, is_in_force)| (!is_in_force).then_some(name))
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete() {
            return f.write_str("confined by landlock, seccomp and resource limits");
        }
        let missing: Vec<&str> = self.missing().collect();
        write!(f, "not confined: the system does not enforce {}", missing.join(", "))
    }
}

/// What a worker may consume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResourceLimits {
    pub(super) memory: u64,
    pub(super) cpu: u64,
    /// For each page of OCR.
    pub(super) cpu_page: u64,
    pub(super) pages: u64,
}

/// The head of a frame.
pub(super) fn head(kind: u8, length: usize) -> io::Result<[u8; 5]> {
    let length = u32::try_from(length).ok().filter(|length| *length <= LONGEST).ok_or_else(too_long)?;
    let [a, b, c, d] = length.to_le_bytes();
    Ok([kind, a, b, c, d])
}

/// Kind and length of a frame; an error if it would be too long.
pub(super) fn parse_head(head: [u8; 5]) -> io::Result<(u8, usize)> {
    let [kind, length @ ..] = head;
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(too_long());
    }
    Ok((kind, length as usize))
}

pub(super) fn parse<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    serde_json::from_slice(payload).map_err(io::Error::other)
}

pub(super) fn json<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(io::Error::other)
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame is too long")
}
