//! What follows when a browser comes back from a provider.

use http::request::Parts;
use http::{HeaderValue, header};
use openapi_core::api::{ApiBody, Outcome};
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::{RecordChange, RecordId};

use super::flow::{CALLBACK, Intent, Pending, Unproven};
use super::identity::{IdentityBody, apply_groups, grant_details, of_provider};
use super::provider::{ProviderBody, ProviderId, Trial, id_of};
use super::token::Person;
use crate::auth::cookies::Cookie;
use crate::auth::records::{
    ATTEMPTS, LinkKind, OperatorBody, People, SessionBody, Stored, UsedChallengeBody, unique_email,
};
use crate::auth::session::{SignInMethod, SignedIn, operator_of};
use crate::call::Call;
use crate::capability::Capability;
use crate::context::Context;
use crate::grants::Grants;
use crate::input::Member;
use crate::settings::API_PATH;
use crate::state::Inner;

/// What a provider's answer has in its query, each member if it is there once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderAnswer {
    pub(crate) code: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) error: Option<String>,
}

/// How it went, in the fragment of the page that the browser goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Landed {
    /// It worked. On plain HTTP, the secret of the new session's pages.
    Done(Option<String>),
    /// The provider says why it signs nobody in.
    Denied(&'static str),
    /// There were too many failed attempts.
    Busy,
    /// Everything else, the same for all reasons: the log has the reason under the id of the request.
    Refused,
}

/// Why nothing follows. The outward answer is the same for all but the provider's own errors; the log has the reason.
enum Stop {
    /// A wrong code or token, which counts as a failed attempt.
    Wrong(&'static str),
    Refused(String),
    /// Another request was faster.
    Late,
    /// The provider's own error.
    Denied(&'static str),
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Stop::Refused(error.message().to_owned())
    }
}

impl From<Unproven> for Stop {
    fn from(unproven: Unproven) -> Self {
        match unproven {
            Unproven::Away(reason) => Stop::Refused(reason),
            Unproven::Wrong(reason) => Stop::Wrong(reason),
        }
    }
}

impl From<&'static str> for Stop {
    fn from(reason: &'static str) -> Self {
        Stop::Refused(reason.to_owned())
    }
}

/// The errors of providers that the pages explain.
const DENIALS: [&str; 6] = [
    "access_denied",
    "login_required",
    "interaction_required",
    "consent_required",
    "temporarily_unavailable",
    "server_error",
];

/// The most claims of a trial, and the longest value, in characters.
const MOST_CLAIMS: usize = 60;
const MAX_CLAIM: usize = 300;
/// Claims that say nothing about the person.
const TECHNICAL: [&str; 5] = ["nonce", "at_hash", "c_hash", "s_hash", "sid"];

impl Inner {
    /// Takes the answer of a provider, and returns the page that the browser goes to.
    pub(crate) async fn land(&self, cx: &Context<'_>, answer: ProviderAnswer) -> HeaderValue {
        if self.refuse_after_failures(cx).is_err() {
            cx.call.note_sign_in(Some(ErrorCode::RateLimitExceeded));
            return self.page(cx.call, "/sign-in", &Landed::Busy);
        }
        let state = answer.state.as_deref().unwrap_or_default();
        // Images of any page lead here too: they take no cookie, and fill nobody's counter.
        let pending = if cx.call.is_page { self.pending_oidc(cx, state) } else { None };
        let Some(pending) = pending else {
            let request = &cx.call.request_id;
            tracing::info!(%request, "the answer of a provider that this browser did not ask for was refused");
            cx.call.note_sign_in(Some(ErrorCode::Unauthenticated));
            return self.page(cx.call, "/sign-in", &Landed::Refused);
        };
        // Whatever comes of it, the cookie was for this answer.
        if let Some(accounts) = &self.settings.accounts
            && let Some(gone) = Cookie::Oidc.set(&self.settings, accounts, "", 0)
        {
            cx.call.add_header(header::SET_COOKIE, gone);
        }
        let (landed, reason) = match self.follow(cx, &pending, answer).await {
            Ok(page_secret) => (Landed::Done(page_secret), String::new()),
            Err(Stop::Denied(word)) => (Landed::Denied(word), format!("the provider says {word}")),
            Err(Stop::Refused(reason)) => (Landed::Refused, reason),
            Err(Stop::Late) => (Landed::Refused, "other requests were faster".to_owned()),
            Err(Stop::Wrong(reason)) => {
                let _ = self.failed_attempt(cx, "the answer of a provider");
                (Landed::Refused, reason.to_owned())
            }
        };
        if !reason.is_empty() {
            let request = &cx.call.request_id;
            tracing::info!(provider = pending.provider, reason, %request, "a sign-in at a provider was refused");
        }
        let goes_back = !matches!(pending.intent, Intent::SignIn | Intent::Join { .. });
        if !goes_back {
            let failure = Some(ErrorCode::Unauthenticated);
            cx.call.note_sign_in(failure.filter(|_| !matches!(landed, Landed::Done(_))));
        }
        let goes_on = goes_back || matches!(landed, Landed::Done(_));
        self.page(cx.call, if goes_on { &pending.return_to } else { "/sign-in" }, &landed)
    }

    /// Whether a request is a browser that comes back from a provider.
    pub(crate) fn is_landing(&self, parts: &Parts) -> bool {
        let own = parts.uri.path().strip_prefix(self.settings.base_path.as_str());
        let is_own = own.and_then(|path| path.strip_prefix(API_PATH)) == Some(CALLBACK);
        is_own && parts.method == http::Method::GET && self.settings.accounts.is_some()
    }

    /// The page for a browser whose answer could not be taken; another host keeps its error.
    pub(crate) fn land_failed(&self, call: &Call, error: ApiError) -> Result<Outcome, ApiError> {
        let landed = match error.code() {
            ErrorCode::MisdirectedRequest => return Err(error),
            ErrorCode::RateLimitExceeded => Landed::Busy,
            _ => Landed::Refused,
        };
        call.note_sign_in(Some(error.code()));
        let location = (header::LOCATION, self.page(call, "/sign-in", &landed));
        Ok(Outcome::Content {
            status: 303,
            headers: [location].into_iter().collect(),
            body: ApiBody::empty(),
        })
    }

    fn page(&self, call: &Call, path: &str, landed: &Landed) -> HeaderValue {
        let id = &call.request_id;
        let fragment = match landed {
            Landed::Done(None) => "done".to_owned(),
            Landed::Done(Some(secret)) => format!("done.{secret}"),
            Landed::Denied(word) => format!("{word}.{id}"),
            Landed::Busy => format!("busy.{id}"),
            Landed::Refused => format!("refused.{id}"),
        };
        let text = format!("{}{path}#oidc={fragment}", self.settings.base_path);
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("/"))
    }

    async fn follow(
        &self,
        cx: &Context<'_>,
        pending: &Pending,
        answer: ProviderAnswer,
    ) -> Result<Option<String>, Stop> {
        if let Some(error) = answer.error {
            let known = DENIALS.into_iter().find(|known| *known == error);
            return Err(Stop::Denied(known.unwrap_or("other")));
        }
        let provider = self.provider_of(pending).await?;
        let groups_claim = provider.body.groups_claim.clone();
        let code = answer.code.unwrap_or_default();
        let person = self.oidc_person(&provider, pending, (&code, answer.issuer.as_deref())).await?;
        for _ in 0..ATTEMPTS {
            // The provider took its time: what owners changed meanwhile holds.
            let provider = self.provider_of(pending).await?;
            if provider.body.groups_claim != groups_claim {
                return Err("the provider was changed or switched off".into());
            }
            let used = pending.used(self.platform().now())?;
            if People(self.platform()).get::<UsedChallengeBody>(&used.id).await?.is_some() {
                return Err("the answer was used before".into());
            }
            match self.settle(cx, pending, provider, &person, vec![used.save()?]).await {
                Err(Stop::Late) => {}
                settled => return settled,
            }
        }
        Err(Stop::Late)
    }

    /// The provider of a sign-in, while its settings are those that the browser left with.
    async fn provider_of(&self, pending: &Pending) -> Result<Stored<ProviderBody>, Stop> {
        let id = ProviderId::read(&Json::from(pending.provider.as_str()));
        let id = id.map_err(|_| "the provider")?;
        let provider = People(self.platform()).provider(&id).await?.ok_or("the provider is removed")?;
        let is_same = provider.body.issuer == pending.issuer && provider.body.client_id == pending.client_id;
        let is_on = provider.body.is_enabled || matches!(pending.intent, Intent::Try { .. });
        if is_same && is_on {
            return Ok(provider);
        }
        Err("the provider was changed or switched off".into())
    }

    async fn settle(
        &self,
        cx: &Context<'_>,
        pending: &Pending,
        provider: Stored<ProviderBody>,
        person: &Person,
        changes: Vec<RecordChange>,
    ) -> Result<Option<String>, Stop> {
        let id = id_of(&provider);
        match &pending.intent {
            Intent::SignIn => self.enter(cx, &provider, person, changes).await,
            Intent::Join { token, name } => {
                let joining = Joining { token, name: name.as_deref(), provider: &provider };
                self.join(cx, &joining, person, changes).await
            }
            Intent::StepUp { session } => self.prove(cx, (id, session), person, changes).await,
            Intent::Link { session } => self.link_identity(cx, (id, session), person, changes).await,
            Intent::Try { session } => self.note_trial(cx, session, provider, person, changes).await,
        }
    }

    /// Signs in the operator of an identity, or makes the account of an address whose domain the provider speaks for.
    async fn enter(
        &self,
        cx: &Context<'_>,
        provider: &Stored<ProviderBody>,
        person: &Person,
        mut changes: Vec<RecordChange>,
    ) -> Result<Option<String>, Stop> {
        let people = People(self.platform());
        let now = self.platform().now();
        let (mut account, mut identity) = match self.identity(person).await? {
            Some(identity) => {
                let operator = operator_of(&identity.id).ok_or("the identity")?;
                let account = people.get::<OperatorBody>(&operator.into()).await?;
                let account = account.filter(|account| !account.body.is_disabled);
                (account.ok_or("the account is disabled or removed")?, identity)
            }
            None => self.account_of_domain(&provider.body, person).await?,
        };
        let before = account.body.grants.clone();
        identity.body.last_used_at = Some(now);
        identity.body.email = person.email.clone().or(identity.body.email);
        let has_changed = apply_groups(&provider.body, person, &mut account.body, &mut identity.body);
        let is_new = account.version == 0;
        if is_new && account.body.grants.as_slice().is_empty() {
            return Err("none of the person's groups gives a role, so there is no account for them".into());
        }
        let mut actions = vec![(AuditAction::OperatorSignIn, of_provider(id_of(provider)))];
        if has_changed || is_new {
            let action = if is_new { AuditAction::OperatorCreate } else { AuditAction::OperatorGrant };
            let details = grant_details(id_of(provider), &before, &account.body.grants);
            actions.insert(0, (action, details));
            account.body.updated_at = now;
            changes.push(account.save()?);
        }
        changes.push(identity.save()?);
        self.begin(cx, &account, person, changes, actions).await
    }

    async fn begin(
        &self,
        cx: &Context<'_>,
        account: &Stored<OperatorBody>,
        person: &Person,
        changes: Vec<RecordChange>,
        actions: Vec<(AuditAction, Object)>,
    ) -> Result<Option<String>, Stop> {
        let (accounts, method) = (cx.accounts()?, SignInMethod::Oidc(person.authenticated_at));
        match self.begin_session(accounts, cx.call, account, method, changes, actions).await {
            Ok((_, page_secret)) => Ok(page_secret),
            Err(error) if error.code() == ErrorCode::Unauthenticated => Err(Stop::Late),
            Err(error) => Err(error.into()),
        }
    }

    /// A new account of a verified address. One that exists is never taken over: its operator links the provider.
    async fn account_of_domain(
        &self,
        provider: &ProviderBody,
        person: &Person,
    ) -> Result<(Stored<OperatorBody>, Stored<IdentityBody>), Stop> {
        let email =
            person.email.as_deref().ok_or("no operator has this identity, and no address is verified")?;
        let domain = email.rsplit_once('@').map(|(_, domain)| domain.to_lowercase()).unwrap_or_default();
        if !provider.domains.contains(&domain) {
            return Err("no operator has this identity, and the provider does not list its domain".into());
        }
        let email =
            openapi_core::values::Email::read(&Json::from(email)).map_err(|_| "the address")?.to_string();
        let people = People(self.platform());
        if !people.is_set_up().await? {
            return Err("there is no owner yet".into());
        }
        if people.by_unique::<OperatorBody>(&unique_email(&email)).await?.is_some() {
            return Err("an operator with this address has not linked the provider".into());
        }
        let operator = self.platform().ports().ids.platform_id(self.platform().now());
        let named = (email, name_of(person, None), Grants::default());
        let account = OperatorBody::account(operator, named, self.platform().now());
        let identity = self.new_identity(operator, person).await?;
        Ok((account, identity))
    }

    /// Accepts an invitation.
    async fn join(
        &self,
        cx: &Context<'_>,
        joining: &Joining<'_>,
        person: &Person,
        mut changes: Vec<RecordChange>,
    ) -> Result<Option<String>, Stop> {
        if self.identity(person).await?.is_some() {
            return Err("an operator has this identity already".into());
        }
        let link = self.link(joining.token).await?;
        let invitation = link.body.invitation.clone().filter(|_| link.body.kind == LinkKind::Invite);
        let invitation = invitation.ok_or("the link is no invitation")?;
        let operator = link.body.operator;
        let name = name_of(person, joining.name.or(invitation.name.as_deref()));
        let named = (invitation.email.clone(), name, invitation.grants.clone());
        let mut account = OperatorBody::account(operator, named, self.platform().now());
        let mut identity = self.new_identity(operator, person).await?;
        identity.body.last_used_at = Some(self.platform().now());
        apply_groups(&joining.provider.body, person, &mut account.body, &mut identity.body);
        changes.extend([link.remove(), account.save()?, identity.save()?]);
        changes.extend(self.author(&invitation).await?);
        let provider = id_of(joining.provider);
        let details = grant_details(provider, &Grants::default(), &account.body.grants);
        let sign_in = (AuditAction::OperatorSignIn, of_provider(provider));
        let actions = vec![(AuditAction::OperatorCreate, details), sign_in];
        self.begin(cx, &account, person, changes, actions).await
    }

    /// The session that began a sign-in at a provider, while it lives.
    async fn began(&self, cx: &Context<'_>, session: &[u8]) -> Result<SignedIn, Stop> {
        let people = People(self.platform());
        let accounts = cx.accounts()?;
        let id = RecordId::from_bytes(session).ok_or("the session")?;
        let session = people.get::<SessionBody>(&id).await?.ok_or("the session has ended")?;
        let now = self.platform().now();
        let idle = now.millis_since(session.body.last_seen_at);
        let is_over = session.due_at.is_none_or(|end| end <= now) || idle >= accounts.idle_millis;
        if is_over || session.body.is_limited {
            return Err("the session has ended".into());
        }
        let operator = operator_of(&id).ok_or("the session")?;
        let account = people.get::<OperatorBody>(&operator.into()).await?;
        let account = account.filter(|account| !account.body.is_disabled);
        Ok(SignedIn::new(session, account.ok_or("the account is disabled or removed")?, cx.call)?)
    }

    async fn write_for(
        &self,
        own: &SignedIn,
        changes: Vec<RecordChange>,
        (action, resource, details): (AuditAction, &str, Object),
    ) -> Result<Option<String>, Stop> {
        let people = People(self.platform());
        let audit = people.audit(&own.operator.actor(), action, resource, &details);
        if people.write(changes, vec![audit]).await? {
            return Ok(None);
        }
        Err(Stop::Late)
    }

    /// Proves once more who the operator of a session is.
    async fn prove(
        &self,
        cx: &Context<'_>,
        (provider, session): (&str, &[u8]),
        person: &Person,
        mut changes: Vec<RecordChange>,
    ) -> Result<Option<String>, Stop> {
        let mut own = self.began(cx, session).await?;
        let identity = self.identity(person).await?.ok_or("no operator has this identity")?;
        if operator_of(&identity.id) != operator_of(&own.account.id) {
            return Err("another operator has this identity".into());
        }
        own.session.body.authenticated_at = self.platform().now();
        changes.push(own.session.save()?);
        let mut details = of_provider(provider);
        details.insert("method", Json::from("oidc"));
        self.write_for(&own, changes, (AuditAction::OperatorStepUp, &own.operator.id, details)).await
    }

    /// Adds an identity to the ways that the operator of a session signs in.
    async fn link_identity(
        &self,
        cx: &Context<'_>,
        (provider, session): (&str, &[u8]),
        person: &Person,
        mut changes: Vec<RecordChange>,
    ) -> Result<Option<String>, Stop> {
        let own = self.began(cx, session).await?;
        let operator = own.account.operator_id()?;
        if self.identity(person).await?.is_some() {
            return Err("an operator has this identity already".into());
        }
        changes.push(self.new_identity(operator, person).await?.save()?);
        // An operator who is removed at this moment is not linked any more: the removal meets the link here.
        changes.push(own.account.save()?);
        let mut details = of_provider(provider);
        details.insert("change", Json::from("provider linked"));
        self.write_for(&own, changes, (AuditAction::OperatorMethod, &own.operator.id, details)).await
    }

    /// Notes what the provider says about an owner.
    async fn note_trial(
        &self,
        cx: &Context<'_>,
        session: &[u8],
        mut provider: Stored<ProviderBody>,
        person: &Person,
        mut changes: Vec<RecordChange>,
    ) -> Result<Option<String>, Stop> {
        let own = self.began(cx, session).await?;
        if own.operator.grants.installation_reach(Capability::SignInManage).is_none() {
            return Err("the person no longer manages how operators sign in".into());
        }
        let shown = person.claims.iter().filter(|(name, _)| !TECHNICAL.contains(name)).take(MOST_CLAIMS);
        let cut = |text: &str| text.chars().take(MAX_CLAIM).collect::<String>();
        let claims = shown.map(|(name, value)| (cut(name), cut(&value.to_text()))).collect();
        provider.body.trial = Some(Trial { at: self.platform().now(), claims });
        changes.push(provider.save()?);
        let id = id_of(&provider);
        self.write_for(&own, changes, (AuditAction::ProviderTry, id, Object::new())).await
    }
}

/// An invitation that is accepted.
struct Joining<'a> {
    token: &'a str,
    name: Option<&'a str>,
    provider: &'a Stored<ProviderBody>,
}

/// The longest name of an operator.
const MAX_NAME: usize = 100;

/// The name of a person: the one that was chosen, that of the provider, or the begin of the address.
fn name_of(person: &Person, chosen: Option<&str>) -> String {
    let at_provider = person.name.as_deref().filter(|name| !name.trim().is_empty());
    let of_address = || person.email.as_deref().and_then(|email| email.split('@').next());
    let name = chosen.or(at_provider).or_else(of_address).unwrap_or("Operator");
    let printable = name.chars().filter(|letter| !letter.is_control());
    printable.take(MAX_NAME).collect::<String>().trim().to_owned()
}
