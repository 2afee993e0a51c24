//! The way to a provider and back: authorization request, the cookie that waits, and the token request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Method, header};
use openapi_core::json::Json;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordId;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::discovery::{ClientAuth, Discovery};
use super::fetch;
use super::provider::{ProviderBody, id_of};
use super::seal;
use super::token::{Expected, Person, Token};
use crate::auth::cookies::{Cookie, decode, encode};
use crate::auth::records::{Stored, UsedChallengeBody, base64_text, digest, digest_once};
use crate::context::Context;
use crate::input::Member;
use crate::settings::API_PATH;
use crate::state::Inner;

/// How long a person may take at the provider: 10 minutes.
const FLOW_MILLIS: i64 = 10 * 60_000;
/// The longest path that a sign-in returns to.
const MAX_RETURN: usize = 512;
/// The longest code of a provider.
const MAX_CODE: usize = 4_096;
const COOKIE: &str = "console oidc cookie";
/// The path of the callback below the base of the API.
pub(crate) const CALLBACK: &str = "/sign-in/oidc/callback";

/// What a sign-in at a provider is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum Intent {
    /// To sign in.
    SignIn,
    /// To accept an invitation.
    Join { token: String, name: Option<String> },
    /// To prove once more, in a session, who the operator is.
    StepUp {
        #[serde(with = "base64_text")]
        session: Vec<u8>,
    },
    /// To add the provider to the ways that the operator of a session signs in.
    Link {
        #[serde(with = "base64_text")]
        session: Vec<u8>,
    },
    /// To see what the provider says about an owner.
    Try {
        #[serde(with = "base64_text")]
        session: Vec<u8>,
    },
}

/// Why an answer proves nobody.
#[derive(Debug)]
pub(super) enum Unproven {
    /// The provider or its settings fail.
    Away(String),
    /// The code or the token is wrong.
    Wrong(&'static str),
}

impl From<&'static str> for Unproven {
    fn from(reason: &'static str) -> Self {
        Unproven::Wrong(reason)
    }
}

/// A sign-in that is under way. The browser holds it in a sealed cookie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pending {
    pub(crate) intent: Intent,
    pub(crate) provider: String,
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    state: String,
    nonce: String,
    verifier: String,
    pub(crate) return_to: String,
    until: Timestamp,
}

/// The path of the page that a sign-in returns to: one of this console, whatever a browser makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnPath(pub(crate) String);

impl Member for ReturnPath {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let path = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
        let is_plain = path.bytes().all(|byte| matches!(byte, 0x21..=0x7e) && byte != b'\\' && byte != b'#');
        if path.starts_with('/') && !path.starts_with("//") && is_plain && path.len() <= MAX_RETURN {
            return Ok(ReturnPath(path.to_owned()));
        }
        let text = "must be a path of the console, such as /profile";
        Err(ValidationIssue::new(ValidationCode::Format, text))
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^/([^/]|$)", "maxLength": MAX_RETURN })
    }

    fn absent() -> Option<Self> {
        Some(ReturnPath("/".to_owned()))
    }
}

impl Inner {
    /// Where a provider leads browsers back to.
    pub(crate) fn redirect_uri(&self) -> String {
        format!("{}{}{API_PATH}{CALLBACK}", self.settings.origin, self.settings.base_path)
    }

    /// Begins a sign-in at a provider: sets the cookie, and returns the URL that the browser goes to.
    pub(crate) async fn begin_oidc(
        &self,
        cx: &Context<'_>,
        provider: &Stored<ProviderBody>,
        intent: Intent,
        ReturnPath(return_to): ReturnPath,
    ) -> Result<String, ApiError> {
        let accounts = cx.accounts()?;
        let now = self.platform().now();
        let issuer = &provider.body.issuer;
        let found = self.shared.published.discovery(self.platform(), &*self.settings.outbound, issuer).await;
        let found = found.map_err(|reason| {
            tracing::warn!(provider = id_of(provider), reason, "a provider cannot be used to sign in");
            let text = format!("{} cannot be reached now. Use another way, or try again", provider.body.name);
            ApiError::new(ErrorCode::NotPossible, text)
        })?;
        let ids = &self.platform().ports().ids;
        let random = || {
            let mut bytes = [0; 32];
            ids.fill(&mut bytes);
            encode(&bytes)
        };
        let is_step_up = matches!(intent, Intent::StepUp { .. });
        let pending = Pending {
            intent,
            provider: id_of(provider).to_owned(),
            issuer: issuer.clone(),
            client_id: provider.body.client_id.clone(),
            state: random(),
            nonce: random(),
            verifier: random(),
            return_to,
            until: now.plus_millis(FLOW_MILLIS),
        };
        let mut url = Url::parse(&found.authorization_endpoint).map_err(|_| ApiError::internal())?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &pending.client_id)
            .append_pair("redirect_uri", &self.redirect_uri())
            .append_pair("scope", &provider.body.scopes.join(" "))
            .append_pair("state", &pending.state)
            .append_pair("nonce", &pending.nonce)
            .append_pair("code_challenge", &encode(&digest_once(pending.verifier.as_bytes())))
            .append_pair("code_challenge_method", "S256");
        if is_step_up {
            url.query_pairs_mut().append_pair("prompt", "login").append_pair("max_age", "0");
        }
        let text = serde_json::to_vec(&pending).map_err(|_| ApiError::internal())?;
        let sealed = seal::seal(self.platform(), COOKIE, &text).ok_or_else(ApiError::internal)?;
        let cookie = Cookie::Oidc.set(&self.settings, accounts, &encode(&sealed), FLOW_MILLIS / 1_000);
        cx.call.add_header(header::SET_COOKIE, cookie.ok_or_else(ApiError::internal)?);
        Ok(url.into())
    }

    /// The sign-in that the browser's cookie says is under way, if `state` is its own.
    pub(super) fn pending_oidc(&self, cx: &Context<'_>, state: &str) -> Option<Pending> {
        let sealed = decode(cx.call.oidc.as_deref()?)?;
        let text = seal::open(self.platform(), COOKIE, &sealed)?;
        let pending: Pending = serde_json::from_slice(&text).ok()?;
        let is_own = bool::from(pending.state.as_bytes().ct_eq(state.as_bytes()));
        (is_own && pending.until > self.platform().now()).then_some(pending)
    }

    /// Trades a code for an ID token, and verifies it.
    pub(super) async fn oidc_person(
        &self,
        provider: &Stored<ProviderBody>,
        pending: &Pending,
        (code, issuer): (&str, Option<&str>),
    ) -> Result<Person, Unproven> {
        let (platform, outbound) = (self.platform(), &*self.settings.outbound);
        let found = self.shared.published.discovery(platform, outbound, &pending.issuer).await;
        let found = found.map_err(Unproven::Away)?;
        if issuer.is_some_and(|named| named != pending.issuer) || found.names_issuer && issuer.is_none() {
            return Err("the answer is of another issuer".into());
        }
        if code.is_empty() || code.len() > MAX_CODE {
            return Err("the answer has no code".into());
        }
        let secret = provider.secret(platform).map_err(|reason| Unproven::Away(reason.to_owned()))?;
        let token = self.exchange(&found, secret.as_deref(), pending, code).await?;
        let token = Token::read(&token)?;
        let wanted = (token.algorithm.as_str(), token.key.as_deref());
        let source = (pending.issuer.as_str(), found.jwks_uri.as_str());
        let key = self.shared.published.key(platform, outbound, source, wanted).await;
        let key = key.map_err(Unproven::Away)?;
        let key = key.ok_or("the provider has no key for the ID token")?;
        let expected = Expected {
            issuer: &pending.issuer,
            client_id: &pending.client_id,
            nonce: &pending.nonce,
            groups_claim: &provider.body.groups_claim,
            is_fresh: matches!(pending.intent, Intent::StepUp { .. }),
            // The provider had its time: the token is as old as it is now.
            now: platform.now(),
        };
        Ok(token.verify(&key, expected)?)
    }

    /// The token request.
    async fn exchange(
        &self,
        found: &Discovery,
        secret: Option<&str>,
        pending: &Pending,
        code: &str,
    ) -> Result<String, Unproven> {
        let redirect_uri = self.redirect_uri();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", &pending.verifier),
        ];
        let mut request = fetch::request(Method::POST, &pending.issuer, &found.token_endpoint);
        match (secret, found.client_auth) {
            (Some(secret), ClientAuth::Basic) => {
                // RFC 6749, section 2.3.1: both are encoded as in a form before they are joined.
                let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = STANDARD.encode(format!("{}:{}", part(&pending.client_id), part(secret)));
                let value = HeaderValue::from_str(&format!("Basic {pair}"));
                let unsent = |_| Unproven::Away("the client's secret cannot be sent".to_owned());
                let mut value = value.map_err(unsent)?;
                value.set_sensitive(true);
                request.headers.insert(header::AUTHORIZATION, value);
            }
            (Some(secret), ClientAuth::Post) => {
                form.extend([("client_id", pending.client_id.as_str()), ("client_secret", secret)]);
            }
            (None, _) => {
                form.push(("client_id", &pending.client_id));
            }
        }
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(header::CONTENT_TYPE, content_type);
        let form = Serializer::new(String::new()).extend_pairs(form).finish();
        request.body = form.into_bytes().into();
        let away = |reason: String| Unproven::Away(format!("the token endpoint: {reason}"));
        let response = fetch::send(&*self.settings.outbound, request).await.map_err(away)?;
        if fetch::refuses_code(&response) {
            return Err("the token endpoint refuses the code".into());
        }
        let answer = fetch::read(&response).map_err(away)?;
        let text = |name: &str| answer.get(name).and_then(Json::as_str);
        if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("Bearer")) {
            return Err("the token endpoint answers with another type of token".into());
        }
        Ok(text("id_token").map(str::to_owned).ok_or("the token endpoint sends no ID token")?)
    }
}

impl Pending {
    /// The record that makes the answer to this sign-in count once.
    pub(super) fn used(&self, now: Timestamp) -> Result<Stored<UsedChallengeBody>, ApiError> {
        let id = RecordId::from_bytes(&digest(&[b"console oidc", self.state.as_bytes()]));
        let body = UsedChallengeBody { used_at: now };
        let mut used = Stored::new(id.ok_or_else(ApiError::internal)?, body);
        used.due_at = Some(self.until);
        Ok(used)
    }
}
