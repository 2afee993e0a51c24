//! Streams cut at any point, crashed processes, repeated requests: one stored turn, the same text.

use std::sync::Arc;

use conversations::widget::WidgetApi;
use http_body_util::BodyExt;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

/// The fate of a client's connection.
#[derive(Clone, Debug)]
struct Fate {
    /// The number of pieces read before the stream is cut; `None` reads all of it.
    cut_after: Option<usize>,
    /// Whether another process over the same store takes over.
    other_process: bool,
}

fn fate() -> impl Strategy<Value = Fate> {
    (prop::option::weighted(0.8, 0_usize..8), any::<bool>())
        .prop_map(|(cut_after, other_process)| Fate { cut_after, other_process })
}

/// A client's view of a turn.
#[derive(Default)]
struct Client {
    token: Option<String>,
    seen: usize,
    has_session: bool,
    text: String,
    message: Option<Value>,
    is_done: bool,
    has_failed: bool,
}

impl Client {
    fn take(&mut self, event: &str) {
        let part = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let data: Value = serde_json::from_str(part("data: ")).expect("JSON");
        let number =
            part("id: ").rsplit_once('.').and_then(|(_, number)| number.parse().ok()).expect("a number");
        assert!(number > self.seen, "numbers only grow");
        self.seen = number;
        match part("event: ") {
            "session" => {
                self.token = data["token"].as_str().map(str::to_owned);
                self.has_session = true;
            }
            "delta" => self.text.push_str(data["text"].as_str().expect("a text")),
            "replace" => data["text"].as_str().expect("a text").clone_into(&mut self.text),
            "message" => {
                // The stored reply replaces the displayed one.
                data["text"].as_str().expect("a text").clone_into(&mut self.text);
                self.message = Some(data);
            }
            "done" => self.is_done = true,
            "error" => self.has_failed = true,
            _ => {}
        }
    }

    /// Sends what a client would send now, and reads until the stream is cut.
    fn go(&mut self, api: &WidgetApi, text: &str, fate: &Fate) {
        let resumes = self.has_session && !self.has_failed;
        let request = if resumes {
            let body = json!({ "token": self.token, "turn": turn_id(1), "after": self.seen });
            request("/turns/resume", &body, |_| ())
        } else {
            (self.seen, self.has_failed) = (0, false);
            self.text.clear();
            request("/turns", &turn(1, text, self.token.as_deref()), |_| ())
        };
        let response = block_on(api.handle(request));
        if response.status() != 200 {
            // Another process still owns the turn, according to its lease.
            assert_eq!(response.status(), 409);
            self.has_failed = true;
            return;
        }
        let mut body = response.into_body();
        let mut pieces = 0;
        while fate.cut_after.is_none_or(|most| pieces < most) {
            let Some(frame) = block_on(body.frame()) else { break };
            let bytes = frame.expect("a frame").into_data().expect("data");
            for event in std::str::from_utf8(&bytes).expect("UTF-8").split("\n\n").filter(|it| !it.is_empty())
            {
                self.take(event);
                // Half of a chunk may be lost as well.
                pieces += 1;
                if fate.cut_after.is_some_and(|most| pieces >= most) {
                    break;
                }
            }
        }
    }
}

fn survives(pieces: &[String], fates: &[Fate], has_tasks: bool) {
    let world = Arc::new(world_without_limits(has_tasks));
    world.script.will(pieces.iter().map(|piece| delta(piece)).chain([done()]));
    let another = world.another();
    let mut client = Client::default();
    let last = [Fate { cut_after: None, other_process: false }];
    for fate in fates.iter().chain(last.iter().cycle()).take(fates.len() + 40) {
        if client.is_done {
            break;
        }
        let api = if fate.other_process { &another } else { &world.api };
        client.go(api, "One", fate);
        // A crashed process is detected after its lease expires.
        world.clock.advance_millis(16_000);
    }
    assert!(client.is_done, "the turn ends");
    let whole = pieces.concat();
    let message = client.message.expect("a message");
    assert_eq!(message["text"], whole);
    assert_eq!(client.text, whole, "the displayed reply equals the stored one");
    let query =
        conversations::storage::ConversationQuery { filter: Default::default(), offset: 0, limit: 10 };
    let page = block_on(world.chat.conversations(&agent(), &query)).expect("a page");
    assert_eq!(page.total, 1, "one conversation");
    let stored = block_on(world.chat.messages(&agent(), page.conversations[0].id, 0, 10)).expect("messages");
    let said: Vec<&str> = stored.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(said, ["One", &whole], "one stored turn");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn cuts_and_crashes_anywhere_leave_one_stored_turn(
        pieces in prop::collection::vec("[a-zé\n\"]{1,6}", 1..6),
        fates in prop::collection::vec(fate(), 0..8),
    ) {
        survives(&pieces, &fates, false);
    }
}

proptest! {
    // Each case has waiting threads.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cuts_anywhere_do_not_stop_the_reply(
        pieces in prop::collection::vec("[a-zé\n\"]{1,6}", 1..6),
        fates in prop::collection::vec(fate(), 0..8),
    ) {
        survives(&pieces, &fates, true);
    }
}
