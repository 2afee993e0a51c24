//! Small texts sealed under the server keys, for the store and for cookies.

use openapi_core::platform::Platform;
use openapi_core::seal::{Sealer, Unsealer, key_of_head, unsealed_bytes};

/// The salt makes the name of each text its own, because a key and a name seal one content only.
const SALT: usize = 16;
/// The longest sealed text that is opened.
const MAX: usize = 8 * 1024;

fn name(purpose: &str, salt: &[u8]) -> Vec<u8> {
    [purpose.as_bytes(), b"\0", salt].concat()
}

/// Seals a text, which opens for the same purpose only.
pub(super) fn seal(platform: &Platform, purpose: &str, text: &[u8]) -> Option<Vec<u8>> {
    let ports = platform.ports();
    let mut salt = [0; SALT];
    ports.ids.fill(&mut salt);
    let mut sealer = Sealer::named(&ports.server_keys, name(purpose, &salt));
    let first = sealer.push(text).ok()?;
    let rest = sealer.finish().ok()?;
    let sealed = [&salt[..], &first, &rest].concat();
    (sealed.len() <= MAX).then_some(sealed)
}

/// Opens a sealed text; none if it was changed, sealed for another purpose, or its server key is gone.
pub(super) fn open(platform: &Platform, purpose: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    if sealed.len() > MAX {
        return None;
    }
    let (salt, sealed) = sealed.split_at_checked(SALT)?;
    let content = unsealed_bytes(sealed.len() as u64)?;
    let mut unsealer = Unsealer::named(&platform.ports().server_keys, name(purpose, salt), content).ok()?;
    let text = unsealer.push(sealed).ok()?;
    unsealer.finish().ok()?;
    Some(text.into())
}

/// The id of the server key that a text is sealed under.
pub(super) fn server_key(sealed: &[u8]) -> Option<&str> {
    key_of_head(sealed.get(SALT..)?)
}
