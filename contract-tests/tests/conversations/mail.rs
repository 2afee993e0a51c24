//! E-mail about replies that a visitor does not read: when it is sent, when not, and where its links lead.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use conversations::mail::{MailError, MailOutcome, MailParts, Mailer, OptOutPage, OutgoingMail};
use conversations::{Conversation, Conversations};
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::ports::Clock;
use openapi_core::storage::{Queue, QueueStore};
use openapi_core::values::{AgentId, ConversationId, PlatformId};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::leads::user;
use crate::support::*;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// What a server makes of an e-mail.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Take,
    Later,
    Never,
    /// It takes it, and the sender ends before it learns that.
    TakeAndHang,
}

#[derive(Default)]
struct TestMailer {
    answers: Mutex<VecDeque<Answer>>,
    taken: Mutex<Vec<OutgoingMail>>,
}

#[async_trait::async_trait]
impl Mailer for TestMailer {
    async fn send(&self, mail: &OutgoingMail) -> Result<(), MailError> {
        let answer = self.answers.lock().expect("a lock").pop_front().unwrap_or(Answer::Take);
        match answer {
            Answer::Later => return Err(MailError::Temporary("later".to_owned())),
            Answer::Never => return Err(MailError::Permanent("never".to_owned())),
            Answer::Take | Answer::TakeAndHang => self.taken.lock().expect("a lock").push(mail.clone()),
        }
        if answer == Answer::TakeAndHang {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// A world with a mailer, and a visitor who gave an address.
struct Post {
    world: World,
    mailer: Arc<TestMailer>,
    parts: MailParts,
    outcomes: Arc<Mutex<Vec<MailOutcome>>>,
    token: String,
    id: ConversationId,
}

fn settings() -> Value {
    json!({ "chat": { "responder": "script" }, "emailReplies": true, "appearance": { "title": "Front desk" } })
}

fn post() -> Post {
    post_with(settings())
}

fn post_with(settings: Value) -> Post {
    let world = boundless();
    world.configure(settings);
    let mailer = Arc::new(TestMailer::default());
    let outcomes: Arc<Mutex<Vec<MailOutcome>>> = Arc::default();
    let seen = Arc::clone(&outcomes);
    let parts = MailParts {
        mailer: Arc::clone(&mailer) as _,
        widget_origin: "https://w.example".to_owned(),
        observer: Arc::new(move |outcome, _| seen.lock().expect("a lock").push(outcome)),
    };
    let mut body = turn(1, "One", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "zoe@example.com" }, "consent": null });
    let first = world.post("/turns", &body);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let post = Post { world, mailer, parts, outcomes, token, id };
    post.sync(Some(2));
    post
}

impl Post {
    fn reply(&self, text: &str) {
        assert!(self.replies(text), "the conversation is open");
    }

    /// A person replies; whether that was possible.
    fn replies(&self, text: &str) -> bool {
        let (by, agent) = (operator(), agent());
        block_on(self.world.chat.reply_to_conversation(&by, &agent, self.id, "Zoë", text)).is_ok()
    }

    /// The visitor is there; `read` is the number of the last message that is read.
    fn sync(&self, read: Option<u64>) {
        let body = json!({ "token": self.token, "after": 0, "read": read });
        let answered = self.world.post("/sync", &body);
        assert_eq!(answered.status, 200, "{}", answered.json());
    }

    fn wait(&self, millis: i64) {
        self.world.clock.advance_millis(millis);
    }

    /// Does all that is due.
    fn run(&self) {
        for _ in 0..1_000 {
            if !block_on(self.world.chat.send_due_mail(server(1), &self.parts)).expect("a store") {
                return;
            }
        }
        panic!("it does not end");
    }

    /// Waits in steps, and does what is due after each.
    fn run_for(&self, millis: i64) {
        for _ in 0..millis / (30_000) {
            self.wait(30_000);
            self.run();
        }
    }

    fn taken(&self) -> Vec<OutgoingMail> {
        self.mailer.taken.lock().expect("a lock").clone()
    }

    fn will(&self, answers: impl IntoIterator<Item = Answer>) {
        self.mailer.answers.lock().expect("a lock").extend(answers);
    }

    fn conversation(&self) -> Conversation {
        block_on(self.world.chat.conversation(&agent(), self.id)).expect("a conversation")
    }
}

fn server(number: u8) -> PlatformId {
    PlatformId::from_bytes([number; 12])
}

/// The token in the link of an e-mail.
fn link_of(mail: &OutgoingMail) -> String {
    let (_, rest) = mail.text.split_once("https://w.example/resume/").expect("a link");
    let line = rest.lines().next().expect("a line");
    let (path, token) = line.split_once('#').expect("a fragment");
    assert_eq!(path, format!("{AGENT}?lang=en"));
    token.to_owned()
}

fn opt_out_of(mail: &OutgoingMail) -> String {
    let url = mail.unsubscribe_url.as_deref().expect("a link");
    let path = url.strip_prefix("https://w.example/unsubscribe/").expect("a page of the widget host");
    path.split_once('?').expect("a query").0.to_owned()
}

#[test]
fn what_a_visitor_does_not_read_is_sent_after_two_minutes() {
    let post = post();
    post.reply("At nine.");
    post.wait(30_000);
    post.reply("Or at ten.");
    post.wait(110_000);
    post.run();
    assert!(post.taken().is_empty(), "the second reply is younger than two minutes");
    post.wait(10_000);
    post.run();
    let [mail] = post.taken().try_into().expect("one e-mail");
    assert_eq!((mail.to.as_str(), mail.from_name.as_str()), ("zoe@example.com", "Front desk"));
    assert!(mail.text.contains("> At nine.") && mail.text.contains("> Or at ten."), "{}", mail.text);
    assert!(!mail.text.contains("Hello."), "an answer of the agent is no reply of a person");
    post.run_for(3 * HOUR);
    assert_eq!(post.taken().len(), 1, "it is sent once");
    assert_eq!(*post.outcomes.lock().expect("a lock"), [MailOutcome::Sent]);
    post.reply("Are you there?");
    post.run_for(3 * MINUTE);
    let mails = post.taken();
    assert_eq!(mails.len(), 2);
    assert!(!mails[1].text.contains("At nine.") && mails[0].id != mails[1].id, "{}", mails[1].text);
}

#[test]
fn a_visitor_who_reads_or_is_there_gets_none() {
    let post = post();
    post.reply("At nine.");
    post.sync(Some(3));
    post.run_for(HOUR);
    assert!(post.taken().is_empty(), "it was read");
    // The panel is closed, but the page is open.
    post.reply("Or at ten.");
    for _ in 0..20 {
        post.sync(None);
        post.run_for(MINUTE);
    }
    assert!(post.taken().is_empty(), "the visitor is there");
    post.run_for(3 * MINUTE);
    assert_eq!(post.taken().len(), 1, "and has left");
}

#[test]
fn nothing_is_sent_where_nobody_may_be_written_to() {
    // Off, as it is without the setting.
    let off = post_with(json!({ "chat": { "responder": "script" } }));
    off.reply("At nine.");
    off.run_for(HOUR);
    assert!(off.taken().is_empty());
    // The form asks for consent, which was not given.
    let consent = json!({ "version": "1", "text": "You may write to me.", "required": false });
    let mut asking = settings();
    asking["lead"] = json!({ "fields": ["primaryEmail"], "consent": consent });
    let post_asking = post_with(asking);
    post_asking.reply("At nine.");
    post_asking.run_for(HOUR);
    assert!(post_asking.taken().is_empty());

    let closed = post();
    closed.reply("At nine.");
    block_on(closed.world.chat.close_conversation(&operator(), &agent(), closed.id)).expect("closed");
    closed.run_for(HOUR);
    assert!(closed.taken().is_empty());

    let revoked = post();
    revoked.reply("At nine.");
    block_on(revoked.world.chat.revoke_conversation(&operator(), &agent(), revoked.id)).expect("revoked");
    revoked.run_for(HOUR);
    assert!(revoked.taken().is_empty());

    let erased = post();
    erased.reply("At nine.");
    block_on(erased.world.chat.erase_conversation(&operator(), &agent(), erased.id)).expect("erased");
    erased.run_for(HOUR);
    assert!(erased.taken().is_empty());
    let load = block_on(erased.world.storage().queue_load(Queue::Mail)).expect("a store");
    assert_eq!((load.ready, load.scheduled, load.running), (0, 0, 0));

    let disabled = post();
    disabled.reply("At nine.");
    block_on(disabled.world.platform.disable_agent(&operator(), &agent())).expect("disabled");
    disabled.run_for(HOUR);
    assert!(disabled.taken().is_empty());
}

#[test]
fn a_blocked_contact_gets_none() {
    let mut post = post();
    let platform = Arc::clone(&post.world.platform);
    let import = |status: &str| {
        let contact = object(&json!({
            "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1001", "status": status,
        }));
        block_on(platform.import_contact(&operator(), &agent(), &contact)).expect("a contact");
    };
    import("active");
    let mut body = turn(2, "Two", None);
    body["user"] = user(&post.world, "crm-1001", "zoe@example.com", "Zoë");
    body["lead"] = json!({ "fields": { "primaryEmail": "zoe@example.com" }, "consent": null });
    let id = post.world.conversation(&post.world.post("/turns", &body)).id;
    import("blocked");
    post.id = id;
    post.reply("At nine.");
    post.run_for(HOUR);
    assert!(post.taken().is_empty());
    import("active");
    post.reply("Or at ten.");
    post.run_for(HOUR);
    assert_eq!(post.taken().len(), 1, "the same contact, no longer blocked");
}

#[test]
fn a_conversation_gets_three_a_day() {
    let post = post();
    for number in 0..10 {
        post.reply(&format!("Number {number}"));
        post.run_for(30 * MINUTE);
    }
    assert_eq!(post.taken().len(), 3);
    // Replies keep the conversation open.
    for number in 10..15 {
        post.run_for(5 * HOUR);
        post.reply(&format!("Number {number}"));
    }
    let mails = post.taken();
    assert!(mails.len() > 3 && mails[3].text.contains("Number 9"), "the rest comes when the day is over");
}

#[test]
fn a_failed_attempt_is_repeated_with_the_same_message() {
    let post = post();
    post.reply("At nine.");
    post.will([Answer::Later, Answer::Later]);
    post.run_for(3 * MINUTE);
    // Replied meanwhile: it does not change the message that is being sent.
    post.reply("Or at ten.");
    post.run_for(20 * MINUTE);
    let mails = post.taken();
    assert_eq!(mails.len(), 2, "{mails:?}");
    assert!(mails[0].text.contains("At nine.") && !mails[0].text.contains("Or at ten."));
    assert!(mails[1].text.contains("Or at ten.") && !mails[1].text.contains("At nine."));
    use MailOutcome::{Retried, Sent};
    assert_eq!(*post.outcomes.lock().expect("a lock"), [Retried, Retried, Sent, Sent]);
}

#[test]
fn what_is_refused_for_good_is_not_sent_again() {
    let post = post();
    post.reply("At nine.");
    post.will([Answer::Never]);
    post.run_for(HOUR);
    post.reply("Or at ten.");
    post.will([Answer::Later; 8]);
    post.run_for(22 * HOUR);
    assert!(post.taken().is_empty());
    let outcomes = post.outcomes.lock().expect("a lock").clone();
    assert_eq!(outcomes.first(), Some(&MailOutcome::Refused));
    assert_eq!(outcomes.last(), Some(&MailOutcome::GivenUp));
    assert_eq!(outcomes.len(), 9, "{outcomes:?}");
}

#[test]
fn a_server_that_ends_leaves_its_email_to_the_next_one() {
    let post = post();
    post.reply("At nine.");
    post.wait(2 * MINUTE);
    post.will([Answer::TakeAndHang]);
    {
        let mut dying = Box::pin(post.world.chat.send_due_mail(server(1), &post.parts));
        let mut context = Context::from_waker(Waker::noop());
        assert!(dying.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(post.taken().len(), 1, "the first server had sent it");
    post.reply("Or at ten.");
    post.run();
    assert_eq!(post.taken().len(), 1, "the lease has not ended");
    post.wait(2 * MINUTE);
    assert!(block_on(post.world.chat.send_due_mail(server(2), &post.parts)).expect("a store"));
    let mails = post.taken();
    assert_eq!(mails.len(), 2);
    assert_eq!(mails[0].id, mails[1].id, "the recipient's server recognises the message");
    assert_eq!(mails[1].text.matches("> ").count(), 1, "{}", mails[1].text);
    post.run_for(5 * MINUTE);
    assert_eq!(post.taken().len(), 3, "the reply that came meanwhile follows");
}

#[test]
fn a_link_continues_the_conversation_once() {
    let post = post();
    post.reply("At nine.");
    post.run_for(3 * MINUTE);
    let link = link_of(&post.taken()[0]);
    let open = |link: &str| post.world.post("/links", &json!({ "agentId": AGENT, "link": link }));
    let opened = open(&link);
    assert_eq!(opened.status, 200, "{}", opened.json());
    let session = &opened.json()["data"]["session"];
    assert_eq!(session["conversation"], json!(post.id.to_string()));
    let synced = post.world.post("/sync", &json!({ "token": session["token"], "after": 0 }));
    assert_eq!(synced.json()["data"]["messages"][2]["text"], json!("At nine."));
    for _ in 0..2 {
        let again = open(&link);
        assert_eq!((again.status, again.code().as_str()), (401, "TOKEN_INVALID"));
    }
    for wrong in ["", "rl1.", &link[..link.len() - 1], &opt_out_of(&post.taken()[0]), "x\r\n"] {
        assert_eq!(open(wrong).status, 401, "{wrong:?}");
    }
    // The next e-mail has a link of its own, which ends after a week and with the operator's revocation.
    post.sync(Some(3));
    post.reply("Or at ten.");
    post.run_for(3 * MINUTE);
    let next = link_of(&post.taken()[1]);
    block_on(post.world.chat.revoke_conversation(&operator(), &agent(), post.id)).expect("revoked");
    assert_eq!(open(&next).status, 401, "revoked");
}

#[test]
fn a_link_ends_after_a_week() {
    let post = post();
    post.reply("At nine.");
    post.run_for(3 * MINUTE);
    let link = link_of(&post.taken()[0]);
    post.wait(7 * 24 * HOUR);
    let late = post.world.post("/links", &json!({ "agentId": AGENT, "link": link }));
    assert_eq!((late.status, late.code().as_str()), (401, "TOKEN_INVALID"));
}

#[test]
fn an_address_that_is_unsubscribed_gets_no_more() {
    let post = post();
    post.reply("At nine.");
    post.run_for(3 * MINUTE);
    let link = opt_out_of(&post.taken()[0]);
    let stop = |link: &str, confirms| block_on(post.world.api.stop_mail(link, confirms)).expect("a store");
    assert_eq!(stop(&link, false), (true, OptOutPage::Ask));
    post.reply("Or at ten.");
    post.run_for(3 * MINUTE);
    assert_eq!(post.taken().len(), 2, "the page alone changes nothing");
    assert_eq!(stop("un1.x", true), (false, OptOutPage::Invalid));
    for _ in 0..2 {
        assert_eq!(stop(&link, true), (true, OptOutPage::Done));
    }
    post.reply("Or at eleven.");
    post.run_for(HOUR);
    assert_eq!(post.taken().len(), 2);
    // Nor in another conversation, whatever the case of the address.
    let mut body = turn(2, "Two", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "ZOE@example.com" }, "consent": null });
    let id = post.world.conversation(&post.world.post("/turns", &body)).id;
    block_on(post.world.chat.reply_to_conversation(&operator(), &agent(), id, "Zoë", "Hi."))
        .expect("a reply");
    post.run_for(HOUR);
    assert_eq!(post.taken().len(), 2);
}

#[test]
fn an_agent_with_much_email_does_not_starve_another() {
    let post = post();
    let (world, chat) = (&post.world, &post.world.chat);
    let other: AgentId = "695b6f80de7378c4412112d4".parse().expect("an id");
    let new = NewAgent { id: Some(other.clone()), ..NewAgent::new("Quiet".parse().expect("a name")) };
    block_on(world.platform.create_agent(&operator(), new)).expect("an agent");
    block_on(chat.configure_agent(&operator(), &other, &object(&settings()))).expect("settings");
    let begin = |agent: &AgentId, number: u32| {
        let mut body = turn(number, &format!("Turn {number}"), None);
        body["agentId"] = json!(agent);
        body["lead"] =
            json!({ "fields": { "primaryEmail": format!("v{number}@example.com") }, "consent": null });
        let begun = world.post("/turns", &body);
        let id = begun.session()["conversation"].as_str().expect("an id").parse().expect("an id");
        block_on(chat.reply_to_conversation(&operator(), agent, id, "Zoë", "Hi.")).expect("a reply");
    };
    for number in 100..140 {
        begin(&agent(), number);
    }
    begin(&other, 200);
    post.wait(3 * MINUTE);
    for _ in 0..5 {
        assert!(block_on(chat.send_due_mail(server(1), &post.parts)).expect("a store"));
    }
    assert!(post.taken().iter().any(|mail| mail.to.as_str() == "v200@example.com"));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Reply,
    Read,
    Seen,
    Wait(i64),
    Run,
    Fail,
    Die,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Reply),
        1 => Just(Step::Read),
        1 => Just(Step::Seen),
        4 => prop_oneof![10_000..4 * MINUTE, MINUTE..3 * HOUR].prop_map(Step::Wait),
        5 => Just(Step::Run),
        1 => Just(Step::Fail),
        1 => Just(Step::Die),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever happens in whatever order: no reply is in two messages, none is sent after it was read, a day has three
    /// messages at most, and what stays unread in an open conversation is sent in the end.
    #[test]
    fn histories_hold_what_is_promised(steps in steps()) {
        let post = post();
        let chat: &Conversations = &post.world.chat;
        let (mut replies, mut at) = (0_u32, BTreeMap::new());
        let mut checked = 0;
        for step in steps {
            let read = post.conversation().visitor_read;
            match step {
                Step::Reply => {
                    replies += u32::from(post.replies(&format!("Reply {replies}.")));
                }
                Step::Read => post.sync(Some(post.conversation().message_count)),
                Step::Seen => post.sync(None),
                Step::Wait(millis) => post.wait(millis),
                Step::Run => post.run(),
                Step::Fail => post.will([Answer::Later]),
                Step::Die => {
                    post.will([Answer::TakeAndHang]);
                    let mut dying = Box::pin(chat.send_due_mail(server(3), &post.parts));
                    let _ = dying.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    post.mailer.answers.lock().expect("a lock").clear();
                }
            }
            let taken = post.taken();
            for mail in &taken[checked..] {
                let last: u64 = mail.id.rsplit('.').next().expect("a number").parse().expect("a number");
                prop_assert!(last > read, "{} was read up to {read}", mail.id);
                at.entry(mail.id.clone()).or_insert_with(|| post.world.clock.now());
            }
            checked = taken.len();
        }
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for mail in post.taken() {
            let said: String = mail.text.lines().filter(|line| line.starts_with("> ")).collect();
            let known = texts.entry(mail.id).or_insert_with(|| said.clone());
            prop_assert_eq!(&*known, &said, "a message that is sent again is the same");
        }
        for reply in 0..replies {
            let of = format!("Reply {reply}.");
            prop_assert!(texts.values().filter(|text| text.contains(&of)).count() <= 1, "{of} is in two messages");
        }
        let mut times: Vec<_> = at.values().copied().collect();
        times.sort_unstable();
        for four in times.windows(4) {
            prop_assert!(four[3].millis_since(four[0]) >= 24 * HOUR, "four within a day");
        }
        // In the end a last reply is sent, unless the day has had its three or the conversation has closed.
        post.mailer.answers.lock().expect("a lock").clear();
        // A failed e-mail may be one more of the day.
        let is_full = times.len() >= 2;
        if !is_full && post.replies("The last one.") {
            post.run_for(10 * HOUR);
            prop_assert!(post.taken().iter().any(|mail| mail.text.contains("The last one.")));
        }
    }
}
