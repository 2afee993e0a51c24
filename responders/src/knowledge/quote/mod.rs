//! Quotations: the sentences of a passage that a question is about, word for word.

mod choice;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::answer_type::AnswerType;
use crate::language::Language;
use crate::passages::{End, Format, Kind, Piece, pieces};
use crate::spelling;
use crate::terms;
use crate::words::{Word, words};

/// The maximum length of a quotation, in characters.
pub(super) const MAX_LENGTH: usize = 500;
/// Marks where a sentence that is too long was cut.
pub(super) const CUT: &str = " …";

/// The words of a question, and how much each of them tells among the passages that were found.
pub(super) struct Wanted {
    /// The kind of answer that it asks for.
    answer_type: Option<AnswerType>,
    /// Forms of the words: themselves and stems, with the number of the word.
    forms: HashMap<String, usize>,
    weights: Vec<f32>,
    languages: Vec<Language>,
}

impl Wanted {
    pub(super) fn new(question: &str, language: Language, passages: &[&str]) -> Self {
        let mut languages = vec![language];
        for guessed in passages.iter().filter_map(|text| Language::guess(text)) {
            if !languages.contains(&guessed) {
                languages.push(guessed);
            }
        }
        let answer_type = AnswerType::of(question, language.code());
        let mut wanted = Wanted { answer_type, forms: HashMap::new(), weights: Vec::new(), languages };
        let mut count = 0;
        words(question, |word| {
            if terms::is_content(&word, language) && !wanted.forms.contains_key(word.folded) {
                for form in wanted.forms_of(&word) {
                    wanted.forms.entry(form).or_insert(count);
                }
                count += 1;
            }
        });
        wanted.weights = vec![1.0; count];
        wanted.correct(passages);
        let mut having = vec![0_u32; count];
        for passage in passages {
            wanted.words_in(passage).into_iter().for_each(|word| having[word] += 1);
        }
        let all = passages.len() as f32;
        wanted.weights = having.into_iter().map(|having| 1.0 + (all / having.max(1) as f32).ln()).collect();
        wanted
    }

    /// Takes words that no passage has for the nearest ones that some have.
    fn correct(&mut self, passages: &[&str]) {
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut held: HashSet<usize> = HashSet::new();
        for passage in passages {
            held.extend(self.words_in(passage));
            words(passage, |word| {
                if !word.lower.is_empty() && !word.is_part {
                    *known.entry(word.folded.to_owned()).or_default() += 1;
                }
            });
        }
        let missing: Vec<(String, usize)> = self
            .forms
            .iter()
            .filter(|(form, word)| !held.contains(word) && form.chars().all(char::is_alphabetic))
            .map(|(form, word)| (form.clone(), *word))
            .collect();
        for (form, word) in missing {
            let all = known.iter().map(|(word, count)| (word.as_str(), *count));
            if let Some(meant) = spelling::nearest(&form, all) {
                self.forms.entry(meant).or_insert(word);
            }
        }
    }

    fn forms_of(&self, word: &Word<'_>) -> Vec<String> {
        let mut forms = vec![word.folded.to_owned()];
        for language in &self.languages {
            let mut stem = String::new();
            if word.stem_term(*language, &mut stem) {
                forms.push(stem);
            }
        }
        forms
    }

    pub(super) fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The words of the question that a text has.
    fn words_in(&self, text: &str) -> HashSet<usize> {
        let mut found = HashSet::new();
        words(text, |word| {
            found.extend(self.forms_of(&word).iter().filter_map(|form| self.forms.get(form)).copied());
        });
        found
    }
}

/// The lines of a quotation from a passage: whole sentences that stand next to each other, at most [`LONGEST`]
/// characters, with the heads of tables whose rows are among them; code is quoted whole or not at all. A single sentence
/// that is longer is cut at a word.
/// Where it was searched by meaning, `nearest` is the part of the passage that is most like the question.
pub(super) fn lines(
    passage: &str,
    headings: &[String],
    nearest: Option<&Range<usize>>,
    wanted: &Wanted,
) -> Vec<String> {
    let pieces = pieces(passage, 0..passage.len(), Format::Markdown);
    let units = units(&pieces);
    let chosen_of = |pieces: &[Piece], has_long_code: bool| {
        choice::chosen(passage, headings, pieces, nearest, wanted, has_long_code)
    };
    // Where there is nothing but long code, lines of it are better than nothing.
    let (units, chosen) = match (chosen_of(&units, false), units.len() < pieces.len()) {
        (None, true) => (&pieces, chosen_of(&pieces, true)),
        (chosen, _) => (&units, chosen),
    };
    let Some(chosen) = chosen else { return Vec::new() };
    let head = head(passage, units, chosen.start);
    let mut lines: Vec<String> = head.iter().map(|piece| flat(&passage[piece.range.clone()])).collect();
    let mut is_joined = false;
    for unit in &units[chosen] {
        let text = &passage[unit.range.clone()];
        match lines.last_mut() {
            _ if unit.kind == Kind::Code => lines.extend(text.lines().map(|line| line.trim_end().to_owned())),
            Some(last) if is_joined => {
                // Sentences of one paragraph stay together, as the passage has them.
                if passage[..unit.range.start].ends_with(char::is_whitespace) {
                    last.push(' ');
                }
                last.push_str(&flat(text));
            }
            _ => lines.push(flat(text)),
        }
        is_joined = unit.kind == Kind::Prose && matches!(unit.end, End::Sentence | End::Word);
    }
    // An unpaired fence would turn all text after it into code.
    if lines.iter().filter(|line| is_fence(line)).count() % 2 == 1 {
        lines.retain(|line| !is_fence(line));
    }
    let fits =
        |lines: &[String]| lines.iter().map(|line| line.chars().count() + 1).sum::<usize>() <= MAX_LENGTH + 1;
    // Rows below their head count more than those after the first one.
    while !fits(&lines) && !head.is_empty() && lines.len() > head.len() + 1 {
        lines.pop();
    }
    if !fits(&lines) && !head.is_empty() {
        lines.drain(..head.len());
    }
    if !fits(&lines) {
        lines = vec![shortened(&lines.join(" "))];
    }
    lines
}

/// Whether a line begins or ends code.
pub(super) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

/// The pieces of a passage, with the lines of code that belong together as one.
fn units(pieces: &[Piece]) -> Vec<Piece> {
    let mut units: Vec<Piece> = Vec::new();
    for piece in pieces {
        match units.last_mut() {
            Some(last) if last.kind == Kind::Code && piece.kind == Kind::Code && last.end == End::Line => {
                last.characters += last.gap + piece.characters;
                last.range.end = piece.range.end;
                last.gap = piece.gap;
                last.end = piece.end;
            }
            _ => units.push(piece.clone()),
        }
    }
    units
}

/// The head of the table that a quotation begins in the middle of.
fn head<'a>(passage: &str, pieces: &'a [Piece], start: usize) -> &'a [Piece] {
    let is_row = |nth: usize| pieces[nth].kind == Kind::Row;
    if !is_row(start) {
        return &[];
    }
    let first = (0..=start).rev().take_while(|nth| is_row(*nth)).last().unwrap_or(start);
    let is_rule = |nth: usize| choice::is_rule(&passage[pieces[nth].range.clone()]);
    if first + 1 < start && is_rule(first + 1) { &pieces[first..first + 2] } else { &[] }
}

/// A text on one line: each run of blanks is one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, up to a word.
fn shortened(text: &str) -> String {
    let room = MAX_LENGTH - CUT.chars().count();
    let Some((limit, _)) = text.char_indices().nth(room) else { return text.to_owned() };
    let window = &text[..limit];
    let end = window.rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(limit);
    format!("{}{CUT}", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(passage: &str, question: &str) -> String {
        lines(passage, &[], None, &Wanted::new(question, Language::ENGLISH, &[passage])).join("\n")
    }

    #[test]
    fn the_sentences_that_a_question_is_about_are_quoted() {
        let passage = "We sell bread. Cakes are baked on request only and need\ntwo days. Call us before noon.\n\n\
                       - Monday: closed\n- Sunday: eight to eleven\n\n\
                       | Day | Cake |\n|---|---|\n| Friday | apple |\n| Saturday | plum |";
        for (question, wanted) in [
            (
                "How long do cakes take on request?",
                "Cakes are baked on request only and need two days. Call us before noon.",
            ),
            ("Open on Sundays?", "- Sunday: eight to eleven"),
            ("Plum on saturday?", "| Day | Cake |\n|---|---|\n| Saturday | plum |"),
        ] {
            assert_eq!(quoted(passage, question), wanted, "{question}");
        }
    }

    #[test]
    fn code_is_quoted_whole() {
        let passage = "To copy the store while it runs:\n\n```sh\nkeep copy  ./monday\n\nkeep check\n```\n\nA copy holds all files.";
        let code = "```sh\nkeep copy  ./monday\n\nkeep check\n```";
        assert_eq!(
            quoted(passage, "How do I copy the store while it runs?"),
            format!("To copy the store while it runs:\n{code}")
        );
        assert_eq!(quoted(passage, "keep check monday"), code);
        // Code that is too long is left out; where there is nothing else, some lines of it are shown as text.
        let long = format!("```sh\n{}```", "keep copy monday\n".repeat(60));
        assert_eq!(
            quoted(&format!("{long}\n\nA copy on monday holds all."), "copy monday"),
            "A copy on monday holds all."
        );
        assert_eq!(quoted(&long, "copy monday"), "keep copy monday");
    }

    #[test]
    fn lists_and_what_is_announced_are_quoted_whole() {
        let kinds = "We take these cards:\n\n- Visa\n- Mastercard\n- Amex\n\nCash is fine.";
        let all = "We take these cards:\n- Visa\n- Mastercard\n- Amex";
        assert_eq!(quoted(kinds, "Which cards do you take?"), all);
        assert_eq!(quoted(kinds, "Is it amex?").lines().count(), 4);
        let steps = "1. Open the lid.\n2. Press the red button.\n3. Close the lid.";
        assert_eq!(quoted(steps, "When do I press the button?"), steps);
        let below = "The command below rebuilds the index.\n\n```\nkeep rebuild\n```";
        assert_eq!(
            quoted(below, "How do I rebuild the index?"),
            "The command below rebuilds the index.\n```\nkeep rebuild\n```"
        );
        let wide = "登録番号は以下のとおりです：\n\nT1234";
        assert!(quoted(wide, "登録番号").ends_with("T1234"));
        // A long list is not.
        let long =
            format!("We repair:\n\n{}", (0..12).map(|nth| format!("- item {nth}\n")).collect::<String>());
        assert!(quoted(&long, "item 11").lines().count() < 12);
    }

    #[test]
    fn the_head_of_a_table_is_no_answer() {
        let table = "| Repair | Price |\n|---|---|\n| Zip | £9 |\n| Sole | £65 |";
        assert_eq!(quoted(table, "What is the price of a repair?"), table);
        assert_eq!(quoted(table, "hiking yourself"), table);
        assert_eq!(quoted("|---|---|", "anything"), "");
    }

    #[test]
    fn a_number_is_preferred_where_one_is_asked_for() {
        let passage = "Parcels go to Norway. We like Norway a lot.\n\nNorway takes 5 days.";
        assert_eq!(quoted(passage, "How long to Norway?"), "Norway takes 5 days.");
    }

    #[test]
    fn what_was_found_by_its_meaning_is_quoted_from_its_beginning() {
        let passage =
            "Exchanges are free within 30 days. Send us the size that fits.\n\nThe label is in the box.";
        assert_eq!(
            quoted(passage, "swap"),
            "Exchanges are free within 30 days. Send us the size that fits.\nThe label is in the box."
        );
    }

    #[test]
    fn quotations_are_short() {
        let long = format!("The price {} is high.", "very ".repeat(300));
        let quote = quoted(&long, "price");
        assert!(quote.ends_with("very …") && quote.chars().count() <= MAX_LENGTH);
        let many = "The price is high. ".repeat(100);
        assert!(quoted(&many, "price").chars().count() <= MAX_LENGTH);
        assert_eq!(quoted("", "price"), "");
    }
}
