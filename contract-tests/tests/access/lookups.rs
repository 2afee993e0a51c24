//! How often failed authentications ask the store for a key: as often for keys that exist as for others, and not at all for
//! an address far over its limit (contract 7.1, 8.3).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract_tests::{Backend, Credentials, Sandbox};
use openapi_core::access::{ApiKey, KeyLookup};
use openapi_core::storage::{KeyStore, Result};
use storage_memory::MemoryStorage;
use testkit::delegate::Delegate;

const LIST: &str = "/contacts/chatbots/<A>";

/// Failed authentications per minute and address before they are refused, and before the store is not asked.
const LIMIT: u32 = 20;
const FLOOD: u32 = 220;

/// A store that counts the look-ups of keys.
#[derive(Default)]
struct Counting {
    inner: MemoryStorage,
    lookups: AtomicU64,
}

impl Counting {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        self.inner.look_up_key(api_key).await
    }

    /// The look-ups since the last call.
    fn taken(&self) -> u64 {
        self.lookups.swap(0, Ordering::Relaxed)
    }
}

impl Delegate for Counting {
    type Inner = MemoryStorage;

    fn inner(&self) -> &MemoryStorage {
        &self.inner
    }
}

testkit::delegate_storage!(Counting);

fn sandbox() -> (Sandbox, Arc<Counting>) {
    let counting = Arc::new(Counting::default());
    let cx = Sandbox::on(Backend::Memory.open().through(Arc::clone(&counting) as _), |_| {});
    let _ = cx.get(LIST).expect(200);
    counting.taken();
    (cx, counting)
}

fn fail(cx: &Sandbox, credentials: &Credentials) -> u16 {
    cx.call("GET", LIST).with(credentials).send().status
}

#[test]
fn a_key_that_exists_and_one_that_does_not_are_looked_up_alike() {
    let (cx, counting) = sandbox();
    let known = Credentials { key: cx.credentials.key.clone(), secret: "nonsense".into() };
    let unknown =
        Credentials { key: "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ".into(), secret: "nonsense".into() };
    for owner_is_active in [false, true] {
        let patterns = [&known, &unknown].map(|credentials| {
            cx.advance(60_000);
            let pauses = [0, 1_000, 2_999, 1, 3_900, 99, 1, 10_000, 0, 3_999];
            pauses.map(|pause| {
                cx.advance(pause);
                if owner_is_active {
                    let _ = cx.get(LIST).expect(200);
                    counting.taken();
                }
                assert_eq!(fail(&cx, credentials), 401);
                counting.taken()
            })
        });
        assert_eq!(patterns[0], [1, 0, 0, 1, 0, 0, 1, 1, 0, 0], "{owner_is_active}");
        assert_eq!(patterns[0], patterns[1], "{owner_is_active}");
    }
}

#[test]
fn an_address_far_over_its_limit_costs_no_look_up_and_locks_nobody_out() {
    let (cx, counting) = sandbox();
    let newer = cx.issue(|_| {});
    for attempt in 0..FLOOD {
        let credentials = Credentials { key: cx.credentials.key.clone(), secret: "nonsense".into() };
        assert_eq!(fail(&cx, &credentials), if attempt < LIMIT { 401 } else { 429 });
    }
    counting.taken();
    for key in ["svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ", "nonsense", cx.credentials.key.as_str()] {
        for _ in 0..10 {
            assert_eq!(fail(&cx, &Credentials { key: key.into(), secret: "nonsense".into() }), 429);
        }
    }
    assert_eq!(counting.taken(), 0);
    // A key that was used before works, also after it has to be read again.
    cx.advance(30_000);
    let _ = cx.get(LIST).expect(200);
    assert_eq!(counting.taken(), 1);
    // One that this server has never seen has to wait, or come from elsewhere.
    let call = cx.call("GET", LIST).with(&newer);
    assert_eq!(call.send().status, 429);
    let _ = cx.call("GET", LIST).with(&newer).from("203.0.113.9").send().expect(200);
    let _ = call.send().expect(200);
    cx.advance(60_000);
    assert_eq!(fail(&cx, &Credentials { key: "nonsense".into(), secret: "x".into() }), 401);
}
