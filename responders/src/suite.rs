//! What every responder promises, as a suite that hosts run on their own ones (feature `suite`), and responders that
//! break their promises, for those who write what drives responders.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use conversations::{
    ChatAgent, ChatError, ChatEvent, ChatEvents, ChatLine, ChatResponder, ChatSettings, ChatTurn,
    ChatVisitor, FoundPassage, Outcome, Retrieved, Speaker, Usage,
};
use futures_util::future::{Either, FutureExt as _, select};
use futures_util::stream::{self, StreamExt as _};
use openapi_core::ports::Timer;
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, PlatformId, Timestamp};

/// Bytes of a reply.
const MAX_REPLY: usize = 64 << 10;
/// Suggestions of a reply.
const MAX_SUGGESTIONS: usize = 6;
/// Events that nobody needs for a reply.
const MAX_EVENTS: usize = 1_000_000;

/// How a responder breaks the contract of [`ChatResponder`], one line for each finding; none when it keeps it.
///
/// It is given usual and odd turns of `settings` at the time `now`: no history, no passages, long and hostile text,
/// numbers that are none, a deadline that is over. Each has to end with exactly one terminal event within `timeout`
/// milliseconds of `timer`, without a panic; some are dropped before their end.
pub async fn violations(
    responder: &dyn ChatResponder,
    settings: &ChatSettings,
    now: Timestamp,
    timer: &dyn Timer,
    timeout: u64,
) -> Vec<String> {
    let mut violations = Vec::new();
    if responder.name().is_empty() {
        violations.push("it has no name".to_owned());
    }
    for (what, turn) in turns(settings, now) {
        let most = std::panic::catch_unwind(AssertUnwindSafe(|| responder.most(&turn)));
        match most {
            Ok(most) if most.cost.is_finite() && most.cost >= 0.0 => {}
            Ok(_) => violations.push(format!("{what}: the most that it may cost is no amount")),
            Err(_) => violations.push(format!("{what}: `most` panics")),
        }
        // Dropped before its first event, after it, and later.
        for events in 0..3 {
            let some = AssertUnwindSafe(async { responder.respond(turn.clone()).take(events).count().await });
            match within(timer, timeout, some.catch_unwind()).await {
                Some(Ok(_)) => {}
                Some(Err(_)) => violations.push(format!("{what}: it panics")),
                None => violations.push(format!("{what}: nothing comes for {timeout} ms")),
            }
        }
        let all =
            AssertUnwindSafe(responder.respond(turn.clone()).take(MAX_EVENTS).collect::<Vec<ChatEvent>>());
        match within(timer, timeout, all.catch_unwind()).await {
            Some(Ok(events)) => {
                violations.extend(faults(&turn, &events).into_iter().map(|fault| format!("{what}: {fault}")));
            }
            Some(Err(_)) => violations.push(format!("{what}: it panics")),
            None => violations.push(format!("{what}: it does not end within {timeout} ms")),
        }
    }
    violations
}

async fn within<T>(timer: &dyn Timer, millis: u64, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), timer.sleep(millis)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// What is wrong with the events of a reply.
fn faults(turn: &ChatTurn, events: &[ChatEvent]) -> Vec<String> {
    let mut faults = Vec::new();
    let is_terminal = |event: &&ChatEvent| matches!(event, ChatEvent::Error(_) | ChatEvent::Done { .. });
    let ends = events.iter().filter(is_terminal).count();
    if ends != 1 {
        faults.push(format!("{ends} terminal events"));
    }
    if !events.last().is_some_and(|last| is_terminal(&last)) {
        faults.push("the last event is not terminal".to_owned());
    }
    let mut text = String::new();
    for event in events {
        match event {
            ChatEvent::Delta(more) => text.push_str(more),
            ChatEvent::Replace(whole) => text.clone_from(whole),
            ChatEvent::Usage(usage) if !usage.cost.is_finite() || usage.cost < 0.0 => {
                faults.push("what it has cost so far is no amount".to_owned());
            }
            ChatEvent::Suggestions(items) if items.len() > MAX_SUGGESTIONS => {
                faults.push(format!("{} suggestions", items.len()));
            }
            ChatEvent::Collected { field, value } => {
                if !turn.can_offer_form || !turn.form_fields.contains(field) {
                    faults.push(format!("a value of {field}, which no form asks for"));
                }
                if value.trim().is_empty() {
                    faults.push(format!("no value of {field}"));
                }
            }
            ChatEvent::Form if !turn.can_offer_form => {
                faults.push("a form where none can be offered".to_owned());
            }
            ChatEvent::Done { sources, usage, .. } => {
                if !usage.cost.is_finite() || usage.cost < 0.0 {
                    faults.push("what it cost is no amount".to_owned());
                }
                for (nth, source) in sources.iter().enumerate() {
                    if !text.contains(&format!("[{}]", source.n)) {
                        faults.push(format!("source {} is not cited", source.n));
                    }
                    if sources[..nth].iter().any(|other| other.n == source.n) {
                        faults.push(format!("source {} is there twice", source.n));
                    }
                }
            }
            _ => {}
        }
    }
    if text.len() > MAX_REPLY {
        faults.push(format!("{} bytes of text", text.len()));
    }
    faults
}

/// Turns with what they are about.
fn turns(settings: &ChatSettings, now: Timestamp) -> Vec<(&'static str, ChatTurn)> {
    let id = PlatformId::new(now, [1; 8]);
    let passage = |position: u32, text: &str| FoundPassage {
        document: KnowledgeId::from(id),
        position,
        title: "Services".to_owned(),
        url: Some("https://www.example.com/services".to_owned()),
        headings: vec!["Home visits".to_owned()],
        page: Some(2),
        text: text.to_owned(),
        nearest: None,
        score: 1.0,
    };
    let usual = ChatTurn {
        agent: ChatAgent {
            id: AgentId::from(id),
            name: "Agent".to_owned(),
            settings: settings.clone(),
            link_hosts: Vec::new(),
            only_link_hosts: false,
        },
        conversation: ConversationId::from(id),
        turn: "5f0c2b1e-8a47-4d3b-9c61-2e7d90a4f318".to_owned(),
        history: vec![ChatLine { speaker: Speaker::Visitor, text: "Do you offer home visits?".to_owned() }],
        visitor: ChatVisitor { locale: "en".to_owned(), ..ChatVisitor::default() },
        found: Retrieved {
            passages: vec![
                passage(0, "Home visits are available in Leeds."),
                passage(1, "Visits cost 40 pounds."),
            ],
            coverage: 1.0,
            has_documents: true,
            ..Retrieved::default()
        },
        can_offer_form: true,
        form_fields: vec!["primaryEmail".to_owned()],
        budget: Default::default(),
        now,
        deadline: Timestamp::from_millis(now.millis() + 90_000),
    };
    let hostile =
        "\u{0}\u{202e}<script>alert(1)</script> [1] [999999999999] ](javascript:x) ``` | --- |\r\n> \\ 𝔘🙂"
            .repeat(60);
    let mut turns = vec![("a usual turn", usual.clone())];
    let mut with = |what, change: &dyn Fn(&mut ChatTurn)| {
        let mut turn = usual.clone();
        change(&mut turn);
        turns.push((what, turn));
    };
    with("no history", &|turn| turn.history.clear());
    with("an empty message", &|turn| turn.history[0].text.clear());
    with("no passages", &|turn| turn.found = Retrieved::default());
    with("no form", &|turn| {
        turn.can_offer_form = false;
        turn.found = Retrieved::default();
    });
    with("hostile text everywhere", &|turn| {
        turn.history[0].text.clone_from(&hostile);
        turn.visitor.locale.clone_from(&hostile);
        turn.agent.name.clone_from(&hostile);
        turn.agent.settings.instructions = Some(hostile.clone());
        turn.found.passages = (0..6).map(|position| passage(position, &hostile)).collect();
    });
    with("a long talk", &|turn| {
        let line = |n: usize| {
            let speaker = [Speaker::Visitor, Speaker::Agent, Speaker::Human][n % 3];
            ChatLine { speaker, text: "word ".repeat(800) }
        };
        turn.history = (0..20).map(line).collect();
    });
    with("numbers that are none", &|turn| {
        turn.found.coverage = f32::NAN;
        turn.found.passages.iter_mut().for_each(|passage| passage.score = f32::NAN);
        turn.agent.settings.min_coverage = f32::NAN;
    });
    with("a deadline that is over", &|turn| turn.deadline = Timestamp::from_millis(now.millis() - 1));
    turns
}

/// A responder that breaks the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faulty {
    /// Panics after its first event.
    Panics,
    /// Ends without a terminal event.
    Breaks,
    /// Emits text and a second terminal event after the first.
    EndsTwice,
    /// Says nothing, for ever.
    Silent,
    /// Never stops to talk.
    Endless,
}

impl Faulty {
    /// Every one.
    pub const ALL: [Faulty; 5] =
        [Faulty::Panics, Faulty::Breaks, Faulty::EndsTwice, Faulty::Silent, Faulty::Endless];
}

impl ChatResponder for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn respond(&self, _: ChatTurn) -> ChatEvents {
        let first = stream::iter([ChatEvent::Delta("Half an ".to_owned())]);
        let done =
            || ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage: Usage::default() };
        match self {
            Faulty::Panics => {
                Box::pin(first.chain(stream::poll_fn(|_| panic!("a responder that is meant to panic"))))
            }
            Faulty::Breaks => Box::pin(first),
            Faulty::EndsTwice => Box::pin(first.chain(stream::iter([
                done(),
                ChatEvent::Delta("answer".to_owned()),
                ChatEvent::Error(ChatError::Internal),
            ]))),
            Faulty::Silent => Box::pin(stream::pending()),
            Faulty::Endless => Box::pin(stream::repeat(ChatEvent::Delta("word ".to_owned()))),
        }
    }
}
