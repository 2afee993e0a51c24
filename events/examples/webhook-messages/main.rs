//! Prints signed webhook messages, one JSON object per line, for the packages that verify them (`scripts/try-webhooks`).

mod messages;

use openapi_core::ports::{Clock, SystemClock};

fn main() {
    for case in messages::cases(1_000, SystemClock.now()) {
        println!("{}", case.line());
    }
}
