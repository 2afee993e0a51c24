//! The values of the operator's side of the chat.

use openapi_core::files::Sha256Digest;
use openapi_core::values::{ConversationId, Timestamp};

use crate::{AgentSettings, ChatError, FoundPassage, Outcome, Passage, Retrieved, Source};

/// What became of a change of settings, with the settings that are stored now and their version.
#[derive(Clone, Debug, PartialEq)]
pub enum Configured {
    /// They are those that were sent.
    Saved(AgentSettings, u64),
    /// Nothing was changed, because another version is stored than was expected.
    Stale(AgentSettings, u64),
}

/// A new document, already split into passages.
#[derive(Clone, Debug, PartialEq)]
pub struct NewKnowledge {
    /// The name of the file.
    pub file_name: String,
    /// The title that visitors see as the source.
    pub title: String,
    /// The address for visitors: an absolute http or https URL.
    pub url: Option<String>,
    /// Its language, as a BCP 47 tag.
    pub language: Option<String>,
    /// The media type of the file.
    pub content_type: String,
    /// SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// Characters of its text.
    pub characters: u64,
    /// The number of pages, if it has pages.
    pub pages: Option<u32>,
    /// Its passages, in order.
    pub passages: Vec<Passage>,
    /// Of a question-and-answer pair the phrasings of its question ([`NewPair`]); empty for every other document.
    pub questions: Vec<String>,
}

/// A new question-and-answer pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPair {
    /// The phrasings of the question, 1 to 20 of at most 500 characters on one line. The first one is the pair's name.
    pub questions: Vec<String>,
    /// The answer in Markdown, 1 to 4,000 characters.
    pub answer: String,
    /// The title that visitors see as the source; the first question if [`None`].
    pub title: Option<String>,
    /// The address for visitors: an absolute http or https URL.
    pub url: Option<String>,
    /// The language of the answer, as a BCP 47 tag.
    pub language: Option<String>,
}

/// The limits of an agent's documents, with the documented defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnowledgeLimits {
    /// Bytes of a document (25 MiB). Enforced by the code that reads the file.
    pub bytes: u64,
    /// Pages of a document (1,000).
    pub pages: u32,
    /// Characters of a document (5,000,000).
    pub characters: u64,
    /// Documents of an agent (1,000).
    pub documents: u32,
    /// Passages of an agent (50,000).
    pub passages: u64,
}

impl Default for KnowledgeLimits {
    fn default() -> Self {
        KnowledgeLimits {
            bytes: 25 * 1024 * 1024,
            pages: 1_000,
            characters: 5_000_000,
            documents: 1_000,
            passages: 50_000,
        }
    }
}

/// A question that an operator tries.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// The question.
    pub question: String,
    /// The question before it, which a short question continues.
    pub before: Option<String>,
    /// The language of the visitor, as a BCP 47 tag.
    pub locale: String,
}

/// What a question finds, and what the agent replies.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialAnswer {
    /// The passages.
    pub found: Retrieved,
    /// The share of the question that the agent's documents have to cover.
    pub min_coverage: f32,
    /// The reply; none of a responder that is paid for.
    pub reply: Option<TrialReply>,
}

/// A reply that is stored nowhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialReply {
    /// The text, in Markdown.
    pub text: String,
    /// How the turn would end; [`None`] if the reply failed.
    pub outcome: Option<Outcome>,
    /// The sources that it cites.
    pub sources: Vec<Source>,
    /// Why it failed.
    pub error: Option<ChatError>,
}

/// Which of the questions that an agent could not answer are reported.
#[derive(Clone, Copy, Debug)]
pub struct OpenQuestionsQuery {
    /// Those that were asked then or later.
    pub since: Timestamp,
    /// Those whose reply had this outcome, [`Outcome::Unknown`] or [`Outcome::Unsure`]; both if [`None`].
    pub outcome: Option<Outcome>,
    /// How many groups are reported at most.
    pub groups: usize,
}

/// The questions that an agent could not answer, or was not sure of, grouped by what they ask.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenQuestions {
    /// The group with the most questions first, then the one that was asked last.
    pub groups: Vec<OpenQuestionGroup>,
    /// How many groups there are, reported or not.
    pub total: usize,
    /// How many questions are in them.
    pub questions: usize,
    /// Whether a limit was reached, so that there may be older questions.
    pub is_partial: bool,
    /// Whether the questions were compared by meaning; otherwise only by their words.
    pub is_by_meaning: bool,
}

/// Questions that ask the same.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestionGroup {
    /// The most central question. Like the others it is cut to 300 characters.
    pub question: String,
    /// Up to three others in other words, the most central first.
    pub others: Vec<String>,
    /// How many got no answer.
    pub unanswered: u32,
    /// How many got a reply that was not sure.
    pub unsure: u32,
    /// The number of conversations that they are from.
    pub conversations: u32,
    /// The number of visitors who asked.
    pub visitors: u32,
    /// Their languages in alphabetical order.
    pub languages: Vec<String>,
    /// When the last one was asked.
    pub last_asked_at: Timestamp,
    /// The conversation in which that was.
    pub conversation: ConversationId,
    /// The passage that is nearest to the most central question in the documents of today.
    pub nearest: Option<NearestPassage>,
}

impl OpenQuestionGroup {
    /// The number of questions.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.unanswered + self.unsure
    }
}

/// The passage that is nearest to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestPassage {
    /// The passage.
    pub passage: FoundPassage,
    /// How sure the search is that it answers the question, 0 to 1 ([`Retrieved::coverage`]).
    pub confidence: f32,
    /// Whether that is as much as the agent's settings ask for: the agent answers the question by now.
    pub is_enough: bool,
}
