//! Builds an index, passage by passage.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use conversations::{KnowledgeDocument, Passage};
use openapi_core::values::KnowledgeId;

use super::pairs::{Pairs, StoredPair};
use super::postings::{Growing, Postings};
use super::{B, Document, Entry, HEADING_WEIGHT, Index, K1};
use crate::language::Language;
use crate::words::{Word, words};

/// Passages that the language of a document is recognised in.
const LOOKS: u8 = 8;
/// The size of an entry in the table of terms without the term.
const TERM_BYTES: usize = 32;

/// Takes documents and then their passages.
pub struct IndexBuilder {
    documents: Vec<Document>,
    languages: Vec<DocumentLanguage>,
    numbers: HashMap<KnowledgeId, u32>,
    entries: Vec<Entry>,
    lengths: Vec<u32>,
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Growing>,
    used: BTreeSet<Language>,
    /// The documents that are question-and-answer pairs, by their numbers.
    stored_pairs: HashMap<u32, StoredPair>,
    pairs: Pairs,
    /// By language, the terms of words as they are written: a word is folded and stemmed once.
    known: HashMap<Option<Language>, HashMap<Box<str>, Terms>>,
    /// The terms of one passage, with what each occurrence counts.
    found: Vec<(u32, u32)>,
}

/// The terms of a word: itself and its stem.
type Terms = (u32, Option<u32>);

/// The language of a document: the one it was added with, or the last that was recognised in its first passages.
#[derive(Clone, Copy)]
struct DocumentLanguage {
    language: Option<Language>,
    /// Passages that it may still be recognised in.
    looks: u8,
}

impl IndexBuilder {
    /// An index over documents, as yet without passages.
    #[must_use]
    pub fn new(documents: Vec<KnowledgeDocument>) -> Self {
        let language = |document: &KnowledgeDocument| {
            let language = document.language.as_deref().and_then(Language::of_tag);
            DocumentLanguage { language, looks: if language.is_some() { 0 } else { LOOKS } }
        };
        let pair = |(number, document): (u32, &KnowledgeDocument)| {
            let (questions, language) = (document.questions.clone(), document.language.clone());
            (number, StoredPair { questions, language })
        };
        IndexBuilder {
            languages: documents.iter().map(language).collect(),
            numbers: (0..).zip(&documents).map(|(number, document)| (document.id, number)).collect(),
            stored_pairs: (0..)
                .zip(&documents)
                .filter(|(_, document)| document.is_pair())
                .map(pair)
                .collect(),
            pairs: Pairs::default(),
            documents: documents
                .into_iter()
                .map(|document| Document { id: document.id, title: document.title, url: document.url })
                .collect(),
            entries: Vec::new(),
            lengths: Vec::new(),
            terms: HashMap::new(),
            postings: Vec::new(),
            used: BTreeSet::new(),
            known: HashMap::new(),
            found: Vec::new(),
        }
    }

    /// Adds a passage. They come by document and position; one of a document that is not there is passed over.
    pub fn add(&mut self, document: KnowledgeId, passage: Passage) {
        let Some(&number) = self.numbers.get(&document) else { return };
        if let Some(stored) = self.stored_pairs.get(&number) {
            if passage.position == 0 {
                self.pairs.add(number, stored, passage.text);
            }
            return;
        }
        let Ok(entry) = u32::try_from(self.entries.len()) else { return };
        let language = self.language_of(number, &passage);
        let mut length = self.take(&passage.text, 1, language);
        let title = std::mem::take(&mut self.documents[number as usize].title);
        length += self.take(&title, HEADING_WEIGHT, language);
        for heading in passage.headings.iter().filter(|heading| **heading != title) {
            length += self.take(heading, HEADING_WEIGHT, language);
        }
        self.documents[number as usize].title = title;
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        for same in found.chunk_by(|one, other| one.0 == other.0) {
            let occurrences = same.iter().map(|(_, count)| count).sum();
            self.postings[same[0].0 as usize].add(entry, occurrences);
        }
        found.clear();
        self.found = found;
        let headings = match self.entries.last() {
            Some(last) if *last.headings == *passage.headings => last.headings.clone(),
            _ => Arc::from(passage.headings),
        };
        self.lengths.push(length);
        self.entries.push(Entry {
            document: number,
            position: passage.position,
            page: passage.page,
            headings,
            text: passage.text.into_boxed_str(),
            language,
        });
    }

    fn language_of(&mut self, document: u32, passage: &Passage) -> Option<Language> {
        let known = &mut self.languages[document as usize];
        if known.looks > 0 {
            known.looks -= 1;
            known.language = Language::guess(&passage.text).or(known.language);
        }
        known.language
    }

    /// Takes the terms of a text, and returns how many words it counts for.
    fn take(&mut self, text: &str, weight: u32, language: Option<Language>) -> u32 {
        let mut length = 0_u32;
        let mut known = std::mem::take(self.known.entry(language).or_default());
        words(text, |word: Word<'_>| {
            length = length.saturating_add(weight);
            let (term, stem) = match known.get(word.lower) {
                // Parts of names are found, and nothing else.
                _ if word.is_part => (self.term(&Word::part_term(word.folded)), None),
                // Pairs of letters have no form but the folded one.
                _ if word.lower.is_empty() => (self.term(word.folded), None),
                Some(terms) => *terms,
                None => {
                    let terms = (self.term(word.folded), self.stem(&word, language));
                    known.insert(Box::from(word.lower), terms);
                    terms
                }
            };
            self.found.push((term, weight));
            self.found.extend(stem.map(|stem| (stem, weight)));
        });
        self.known.insert(language, known);
        length
    }

    fn stem(&mut self, word: &Word<'_>, language: Option<Language>) -> Option<u32> {
        let language = language.filter(|language| !language.is_function_word(word.folded))?;
        let mut stem = String::new();
        if !word.stem_term(language, &mut stem) {
            return None;
        }
        self.used.insert(language);
        Some(self.term(&stem))
    }

    fn term(&mut self, term: &str) -> u32 {
        if let Some(known) = self.terms.get(term) {
            return *known;
        }
        let number = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        self.terms.insert(Box::from(term), number);
        self.postings.push(Growing::default());
        number
    }

    /// The index.
    #[must_use]
    pub fn finish(self) -> Index {
        let total: u64 = self.lengths.iter().map(|length| u64::from(*length)).sum();
        let average = (total as f64 / self.lengths.len().max(1) as f64).max(1.0);
        let norm = |length: &u32| {
            (f64::from(K1) * (1.0 - f64::from(B) + f64::from(B) * f64::from(*length) / average)) as f32
        };
        let postings = Postings::of_all(self.postings);
        let texts: usize = self.entries.iter().map(|entry| entry.text.len() + size_of::<Entry>() + 64).sum();
        let terms: usize = self.terms.keys().map(|term| term.len() + TERM_BYTES).sum();
        Index {
            bytes: texts
                + terms
                + self.pairs.bytes()
                + postings.bytes()
                + self.lengths.len() * size_of::<f32>(),
            documents: self.documents,
            norms: self.lengths.iter().map(norm).collect(),
            entries: self.entries,
            pairs: self.pairs,
            terms: self.terms,
            postings,
            languages: self.used.into_iter().collect(),
            vectors: OnceLock::new(),
        }
    }
}
