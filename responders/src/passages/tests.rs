//! What cutting promises.

use proptest::prelude::*;

use super::sentences::sentences;
use super::{CutDocument, Format, MAX_LENGTH, MIN_LENGTH, cut, title};

fn characters(text: &str, start: u64, end: u64) -> String {
    let (start, end) = (usize::try_from(start).expect("small"), usize::try_from(end).expect("small"));
    text.chars().skip(start).take(end - start).collect()
}

/// Checks what holds for every document.
fn check(document: &CutDocument) {
    let mut covered = vec![false; document.text.chars().count()];
    for (position, passage) in document.passages.iter().enumerate() {
        assert_eq!(passage.position as usize, position);
        assert_eq!(characters(&document.text, passage.start, passage.end), passage.text, "word for word");
        assert!(!passage.text.trim().is_empty());
        assert_eq!(passage.text.trim(), passage.text);
        assert!(passage.text.chars().count() <= MAX_LENGTH, "{}", passage.text.chars().count());
        for at in passage.start..passage.end {
            let seen = &mut covered[usize::try_from(at).expect("small")];
            assert!(!std::mem::replace(seen, true), "passages overlap at {at}");
        }
    }
    // What is in no passage is metadata, blank or the line of a heading that a passage carries.
    let (text_begins, _) = super::markdown::front_matter(&document.text);
    document.text[..text_begins].chars().enumerate().for_each(|(at, _)| covered[at] = true);
    let carried: Vec<&String> = document.passages.iter().flat_map(|passage| &passage.headings).collect();
    let mut at = 0;
    for line in document.text.split('\n') {
        let left: String =
            line.chars().enumerate().filter(|(n, _)| !covered[at + n]).map(|(_, letter)| letter).collect();
        at += line.chars().count() + 1;
        let rest = left.trim();
        let is_marks = rest
            .chars()
            .all(|letter| matches!(letter, '#' | '=' | '-' | '*' | '`' | '{' | '}' | ' ' | '\\' | '\t'));
        let words: Vec<&str> =
            rest.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let is_carried = carried.iter().any(|heading| words.iter().all(|word| heading.contains(word)));
        assert!(is_marks || is_carried, "lost: {rest:?}");
    }
}

fn markdown(text: &str) -> CutDocument {
    let document = cut(&[text], Format::Markdown);
    check(&document);
    document
}

#[test]
fn headings_are_found_and_carried() {
    let text = "Before.\n\n# Guide #\n\nOne.\n\n## Set *up*\n\nTwo.\n\n```sh\n# no heading\n```\n\nBig\n===\n\nThree\nlines\n---\nFour.\n\
                \n    # code, too\n\n### See [docs](x.md) \\# `a`\n";
    let document = markdown(text);
    let found: Vec<(Vec<&str>, &str)> = document
        .passages
        .iter()
        .map(|passage| (passage.headings.iter().map(String::as_str).collect(), passage.text.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (vec![], "Before."),
            (vec!["Guide"], "One."),
            (vec!["Guide", "Set up"], "Two.\n\n```sh\n# no heading\n```"),
            (vec!["Big", "Three lines"], "Four.\n\n    # code, too"),
            (vec!["Big", "Three lines", "See docs # a"], "### See [docs](x.md) \\# `a`"),
        ]
    );
    assert_eq!(document.title.as_deref(), Some("Guide"));
    assert_eq!(title(&document, "guide.md"), "Guide");
    assert_eq!(title(&cut(&["x"], Format::Plain), "prices.2026.txt"), "prices.2026");
    assert_eq!(title(&cut(&["x"], Format::Plain), ".txt"), ".txt");
}

#[test]
fn front_matter_and_rules_are_no_headings() {
    let document = markdown("---\ntitle: x\n---\n# A\ntext\n\n---\n\nmore\n\n- item\n---\n");
    assert!(document.passages.iter().all(|passage| passage.headings.len() <= 1), "{document:?}");
    assert_eq!(document.title.as_deref(), Some("x"));
}

#[test]
fn front_matter_is_metadata_and_not_text() {
    for (text, stated) in [
        (
            "---\ntitle: \"Opening hours\"\ntags:\n  - secret\nauthor: secret\n---\n# A\nWe open at nine.\n",
            "Opening hours",
        ),
        ("---\r\nTitle: 'Opening: hours'\r\nkeys: [secret]\r\n...\r\nWe open at nine.\r\n", "Opening: hours"),
        ("+++\ntitle = \"Opening hours\"\n[secret]\ndraft = false\n+++\nWe open at nine.\n", "Opening hours"),
        ("---\nauthor: secret\n---\n# A\nWe open at nine.\n", "A"),
    ] {
        let document = markdown(text);
        assert_eq!(document.title.as_deref(), Some(stated), "{text}");
        let texts: Vec<&str> = document.passages.iter().map(|passage| passage.text.trim()).collect();
        assert_eq!(texts, ["We open at nine."], "{text}");
    }
    // Rules around a text make no metadata of it.
    for text in [
        "---\nWe open at nine.\n---\nMore.\n",
        "---\ntitle: x\nWe open at nine.\n",
        "---\n\nAt 9: we open.\n---\n",
    ] {
        let document = markdown(text);
        let is_in = |passage: &conversations::Passage| {
            passage.text.contains("open") || passage.headings.iter().any(|heading| heading.contains("open"))
        };
        assert!(document.passages.iter().any(is_in), "{text}");
    }
}

#[test]
fn passages_have_the_wanted_length_where_the_text_allows_it() {
    let sentence = "The office is open from nine to five and closed on holidays. ";
    let paragraph = sentence.repeat(3);
    let document = markdown(&format!("# A\n\n{}", format!("{paragraph}\n\n").repeat(40)));
    for passage in &document.passages {
        let length = passage.text.chars().count();
        assert!((MIN_LENGTH..=MAX_LENGTH).contains(&length), "{length}");
        assert!(passage.text.ends_with("holidays."), "cut at a paragraph");
    }
    // One endless paragraph is cut at sentences, one endless sentence at words, one endless word anywhere.
    for (text, end) in [(sentence.repeat(100), '.'), ("word ".repeat(2_000), 'd'), ("x".repeat(5_000), 'x')] {
        let document = markdown(&text);
        assert!(document.passages.len() >= 4);
        for passage in &document.passages {
            assert!(passage.text.chars().count() >= MIN_LENGTH);
            assert!(passage.text.ends_with(end));
        }
    }
}

#[test]
fn pages_are_retained() {
    let first = "First page. ".repeat(80);
    let document = cut(&[&first, "", &"Third page. ".repeat(50)], Format::Plain);
    check(&document);
    assert_eq!(document.passages.first().and_then(|passage| passage.page), Some(1));
    assert_eq!(document.passages.last().and_then(|passage| passage.page), Some(3));
    assert_eq!(cut(&["One page."], Format::Plain).passages[0].page, None);
    // Short pages are passages of their own, so that each is cited as what it is; next to nothing joins its neighbour.
    let short: Vec<String> =
        (1..=4).map(|n| format!("Page {n}. {}", "A slide of a talk. ".repeat(6))).collect();
    let pages: Vec<&str> = short.iter().map(String::as_str).chain(["The end."]).collect();
    let document = cut(&pages, Format::Plain);
    let numbers: Vec<Option<u32>> = document.passages.iter().map(|passage| passage.page).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3), Some(4)]);
    assert!(document.passages[3].text.ends_with("The end."));
    for blank in [&[][..], &[""][..], &[" \n", "\t"][..]] {
        assert_eq!(cut(blank, Format::Markdown).passages, []);
    }
}

#[test]
fn sentences_do_not_end_with_abbreviations_or_lines() {
    let text = "Visit Dr. Who at St. Mary's, e.g. No. 5,\nbefore 6 p.m. today. Is it open? Yes!";
    let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
    assert_eq!(
        found,
        ["Visit Dr. Who at St. Mary's, e.g. No. 5,\nbefore 6 p.m. today.", "Is it open?", "Yes!"]
    );
    let text = "z. B. Montag bzw. Dienstag. 営業時間は九時です。土曜は休みです。";
    assert_eq!(sentences(text).len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nothing_is_lost_or_changed(
        lines in prop::collection::vec(
            prop_oneof![
                Just(String::new()),
                "#{1,7} ?[a-zA-Zé ]{0,20}",
                "[-=*~`]{1,5}[a-z]{0,3}",
                " {0,5}[-*>|0-9.]{1,3} [a-z。é|]{0,40}",
                "([A-Za-zäöü東]{1,12}[ ,.!?]{1,2}){1,60}",
                "\\PC{0,80}",
                "[a-z]{0,1300}",
            ],
            0..30,
        ),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
        is_markdown in any::<bool>(),
        pages in 1_usize..3,
    ) {
        let text = lines.join(ending);
        let all: Vec<&str> = std::iter::repeat_n(text.as_str(), pages).collect();
        check(&cut(&all, if is_markdown { Format::Markdown } else { Format::Plain }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn parts_of_a_passage_have_all_of_it_in_order(
        text in "([A-Za-zäöü東]{1,12}[ ,.!?\n|]{1,2}){0,120}",
        most in 50_usize..500,
    ) {
        let parts = super::parts(&text, most);
        let mut end = 0;
        for part in &parts {
            prop_assert!(part.start >= end && part.end > part.start);
            prop_assert!(text[end..part.start].trim().is_empty());
            end = part.end;
        }
        prop_assert!(text[end..].trim().is_empty());
        // Hardly more parts than the length asks for, so that memory is bounded by it.
        prop_assert!(parts.len() <= 2 * text.chars().count().div_ceil(most) + 1, "{}", parts.len());
    }
}
