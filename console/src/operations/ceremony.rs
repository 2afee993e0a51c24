//! What browsers need to ask for passkeys and to make them, and what comes of it.

use openapi_core::json::{Json, Object, json_object};
use openapi_core::reply::ApiError;
use openapi_core::storage::{RecordChange, RecordId};
use openapi_core::values::PlatformId;
use serde_json::{Value, json};

use crate::auth::challenge::{Purpose, accept};
use crate::auth::cookies::encode;
use crate::auth::passkey::{ALGORITHMS, Refused, verify_creation};
use crate::auth::records::{PasskeyBody, Stored, unique_credential};
use crate::context::Context;

/// What a browser needs to ask for a passkey.
pub struct Ceremony {
    pub(super) options: Option<Object>,
    pub(super) methods: Vec<&'static str>,
}

json_object! { Ceremony as "Ceremony" = |ceremony| {
    "publicKey": Option<Object> {
        "description": "For `PublicKeyCredential.parseRequestOptionsFromJSON()`, or `parseCreationOptionsFromJSON()` \
            where a passkey is added; `null` without passkeys."
    } = ceremony.options,
    "methods": Vec<&'static str> = ceremony.methods,
} }

/// The options of a request for a passkey.
pub(super) fn request_options(cx: &Context<'_>, challenge: &[u8], allowed: &[Vec<u8>]) -> Option<Object> {
    let relying_party = cx.console.settings.relying_party()?;
    let allowed: Vec<Value> =
        allowed.iter().map(|id| json!({ "type": "public-key", "id": encode(id) })).collect();
    let options = json!({
        "challenge": encode(challenge),
        "rpId": relying_party,
        "timeout": crate::auth::challenge::CHALLENGE_MILLIS,
        "userVerification": "required",
        "allowCredentials": allowed,
    });
    match Json::from(&options) {
        Json::Object(options) => Some(options),
        _ => None,
    }
}

/// The options for a new passkey of an operator. Names are the page's to fill in: they only label the passkey.
pub(super) fn creation_options(
    cx: &Context<'_>,
    challenge: &[u8],
    operator: PlatformId,
    names: (&str, &str),
    known: &[Vec<u8>],
) -> Option<Object> {
    let relying_party = cx.console.settings.relying_party()?;
    let exclude: Vec<_> = known.iter().map(|id| json!({ "type": "public-key", "id": encode(id) })).collect();
    let algorithms: Vec<_> =
        ALGORITHMS.iter().map(|algorithm| json!({ "type": "public-key", "alg": algorithm })).collect();
    let options = json!({
        "challenge": encode(challenge),
        "rp": { "id": relying_party, "name": cx.platform().service_info().service_name() },
        "user": { "id": encode(operator.as_bytes()), "name": names.0, "displayName": names.1 },
        "pubKeyCredParams": algorithms,
        "timeout": crate::auth::challenge::CHALLENGE_MILLIS,
        "excludeCredentials": exclude,
        "authenticatorSelection": {
            "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
        },
        "attestation": "none",
        "extensions": { "credProps": true },
    });
    match Json::from(&options) {
        Json::Object(options) => Some(options),
        _ => None,
    }
}

/// A passkey as it is stored, from the answer to creation options, and the record of its challenge.
pub(super) fn new_passkey(
    cx: &Context<'_>,
    credential: &Object,
    purpose: Purpose,
    binding: &[u8],
    operator: PlatformId,
    name: String,
) -> Result<Vec<RecordChange>, ApiError> {
    let refuse = |Refused(reason)| cx.console.failed_attempt(cx, reason);
    let sent = crate::auth::passkey::challenge(credential).map_err(refuse)?;
    let used = accept(cx.platform(), &sent, purpose, binding);
    let used = used.ok_or_else(|| refuse(Refused("the challenge")))?;
    let new = verify_creation(credential, cx.console.expected()?).map_err(refuse)?;
    let mut id = operator.as_bytes().to_vec();
    let mut random = [0; 12];
    cx.platform().ports().ids.fill(&mut random);
    id.extend_from_slice(&random);
    let unique = unique_credential(&new.id);
    let body = PasskeyBody {
        credential: new.id,
        algorithm: new.algorithm,
        key: new.key,
        exponent: new.exponent,
        counter: new.counter,
        is_backed_up: new.is_backed_up,
        transports: new.transports,
        name,
        created_at: cx.platform().now(),
        last_used_at: None,
        is_suspect: false,
    };
    let mut passkey = Stored::new(RecordId::from_bytes(&id).ok_or_else(ApiError::internal)?, body);
    passkey.unique = Some(unique);
    Ok(vec![used.save()?, passkey.save()?])
}
