//! How sure it is that the first passage answers: what tells so, and how much.

use conversations::Question;
use unicode_segmentation::UnicodeSegmentation as _;

use super::question::{Asked, AskedWord};
use super::{Index, Ranked, Similarity};
use crate::answer_type::AnswerType;
use crate::language::Language;
use crate::words::fold;

/// What the confidence is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// How much of the question the words of the best passages cover.
    pub coverage: f32,
    /// How much of it the words of the first passage cover.
    pub share: f32,
    /// How alike the first passage is to the question.
    pub cosine: f32,
    /// How far the first passage is ahead of the second, in deviations.
    pub margin: f32,
    /// 1 where the question has a name that no passage has: what it is about, the documents do not know.
    pub names: f32,
    /// 1 where the first passage has a price, a time or a number that is asked for, -1 where it has none, else 0.
    pub fits: f32,
}

impl Signals {
    /// As numbers, in the order of their declaration.
    #[must_use]
    pub fn numbers(&self) -> [f32; 6] {
        let Signals { coverage, share, cosine, margin, names, fits } = *self;
        [coverage, share, cosine, margin, names, fits]
    }

    /// The signals of a passage in another language than the question.
    fn of_foreign(self) -> Self {
        let Signals { coverage, share, .. } = self;
        Signals { coverage: coverage.max(FOREIGN_COVERAGE), share: share.max(FOREIGN_COVERAGE), ..self }
    }
}

/// What `scripts/fit-confidence` found: a constant, and the weights of [`Signals::numbers`]. Each corpus counted alike; search.md
/// of this crate has the figures for each corpus by what the others taught. Those of names and of the kind of answer were
/// fitted on top of the others, with each corpus left out in turn. The constant is lower than what was found, so that about 92 of 100 questions without an
/// answer are refused.
const FITTED: (f32, [f32; 6]) = (-3.65, [2.282, 2.583, 2.837, 0.495, -1.2, 0.7]);

/// How much words cover, about, where a passage answers. In another language than the question's they cover nothing, and
/// tell nothing by that.
const FOREIGN_COVERAGE: f32 = 0.35;

/// How sure it is that the first passage answers: at least one half where it is quoted outright by default.
pub(super) fn confidence(signals: &Signals) -> f32 {
    let (constant, weights) = FITTED;
    let sum: f32 = signals.numbers().iter().zip(weights).map(|(number, weight)| number * weight).sum();
    1.0 / (1.0 + (-(constant + sum)).exp())
}

impl Index {
    /// The signals of the first passage for a question in a language, with the sums of the best passages.
    pub(super) fn judged(
        &self,
        question: &Question,
        language: Language,
        asked: &Asked,
        ranked: &Ranked,
        similarity: &Similarity,
        best: &[(f32, u32)],
    ) -> Option<Signals> {
        let (sum, passage) = *best.first()?;
        let entry = &self.entries[passage as usize];
        let wanted = AnswerType::of(&question.text, &question.locale);
        let own = [entry.language.unwrap_or(language)];
        let is_known =
            |word: &&AskedWord| word.terms.iter().any(|term| self.terms.contains_key(term.as_str()));
        let unknown: Vec<&AskedWord> =
            asked.words[..asked.counted].iter().filter(|word| !is_known(word)).collect();
        let judged = Signals {
            coverage: ranked.coverage,
            share: ranked.share(passage),
            cosine: similarity.cosines[passage as usize],
            margin: best.get(1).map_or(0.0, |(second, _)| sum - second),
            names: if has_name(&question.text, language, &unknown) { 1.0 } else { 0.0 },
            fits: wanted.map_or(0.0, |wanted| if wanted.is_in(&entry.text, &own) { 1.0 } else { -1.0 }),
        };
        let is_foreign = entry.language.is_some_and(|own| own != language);
        Some(if is_foreign { judged.of_foreign() } else { judged })
    }
}

/// Whether one of some words is written as a name: with a capital letter that is not the first of the question, in a language
/// that does not write all nouns so.
fn has_name(text: &str, language: Language, unknown: &[&AskedWord]) -> bool {
    if unknown.is_empty() || language.code() == "de" {
        return false;
    }
    let names = text.unicode_words().skip(1).filter(|word| word.starts_with(char::is_uppercase));
    names.map(fold).any(|name| unknown.iter().any(|word| word.folded == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sure_by_words_or_by_meaning_and_not_by_neither() {
        let covered = Signals { coverage: 1.0, share: 1.0, cosine: 0.2, margin: 1.0, ..Signals::default() };
        let meant = Signals { coverage: 0.2, share: 0.1, cosine: 0.6, margin: 2.0, ..Signals::default() };
        let neither = Signals { coverage: 0.3, share: 0.2, cosine: 0.2, margin: 0.1, ..Signals::default() };
        assert!(confidence(&covered) > 0.5, "{}", confidence(&covered));
        assert!(confidence(&meant) > 0.375, "{}", confidence(&meant));
        assert!(confidence(&neither) < 0.375, "{}", confidence(&neither));
        assert!(confidence(&Signals { cosine: f32::NAN, ..covered }).is_nan());
    }

    #[test]
    fn an_unknown_name_and_another_kind_of_answer_make_it_less_sure() {
        let plain = Signals { coverage: 0.7, share: 0.6, cosine: 0.25, margin: 0.5, ..Signals::default() };
        assert!(confidence(&Signals { names: 1.0, ..plain }) < confidence(&plain));
        assert!(confidence(&Signals { fits: -1.0, ..plain }) < confidence(&plain));
        assert!(confidence(&Signals { fits: 1.0, ..plain }) > confidence(&plain));
    }

    #[test]
    fn names_are_words_that_no_passage_has() {
        let has = |text: &str, code: &str| {
            let language = Language::of_tag(code).expect("known");
            let question = Question { text: text.to_owned(), before: None, locale: code.to_owned() };
            let asked = Asked::of(&question, &[], |_| None);
            let unknown: Vec<&AskedWord> = asked.words.iter().filter(|word| word.folded != "leeds").collect();
            has_name(text, language, &unknown)
        };
        assert!(has("Do you have a shop in Tromsø?", "en"));
        assert!(!has("Do you have a shop in Leeds?", "en"));
        assert!(!has("Parcels to the moon?", "en"));
        assert!(!has("Haben Sie einen Laden?", "de"));
        assert!(!has("", "en"));
    }
}
