//! One-time codes of authenticator apps (RFC 6238): SHA-1, 6 digits, 30 s.
//!
//! A seed is derived from a server key, the operator and a random nonce, so the store holds nothing that makes codes.

use std::fmt::Write;

use openapi_core::platform::Platform;
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::{PlatformId, Timestamp};
use qrcode::{Color, EcLevel, QrCode};
use ring::hmac;
use subtle::ConstantTimeEq;
use url::form_urlencoded::byte_serialize;

use super::challenge::{self, Purpose};
use super::cookies::{decode, encode};
use super::records::{Stored, TotpBody, UsedChallengeBody};

const STEP_MILLIS: i64 = 30_000;
/// What RFC 4226 recommends: 160 bits.
const SEED_BYTES: usize = 20;
const PURPOSE: &str = "console totp";
/// RFC 4648.
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

type Seed = [u8; SEED_BYTES];

fn seed(keys: &ServerKeys, server_key: &str, operator: PlatformId, nonce: &[u8]) -> Option<Seed> {
    let message = [operator.as_bytes().as_slice(), nonce].concat();
    keys.tag_with(server_key, PURPOSE, &message)?.first_chunk().copied()
}

fn step(at: Timestamp) -> i64 {
    at.millis().div_euclid(STEP_MILLIS)
}

/// The code of a step.
fn code(seed: &Seed, step: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, seed);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let offset = usize::from(tag.as_ref().last().copied().unwrap_or_default() & 0xf);
    let word = tag.as_ref().get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok());
    let number = u32::from_be_bytes(word.unwrap_or_default()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

/// The step whose code was sent: this one, the one before or the one after, but none up to `used`.
fn matching(seed: &Seed, sent: &str, now: Timestamp, used: i64) -> Option<i64> {
    let sent: String = sent.chars().filter(|letter| !letter.is_whitespace()).collect();
    let now = step(now);
    let mut found = None;
    for step in now - 1..=now + 1 {
        let fits = bool::from(code(seed, step).as_bytes().ct_eq(sent.as_bytes()));
        if fits && step > used {
            found = Some(step);
        }
    }
    found
}

impl TotpBody {
    /// Uses a code up; `false` if it is wrong, or was used before.
    pub(crate) fn accept(&mut self, platform: &Platform, operator: PlatformId, sent: &str) -> bool {
        let keys = &platform.ports().server_keys;
        let seed = seed(keys, &self.server_key, operator, &self.nonce);
        let found = seed.and_then(|seed| matching(&seed, sent, platform.now(), self.last_step));
        self.last_step = found.unwrap_or(self.last_step);
        found.is_some()
    }
}

/// A seed that waits for its first code. Nothing of it is stored: the client sends its sealed form back.
pub(crate) struct Enrolment {
    pub(crate) sealed: String,
    /// The seed in base 32.
    pub(crate) secret: String,
    pub(crate) expires_at: Timestamp,
}

/// Why an enrolment was not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unconfirmed {
    /// It is over, was used, or belongs to another session or link.
    Enrolment,
    /// The code is not one of its seed.
    Code,
}

/// What binds an enrolment: the operator, the link or session, and the server key.
fn bound(operator: PlatformId, binding: &[u8], server_key: &str) -> Vec<u8> {
    [operator.as_bytes().as_slice(), server_key.as_bytes(), binding].concat()
}

impl Enrolment {
    /// A new seed of an operator, for who has `binding`.
    pub(crate) fn begin(platform: &Platform, operator: PlatformId, binding: &[u8]) -> Option<Self> {
        let keys = &platform.ports().server_keys;
        let server_key = keys.current_id();
        let challenge = challenge::issue(platform, Purpose::Totp, &bound(operator, binding, server_key));
        let secret = base32(&seed(keys, server_key, operator, challenge::nonce(&challenge))?);
        let sealed = encode(&[&challenge[..], server_key.as_bytes()].concat());
        let expires_at = platform.now().plus_millis(Purpose::Totp.life_millis());
        Some(Enrolment { sealed, secret, expires_at })
    }

    /// What is stored of a seed whose first code was sent, and the record that makes the enrolment count once.
    pub(crate) fn confirm(
        platform: &Platform,
        (operator, binding): (PlatformId, &[u8]),
        sealed: &str,
        sent: &str,
    ) -> Result<(Stored<UsedChallengeBody>, TotpBody), Unconfirmed> {
        let sealed = decode(sealed).ok_or(Unconfirmed::Enrolment)?;
        let (challenge, key) = sealed.split_at_checked(challenge::BYTES).ok_or(Unconfirmed::Enrolment)?;
        let server_key = std::str::from_utf8(key).map_err(|_| Unconfirmed::Enrolment)?.to_owned();
        let bound = bound(operator, binding, &server_key);
        let used = challenge::accept(platform, challenge, Purpose::Totp, &bound);
        let used = used.ok_or(Unconfirmed::Enrolment)?;
        let nonce = challenge::nonce(challenge).to_vec();
        let mut body = TotpBody { nonce, server_key, last_step: 0, confirmed_at: platform.now() };
        if body.accept(platform, operator, sent) { Ok((used, body)) } else { Err(Unconfirmed::Code) }
    }
}

/// The URL that authenticator apps read from a QR code.
pub(crate) fn url(issuer: &str, account: &str, secret: &str) -> String {
    // Not `+` for a space: apps show it as it is.
    let escaped = |text: &str| byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let (issuer, account) = (escaped(issuer), escaped(account));
    format!("otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}")
}

/// A QR code as the path of an SVG image, a unit for each module, and its width; none for too long a text.
pub(crate) fn qr_path(text: &str) -> Option<(String, u32)> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let (width, modules) = (code.width(), code.to_colors());
    let mut path = String::new();
    for (y, row) in modules.chunks(width).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| a == b) {
            if run[0] == Color::Dark {
                let _ = write!(path, "M{x} {y}h{n}v1h-{n}z", n = run.len());
            }
            x += run.len();
        }
    }
    Some((path, u32::try_from(width).ok()?))
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let bits =
            chunk.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte)) << (8 * (5 - chunk.len()));
        let letters = (chunk.len() * 8).div_ceil(5);
        text.extend((0..letters).map(|at| char::from(BASE32[(bits >> (35 - 5 * at) & 31) as usize])));
    }
    text
}

/// The code that an authenticator app shows for a secret in base 32: for tests and tools that sign in. None if the secret
/// is not one of the console.
#[must_use]
pub fn totp_code(secret: &str, at: Timestamp) -> Option<String> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in secret.bytes() {
        bits = bits << 5 | u32::try_from(BASE32.iter().position(|known| *known == letter)?).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(code(&bytes.try_into().ok()?, step(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix B of RFC 6238 has 8 digits; 6 are the last of them.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let seed = *b"12345678901234567890";
        let secret = base32(&seed);
        assert_eq!(secret, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            let at = Timestamp::from_millis(seconds * 1_000);
            assert_eq!(code(&seed, step(at)), expected, "{seconds}");
            assert_eq!(totp_code(&secret, at).as_deref(), Some(expected));
        }
        assert_eq!(totp_code("GEZDGNBVGY3TQOJQ", Timestamp::from_millis(0)), None);
        assert_eq!(totp_code("gezdgnbvgy3tqojqgezdgnbvgy3tqojq", Timestamp::from_millis(0)), None);
    }

    #[test]
    fn a_code_counts_for_one_step_around_its_own_and_once() {
        let seed = [7; SEED_BYTES];
        let at = |step: i64| Timestamp::from_millis(step * STEP_MILLIS + 17_000);
        for (now, fits) in [(98, false), (99, true), (100, true), (101, true), (102, false)] {
            assert_eq!(matching(&seed, &code(&seed, 100), at(now), 0), fits.then_some(100), "{now}");
        }
        assert_eq!(matching(&seed, &code(&seed, 100), at(100), 99), Some(100));
        for used in [100, 101] {
            assert_eq!(matching(&seed, &code(&seed, 100), at(100), used), None, "{used}");
        }
        let mut spaced = code(&seed, 100);
        spaced.insert(3, ' ');
        assert_eq!(matching(&seed, &spaced, at(100), 0), Some(100));
        assert_eq!(matching(&seed, "", at(100), 0), None);
    }

    #[test]
    fn an_image_has_its_finder_patterns() {
        let text = url("Acme & Söhne+", "zoë@example.com", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(
            text,
            "otpauth://totp/Acme%20%26%20S%C3%B6hne%2B:zo%C3%AB%40example.com\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme%20%26%20S%C3%B6hne%2B"
        );
        let (path, width) = qr_path(&text).unwrap();
        assert!(
            path.starts_with("M0 0h7v1h-7z") && path.contains(&format!("M{} 0h7v1h-7z", width - 7)),
            "{path}"
        );
        assert!(path.contains(&format!("M0 {}h7v1h-7z", width - 1)));
        assert!(qr_path(&"x".repeat(5_000)).is_none());
    }
}
