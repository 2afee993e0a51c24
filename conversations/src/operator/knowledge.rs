//! The operator's side of the knowledge that agents answer from.

use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::audit::AuditAction;
use openapi_core::events::EventData;
use openapi_core::json::{Json, Object};
use openapi_core::storage::retry::{RetryOn, retry_on_conflict};
use openapi_core::storage::{Effects, RecordKind, StorageErrorKind};
use openapi_core::values::{AgentId, KnowledgeId};

use super::{details, lost_race};
use crate::KnowledgeDocument;
use crate::admin::{KnowledgeLimits, NewKnowledge};
use crate::conversations::Conversations;
use crate::storage::KnowledgeWrite;

/// The knowledge of agents. Changes record `by` in the audit log.
///
/// # Errors
/// Every method fails with [`AdminError::NotFound`] for an agent or document that does not exist, and with
/// [`AdminError::Storage`] when the store fails. Each method documents its other errors.
impl Conversations {
    /// The documents that an agent answers from, by title.
    pub async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, AdminError> {
        self.platform.living_agent(agent).await?;
        let mut documents = self.storage.knowledge(agent).await?;
        documents.sort_by(|a, b| (&a.title, a.id).cmp(&(&b.title, b.id)));
        Ok(documents)
    }

    /// Adds a document. It replaces those with the same `url` or the same file name.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a document without text or beyond [`KnowledgeLimits`].
    pub async fn add_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        new: NewKnowledge,
    ) -> Result<KnowledgeDocument, AdminError> {
        check(&new, self.knowledge)?;
        self.platform.living_agent(agent).await?;
        let new = &new;
        retry_on_conflict(lost_race, |_| async move {
            let record = self.storage.record(Some(agent), &RecordKind::Knowledge.into()).await?;
            let known = self.storage.knowledge(agent).await?;
            let is_replaced = |it: &&KnowledgeDocument| {
                new.url.is_some() && it.url == new.url || it.file_name == new.file_name
            };
            let replaced: Vec<&KnowledgeDocument> = known.iter().filter(is_replaced).collect();
            let staying = known.len() - replaced.len();
            let most = self.knowledge.documents;
            if staying >= most as usize {
                return Err(AdminError::Refused(format!(
                    "an agent has at most {most} documents; remove one first"
                )));
            }
            let gone: u64 = replaced.iter().map(|it| u64::from(it.passages)).sum();
            let all: u64 = known.iter().map(|it| u64::from(it.passages)).sum();
            let most = self.knowledge.passages;
            if all - gone + new.passages.len() as u64 > most {
                return Err(AdminError::Refused(format!(
                    "an agent has at most {most} passages; remove a document first"
                )));
            }
            let now = self.platform.now();
            let document = KnowledgeDocument {
                id: self.platform.ports().ids.platform_id(now).into(),
                file_name: new.file_name.clone(),
                title: new.title.clone(),
                url: new.url.clone(),
                language: new.language.clone(),
                content_type: new.content_type.clone(),
                sha256: new.sha256,
                characters: new.characters,
                pages: new.pages,
                passages: u32::try_from(new.passages.len()).unwrap_or(u32::MAX),
                created_at: replaced.first().map_or(now, |it| it.created_at),
                updated_at: now,
            };
            let mut details = Object::new();
            details.insert("fileName", new.file_name.as_str().into());
            details.insert("replaced", Json::Bool(!replaced.is_empty()));
            let (action, resource) = (AuditAction::KnowledgeAdd, document.id.to_string());
            let audit = self.platform.operator_audit(by, action, agent, &resource, &details, now);
            let gone = replaced.iter().map(|it| EventData::KnowledgeRemoved { knowledge_id: it.id });
            let emitted = gone.chain([EventData::KnowledgeAdded { knowledge_id: document.id }]);
            let events = emitted.filter_map(|data| self.platform.event(by, None, data, now)).collect();
            let write = KnowledgeWrite {
                version: record.map_or(0, |record| record.version) + 1,
                remove: replaced.iter().map(|it| it.id).collect(),
                add: Some((document.clone(), new.passages.clone())),
                effects: Effects { events, ..Effects::audited(audit) },
            };
            let changed = self.storage.change_knowledge(agent, &write).await;
            let changed = changed.retry_on(&[StorageErrorKind::Stale, StorageErrorKind::AlreadyExists])?;
            Ok(changed.map(|()| document))
        })
        .await
    }

    /// Removes a document.
    pub async fn remove_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: KnowledgeId,
    ) -> Result<KnowledgeDocument, AdminError> {
        self.platform.living_agent(agent).await?;
        retry_on_conflict(lost_race, |_| async move {
            let record = self.storage.record(Some(agent), &RecordKind::Knowledge.into()).await?;
            let known = self.storage.knowledge(agent).await?;
            let document = known.into_iter().find(|document| document.id == id);
            let document =
                document.ok_or_else(|| AdminError::NotFound { what: "document", id: id.to_string() })?;
            let now = self.platform.now();
            let details = details("fileName", document.file_name.as_str().into());
            let action = AuditAction::KnowledgeRemove;
            let write = KnowledgeWrite {
                version: record.map_or(0, |record| record.version) + 1,
                remove: vec![id],
                add: None,
                effects: Effects::audited(self.platform.operator_audit(
                    by,
                    action,
                    agent,
                    &id.to_string(),
                    &details,
                    now,
                ))
                .with_event(self.platform.event(
                    by,
                    None,
                    EventData::KnowledgeRemoved { knowledge_id: id },
                    now,
                )),
            };
            let changed = self.storage.change_knowledge(agent, &write).await;
            Ok(changed.retry_on(&[StorageErrorKind::Stale])?.map(|()| document))
        })
        .await
    }
}

/// Checks a document against the limits.
fn check(new: &NewKnowledge, limits: KnowledgeLimits) -> Result<(), AdminError> {
    let refuse = |message: String| Err(AdminError::Refused(message));
    if new.passages.iter().all(|passage| passage.text.trim().is_empty()) {
        return refuse(format!("'{}' has no text to answer from", new.file_name));
    }
    if new.characters > limits.characters {
        return refuse(format!("a document has at most {} characters", limits.characters));
    }
    if new.pages.is_some_and(|pages| pages > limits.pages) {
        return refuse(format!("a document has at most {} pages", limits.pages));
    }
    if !(1..=200).contains(&new.title.chars().count()) || new.title.chars().any(char::is_control) {
        return refuse("a title has 1 to 200 characters on one line".to_owned());
    }
    let is_web = |url: &String| {
        url.len() <= 2_000 && url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
    };
    match &new.url {
        Some(url) if !is_web(url) => refuse(format!("'{url}' is no http or https URL")),
        _ => Ok(()),
    }
}
