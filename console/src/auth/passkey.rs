//! Passkeys: what WebAuthn (Level 3, sections 7.1 and 7.2) asks a relying party to check, with attestation `none`.

use coset::cbor::value::Value as Cbor;
use coset::{AsCborValue, CoseKey, KeyType, Label, RegisteredLabelWithPrivate, iana};
use openapi_core::json::{Json, Object};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

use super::cookies::decode;
use super::records::{PasskeyBody, digest_once};

/// The COSE algorithms, in the order of preference: EdDSA, ES256, RS256.
pub(crate) const ALGORITHMS: [i64; 3] = [-8, -7, -257];

const MAX_CREDENTIAL_ID: usize = 1_023;
const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;

/// What an authenticator has to answer to.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) origin: &'a str,
    pub(crate) relying_party: &'a str,
}

/// Why a credential is refused. The caller learns only that it is; the log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) &'static str);

/// A new credential.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewCredential {
    pub(crate) id: Vec<u8>,
    pub(crate) algorithm: i64,
    pub(crate) key: Vec<u8>,
    pub(crate) exponent: Vec<u8>,
    pub(crate) counter: u32,
    pub(crate) is_backed_up: bool,
    pub(crate) transports: Vec<String>,
}

/// An assertion, before its key is known.
pub(crate) struct Assertion {
    pub(crate) id: Vec<u8>,
    pub(crate) user: Option<Vec<u8>>,
    client_data: Vec<u8>,
    authenticator_data: Vec<u8>,
    signature: Vec<u8>,
}

fn member<'a>(object: &'a Object, name: &str) -> Option<&'a Json> {
    object.get(name).filter(|value| !matches!(value, Json::Null))
}

fn bytes(object: &Object, name: &'static str) -> Result<Vec<u8>, Refused> {
    let text = member(object, name).and_then(Json::as_str).ok_or(Refused("a member is missing"))?;
    decode(text.trim_end_matches('=')).ok_or(Refused("a member is not base64url"))
}

fn response(credential: &Object) -> Result<&Object, Refused> {
    if credential.get("type").and_then(Json::as_str) != Some("public-key") {
        return Err(Refused("not a public key"));
    }
    credential.get("response").and_then(Json::as_object).ok_or(Refused("no response"))
}

fn credential_id(credential: &Object) -> Result<Vec<u8>, Refused> {
    let id = bytes(credential, "rawId")?;
    if id != bytes(credential, "id")? || id.is_empty() || id.len() > MAX_CREDENTIAL_ID {
        return Err(Refused("the credential's id"));
    }
    Ok(id)
}

/// The challenge that a credential answers, to be checked by the caller.
pub(crate) fn challenge(credential: &Object) -> Result<Vec<u8>, Refused> {
    let data = bytes(response(credential)?, "clientDataJSON")?;
    let data: serde_json::Value = serde_json::from_slice(&data).map_err(|_| Refused("client data"))?;
    let text = data.get("challenge").and_then(serde_json::Value::as_str).ok_or(Refused("no challenge"))?;
    decode(text).ok_or(Refused("the challenge is not base64url"))
}

fn check_client_data(data: &[u8], kind: &str, expected: Expected<'_>) -> Result<(), Refused> {
    let data: serde_json::Value = serde_json::from_slice(data).map_err(|_| Refused("client data"))?;
    let text = |name: &str| data.get(name).and_then(serde_json::Value::as_str);
    if text("type") != Some(kind) {
        return Err(Refused("the ceremony"));
    }
    if text("origin") != Some(expected.origin) {
        return Err(Refused("the origin"));
    }
    let crosses = data.get("crossOrigin").is_some_and(|value| value != &serde_json::Value::Bool(false));
    if crosses || data.get("topOrigin").is_some() {
        return Err(Refused("a frame of another origin"));
    }
    Ok(())
}

struct AuthenticatorData<'a> {
    flags: u8,
    counter: u32,
    rest: &'a [u8],
}

fn read_authenticator_data<'a>(
    data: &'a [u8],
    expected: Expected<'_>,
) -> Result<AuthenticatorData<'a>, Refused> {
    let short = Refused("the authenticator's data is short");
    let (hash, rest) = data.split_at_checked(32).ok_or(short)?;
    let (flags, rest) = rest.split_first().ok_or(short)?;
    let (counter, rest) = rest.split_first_chunk::<4>().ok_or(short)?;
    if hash != digest_once(expected.relying_party.as_bytes()) {
        return Err(Refused("the relying party"));
    }
    if flags & USER_PRESENT == 0 || flags & USER_VERIFIED == 0 {
        return Err(Refused("nobody was verified"));
    }
    if flags & BACKED_UP != 0 && flags & BACKUP_ELIGIBLE == 0 {
        return Err(Refused("the backup flags"));
    }
    Ok(AuthenticatorData { flags: *flags, counter: u32::from_be_bytes(*counter), rest })
}

/// Verifies the answer to creation options, but for its challenge.
pub(crate) fn verify_creation(credential: &Object, expected: Expected<'_>) -> Result<NewCredential, Refused> {
    let id = credential_id(credential)?;
    let response = response(credential)?;
    check_client_data(&bytes(response, "clientDataJSON")?, "webauthn.create", expected)?;
    let attestation = bytes(response, "attestationObject")?;
    let attestation: Cbor =
        coset::cbor::de::from_reader(attestation.as_slice()).map_err(|_| Refused("the attestation"))?;
    let members = attestation.as_map().ok_or(Refused("the attestation"))?;
    let mut found = members.iter().filter(|(name, _)| name.as_text() == Some("authData"));
    let data = found.next().and_then(|(_, value)| value.as_bytes()).ok_or(Refused("no authData"))?;
    let data = read_authenticator_data(data, expected)?;
    if data.flags & HAS_CREDENTIAL == 0 {
        return Err(Refused("no credential"));
    }
    let short = Refused("the credential's data is short");
    let (_aaguid, rest) = data.rest.split_first_chunk::<16>().ok_or(short)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or(short)?;
    let (own_id, mut key) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or(short)?;
    if own_id != id {
        return Err(Refused("two ids"));
    }
    // Extensions may follow the key.
    let key: Cbor = coset::cbor::de::from_reader(&mut key).map_err(|_| Refused("the key"))?;
    let (algorithm, key, exponent) = public_key(key)?;
    let transports = response.get("transports").and_then(texts).unwrap_or_default();
    Ok(NewCredential {
        id,
        algorithm,
        key,
        exponent,
        counter: data.counter,
        is_backed_up: data.flags & BACKED_UP != 0,
        transports,
    })
}

fn texts(value: &Json) -> Option<Vec<String>> {
    let Json::Array(elements) = value else { return None };
    let short = elements.iter().filter_map(Json::as_str).filter(|text| text.len() <= 32).take(8);
    Some(short.map(str::to_owned).collect())
}

/// Algorithm, key in the form that `ring` reads, and exponent.
fn public_key(key: Cbor) -> Result<(i64, Vec<u8>, Vec<u8>), Refused> {
    let refused = Refused("the key's form");
    let key = CoseKey::from_cbor_value(key).map_err(|_| refused)?;
    let parameter = |label: i64| {
        let label = Label::Int(label);
        let value = key.params.iter().find(|(known, _)| *known == label);
        value.map(|(_, value)| value).ok_or(refused)
    };
    let part = |label: i64, length: usize| {
        let bytes = parameter(label)?.as_bytes().ok_or(refused)?;
        if bytes.len() == length { Ok(bytes.clone()) } else { Err(refused) }
    };
    let curve = |expected: i64| {
        let curve = parameter(-1)?.as_integer().and_then(|curve| i64::try_from(curve).ok());
        if curve == Some(expected) { Ok(()) } else { Err(refused) }
    };
    let Some(RegisteredLabelWithPrivate::Assigned(algorithm)) = key.alg.clone() else { return Err(refused) };
    match (key.kty.clone(), algorithm) {
        (KeyType::Assigned(iana::KeyType::EC2), iana::Algorithm::ES256) => {
            curve(1)?;
            let point = [&[4][..], &part(-2, 32)?, &part(-3, 32)?].concat();
            Ok((-7, point, Vec::new()))
        }
        (KeyType::Assigned(iana::KeyType::OKP), iana::Algorithm::EdDSA) => {
            curve(6)?;
            Ok((-8, part(-2, 32)?, Vec::new()))
        }
        (KeyType::Assigned(iana::KeyType::RSA), iana::Algorithm::RS256) => {
            let modulus = parameter(-1)?.as_bytes().ok_or(refused)?.clone();
            let exponent = parameter(-2)?.as_bytes().ok_or(refused)?.clone();
            // 2,048 to 8,192 bits.
            if !(256..=1_024).contains(&modulus.len()) || exponent.len() > 8 {
                return Err(refused);
            }
            Ok((-257, modulus, exponent))
        }
        _ => Err(Refused("the algorithm")),
    }
}

/// Reads the answer to request options.
pub(crate) fn read_assertion(credential: &Object) -> Result<Assertion, Refused> {
    let response = response(credential)?;
    Ok(Assertion {
        id: credential_id(credential)?,
        user: member(response, "userHandle").map(|_| bytes(response, "userHandle")).transpose()?,
        client_data: bytes(response, "clientDataJSON")?,
        authenticator_data: bytes(response, "authenticatorData")?,
        signature: bytes(response, "signature")?,
    })
}

impl Assertion {
    /// Verifies the assertion with the stored key, but for its challenge, and returns the new counter.
    pub(crate) fn verify(
        &self,
        passkey: &PasskeyBody,
        expected: Expected<'_>,
    ) -> Result<(u32, bool), Refused> {
        check_client_data(&self.client_data, "webauthn.get", expected)?;
        let data = read_authenticator_data(&self.authenticator_data, expected)?;
        let message = [&self.authenticator_data[..], &digest_once(&self.client_data)].concat();
        let verified = match passkey.algorithm {
            -7 => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, &passkey.key)
                .verify(&message, &self.signature),
            -8 => UnparsedPublicKey::new(&signature::ED25519, &passkey.key).verify(&message, &self.signature),
            -257 => RsaPublicKeyComponents { n: &passkey.key, e: &passkey.exponent }.verify(
                &signature::RSA_PKCS1_2048_8192_SHA256,
                &message,
                &self.signature,
            ),
            _ => return Err(Refused("the algorithm")),
        };
        verified.map_err(|_| Refused("the signature"))?;
        Ok((data.counter, data.flags & BACKED_UP != 0))
    }
}

/// Whether a counter says that there is a copy of the authenticator.
pub(crate) const fn is_copied(stored: u32, sent: u32) -> bool {
    (stored > 0 || sent > 0) && sent <= stored
}
