//! Faults of a delivery that the observer must notice.

use events::delivery::{Action, DeliveryState, MAX_OPEN, Mode, Open};
use openapi_core::values::Timestamp;
use testkit::SplitMix64;

use crate::world::World;

/// A fault, planted between the state machine and its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A failure counts as a success.
    FailureSettles,
    /// An event of a page is taken for filtered out.
    EventUnread,
    /// A save has its cursor one event ahead.
    CursorSkips,
    /// A save has its cursor one event before the former one.
    CursorGoesBack,
    /// A save loses an open event.
    OpenLost,
    /// A save has more open events than there may be.
    OpenOverflows,
    /// An open event is never due.
    RetryForgotten,
    /// A server goes on although its save was stale.
    StaleIgnored,
    /// A server takes an endpoint that another one holds.
    LeaseIgnored,
    /// The next event is sent although the one before has not arrived.
    SentAhead,
    /// An event is sent twice at a time.
    SentTwice,
    /// Something is sent while the receiver rests.
    RestIgnored,
    /// An entry of the attempt log has the number of another one.
    AttemptNumberRepeats,
}

const FAULTS: [Fault; 13] = [
    Fault::FailureSettles,
    Fault::EventUnread,
    Fault::CursorSkips,
    Fault::CursorGoesBack,
    Fault::OpenLost,
    Fault::OpenOverflows,
    Fault::RetryForgotten,
    Fault::StaleIgnored,
    Fault::LeaseIgnored,
    Fault::SentAhead,
    Fault::SentTwice,
    Fault::RestIgnored,
    Fault::AttemptNumberRepeats,
];

impl Fault {
    /// Changes what the state machine wants to be done.
    pub fn plant(self, actions: &mut Vec<Action>, state: Option<&DeliveryState>, random: &mut SplitMix64) {
        if self == Fault::RestIgnored
            && let Some(seq) =
                state.filter(|state| state.rest_until.is_some()).and_then(|it| it.open.keys().next())
            && random.one_in(2)
        {
            actions.push(Action::Send(*seq, 1));
        }
        let sent = actions.iter().find_map(|action| match action {
            Action::Send(seq, attempt) => Some((*seq, *attempt)),
            _ => None,
        });
        match (self, sent) {
            (Fault::SentAhead, Some((seq, _))) => actions.insert(0, Action::Send(seq + 1, 1)),
            (Fault::SentTwice, Some((seq, attempt))) => actions.push(Action::Send(seq, attempt)),
            _ => {}
        }
        for action in actions {
            let Action::Save(save) = action else { continue };
            let state = &mut save.state;
            match self {
                Fault::CursorSkips => state.cursor += 1,
                Fault::CursorGoesBack if random.one_in(3) => state.cursor = state.cursor.saturating_sub(1),
                Fault::OpenLost => drop(state.open.pop_first()),
                Fault::OpenOverflows => {
                    let far = Open { failures: 0, next_at: Timestamp::from_millis(i64::MAX) };
                    state.open.extend((0..=MAX_OPEN as u64).map(|at| (1_000_000 + at, far)));
                }
                Fault::RetryForgotten => {
                    for open in state.open.values_mut() {
                        open.next_at = Timestamp::from_millis(i64::MAX);
                    }
                }
                Fault::AttemptNumberRepeats => {
                    for attempt in &mut save.attempts {
                        attempt.number = 1;
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_planted_fault_is_noticed() {
    for fault in FAULTS {
        let found = (0..400).find_map(|seed| {
            let mode = if seed % 2 == 0 { Mode::Parallel } else { Mode::Ordered };
            let mut world = World::new(seed, mode, false, Some(fault));
            world.run(60);
            world.broken.map(|text| (seed, text))
        });
        let (seed, text) = found.unwrap_or_else(|| panic!("nobody notices {fault:?}"));
        println!("{fault:?}: history {seed}: {text}");
    }
}
