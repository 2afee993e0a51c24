//! Questions in groups by what they ask: average-linkage clustering of their vectors, or of their words without an
//! embedder.
//!
//! The similarity of two questions is the cosine of their vectors. Questions in different languages are less similar than
//! equal ones in the same language, so they get a bonus. Two groups become one while the mean similarity of their
//! questions is at least a threshold. `tests/groups.rs` says how threshold and bonus were chosen and how well they work.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use async_trait::async_trait;
use conversations::{AskedText, GroupedQuestions, QuestionGrouper};

use crate::embedder::{Embedder, TextRole};
use crate::language::{Language, language_of};
use crate::terms;
use crate::words::{Word, words};

/// How similar the questions of a group are on average, at least.
const MIN_MEANING: f32 = 0.89;
/// What is added to the similarity of questions in different languages.
const OTHER_LANGUAGE: f32 = 0.03;
/// The same as `MIN_MEANING` without vectors: the share of the words of two questions that they have in common.
const MIN_WORDS: f32 = 0.7;
/// Questions whose vectors are computed together. A visitor's question waits until they are done.
const BATCH: usize = 8;
/// Characters of a question that are compared.
const MAX_CHARACTERS: usize = 700;
/// Vectors that are cached: 1.5 KiB each.
const MAX_CACHED: usize = 4_000;

/// Groups questions by meaning where it has an embedder, otherwise by their words.
#[derive(Default)]
pub struct Grouper {
    embedder: Option<Arc<dyn Embedder>>,
    /// The vectors of earlier questions by the hashes of their texts. A call holds it until all vectors are there, so that
    /// one call at a time uses the embedder.
    cached: async_lock::Mutex<HashMap<u64, Vec<f32>>>,
    hasher: RandomState,
}

impl Grouper {
    /// A grouper by words.
    #[must_use]
    pub fn new() -> Self {
        Grouper::default()
    }

    /// The same by meaning.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// The vectors of questions, of length 1; [`None`] without an embedder that answers.
    async fn vectors(&self, questions: &[AskedText]) -> Option<Vec<Vec<f32>>> {
        let embedder = self.embedder.as_ref()?;
        let mut cached = self.cached.lock().await;
        let hashes: Vec<u64> =
            questions.iter().map(|question| self.hasher.hash_one(&question.plain)).collect();
        let missing: Vec<usize> =
            (0..questions.len()).filter(|at| !cached.contains_key(&hashes[*at])).collect();
        if cached.len() + missing.len() > MAX_CACHED {
            cached.clear();
        }
        for batch in missing.chunks(BATCH) {
            let text = |at: &usize| questions[*at].plain.chars().take(MAX_CHARACTERS).collect();
            match embedder.embed(TextRole::Question, batch.iter().map(text).collect()).await {
                Ok(vectors) if vectors.len() == batch.len() => {
                    cached.extend(batch.iter().map(|at| hashes[*at]).zip(vectors.into_iter().map(unit)));
                }
                Ok(_) => return None,
                Err(error) => {
                    tracing::warn!(%error, "questions are grouped by their words alone");
                    return None;
                }
            }
        }
        hashes.iter().map(|hash| cached.get(hash).cloned()).collect()
    }
}

#[async_trait]
impl QuestionGrouper for Grouper {
    async fn group(&self, questions: &[AskedText]) -> GroupedQuestions {
        let languages: Vec<Language> =
            questions.iter().map(|question| language_of(&question.plain, &question.locale)).collect();
        let vectors = self.vectors(questions).await;
        let is_by_meaning = vectors.is_some();
        let groups = match vectors {
            Some(vectors) => grouped(questions, MIN_MEANING, |one, other| {
                let cosine: f32 =
                    vectors[one].iter().zip(&vectors[other]).map(|(one, other)| one * other).sum();
                cosine + if languages[one] == languages[other] { 0.0 } else { OTHER_LANGUAGE }
            }),
            None => {
                let words: Vec<BTreeSet<String>> = questions.iter().zip(&languages).map(content).collect();
                grouped(questions, MIN_WORDS, |one, other| shared(&words[one], &words[other]))
            }
        };
        let languages = languages.iter().map(|language| language.code().to_owned()).collect();
        GroupedQuestions { groups, languages, is_by_meaning }
    }
}

/// A vector of length 1; zeros for one without a direction, which is similar to none.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let is_usable = length.is_finite() && length > 1e-6;
    vector.iter_mut().for_each(|number| *number = if is_usable { *number / length } else { 0.0 });
    vector
}

/// The words of a question that say what it asks, by their stems.
fn content((question, language): (&AskedText, &Language)) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let text: String = question.plain.chars().take(MAX_CHARACTERS).collect();
    words(&text, |word: Word<'_>| {
        if terms::is_content(&word, *language) {
            let mut term = String::new();
            let has_stem = word.stem_term(*language, &mut term);
            found.insert(if has_stem { term } else { word.folded.to_owned() });
        }
    });
    found
}

/// The share of their words that two questions have in common.
fn shared(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f32 {
    let both = one.intersection(other).count();
    if both == 0 { 0.0 } else { 2.0 * both as f32 / (one.len() + other.len()) as f32 }
}

/// The groups of questions whose mean similarity is at least `least`, by a chain of nearest neighbours: two groups that
/// are each other's nearest are joined. Average linkage is reducible, so the order of joining does not change the result,
/// and a group without a neighbour that is near enough never gets one. Its time grows with the square of their number.
fn grouped(questions: &[AskedText], least: f32, similarity: impl Fn(usize, usize) -> f32) -> Vec<Vec<usize>> {
    let number = questions.len();
    let mut similar = vec![0.0_f32; number * number];
    for one in 0..number {
        for other in 0..one {
            let alike = similarity(one, other);
            similar[one * number + other] = alike;
            similar[other * number + one] = alike;
        }
    }
    let between = similar.clone();
    let mut members: Vec<Vec<usize>> = (0..number).map(|at| vec![at]).collect();
    let mut open: Vec<usize> = (0..number).collect();
    let mut chain: Vec<usize> = Vec::new();
    let mut done = Vec::new();
    while let Some(&first) = open.first() {
        let at = *chain.last().unwrap_or(&first);
        if chain.is_empty() {
            chain.push(at);
        }
        // Of equals the one before it in the chain, so that the chain ends.
        let before = chain.len().checked_sub(2).map(|nth| chain[nth]);
        let near = |other: usize| (similar[at * number + other], Some(other) == before, usize::MAX - other);
        let others = open.iter().copied().filter(|other| *other != at);
        let nearest = others.max_by(|one, other| {
            let (one, other) = (near(*one), near(*other));
            one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)).then(one.2.cmp(&other.2))
        });
        match nearest.filter(|other| similar[at * number + other] >= least) {
            None => {
                open.retain(|other| *other != at);
                done.push(std::mem::take(&mut members[at]));
                chain.pop();
            }
            Some(other) if Some(other) == before => {
                chain.truncate(chain.len() - 2);
                let (mine, theirs) = (members[at].len() as f32, members[other].len() as f32);
                for third in 0..number {
                    let (one, two) = (similar[at * number + third], similar[other * number + third]);
                    let mean = (one * mine + two * theirs) / (mine + theirs);
                    similar[at * number + third] = mean;
                    similar[third * number + at] = mean;
                }
                open.retain(|open| *open != other);
                let theirs = std::mem::take(&mut members[other]);
                members[at].extend(theirs);
            }
            Some(other) => chain.push(other),
        }
    }
    for group in &mut done {
        let centrality = |at: usize| -> f32 {
            let others = group.iter().map(|other| {
                let times = questions[*other].times as f32;
                if *other == at { times } else { between[at * number + other] * times }
            });
            others.sum()
        };
        let mut central: Vec<(f32, usize)> = group.iter().map(|at| (centrality(*at), *at)).collect();
        central.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        *group = central.into_iter().map(|(_, at)| at).collect();
    }
    done
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::embedder::EmbedError;

    fn asked(text: &str) -> AskedText {
        AskedText::new(text, "en").expect("a question")
    }

    fn texts(found: &GroupedQuestions, questions: &[AskedText]) -> Vec<Vec<String>> {
        let texts = |group: &Vec<usize>| group.iter().map(|at| questions[*at].plain.clone()).collect();
        let mut groups: Vec<Vec<String>> = found.groups.iter().map(texts).collect();
        groups.sort();
        groups
    }

    #[test]
    fn without_an_embedder_shared_words_make_a_group() {
        let questions: Vec<AskedText> =
            ["Do you sell gift cards?", "Are there gift cards", "gift card?", "Where can I park?", "parking"]
                .map(asked)
                .into();
        let found = pollster::block_on(Grouper::new().group(&questions));
        assert!(!found.is_by_meaning);
        assert_eq!(found.languages, ["en"; 5]);
        let groups = texts(&found, &questions);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2], "{groups:?}");
    }

    /// Gives vectors, or fails.
    struct Vectors(Option<fn(&str) -> Vec<f32>>);

    #[async_trait]
    impl Embedder for Vectors {
        fn name(&self) -> &str {
            "vectors"
        }

        fn dimension(&self) -> usize {
            2
        }

        async fn embed(&self, _: TextRole, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
            let vector = self.0.ok_or_else(|| EmbedError::Unavailable("gone".to_owned()))?;
            Ok(texts.iter().map(|text| vector(text)).collect())
        }
    }

    #[test]
    fn an_embedder_that_fails_leaves_the_words() {
        let questions = ["Is there parking?", "parking?", "gift cards"].map(asked);
        let grouper = Grouper::new().with_embedder(Arc::new(Vectors(None)));
        let found = pollster::block_on(grouper.group(&questions));
        assert_eq!((found.is_by_meaning, found.groups.len()), (false, 2));
        let nan = Grouper::new().with_embedder(Arc::new(Vectors(Some(|_| vec![f32::NAN, 1.0]))));
        let found = pollster::block_on(nan.group(&questions));
        assert_eq!(
            (found.is_by_meaning, found.groups.len()),
            (true, 3),
            "numbers that are none group nothing"
        );
    }

    #[test]
    fn the_most_central_question_comes_first_and_counts_how_often_it_was_asked() {
        let vector = |text: &str| match text {
            "left" => vec![1.0, 0.2],
            "middle" => vec![1.0, 0.0],
            "right" => vec![1.0, -0.2],
            _ => vec![0.0, 1.0],
        };
        let mut questions = ["left", "other", "middle", "right"].map(asked);
        let grouper = Grouper::new().with_embedder(Arc::new(Vectors(Some(vector))));
        let first = |questions: &[AskedText]| {
            let found = pollster::block_on(grouper.group(questions));
            let group =
                found.groups.iter().find(|group| group.len() == 3).cloned().expect("a group of three");
            questions[group[0]].plain.clone()
        };
        assert_eq!(first(&questions), "middle");
        questions[3].times = 50;
        assert_eq!(first(&questions), "right");
    }

    /// Groups as their definition says: the two that are most similar on average become one.
    fn by_definition(similar: &[Vec<f32>], least: f32) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..similar.len()).map(|at| vec![at]).collect();
        loop {
            let mean = |one: &[usize], other: &[usize]| {
                let pairs = one.iter().flat_map(|one| other.iter().map(move |other| similar[*one][*other]));
                pairs.sum::<f32>() / (one.len() * other.len()) as f32
            };
            let pairs = (0..groups.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
            let best = pairs
                .map(|(one, other)| (mean(&groups[one], &groups[other]), one, other))
                .max_by(|one, other| one.0.total_cmp(&other.0));
            let Some((_, one, other)) = best.filter(|(most, ..)| *most >= least) else { return groups };
            let joined = groups.remove(one);
            groups[other].extend(joined);
        }
    }

    proptest! {
        #[test]
        fn a_chain_of_neighbours_finds_the_groups_of_the_definition(
            numbers in prop::collection::vec(0.0_f32..1.0, 0..400), least in 0.1_f32..0.9,
        ) {
            let number = numbers.len().isqrt();
            let similarity = |one: usize, other: usize| numbers[one.max(other) * number + one.min(other)];
            let questions: Vec<AskedText> = (0..number).map(|at| asked(&at.to_string())).collect();
            let sorted = |mut groups: Vec<Vec<usize>>| {
                groups.iter_mut().for_each(|group| group.sort_unstable());
                groups.sort();
                groups
            };
            let all: Vec<Vec<f32>> =
                (0..number).map(|one| (0..number).map(|other| similarity(one, other)).collect()).collect();
            let found = sorted(grouped(&questions, least, similarity));
            let mut members: Vec<usize> = found.iter().flatten().copied().collect();
            members.sort_unstable();
            prop_assert_eq!(members, (0..number).collect::<Vec<_>>());
            prop_assert_eq!(found, sorted(by_definition(&all, least)));
        }
    }
}
