//! Under load, the limits admit exactly the promised number of requests.

use std::sync::atomic::{AtomicU32, Ordering};

use load_and_limits::Sandbox;
use pollster::block_on;

const THREADS: u32 = 8;
const REQUESTS: u32 = 50;

#[test]
fn a_minute_under_load_admits_exactly_sixty_requests() {
    let sandbox = block_on(Sandbox::new()).unwrap();
    for minute in 1..=5 {
        let (admitted, refused) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    for _ in 0..REQUESTS {
                        let answer = block_on(sandbox.call("GET", "/contacts/chatbots/acme", ""));
                        match answer.status().as_u16() {
                            200 => admitted.fetch_add(1, Ordering::SeqCst),
                            429 if answer.headers().contains_key("Retry-After") => {
                                refused.fetch_add(1, Ordering::SeqCst)
                            }
                            other => panic!("{other} in minute {minute}"),
                        };
                    }
                });
            }
        });
        let outcome = (admitted.into_inner(), refused.into_inner());
        assert_eq!(outcome, (60, THREADS * REQUESTS - 60), "minute {minute}");
        sandbox.clock.advance_millis(60_000);
    }
}
