//! The rules of delivery, one by one.

use events::delivery::{
    Absence, Action, AttemptResult, Delivery, DeliverySettings, DeliveryState, DisableReason, Happening,
    Lease, MAX_IN_FLIGHT, MAX_OPEN, Mode, Open, Page, Replay, Resume, Save, Source,
};
use events::message::Outcome;
use openapi_core::values::{PlatformId, Timestamp};

const SERVER: PlatformId = PlatformId::from_bytes([1; 12]);
const OTHER: PlatformId = PlatformId::from_bytes([2; 12]);
const START: i64 = 1_790_000_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}

fn settings(mode: Mode) -> DeliverySettings {
    DeliverySettings { server: SERVER, mode, seed: 7, failing_limit: 5 * 86_400_000 }
}

fn unanswered() -> Outcome {
    Outcome { error: Some("timeout"), ..Outcome::default() }
}

fn status(status: u16) -> Outcome {
    Outcome { status: Some(status), ..Outcome::default() }
}

/// An endpoint with a log of which it gets every event, and a store that takes every save at once.
struct Driven {
    delivery: Delivery,
    now: i64,
    head: u64,
    oldest: u64,
    sent: Vec<(u64, u8)>,
    saves: Vec<(i64, Save)>,
    has_ended: bool,
    settings: DeliverySettings,
}

impl Driven {
    fn new(mode: Mode, state: DeliveryState, head: u64) -> Self {
        let settings = settings(mode);
        let (delivery, actions) = Delivery::take(state, settings, at(0)).unwrap();
        let (sent, saves) = (Vec::new(), Vec::new());
        let mut driven =
            Driven { delivery, now: 0, head, oldest: 1, sent, saves, has_ended: false, settings };
        driven.follow(actions);
        driven
    }

    fn handle(&mut self, happening: Happening) {
        let actions = self.delivery.handle(happening, at(self.now));
        self.follow(actions);
    }

    fn follow(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Read(source, after) => {
                    let from = (after + 1).max(self.oldest);
                    let events = (from..=self.head).take(500).map(|seq| (seq, true)).collect();
                    let page = Page { after, events, oldest: self.oldest, head: self.head };
                    self.handle(Happening::Read(source, page));
                }
                Action::Send(seq, attempt) => self.sent.push((seq, attempt)),
                Action::Save(save) => {
                    self.saves.push((self.now, *save));
                    self.handle(Happening::Saved);
                }
                Action::End => self.has_ended = true,
            }
        }
    }

    fn sent(&mut self) -> Vec<(u64, u8)> {
        std::mem::take(&mut self.sent)
    }

    fn end(&mut self, seq: u64, code: u16) {
        self.handle(Happening::Ended(seq, status(code)));
    }

    /// Lets time pass, with a tick each half second. The endpoint is taken again when it is due.
    fn pass(&mut self, millis: i64) {
        let until = self.now + millis;
        while self.now < until {
            self.now = (self.now + 500).min(until);
            self.handle(Happening::Tick);
            let is_due = || self.stored().due_at().is_some_and(|due| due <= at(self.now));
            if self.has_ended && is_due() {
                let taken = Delivery::take(self.stored().clone(), self.settings, at(self.now));
                let (delivery, actions) = taken.unwrap();
                (self.delivery, self.has_ended) = (delivery, false);
                self.follow(actions);
            }
        }
    }

    fn stored(&self) -> &DeliveryState {
        &self.saves.last().unwrap().1.state
    }
}

#[test]
fn parallel_requests_are_bounded_and_the_cursor_does_not_wait() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
    assert_eq!(driven.sent(), (1..=8).map(|seq| (seq, 1)).collect::<Vec<_>>());
    for seq in 2..=8 {
        driven.end(seq, 200);
    }
    assert_eq!(driven.sent().len(), 7);
    // Event 1 is still on its way. It is open, so a server that takes over sends it again.
    driven.pass(1_000);
    assert_eq!(driven.stored().cursor, 15);
    assert_eq!(driven.stored().open.keys().copied().collect::<Vec<_>>(), [1, 9, 10, 11, 12, 13, 14, 15]);
    let taken = driven.stored().clone();
    let (mut next, _) = Delivery::take(taken, settings(Mode::Parallel), at(2_000)).unwrap();
    let actions = next.handle(Happening::Saved, at(2_000));
    let again = actions.iter().filter(|action| matches!(action, Action::Send(_, 1))).count();
    assert_eq!(again, MAX_IN_FLIGHT);
}

#[test]
fn ordered_sends_one_at_a_time_and_waits_for_it() {
    let mut driven = Driven::new(Mode::Ordered, DeliveryState::new(0), 3);
    assert_eq!(driven.sent(), [(1, 1)]);
    driven.end(1, 500);
    driven.pass(3_900);
    assert_eq!((driven.sent(), driven.stored().cursor), (vec![], 0));
    driven.pass(2_200);
    assert_eq!(driven.sent(), [(1, 2)]);
    driven.end(1, 204);
    assert_eq!(driven.sent(), [(2, 1)]);
    driven.end(2, 200);
    driven.end(3, 200);
    driven.pass(1_000);
    assert_eq!((driven.stored().cursor, driven.stored().open.len()), (3, 0));
}

#[test]
fn failures_follow_the_schedule_and_parallel_gives_up_after_ten() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 1);
    let pauses = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    assert_eq!(driven.sent(), [(1, 1)]);
    for (number, pause) in (1_u8..).zip(pauses) {
        driven.end(1, 404);
        let next = driven.delivery.state().open[&1];
        let wait = next.next_at.millis_since(at(driven.now));
        assert_eq!(next.failures, number);
        assert!((pause * 800..=pause * 1_200).contains(&wait), "{wait} after failure {number}");
        // The server lets the endpoint go, and takes it when it is due.
        driven.pass(wait + 500);
        assert_eq!(driven.sent(), [(1, number + 1)]);
    }
    driven.end(1, 404);
    driven.pass(1_000);
    assert_eq!(driven.stored().open.len(), 0);
    let results: Vec<AttemptResult> =
        driven.saves.iter().flat_map(|(_, save)| &save.attempts).map(|attempt| attempt.result).collect();
    assert_eq!(results.len(), 10);
    assert_eq!(results.last(), Some(&AttemptResult::GivenUp));
    assert_eq!(driven.stored().due_at().is_some(), driven.stored().lease.is_some());
}

#[test]
fn ordered_is_disabled_after_ten_and_keeps_its_position() {
    let mut state = DeliveryState::new(4);
    state.open.insert(5, Open { failures: 9, next_at: at(0) });
    let mut driven = Driven::new(Mode::Ordered, state, 9);
    assert_eq!(driven.sent(), [(5, 10)]);
    driven.end(5, 500);
    let (_, save) = driven.saves.last().unwrap();
    assert_eq!(
        (save.disable, save.state.cursor, save.state.is_stopped),
        (Some(DisableReason::Failing), 4, true)
    );
    assert_eq!((save.state.lease, save.state.due_at(), driven.has_ended), (None, None, true));
    // A person skips the event, and enables the endpoint.
    let mut state = save.state.clone();
    assert!(state.skip(Mode::Ordered, 6).is_err());
    state.skip(Mode::Ordered, 5).unwrap();
    assert!(Delivery::take(state.clone(), settings(Mode::Ordered), at(0)).is_none());
    state.resume(Resume::Cursor, at(0));
    assert_eq!(state.due_at(), Some(at(0)));
    assert_eq!(Driven::new(Mode::Ordered, state, 9).sent(), [(6, 1)]);
    // Or enables it without a skip: the event has all its attempts again.
    let mut state = save.state.clone();
    state.resume(Resume::Cursor, at(0));
    assert_eq!(Driven::new(Mode::Ordered, state, 9).sent(), [(5, 1)]);
    let mut state = save.state.clone();
    state.resume(Resume::Now(9), at(0));
    let mut driven = Driven::new(Mode::Ordered, state, 10);
    assert_eq!(driven.sent(), [(10, 1)]);
}

#[test]
fn gone_disables_at_once() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
    assert_eq!(driven.sent().len(), 8);
    driven.end(3, 410);
    let (_, save) = driven.saves.last().unwrap();
    assert_eq!((save.disable, save.state.is_stopped), (Some(DisableReason::Gone), true));
    // Requests that run are awaited; nothing begins.
    for seq in [1, 2, 4, 5, 6, 7, 8] {
        assert!(!driven.has_ended);
        driven.end(seq, 200);
    }
    assert_eq!((driven.sent(), driven.has_ended), (vec![], true));
    let disabling = driven.saves.iter().filter(|(_, save)| save.disable.is_some()).count();
    assert_eq!((disabling, driven.stored().open.keys().copied().collect::<Vec<_>>()), (1, vec![3]));
}

#[test]
fn an_endpoint_that_only_fails_is_disabled_in_time() {
    for (since, expected) in [(5 * 86_400_000 - 1, None), (5 * 86_400_000, Some(DisableReason::Failing))] {
        let mut state = DeliveryState::new(1);
        state.failing_since = Some(at(-since));
        let mut driven = Driven::new(Mode::Parallel, state.clone(), 2);
        driven.end(2, 500);
        driven.pass(1_000);
        assert_eq!(driven.saves.iter().find_map(|(_, save)| save.disable), expected);
        // One success in between, and the time begins again.
        let mut driven = Driven::new(Mode::Parallel, state, 3);
        driven.end(2, 200);
        driven.end(3, 500);
        driven.pass(1_000);
        assert_eq!(driven.saves.iter().find_map(|(_, save)| save.disable), None);
        assert_eq!(driven.stored().failing_since, Some(at(0)));
    }
}

#[test]
fn a_receiver_that_asks_for_it_rests_as_a_whole() {
    for code in [429, 502, 503, 504] {
        let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
        driven.sent();
        let outcome = Outcome { retry_after: Some(8_000), ..status(code) };
        driven.handle(Happening::Ended(1, outcome));
        for seq in 2..=8 {
            driven.end(seq, 200);
        }
        driven.pass(7_500);
        assert_eq!(driven.sent(), [], "{code}");
        driven.pass(1_000);
        // Event 1 is due by its schedule, and then the next ones.
        assert_eq!(driven.sent()[0], (1, 2), "{code}");
    }
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
    driven.sent();
    driven.end(1, 500);
    driven.end(2, 200);
    assert_eq!(driven.sent(), [(9, 1), (10, 1)]);
}

#[test]
fn after_requests_without_an_answer_the_next_one_goes_alone() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 1_000);
    let hanging = driven.sent();
    assert_eq!(hanging.len(), MAX_IN_FLIGHT);
    for (seq, _) in &hanging {
        driven.handle(Happening::Ended(*seq, unanswered()));
    }
    let mut running = driven.sent();
    assert_eq!(running.len(), 1);
    driven.end(running.remove(0).0, 500);
    running = driven.sent();
    assert_eq!(running.len(), 1, "an answer that refuses is no reason for more");
    // Each event that is accepted allows one more request.
    for most in 2..=MAX_IN_FLIGHT {
        driven.end(running.remove(0).0, 200);
        running.extend(driven.sent());
        assert_eq!(running.len(), most);
    }
    driven.end(running.remove(0).0, 200);
    running.extend(driven.sent());
    assert_eq!(running.len(), MAX_IN_FLIGHT);
}

#[test]
fn an_endpoint_that_fails_is_probed() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 1_000);
    for _ in 0..2 {
        for (seq, _) in driven.sent() {
            driven.end(seq, 500);
        }
    }
    // More than ten failures: nothing is sent for the first time until a pause has passed.
    assert!(driven.delivery.state().failures >= 10);
    let firsts = |sent: Vec<(u64, u8)>| sent.into_iter().filter(|(_, attempt)| *attempt == 1).count();
    let in_flight = driven.sent();
    for (seq, _) in in_flight {
        driven.end(seq, 500);
    }
    let open = driven.delivery.state().open.len();
    for _ in 0..60 {
        driven.pass(10_000);
        let sent = driven.sent();
        assert!(firsts(sent.clone()) <= 1, "{sent:?}");
        for (seq, _) in sent {
            driven.end(seq, 500);
        }
    }
    // 10 minutes have at most some dozen probes.
    assert!(driven.delivery.state().open.len() <= open + 12, "{}", driven.delivery.state().open.len());
    // A success ends it.
    driven.pass(300_000);
    let sent = driven.sent();
    driven.end(sent.last().unwrap().0, 200);
    assert!(firsts(driven.sent()) > 1);
}

#[test]
fn the_cursor_waits_while_a_thousand_are_open() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 5_000);
    for _ in 0..4_000 {
        let sent = driven.sent();
        for (seq, _) in sent {
            // Every third event arrives, so the endpoint does not count as one that only fails.
            driven.end(seq, if seq % 3 == 0 { 200 } else { 400 });
        }
        assert!(driven.delivery.state().open.len() <= MAX_OPEN);
    }
    assert_eq!(driven.delivery.state().open.len(), MAX_OPEN);
    let cursor = driven.delivery.state().cursor;
    assert!((1_495..1_505).contains(&cursor), "{cursor}");
}

#[test]
fn saves_are_rare_and_never_late() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 0);
    for step in 0..100 {
        driven.now = step * 100;
        driven.head += 1;
        let head = driven.head;
        driven.handle(Happening::Head(head));
        let sent = driven.sent();
        for (seq, _) in sent {
            driven.end(seq, 200);
        }
    }
    let times: Vec<i64> = driven.saves.iter().map(|(at, _)| *at).collect();
    assert!(times.len() <= 12, "{times:?}");
    assert!(times.windows(2).all(|pair| (1_000..=1_100).contains(&(pair[1] - pair[0]))), "{times:?}");
    // Many outcomes do not wait.
    driven.head += 1_000;
    let head = driven.head;
    driven.handle(Happening::Head(head));
    let before = driven.saves.len();
    loop {
        let sent = driven.sent();
        if sent.is_empty() {
            break;
        }
        for (seq, _) in sent {
            driven.end(seq, 200);
        }
    }
    assert_eq!(driven.saves.len() - before, 5);
}

#[test]
fn a_slow_store_bounds_what_is_unsaved() {
    let (mut delivery, _) = Delivery::take(DeliveryState::new(0), settings(Mode::Parallel), at(0)).unwrap();
    let mut todo = delivery.handle(Happening::Saved, at(0));
    let mut settled = 0;
    while let Some(action) = todo.pop() {
        match action {
            Action::Read(source, after) => {
                let events = (after + 1..=5_000).take(500).map(|seq| (seq, true)).collect();
                todo.extend(
                    delivery.handle(
                        Happening::Read(source, Page { after, events, oldest: 1, head: 5_000 }),
                        at(1),
                    ),
                );
            }
            Action::Send(seq, _) => {
                settled += 1;
                todo.extend(delivery.handle(Happening::Ended(seq, status(200)), at(1)));
            }
            // Never answered.
            Action::Save(_) | Action::End => {}
        }
    }
    assert_eq!(settled, 1_000);
}

#[test]
fn the_lease_outlasts_each_request() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
    assert_eq!(driven.stored().lease, Some(Lease { server: SERVER, until: at(45_000) }));
    driven.sent();
    // No tick for 25 s: while just 20 s are left, event 9 is sent.
    let ended = || Happening::Ended(1, status(200));
    let actions = driven.delivery.clone().handle(ended(), at(25_000));
    assert!(actions.contains(&Action::Send(9, 1)), "{actions:?}");
    // With less than that, nothing begins before the lease is renewed.
    driven.now = 25_001;
    let actions = driven.delivery.clone().handle(ended(), at(25_001));
    assert!(matches!(actions.as_slice(), [Action::Save(_)]), "{actions:?}");
    driven.handle(ended());
    assert_eq!(driven.sent(), [(9, 1)]);
    assert_eq!(driven.stored().lease.unwrap().until, at(25_001 + 45_000));
}

#[test]
fn leases_are_given_back_and_taken() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 1);
    driven.end(1, 200);
    driven.pass(4_500);
    assert!(!driven.has_ended);
    driven.pass(1_000);
    assert!(driven.has_ended);
    let mut state = driven.stored().clone();
    assert_eq!((state.lease, state.cursor, state.due_at()), (None, 1, None));
    // Another server's lease holds until it ends.
    state.lease = Some(Lease { server: OTHER, until: at(10_000) });
    assert_eq!(state.due_at(), Some(at(10_000)));
    assert!(Delivery::take(state.clone(), settings(Mode::Parallel), at(9_999)).is_none());
    assert!(Delivery::take(state.clone(), settings(Mode::Parallel), at(10_000)).is_some());
    state.lease = Some(Lease { server: SERVER, until: at(10_000) });
    assert!(Delivery::take(state, settings(Mode::Parallel), at(0)).is_some());
}

#[test]
fn a_drain_begins_nothing_and_leaves_the_rest_due() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
    let sent = driven.sent();
    driven.handle(Happening::Drain);
    for (seq, _) in sent {
        assert!(!driven.has_ended);
        driven.end(seq, 200);
    }
    assert_eq!((driven.sent(), driven.has_ended), (vec![], true));
    let state = driven.stored();
    assert_eq!((state.cursor, state.open.len(), state.due_at()), (8, 0, Some(at(0))));
}

#[test]
fn a_stale_save_ends_the_owner() {
    let (mut delivery, _) = Delivery::take(DeliveryState::new(0), settings(Mode::Parallel), at(0)).unwrap();
    assert_eq!(delivery.handle(Happening::Stale, at(0)), [Action::End]);
    assert_eq!(delivery.handle(Happening::Head(5), at(0)), []);
    assert_eq!(delivery.next_wake(), None);
}

#[test]
fn a_failed_save_is_done_again_with_what_it_had() {
    let (mut delivery, _) = Delivery::take(DeliveryState::new(0), settings(Mode::Parallel), at(0)).unwrap();
    delivery.handle(Happening::Saved, at(0));
    let page = Page { after: 0, events: vec![(1, true)], oldest: 1, head: 1 };
    assert_eq!(delivery.handle(Happening::Read(Source::Log, page), at(0)), [Action::Send(1, 1)]);
    let saved = |actions: Vec<Action>| match actions.as_slice() {
        [Action::Save(save)] => (**save).clone(),
        other => panic!("{other:?}"),
    };
    let first = saved(delivery.handle(Happening::Ended(1, status(410)), at(10)));
    assert_eq!((first.disable, first.attempts.len()), (Some(DisableReason::Gone), 1));
    // Not at once, so that a store that cannot be reached is not asked all the time.
    assert_eq!(
        (delivery.handle(Happening::SaveFailed, at(20)), delivery.next_wake()),
        (vec![], Some(at(1_020)))
    );
    let again = saved(delivery.handle(Happening::Tick, at(1_020)));
    assert_eq!((again.disable, &again.attempts), (first.disable, &first.attempts));
}

#[test]
fn a_failed_read_waits() {
    let (mut delivery, _) = Delivery::take(DeliveryState::new(0), settings(Mode::Parallel), at(0)).unwrap();
    assert_eq!(delivery.handle(Happening::Saved, at(0)), [Action::Read(Source::Log, 0)]);
    assert_eq!(delivery.handle(Happening::ReadFailed(Source::Log), at(0)), []);
    assert_eq!((delivery.handle(Happening::Tick, at(999)), delivery.next_wake()), (vec![], Some(at(1_000))));
    assert!(delivery.handle(Happening::Tick, at(1_000)).contains(&Action::Read(Source::Log, 0)));
}

/// A commit that rings while the first page is on its way is not lost.
#[test]
fn a_ring_before_the_first_page_counts() {
    let (mut delivery, _) = Delivery::take(DeliveryState::new(0), settings(Mode::Parallel), at(0)).unwrap();
    delivery.handle(Happening::Saved, at(0));
    delivery.handle(Happening::Head(1), at(0));
    let empty = Page { after: 0, events: vec![], oldest: 1, head: 0 };
    assert_eq!(delivery.handle(Happening::Read(Source::Log, empty), at(0)), [Action::Read(Source::Log, 0)]);
}

#[test]
fn expired_and_erased_events() {
    let mut state = DeliveryState::new(10);
    state.open.insert(3, Open { failures: 2, next_at: at(60_000) });
    state.open.insert(9, Open { failures: 2, next_at: at(60_000) });
    let (mut delivery, _) = Delivery::take(state, settings(Mode::Parallel), at(0)).unwrap();
    delivery.handle(Happening::Saved, at(0));
    // Events up to 14 were swept: 3 and 9 are open, 11 to 14 were never read.
    let page = Page { after: 10, events: vec![(15, true), (16, false), (17, true)], oldest: 15, head: 17 };
    let actions = delivery.handle(Happening::Read(Source::Log, page), at(0));
    assert_eq!(actions, [Action::Send(15, 1), Action::Send(17, 1)]);
    assert_eq!(delivery.handle(Happening::Absent(15, Absence::Expired), at(0)), []);
    assert_eq!(delivery.handle(Happening::Absent(17, Absence::Erased), at(0)), []);
    let actions = delivery.handle(Happening::Tick, at(1_000));
    let Some(Action::Save(save)) = actions.first() else { panic!("{actions:?}") };
    let logged: Vec<(u64, Option<u64>)> =
        save.attempts.iter().map(|attempt| (attempt.seq, attempt.upto)).collect();
    assert_eq!(logged, [(11, Some(14)), (3, None), (9, None), (15, None)]);
    assert!(
        save.attempts.iter().all(|attempt| attempt.result == AttemptResult::Expired && attempt.attempt == 0)
    );
    assert_eq!((save.state.cursor, save.state.open.len()), (17, 0));
}

#[test]
fn the_attempt_log_has_failures_and_a_success_a_minute() {
    let mut driven = Driven::new(Mode::Ordered, DeliveryState::new(0), 0);
    for step in 0..180 {
        driven.now = step * 1_000;
        driven.head += 1;
        let head = driven.head;
        driven.handle(Happening::Head(head));
        driven.end(head, 200);
    }
    driven.pass(1_000);
    let logged: Vec<u64> =
        driven.saves.iter().flat_map(|(_, save)| &save.attempts).map(|attempt| attempt.seq).collect();
    assert_eq!(logged, [1, 61, 121]);
    let numbers: Vec<u64> =
        driven.saves.iter().flat_map(|(_, save)| &save.attempts).map(|attempt| attempt.number).collect();
    assert_eq!((numbers, driven.stored().attempts), (vec![1, 2, 3], 3));
    // The success after a failure is logged in any case.
    driven.head += 1;
    let head = driven.head;
    driven.handle(Happening::Head(head));
    driven.end(head, 500);
    driven.pass(7_000);
    driven.end(head, 200);
    driven.pass(1_000);
    let last: Vec<_> = driven.saves.iter().flat_map(|(_, save)| &save.attempts).skip(3).collect();
    assert_eq!(last.iter().map(|it| (it.seq, it.attempt)).collect::<Vec<_>>(), [(head, 1), (head, 2)]);
}

#[test]
fn replays_run_next_to_the_log() {
    let mut state = DeliveryState::new(100);
    state.replay(Mode::Parallel, 10, 30).unwrap();
    state.replay(Mode::Parallel, 25, 40).unwrap();
    state.replay(Mode::Parallel, 90, 500).unwrap();
    state.replay(Mode::Parallel, 101, 200).unwrap();
    assert_eq!(state.replays, [Replay { next: 10, to: 40 }, Replay { next: 90, to: 100 }]);
    let mut driven = Driven::new(Mode::Parallel, state, 120);
    let mut all = Vec::new();
    loop {
        let sent = driven.sent();
        if sent.is_empty() {
            break;
        }
        for (seq, _) in sent {
            all.push(seq);
            driven.end(seq, 200);
        }
    }
    // In turns.
    assert!(all[..20].iter().any(|seq| *seq <= 40) && all[..20].iter().any(|seq| *seq > 100), "{all:?}");
    all.sort_unstable();
    assert_eq!(all, (10..=40).chain(90..=120).collect::<Vec<_>>());
    driven.pass(1_000);
    assert_eq!((driven.stored().cursor, &driven.stored().replays), (120, &vec![]));
}

#[test]
fn replays_are_bounded_and_survive_their_owner() {
    let mut state = DeliveryState::new(1_000);
    for at in 0..10 {
        state.replay(Mode::Parallel, at * 20 + 1, at * 20 + 10).unwrap();
    }
    assert!(state.replay(Mode::Parallel, 500, 510).is_err());
    state.replay(Mode::Parallel, 15, 15).unwrap_err();
    state.replay(Mode::Parallel, 11, 11).unwrap();
    assert_eq!(state.replays.len(), 10);
    let mut state = DeliveryState::new(1_000);
    state.replay(Mode::Parallel, 1, 50).unwrap();
    assert!(state.due_at().is_some_and(|due| due <= at(0)));
    let mut driven = Driven::new(Mode::Parallel, state, 1_000);
    for (seq, _) in driven.sent() {
        driven.end(seq, 200);
    }
    driven.sent();
    driven.pass(1_000);
    // 8 are settled and 8 on their way.
    assert_eq!((driven.stored().replays[0], driven.stored().open.len()), (Replay { next: 17, to: 50 }, 8));
}

#[test]
fn single_events_and_ordered_replays() {
    let mut state = DeliveryState::new(100);
    state.replay_events(Mode::Parallel, &[3, 50, 101, 0], at(0)).unwrap();
    assert_eq!(state.open.keys().copied().collect::<Vec<_>>(), [3, 50]);
    assert_eq!(Driven::new(Mode::Parallel, state.clone(), 100).sent(), [(3, 1), (50, 1)]);
    let many: Vec<u64> = (1..=1_001).collect();
    let mut full = DeliveryState::new(2_000);
    assert!(full.replay_events(Mode::Parallel, &many, at(0)).is_err() && full.open.is_empty());
    let mut ordered = DeliveryState::new(100);
    ordered.open.insert(101, Open { failures: 3, next_at: at(9_000) });
    ordered.replay_events(Mode::Ordered, &[50, 20], at(0)).unwrap();
    assert_eq!((ordered.cursor, ordered.open.len()), (19, 0));
    assert_eq!(Driven::new(Mode::Ordered, ordered, 101).sent(), [(20, 1)]);
    state.change_mode(Mode::Ordered);
    assert_eq!((state.cursor, state.open.len()), (2, 0));
}

/// A clock that goes back proves nothing about the lease.
#[test]
fn a_clock_that_goes_back_confirms_the_lease_first() {
    let mut driven = Driven::new(Mode::Parallel, DeliveryState::new(0), 20);
    driven.sent();
    let mut delivery = driven.delivery.clone();
    let actions = delivery.handle(Happening::Ended(1, status(200)), at(-60_000));
    assert!(matches!(actions.as_slice(), [Action::Save(_)]), "{actions:?}");
    let actions = delivery.handle(Happening::Saved, at(-60_000));
    assert_eq!(actions, [Action::Send(9, 1)]);
}
