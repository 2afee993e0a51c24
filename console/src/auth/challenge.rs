//! Challenges of passkeys: signed and bound to a browser, so that nothing is stored before one is answered.

use openapi_core::platform::Platform;
use openapi_core::storage::RecordId;
use openapi_core::values::Timestamp;

use super::records::{Stored, UsedChallengeBody};

/// How long the challenge of a passkey may be answered: 5 minutes.
pub(crate) const CHALLENGE_MILLIS: i64 = 5 * 60_000;

const PURPOSE: &str = "console challenge";
const NONCE: usize = 16;
const SIGNED: usize = NONCE + 8 + 1;
/// Nonce, end, purpose and HMAC.
pub(crate) const BYTES: usize = SIGNED + 32;

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To sign in.
    SignIn = 1,
    /// To create an account by a link.
    Link = 2,
    /// To prove an identity again.
    StepUp = 3,
    /// To add a passkey to an account.
    Enrol = 4,
    /// To confirm a seed of one-time codes.
    Totp = 5,
    /// To send the code after a password.
    Code = 6,
}

impl Purpose {
    /// How long a challenge may be answered: 5 minutes, or half an hour for who may have to install an app first.
    pub(crate) const fn life_millis(self) -> i64 {
        match self {
            Purpose::Totp => 30 * 60_000,
            _ => CHALLENGE_MILLIS,
        }
    }
}

fn message(signed: &[u8], binding: &[u8]) -> Vec<u8> {
    [signed, binding].concat()
}

/// A challenge that only who has `binding` can answer.
pub(crate) fn issue(platform: &Platform, purpose: Purpose, binding: &[u8]) -> [u8; BYTES] {
    let mut challenge = [0; BYTES];
    platform.ports().ids.fill(&mut challenge[..NONCE]);
    let end = platform.now().plus_millis(purpose.life_millis());
    challenge[NONCE..NONCE + 8].copy_from_slice(&end.millis().to_be_bytes());
    challenge[SIGNED - 1] = purpose as u8;
    let tag = platform.ports().server_keys.tag(PURPOSE, &message(&challenge[..SIGNED], binding));
    challenge[SIGNED..].copy_from_slice(&tag);
    challenge
}

/// The random part of a challenge.
pub(crate) fn nonce(challenge: &[u8]) -> &[u8] {
    challenge.get(..NONCE).unwrap_or_default()
}

/// The record that makes an answered challenge count once; none if it is forged, for something else, or over.
pub(crate) fn accept(
    platform: &Platform,
    challenge: &[u8],
    purpose: Purpose,
    binding: &[u8],
) -> Option<Stored<UsedChallengeBody>> {
    let challenge: &[u8; BYTES] = challenge.try_into().ok()?;
    let (signed, tag) = challenge.split_at(SIGNED);
    if !platform.ports().server_keys.verifies(PURPOSE, &message(signed, binding), tag) {
        return None;
    }
    let end = Timestamp::from_millis(i64::from_be_bytes(signed[NONCE..NONCE + 8].try_into().ok()?));
    let now = platform.now();
    if signed[SIGNED - 1] != purpose as u8 || end <= now {
        return None;
    }
    let mut used = Stored::new(RecordId::from_bytes(&signed[..NONCE])?, UsedChallengeBody { used_at: now });
    used.due_at = Some(end);
    Some(used)
}
