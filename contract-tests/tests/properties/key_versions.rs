//! Search and sort keys that another release would compute are another version, so that stores compute them again.

use contract_tests::{Backend, Sandbox};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::values::fold;
use serde_json::json;

/// The keys of each version from the second, as a hash of what determines them (FNV-1a, 64 bits). A new line is a new
/// [`ContactKeys::VERSION`]: without it, what is stored keeps the former keys and is not found.
const VERSIONS: [u64; 1] = [0x4be5_8950_e3a8_6b19];

#[test]
fn other_keys_are_another_version() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    // Planes 0 and 1 have every letter that is folded.
    ('\0'..='\u{1ffff}').for_each(|letter| add(&fold(letter.encode_utf8(&mut [0; 4]))));
    let cx = Sandbox::new(Backend::Memory);
    for phone in ["+44 20 7946 0958", "0044 (0)20 7946 0958", "020 7946 0958 x12", "555 0123"] {
        for code in [None, Some("44")] {
            let body = json!({ "primaryEmail": "a@b.co", "primaryPhone": phone, "primaryPhoneCode": code });
            let contact: Contact =
                serde_json::from_str(&cx.create(&body).data().to_string()).expect("a contact");
            let schema = ContactSchema::builtin(contact.agent_id.clone(), contact.created_at);
            add(&ContactKeys::of(&contact, &schema).digits);
        }
    }
    assert_eq!(Some(&hash), VERSIONS.last(), "{hash:#x}");
    assert_eq!(ContactKeys::VERSION, VERSIONS.len() as i64 + 1);
}
