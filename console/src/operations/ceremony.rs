//! What browsers need to ask for passkeys, and to make passkeys and one-time codes, and what comes of it.

use openapi_core::json::{Json, Object, json_object};
use openapi_core::reply::ApiError;
use openapi_core::storage::{RecordChange, RecordId};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{PlatformId, Timestamp};
use serde_json::{Value, json};

use crate::auth::challenge::{Purpose, accept};
use crate::auth::cookies::encode;
use crate::auth::passkey::{ALGORITHMS, Refused, verify_creation};
use crate::auth::password;
use crate::auth::records::{OperatorBody, PasskeyBody, People, Stored, unique_credential};
use crate::auth::totp::{self, Enrolment, Unconfirmed};
use crate::context::Context;
use crate::errors::refused;

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

/// What an authenticator app needs for one-time codes.
pub struct TotpSeed {
    secret: String,
    url: String,
    qr_path: Option<String>,
    qr_size: u32,
    enrolment: String,
    expires_at: Timestamp,
}

json_object! { TotpSeed as "TotpSeed" = |seed| {
    "secret": String { "description": "The seed in base 32, to type. Shown this once." } = seed.secret,
    "url": String { "description": "For authenticator apps: what the QR code holds." } = seed.url,
    "qrPath": Option<String> {
        "description": "The QR code as the `d` of a `path` of an SVG image; `null` where names are too long for one."
    } = seed.qr_path,
    "qrSize": u32 { "description": "The width and height of the image, without its margin." } = seed.qr_size,
    "enrolment": String { "description": "The sealed seed, to send back with its first code." } = seed.enrolment,
    "expiresAt": Timestamp = seed.expires_at,
} }

/// A new seed of an operator.
pub(super) fn new_totp(
    cx: &Context<'_>,
    operator: PlatformId,
    binding: &[u8],
    account: &str,
) -> Result<TotpSeed, ApiError> {
    let begun = Enrolment::begin(cx.platform(), operator, binding).ok_or_else(ApiError::internal)?;
    let url = totp::url(cx.platform().service_info().service_name(), account, &begun.secret);
    let (qr_path, qr_size) = totp::qr_path(&url).map_or((None, 0), |(path, size)| (Some(path), size));
    let Enrolment { sealed, secret, expires_at } = begun;
    Ok(TotpSeed { secret, url, qr_path, qr_size, enrolment: sealed, expires_at })
}

/// The changes that store a seed whose first code was sent.
pub(super) async fn confirmed_totp(
    cx: &Context<'_>,
    operator: PlatformId,
    binding: &[u8],
    (enrolment, code): (&str, &str),
) -> Result<Vec<RecordChange>, ApiError> {
    let confirmed = Enrolment::confirm(cx.platform(), (operator, binding), enrolment, code);
    let (used, body) = confirmed.map_err(|fault| match fault {
        Unconfirmed::Enrolment => {
            let issue = ValidationIssue::new(ValidationCode::Reference, "is over; begin again");
            refused("enrolment", issue)
        }
        Unconfirmed::Code => {
            let text = "is not what the app shows now; check the clocks of both devices";
            refused("code", ValidationIssue::new(ValidationCode::Reference, text))
        }
    })?;
    Ok(vec![used.save()?, People(cx.platform()).replace(operator.into(), body).await?])
}

/// The change that stores a new password.
pub(super) async fn new_password(
    cx: &Context<'_>,
    account: &Stored<OperatorBody>,
    password: &str,
) -> Result<RecordChange, ApiError> {
    let service = cx.platform().service_info().service_name();
    password::check(password, &account.body.email, service).map_err(|issue| refused("password", issue))?;
    let (ids, now) = (&*cx.platform().ports().ids, cx.platform().now());
    let body = cx.console.shared.hashing.create(cx.accounts()?, ids, password, now).await?;
    People(cx.platform()).replace(account.id.clone(), body).await
}

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
