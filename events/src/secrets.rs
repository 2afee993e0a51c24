//! Secrets of endpoints. They are derived from the server keys, so that no store and no stored response contains one.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The prefix of the text of a secret.
const PREFIX: &str = "whsec_";
/// The purpose of the tags from which secrets are made.
const PURPOSE: &str = "webhook secret";
/// The bytes that a secret of Standard Webhooks may have.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;
/// The longest time for which the previous secret signs too.
pub const MAX_GRACE_SECONDS: u32 = 604_800;

/// The secret of an endpoint. Its `Debug` form does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// The text that the receiver needs: `whsec_` and base64. Show it to nobody else.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The signature of a message, with its version: `v1,` and base64.
    #[must_use]
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        // An HMAC key may have any length.
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!("every length is valid"));
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

/// A text that is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a webhook secret is whsec_ and the base64 of 24 to 64 bytes")]
pub struct InvalidSecret;

impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        let bytes = text.strip_prefix(PREFIX).and_then(|rest| STANDARD.decode(rest).ok());
        bytes.filter(|bytes| LENGTHS.contains(&bytes.len())).map(Secret).ok_or(InvalidSecret)
    }
}

/// From what a secret is made: a server key and a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretSource {
    key: String,
    number: u32,
}

impl SecretSource {
    /// The secret, unless the server key is gone.
    fn secret(&self, keys: &ServerKeys, agent: &AgentId, endpoint: PlatformId) -> Option<Secret> {
        // An agent's id contains no zero byte, the rest has a fixed length: no two endpoints have the same text.
        let number = self.number.to_be_bytes();
        let message = [agent.as_str().as_bytes(), b"\0", endpoint.as_bytes(), number.as_slice()].concat();
        keys.tag_with(&self.key, PURPOSE, &message).map(|tag| Secret(tag.to_vec()))
    }
}

/// The secrets of an endpoint, as its record has them: at most two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSecrets {
    current: SecretSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Previous>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Previous {
    source: SecretSource,
    until: Timestamp,
}

/// The server key of an endpoint's secret is gone. Only a rotation gives the endpoint a secret again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server key {0} is gone, and with it the secret of the endpoint; rotate the secret")]
pub struct SecretLost(pub String);

impl EndpointSecrets {
    /// The first secret of an endpoint.
    #[must_use]
    pub fn first(keys: &ServerKeys) -> Self {
        let current = SecretSource { key: keys.current_id().to_owned(), number: 1 };
        EndpointSecrets { current, previous: None }
    }

    /// The secrets after a rotation: a new one from the current server key. The former one signs too for the grace, at
    /// most [`MAX_GRACE_SECONDS`]; with a grace of 0 it ends at once. An older one ends in any case.
    #[must_use]
    pub fn rotate(&self, keys: &ServerKeys, now: Timestamp, grace_seconds: u32) -> Self {
        let number = self.current.number.saturating_add(1);
        let grace = i64::from(grace_seconds.min(MAX_GRACE_SECONDS)) * 1_000;
        let previous =
            (grace > 0).then(|| Previous { source: self.current.clone(), until: now.plus_millis(grace) });
        EndpointSecrets { current: SecretSource { key: keys.current_id().to_owned(), number }, previous }
    }

    /// The secrets that sign a message now, the newest first. A former one whose server key is gone is left out.
    ///
    /// # Errors
    /// [`SecretLost`] if the server key of the newest is gone.
    pub fn live(
        &self,
        keys: &ServerKeys,
        agent: &AgentId,
        endpoint: PlatformId,
        now: Timestamp,
    ) -> Result<Vec<Secret>, SecretLost> {
        let newest = self.current.secret(keys, agent, endpoint);
        let newest = newest.ok_or_else(|| SecretLost(self.current.key.clone()))?;
        let former = self.previous.as_ref().filter(|previous| now < previous.until);
        Ok([newest]
            .into_iter()
            .chain(former.and_then(|it| it.source.secret(keys, agent, endpoint)))
            .collect())
    }

    /// When the former secret ends, if it still signs.
    #[must_use]
    pub fn previous_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.previous.as_ref().map(|previous| previous.until).filter(|until| now < *until)
    }

    /// The ids of the server keys that the secrets which sign now are made from, one for each secret.
    pub fn server_keys(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let previous = self.previous.as_ref().filter(|previous| now < previous.until);
        [&self.current].into_iter().chain(previous.map(|it| &it.source)).map(|source| source.key.as_str())
    }
}

#[cfg(test)]
mod tests {
    use openapi_core::server_keys::ServerKey;

    use super::*;

    fn keys(current: u8, previous: &[u8]) -> ServerKeys {
        let previous = previous.iter().map(|byte| ServerKey::new(&[*byte; 32])).collect();
        ServerKeys::new(ServerKey::new(&[current; 32]), previous)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    const ENDPOINT: PlatformId = PlatformId::from_bytes([7; 12]);

    #[test]
    fn texts_of_secrets() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(secret.expose(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert!(!format!("{secret:?}").contains("MfK"));
        // The example of the specification.
        let signature =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        for length in [0, 23, 65] {
            let text = format!("whsec_{}", STANDARD.encode(vec![1; length]));
            assert_eq!(text.parse::<Secret>(), Err(InvalidSecret), "{length}");
        }
        for bad in [
            "",
            "whsec_",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_****",
            "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            assert_eq!(bad.parse::<Secret>(), Err(InvalidSecret), "{bad}");
        }
    }

    #[test]
    fn every_endpoint_and_number_has_its_own_secret() {
        let keys = keys(1, &[]);
        let mut seen = std::collections::BTreeSet::new();
        let mut add = |secrets: &EndpointSecrets, agent: &str, endpoint: u8| {
            let endpoint = PlatformId::from_bytes([endpoint; 12]);
            let live = secrets.live(&keys, &agent.parse().unwrap(), endpoint, at(0)).unwrap();
            assert!(seen.insert(live[0].expose()), "{agent} {endpoint}");
        };
        let mut secrets = EndpointSecrets::first(&keys);
        for _ in 0..3 {
            for agent in ["a", "b", "ab"] {
                for endpoint in [0, 1, b'b'] {
                    add(&secrets, agent, endpoint);
                }
            }
            secrets = secrets.rotate(&keys, at(0), 0);
        }
    }

    #[test]
    fn two_secrets_live_during_a_rotation() {
        let (keys, agent) = (keys(1, &[]), "acme".parse().unwrap());
        let live = |secrets: &EndpointSecrets, seconds| -> Vec<String> {
            let live = secrets.live(&keys, &agent, ENDPOINT, at(seconds)).unwrap();
            live.iter().map(Secret::expose).collect()
        };
        let first = EndpointSecrets::first(&keys);
        let second = first.rotate(&keys, at(100), 50);
        assert_eq!(live(&second, 149), [live(&second, 150), live(&first, 0)].concat());
        assert_eq!((live(&second, 150).len(), second.previous_until(at(150))), (1, None));
        assert_eq!(second.previous_until(at(149)), Some(at(150)));
        // A third one ends the first, and no grace the second.
        let third = second.rotate(&keys, at(110), 50);
        assert_eq!(live(&third, 111), [live(&third, 200), live(&second, 200)].concat());
        assert_eq!(live(&second.rotate(&keys, at(110), 0), 110).len(), 1);
        let long = first.rotate(&keys, at(0), u32::MAX);
        assert_eq!(long.previous_until(at(1)), Some(at(604_800)));
    }

    #[test]
    fn secrets_follow_their_server_keys() {
        let agent = "acme".parse().unwrap();
        let first = EndpointSecrets::first(&keys(1, &[]));
        let (old, both, new) = (keys(1, &[]), keys(2, &[1]), keys(2, &[]));
        let text = |secrets: &EndpointSecrets, keys: &ServerKeys| {
            secrets
                .live(keys, &agent, ENDPOINT, at(0))
                .map(|live| live.iter().map(Secret::expose).collect::<Vec<_>>())
        };
        // A rotation of the server keys changes nothing until the old key is dropped.
        assert_eq!(text(&first, &both), text(&first, &old));
        assert_eq!(text(&first, &new), Err(SecretLost(old.current_id().to_owned())));
        let rotated = first.rotate(&both, at(0), 60);
        assert_eq!(text(&rotated, &both).unwrap().len(), 2);
        assert_eq!(text(&rotated, &new).unwrap().len(), 1);
        let needed = |seconds| rotated.server_keys(at(seconds)).collect::<Vec<_>>();
        assert_eq!(needed(59), [new.current_id(), old.current_id()]);
        assert_eq!(needed(60), [new.current_id()]);
    }

    #[test]
    fn the_record_has_no_secret() {
        let keys = keys(1, &[]);
        let secrets = EndpointSecrets::first(&keys).rotate(&keys, at(0), 60);
        let text = serde_json::to_string(&secrets).unwrap();
        assert_eq!(serde_json::from_str::<EndpointSecrets>(&text).unwrap(), secrets);
        let live = secrets.live(&keys, &"acme".parse().unwrap(), ENDPOINT, at(0)).unwrap();
        assert!(live.iter().all(|secret| !text.contains(&secret.expose()[6..])) && !text.contains("whsec_"));
    }
}
