//! Proofs of identity: a passkey or a password, for signing in and for step-up.

use openapi_core::json::Object;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordChange;
use openapi_core::values::PlatformId;

use super::challenge::{self, Purpose};
use super::cookies::{decode, encode};
use super::limits::{counted_address, too_many};
use super::passkey::{Expected, Refused, is_copied, read_assertion};
use super::records::{
    OperatorBody, PasskeyBody, PasswordBody, People, Stored, TotpBody, digest, unique_credential,
    unique_email,
};
use super::session::{SignedIn, operator_of};
use crate::context::Context;
use crate::errors::proves_nobody;
use crate::settings::AccountSettings;
use crate::state::Inner;

/// A passkey that was proven, with the changes that make the proof count once.
pub(crate) struct ProvenPasskey {
    pub(crate) operator: PlatformId,
    pub(crate) changes: Vec<RecordChange>,
}

/// A password that was proven. It signs in together with a one-time code.
pub(crate) struct ProvenPassword {
    pub(crate) account: Stored<OperatorBody>,
    password: PasswordBody,
    /// None for a password that was set before one-time codes existed.
    pub(crate) totp: Option<Stored<TotpBody>>,
}

/// What binds the sign-in that waits for a code: it is over when the password changes.
fn bound(operator: PlatformId, password: &PasswordBody) -> [u8; 32] {
    digest(&[operator.as_bytes(), &password.hash])
}

impl Inner {
    /// What a passkey has to answer to.
    pub(crate) fn expected(&self) -> Result<Expected<'_>, ApiError> {
        let relying_party = self.settings.relying_party().ok_or_else(proves_nobody)?;
        Ok(Expected { origin: &self.settings.origin, relying_party })
    }

    /// Counts a failed attempt of an address, and tells what it is answered.
    pub(crate) fn failed_attempt(&self, cx: &Context<'_>, reason: &'static str) -> ApiError {
        tracing::info!(reason, address = ?cx.call.address, request = %cx.call.request_id, "a proof of identity was refused");
        let now = self.platform().now();
        let busy = |seconds| too_many("Too many failed attempts from this address", seconds);
        match self.shared.limits.failures.take(counted_address(cx.call.address), now) {
            Ok(()) => proves_nobody(),
            Err(seconds) => busy(seconds),
        }
    }

    /// Refuses an address that has failed too often, before any work.
    pub(crate) fn refuse_after_failures(&self, cx: &Context<'_>) -> Result<(), ApiError> {
        let now = self.platform().now();
        let busy = |seconds| too_many("Too many failed attempts from this address", seconds);
        self.shared.limits.failures.check(counted_address(cx.call.address), now).map_err(busy)
    }

    /// Verifies the answer to request options: challenge, credential and signature.
    pub(crate) async fn proven_passkey(
        &self,
        cx: &Context<'_>,
        credential: &Object,
        purpose: Purpose,
        binding: &[u8],
    ) -> Result<ProvenPasskey, ApiError> {
        self.refuse_after_failures(cx)?;
        let refuse = |Refused(reason)| self.failed_attempt(cx, reason);
        let people = People(self.platform());
        let expected = self.expected()?;
        let sent = super::passkey::challenge(credential).map_err(refuse)?;
        let used = challenge::accept(self.platform(), &sent, purpose, binding);
        let used = used.ok_or_else(|| refuse(Refused("the challenge")))?;
        let assertion = read_assertion(credential).map_err(refuse)?;
        let found = people.by_unique::<PasskeyBody>(&unique_credential(&assertion.id)).await?;
        let mut found = found.ok_or_else(|| refuse(Refused("an unknown credential")))?;
        let operator = operator_of(&found.id).ok_or_else(ApiError::internal)?;
        if assertion.user.as_deref().is_some_and(|user| user != operator.as_bytes()) {
            return Err(refuse(Refused("the user handle")));
        }
        let (counter, is_backed_up) = assertion.verify(&found.body, expected).map_err(refuse)?;
        if is_copied(found.body.counter, counter) {
            found.body.is_suspect = true;
            tracing::warn!(operator = %operator, "the counter of a passkey went back: there may be a copy of it");
            people.write(vec![found.save()?], Vec::new()).await?;
            return Err(refuse(Refused("the counter")));
        }
        found.body.counter = counter;
        found.body.is_backed_up = is_backed_up;
        found.body.last_used_at = Some(self.platform().now());
        Ok(ProvenPasskey { operator, changes: vec![used.save()?, found.save()?] })
    }

    /// Verifies a password. An unknown address takes as long and gets the same answer.
    pub(crate) async fn proven_password(
        &self,
        cx: &Context<'_>,
        accounts: &AccountSettings,
        email: &str,
        password: &str,
    ) -> Result<ProvenPassword, ApiError> {
        let people = People(self.platform());
        let key = unique_email(email);
        let account = people.by_unique::<OperatorBody>(&key).await?;
        let operator = account.as_ref().map(Stored::operator_id).transpose()?;
        let id = operator.unwrap_or_else(|| PlatformId::from_bytes([0; 12]));
        let stored = people.get::<PasswordBody>(&id.into()).await?;
        self.count_attempt(cx, key, operator)?;
        let body = stored.as_ref().map(|stored| &stored.body);
        let fits = self.shared.hashing.verify(accounts, body, password).await?;
        match account.filter(|account| fits && !account.body.is_disabled).zip(stored) {
            Some((account, stored)) => {
                let totp = people.get::<TotpBody>(&id.into()).await?;
                Ok(ProvenPassword { account, password: stored.body, totp })
            }
            None => Err(self.failed_attempt(cx, "a password")),
        }
    }

    /// Counts a password or a recovery code that is tried for an address, and refuses too many.
    pub(super) fn count_attempt(
        &self,
        cx: &Context<'_>,
        key: [u8; 32],
        operator: Option<PlatformId>,
    ) -> Result<(), ApiError> {
        self.refuse_after_failures(cx)?;
        let (limits, now) = (&self.shared.limits, self.platform().now());
        // Guesses from elsewhere lock nobody out: a browser that was here before has a count of its own.
        let counted = match operator.and_then(|operator| self.known_device(cx.call, operator)) {
            Some(device) => digest(&[&key, &device]),
            None => key,
        };
        let busy =
            |seconds| too_many("Too many passwords or codes were tried. Wait, or use a passkey", seconds);
        limits.passwords.take(counted_address(cx.call.address), now).map_err(busy)?;
        limits.accounts.take(counted, now).map_err(busy)
    }

    /// The change that uses a one-time code up.
    pub(crate) fn proven_code(
        &self,
        cx: &Context<'_>,
        operator: PlatformId,
        mut totp: Stored<TotpBody>,
        code: &str,
    ) -> Result<RecordChange, ApiError> {
        if totp.body.accept(self.platform(), operator, code) {
            totp.save()
        } else {
            Err(self.failed_attempt(cx, "a one-time code"))
        }
    }

    /// What a client sends back with the code that a password waits for.
    pub(crate) fn pending(&self, proven: &ProvenPassword) -> Result<String, ApiError> {
        let operator = proven.account.operator_id()?;
        let challenge = challenge::issue(self.platform(), Purpose::Code, &bound(operator, &proven.password));
        Ok(encode(&[operator.as_bytes().as_slice(), &challenge].concat()))
    }

    /// Verifies the code that a password waits for.
    pub(crate) async fn proven_pending(
        &self,
        cx: &Context<'_>,
        pending: &str,
        code: &str,
    ) -> Result<(Stored<OperatorBody>, Vec<RecordChange>), ApiError> {
        self.refuse_after_failures(cx)?;
        let over =
            || ApiError::new(ErrorCode::SessionEnded, "This sign-in is over. Enter the password again");
        let pending = decode(pending).unwrap_or_default();
        let (operator, challenge) = pending.split_first_chunk::<12>().ok_or_else(over)?;
        let operator = PlatformId::from_bytes(*operator);
        let (people, id) = (People(self.platform()), operator.into());
        let password = people.get::<PasswordBody>(&id).await?.ok_or_else(over)?;
        let bound = bound(operator, &password.body);
        let used = challenge::accept(self.platform(), challenge, Purpose::Code, &bound).ok_or_else(over)?;
        let nonce = challenge::nonce(challenge).to_vec();
        self.shared.limits.codes.take(nonce, self.platform().now()).map_err(|_| over())?;
        let account = people.get::<OperatorBody>(&id).await?;
        let account = account.filter(|account| !account.body.is_disabled).ok_or_else(over)?;
        let totp = people.get::<TotpBody>(&id).await?.ok_or_else(over)?;
        let changes = vec![used.save()?, self.proven_code(cx, operator, totp, code)?];
        Ok((account, changes))
    }

    /// The ids of an operator's passkeys.
    pub(crate) async fn credentials_of(&self, operator: PlatformId) -> Result<Vec<Vec<u8>>, ApiError> {
        let passkeys = People(self.platform()).of_operator::<PasskeyBody>(operator).await?;
        Ok(passkeys.into_iter().map(|passkey| passkey.body.credential).collect())
    }

    /// How an operator can prove their identity.
    pub(crate) async fn methods_of(&self, operator: PlatformId) -> Result<Vec<&'static str>, ApiError> {
        let people = People(self.platform());
        let mut methods = Vec::new();
        if self.settings.relying_party().is_some()
            && !people.of_operator::<PasskeyBody>(operator).await?.is_empty()
        {
            methods.push("passkey");
        }
        // A password proves something together with a code alone.
        if people.get::<PasswordBody>(&operator.into()).await?.is_some()
            && people.get::<TotpBody>(&operator.into()).await?.is_some()
        {
            methods.push("password");
        }
        if !self.usable_identities(operator).await?.is_empty() {
            methods.push("oidc");
        }
        Ok(methods)
    }

    /// Ends a session of the caller, whatever its version.
    pub(crate) async fn end_session(
        &self,
        cx: &Context<'_>,
        id: &openapi_core::storage::RecordId,
        action: openapi_core::audit::AuditAction,
    ) -> Result<bool, ApiError> {
        let people = People(self.platform());
        for _ in 0..5 {
            let Some(session) = people.get::<super::records::SessionBody>(id).await? else {
                return Ok(false);
            };
            let audit = people.audit(cx.actor, action, &cx.operator.id, &Object::new());
            if people.write(vec![session.remove()], vec![audit]).await? {
                return Ok(true);
            }
        }
        Err(openapi_core::platform::concurrent_update())
    }

    /// Ends all sessions of an operator but one.
    pub(crate) async fn end_others(&self, cx: &Context<'_>, own: &SignedIn) -> Result<(), ApiError> {
        let operator = own.account.operator_id()?;
        for session in People(self.platform()).of_operator::<super::records::SessionBody>(operator).await? {
            if session.id != own.session.id {
                self.end_session(cx, &session.id, openapi_core::audit::AuditAction::OperatorEndSession)
                    .await?;
            }
        }
        Ok(())
    }
}
