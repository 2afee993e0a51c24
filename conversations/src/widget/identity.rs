//! Verified visitors: the page's server signs the identity of its user with a secret that only it and the service know.

use hmac::{Hmac, KeyInit, Mac};
use openapi_core::values::{AgentId, Timestamp};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::hex;
use crate::VerifiedUser;

/// The longest validity of a signature.
const MAX_AHEAD_SECONDS: i64 = 24 * 3_600;

/// The hexadecimal digits of a signature.
fn digits(secret: &str, agent: &AgentId, exp: &str, user: &VerifiedUser) -> Option<String> {
    let external = user.external_reference_id.as_deref().unwrap_or_default();
    let email = user.email.as_deref().unwrap_or_default();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(format!("v1\n{agent}\n{exp}\n{external}\n{email}").as_bytes());
    Some(hex(&mac.finalize().into_bytes()))
}

/// Whether `hash` is the signature of `user` at `now`, under one of the secrets.
pub(crate) fn verify_signature(
    secrets: &[String],
    agent: &AgentId,
    user: &VerifiedUser,
    hash: &str,
    now: Timestamp,
) -> bool {
    let Some((exp, hex)) = hash.split_once('.') else { return false };
    let is_number = !exp.is_empty() && exp.len() <= 12 && exp.bytes().all(|digit| digit.is_ascii_digit());
    let Some(seconds) = exp.parse::<i64>().ok().filter(|_| is_number) else { return false };
    // With a line break inside a value, two users could have the same signed text.
    let parts = [&user.external_reference_id, &user.email];
    let is_plain = parts.iter().all(|part| part.as_ref().is_none_or(|text| !text.contains('\n')));
    let names_somebody = parts.iter().any(|part| part.as_ref().is_some_and(|text| !text.is_empty()));
    let is_timely = now.seconds() < seconds && seconds <= now.seconds() + MAX_AHEAD_SECONDS;
    let is_right = secrets.iter().fold(false, |right, secret| {
        let wanted = digits(secret, agent, exp, user);
        right | wanted.is_some_and(|wanted| wanted.as_bytes().ct_eq(hex.as_bytes()).into())
    });
    is_right && is_timely && is_plain && names_somebody
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "svci_q7Yx0nLw2RkZs8VbTf4HcJm6PdUe9GaQi3oKy1CtWvN1mWYAD";
    const HEX: &str = "476630c8ed99a02aab4a2f6e9a21fb5c1c962bf409403180a962874aaf9c934b";
    const EXP: i64 = 1_769_856_330;

    fn user() -> VerifiedUser {
        VerifiedUser {
            external_reference_id: Some("crm-1001".to_owned()),
            email: Some("Zoe.Okafor@example.com".to_owned()),
        }
    }

    fn holds(secret: &str, agent: &str, user: &VerifiedUser, hash: &str, before_end: i64) -> bool {
        let now = Timestamp::from_millis((EXP - before_end) * 1_000);
        verify_signature(
            &["svci_other".to_owned(), secret.to_owned()],
            &agent.parse().expect("an id"),
            user,
            hash,
            now,
        )
    }

    const AGENT: &str = "695b6f80de7378c4412112d3";

    #[test]
    fn the_documented_vector() {
        assert!(holds(SECRET, AGENT, &user(), &format!("{EXP}.{HEX}"), 60));
    }

    #[test]
    fn each_part_altered_is_refused() {
        let hash = format!("{EXP}.{HEX}");
        assert!(!holds(&SECRET.replace('q', "r"), AGENT, &user(), &hash, 60));
        assert!(!holds(SECRET, "695b6f80de7378c4412112d4", &user(), &hash, 60));
        assert!(!holds(SECRET, AGENT, &user(), &format!("{}.{HEX}", EXP + 1), 60));
        assert!(!holds(SECRET, AGENT, &user(), &hash.replace("476630", "476631"), 60));
        assert!(!holds(SECRET, AGENT, &user(), &hash.to_uppercase(), 60));
        let other = VerifiedUser { email: Some("zoe.okafor@example.com".to_owned()), ..user() };
        assert!(!holds(SECRET, AGENT, &other, &hash, 60));
        let moved = VerifiedUser { external_reference_id: Some("crm-1001\nx".to_owned()), ..user() };
        assert!(!holds(SECRET, AGENT, &moved, &hash, 60));
        assert!(!holds(SECRET, AGENT, &user(), &hash, 0), "over");
        assert!(holds(SECRET, AGENT, &user(), &hash, MAX_AHEAD_SECONDS));
        assert!(!holds(SECRET, AGENT, &user(), &hash, MAX_AHEAD_SECONDS + 1), "too far ahead");
        for hash in ["", ".", "1.2", &format!("+{EXP}.{HEX}"), &format!("{EXP}"), &format!("{EXP}.")] {
            assert!(!holds(SECRET, AGENT, &user(), hash, 60), "{hash}");
        }
    }

    #[test]
    fn nobody_is_not_vouched_for() {
        let nobody = VerifiedUser::default();
        let now = Timestamp::from_millis((EXP - 1) * 1_000);
        let agent: AgentId = AGENT.parse().expect("an id");
        let digits = digits(SECRET, &agent, &EXP.to_string(), &nobody).expect("digits");
        let hash = format!("{EXP}.{digits}");
        assert!(!verify_signature(&[SECRET.to_owned()], &agent, &nobody, &hash, now));
    }
}
