//! The JSON of a state: what was written is read, and it fits into a record.

use events::delivery::{DeliveryState, Lease, MAX_OPEN, MAX_REPLAYS, Open, Replay};
use openapi_core::values::{PlatformId, Timestamp};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

fn instant() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_000_i64).prop_map(Timestamp::from_millis)
}

fn state() -> impl Strategy<Value = DeliveryState> {
    let open = (1..u64::from(u32::MAX), (0_u8..10, instant()));
    let open = btree_map(open.0, open.1.prop_map(|(failures, next_at)| Open { failures, next_at }), 0..40);
    let lease = (any::<[u8; 12]>(), instant())
        .prop_map(|(server, until)| Lease { server: PlatformId::from_bytes(server), until });
    let replays =
        vec((1..1_000_u64, 1..1_000_u64).prop_map(|(next, to)| Replay { next, to }), 0..=MAX_REPLAYS);
    let times = prop::array::uniform5(option::of(instant()));
    (option::of(lease), any::<u32>(), open, replays, any::<u32>(), times, any::<u32>(), any::<bool>())
        .prop_map(|(lease, cursor, open, replays, failures, times, attempts, is_stopped)| DeliveryState {
            lease,
            cursor: cursor.into(),
            open,
            replays,
            failures,
            failing_since: times[0],
            rest_until: times[1],
            probe_at: times[2],
            succeeded_at: times[3],
            failed_at: times[4],
            attempts: attempts.into(),
            is_stopped,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(state in state()) {
        let text = serde_json::to_string(&state).unwrap();
        prop_assert_eq!(serde_json::from_str::<DeliveryState>(&text).unwrap(), state);
    }

    #[test]
    fn other_texts_are_errors(text in "\\{\"cursor\":[0-9]{1,3},\"attempts\":[0-9],\"open\":\\[[0-9,]{0,12}\\]\\}") {
        // No text panics; one that is read has what it says.
        if let Ok(state) = serde_json::from_str::<DeliveryState>(&text) {
            prop_assert!(state.open.keys().all(|seq| *seq > 0));
        }
    }
}

fn full(step: u64, spread: i64) -> DeliveryState {
    let far = Timestamp::from_millis(253_402_300_799_999);
    let first = u64::MAX / 2 - step * MAX_OPEN as u64;
    let open = (0..MAX_OPEN as u64).map(|at| {
        let wait = spread - i64::try_from(at).unwrap();
        (first + at * step, Open { failures: 9, next_at: Timestamp::from_millis(1_790_000_000_000 + wait) })
    });
    DeliveryState {
        lease: Some(Lease { server: PlatformId::from_bytes([255; 12]), until: far }),
        cursor: u64::MAX / 2,
        open: open.collect(),
        replays: vec![Replay { next: u64::MAX / 2, to: u64::MAX / 2 }; MAX_REPLAYS],
        failures: u32::MAX,
        failing_since: Some(far),
        succeeded_at: Some(far),
        failed_at: Some(far),
        rest_until: Some(far),
        probe_at: Some(far),
        attempts: u64::MAX / 2,
        is_stopped: true,
    }
}

#[test]
fn a_full_state_fits_into_a_record() {
    // The longest: sequence numbers and times as far apart as they can be.
    let longest = serde_json::to_string(&full(1 << 40, 2 * 86_400_000)).unwrap();
    assert!(longest.len() <= 64 << 10, "{}", longest.len());
    // The usual one, an endpoint that fails for a day.
    let usual = serde_json::to_string(&full(7, 86_400_000)).unwrap();
    assert!(usual.len() <= 17 << 10, "{}", usual.len());
    let rest = serde_json::to_string(&DeliveryState::new(12_345)).unwrap();
    assert_eq!(rest, r#"{"cursor":12345,"attempts":0}"#);
}

#[test]
fn malformed_states_are_errors() {
    for text in [
        r#"{"cursor":1,"attempts":0,"open":[1,2]}"#,
        r#"{"cursor":1,"attempts":0,"open":[0,0,0]}"#,
        r#"{"cursor":1,"attempts":0,"open":[5,0,0,0,0,0]}"#,
        r#"{"cursor":1,"attempts":0,"open":[5,256,0]}"#,
        r#"{"cursor":1,"attempts":0,"open":[18446744073709551615,0,0,1,0,0]}"#,
        r#"{"cursor":1,"attempts":0,"owner":"695b6f80de7378c4412112d3"}"#,
        r#"{"cursor":1,"attempts":0,"unknown":1}"#,
        r#"{"cursor":-1,"attempts":0}"#,
    ] {
        assert!(serde_json::from_str::<DeliveryState>(text).is_err(), "{text}");
    }
    let many = vec!["1,0,0"; MAX_OPEN + 1].join(",");
    assert!(
        serde_json::from_str::<DeliveryState>(&format!(r#"{{"cursor":1,"attempts":0,"open":[{many}]}}"#))
            .is_err()
    );
}
