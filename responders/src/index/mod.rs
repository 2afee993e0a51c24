//! The index of an agent's passages: words, and meaning where an embedder gave vectors. By words it is BM25 over words and their stems, plus a fifth of it for the share of the question
//! that a passage covers. BM25 alone prefers a passage that repeats one rare word to one that has all words. A
//! [reranker](reranker) then orders the best passages.
//!
//! A passage consists of its words and those of its headings and its document's title, which count twice. The stem of
//! each word other than a function word is a further term, if the passage's language has a stemmer. The length of a
//! passage is the number of its words.

mod agents;
mod builder;
mod fusion;
mod meaning;
mod pairs;
mod postings;
mod question;
mod reranker;
mod signals;
#[cfg(test)]
mod tests;
mod vectors;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use conversations::{FoundPassage, Question, Retrieved};
use openapi_core::values::KnowledgeId;

pub use self::agents::{IndexSettings, KnowledgeIndex};
pub use self::builder::IndexBuilder;
pub use self::pairs::PairSignals;
use self::pairs::Pairs;
use self::postings::Postings;
use self::question::{Asked, AskedWord, MAX_WORDS};
use self::reranker::{LOOKED_AT, Reranker};
pub use self::signals::Signals;
use self::vectors::{Similarity, Vectors};
use crate::language::{Language, language_of};
use crate::spelling;
use crate::words::Word;

/// How soon further occurrences of a term stop to count.
const K1: f32 = 1.2;
/// How much the length of a passage counts.
const B: f32 = 0.75;
/// How often the words of titles and headings count.
const HEADING_WEIGHT: u32 = 2;
/// The part of a score that depends on how much of the question a passage covers.
const COVERED_WEIGHT: f32 = 0.2;
/// Passages that there are taken to be at least, when it is weighed how much of a question is covered: in a handful of
/// passages each word is frequent, and one that is missing would outweigh all that are there.
const MIN_CORPUS: usize = 50;
/// From which score of the first passage on a question counts as covered better than its words say, in rarities of the
/// rarest words, and how much better at most. A long question has many words that its answer does without: half of
/// those that matter are then more than half of a short one, and their score tells so.
const MIN_SCORE_RATIO: f32 = 2.25;
const MAX_BOOST: f32 = 1.5;

/// Characters of a question, and of the message before it, whose meaning is searched with.
const MEANT_CHARACTERS: usize = 700;
const MEANT_CHARACTERS_BEFORE: usize = 300;
/// How much of a question a word covers that is taken for another one, because no passage has it.
const CORRECTED_SHARE: f32 = 0.5;
/// Passages that an answer is made of, at most.
pub(crate) const MAX_QUOTED: usize = 3;
/// The share of the first passage's score that the others of an answer have.
pub(crate) const QUOTED_SHARE: f32 = 0.8;

/// A document, as far as search goes.
struct Document {
    id: KnowledgeId,
    title: String,
    url: Option<String>,
}

/// A passage as it is found.
struct Entry {
    document: u32,
    position: u32,
    page: Option<u32>,
    headings: Arc<[String]>,
    text: Box<str>,
    /// The language that its stems are of.
    language: Option<Language>,
}

/// What BM25 and coverage say.
struct Ranked {
    /// The best scores with their passages.
    best: Vec<(f32, u32)>,
    /// The score of each passage.
    scores: Vec<f32>,
    /// The words of the question that a passage has, one bit for each.
    held: Vec<u64>,
    /// What each word of the question that is to be covered weighs.
    weights: Vec<f32>,
    /// What all of them weigh to a question whose words are spelled as the passages spell them.
    total: f32,
    /// How much of the question one of the best passages covers.
    coverage: f32,
}

impl Ranked {
    /// How much of the question a passage covers.
    fn share(&self, passage: u32) -> f32 {
        share(&self.weights, self.total, self.held[passage as usize])
    }
}

/// How much of a question some of its words are.
fn share(weights: &[f32], total: f32, held: u64) -> f32 {
    let covered =
        weights.iter().enumerate().filter(|(nth, _)| held >> nth & 1 == 1).map(|(_, weight)| weight);
    if total > 0.0 { (covered.sum::<f32>() / total).clamp(0.0, 1.0) } else { 0.0 }
}

/// An immutable index.
pub struct Index {
    documents: Vec<Document>,
    entries: Vec<Entry>,
    /// The question-and-answer pairs, which are among no passages.
    pairs: Pairs,
    /// Of each passage, what its length adds to the number of occurrences of a term.
    norms: Vec<f32>,
    terms: HashMap<Box<str>, u32>,
    postings: Postings,
    /// The languages that stems are of.
    languages: Vec<Language>,
    /// Set when all are computed.
    vectors: OnceLock<Vectors>,
    bytes: usize,
}

impl Index {
    /// How many passages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + self.vectors.get().map_or(0, Vectors::bytes)
    }

    /// Up to `at_most` passages for a question, best first, equals by document and position; and how much of the
    /// question one of the best ones covers. What several would cover only together does not count: words from here and
    /// there are no answer. A score that only several rare words together reach lifts it.
    #[must_use]
    pub fn search(&self, question: &Question, at_most: usize) -> Retrieved {
        self.find(question, None, at_most).0
    }

    /// The same by words and by meaning, with the vector of the question ([`Index::meant_by`]). How much is covered is
    /// then how sure it is that the first passage answers. Without vectors of its own the index goes by words.
    #[must_use]
    pub fn search_with(&self, question: &Question, vector: &[f32], at_most: usize) -> Retrieved {
        self.find_with(question, vector, at_most).0
    }

    /// The same as the search by words or by words and meaning, with the answers of pairs. The vectors are those of
    /// [`Index::texts_to_search`]; none, to search by words.
    #[must_use]
    pub fn retrieve(&self, question: &Question, vectors: &[Vec<f32>], at_most: usize) -> Retrieved {
        let vector = |nth: usize| vectors.get(nth).map_or(&[] as &[f32], Vec::as_slice);
        let mut found = self.find_with(question, vector(0), at_most).0;
        self.add_pairs(&mut found, question, vector(1), at_most);
        found
    }

    /// The texts of a question whose vectors are searched with.
    #[must_use]
    pub fn texts_to_search(&self, question: &Question) -> Vec<String> {
        let of_pairs = (self.pairs.len() > 0).then(|| Index::asked_by(question));
        std::iter::once(Index::meant_by(question)).chain(of_pairs).collect()
    }

    /// What the confidence of [`Index::search_with`] is made of, for those who fit it.
    #[must_use]
    pub fn signals(&self, question: &Question, vector: &[f32]) -> Option<Signals> {
        self.find_with(question, vector, 1).1
    }

    /// The answers of all pairs, then all passages in their order, if their texts have at most so many bytes.
    #[must_use]
    pub fn whole(&self, most_bytes: usize) -> Option<Vec<FoundPassage>> {
        let bytes: usize = self.entries.iter().map(|entry| entry.text.len()).sum();
        let passages = (0..self.entries.len()).map(|passage| self.found(passage, 0.0, None));
        (bytes + self.pairs.answer_bytes() <= most_bytes).then(|| self.answers().chain(passages).collect())
    }

    /// The text of a question whose vector is searched with: with the message before it, if it goes on from there. Of long
    /// messages it has the beginning, because a vector takes as much time as its text is long, and other visitors wait.
    #[must_use]
    pub fn meant_by(question: &Question) -> String {
        let begin = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let text = begin(&question.text, MEANT_CHARACTERS);
        match question.before.as_deref().filter(|_| question::goes_on(question)) {
            Some(before) => format!("{}\n{text}", begin(before, MEANT_CHARACTERS_BEFORE)),
            None => text,
        }
    }

    fn find_with(&self, question: &Question, vector: &[f32], at_most: usize) -> (Retrieved, Option<Signals>) {
        let similarity = self.vectors.get().and_then(|vectors| vectors.similarity(vector));
        self.find(question, similarity.as_ref(), at_most)
    }

    fn find(
        &self,
        question: &Question,
        similarity: Option<&Similarity>,
        at_most: usize,
    ) -> (Retrieved, Option<Signals>) {
        let asked = Asked::of(question, &self.languages, |word| self.nearest(word));
        let mut ranked = self.rank(&asked, at_most.max(LOOKED_AT));
        let language = language_of(&question.text, &question.locale);
        let weights = ranked.weights.clone();
        let mut reranker = Reranker::new(&asked, &weights, language);
        let mut reranked = |score: f32, passage: u32| {
            let entry = &self.entries[passage as usize];
            score * reranker.factor(&entry.headings, &entry.text, entry.language)
        };
        let mut best: Vec<(f32, u32)> =
            ranked.best.iter().map(|(score, passage)| (reranked(*score, *passage), *passage)).collect();
        best.sort_unstable_by(by_rank);
        let first = best.first().map_or(0.0, |(score, _)| *score);
        let rarest = rarity(self.entries.len().max(MIN_CORPUS), 1);
        let lift = (first / (MIN_SCORE_RATIO * rarest)).clamp(1.0, MAX_BOOST);
        ranked.coverage = (ranked.coverage * lift).min(1.0);
        let mut coverage = ranked.coverage;
        let mut signals = None;
        if let Some(similarity) = similarity {
            let words = |passage: u32| reranked(ranked.scores[passage as usize], passage);
            let by_words = best;
            best = fusion::fused(&by_words, coverage, similarity, words);
            signals = self.judged(question, language, &asked, &ranked, similarity, &best);
            if let (Some((sum, _)), Some(judged)) = (best.first().copied(), &signals) {
                coverage = signals::confidence(judged);
                best.iter_mut().for_each(|(score, _)| *score = fusion::relative(*score, sum));
            }
        }
        let found = best.into_iter().take(at_most);
        let passages = found.map(|(score, passage)| {
            let part = similarity.map(|similarity| similarity.parts[passage as usize]);
            self.found(passage as usize, score, part)
        });
        let passages = passages.collect();
        let has_documents = !self.documents.is_empty();
        (Retrieved { passages, coverage, has_documents, ..Retrieved::default() }, signals)
    }

    /// The word of the passages that a word which none of them has is most likely meant to be.
    fn nearest(&self, word: &AskedWord) -> Option<String> {
        if word.terms.iter().any(|term| self.terms.contains_key(term.as_str())) {
            return None;
        }
        let known = self.terms.iter().map(|(term, number)| (term.as_ref(), self.postings.count(*number)));
        spelling::nearest(&word.folded, known)
    }

    /// The passages with the best scores, before reranking.
    fn rank(&self, asked: &Asked, at_most: usize) -> Ranked {
        let mut scores = vec![0.0_f32; self.entries.len()];
        // The words of the question that a passage has, one bit for each.
        let mut held = vec![0_u64; self.entries.len()];
        let mut rarities = [0.0_f32; MAX_WORDS];
        for (nth, word) in asked.words.iter().enumerate() {
            let mut most = 0;
            let parts = &Word::part_term(&word.folded);
            let known = word.terms.iter().filter_map(|text| Some((text, self.terms.get(text.as_str())?)));
            for (term_text, term) in known {
                let count = self.postings.count(*term);
                let is_part = *term_text == *parts;
                if !is_part {
                    most = most.max(count);
                }
                let factor = rarity(self.entries.len(), count) * word.weight;
                for (passage, occurrences) in self.postings.of(*term) {
                    let passage = passage as usize;
                    let occurrences = occurrences as f32;
                    scores[passage] +=
                        factor * occurrences * (K1 + 1.0) / (occurrences + self.norms[passage]);
                    // A name that a word is part of tells little of what the word asks about.
                    if !is_part {
                        held[passage] |= 1 << nth;
                    }
                }
            }
            rarities[nth] = rarity(self.entries.len().max(MIN_CORPUS), most) * word.weight;
        }
        let total = rarities[..asked.counted].iter().sum();
        let counted = asked.words.iter().zip(rarities).take(asked.counted);
        // A word that was only meant, perhaps, does not answer for the question alone.
        let weights: Vec<f32> = counted
            .map(|(word, rarity)| if word.is_corrected { rarity * CORRECTED_SHARE } else { rarity })
            .collect();
        for (score, held) in scores.iter_mut().zip(&held).filter(|(score, _)| **score > 0.0) {
            *score *= 1.0 - COVERED_WEIGHT + COVERED_WEIGHT * share(&weights, total, *held);
        }
        let best = best(&scores, at_most.max(MAX_QUOTED));
        let first = best.first().map_or(0.0, |(score, _)| *score);
        let answering = best.iter().take(MAX_QUOTED).filter(|(score, _)| *score >= QUOTED_SHARE * first);
        let coverage =
            answering.map(|(_, passage)| share(&weights, total, held[*passage as usize])).fold(0.0, f32::max);
        Ranked { best, scores, held, weights, total, coverage }
    }

    fn found(&self, passage: usize, score: f32, part: Option<u16>) -> FoundPassage {
        let entry = &self.entries[passage];
        let document = &self.documents[entry.document as usize];
        FoundPassage {
            document: document.id,
            position: entry.position,
            title: document.title.clone(),
            url: document.url.clone(),
            headings: entry.headings.to_vec(),
            page: entry.page,
            text: entry.text.to_string(),
            nearest: part.and_then(|part| self.part(passage, part)),
            score,
        }
    }
}

/// The inverse document frequency of what `count` of `all` passages have.
fn rarity(all: usize, count: u32) -> f32 {
    let (all, count) = (all as f64, f64::from(count));
    (1.0 + (all - count + 0.5) / (count + 0.5)).ln() as f32
}

/// Passages are numbered by document and position, so that the order of equals is theirs.
fn by_rank(one: &(f32, u32), other: &(f32, u32)) -> Ordering {
    other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
}

/// The best scores above 0 with their passages.
fn best(scores: &[f32], at_most: usize) -> Vec<(f32, u32)> {
    let mut found: Vec<(f32, u32)> = (0_u32..)
        .zip(scores)
        .filter(|(_, score)| **score > 0.0)
        .map(|(passage, score)| (*score, passage))
        .collect();
    if found.len() > at_most && at_most > 0 {
        found.select_nth_unstable_by(at_most - 1, by_rank);
    }
    found.truncate(at_most);
    found.sort_unstable_by(by_rank);
    found
}
