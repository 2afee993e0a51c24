//! Vectors of what texts mean: texts that say similar things, in whatever words or language, have similar vectors.
//!
//! The model is multilingual-e5-small: a transformer of 12 layers over the pieces of a text. Its weights stay in 4 bits
//! and are widened one matrix at a time, so that a loaded model takes hardly more memory than its file. It runs on one core, needs
//! no network and no runtime, and the same text gives the same vector on the same processor. This crate knows nothing of
//! the project.
//!
//! | Part | What it does |
//! |---|---|
//! | `weights` | reads the file that `scripts/embedding-weights` writes |
//! | `pieces` | a text to the numbers of its pieces, as SentencePiece's unigram model has them |
//! | `encoder` | the transformer |
//! | `function` | exponential and error functions that vector instructions can compute |
//!
//! ```
//! use embedding::{Model, Role};
//!
//! let model = Model::new(embedding_weights::WEIGHTS).expect("weights");
//! let question = model.embed(Role::Question, &["Can I swap it if it is too small?"]);
//! let passages = model.embed(Role::Passage, &["Exchanges: send us the size that fits.", "The shop is closed on Sundays."]);
//! let alike = |passage: &Vec<f32>| question[0].iter().zip(passage).map(|(one, other)| one * other).sum::<f32>();
//! assert!(alike(&passages[0]) > alike(&passages[1]));
//! ```

mod encoder;
mod function;
mod pieces;
mod weights;

use std::borrow::Cow;

use self::pieces::Pieces;
pub use self::weights::InvalidWeights;
use self::weights::Weights;

/// The pieces of a text that are looked at: what is longer is cut.
const MAX_PIECES: usize = 2_048;
/// Pieces that go through the model together: the weights are widened once for them.
const BATCH: usize = 512;

/// What a text is for: a question and the passage that answers it are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A question, or anything that is looked for.
    Question,
    /// A text that is found.
    Passage,
}

impl Role {
    /// What the model was trained to see before such a text.
    const fn prefix(self) -> &'static str {
        match self {
            Role::Question => "query: ",
            Role::Passage => "passage: ",
        }
    }
}

/// A loaded model. Share it: it has no state but its weights.
pub struct Model {
    weights: Weights,
    pieces: Pieces,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Model").field("dimension", &self.dimension()).finish_non_exhaustive()
    }
}

impl Model {
    /// A model of the contents of a file. It takes some hundredths of a second.
    ///
    /// # Errors
    /// When the contents are no weights of this model.
    pub fn new(data: impl Into<Cow<'static, [u8]>>) -> Result<Self, InvalidWeights> {
        let weights = Weights::new(data.into())?;
        let pieces = Pieces::new(&weights)?;
        Ok(Model { weights, pieces })
    }

    /// The numbers of a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.weights.shape.hidden
    }

    /// The vectors of texts, of length 1, in their order.
    #[must_use]
    pub fn embed(&self, role: Role, texts: &[&str]) -> Vec<Vec<f32>> {
        // Texts that are longer than the model takes are cut into windows, whose vectors are averaged.
        let longest = self.weights.shape.positions - 2;
        let mut windows: Vec<(usize, Vec<u32>)> = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            let mut pieces = self.pieces.of(&self.weights, &format!("{}{text}", role.prefix()));
            pieces.truncate(MAX_PIECES);
            windows.extend(pieces.chunks(longest).map(|window| (number, window.to_vec())));
        }
        let mut vectors = vec![vec![0.0_f32; self.dimension()]; texts.len()];
        let mut rest = windows.as_slice();
        while !rest.is_empty() {
            let mut used = 0;
            let fits = rest.iter().take_while(|(_, window)| {
                used += window.len() + 2;
                used <= BATCH
            });
            let (batch, others) = rest.split_at(fits.count().max(1));
            rest = others;
            let pieces: Vec<&[u32]> = batch.iter().map(|(_, window)| window.as_slice()).collect();
            for ((number, window), mean) in batch.iter().zip(encoder::means(&self.weights, &pieces)) {
                for (sum, value) in vectors[*number].iter_mut().zip(mean) {
                    *sum += value * window.len() as f32;
                }
            }
        }
        vectors.iter_mut().for_each(|vector| normalise(vector));
        vectors
    }
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}
