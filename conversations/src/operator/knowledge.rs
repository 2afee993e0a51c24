//! The operator's side of the knowledge that agents answer from.

use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::audit::AuditAction;
use openapi_core::events::{EventData, NewEvent};
use openapi_core::json::{Json, Object};
use openapi_core::storage::retry::{RetryOn, retry_on_conflict};
use openapi_core::storage::{Effects, RecordKind, StorageErrorKind};
use openapi_core::values::{AgentId, JobId, KnowledgeId, PlatformId, Timestamp};

use super::{details, lost_race, pairs};
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
        self.put_knowledge(by, agent, new, None).await
    }

    /// Adds a page of a website, for the server that reads it. It replaces the document of the same `url` of the same
    /// website, and no other.
    ///
    /// # Errors
    /// [`AdminError::NotFound`] if this server does not read the website any more, [`AdminError::Conflict`] if a document
    /// of another origin has the same `url` or file name, and as [`Conversations::add_knowledge`].
    pub async fn add_page(
        &self,
        by: &Actor,
        agent: &AgentId,
        (website, server): (JobId, PlatformId),
        new: NewKnowledge,
    ) -> Result<KnowledgeDocument, AdminError> {
        self.put_knowledge(by, agent, new, Some((website, server))).await
    }

    async fn put_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        new: NewKnowledge,
        source: Option<(JobId, PlatformId)>,
    ) -> Result<KnowledgeDocument, AdminError> {
        check(&new, self.knowledge)?;
        let website = source.map(|(website, _)| website);
        self.platform.living_agent(agent).await?;
        let new = &new;
        retry_on_conflict(lost_race, |_| async move {
            let record = self.storage.record(Some(agent), &RecordKind::Knowledge.into()).await?;
            // After the version was read: a removal of the website raises it.
            if let Some((website, server)) = source {
                let job = self.storage.job(Some(agent), website).await?;
                let lease = job.and_then(|job| job.lease).filter(|lease| lease.owner == server);
                lease.ok_or_else(|| AdminError::NotFound { what: "website", id: website.to_string() })?;
            }
            let known = self.storage.knowledge(agent).await?;
            let replaced = replaced(&known, new, website)?;
            pairs::refuse_taught(&known, &replaced, &new.questions)?;
            refuse_excess(&known, &replaced, new, self.knowledge)?;
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
                source: website,
                questions: new.questions.clone(),
                created_at: replaced.first().map_or(now, |it| it.created_at),
                updated_at: now,
            };
            let mut details = Object::new();
            details.insert("fileName", new.file_name.as_str().into());
            details.insert("replaced", Json::Bool(!replaced.is_empty()));
            let (action, resource) = (AuditAction::KnowledgeAdd, document.id.to_string());
            let audit = self.platform.operator_audit(by, action, agent, &resource, &details, now);
            let gone = replaced.iter().filter_map(|it| self.removed_event(by, it.id, now));
            let added = EventData::KnowledgeAdded { knowledge_id: document.id };
            let events = gone.chain(self.platform.event(by, None, added, now)).collect();
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

    /// The event of a document that goes.
    pub(super) fn removed_event(&self, by: &Actor, id: KnowledgeId, now: Timestamp) -> Option<NewEvent> {
        self.platform.event(by, None, EventData::KnowledgeRemoved { knowledge_id: id }, now)
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
                .with_event(self.removed_event(by, id, now)),
            };
            let changed = self.storage.change_knowledge(agent, &write).await;
            Ok(changed.retry_on(&[StorageErrorKind::Stale])?.map(|()| document))
        })
        .await
    }
}

/// The documents that a new one replaces: those with its address or file name, of a page only those of its website; of a
/// question-and-answer pair the one with its first question.
fn replaced<'a>(
    known: &'a [KnowledgeDocument],
    new: &NewKnowledge,
    website: Option<JobId>,
) -> Result<Vec<&'a KnowledgeDocument>, AdminError> {
    let is_same = |it: &&KnowledgeDocument| match (new.questions.first(), it.questions.first()) {
        (None, None) => new.url.is_some() && it.url == new.url || it.file_name == new.file_name,
        (Some(new), Some(known)) => pairs::plain(new) == pairs::plain(known),
        _ => false,
    };
    let same: Vec<&KnowledgeDocument> = known.iter().filter(is_same).collect();
    match same.iter().find(|it| website.is_some() && it.source != website) {
        Some(other) => {
            let text = format!("the document {} '{}' has the same address or name", other.id, other.title);
            Err(AdminError::Conflict(text))
        }
        None => Ok(same),
    }
}

/// Refuses a document beyond the limits of its agent.
fn refuse_excess(
    known: &[KnowledgeDocument],
    replaced: &[&KnowledgeDocument],
    new: &NewKnowledge,
    limits: KnowledgeLimits,
) -> Result<(), AdminError> {
    let most = limits.documents;
    if known.len() - replaced.len() >= most as usize {
        let text = format!("an agent has at most {most} documents; remove one first");
        return Err(AdminError::Refused(text));
    }
    let gone: u64 = replaced.iter().map(|it| u64::from(it.passages)).sum();
    let all: u64 = known.iter().map(|it| u64::from(it.passages)).sum();
    let most = limits.passages;
    if all - gone + new.passages.len() as u64 > most {
        let text = format!("an agent has at most {most} passages; remove a document first");
        return Err(AdminError::Refused(text));
    }
    Ok(())
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
