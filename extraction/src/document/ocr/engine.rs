//! The interface to an OCR engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::raster::Raster;

/// A word that OCR has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OcrWord {
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
    /// The score of the engine, from 0 to 100. It is not a probability.
    pub confidence: f32,
    /// The line that it is in.
    pub line: u32,
}

/// Why an image was not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OcrError {
    /// No engine is installed, or it does not start.
    #[error("no recognition of characters is installed")]
    Unavailable,
    /// The engine failed on this image or was cancelled.
    #[error("the recognition of characters failed")]
    Failed,
}

/// An OCR engine. `stop` cancels a call whose caller is gone.
pub trait OcrEngine: Send + Sync {
    /// The words of an upright image.
    ///
    /// # Errors
    /// See [`OcrError`].
    fn words(&self, raster: &Raster, stop: &Stop) -> Result<Vec<OcrWord>, OcrError>;

    /// The clockwise rotation in degrees that makes the image upright: 0, 90, 180 or 270.
    ///
    /// # Errors
    /// See [`OcrError`].
    fn turn(&self, raster: &Raster, stop: &Stop) -> Result<u16, OcrError>;

    /// Better words of an image whose words these are, from a second reading; `None` where there is none or it is no
    /// better.
    fn again(&self, raster: &Raster, words: &[OcrWord], stop: &Stop) -> Option<Vec<OcrWord>> {
        let _ = (raster, words, stop);
        None
    }
}

/// A cancellation flag that the requester and the engine share.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Requests cancellation.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether cancellation was requested.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
