//! The index against a plain reference.

use std::collections::{BTreeMap, BTreeSet};

use conversations::{KnowledgeDocument, Passage, Question};
use openapi_core::files::Sha256Digest;
use openapi_core::values::{KnowledgeId, PlatformId, Timestamp};
use proptest::prelude::*;

use super::{Asked, Index, IndexBuilder, MAX_QUOTED, QUOTED_SHARE};
use crate::language::Language;
use crate::terms;
use crate::words::words;

const NOW: Timestamp = Timestamp::from_millis(1_780_000_000_000);

fn id(number: u8) -> KnowledgeId {
    KnowledgeId::from(PlatformId::new(NOW, [number; 8]))
}

fn document(number: u8, title: &str, language: Option<&str>) -> KnowledgeDocument {
    KnowledgeDocument {
        id: id(number),
        file_name: format!("{number}.md"),
        title: title.to_owned(),
        url: None,
        language: language.map(str::to_owned),
        content_type: "text/markdown".to_owned(),
        sha256: Sha256Digest([0; 32]),
        characters: 0,
        pages: None,
        passages: 0,
        source: None,
        questions: Vec::new(),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn passage(position: u32, heading: Option<&str>, text: &str) -> Passage {
    let headings = heading.map(str::to_owned).into_iter().collect();
    Passage { position, headings, page: None, start: 0, end: 0, text: text.to_owned() }
}

#[test]
fn of_long_messages_the_beginning_is_meant() {
    let long = "wie? ".repeat(2_000);
    let meant = Index::meant_by(&question(&long));
    assert!(long.starts_with(&meant) && meant.chars().count() == 700);
    let both = Question { before: Some(long.clone()), ..question("And when?") };
    let meant = Index::meant_by(&both);
    assert!(meant.ends_with("\nAnd when?") && meant.chars().count() < 320, "{meant}");
    assert_eq!(Index::meant_by(&question("How do I pay?")), "How do I pay?");
}

/// A document with a title, its language, and passages with their headings.
type Written = (&'static str, Option<&'static str>, Vec<(Option<&'static str>, String)>);

fn index(documents: &[Written]) -> Index {
    let records =
        (0..).zip(documents).map(|(number, (title, language, _))| document(number, title, *language));
    let mut builder = IndexBuilder::new(records.collect());
    for (number, (_, _, passages)) in (0..).zip(documents) {
        for (position, (heading, text)) in (0..).zip(passages) {
            builder.add(id(number), passage(position, *heading, text));
        }
    }
    builder.finish()
}

fn question(text: &str) -> Question {
    Question { text: text.to_owned(), before: None, locale: "en".to_owned() }
}

/// How often each term occurs, and how many words there are.
fn bag(written: &[(&str, u32)], language: Option<Language>) -> (BTreeMap<String, u32>, u32) {
    let (mut bag, mut length) = (BTreeMap::new(), 0);
    for (text, weight) in written {
        words(text, |word| {
            length += weight;
            *bag.entry(word.folded.to_owned()).or_default() += weight;
            let mut stem = String::new();
            let language = language.filter(|language| !language.is_function_word(word.folded));
            if language.is_some_and(|language| word.stem_term(language, &mut stem)) {
                *bag.entry(stem).or_default() += weight;
            }
        });
    }
    (bag, length)
}

/// A passage by its document and position, and its score.
type Scored = ((u8, u32), f64);

/// Scores by the formula as it is written in books, over documents of English; and the coverage.
fn reference(documents: &[Written], asked: &str) -> (Vec<Scored>, f64) {
    let english = Language::of_tag("en");
    let mut bags = BTreeMap::new();
    for (number, (title, _, passages)) in (0..).zip(documents) {
        for (position, (heading, text)) in (0..).zip(passages) {
            let mut written = vec![(text.as_str(), 1), (*title, 2)];
            written.extend(heading.filter(|heading| heading != title).map(|heading| (heading, 2)));
            bags.insert((number, position), bag(&written, english));
        }
    }
    let count = bags.len() as f64;
    let average = bags.values().map(|(_, length)| f64::from(*length)).sum::<f64>() / count;
    let with = |term: &String| bags.values().filter(|(bag, _)| bag.contains_key(term)).count() as f64;
    let rarity_of = |count: f64, with: f64| (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
    let rarity = |with: f64| rarity_of(count, with);
    let mut words: Vec<(String, BTreeSet<String>)> = Vec::new();
    crate::words::words(asked, |word| {
        let is_known = words.iter().any(|(known, _)| known == word.folded);
        if terms::is_content(&word, Language::ENGLISH) && !is_known {
            let (forms, _) = bag(&[(word.folded, 1)], english);
            words.push((word.folded.to_owned(), forms.into_keys().collect()));
        }
    });
    let weights: Vec<f64> = words
        .iter()
        .map(|(_, forms)| rarity_of(count.max(50.0), forms.iter().map(with).fold(0.0, f64::max)))
        .collect();
    let all: f64 = weights.iter().sum();
    let share = |location: &(u8, u32)| -> f64 {
        let is_held = |forms: &BTreeSet<String>| forms.iter().any(|form| bags[location].0.contains_key(form));
        let held = words.iter().zip(&weights).filter(|((_, forms), _)| is_held(forms));
        let held: f64 = held.map(|(_, weight)| weight).sum();
        if all > 0.0 { held / all } else { 0.0 }
    };
    let mut scores: Vec<Scored> = Vec::new();
    for (location, (bag, length)) in &bags {
        let mut score = 0.0;
        for form in words.iter().flat_map(|(_, forms)| forms) {
            let occurrences = bag.get(form).copied().map_or(0.0, f64::from);
            let norm = 1.2 * (1.0 - 0.75 + 0.75 * f64::from(*length) / average);
            score += rarity(with(form)) * occurrences * 2.2 / (occurrences + norm);
        }
        if score > 0.0 {
            scores.push((*location, score * (0.8 + 0.2 * share(location))));
        }
    }
    scores.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let first = scores.first().map_or(0.0, |(_, score)| *score);
    let answering: Vec<_> = scores
        .iter()
        .take(MAX_QUOTED)
        .filter(|(_, score)| *score >= f64::from(QUOTED_SHARE) * first)
        .collect();
    let covered = answering.iter().map(|(location, _)| share(location)).fold(0.0, f64::max);
    (scores, covered)
}

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("delivery"),
        Just("deliveries"),
        Just("delivered"),
        Just("price"),
        Just("prices"),
        Just("the"),
        Just("of"),
        Just("Café"),
        Just("cafe"),
        Just("home"),
        Just("visits"),
        Just("visit"),
        Just("returns"),
        Just("it's"),
        Just("42"),
        Just("送料無料"),
    ];
    prop::collection::vec(word, 1..30).prop_map(|words| words.join(" "))
}

fn documents() -> impl Strategy<Value = Vec<Written>> {
    let heading = prop_oneof![Just(None), Just(Some("Delivery of parcels")), Just(Some("Prices"))];
    let passages = prop::collection::vec((heading, text()), 0..6);
    let title = prop_oneof![Just("Prices"), Just("Home visits")];
    prop::collection::vec((title, Just(Some("en")), passages), 1..5)
        .prop_filter("there is a passage", |all| all.iter().any(|(_, _, passages)| !passages.is_empty()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn it_finds_what_a_plain_reference_finds(documents in documents(), asked in text(), at_most in 1_usize..8) {
        let index = index(&documents);
        let question = question(&asked);
        let ranked = index.rank(&Asked::of(&question, &index.languages, |_| None), at_most);
        let (wanted, coverage) = reference(&documents, &asked);
        prop_assert_eq!(ranked.best.len(), wanted.len().min(at_most.max(MAX_QUOTED)));
        for (nth, (found, passage)) in ranked.best.iter().enumerate() {
            let entry = &index.entries[*passage as usize];
            let location = (u8::try_from(entry.document).expect("few"), entry.position);
            let score = wanted.iter().find(|(other, _)| *other == location).expect("it has a score").1;
            // Rounding may turn round what is equal but for it.
            prop_assert!((score - wanted[nth].1).abs() < 1e-4, "{nth}: {score} {:?}", wanted);
            prop_assert!((f64::from(*found) - score).abs() < 1e-4);
        }
        let gap = wanted.iter().take(3).all(|(_, score)| (score / wanted[0].1 - 0.8).abs() > 1e-4);
        let ties = wanted.windows(2).all(|pair| pair[0].1 - pair[1].1 > 1e-4);
        prop_assert!(!gap || !ties || (f64::from(ranked.coverage) - coverage).abs() < 1e-4, "{} {coverage}", ranked.coverage);
        let found = index.search(&question, at_most);
        // Words that are taken for misspelt ones find more.
        prop_assert!(found.passages.len() >= wanted.len().min(at_most));
        prop_assert!(found.passages.is_sorted_by(|one, other| one.score >= other.score));
        prop_assert_eq!(&found, &index.search(&question, at_most));
    }
}

fn positions(index: &Index, asked: &Question) -> Vec<(KnowledgeId, u32)> {
    index.search(asked, 10).passages.iter().map(|passage| (passage.document, passage.position)).collect()
}

#[test]
fn equals_are_ordered_by_document_and_position() {
    let same = || vec![(None, "apples and pears".to_owned()), (None, "apples and pears".to_owned())];
    let index = index(&[("a", Some("en"), same()), ("b", Some("en"), same())]);
    assert_eq!(positions(&index, &question("apples?")), [(id(0), 0), (id(0), 1), (id(1), 0), (id(1), 1)]);
}

#[test]
fn stems_marks_case_and_pairs_are_found() {
    let index = index(&[
        (
            "Lieferung",
            None,
            vec![(None, "Wir liefern die bestellten Größen nur an Werktagen und nicht am Sonntag.".into())],
        ),
        ("配送", None, vec![(None, "商品の配送料は無料です。".into())]),
        (
            "Delivery",
            None,
            vec![(None, "We deliver what you have ordered on working days, but not on Sundays.".into())],
        ),
    ]);
    for (asked, wanted) in [
        ("Was kostet die LIEFERUNGEN?", 0),
        ("Gibt es die Grosse?", 0),
        ("配送はいくらですか", 1),
        ("Are deliveries made on a sunday?", 2),
    ] {
        assert_eq!(positions(&index, &question(asked)).first(), Some(&(id(wanted), 0)), "{asked}");
    }
}

#[test]
fn the_message_before_helps_short_ones_and_counts_half_of_what_is_covered() {
    let index = index(&[(
        "Shop",
        Some("en"),
        vec![
            (None, "Parcels to Norway take five days.".into()),
            (None, "Parcels to Sweden take two days.".into()),
            (None, "Returns to Norway are free.".into()),
            (None, "Returns to Sweden are free.".into()),
        ],
    )]);
    let alone = index.search(&question("And Norway?"), 3);
    assert_eq!(alone.passages.len(), 2);
    let after =
        Question { before: Some("How long do parcels to Sweden take?".into()), ..question("And Norway?") };
    let found = index.search(&after, 3);
    assert_eq!(found.passages[0].text, "Parcels to Norway take five days.");
    assert!(found.coverage > 0.5 && found.coverage < 1.0, "{}", found.coverage);
    // Words of their own make it a new question.
    let new = Question { text: "Are returns to Norway free?".into(), ..after };
    assert_eq!(index.search(&new, 3).passages[0].text, "Returns to Norway are free.");
}

#[test]
fn what_is_not_there_is_not_covered() {
    let index = index(&[("Shop", Some("en"), vec![(None, "We sell apples and pears.".into())])]);
    assert_eq!(index.search(&question("apples"), 3).coverage, 1.0);
    let found = index.search(&question("Do you sell bicycles for apples?"), 3);
    assert!(found.coverage > 0.2 && found.coverage < 0.9, "{}", found.coverage);
    for asked in ["bicycles", "", "how are you", "?!"] {
        let found = index.search(&question(asked), 3);
        assert_eq!((found.coverage, found.passages.len()), (0.0, 0), "{asked}");
    }
    let empty = IndexBuilder::new(Vec::new()).finish();
    let found = empty.search(&question("apples"), 3);
    assert_eq!((found.has_documents, found.passages.len()), (false, 0));
}

#[test]
fn a_message_of_any_length_is_looked_for() {
    let index = index(&[("Shop", Some("en"), vec![(None, "We sell apples and pears.".into())])]);
    let long: String = (0..2_000).map(|n| format!("w{n} ")).collect();
    assert_eq!(index.search(&question(&format!("apples {long}")), 3).passages.len(), 1);
}

#[test]
fn a_long_question_counts_as_covered_by_what_only_its_answer_can_say() {
    // Words that no other passage has, half of those that are asked for.
    let answer = "Quartz lanterns glimmer beneath velvet canopies.";
    let others = (0..60).map(|n| (None, format!("Stall {n} sells fruit and more of it.")));
    let passages = std::iter::once((None, answer.to_owned())).chain(others).collect();
    let index = index(&[("Shop", Some("en"), passages)]);
    let long = index.search(
        &question(
            "Quartz lanterns glimmer beneath velvet wisteria, marble, bronze, copper, amber, ivory, cobalt?",
        ),
        3,
    );
    assert_eq!(long.passages[0].text, answer);
    assert!(long.coverage > 0.5, "{}", long.coverage);
    // As much of a short one is no more than it is: one rare word is no evidence.
    let short = index.search(&question("Quartz wisteria, marble?"), 3);
    assert!(short.coverage < 0.35, "{}", short.coverage);
}
