//! What the filter lets through, wherever the text is cut. `widget_tests` judges that no link leads elsewhere.

use conversations::{ChatAgent, ChatSettings, ChatTurn, ChatVisitor, FoundPassage, Retrieved};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, PlatformId, Timestamp};
use proptest::prelude::*;

use super::filter::Filter;
use super::links::Links;

fn links() -> Links {
    links_of(false)
}

fn links_of(only_link_hosts: bool) -> Links {
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
        nearest: None,
        score: 1.0,
    };
    Links::of(&ChatTurn {
        agent: ChatAgent {
            id: AgentId::from(id),
            name: "A".to_owned(),
            settings: ChatSettings::default(),
            link_hosts: vec!["shop.example".to_owned()],
            only_link_hosts,
        },
        conversation: ConversationId::from(id),
        turn: String::new(),
        history: Vec::new(),
        visitor: ChatVisitor::default(),
        found: Retrieved {
            passages: vec![passage],
            coverage: 1.0,
            has_documents: true,
            ..Retrieved::default()
        },
        can_offer_form: false,
        form_fields: Vec::new(),
        budget: Default::default(),
        now: at,
        deadline: at,
    })
}

#[test]
fn an_agent_may_link_to_its_hosts_alone() {
    let (named, passage) = ("https://shop.example/a", "https://docs.example/x");
    assert!(links().rebuild(named).is_some() && links().rebuild(passage).is_some());
    assert!(links_of(true).rebuild(named).is_some() && links_of(true).rebuild(passage).is_none());
    assert!(links_of(true).rebuild("https://good.example/a").is_none(), "the address of a passage");
    assert!(links_of(true).rebuild("mailto:help@good.example").is_some(), "no host");
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
        ("`a[7](https://evil.example)` and [7]", "`a[7](https://evil.example)` and"),
        ("open ` code https://evil.example", "open \\` code https:\\//evil.example"),
        ("a `\nb` c", "a \\`\nb\\` c"),
        ("`a || b` and `https://evil.example`", "`a || b` and `https:\\//evil.example`"),
        ("```js\nf[7](https://evil.example)\n```\n[7]", "```js\nf[7](https://evil.example)\n```\n"),
        ("~~~ a|b\n<https://evil.example>\n~~~", "``` ab\n<https://evil.example>\n```"),
        (
            "1. a\n   ```\n   <https://evil.example>\n   ```\nb",
            "1. a\n   ~~~\n   <https://evil.example>\n   ~~~\nb",
        ),
        ("1. a\n   ```\nhttps://evil.example", "1. a\n   ~~~\nhttps:\\//evil.example"),
        ("> ```\n> https://evil.example", "> ~~~\n> https:\\//evil.example"),
        ("[9]```\nhttps://evil.example", "\\`\\`\\`\nhttps:\\//evil.example"),
        ("[a](https://good.example/x) [b](https://evil.example/x) c", "[a](https://good.example/x) b c"),
        ("![pixel](https://evil.example/p?q=1)!", "pixel!"),
        ("![logo](https://shop.example/l.png)", "![logo](https://shop.example/l.png)"),
        ("[x](<https://evil.example>) [y](/local) [z](javascript:x)", "x y z"),
        ("[a](https\\://evil.example/x) [b](mailto\\:me@evil.example)", "a b"),
        (
            "![p](https\\://evil.example/p) [c]( <HTTPS://GOOD.example/a(b)> \"t\" )",
            "p [c](https://good.example/a%28b%29)",
        ),
        (
            "see https://evil.example/a, https://docs.example/b.",
            "see https:\\//evil.example/a, https://docs.example/b.",
        ),
        (
            "<https://evil.example> <https://good.example>",
            "\\<https:\\//evil.example> <https://good.example>",
        ),
        ("[m](mailto:help@good.example) [n](mailto:x@evil.example)", "[m](mailto:help@good.example) n"),
        ("<mailto:x@evil.example>", "\\<mailto\\:x@evil.example>"),
        ("<mailto:help@good.example> <tel:1>", "<mailto:help@good.example> \\<tel\\:1>"),
        ("\\[1] \\https://evil.example", "\\[1] \\https:\\//evil.example"),
        ("hh [ ] ]( a < b ! h", "hh [ ] ]\\( a < b ! h"),
        ("[a]: https://evil.example [a]", "[a]\\: https:\\//evil.example [a]"),
        ("\u{0}https\u{7}://evil.example\r\n", "https:\\//evil.example\n"),
    ] {
        assert_eq!(whole(text).0, wanted, "{text}");
    }
    assert_eq!(whole("[2] [1] [2] [0]"), ("[2] [1] [2]".to_owned(), vec![1, 2], true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn it_is_the_same_in_pieces(
        parts in prop::collection::vec(prop_oneof![
            Just("https://evil.example/"), Just("https://good.example/"), Just("http"), Just("s://"), Just("://evil"),
            Just("["), Just("]"), Just("]("), Just("("), Just(")"), Just("<"), Just(">"), Just("!"), Just("\\"), Just("`"),
            Just("```"), Just("~~~"), Just("\n   "), Just("- "), Just("|"), Just("[1]"), Just("[9]"), Just(" "), Just("\n"), Just("a"), Just("h"), Just("evil"), Just("é"), Just(","), Just("1"),
        ], 0..24),
        size in 1_usize..5,
    ) {
        let text = parts.concat();
        let shown = whole(&text).0;
        prop_assert_eq!(&in_pieces(&text, size), &shown);
    }
}
