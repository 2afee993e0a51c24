//! The question-and-answer pairs of an index, and which of them means the same as a question.
//!
//! Vectors tell what a question is about and little of what tells it apart from its neighbours: "Do you ship to Sweden?"
//! is nearly "Do you ship to Norway?". So words decide too: those that only one of two questions has, what kind of answer
//! each asks for, and names and numbers.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use conversations::{AskedText, FoundPassage, Question, Retrieved};
use openapi_core::values::KnowledgeId;
use unicode_segmentation::UnicodeSegmentation as _;

use super::question::goes_on;
use super::vectors::{Row, product, row};
use super::{Index, MEANT_CHARACTERS};
use crate::answer_type::AnswerType;
use crate::language::{Language, language_of};
use crate::phrases::{Message, Phrases};
use crate::terms;
use crate::words::{Word, fold, words};

/// A constant, and the weights of [`PairSignals::numbers`], fitted by logistic regression to the part `tune` of
/// `tests/questions/pairs.txt`. The constant is lower and the weight of kinds higher than what was found, so that no question
/// that only resembles a pair gets its answer there. `tests/pairs.rs` prints how well that works. Equal words make vectors
/// alike whatever is asked, so they count against them.
const FITTED: (f32, [f32; 6]) = (-42.53, [45.7, -1.73, -0.15, -0.6, -1.82, 2.41]);
/// Words that both questions have in common, at least, and how alike their vectors are, where equal words tell that they mean
/// the same.
const ENOUGH_WORDS: usize = 2;
const MIN_EQUAL: f32 = 0.93;
/// How sure it is that a pair means the same, at least, for its answer to be given.
const MIN_SAME: f32 = 0.5;
/// How sure equal words are without vectors, at most: less than equal texts.
const MAX_BY_WORDS: f32 = 0.99;
/// Pairs whose words are compared: those whose vectors are most alike.
const LOOKED_AT: usize = 24;
/// Pairs that are near, at most, and the similarity that they have at least: by vectors, and by words.
const MAX_NEAR: usize = 3;
const MIN_NEAR: f32 = 0.88;
const MIN_NEAR_WORDS: f32 = 0.5;
/// The size of a word in a set without the word.
const WORD_BYTES: usize = 48;
/// Phrasings of a pair that a model reads, at most.
const SHOWN_PHRASINGS: usize = 3;

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(include_str!("pairs.txt")));
const KINDS: [&str; 5] = ["how", "why", "where", "who", "which"];

/// What a question and the phrasing of a pair have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairSignals {
    /// How alike their vectors are.
    pub cosine: f32,
    /// The share of their words that they have in common.
    pub shared: f32,
    /// The share of the phrasing's words that the question does not have.
    pub missing: f32,
    /// 1 where they ask for other kinds of answers.
    pub kind: f32,
    /// 1 where one has a name or a number that the other does not have.
    pub names: f32,
    /// 1 where they are in different languages, so that their words tell nothing.
    pub foreign: f32,
}

impl PairSignals {
    /// As numbers, in the order of their declaration.
    #[must_use]
    pub fn numbers(&self) -> [f32; 6] {
        let PairSignals { cosine, shared, missing, kind, names, foreign } = *self;
        [cosine, shared, missing, kind, names, foreign]
    }

    /// How sure it is that both mean the same; not at all where the vectors are unusable.
    fn confidence(&self) -> f32 {
        let (constant, weights) = FITTED;
        let sum: f32 = self.numbers().iter().zip(weights).map(|(number, weight)| number * weight).sum();
        let sure = 1.0 / (1.0 + (-(constant + sum)).exp());
        if sure.is_nan() { 0.0 } else { sure }
    }

    /// Whether both have the same words and ask for the same kind of answer.
    fn has_equal_words(&self) -> bool {
        self.foreign == 0.0 && self.shared >= 1.0 && self.kind == 0.0 && self.names == 0.0
    }
}

/// A question, taken apart.
struct Phrase {
    /// Without case and marks of punctuation.
    plain: String,
    language: Language,
    /// The words that say what it asks, by their stems.
    content: BTreeSet<String>,
    /// Those among them that are numbers, or written as names: with a capital letter that is not the first of the question,
    /// in a language that does not write all nouns so.
    names: BTreeSet<String>,
    asks: (Option<AnswerType>, Option<&'static str>),
}

impl Phrase {
    fn of(text: &str, locale: &str) -> Option<Self> {
        let text = &text[..text.char_indices().nth(MEANT_CHARACTERS).map_or(text.len(), |(end, _)| end)];
        let plain = AskedText::new(text, locale)?.plain;
        let language = language_of(text, locale);
        let mut phrase = Phrase {
            language,
            content: BTreeSet::new(),
            names: BTreeSet::new(),
            asks: (AnswerType::of(text, locale), None),
            plain,
        };
        let is_capital = |word: &&str| language.code() != "de" && word.starts_with(char::is_uppercase);
        let capitals: BTreeSet<String> = text.unicode_words().skip(1).filter(is_capital).map(fold).collect();
        words(text, |word: Word<'_>| {
            if word.is_part || !terms::is_content(&word, language) {
                return;
            }
            let mut term = String::new();
            let has_stem = word.stem_term(language, &mut term);
            let term = if has_stem { term } else { word.folded.to_owned() };
            if word.folded.chars().any(char::is_numeric) || capitals.contains(word.folded) {
                phrase.names.insert(term.clone());
            }
            phrase.content.insert(term);
        });
        let message = Message::of(text, locale);
        let asks = |kind: &&'static str| {
            message.languages.iter().any(|language| message.has(&PHRASES, *language, kind))
        };
        phrase.asks.1 = KINDS.into_iter().find(asks);
        Some(phrase)
    }
}

/// What is stored of a question-and-answer pair besides its answer.
pub(super) struct StoredPair {
    pub(super) questions: Vec<String>,
    pub(super) language: Option<String>,
}

struct Pair {
    /// The number of its document.
    document: u32,
    answer: Box<str>,
    phrasings: Vec<String>,
    phrases: Vec<Phrase>,
}

/// The pairs of an agent.
#[derive(Default)]
pub(super) struct Pairs {
    all: Vec<Pair>,
    /// Of each pair the vectors of its phrasings. Set when all are computed.
    rows: OnceLock<Vec<Vec<Option<Row>>>>,
}

/// A pair, compared with a question.
struct Compared {
    pair: usize,
    /// Whether it means the same, and how sure that is.
    is_same: bool,
    confidence: f32,
    /// How near it is, and whether that is near enough to be shown as another question.
    near: f32,
    is_near: bool,
    signals: PairSignals,
}

impl Pairs {
    pub(super) fn add(&mut self, document: u32, stored: &StoredPair, answer: String) {
        let locale = stored.language.as_deref().unwrap_or_default();
        let phrases = stored.questions.iter().filter_map(|question| Phrase::of(question, locale)).collect();
        let phrasings = stored.questions.clone();
        self.all.push(Pair { document, answer: answer.into(), phrasings, phrases });
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// About how many bytes of memory they take without vectors.
    pub(super) fn bytes(&self) -> usize {
        let of_phrase = |phrase: &Phrase| {
            let words = phrase.content.iter().chain(&phrase.names);
            2 * phrase.plain.len() + words.map(|word| word.len() + WORD_BYTES).sum::<usize>()
        };
        let of_pair = |pair: &Pair| pair.answer.len() + pair.phrases.iter().map(of_phrase).sum::<usize>();
        self.all.iter().map(of_pair).sum()
    }

    pub(super) fn answer_bytes(&self) -> usize {
        self.all.iter().map(|pair| pair.answer.len()).sum()
    }

    /// The texts of the phrasings of each pair, as their vectors are computed.
    pub(super) fn texts(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        self.all.iter().map(|pair| pair.phrases.iter().map(|phrase| phrase.plain.as_str()))
    }

    /// Takes the vectors of the phrasings of each pair.
    pub(super) fn take_rows(&self, rows: Vec<Vec<Option<Row>>>) {
        drop(self.rows.set(rows));
    }

    /// The pairs that are like a question, the surest first. A message that goes on from the one before it means more than it
    /// says: it is the same only as a phrasing in the same words.
    fn compared(&self, question: &Question, vector: &[f32]) -> Vec<Compared> {
        let Some(asked) = Phrase::of(&question.text, &question.locale) else { return Vec::new() };
        let goes_on = goes_on(question);
        let rows = row(vector).and_then(|asked| Some((asked, self.rows.get()?)));
        let cosines: Option<Vec<Vec<f32>>> = rows.map(|(asked, rows)| {
            let cosine = |own: &Option<Row>| own.as_ref().map_or(0.0, |own| product(&asked, own));
            rows.iter().map(|rows| rows.iter().map(cosine).collect()).collect()
        });
        let looked_at = |pair: &usize| match &cosines {
            Some(cosines) => cosines[*pair].iter().copied().fold(0.0, f32::max),
            None => self.all[*pair]
                .phrases
                .iter()
                .map(|own| shared(&own.content, &asked.content))
                .fold(0.0, f32::max),
        };
        let mut nearest: Vec<(f32, usize)> =
            (0..self.all.len()).map(|pair| (looked_at(&pair), pair)).collect();
        nearest.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let is_plain = |pair: &usize| self.all[*pair].phrases.iter().any(|own| own.plain == asked.plain);
        let plain = (0..self.all.len()).filter(is_plain);
        let mut pairs: Vec<usize> =
            plain.chain(nearest.iter().take(LOOKED_AT).map(|(_, pair)| *pair)).collect();
        pairs.dedup();
        let mut compared: Vec<Compared> = pairs
            .into_iter()
            .map(|pair| {
                let cosines = cosines.as_ref().map(|cosines| cosines[pair].as_slice());
                let mut found = self.all[pair].compared(pair, &asked, cosines);
                found.is_same &= !goes_on || is_plain(&pair);
                found
            })
            .collect();
        compared.sort_by(|one, other| {
            let sure = |it: &Compared| (it.is_same, it.confidence, it.near);
            let ((is_same, confidence, near), other_sure) = (sure(one), sure(other));
            let by_sureness = other_sure.0.cmp(&is_same).then(other_sure.1.total_cmp(&confidence));
            by_sureness.then(other_sure.2.total_cmp(&near)).then(one.pair.cmp(&other.pair))
        });
        compared.dedup_by_key(|compared| compared.pair);
        compared
    }
}

impl Pair {
    /// The surest of its phrasings.
    fn compared(&self, pair: usize, asked: &Phrase, cosines: Option<&[f32]>) -> Compared {
        let mut best = Compared {
            pair,
            is_same: false,
            confidence: 0.0,
            near: 0.0,
            is_near: false,
            signals: PairSignals::default(),
        };
        for (nth, own) in self.phrases.iter().enumerate() {
            let cosine = cosines.and_then(|cosines| cosines.get(nth).copied());
            let signals = Pair::signals(asked, own, cosine.unwrap_or(0.0));
            let is_plain = own.plain == asked.plain;
            let has_equal_words = signals.has_equal_words()
                && own.content.len() >= ENOUGH_WORDS
                && cosine.is_none_or(|cosine| cosine >= MIN_EQUAL);
            let confidence = match cosine {
                _ if is_plain => 1.0,
                Some(_) => signals.confidence(),
                None => signals.shared * MAX_BY_WORDS,
            };
            let is_same = is_plain || has_equal_words || (cosine.is_some() && confidence >= MIN_SAME);
            let near = cosine.unwrap_or(signals.shared);
            best.near = best.near.max(near);
            best.is_near |= near >= if cosine.is_some() { MIN_NEAR } else { MIN_NEAR_WORDS };
            if nth == 0 || (is_same, confidence) > (best.is_same, best.confidence) {
                (best.is_same, best.confidence, best.signals) = (is_same, confidence, signals);
            }
        }
        best
    }

    fn signals(asked: &Phrase, own: &Phrase, cosine: f32) -> PairSignals {
        if asked.language != own.language {
            return PairSignals { cosine, foreign: 1.0, ..PairSignals::default() };
        }
        let both = asked.content.intersection(&own.content).count();
        let share = |part: usize, all: usize| if all > 0 { part as f32 / all as f32 } else { 0.0 };
        let names = !asked.names.is_subset(&own.content) || !own.names.is_subset(&asked.content);
        PairSignals {
            cosine,
            shared: shared(&asked.content, &own.content),
            missing: share(own.content.len() - both, own.content.len()),
            kind: f32::from(asked.asks != own.asks),
            names: f32::from(names),
            foreign: 0.0,
        }
    }
}

/// The share of their words that two questions have in common.
fn shared(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f32 {
    let both = one.intersection(other).count();
    if both == 0 { 0.0 } else { both as f32 / (one.len() + other.len() - both) as f32 }
}

impl Index {
    /// What a question has in common with the pair that means the same, or else the one that is nearest to it, for those who fit
    /// it: whose pair that is, whether it means the same, and the signals. The vector is that of [`Index::asked_by`].
    #[must_use]
    pub fn pair_signals(
        &self,
        question: &Question,
        vector: &[f32],
    ) -> Option<(KnowledgeId, bool, PairSignals)> {
        let best = self.pairs.compared(question, vector).into_iter().next()?;
        let document = self.documents[self.pairs.all[best.pair].document as usize].id;
        Some((document, best.is_same, best.signals))
    }

    /// The text of a question whose vector is compared with those of pairs.
    #[must_use]
    pub fn asked_by(question: &Question) -> String {
        Phrase::of(&question.text, &question.locale).map(|phrase| phrase.plain).unwrap_or_default()
    }

    /// Puts the pair that means the same as a question first, and notes those that are near.
    pub(super) fn add_pairs(
        &self,
        found: &mut Retrieved,
        question: &Question,
        vector: &[f32],
        at_most: usize,
    ) {
        let mut compared = self.pairs.compared(question, vector);
        if compared.first().is_some_and(|first| first.is_same) {
            let same = compared.remove(0);
            found.passages.insert(0, self.answer(&same));
            found.passages.truncate(at_most);
            found.coverage = 1.0;
            found.is_taught = true;
        }
        let near = compared.iter().filter(|pair| pair.is_near);
        found.near_pairs = near.take(MAX_NEAR).map(|pair| self.answer(pair)).collect();
    }

    /// The answers of all pairs.
    pub(super) fn answers(&self) -> impl Iterator<Item = FoundPassage> {
        (0..self.pairs.all.len()).map(|pair| self.answer_of(pair, 0.0))
    }

    fn answer(&self, compared: &Compared) -> FoundPassage {
        self.answer_of(compared.pair, compared.confidence)
    }

    fn answer_of(&self, pair: usize, score: f32) -> FoundPassage {
        let pair = &self.pairs.all[pair];
        let document = &self.documents[pair.document as usize];
        FoundPassage {
            document: document.id,
            position: 0,
            title: document.title.clone(),
            url: document.url.clone(),
            headings: pair.phrasings.iter().take(SHOWN_PHRASINGS).cloned().collect(),
            page: None,
            text: pair.answer.to_string(),
            nearest: None,
            score,
        }
    }
}
