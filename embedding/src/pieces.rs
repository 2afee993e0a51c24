//! The pieces of a text: those with the highest sum of scores, by SentencePiece's unigram model.

use std::collections::HashMap;
use std::ops::Range;

use super::weights::{InvalidWeights, Weights, u32_at};

/// The piece before and the piece after a text, and what stands for a letter that no piece has.
pub(crate) const BEGIN: u32 = 0;
pub(crate) const END: u32 = 2;
const UNKNOWN: u32 = 3;
/// The first that a text may have.
const FIRST: usize = 4;
/// Stands for a blank.
const BLANK: char = '\u{2581}';
/// The characters of a text that are looked at.
const MAX_CHARACTERS: usize = 16_384;

/// A vocabulary.
pub(crate) struct Pieces {
    /// Numbers of pieces and 1, by the hash of their bytes; 0 is empty. A power of two.
    table: Vec<u32>,
    /// Where the bytes of each begin; one more at the end.
    starts: Vec<u32>,
    /// The bytes of the longest.
    longest: usize,
    /// What a character becomes.
    normalised: HashMap<char, Range<usize>>,
    replacements: Vec<char>,
}

/// FNV-1a: the keys are the project's own data.
fn hash(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        as usize
}

impl Pieces {
    pub(crate) fn new(weights: &Weights) -> Result<Self, InvalidWeights> {
        let lengths = weights.bytes(weights.lengths.clone());
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        let mut start = 0_u32;
        for length in lengths {
            starts.push(start);
            start += u32::from(*length);
        }
        starts.push(start);
        if start as usize != weights.blob.len() {
            return Err(InvalidWeights);
        }
        let mut pieces = Pieces {
            table: vec![0; (lengths.len() * 2).next_power_of_two()],
            starts,
            longest: lengths.iter().copied().max().unwrap_or(0).into(),
            normalised: HashMap::new(),
            replacements: Vec::new(),
        };
        let blob = weights.bytes(weights.blob.clone());
        for number in FIRST..lengths.len() {
            let mut slot = pieces.slot(pieces.bytes(blob, number));
            while pieces.table[slot] != 0 {
                slot = (slot + 1) & (pieces.table.len() - 1);
            }
            pieces.table[slot] = u32::try_from(number + 1).map_err(|_| InvalidWeights)?;
        }
        pieces.read_normalisation(weights.bytes(weights.normalisation.clone()))?;
        Ok(pieces)
    }

    fn read_normalisation(&mut self, data: &[u8]) -> Result<(), InvalidWeights> {
        let character = |at: usize| u32_at(data, at).and_then(char::from_u32).ok_or(InvalidWeights);
        let mut at = 0;
        while at < data.len() {
            let from = character(at)?;
            let count = usize::from(*data.get(at + 4).ok_or(InvalidWeights)?);
            let start = self.replacements.len();
            for number in 0..count {
                self.replacements.push(character(at + 5 + number * 4)?);
            }
            self.normalised.insert(from, start..self.replacements.len());
            at += 5 + count * 4;
        }
        Ok(())
    }

    fn bytes<'a>(&self, blob: &'a [u8], piece: usize) -> &'a [u8] {
        &blob[self.starts[piece] as usize..self.starts[piece + 1] as usize]
    }

    fn slot(&self, bytes: &[u8]) -> usize {
        hash(bytes) & (self.table.len() - 1)
    }

    fn find(&self, blob: &[u8], bytes: &[u8]) -> Option<usize> {
        let mut slot = self.slot(bytes);
        loop {
            let number = self.table[slot].checked_sub(1)? as usize;
            if self.bytes(blob, number) == bytes {
                return Some(number);
            }
            slot = (slot + 1) & (self.table.len() - 1);
        }
    }

    /// A text as the vocabulary has it: characters in their normal form, blanks as marks, one before the text.
    fn normal(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len() + 8);
        let mut is_blank = false;
        let mut add = |letter: char| {
            if normal.is_empty() && letter != ' ' {
                normal.push(BLANK);
            }
            if letter != ' ' {
                normal.push(letter);
            } else if !is_blank {
                normal.push(BLANK);
            }
            is_blank = letter == ' ';
        };
        for letter in text.chars().take(MAX_CHARACTERS) {
            match self.normalised.get(&letter) {
                Some(range) => self.replacements[range.clone()].iter().for_each(|letter| add(*letter)),
                None => add(letter),
            }
        }
        normal
    }

    /// The numbers of the pieces of a text.
    pub(crate) fn of(&self, weights: &Weights, text: &str) -> Vec<u32> {
        let blob = weights.bytes(weights.blob.clone());
        let normal = self.normal(text);
        let bytes = normal.as_bytes();
        // The highest score up to each byte, with the piece that ends there and its beginning.
        let mut best: Vec<(f32, u32, usize)> = vec![(f32::NEG_INFINITY, UNKNOWN, 0); bytes.len() + 1];
        best[0].0 = 0.0;
        for (start, letter) in normal.char_indices() {
            let (base, ..) = best[start];
            let most = (start + self.longest).min(bytes.len());
            for end in (start + 1..=most).filter(|end| normal.is_char_boundary(*end)) {
                let Some(piece) = self.find(blob, &bytes[start..end]) else { continue };
                let score = base + weights.scores[piece];
                if score > best[end].0 {
                    best[end] = (score, piece as u32, start);
                }
            }
            let (score, end) = (base + weights.unknown_score, start + letter.len_utf8());
            if score > best[end].0 {
                best[end] = (score, UNKNOWN, start);
            }
        }
        let mut pieces = Vec::new();
        let mut end = bytes.len();
        while end > 0 {
            let (_, piece, start) = best[end];
            pieces.push(piece);
            end = start;
        }
        pieces.reverse();
        pieces
    }
}
