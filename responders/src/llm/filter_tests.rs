//! What the filter lets through, wherever the text is cut.

use conversations::{ChatAgent, ChatSettings, ChatTurn, ChatVisitor, FoundPassage, Retrieved};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, PlatformId, Timestamp};
use proptest::prelude::*;

use super::filter::Filter;
use super::links::Links;

fn links() -> Links {
    let at = Timestamp::from_millis(0);
    let id = PlatformId::new(at, [1; 8]);
    let passage = FoundPassage {
        document: KnowledgeId::from(id),
        position: 0,
        title: "A".to_owned(),
        url: Some("https://good.example/a".to_owned()),
        headings: Vec::new(),
        page: None,
        text: "See (https://docs.example/x) or write to help@good.example.".to_owned(),
        score: 1.0,
    };
    Links::of(&ChatTurn {
        agent: ChatAgent {
            id: AgentId::from(id),
            name: "A".to_owned(),
            settings: ChatSettings::default(),
            link_hosts: vec!["shop.example".to_owned()],
        },
        conversation: ConversationId::from(id),
        turn: String::new(),
        history: Vec::new(),
        visitor: ChatVisitor::default(),
        found: Retrieved { passages: vec![passage], coverage: 1.0, has_documents: true },
        can_offer_form: false,
        budget: Default::default(),
        now: at,
        deadline: at,
    })
}

fn whole(text: &str) -> (String, Vec<u32>, bool) {
    let mut filter = Filter::new(links(), 3);
    let mut shown = filter.push(text);
    shown.push_str(&filter.finish());
    (shown, filter.cited().iter().copied().collect(), filter.has_no_answer())
}

fn in_pieces(text: &str, size: usize) -> String {
    let mut filter = Filter::new(links(), 3);
    let letters: Vec<char> = text.chars().collect();
    let mut shown: String =
        letters.chunks(size).map(|piece| filter.push(&piece.iter().collect::<String>())).collect();
    shown.push_str(&filter.finish());
    shown
}

#[test]
fn citations_and_links_with_a_target_are_retained() {
    for (text, wanted) in [
        ("Open [1], closed [4]. Both [2][9].", "Open [1], closed. Both [2]."),
        ("All [1, 2, 7] of [9,8] it", "All [1][2] of it"),
        ("I do not know. [0]", "I do not know."),
        ("`a[7]` and [7]", "`a[7]` and"),
        ("[a](https://good.example/x) [b](https://evil.example/x) c", "[a](https://good.example/x) b c"),
        ("![pixel](https://evil.example/p?q=1)!", "pixel!"),
        ("![logo](https://shop.example/l.png)", "![logo](https://shop.example/l.png)"),
        ("[x](<https://evil.example>) [y](/local)", "x [y](/local)"),
        (
            "see https://evil.example/a, https://docs.example/b.",
            "see https:\\//evil.example/a, https://docs.example/b.",
        ),
        (
            "<https://evil.example> <https://good.example>",
            "\\<https:\\//evil.example> <https://good.example>",
        ),
        ("[m](mailto:help@good.example) [n](mailto:x@evil.example)", "[m](mailto:help@good.example) n"),
        ("<mailto:x@evil.example>", "\\<mailto:x@evil.example>"),
        ("\\[1] \\https://evil.example", "\\[1] \\https:\\//evil.example"),
        ("hh [ ] ]( a < b ! h", "hh [ ] ]( a < b ! h"),
    ] {
        assert_eq!(whole(text).0, wanted, "{text}");
    }
    assert_eq!(whole("[2] [1] [2] [0]"), ("[2] [1] [2]".to_owned(), vec![1, 2], true));
}

#[test]
fn no_link_arises_from_what_is_left() {
    for text in [
        "htt[9]ps://evil.example",
        "ht[tp](https://evil.example)s://evil.example",
        "[https](https://evil.example)://evil.example",
        "hthttps://tps://evil.example",
        "https:[9]//evil.example",
        "[a[b](https://evil.example)](https://evil.example)",
        "[a](https://evil.example",
        "[a\n](https://evil.example)",
        "`[a`](https://evil.example)",
        "![a](https://good.example@evil.example)",
        "[a](HTTPS://EVIL.EXAMPLE)",
        "[a](https://good.example\\@evil.example)",
        "<HTTP://evil.example>",
        "[a](https://evil.example(x)y)",
        "[[[[a](https://evil.example)",
    ] {
        let shown = whole(text).0;
        assert!(!has_foreign_link(&shown), "{text} becomes {shown}");
    }
    let long = format!("[a](https://evil.example/{})", "x".repeat(5_000));
    assert!(!has_foreign_link(&whole(&long).0));
    let label = format!("[{}](https://evil.example/)", "x ".repeat(500));
    assert!(!has_foreign_link(&whole(&label).0));
}

/// Whether the widget would make a link to a host of evil: of an address in the text, or in the brackets of a link.
fn has_foreign_link(shown: &str) -> bool {
    let lower = shown.to_lowercase();
    ["http://", "https://"].iter().any(|scheme| {
        lower.match_indices(scheme).any(|(at, _)| {
            let end = lower[at..].find(char::is_whitespace).map_or(lower.len(), |end| at + end);
            lower[at..end].contains("evil")
        })
    }) || lower.contains("](mailto:x@evil")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn it_is_the_same_in_pieces_and_never_links_elsewhere(
        parts in prop::collection::vec(prop_oneof![
            Just("https://evil.example/"), Just("https://good.example/"), Just("http"), Just("s://"), Just("://evil"),
            Just("["), Just("]"), Just("]("), Just("("), Just(")"), Just("<"), Just(">"), Just("!"), Just("\\"), Just("`"),
            Just("[1]"), Just("[9]"), Just(" "), Just("\n"), Just("a"), Just("h"), Just("evil"), Just("é"), Just(","), Just("1"),
        ], 0..24),
        size in 1_usize..5,
    ) {
        let text = parts.concat();
        let shown = whole(&text).0;
        prop_assert_eq!(&in_pieces(&text, size), &shown);
        prop_assert!(!has_foreign_link(&shown) || text.contains("good.example/"), "{} becomes {}", text, shown);
    }
}
