//! Challenges: proof of work that a browser must do when a limit is nearly reached.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openapi_core::ports::IdGenerator;
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

const PURPOSE: &str = "widget challenge";
/// How long a solution is valid.
const LIFE_SECONDS: i64 = 600;
const SALT_BYTES: usize = 12;
/// The most characters of a nonce.
const MAX_NONCE: usize = 64;

/// The task of a browser: a nonce such that SHA-256 of salt and nonce begins with `bits` zero bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Challenge {
    salt: String,
    bits: u32,
    /// When a solution expires, in seconds since the epoch.
    exp: i64,
    alg: &'static str,
}

impl Challenge {
    /// A challenge for the client at `holder`. It is signed, so it need not be stored. It takes 16 bits from 80 % of a
    /// limit and 18 from 95 %.
    pub(crate) fn new(
        keys: &ServerKeys,
        ids: &dyn IdGenerator,
        holder: &str,
        share: f64,
        now: Timestamp,
    ) -> Self {
        let bits = match share {
            share if share >= 0.95 => 18,
            share if share >= 0.9 => 17,
            _ => 16,
        };
        let mut random = [0; SALT_BYTES];
        ids.fill(&mut random);
        let exp = now.seconds() + LIFE_SECONDS;
        let random = URL_SAFE_NO_PAD.encode(random);
        let body = format!("{random}.{bits}.{exp}");
        let tag = URL_SAFE_NO_PAD.encode(&keys.tag(PURPOSE, message(&body, holder).as_bytes())[..16]);
        Challenge { salt: format!("{body}.{tag}"), bits, exp, alg: "sha-256" }
    }
}

fn message(body: &str, holder: &str) -> String {
    format!("{body}\n{holder}")
}

/// Whether `nonce` solves a challenge of `holder` that has not expired.
pub(crate) fn is_solved(keys: &ServerKeys, holder: &str, salt: &str, nonce: &str, now: Timestamp) -> bool {
    let Some((body, tag)) = salt.rsplit_once('.').filter(|_| salt.len() <= 128) else { return false };
    let mut parts = body.split('.').skip(1);
    let (Some(bits), Some(exp)) = (parts.next(), parts.next()) else { return false };
    let (Ok(bits), Ok(exp)) = (bits.parse::<u32>(), exp.parse::<i64>()) else { return false };
    let Ok(tag) = URL_SAFE_NO_PAD.decode(tag) else { return false };
    if !keys.verifies(PURPOSE, message(body, holder).as_bytes(), &tag) || now.seconds() >= exp {
        return false;
    }
    (1..=MAX_NONCE).contains(&nonce.len()) && zero_bits(&Sha256::digest(format!("{salt}{nonce}"))) >= bits
}

fn zero_bits(digest: &[u8]) -> u32 {
    let whole = digest.iter().take_while(|byte| **byte == 0).count();
    let next = digest.get(whole).map_or(0, |byte| byte.leading_zeros());
    u32::try_from(whole).unwrap_or(0) * 8 + next
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::ports::SequentialIds;
    use openapi_core::server_keys::ServerKey;

    const NOW: Timestamp = Timestamp::from_millis(1_769_852_400_000);

    #[test]
    fn a_solution_holds_for_its_address_and_ten_minutes() {
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
        let challenge = Challenge::new(&keys, &SequentialIds::default(), "192.0.2.1", 0.8, NOW);
        assert_eq!(challenge.bits, 16);
        let solves =
            |nonce: &str| zero_bits(&Sha256::digest(format!("{}{nonce}", challenge.salt))) >= challenge.bits;
        let nonce = (0_u64..).map(|n| n.to_string()).find(|nonce| solves(nonce)).expect("a nonce");
        let holds = |holder: &str, salt: &str, nonce: &str, now| is_solved(&keys, holder, salt, nonce, now);
        assert!(holds("192.0.2.1", &challenge.salt, &nonce, NOW));
        assert!(holds("192.0.2.1", &challenge.salt, &nonce, NOW.plus_millis(599_999)));
        assert!(!holds("192.0.2.1", &challenge.salt, &nonce, NOW.plus_millis(600_000)));
        assert!(!holds("192.0.2.2", &challenge.salt, &nonce, NOW));
        assert!(!holds("192.0.2.1", &challenge.salt, "wrong", NOW));
        assert!(!holds("192.0.2.1", &challenge.salt.replace(".16.", ".1."), &nonce, NOW), "easier");
        for salt in ["", ".", "a.b.c.d", "..."] {
            assert!(!holds("192.0.2.1", salt, &nonce, NOW));
        }
    }

    #[test]
    fn bits_are_counted_across_bytes() {
        assert_eq!(zero_bits(&[0, 0, 0x10]), 19);
        assert_eq!(zero_bits(&[0x80]), 0);
        assert_eq!(zero_bits(&[0; 32]), 256);
    }
}
