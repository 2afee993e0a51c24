//! The interface to an engine that recognises characters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::raster::Raster;

/// A word as recognition has found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecognisedWord {
    /// Its characters.
    pub text: String,
    /// Left edge in pixels.
    pub left: u32,
    /// Upper edge in pixels.
    pub top: u32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// What the engine says of it, from 0 to 100. It is not a probability.
    pub confidence: f32,
    /// The line that it is in.
    pub line: u32,
}

/// Why a picture was not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecogniseError {
    /// There is no engine, or it does not start.
    #[error("no recognition of characters is installed")]
    Unavailable,
    /// It failed on this picture, or was stopped.
    #[error("the recognition of characters failed")]
    Failed,
}

/// Recognises characters. `stop` says that nobody waits for the answer any more.
pub trait Recognise: Send + Sync {
    /// The words of a picture that stands upright.
    ///
    /// # Errors
    /// What [`RecogniseError`] says.
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<RecognisedWord>, RecogniseError>;

    /// By how many degrees, clockwise, a picture is to be turned to stand upright: 0, 90, 180 or 270.
    ///
    /// # Errors
    /// What [`RecogniseError`] says.
    fn turn(&self, raster: &Raster, stop: &Stop) -> Result<u16, RecogniseError>;
}

/// A sign to stop, shared by whoever gives it and whoever heeds it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
