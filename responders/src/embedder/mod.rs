//! The port of what turns texts into vectors of their meaning.

#[cfg(feature = "embedding")]
mod built_in;

use async_trait::async_trait;

#[cfg(feature = "embedding")]
pub use self::built_in::BuiltInEmbedder;

/// What a text is to a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// A question.
    Question,
    /// A passage that may answer one.
    Passage,
}

/// Why texts have no vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The embedder does not answer, or not with as many vectors of its dimension.
    #[error("the embedder does not answer: {0}")]
    Unavailable(String),
}

/// Turns texts into vectors: those of a question and of a passage that answers it are alike, whatever the words.
///
/// # Contract
/// - `embed` returns a vector of `dimension` finite numbers for each text, in their order. Their lengths do not matter.
/// - The same text in the same role has the same vector, about, as long as `name` is the same.
/// - It computes away from the threads that drive futures: a passage takes a tenth of a second.
/// - Questions do not wait for passages: visitors wait for them.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Its name with its version. Vectors of another name are never compared with its own.
    fn name(&self) -> &str;

    /// The numbers of a vector.
    fn dimension(&self) -> usize;

    /// The vectors of texts.
    ///
    /// # Errors
    /// When there are none; the search goes on by words.
    async fn embed(&self, role: TextRole, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError>;
}
