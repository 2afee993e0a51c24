//! The event of a key that expires soon: once for each expiry, whatever happens to the key and whichever server looks
//! (contract 7.2).

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Credentials, Sandbox, on_every_backend};
use openapi_core::admin::{Admin, KeyEdit};
use openapi_core::events::EventType;
use openapi_core::ports::Clock;
use openapi_core::values::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

on_every_backend!(
    a_key_is_announced_a_week_ahead,
    a_near_expiry_is_announced_at_once,
    a_key_that_does_not_work_is_not_announced,
    servers_announce_a_key_once,
);

const HOUR: i64 = 3_600_000;
const WEEK: i64 = 7 * 24 * HOUR;

/// The events in the log of the agent that tell of an expiry: their times and the ids of the keys.
fn announced(cx: &Sandbox) -> Vec<(Timestamp, String)> {
    announced_after(cx, 0)
}

/// The number of the newest event. Older ones may have gone after their retention.
fn head(cx: &Sandbox) -> u64 {
    wait(cx.store.storage.log(&cx.agent, 0, 1)).expect("a log").head
}

fn announced_after(cx: &Sandbox, seq: u64) -> Vec<(Timestamp, String)> {
    let page = wait(cx.store.storage.log(&cx.agent, seq, 1_000)).expect("a log");
    let expiring = page.entries.iter().filter(|entry| entry.kind == EventType::KeyExpiring);
    expiring
        .map(|entry| {
            let body: Value =
                serde_json::from_str(entry.body.as_ref().expect("a body").as_str()).expect("JSON");
            assert_eq!(body["actor"], json!({ "type": "system", "id": null }));
            (entry.at, body["data"]["keyId"].as_str().expect("an id").to_owned())
        })
        .collect()
}

fn maintain(cx: &Sandbox) {
    wait(cx.platform.maintain()).expect("maintained");
}

fn expires_in(cx: &Sandbox, millis: i64) -> Option<Timestamp> {
    Some(cx.clock.now().plus_millis(millis))
}

fn id_of(cx: &Sandbox, key: &Credentials) -> String {
    wait(cx.platform.key(&Sandbox::selector(key))).expect("a key").id.to_string()
}

fn set_expiry(cx: &Sandbox, key: &Credentials, expires_at: Option<Timestamp>) {
    let edit = KeyEdit { expires_at: Some(expires_at), ..KeyEdit::default() };
    wait(cx.platform.edit_key(&operator(), &Sandbox::selector(key), edit)).expect("edited");
}

fn a_key_is_announced_a_week_ahead(backend: Backend) {
    let cx = Sandbox::new(backend);
    let expiry = expires_in(&cx, WEEK + 3 * HOUR);
    let key = cx.issue(|key| key.expires_at = expiry);
    let id = id_of(&cx, &key);
    maintain(&cx);
    cx.advance(3 * HOUR - 1);
    maintain(&cx);
    assert_eq!(announced(&cx), [], "a millisecond too early");
    // Any change of the key looks as well.
    cx.advance(1);
    let due = cx.clock.now();
    let name = Some("Renamed".parse().expect("a name"));
    let edit = KeyEdit { name, ..KeyEdit::default() };
    wait(cx.platform.edit_key(&operator(), &Sandbox::selector(&key), edit)).expect("edited");
    assert_eq!(announced(&cx), [(due, id.clone())]);
    cx.advance(HOUR);
    maintain(&cx);
    let _ = wait(cx.platform.rotate_key(&operator(), &Sandbox::selector(&key), 0)).expect("rotated");
    assert_eq!(announced(&cx).len(), 1, "a new secret has the same expiry");
    // Another expiry is another event, of the maintenance this time.
    set_expiry(&cx, &key, expires_in(&cx, WEEK + HOUR));
    cx.advance(HOUR);
    maintain(&cx.restarted());
    assert_eq!(announced(&cx)[1..], [(cx.clock.now(), id)]);
    set_expiry(&cx, &key, None);
    let last = head(&cx);
    cx.advance(WEEK);
    maintain(&cx);
    assert_eq!(announced_after(&cx, last), [], "a key without an expiry");
}

fn a_near_expiry_is_announced_at_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let expiry = expires_in(&cx, 1);
    let key = cx.issue(|key| key.expires_at = expiry);
    let id = id_of(&cx, &key);
    assert_eq!(announced(&cx), [(cx.clock.now(), id.clone())]);
    cx.advance(1);
    maintain(&cx);
    assert_eq!(announced(&cx).len(), 1);
    set_expiry(&cx, &key, expires_in(&cx, WEEK));
    assert_eq!(announced(&cx)[1..], [(cx.clock.now(), id)]);
}

fn a_key_that_does_not_work_is_not_announced(backend: Backend) {
    let cx = Sandbox::new(backend);
    let expiry = expires_in(&cx, WEEK + HOUR);
    let [disabled, revoked] = [0, 1].map(|_| cx.issue(|key| key.expires_at = expiry));
    wait(cx.platform.disable_key(&operator(), &Sandbox::selector(&disabled))).expect("disabled");
    wait(cx.platform.revoke_key(&operator(), &Sandbox::selector(&revoked))).expect("revoked");
    cx.advance(2 * HOUR);
    maintain(&cx);
    assert_eq!(announced(&cx), []);
    wait(cx.platform.enable_key(&operator(), &Sandbox::selector(&disabled))).expect("enabled");
    assert_eq!(announced(&cx), [(cx.clock.now(), id_of(&cx, &disabled))], "it works again");
    let last = head(&cx);
    cx.advance(WEEK);
    maintain(&cx.restarted());
    assert_eq!(announced_after(&cx, last), [], "an expiry in the past");
}

fn servers_announce_a_key_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let expiry = expires_in(&cx, WEEK + HOUR);
    let keys: Vec<Credentials> = (0..8).map(|_| cx.issue(|key| key.expires_at = expiry)).collect();
    cx.advance(HOUR);
    let servers: Vec<Sandbox> = (0..4).map(|_| cx.restarted()).collect();
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| maintain(server));
        }
    });
    let mut announced: Vec<String> = announced(&cx).into_iter().map(|(_, id)| id).collect();
    announced.sort_unstable();
    let mut expected: Vec<String> = keys.iter().map(|key| id_of(&cx, key)).collect();
    expected.sort_unstable();
    assert_eq!(announced, expected);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Advance(i64),
    Expire(Option<i64>),
    Enable(bool),
    Rotate,
    Maintain,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..200_i64).prop_map(Step::Advance),
        2 => proptest::option::weighted(0.9, 1..400_i64).prop_map(Step::Expire),
        2 => any::<bool>().prop_map(Step::Enable),
        1 => Just(Step::Rotate),
        3 => Just(Step::Maintain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Each expiry of a key that works is announced once, within the week before it, and at the latest when a server that
    /// has just started looks.
    #[test]
    fn each_expiry_has_one_event(steps in proptest::collection::vec(step(), 1..30)) {
        let cx = Sandbox::new(Backend::Memory);
        let key = cx.issue(|_| {});
        let selector = Sandbox::selector(&key);
        let (mut expiry, mut works, mut last) = (None::<Timestamp>, true, None);
        for step in steps {
            let before = head(&cx);
            let now = cx.clock.now();
            let looks = match step {
                Step::Advance(hours) => { cx.advance(hours * HOUR); false }
                Step::Expire(hours) => {
                    let at = hours.map(|hours| now.plus_millis(hours * HOUR));
                    let differs = at != expiry;
                    set_expiry(&cx, &key, at);
                    expiry = at;
                    differs
                }
                Step::Enable(enables) => {
                    let differs = enables != works;
                    let by = operator();
                    match enables {
                        true => drop(wait(cx.platform.enable_key(&by, &selector)).expect("enabled")),
                        false => drop(wait(cx.platform.disable_key(&by, &selector)).expect("disabled")),
                    }
                    works = enables;
                    differs
                }
                Step::Rotate => { drop(wait(cx.platform.rotate_key(&operator(), &selector, 0)).expect("rotated")); true }
                Step::Maintain => { maintain(&cx.restarted()); true }
            };
            let is_near = expiry.is_some_and(|at| at > now && at <= now.plus_millis(WEEK));
            let is_due = looks && works && is_near && last != expiry;
            let all = announced_after(&cx, before);
            prop_assert_eq!(all.len(), usize::from(is_due), "{:?}", step);
            if is_due {
                prop_assert_eq!(all.last().map(|event| event.0), Some(now));
                last = expiry;
            }
        }
    }
}
