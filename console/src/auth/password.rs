//! Passwords: argon2id, a few at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::{Algorithm, Argon2, Params, Version};
use futures_channel::oneshot;
use openapi_core::ports::IdGenerator;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::Timestamp;
use subtle::ConstantTimeEq;

use super::records::PasswordBody;
use crate::settings::{AccountSettings, PasswordCost};

/// How many passwords may be hashed or wait for it, so that they take a bounded amount of memory.
const MOST_WAITING: usize = 34;
const MIN_CHARS: usize = 12;
const MAX_CHARS: usize = 256;

/// The passwords that are being hashed.
#[derive(Default)]
pub(crate) struct Hashing(AtomicUsize);

/// Gives its slot back, also when its request is cancelled.
struct Slot(Arc<Hashing>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Hashing {
    async fn hash(
        self: &Arc<Self>,
        settings: &AccountSettings,
        cost: PasswordCost,
        password: &str,
        salt: &[u8],
    ) -> Result<[u8; 32], ApiError> {
        let slot = Slot(Arc::clone(self));
        if self.0.fetch_add(1, Ordering::AcqRel) >= MOST_WAITING {
            return Err(ApiError::new(
                ErrorCode::ServiceUnavailable,
                "Too many people sign in at this moment",
            ));
        }
        let (sender, receiver) = oneshot::channel();
        let (password, salt) = (password.to_owned(), salt.to_owned());
        settings.hasher.run(Box::new(move || {
            let _slot = slot;
            // Nobody waits any more: there is nothing to do.
            if !sender.is_canceled() {
                let _ = sender.send(argon2id(cost, password.as_bytes(), &salt));
            }
        }));
        let hash = receiver.await.map_err(|_| ApiError::unavailable())?;
        hash.ok_or_else(ApiError::internal)
    }

    /// The stored form of a password.
    pub(crate) async fn create(
        self: &Arc<Self>,
        settings: &AccountSettings,
        ids: &dyn IdGenerator,
        password: &str,
        now: Timestamp,
    ) -> Result<PasswordBody, ApiError> {
        let mut salt = vec![0; 16];
        ids.fill(&mut salt);
        let cost = settings.password_cost;
        let hash = self.hash(settings, cost, password, &salt).await?.to_vec();
        Ok(PasswordBody { memory_kib: cost.memory_kib, passes: cost.passes, salt, hash, changed_at: now })
    }

    /// Whether a password is the stored one. Without a stored one it takes as long and is not.
    pub(crate) async fn verify(
        self: &Arc<Self>,
        settings: &AccountSettings,
        stored: Option<&PasswordBody>,
        password: &str,
    ) -> Result<bool, ApiError> {
        let cost = stored.map_or(settings.password_cost, |stored| PasswordCost {
            memory_kib: stored.memory_kib,
            passes: stored.passes,
        });
        let salt = stored.map_or(&[7; 16][..], |stored| &stored.salt);
        let hash = self.hash(settings, cost, password, salt).await?;
        Ok(stored.is_some_and(|stored| stored.hash.ct_eq(&hash).into()))
    }
}

fn argon2id(cost: PasswordCost, password: &[u8], salt: &[u8]) -> Option<[u8; 32]> {
    let params = Params::new(cost.memory_kib, cost.passes, 1, Some(32)).ok()?;
    let mut hash = [0; 32];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_into(password, salt, &mut hash).ok()?;
    Some(hash)
}

/// The rule that a new password breaks.
pub(crate) fn check(password: &str, email: &str, service_name: &str) -> Result<(), ValidationIssue> {
    let refuse = |code, text: &'static str| Err(ValidationIssue::new(code, text));
    let count = password.chars().count();
    if count < MIN_CHARS {
        return refuse(ValidationCode::MinLength, "must have at least 12 characters");
    }
    if count > MAX_CHARS {
        return refuse(ValidationCode::MaxLength, "must have at most 256 characters");
    }
    let different: std::collections::HashSet<char> = password.chars().collect();
    if different.len() < 5 {
        return refuse(ValidationCode::Format, "must have at least 5 different characters");
    }
    let folded = password.to_lowercase();
    let local = email.split('@').next().unwrap_or_default().to_lowercase();
    let service = service_name.to_lowercase();
    let holds = |word: &str| word.chars().count() >= 4 && folded.contains(word);
    if holds(&local) || holds(&service) {
        return refuse(ValidationCode::Format, "must not contain your address or the name of the service");
    }
    Ok(())
}
