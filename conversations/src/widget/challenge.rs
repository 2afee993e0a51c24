//! Challenges: proof of work that a browser must do when a limit is nearly reached. A solved challenge admits one call.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openapi_core::limits::Network;
use openapi_core::ports::IdGenerator;
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use parking_lot::Mutex;
use serde::Serialize;
use sha2::{Digest, Sha256};

const PURPOSE: &str = "widget challenge";
/// How long a solution is valid.
const LIFE_SECONDS: i64 = 600;
const SALT_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// The most characters of a salt.
const MAX_SALT: usize = 128;
/// The most characters of a nonce.
const MAX_NONCE: usize = 64;
/// The most spent challenges that are remembered.
const MAX_SPENT: usize = 50_000;

/// The task of a browser: a nonce such that SHA-256 of salt and nonce begins with `bits` zero bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Challenge {
    salt: String,
    bits: u32,
    /// When a solution expires, in seconds since the epoch.
    exp: i64,
    alg: &'static str,
}

/// What a challenge is bound to: who solves it, for which call, and the server that spends it.
pub(crate) struct Binding<'a> {
    pub(crate) holder: Network,
    pub(crate) agent: &'a AgentId,
    pub(crate) operation: &'static str,
    pub(crate) server: PlatformId,
}

/// A challenge that was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Solved {
    exp: i64,
    tag: [u8; TAG_BYTES],
}

/// The difficulty at a used share of a limit, which exceeds 1 where an agent is called more often than its limit says.
pub(crate) fn bits_at(share: f64) -> u32 {
    match share {
        share if share > 2.0 => 20,
        share if share > 1.0 => 19,
        share if share >= 0.95 => 18,
        share if share >= 0.9 => 17,
        _ => 16,
    }
}

impl Binding<'_> {
    /// A challenge. It is signed, so it need not be stored.
    pub(crate) fn challenge(
        &self,
        keys: &ServerKeys,
        ids: &dyn IdGenerator,
        bits: u32,
        now: Timestamp,
    ) -> Challenge {
        let mut random = [0; SALT_BYTES];
        ids.fill(&mut random);
        let exp = now.seconds() + LIFE_SECONDS;
        let body = format!("{}.{bits}.{exp}.{}", URL_SAFE_NO_PAD.encode(random), self.server);
        let tag = URL_SAFE_NO_PAD.encode(&keys.tag(PURPOSE, self.message(&body).as_bytes())[..TAG_BYTES]);
        Challenge { salt: format!("{body}.{tag}"), bits, exp, alg: "sha-256" }
    }

    fn message(&self, body: &str) -> String {
        format!("{body}\n{}\n{}\n{}", self.holder, self.agent, self.operation)
    }

    /// The challenge that `nonce` solves: one of this server that has not expired and is at least as difficult as the
    /// present one.
    pub(crate) fn solved(
        &self,
        keys: &ServerKeys,
        (salt, nonce): (&str, &str),
        bits: u32,
        now: Timestamp,
    ) -> Option<Solved> {
        let (body, tag) = salt.rsplit_once('.').filter(|_| salt.len() <= MAX_SALT)?;
        let mut parts = body.split('.').skip(1);
        let (of_salt, exp, server) = (parts.next()?, parts.next()?, parts.next()?);
        let (of_salt, exp) = (of_salt.parse::<u32>().ok()?, exp.parse::<i64>().ok()?);
        let tag: [u8; TAG_BYTES] = URL_SAFE_NO_PAD.decode(tag).ok()?.try_into().ok()?;
        let is_valid = keys.verifies(PURPOSE, self.message(body).as_bytes(), &tag)
            && now.seconds() < exp
            && server == self.server.to_string()
            && of_salt >= bits;
        let is_solved = is_valid
            && (1..=MAX_NONCE).contains(&nonce.len())
            && zero_bits(&Sha256::digest(format!("{salt}{nonce}"))) >= of_salt;
        is_solved.then_some(Solved { exp, tag })
    }
}

fn zero_bits(digest: &[u8]) -> u32 {
    let whole = digest.iter().take_while(|byte| **byte == 0).count();
    let next = digest.get(whole).map_or(0, |byte| byte.leading_zeros());
    u32::try_from(whole).unwrap_or(0) * 8 + next
}

/// The solved challenges that have admitted a call, in bounded memory: until they expire or, if there are too many, until
/// all challenges that expire as early are refused.
#[derive(Default)]
pub(crate) struct SpentChallenges(Mutex<Spent>);

#[derive(Default)]
struct Spent {
    /// A digest of the call that each has admitted, by expiry and tag.
    calls: BTreeMap<(i64, [u8; TAG_BYTES]), [u8; 16]>,
    /// Challenges that expire then or earlier are refused.
    floor: i64,
}

impl SpentChallenges {
    /// Spends a solved challenge on a call. Returns whether it admits the call: a challenge that this call has spent
    /// before admits it again, because a client that lost the response repeats the call.
    pub(crate) fn spend(&self, solved: Solved, call: &str, now: Timestamp) -> bool {
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(call)[..16]);
        let mut spent = self.0.lock();
        while let Some(first) = spent.calls.first_entry()
            && first.key().0 <= now.seconds()
        {
            let (exp, _) = *first.key();
            first.remove();
            spent.floor = spent.floor.max(exp);
        }
        if solved.exp <= spent.floor {
            return false;
        }
        let is_admitted = *spent.calls.entry((solved.exp, solved.tag)).or_insert(digest) == digest;
        if spent.calls.len() > MAX_SPENT
            && let Some(((exp, _), _)) = spent.calls.pop_first()
        {
            spent.floor = spent.floor.max(exp);
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::ports::SequentialIds;
    use openapi_core::server_keys::ServerKey;

    const NOW: Timestamp = Timestamp::from_millis(1_769_852_400_000);

    fn nonce(challenge: &Challenge) -> String {
        let solves =
            |nonce: &str| zero_bits(&Sha256::digest(format!("{}{nonce}", challenge.salt))) >= challenge.bits;
        (0_u64..).map(|n| n.to_string()).find(|nonce| solves(nonce)).expect("a nonce")
    }

    #[test]
    fn a_solution_holds_for_what_it_is_bound_to_and_ten_minutes() {
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
        let network = |last: u8| Network::of([192, 0, 2, last].into());
        let agents: [AgentId; 2] = ["acme", "other"].map(|id| id.parse().expect("an id"));
        let server = |byte| PlatformId::from_bytes([byte; 12]);
        let binding = |holder, agent: usize, operation, by| Binding {
            holder: network(holder),
            agent: &agents[agent],
            operation,
            server: server(by),
        };
        let bound = binding(1, 0, "widgetTurn", 1);
        let challenge = bound.challenge(&keys, &SequentialIds::default(), 10, NOW);
        let nonce = nonce(&challenge);
        let salt = challenge.salt.as_str();
        let holds = |binding: &Binding<'_>, salt: &str, nonce: &str, bits, now| {
            binding.solved(&keys, (salt, nonce), bits, now).is_some()
        };
        assert!(salt.len() <= MAX_SALT, "{}", salt.len());
        assert!(holds(&bound, salt, &nonce, 10, NOW));
        assert!(holds(&bound, salt, &nonce, 9, NOW.plus_millis(599_999)));
        assert!(!holds(&bound, salt, &nonce, 10, NOW.plus_millis(600_000)));
        assert!(!holds(&bound, salt, &nonce, 11, NOW), "more is asked now");
        for other in [
            binding(2, 0, "widgetTurn", 1),
            binding(1, 1, "widgetTurn", 1),
            binding(1, 0, "widgetLead", 1),
            binding(1, 0, "widgetTurn", 2),
        ] {
            assert!(!holds(&other, salt, &nonce, 10, NOW));
        }
        assert!(!holds(&bound, salt, "wrong", 10, NOW));
        assert!(!holds(&bound, &salt.replace(".10.", ".1."), &nonce, 1, NOW), "easier");
        for salt in ["", ".", "a.b.c.d", "....", "a.1.2.3.4"] {
            assert!(!holds(&bound, salt, &nonce, 1, NOW));
        }
    }

    #[test]
    fn a_challenge_is_spent_once_whatever_else_is_spent() {
        let spent = SpentChallenges::default();
        let solved = |number: u32, exp: i64| {
            let mut tag = [0; TAG_BYTES];
            tag[..4].copy_from_slice(&number.to_be_bytes());
            Solved { exp: NOW.seconds() + exp, tag }
        };
        assert!(spent.spend(solved(0, 600), "one", NOW));
        assert!(spent.spend(solved(0, 600), "one", NOW), "the same call again");
        assert!(!spent.spend(solved(0, 600), "two", NOW));
        // Others push it out of memory, and then it is too old.
        for number in 1..120_000_u32 {
            let exp = 600 + i64::from(number / 1_000);
            spent.spend(solved(number, exp), "other", NOW);
            assert!(!spent.spend(solved(0, 600), "two", NOW));
        }
        assert!(spent.0.lock().calls.len() <= MAX_SPENT);
        assert!(spent.spend(solved(200_000, 800), "a new one", NOW));
        let later = NOW.plus_millis(900_000);
        assert!(spent.spend(solved(200_001, 1_500), "later", later));
        assert_eq!(spent.0.lock().calls.len(), 1, "what has expired is forgotten");
        assert!(!spent.spend(solved(0, 600), "two", NOW), "even if the clock goes back");
    }

    #[test]
    fn difficulty_grows_with_the_share() {
        assert_eq!([0.8, 0.9, 0.95, 1.0, 1.01, 2.5].map(bits_at), [16, 17, 18, 18, 19, 20]);
    }

    #[test]
    fn bits_are_counted_across_bytes() {
        assert_eq!(zero_bits(&[0, 0, 0x10]), 19);
        assert_eq!(zero_bits(&[0x80]), 0);
        assert_eq!(zero_bits(&[0; 32]), 256);
    }
}
