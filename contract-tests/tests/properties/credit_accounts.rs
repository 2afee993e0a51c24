//! The account of credits: what is spent first, what goes back, and that credits are conserved.

use openapi_core::credits::{CreditAccount, CreditPool, CreditRates, CreditShortage};
use openapi_core::values::{PlatformId, Timestamp};
use proptest::prelude::*;

fn id(number: u8) -> PlatformId {
    PlatformId::from_bytes([number; 12])
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn documents_cost_by_page_or_by_characters() {
    let rates = CreditRates::default();
    for (pages, characters, cost) in [
        (Some(0), 0, 1),
        (Some(1), 9_000, 1),
        (Some(50), 1, 50),
        (None, 0, 1),
        (None, 3_000, 1),
        (None, 3_001, 2),
        (None, 1_000_000, 334),
    ] {
        assert_eq!(rates.cost(pages, characters), cost, "{pages:?} {characters}");
    }
    let dear = CreditRates { per_page: 5, characters_per_page: 100 };
    assert_eq!((dear.cost(Some(2), 0), dear.cost(None, 101)), (10, 10));
    assert_eq!(CreditRates { per_page: 0, ..rates }.cost(Some(3), 0), 0);
}

#[test]
fn the_plan_is_spent_first() {
    let mut account = CreditAccount { plan: 3, top_up: 4, ..CreditAccount::default() };
    account.reserve(id(1), 5, at(10)).unwrap();
    assert_eq!((account.plan, account.top_up, account.reserved()), (0, 2, 5));
    assert_eq!(account.reserve(id(2), 3, at(10)), Err(CreditShortage { required: 3, available: 2 }));
    assert!(account.release(id(1)) && !account.release(id(1)));
    assert_eq!((account.plan, account.top_up, account.reserved()), (3, 4, 0));
}

#[test]
fn what_nobody_settles_goes_back() {
    let mut account = CreditAccount { plan: 3, ..CreditAccount::default() };
    account.reserve(id(1), 1, at(10)).unwrap();
    account.reserve(id(2), 1, at(11)).unwrap();
    assert!(account.release_expired(at(10)) && !account.release_expired(at(10)));
    assert_eq!((account.plan, account.settle(id(1))), (2, None));
    assert_eq!(account.settle(id(2)).map(|settled| settled.credits()), Some(1));
}

#[derive(Clone, Debug)]
enum Step {
    Reserve(u8, u64),
    Settle(u8),
    Release(u8),
    Expire,
    Set(CreditPool, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pool = prop_oneof![Just(CreditPool::Plan), Just(CreditPool::TopUp)];
    let step = prop_oneof![
        (0..8_u8, 0..40_u64).prop_map(|(number, cost)| Step::Reserve(number, cost)),
        (0..8_u8).prop_map(Step::Settle),
        (0..8_u8).prop_map(Step::Release),
        Just(Step::Expire),
        (pool, 0..60_u64).prop_map(|(pool, credits)| Step::Set(pool, credits)),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    /// What is there and what is set aside is what came in less what was spent, whatever the order.
    #[test]
    fn credits_are_conserved(steps in steps()) {
        let mut account = CreditAccount::default();
        let mut ledger = 0_i64;
        for (time, step) in (0_i64..).zip(steps) {
            match step {
                Step::Reserve(number, cost) if account.reservations.iter().all(|it| it.id != id(number)) => {
                    let before = account.clone();
                    let outcome = account.reserve(id(number), cost, at(time + 5));
                    prop_assert_eq!(outcome.is_err(), cost > before.available());
                    if outcome.is_err() {
                        prop_assert_eq!(&account, &before);
                    }
                }
                Step::Reserve(..) => {}
                Step::Settle(number) => {
                    ledger -= account.settle(id(number)).map_or(0, |settled| settled.credits()) as i64;
                }
                Step::Release(number) => {
                    account.release(id(number));
                }
                Step::Expire => {
                    account.release_expired(at(time));
                }
                Step::Set(pool, credits) => ledger += account.set(pool, credits),
            }
            prop_assert_eq!((account.available() + account.reserved()) as i64, ledger);
        }
    }
}
