//! ID tokens: JWS in its compact form (RFC 7515) with the claims of OpenID Connect Core 1.0, section 3.1.3.7.

use openapi_core::json::{Json, Object, parse};
use openapi_core::values::Timestamp;
use subtle::ConstantTimeEq;

use super::keys::Key;
use crate::auth::cookies::decode;

/// The longest token: 64 KiB.
const MAX_TOKEN: usize = 64 * 1024;
/// How far clocks may differ.
const SKEW_MILLIS: f64 = 60_000.0;
/// How old a token may be. It answers a request of the last minutes, but some providers date it back by five.
const AGE_MILLIS: f64 = 5.0 * 60_000.0;
/// The longest identifier of a person.
const MAX_SUBJECT: usize = 255;
/// The most groups that are read, and the longest.
const MOST_GROUPS: usize = 1_000;
const MAX_GROUP: usize = 200;

/// A token that was taken apart. Nothing of it is verified.
pub(crate) struct Token<'a> {
    pub(super) algorithm: String,
    pub(super) key: Option<String>,
    message: &'a str,
    signature: Vec<u8>,
    claims: Object,
}

/// What a token has to say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// The claim that has the groups.
    pub(super) groups_claim: &'a str,
    /// Whether the person must have proved within a minute who they are.
    pub(super) is_fresh: bool,
    pub(super) now: Timestamp,
}

/// What a provider says about a person.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(super) issuer: String,
    pub(super) subject: String,
    /// Only an address that the provider has verified.
    pub(super) email: Option<String>,
    pub(super) name: Option<String>,
    pub(super) groups: Vec<String>,
    /// When the person proved who they are; 1970 if the provider does not say.
    pub(super) authenticated_at: Timestamp,
    pub(super) claims: Object,
}

fn object(part: &str, what: &'static str) -> Result<Object, &'static str> {
    let bytes = decode(part).ok_or(what)?;
    match parse(&bytes) {
        Ok(Json::Object(members)) => Ok(members),
        _ => Err(what),
    }
}

impl<'a> Token<'a> {
    /// Takes a token apart.
    pub(super) fn read(text: &'a str) -> Result<Self, &'static str> {
        if text.len() > MAX_TOKEN {
            return Err("the ID token is too long");
        }
        let (message, signature) = text.rsplit_once('.').ok_or("the form of the ID token")?;
        let (header, claims) = message.split_once('.').ok_or("the form of the ID token")?;
        let header = object(header, "the header of the ID token")?;
        let claims = object(claims, "the claims of the ID token")?;
        let word = |name: &str| header.get(name).and_then(Json::as_str).map(str::to_owned);
        // An extension that must be understood is not.
        if header.get("crit").is_some() || header.get("b64").is_some() {
            return Err("the header of the ID token has extensions");
        }
        let key = match header.get("kid") {
            None => None,
            Some(id) => Some(id.as_str().ok_or("the id of the key")?.to_owned()),
        };
        let algorithm = word("alg").ok_or("the ID token names no algorithm")?;
        let signature = decode(signature).ok_or("the signature of the ID token")?;
        Ok(Token { algorithm, key, message, signature, claims })
    }

    /// Verifies the token with the key of its header.
    pub(super) fn verify(self, key: &Key, expected: Expected<'_>) -> Result<Person, &'static str> {
        if self.algorithm != key.algorithm() {
            return Err("the algorithm of the ID token is not that of the key");
        }
        if !key.verifies(self.message.as_bytes(), &self.signature) {
            return Err("the signature of the ID token");
        }
        check(&self.claims, expected)?;
        let claims = self.claims;
        let text = |name: &str| claims.get(name).and_then(Json::as_str).map(str::to_owned);
        let subject = text("sub").filter(|subject| (1..=MAX_SUBJECT).contains(&subject.len()));
        let subject = subject.ok_or("the subject of the ID token")?;
        let is_verified = matches!(claims.get("email_verified"), Some(Json::Bool(true)));
        let groups = match claims.get(expected.groups_claim) {
            Some(Json::Array(names)) => names.iter().take(MOST_GROUPS).filter_map(Json::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        let groups = groups.into_iter().filter(|group| group.len() <= MAX_GROUP).map(str::to_owned);
        Ok(Person {
            issuer: expected.issuer.to_owned(),
            subject,
            email: text("email").filter(|_| is_verified),
            name: text("name"),
            groups: groups.collect(),
            authenticated_at: proved_at(&claims, expected.now),
            claims,
        })
    }
}

/// The milliseconds of a time in seconds, which may have a fraction.
fn time(claims: &Object, name: &str) -> Option<f64> {
    match claims.get(name)? {
        Json::Number(number) => Some(number.as_f64() * 1_000.0).filter(|millis| millis.is_finite()),
        _ => None,
    }
}

/// When the person proved who they are, not later than now.
fn proved_at(claims: &Object, now: Timestamp) -> Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "between 1970 and now")]
    let millis = time(claims, "auth_time").unwrap_or_default().clamp(0.0, now.millis() as f64) as i64;
    Timestamp::from_millis(millis)
}

fn check(claims: &Object, expected: Expected<'_>) -> Result<(), &'static str> {
    let text = |name: &str| claims.get(name).and_then(Json::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err("the issuer of the ID token");
    }
    let (is_ours, others) = match claims.get("aud") {
        Some(Json::Array(all)) => {
            let ours = all.iter().filter(|one| one.as_str() == Some(expected.client_id)).count();
            (ours > 0, all.len() > ours)
        }
        Some(one) => (one.as_str() == Some(expected.client_id), false),
        None => (false, false),
    };
    if !is_ours {
        return Err("the audience of the ID token");
    }
    let party = claims.get("azp");
    if party.is_none() && others || party.is_some_and(|party| party.as_str() != Some(expected.client_id)) {
        return Err("the authorized party of the ID token");
    }
    // Exact: milliseconds of any date have less than 53 bits.
    let now = expected.now.millis() as f64;
    let expires = time(claims, "exp").ok_or("the ID token does not say when it expires")?;
    if expires + SKEW_MILLIS <= now {
        return Err("the ID token has expired");
    }
    let issued = time(claims, "iat").ok_or("the ID token does not say when it was issued")?;
    if issued > now + SKEW_MILLIS || issued + AGE_MILLIS + SKEW_MILLIS <= now {
        return Err("the ID token was issued at another time");
    }
    if claims.get("nbf").is_some() && time(claims, "nbf").is_none_or(|from| from > now + SKEW_MILLIS) {
        return Err("the ID token is not valid yet");
    }
    let nonce = text("nonce").ok_or("the ID token has no nonce")?;
    if !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
        return Err("the nonce of the ID token");
    }
    if expected.is_fresh {
        let proved =
            time(claims, "auth_time").ok_or("the ID token does not say when the person signed in")?;
        if (now - proved).abs() > SKEW_MILLIS {
            return Err("the person did not sign in again");
        }
    }
    Ok(())
}
