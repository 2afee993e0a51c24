//! Gives an index vectors of its passages, while words answer already.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::Weak;

use parking_lot::Mutex;

use super::vectors::{Known, Row, Vectors, row};
use super::{Entry, Index};
use crate::embedder::{EmbedError, Embedder, TextRole};
use crate::passages::{parts, plain_text};

/// Characters of a part of a passage that has a vector of its own, about.
const PART: usize = 400;
/// Parts that are given to the embedder at a time.
const BATCH: usize = 4;
/// Every how many parts the log tells how far it is.
const PROGRESS: usize = 500;

impl Index {
    /// What the parts of a passage are about, in words: the title, the headings and the part without marks of Markdown. A
    /// vector of a whole passage is about everything in it a little; the answer to a question is one part of it.
    fn texts_of(&self, entry: &Entry) -> Vec<String> {
        let title = &self.documents[entry.document as usize].title;
        let mut above = title.clone();
        for heading in entry.headings.iter().filter(|heading| *heading != title) {
            above.push_str(" › ");
            above.push_str(heading);
        }
        let text = |part: &str| format!("{above}\n{}", plain_text(part));
        parts(&entry.text, PART).into_iter().map(|part| text(&entry.text[part])).collect()
    }

    /// How many vectors it has, about: of the parts of passages as many as their lengths let expect, and of the phrasings
    /// of pairs.
    pub(super) fn parts(&self) -> usize {
        let phrasings = self.pairs.texts().map(Iterator::count).sum::<usize>();
        self.entries.iter().map(|entry| entry.text.len().div_ceil(PART)).sum::<usize>() + phrasings
    }

    /// Where a part of a passage is.
    pub(super) fn part(&self, passage: usize, part: u16) -> Option<Range<usize>> {
        parts(&self.entries[passage].text, PART).into_iter().nth(usize::from(part))
    }

    /// Whether meaning counts in its searches.
    #[must_use]
    pub fn has_meaning(&self) -> bool {
        self.vectors.get().is_some()
    }

    /// Computes the vectors of all passages, here and now.
    ///
    /// # Errors
    /// When the embedder fails; the index goes on by words.
    pub async fn give_meaning(&self, embedder: &dyn Embedder) -> Result<(), EmbedError> {
        let known = Mutex::new(Known::default());
        for (role, missing) in self.missing(&known) {
            for missing in missing.chunks(BATCH) {
                embed(embedder, role, missing, &known).await?;
            }
        }
        self.take_meaning(embedder.dimension(), &known);
        Ok(())
    }

    /// The texts that have no vector yet: the phrasings of pairs, which are few, before the passages.
    fn missing(&self, known: &Mutex<Known>) -> [(TextRole, Vec<(u128, String)>); 2] {
        let known = known.lock();
        let phrasings = self.pairs.texts().flatten().map(str::to_owned);
        let passages = self.entries.iter().flat_map(|entry| self.texts_of(entry));
        let missing = |role: TextRole, texts: &mut dyn Iterator<Item = String>| {
            let texts = texts.map(|text| (key(role, &text), text));
            (role, texts.filter(|(key, _)| !known.contains_key(key)).collect())
        };
        [missing(TextRole::Question, &mut { phrasings }), missing(TextRole::Passage, &mut { passages })]
    }

    /// Takes its vectors of those that are known, and forgets the others.
    fn take_meaning(&self, dimension: usize, known: &Mutex<Known>) {
        let mut known = known.lock();
        let passages: Vec<Vec<(u128, Row)>> = self
            .entries
            .iter()
            .map(|entry| {
                let keys = self.texts_of(entry).into_iter().map(|text| key(TextRole::Passage, &text));
                keys.filter_map(|key| known.get(&key).cloned().map(|row| (key, row))).collect()
            })
            .collect();
        let of_phrasing = |text: &str| {
            let key = key(TextRole::Question, text);
            (key, known.get(&key).cloned())
        };
        let phrasings: Vec<Vec<(u128, Option<Row>)>> =
            self.pairs.texts().map(|texts| texts.map(of_phrasing).collect()).collect();
        let of_phrasings = phrasings.iter().flatten().filter_map(|(key, row)| Some((*key, row.clone()?)));
        *known = passages.iter().flatten().cloned().chain(of_phrasings).collect();
        let rows: Vec<Vec<Row>> =
            passages.into_iter().map(|parts| parts.into_iter().map(|(_, row)| row).collect()).collect();
        drop(known);
        self.pairs.take_rows(
            phrasings.into_iter().map(|pair| pair.into_iter().map(|(_, row)| row).collect()).collect(),
        );
        drop(self.vectors.set(Vectors::new(dimension, &rows)));
    }
}

/// Computes the vectors of an index for as long as somebody has it.
///
/// # Errors
/// When the embedder fails.
pub(super) async fn fill(
    index: &Weak<Index>,
    embedder: &dyn Embedder,
    known: &Mutex<Known>,
    agent: &str,
) -> Result<(), EmbedError> {
    let Some(missing) = index.upgrade().map(|index| index.missing(known)) else { return Ok(()) };
    let all = missing.iter().map(|(_, texts)| texts.len()).sum::<usize>();
    let mut done = 0;
    for (role, texts) in &missing {
        for batch in texts.chunks(BATCH) {
            // It was replaced or evicted.
            if index.strong_count() == 0 {
                return Ok(());
            }
            embed(embedder, *role, batch, known).await?;
            done += batch.len();
            if done % PROGRESS < BATCH && done < all {
                tracing::info!(agent, done, all, "computing the vectors of an agent's passages");
            }
        }
    }
    if let Some(index) = index.upgrade() {
        index.take_meaning(embedder.dimension(), known);
        tracing::info!(
            agent,
            passages = index.len(),
            computed = all,
            "an agent's documents are searched by meaning"
        );
    }
    Ok(())
}

async fn embed(
    embedder: &dyn Embedder,
    role: TextRole,
    texts: &[(u128, String)],
    known: &Mutex<Known>,
) -> Result<(), EmbedError> {
    let vectors = embedder.embed(role, texts.iter().map(|(_, text)| text.clone()).collect()).await?;
    if vectors.len() != texts.len() {
        let reason = format!("it gave {} vectors for {} texts", vectors.len(), texts.len());
        return Err(EmbedError::Unavailable(reason));
    }
    let mut known = known.lock();
    for ((key, _), vector) in texts.iter().zip(&vectors) {
        known.extend(row(vector).map(|row| (*key, row)));
    }
    Ok(())
}

/// A text in its role, short: two hashes of it.
fn key(role: TextRole, text: &str) -> u128 {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, role == TextRole::Question, text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
