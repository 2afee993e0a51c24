//! The port of what groups the questions of visitors by what they ask.

use async_trait::async_trait;

/// A question as it is compared with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedText {
    /// The text in lower case, without marks of punctuation that end a sentence or its parts.
    pub plain: String,
    /// The language of the widget, as a BCP 47 tag.
    pub locale: String,
    /// How many times it was asked.
    pub times: u32,
}

impl AskedText {
    /// A question that was asked once; [`None`] for a text without a letter or digit, which asks nothing.
    #[must_use]
    pub fn new(text: &str, locale: &str) -> Option<Self> {
        let is_between = |letter: char| letter.is_whitespace() || "?？¿؟!！¡.。,，、".contains(letter);
        let parts: Vec<&str> = text.split(is_between).filter(|part| !part.is_empty()).collect();
        let plain = parts.join(" ").to_lowercase();
        let asks = plain.chars().any(char::is_alphanumeric);
        asks.then(|| AskedText { plain, locale: locale.to_owned(), times: 1 })
    }
}

/// Questions in groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupedQuestions {
    /// The positions of the questions, each in one group. The most central question of a group comes first.
    pub groups: Vec<Vec<usize>>,
    /// The language of each question, as a code of ISO 639-1 where it is known.
    pub languages: Vec<String>,
    /// Whether they were compared by meaning; otherwise only by their words.
    pub is_by_meaning: bool,
}

impl GroupedQuestions {
    /// Each question in a group of its own, in the language of its widget.
    #[must_use]
    pub fn apart(questions: &[AskedText]) -> Self {
        let primary = |question: &AskedText| {
            question.locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
        };
        GroupedQuestions {
            groups: (0..questions.len()).map(|at| vec![at]).collect(),
            languages: questions.iter().map(primary).collect(),
            is_by_meaning: false,
        }
    }
}

/// Groups questions that ask the same, in whatever words and languages.
#[async_trait]
pub trait QuestionGrouper: Send + Sync {
    /// The groups of questions whose plain texts differ. It always succeeds: what cannot be compared by meaning is
    /// compared by words.
    async fn group(&self, questions: &[AskedText]) -> GroupedQuestions;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_differ_in_case_and_marks_alone_are_equal() {
        let plain = |text: &str| AskedText::new(text, "en").map(|asked| asked.plain);
        for text in ["Do you ship  to Norway?", " do you ship to Norway", "DO YOU SHIP, TO NORWAY?!"] {
            assert_eq!(plain(text).as_deref(), Some("do you ship to norway"), "{text}");
        }
        assert_eq!(plain("¿Envían a Noruega?").as_deref(), Some("envían a noruega"));
        assert_eq!(plain("C++ or C#?").as_deref(), Some("c++ or c#"));
        for text in ["", "???", " … ", "👍"] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
