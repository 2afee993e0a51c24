//! Who calls: a person whom the host application has signed in, the operator of a session, or a service token.

use http::header;
use http::request::Parts;
use openapi_core::json::Json;
use openapi_core::reply::{ApiError, ErrorCode};

use super::cookies::Cookie;
use super::limits::{counted_address, too_many};
use super::records::{ServiceTokenBody, Stored};
use super::session::{STEP_UP_MILLIS, SignedIn};
use super::tokens::bearer;
use crate::call::Call;
use crate::context::Proof;
use crate::errors::must_set_up;
use crate::operation::{Access, Entry, Metadata};
use crate::operator::Operator;
use crate::settings::AccountSettings;
use crate::state::Inner;

/// Who calls.
pub(crate) struct Identified {
    pub(crate) operator: Operator,
    pub(crate) session: Option<SignedIn>,
    pub(crate) token: Option<Stored<ServiceTokenBody>>,
}

impl Identified {
    const fn new(operator: Operator) -> Self {
        Identified { operator, session: None, token: None }
    }

    /// What proves it; none of a person whom a host application has signed in, and of nobody.
    pub(crate) fn proof(&self) -> Option<Proof<'_>> {
        self.session.as_ref().map(Proof::Session).or(self.token.as_ref().map(Proof::Token))
    }
}

impl Inner {
    /// Whether the request carries a bearer token instead of what browsers add on their own: no page of another site can
    /// make a browser send it.
    pub(crate) fn has_bearer(&self, parts: &Parts) -> bool {
        self.settings.accounts.is_some()
            && parts.extensions.get::<Operator>().is_none()
            && bearer(parts).is_some()
    }

    /// Who calls, if that may be known and is not limited.
    pub(crate) async fn caller(
        &self,
        parts: &Parts,
        entry: &Entry,
        call: &Call,
    ) -> Result<Identified, ApiError> {
        let is_public = entry.metadata.access == Access::Public;
        if let Some(operator) = parts.extensions.get::<Operator>() {
            return Ok(Identified::new(operator.clone()));
        }
        // Whom the browser is signed in as decides nothing about where it lands.
        if entry.metadata.traits.is_landing {
            return Ok(Identified::new(Operator::nobody()));
        }
        let nobody =
            |error: ApiError| if is_public { Ok(Identified::new(Operator::nobody())) } else { Err(error) };
        let sign_in = || ApiError::new(ErrorCode::Unauthenticated, "Sign in to use the console");
        if parts.headers.contains_key(header::AUTHORIZATION) {
            return self.bearer_caller(parts, entry, call).await;
        }
        let Some(accounts) = &self.settings.accounts else { return nobody(sign_in()) };
        let now = self.platform().now();
        let (limits, from) = (&self.shared.limits, counted_address(call.address));
        let failed = |seconds| too_many("Too many failed attempts from this address", seconds);
        // A stream that is opened again by a page that nobody looks at does not prolong the session.
        let is_use = !entry.metadata.traits.is_live;
        let signed_in = match self.session(parts, accounts, call, is_use).await {
            Ok(Some(signed_in)) => signed_in,
            Ok(None) => return nobody(sign_in()),
            Err(error) if error.code() == ErrorCode::SessionEnded => {
                // Guesses of a session's secret count as failed attempts.
                limits.failures.take(from, now).map_err(failed)?;
                return nobody(error);
            }
            Err(error) => return Err(error),
        };
        let busy = |seconds| too_many("Too many requests of this session", seconds);
        limits.sessions.take(signed_in.session.id.as_bytes().to_vec(), now).map_err(busy)?;
        if signed_in.session.body.is_limited && !is_public && !entry.metadata.traits.sets_up {
            return Err(must_set_up());
        }
        let operator = signed_in.operator.clone();
        Ok(Identified { session: Some(signed_in), ..Identified::new(operator) })
    }

    /// The caller of a request with `Authorization`.
    async fn bearer_caller(&self, parts: &Parts, entry: &Entry, call: &Call) -> Result<Identified, ApiError> {
        let (accounts, sent) = self.settings.accounts.as_ref().zip(bearer(parts)).ok_or_else(|| {
            let text = "Send a service token as `Authorization: Bearer TOKEN`, or sign in with a browser";
            ApiError::new(ErrorCode::Unauthenticated, text)
        })?;
        self.refuse_two_proofs(parts, accounts)?;
        let now = self.platform().now();
        let (limits, from) = (&self.shared.limits, counted_address(call.address));
        let token = match self.token(sent, call).await {
            Ok(token) => token,
            Err(error) if matches!(error.code(), ErrorCode::Unauthenticated | ErrorCode::IpNotAllowed) => {
                let (code, request) = (error.code().as_str(), &call.request_id);
                tracing::info!(code, address = ?call.address, %request, "a service token was refused");
                let failed = |seconds| {
                    too_many("Too many requests with tokens that do not work from this address", seconds)
                };
                limits.tokens.take(from, now).map_err(failed)?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let busy = |seconds| too_many("Too many requests of this service token", seconds);
        limits.sessions.take(token.id.as_bytes().to_vec(), now).map_err(busy)?;
        if !entry.metadata.admits_tokens() {
            return Err(not_for_tokens(entry.metadata));
        }
        let operator = token.operator(call)?;
        Ok(Identified { token: Some(token), ..Identified::new(operator) })
    }

    /// Refuses a request that would have two callers.
    fn refuse_two_proofs(&self, parts: &Parts, accounts: &AccountSettings) -> Result<(), ApiError> {
        let is_single = parts.headers.get_all(header::AUTHORIZATION).iter().nth(1).is_none();
        if is_single && !Cookie::Session.is_sent(parts, &self.settings, accounts) {
            return Ok(());
        }
        let text = "Send one proof of who calls: a service token or the cookie of a session";
        Err(ApiError::new(ErrorCode::BadRequest, text))
    }

    /// Refuses an operation that can do great harm, unless a person has proved of late who they are, or the service token
    /// was made for it.
    pub(crate) async fn require_proof(&self, entry: &Entry, caller: &Identified) -> Result<(), ApiError> {
        if let Some(token) = &caller.token {
            let name = entry.metadata.name;
            if token.body.dangerous.iter().any(|known| known == name) {
                return Ok(());
            }
            let text = format!(
                "This service token was not made for {name}. Create one that names it in `dangerous`"
            );
            return Err(ApiError::new(ErrorCode::InsufficientRole, text).with_detail("operation", name));
        }
        let now = self.platform().now();
        let is_recent = |at| (0..=STEP_UP_MILLIS).contains(&now.millis_since(at));
        if caller.operator.authenticated_at.is_some_and(is_recent) {
            return Ok(());
        }
        let methods = match &caller.session {
            Some(signed_in) => self.methods_of(signed_in.account.operator_id()?).await?,
            None => Vec::new(),
        };
        let methods = Json::Array(methods.into_iter().map(Json::from).collect());
        let text = "Prove once more who you are, then send the request again";
        Err(ApiError::new(ErrorCode::StepUpRequired, text).with_detail("methods", methods))
    }
}

/// 403 of a service token: accounts, people, tokens and sign-in are for people.
fn not_for_tokens(operation: &Metadata) -> ApiError {
    let text = format!("No service token may call {}; sign in with a browser", operation.name);
    ApiError::new(ErrorCode::InsufficientRole, text).with_detail("operation", operation.name)
}
