//! The keys that a provider signs ID tokens with: a JWK Set (RFC 7517).

use http::Method;
use openapi_core::json::{Json, Object};
use openapi_core::ports::Outbound;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

use super::fetch;
use crate::auth::cookies::decode;

/// The most keys that are read of a set.
const MOST_KEYS: usize = 100;
/// The longest id of a key that is compared.
const MAX_KID: usize = 256;

/// A key that verifies signatures. What it verifies follows from its type, never from the token.
#[derive(Clone, PartialEq, Eq)]
enum PublicKey {
    /// RS256: RSA of 2,048 to 8,192 bits.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    /// ES256: a point of P-256.
    P256(Vec<u8>),
    /// `EdDSA` with Ed25519.
    Ed25519(Vec<u8>),
}

/// A key of a set.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    key: PublicKey,
}

impl Key {
    /// The algorithm whose signatures it verifies.
    pub(super) const fn algorithm(&self) -> &'static str {
        match self.key {
            PublicKey::Rsa { .. } => "RS256",
            PublicKey::P256(_) => "ES256",
            PublicKey::Ed25519(_) => "EdDSA",
        }
    }

    /// Whether a signature over a message is one of the key.
    pub(super) fn verifies(&self, message: &[u8], signed: &[u8]) -> bool {
        let verified = match &self.key {
            PublicKey::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signed),
            PublicKey::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, signed)
            }
            PublicKey::Ed25519(point) => {
                UnparsedPublicKey::new(&signature::ED25519, point).verify(message, signed)
            }
        };
        verified.is_ok()
    }

    /// Reads a JWK; none if it is for something else than signatures that the console verifies.
    fn read(jwk: &Object) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Json::as_str);
        let bytes = |name: &str| text(name).and_then(decode);
        let coordinate = |name: &str| bytes(name).filter(|bytes| bytes.len() == 32);
        if jwk.get("use").is_some() && text("use") != Some("sig") {
            return None;
        }
        let key = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let (modulus, exponent) = (bytes("n")?, bytes("e")?);
                if !(256..=1_024).contains(&modulus.len()) || exponent.len() > 8 {
                    return None;
                }
                PublicKey::Rsa { modulus, exponent }
            }
            ("EC", Some("P-256")) => {
                PublicKey::P256([&[4][..], &coordinate("x")?, &coordinate("y")?].concat())
            }
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(coordinate("x")?),
            _ => return None,
        };
        let id = text("kid").filter(|id| id.len() <= MAX_KID).map(str::to_owned);
        let key = Key { id, key };
        (jwk.get("alg").is_none() || text("alg") == Some(key.algorithm())).then_some(key)
    }
}

/// The usable keys of a provider.
#[derive(Clone, Default)]
pub(super) struct Keys(Vec<Key>);

impl Keys {
    /// Fetches the keys of an issuer.
    pub(super) async fn fetch(outbound: &dyn Outbound, issuer: &str, url: &str) -> Result<Self, String> {
        let document = fetch::object(outbound, fetch::request(Method::GET, issuer, url)).await?;
        Keys::read(&document)
    }

    /// Reads a JWK Set. Keys for other purposes may be in it.
    pub(super) fn read(document: &Object) -> Result<Self, String> {
        let Some(Json::Array(keys)) = document.get("keys") else {
            return Err("the key set has no member keys".to_owned());
        };
        let read = keys.iter().take(MOST_KEYS).filter_map(|key| Key::read(key.as_object()?));
        let read: Vec<Key> = read.collect();
        if read.is_empty() {
            return Err("the key set has no key for RS256, ES256 or EdDSA".to_owned());
        }
        Ok(Keys(read))
    }

    /// The key of a token's header: the one with its id, or the only one of its algorithm.
    pub(super) fn find(&self, algorithm: &str, id: Option<&str>) -> Option<&Key> {
        let mut fitting = self
            .0
            .iter()
            .filter(|key| key.algorithm() == algorithm && id.is_none_or(|id| key.id.as_deref() == Some(id)));
        let found = fitting.next()?;
        fitting.next().is_none().then_some(found)
    }

    /// The algorithms, each once.
    pub(super) fn algorithms(&self) -> Vec<&'static str> {
        let mut algorithms: Vec<_> = self.0.iter().map(Key::algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        algorithms
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
