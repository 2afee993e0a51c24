//! The file of weights: a header, the pieces, the map of normalisation, the embeddings of pieces, and the layers.

use std::borrow::Cow;
use std::ops::Range;

const MAGIC: &[u8] = b"E5-1";
/// Weights of a block, which share a scale.
const BLOCK: usize = 32;
/// Bytes of a block: the scale in half precision, and half a byte for each weight.
const BLOCK_BYTES: usize = 18;
/// Bounds of what a header may say, so that a broken file is refused and not believed.
const MAX_HIDDEN: usize = 4_096;
const MAX_COUNT: usize = 1 << 20;

/// The data are no weights of this model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these are no weights of the embedder; scripts/embedding-weights writes them")]
pub struct InvalidWeights;

/// The sizes of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) inner: usize,
    pub(crate) positions: usize,
    pub(crate) epsilon: f32,
}

/// A matrix in blocks, a row for each output.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    bytes: Range<usize>,
}

/// A linear layer.
#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) matrix: Matrix,
    pub(crate) bias: Vec<f32>,
}

/// A normalisation of layers.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// A layer of the transformer.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) out: Linear,
    pub(crate) attention_norm: Norm,
    pub(crate) widen: Linear,
    pub(crate) narrow: Linear,
    pub(crate) norm: Norm,
}

/// The weights, most of which stay where they are in the file.
pub(crate) struct Weights {
    data: Cow<'static, [u8]>,
    pub(crate) shape: Shape,
    /// The score of a letter that no piece has.
    pub(crate) unknown_score: f32,
    /// The length of each piece in bytes.
    pub(crate) lengths: Range<usize>,
    pub(crate) scores: Vec<f32>,
    pub(crate) blob: Range<usize>,
    /// Entries of a character, the number of those that stand for it, and those.
    pub(crate) normalisation: Range<usize>,
    words: Matrix,
    /// By position, with the type of a text that stands alone.
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// Reads a file from its beginning.
struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn range(&mut self, length: usize) -> Result<Range<usize>, InvalidWeights> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.data.len()).ok_or(InvalidWeights)?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    fn count(&mut self) -> Result<usize, InvalidWeights> {
        let range = self.range(4)?;
        let count = u32_at(self.data, range.start).ok_or(InvalidWeights)? as usize;
        Some(count).filter(|count| *count <= MAX_COUNT * 16).ok_or(InvalidWeights)
    }

    fn floats(&mut self, count: usize) -> Result<Vec<f32>, InvalidWeights> {
        let range = self.range(count.checked_mul(4).ok_or(InvalidWeights)?)?;
        let (numbers, _) = self.data[range].as_chunks::<4>();
        let numbers: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if numbers.iter().all(|number| number.is_finite()) { Ok(numbers) } else { Err(InvalidWeights) }
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Result<Matrix, InvalidWeights> {
        Ok(Matrix { rows, columns, bytes: self.range(rows * columns / BLOCK * BLOCK_BYTES)? })
    }

    fn linear(&mut self, rows: usize, columns: usize) -> Result<Linear, InvalidWeights> {
        Ok(Linear { matrix: self.matrix(rows, columns)?, bias: self.floats(rows)? })
    }

    fn norm(&mut self, size: usize) -> Result<Norm, InvalidWeights> {
        Ok(Norm { weight: self.floats(size)?, bias: self.floats(size)? })
    }

    fn layer(&mut self, hidden: usize, inner: usize) -> Result<Layer, InvalidWeights> {
        Ok(Layer {
            query: self.linear(hidden, hidden)?,
            key: self.linear(hidden, hidden)?,
            value: self.linear(hidden, hidden)?,
            out: self.linear(hidden, hidden)?,
            attention_norm: self.norm(hidden)?,
            widen: self.linear(inner, hidden)?,
            narrow: self.linear(hidden, inner)?,
            norm: self.norm(hidden)?,
        })
    }
}

/// The number of four bytes.
pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

impl Weights {
    pub(crate) fn new(data: Cow<'static, [u8]>) -> Result<Self, InvalidWeights> {
        let mut reader = Reader { data: &data, at: 0 };
        let magic = reader.range(MAGIC.len())?;
        if data[magic] != *MAGIC {
            return Err(InvalidWeights);
        }
        let [hidden, layers, heads, inner, positions, pieces, blob, normalisation] = {
            let mut counts = [0; 8];
            for count in &mut counts {
                *count = reader.count()?;
            }
            counts
        };
        let numbers = reader.floats(2)?;
        let shape = Shape { hidden, heads, inner, positions, epsilon: numbers[0] };
        let is_possible = (1..=MAX_HIDDEN).contains(&hidden)
            && (1..=MAX_HIDDEN * 4).contains(&inner)
            && (3..=MAX_HIDDEN).contains(&positions)
            && (5..=MAX_COUNT).contains(&pieces)
            && (1..=64).contains(&layers)
            && heads > 0
            && [hidden % heads, hidden % BLOCK, inner % BLOCK] == [0, 0, 0];
        if !is_possible {
            return Err(InvalidWeights);
        }
        let lengths = reader.range(pieces)?;
        let scores = reader.floats(pieces)?;
        let blob = reader.range(blob)?;
        let normalisation = reader.range(normalisation)?;
        let words = reader.matrix(pieces, hidden)?;
        let mut by_position = reader.floats(positions * hidden)?;
        let of_type = reader.floats(hidden)?;
        for row in by_position.chunks_exact_mut(hidden) {
            row.iter_mut().zip(&of_type).for_each(|(position, of_type)| *position += of_type);
        }
        let norm = reader.norm(hidden)?;
        let layers = (0..layers).map(|_| reader.layer(hidden, inner)).collect::<Result<_, _>>()?;
        if reader.at != data.len() {
            return Err(InvalidWeights);
        }
        let positions = by_position;
        let unknown_score = numbers[1];
        Ok(Weights {
            data,
            shape,
            unknown_score,
            lengths,
            scores,
            blob,
            normalisation,
            words,
            positions,
            norm,
            layers,
        })
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.data[range]
    }

    /// The embedding of a piece.
    pub(crate) fn word(&self, piece: u32, out: &mut [f32]) {
        let length = self.shape.hidden / BLOCK * BLOCK_BYTES;
        let start = self.words.bytes.start + piece as usize * length;
        widen(&self.data[start..start + length], out);
    }

    /// The numbers of a matrix, row by row.
    pub(crate) fn widened(&self, matrix: &Matrix, out: &mut Vec<f32>) {
        out.resize(matrix.rows * matrix.columns, 0.0);
        widen(&self.data[matrix.bytes.clone()], out);
    }
}

fn widen(blocks: &[u8], out: &mut [f32]) {
    let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
    let (outs, _) = out.as_chunks_mut::<BLOCK>();
    for (block, out) in blocks.iter().zip(outs) {
        let scale = half(u16::from_le_bytes([block[0], block[1]]));
        let (low, high) = out.split_at_mut(BLOCK / 2);
        for ((byte, low), high) in block[2..].iter().zip(low).zip(high) {
            *low = (i32::from(byte & 0x0f) - 8) as f32 * scale;
            *high = (i32::from(byte >> 4) - 8) as f32 * scale;
        }
    }
}

/// A number in half precision.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * 2_f32.powi(-24),
        // None of a file of weights is infinite; the product stays finite.
        31 => sign * f32::from(u16::MAX),
        _ => sign * (1.0 + fraction / 1_024.0) * 2_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_half_precision() {
        for (bits, number) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x0000, 0.0),
            (0x7bff, 65_504.0),
        ] {
            assert_eq!(half(bits), number, "{bits:x}");
        }
    }

    #[test]
    fn broken_files_are_refused() {
        let whole = embedding_weights::WEIGHTS;
        assert!(Weights::new(Cow::Borrowed(whole)).is_ok());
        for length in [0, 3, 4, 20, 40, 48, 1_000_000, whole.len() - 1] {
            assert!(Weights::new(Cow::Borrowed(&whole[..length])).is_err(), "{length}");
        }
        for at in 0..36 {
            let mut broken = whole.to_vec();
            broken[at] ^= 0x55;
            assert!(Weights::new(Cow::Owned(broken)).is_err(), "{at}");
        }
        assert!(Weights::new(Cow::Owned([whole, b"x"].concat())).is_err());
    }
}
