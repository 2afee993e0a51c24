//! Retries of changes that lose a race: how often, and what ends them.

use std::ops::ControlFlow::{Break, Continue};

use openapi_core::storage::retry::{MAX_ATTEMPTS, RetryOn, retry_on_conflict, retry_with};
use openapi_core::storage::{Result as StorageResult, StorageError, StorageErrorKind};
use proptest::prelude::*;

fn outcome() -> impl Strategy<Value = Result<u8, StorageErrorKind>> {
    prop_oneof![
        20 => Just(Err(StorageErrorKind::Stale)),
        1 => Just(Err(StorageErrorKind::Missing)),
        1 => any::<u8>().prop_map(Ok),
    ]
}

proptest! {
    #[test]
    fn attempts_end_with_the_first_that_loses_no_race(
        outcomes in prop::collection::vec(outcome(), MAX_ATTEMPTS as usize + 4),
    ) {
        let (mut rest, mut attempts) = (outcomes.iter().cloned(), 0);
        let exhausted = || StorageErrorKind::Internal.into();
        let found: StorageResult<u8> = pollster::block_on(retry_on_conflict(exhausted, |is_retry| {
            assert_eq!(is_retry, attempts > 0);
            attempts += 1;
            let outcome = rest.next().expect("no attempt follows the last").map_err(StorageError::from);
            async move { outcome.retry_on(&[StorageErrorKind::Stale]) }
        }));
        let lost = outcomes.iter().take_while(|outcome| **outcome == Err(StorageErrorKind::Stale)).count();
        let is_exhausted = lost >= MAX_ATTEMPTS as usize;
        let expected = if is_exhausted { Err(StorageErrorKind::Internal) } else { outcomes[lost].clone() };
        prop_assert_eq!(attempts, MAX_ATTEMPTS as usize - (MAX_ATTEMPTS as usize - 1).saturating_sub(lost));
        prop_assert_eq!(found.map_err(|error| error.kind), expected);
    }

    #[test]
    fn a_state_passes_from_attempt_to_attempt(max_attempts in 0_u32..40, enough in 0_u32..40) {
        let attempt = |done: u32| async move {
            Ok(if done == enough { Break(done) } else { Continue(done + 1) })
        };
        let found = pollster::block_on(retry_with(max_attempts, 0, || "exhausted", attempt));
        prop_assert_eq!(found, if enough < max_attempts { Ok(enough) } else { Err("exhausted") });
    }
}
