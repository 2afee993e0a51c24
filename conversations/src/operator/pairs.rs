//! Question-and-answer pairs that operators teach an agent. A pair is a document of its knowledge with one passage.

use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::files::Sha256Digest;
use openapi_core::values::AgentId;
use sha2::{Digest as _, Sha256};

use crate::admin::{NewKnowledge, NewPair};
use crate::conversations::Conversations;
use crate::{AskedText, KnowledgeDocument, Passage};

/// The most phrasings of a question.
const MAX_QUESTIONS: usize = 20;
/// The most characters of a question.
const MAX_QUESTION: usize = 500;
/// The most characters of an answer. It is one passage, and a model gets it whole.
const MAX_ANSWER: usize = 4_000;
/// The most characters of a title.
const MAX_TITLE: usize = 200;

impl Conversations {
    /// Teaches an agent the answer to a question. The pair replaces the one with the same first question. Questions that
    /// differ only in case and punctuation are the same.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for questions or an answer beyond the limits of [`NewPair`],
    /// [`AdminError::Conflict`] if another pair answers one of the questions, and as [`Conversations::add_knowledge`].
    pub async fn teach(
        &self,
        by: &Actor,
        agent: &AgentId,
        pair: NewPair,
    ) -> Result<KnowledgeDocument, AdminError> {
        self.add_knowledge(by, agent, document(pair)?).await
    }
}

/// A question as it is compared with others; empty for one that asks nothing.
pub(super) fn plain(question: &str) -> String {
    AskedText::new(question, "").map(|asked| asked.plain).unwrap_or_default()
}

/// The document of a pair.
fn document(pair: NewPair) -> Result<NewKnowledge, AdminError> {
    let refuse = |message: String| Err(AdminError::Refused(message));
    let mut questions: Vec<String> = Vec::new();
    for question in pair.questions.iter().map(|question| question.trim()) {
        let own = plain(question);
        let is_line = question.chars().count() <= MAX_QUESTION && !question.chars().any(char::is_control);
        if own.is_empty() || !is_line {
            return refuse(format!(
                "a question has 1 to {MAX_QUESTION} characters on one line, and at least one letter or digit"
            ));
        }
        if questions.iter().all(|known| plain(known) != own) {
            questions.push(question.to_owned());
        }
    }
    if !(1..=MAX_QUESTIONS).contains(&questions.len()) {
        return refuse(format!("a pair has 1 to {MAX_QUESTIONS} questions"));
    }
    let answer = pair.answer.trim();
    let characters = answer.chars().count();
    let is_text = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t');
    if !(1..=MAX_ANSWER).contains(&characters) || !answer.chars().all(is_text) {
        return refuse(format!("an answer has 1 to {MAX_ANSWER} characters, without control characters"));
    }
    let first = &questions[0];
    let mut digest = Sha256::new();
    for text in questions.iter().map(String::as_str).chain([answer]) {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    Ok(NewKnowledge {
        file_name: first.clone(),
        title: pair.title.unwrap_or_else(|| first.chars().take(MAX_TITLE).collect()),
        url: pair.url,
        language: pair.language,
        content_type: "text/markdown".to_owned(),
        sha256: Sha256Digest(digest.finalize().into()),
        characters: characters as u64,
        pages: None,
        passages: vec![Passage {
            position: 0,
            headings: Vec::new(),
            page: None,
            start: 0,
            end: characters as u64,
            text: answer.to_owned(),
        }],
        questions,
    })
}

/// Refuses questions that another pair answers, which are not among those that go.
pub(super) fn refuse_taught(
    known: &[KnowledgeDocument],
    replaced: &[&KnowledgeDocument],
    questions: &[String],
) -> Result<(), AdminError> {
    if questions.is_empty() {
        return Ok(());
    }
    let new: Vec<String> = questions.iter().map(|question| plain(question)).collect();
    let others = known.iter().filter(|it| replaced.iter().all(|gone| gone.id != it.id));
    for other in others {
        if let Some(same) = other.questions.iter().find(|question| new.contains(&plain(question))) {
            let first = other.questions.first().unwrap_or(same);
            return Err(AdminError::Conflict(format!(
                "the pair {} '{first}' answers '{same}' already: change that pair, or remove it first",
                other.id
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(questions: &[&str], answer: &str) -> Result<NewKnowledge, AdminError> {
        let questions = questions.iter().map(|&question| question.to_owned()).collect();
        document(NewPair { questions, answer: answer.to_owned(), ..NewPair::default() })
    }

    #[test]
    fn a_pair_is_a_document_with_its_answer_as_the_only_passage() {
        let new =
            pair(&[" Do you ship? ", "do you ship", "Delivery?"], "\n Yes.\n\nTo all. ").expect("a pair");
        assert_eq!(new.questions, ["Do you ship?", "Delivery?"]);
        assert_eq!((new.title.as_str(), new.file_name.as_str()), ("Do you ship?", "Do you ship?"));
        assert_eq!((new.passages.len(), new.passages[0].text.as_str()), (1, "Yes.\n\nTo all."));
        let other = pair(&["Do you ship?"], "Delivery?Yes.").expect("a pair");
        assert_ne!(new.sha256, other.sha256);
    }

    #[test]
    fn what_is_beyond_the_limits_is_refused() {
        let long = "x".repeat(MAX_QUESTION);
        assert!(pair(&[&long], &"y".repeat(MAX_ANSWER)).is_ok());
        let many: Vec<String> = (0..=MAX_QUESTIONS).map(|nth| format!("question {nth}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(pair(&many[1..], "y").is_ok());
        for (questions, answer) in [
            (&[][..], "y"),
            (&["?!"], "y"),
            (&["two\nlines"], "y"),
            (&[&format!("{long}x")], "y"),
            (&many, "y"),
            (&["x"], " \n"),
            (&["x"], &"y".repeat(MAX_ANSWER + 1)),
            (&["x"], "y\u{0}"),
        ] {
            assert!(
                matches!(pair(questions, answer), Err(AdminError::Refused(_))),
                "{questions:?} {answer:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_within_the_limits(
            questions in prop::collection::vec(".{0,40}", 0..24), answer in "(?s).{0,60}",
        ) {
            let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
            if let Ok(new) = pair(&questions, &answer) {
                prop_assert!((1..=MAX_QUESTIONS).contains(&new.questions.len()));
                prop_assert!(new.questions.iter().all(|it| !plain(it).is_empty() && !it.chars().any(char::is_control)));
                prop_assert_eq!(new.passages[0].text.as_str(), answer.trim());
                prop_assert_eq!(document(NewPair {
                    questions: new.questions.clone(), answer, ..NewPair::default()
                }).ok(), Some(new));
            }
        }
    }
}
