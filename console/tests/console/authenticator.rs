//! An authenticator in software: it makes passkeys and signs, as a browser's does.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coset::cbor::value::Value as Cbor;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What an answer contains that a test alters.
#[derive(Clone)]
pub struct Ceremony {
    pub origin: String,
    pub relying_party: String,
    pub flags: u8,
    pub kind: &'static str,
    pub cross_origin: Value,
    pub challenge: Option<String>,
    pub algorithm: i64,
}

impl Ceremony {
    pub fn create() -> Self {
        Ceremony { flags: 0x45, kind: "webauthn.create", ..Ceremony::get() }
    }

    pub fn get() -> Self {
        Ceremony {
            origin: super::support::ORIGIN.to_owned(),
            relying_party: super::support::HOST.to_owned(),
            flags: 0x05,
            kind: "webauthn.get",
            cross_origin: json!(false),
            challenge: None,
            algorithm: -7,
        }
    }
}

/// A passkey with its private key.
pub struct Authenticator {
    key: EcdsaKeyPair,
    pub id: Vec<u8>,
    pub user: Vec<u8>,
    pub counter: u32,
}

impl Authenticator {
    pub fn new(id: &[u8]) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random).unwrap();
        Authenticator { key, id: id.to_vec(), user: Vec::new(), counter: 0 }
    }

    fn client_data(ceremony: &Ceremony, options: &Value) -> Vec<u8> {
        let challenge = ceremony.challenge.clone();
        let challenge = challenge.unwrap_or_else(|| options["challenge"].as_str().unwrap().to_owned());
        let data = json!({
            "type": ceremony.kind, "challenge": challenge, "origin": ceremony.origin,
            "crossOrigin": ceremony.cross_origin,
        });
        data.to_string().into_bytes()
    }

    fn authenticator_data(&self, ceremony: &Ceremony) -> Vec<u8> {
        let hash = digest(&SHA256, ceremony.relying_party.as_bytes());
        [hash.as_ref(), &[ceremony.flags], &self.counter.to_be_bytes()].concat()
    }

    /// The answer to creation options.
    pub fn create(&mut self, options: &Value, ceremony: &Ceremony) -> Value {
        self.user = URL_SAFE_NO_PAD.decode(options["user"]["id"].as_str().unwrap()).unwrap();
        let point = self.key.public_key().as_ref();
        let int = |value: i64| Cbor::Integer(value.into());
        let cose = Cbor::Map(vec![
            (int(1), int(2)),
            (int(3), int(ceremony.algorithm)),
            (int(-1), int(1)),
            (int(-2), Cbor::Bytes(point[1..33].to_vec())),
            (int(-3), Cbor::Bytes(point[33..].to_vec())),
        ]);
        let mut data = self.authenticator_data(ceremony);
        data.extend_from_slice(&[0; 16]);
        data.extend_from_slice(&u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend_from_slice(&self.id);
        coset::cbor::ser::into_writer(&cose, &mut data).unwrap();
        let attestation = Cbor::Map(vec![
            (Cbor::Text("fmt".to_owned()), Cbor::Text("none".to_owned())),
            (Cbor::Text("attStmt".to_owned()), Cbor::Map(vec![])),
            (Cbor::Text("authData".to_owned()), Cbor::Bytes(data)),
        ]);
        let mut object = Vec::new();
        coset::cbor::ser::into_writer(&attestation, &mut object).unwrap();
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(&Self::client_data(ceremony, options)),
                "attestationObject": encode(&object),
                "transports": ["internal"],
            },
        })
    }

    /// The answer to request options.
    pub fn get(&self, options: &Value, ceremony: &Ceremony) -> Value {
        let client_data = Self::client_data(ceremony, options);
        let data = self.authenticator_data(ceremony);
        let message = [&data[..], digest(&SHA256, &client_data).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &message).unwrap();
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(&client_data), "authenticatorData": encode(&data),
                "signature": encode(signature.as_ref()), "userHandle": encode(&self.user),
            },
        })
    }
}
