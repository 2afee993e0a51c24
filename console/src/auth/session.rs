//! Sessions: made by signing in, read at each request.

use http::header;
use http::request::Parts;
use openapi_core::audit::AuditAction;
use openapi_core::json::Object;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::{RecordChange, RecordId};
use openapi_core::values::{PlatformId, Timestamp};

use super::cookies::{Cookie, decode, encode};
use super::records::{OperatorBody, People, SessionBody, Stored};
use crate::call::Call;
use crate::errors::proves_nobody;
use crate::grants::Grants;
use crate::operator::Operator;
use crate::settings::AccountSettings;
use crate::state::Inner;

const COOKIE_TAG: &str = "console session";
const PAGE_TAG: &str = "console page";
/// An operator's id and 12 random bytes.
const ID_BYTES: usize = 24;
const SECRET_BYTES: usize = 32;
/// How exactly the last use of a session is stored.
const SEEN_MILLIS: i64 = 60_000;
/// How old a proof of identity may be for operations that can do great harm.
pub(crate) const STEP_UP_MILLIS: i64 = 10 * 60_000;

/// How long a session lives that can only set up a way to sign in.
const LIMITED_MILLIS: i64 = 10 * 60_000;

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInMethod {
    /// By a passkey.
    Passkey,
    /// By a password and a one-time code.
    Password,
    /// By a password that has no one-time codes yet: those that were set before codes existed.
    PasswordAlone,
    /// By a recovery code.
    RecoveryCode,
    /// At a provider, to which the person proved at this time who they are; 1970 if it does not say.
    Oidc(Timestamp),
}

impl SignInMethod {
    const fn as_str(self) -> &'static str {
        match self {
            SignInMethod::Passkey => "passkey",
            SignInMethod::Password => "password",
            SignInMethod::PasswordAlone => "passwordAlone",
            SignInMethod::RecoveryCode => "recoveryCode",
            SignInMethod::Oidc(_) => "oidc",
        }
    }

    /// Whether the session can only set up a way to sign in.
    const fn is_limited(self) -> bool {
        matches!(self, SignInMethod::PasswordAlone | SignInMethod::RecoveryCode)
    }
}

/// Actions of which the log has no other details than the way to sign in.
pub(crate) fn plain(actions: &[AuditAction]) -> Vec<(AuditAction, Object)> {
    actions.iter().map(|action| (*action, Object::new())).collect()
}

/// A session with its operator.
pub(crate) struct SignedIn {
    pub(crate) session: Stored<SessionBody>,
    pub(crate) account: Stored<OperatorBody>,
    pub(crate) operator: Operator,
}

/// The id of an operator's record.
pub(crate) fn operator_of(id: &RecordId) -> Option<PlatformId> {
    let bytes = id.as_bytes().get(..12)?;
    Some(PlatformId::from_bytes(bytes.try_into().ok()?))
}

impl SignedIn {
    /// A session of an account. One that can only set up a way to sign in has no roles.
    pub(crate) fn new(
        session: Stored<SessionBody>,
        account: Stored<OperatorBody>,
        call: &Call,
    ) -> Result<Self, ApiError> {
        let mut operator = account.operator(call)?;
        operator.authenticated_at = Some(session.body.authenticated_at);
        if session.body.is_limited {
            operator.grants = Grants::default();
        }
        Ok(SignedIn { session, account, operator })
    }
}

impl Stored<OperatorBody> {
    /// The operator's id.
    pub(crate) fn operator_id(&self) -> Result<PlatformId, ApiError> {
        operator_of(&self.id).ok_or_else(ApiError::internal)
    }

    /// The operator as operations see it.
    pub(crate) fn operator(&self, call: &Call) -> Result<Operator, ApiError> {
        let id = self.operator_id()?.to_string();
        let mut operator = Operator::new(id, self.body.name.clone(), self.body.grants.clone());
        operator.address = call.address;
        operator.is_own = true;
        Ok(operator)
    }
}

fn ended() -> ApiError {
    ApiError::new(ErrorCode::SessionEnded, "Your session has ended. Sign in again")
}

fn tagged(id: &[u8], secret: &[u8]) -> Vec<u8> {
    [id, secret].concat()
}

impl Inner {
    /// The session of a request's cookie; none without a cookie. `is_use` says whether the request prolongs it.
    pub(crate) async fn session(
        &self,
        parts: &Parts,
        accounts: &AccountSettings,
        call: &Call,
        is_use: bool,
    ) -> Result<Option<SignedIn>, ApiError> {
        let Some(cookie) = Cookie::Session.read(parts, &self.settings, accounts) else { return Ok(None) };
        let refuse = || {
            if let Some(gone) = Cookie::Session.set(&self.settings, accounts, "", 0) {
                call.add_header(header::SET_COOKIE, gone);
            }
            ended()
        };
        let read = cookie.strip_prefix("1.").and_then(|rest| rest.split_once('.'));
        let Some((id, secret)) = read.and_then(|(id, secret)| decode(id).zip(decode(secret))) else {
            return Err(refuse());
        };
        let operator = operator_of(&RecordId::from_bytes(&id).unwrap_or_default());
        let (Some(operator), ID_BYTES, SECRET_BYTES) = (operator, id.len(), secret.len()) else {
            return Err(refuse());
        };
        let people = People(self.platform());
        let key = RecordId::from_bytes(&id).unwrap_or_default();
        let Some(session) = people.get::<SessionBody>(&key).await? else { return Err(refuse()) };
        let keys = &self.platform().ports().server_keys;
        if !keys.verifies(COOKIE_TAG, &tagged(&id, &secret), &session.body.tag) {
            return Err(refuse());
        }
        if !session.body.page_tag.is_empty() {
            // Cookies ignore ports: another server of this machine may have got the cookie, but not the page's secret.
            let sent = parts.headers.get("x-console").and_then(|value| value.to_str().ok()).and_then(decode);
            let sent = tagged(&id, &sent.unwrap_or_default());
            if !keys.verifies(PAGE_TAG, &sent, &session.body.page_tag) {
                return Err(ended());
            }
        }
        let now = self.platform().now();
        let idle = now.millis_since(session.body.last_seen_at);
        if session.due_at.is_none_or(|end| end <= now) || idle >= accounts.idle_millis {
            return Err(refuse());
        }
        let account = people.get::<OperatorBody>(&operator.into()).await?;
        let Some(account) = account.filter(|account| !account.body.is_disabled) else { return Err(refuse()) };
        let session = if is_use { self.seen(session, call).await? } else { session };
        SignedIn::new(session, account, call).map(Some)
    }

    /// Notes the use of a session, at most once a minute.
    async fn seen(
        &self,
        mut session: Stored<SessionBody>,
        call: &Call,
    ) -> Result<Stored<SessionBody>, ApiError> {
        let now = self.platform().now();
        if now.millis_since(session.body.last_seen_at) < SEEN_MILLIS {
            return Ok(session);
        }
        let before = session.clone();
        session.body.last_seen_at = now;
        session.body.address = call.address;
        // Another request of the session may be faster; then it has noted the same.
        let saved = People(self.platform()).write(vec![session.save()?], Vec::new()).await?;
        if saved {
            session.version += 1;
            return Ok(session);
        }
        Ok(before)
    }

    /// Begins a session of an operator, together with other changes: all of it or nothing. The entries of `actions` add
    /// the method to their details. Returns the secret of the session's pages, on plain HTTP.
    pub(crate) async fn begin_session(
        &self,
        accounts: &AccountSettings,
        call: &Call,
        account: &Stored<OperatorBody>,
        method: SignInMethod,
        mut changes: Vec<RecordChange>,
        actions: Vec<(AuditAction, Object)>,
    ) -> Result<(SignedIn, Option<String>), ApiError> {
        let platform = self.platform();
        let (ids, keys) = (&platform.ports().ids, &platform.ports().server_keys);
        let now = platform.now();
        let operator_id = account.operator_id()?;
        let mut id = operator_id.as_bytes().to_vec();
        let (mut random, mut secret, mut page) = ([0; 12], [0; SECRET_BYTES], [0; SECRET_BYTES]);
        ids.fill(&mut random);
        ids.fill(&mut secret);
        id.extend_from_slice(&random);
        let mut page_tag = Vec::new();
        let mut page_secret = None;
        if accounts.is_plain {
            ids.fill(&mut page);
            page_tag = keys.tag(PAGE_TAG, &tagged(&id, &page)).to_vec();
            page_secret = Some(encode(&page));
        }
        let body = SessionBody {
            tag: keys.tag(COOKIE_TAG, &tagged(&id, &secret)).to_vec(),
            page_tag,
            server_key: keys.current_id().to_owned(),
            created_at: now,
            last_seen_at: now,
            authenticated_at: match method {
                SignInMethod::Oidc(at) => at.min(now),
                _ => now,
            },
            method: method.as_str().to_owned(),
            address: call.address,
            browser: call.browser.clone(),
            is_limited: method.is_limited(),
        };
        let mut session = Stored::new(RecordId::from_bytes(&id).ok_or_else(ApiError::internal)?, body);
        let life = if method.is_limited() { LIMITED_MILLIS } else { accounts.total_millis };
        session.due_at = Some(now.plus_millis(life));
        changes.push(session.save()?);
        let mut signed_in = SignedIn::new(session, account.clone(), call)?;
        let operator = &signed_in.operator;
        let actor = operator.actor();
        let people = People(platform);
        let audit = actions.into_iter().map(|(action, mut details)| {
            details.insert("method", method.as_str().into());
            people.audit(&actor, action, &operator.id, &details)
        });
        let audit = audit.collect();
        if !people.write(changes, audit).await? {
            return Err(proves_nobody());
        }
        signed_in.session.version = 1;
        let cookie = format!("1.{}.{}", encode(&id), encode(&secret));
        let seconds = accounts.total_millis / 1_000;
        if let Some(cookie) = Cookie::Session.set(&self.settings, accounts, &cookie, seconds) {
            call.add_header(header::SET_COOKIE, cookie);
        }
        if !method.is_limited() {
            self.remember_device(accounts, call, operator_id);
        }
        Ok((signed_in, page_secret))
    }

    /// Makes a session full that could only set up a way to sign in, now that there is one. Returns whether it could not
    /// do more before.
    pub(crate) fn promote(
        &self,
        own: &SignedIn,
        accounts: &AccountSettings,
        changes: &mut Vec<RecordChange>,
    ) -> Result<bool, ApiError> {
        if !own.session.body.is_limited {
            return Ok(false);
        }
        let mut session = own.session.clone();
        session.body.is_limited = false;
        session.due_at = Some(session.body.created_at.plus_millis(accounts.total_millis));
        changes.push(session.save()?);
        Ok(true)
    }

    /// A cookie by which the browser is known at the next password of this account.
    fn remember_device(&self, accounts: &AccountSettings, call: &Call, operator: PlatformId) {
        const YEAR_SECONDS: i64 = 365 * 86_400;
        if self.known_device(call, operator).is_some() {
            return;
        }
        let ports = self.platform().ports();
        let mut random = [0; 16];
        ports.ids.fill(&mut random);
        let tag = ports.server_keys.tag(DEVICE_TAG, &tagged(operator.as_bytes(), &random));
        let value = format!("{}.{}", encode(&random), encode(&tag));
        if let Some(cookie) = Cookie::Device.set(&self.settings, accounts, &value, YEAR_SECONDS) {
            call.add_header(header::SET_COOKIE, cookie);
        }
    }

    /// The random part of the cookie of a browser that has signed this operator in before.
    pub(crate) fn known_device(&self, call: &Call, operator: PlatformId) -> Option<Vec<u8>> {
        let (random, tag) = call.device.as_deref()?.split_once('.')?;
        let (random, tag) = (decode(random)?, decode(tag)?);
        let keys = &self.platform().ports().server_keys;
        keys.verifies(DEVICE_TAG, &tagged(operator.as_bytes(), &random), &tag).then_some(random)
    }
}

const DEVICE_TAG: &str = "console device";
