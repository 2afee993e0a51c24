//! Signatures of messages, verified by the published Rust package as a receiver does.

#[expect(dead_code, reason = "the example prints the cases as JSON")]
#[path = "../examples/webhook-messages/messages.rs"]
mod messages;

use http::{HeaderMap, HeaderName, HeaderValue};
use openapi_core::ports::{Clock, SystemClock};
use standardwebhooks::Webhook;

#[test]
fn the_published_package_verifies_a_thousand_messages() {
    let cases = messages::cases(1_000, SystemClock.now());
    let mut accepted = 0;
    for (at, case) in cases.iter().enumerate() {
        let headers: HeaderMap = case
            .headers
            .iter()
            .map(|(name, text)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(text).unwrap()))
            .collect();
        let verified = Webhook::new(&case.secret).unwrap().verify(case.body.as_bytes(), &headers);
        assert_eq!(verified.is_ok(), case.is_valid, "case {at}, {}: {verified:?}", case.about);
        accepted += u32::from(case.is_valid);
    }
    assert_eq!((accepted, cases.len()), (2_000, 4_000));
}
