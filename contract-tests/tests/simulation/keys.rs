//! Keys: the operator rotates and changes them, and sees that this holds everywhere 5 seconds later.

use openapi_core::access::{Action, Key, KeySelector, Permission, Permissions, Scope};
use openapi_core::admin::{Admin, AdminError, IssuedKey, KeyEdit};
use openapi_core::audit::AuditAction;

use crate::clients::Ask;
use crate::operator::Operator;
use crate::service::Server;
use crate::tenant::operator;

/// How long a change of a key may take until it holds everywhere, in milliseconds.
const EVERYWHERE: u64 = 5_000;

impl Operator {
    /// Gives a key a new secret: the old one ends at once.
    pub async fn rotate(&self) {
        let count = self.tenant.keys.lock().len() as u64;
        let last = count - 1;
        let number = if self.simulation().one_in(2) { last } else { self.simulation().below(last) } as usize;
        let old = self.tenant.keys.lock()[number].clone();
        let issued: IssuedKey = self
            .until_done(&old.0, AuditAction::KeyRotate, |server, key| async move {
                server.platform.rotate_key(&operator(), &key, 0).await
            })
            .await;
        self.tenant.keys.lock()[number].1 = issued.secret.expose().to_owned();
        self.simulation().sleep(EVERYWHERE).await;
        let status = self.ask_as(&old).await;
        assert!(matches!(status, None | Some(401 | 429 | 503)), "an ended secret gets {status:?}");
        if number == last as usize {
            self.see_permission().await;
        }
    }

    /// Allows the key that nobody uses to create contacts, or forbids it if it may.
    pub async fn permit(&self) {
        let may_create = !*self.tenant.may_create.lock();
        let reads = Permissions::from_iter([Permission::new(Scope::Contacts, Action::Read)]);
        let permissions = Some(if may_create { Permissions::all() } else { reads });
        let edit = KeyEdit { permissions, ..KeyEdit::default() };
        let key = self.tenant.keys.lock().last().expect("a key").0.clone();
        let _: Key = self
            .until_done(&key, AuditAction::KeyEdit, |server, key| {
                let edit = edit.clone();
                async move { server.platform.edit_key(&operator(), &key, edit).await }
            })
            .await;
        *self.tenant.may_create.lock() = may_create;
        self.simulation().sleep(EVERYWHERE).await;
        self.see_permission().await;
    }

    async fn see_permission(&self) {
        let may_create = *self.tenant.may_create.lock();
        let credentials = self.tenant.keys.lock().last().expect("a key").clone();
        let status = self.ask_as(&credentials).await;
        // A contact without members is invalid, and permissions come first.
        let expected = if may_create { 400 } else { 403 };
        assert!(
            matches!(status, None | Some(429 | 503)) || status == Some(expected),
            "a key that may create: {may_create} gets {status:?}"
        );
    }

    async fn ask_as(&self, credentials: &(String, String)) -> Option<u16> {
        let path = format!("/contacts/chatbots/{}", self.tenant.agent);
        let ask = Ask { body: "{}".into(), ..Ask::new("POST", &path) };
        let answer = self.service.ask(ask.request(credentials, [192, 0, 2, 2])).await;
        let status = answer.map(|(status, _)| status.as_u16());
        self.simulation().note(format!("{} with a changed key: {status:?}", self.tenant.agent));
        status
    }

    /// Changes a key again and again until that is acknowledged.
    async fn until_done<T: Send + 'static, F>(
        &self,
        key: &str,
        action: AuditAction,
        change: impl Fn(std::sync::Arc<Server>, KeySelector) -> F + Send,
    ) -> T
    where
        F: Future<Output = Result<T, AdminError>> + Send + 'static,
    {
        loop {
            let key: KeySelector = key.parse().expect("a key");
            let done = self.service.on_server(|server| change(server, key)).await;
            self.tenant.note(action, matches!(done, Some(Ok(_))));
            if let Some(Ok(changed)) = done {
                self.simulation().note(format!("{} {}", self.tenant.agent, action.as_str()));
                return changed;
            }
            self.simulation().sleep(1_000).await;
        }
    }
}
