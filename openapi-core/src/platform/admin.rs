//! The implementation of the operator's actions over the storage ports.

use async_trait::async_trait;

use super::errors::lost_race;
use super::{Platform, contacts, extraction, forms, keys};
use crate::access::{Actor, Caller, Key, KeySelector, KeyStatus, Permissions};
use crate::admin::{Admin, AdminError, CreditChange, Imported, IssuedKey, KeyEdit, NewAgent, NewKey};
use crate::agents::{Agent, AgentStatus};
use crate::audit::{AuditAction, ChainedEntry, Origin};
use crate::contacts::{Contact, ContactRef};
use crate::credits::{CreditAccount, CreditEntry};
use crate::events::EventData;
use crate::forms::{FormDataRevision, FormTemplate, Submission, TemplateStatus, TemplateSummary};
use crate::json::{Json, Object};
use crate::schema::ContactSchema;
use crate::service::{ContactTarget, CreateContact, Created, UpdateContact, Updated, Upsert};
use crate::storage::retry::retry_on_conflict;
use crate::storage::{
    AuditQuery, ContactFilter, ContactQuery, ContactSort, Effects, ErasureState, LedgerQuery, Order,
    SortPosition, StorageErrorKind, StoredDocument, SubmissionFilter, SubmissionPosition, SubmissionQuery,
    TemplatePosition, TemplateQuery, Window,
};
use crate::values::{AgentId, FileId, Line, SubmissionId, TemplateId};

/// Rows that one step of a purge removes, so that no step holds the store for long.
const PURGE_ROWS: u32 = 1_000;

impl Platform {
    /// An agent that is not deleted.
    ///
    /// # Errors
    /// [`AdminError::NotFound`] without such an agent, and when the store fails.
    pub async fn living_agent(&self, id: &AgentId) -> Result<Agent, AdminError> {
        let agent = self.storage.agent(id).await?.filter(|agent| agent.status != AgentStatus::Deleted);
        agent.ok_or_else(|| AdminError::NotFound { what: "agent", id: id.to_string() })
    }

    /// Replaces the contact schema of an agent if its version is the `expected` one; none if it is another one.
    ///
    /// # Errors
    /// As [`Admin::replace_contact_schema`].
    pub async fn replace_schema(
        &self,
        by: &Actor,
        agent: &AgentId,
        definition: &Object,
        expected: Option<u64>,
    ) -> Result<Option<ContactSchema>, AdminError> {
        retry_on_conflict(lost_race, |_| async move {
            let now = self.now();
            let current = Admin::contact_schema(self, agent).await?;
            if expected.is_some_and(|expected| expected != current.version) {
                return Ok(Some(None));
            }
            let schema =
                current.redefined(definition, &self.service_info, now).map_err(AdminError::Invalid)?;
            let unchanged =
                ContactSchema { version: current.version, updated_at: current.updated_at, ..schema.clone() };
            if unchanged == current {
                return Ok(Some(Some(current)));
            }
            let mut details = Object::new();
            details.insert("version", schema.version.into());
            let action = AuditAction::ContactSchemaReplace;
            let audit = self.operator_audit(by, action, agent, agent.as_str(), &details, now);
            let event =
                self.event(by, None, EventData::ContactSchemaReplaced { version: schema.version }, now);
            let effects = Effects::audited(audit).with_event(event);
            match self.storage.replace_contact_schema(agent, &schema, &effects).await {
                Ok(()) => {
                    // Writes from now on are checked against the new version without first running into the old one.
                    let _ = self.remember_schema(schema.clone(), now);
                    Ok(Some(Some(schema)))
                }
                Err(error) => match error.kind {
                    StorageErrorKind::Stale => Ok(None),
                    StorageErrorKind::Duplicate(found) => {
                        let holder = if found.archived { "archived contact" } else { "contact" };
                        Err(AdminError::Conflict(format!(
                            "{} cannot become unique: the {holder} {} shares its value with another one",
                            found.field, found.existing
                        )))
                    }
                    _ => Err(error.into()),
                },
            }
        })
        .await
    }

    async fn set_agent_status(
        &self,
        by: &Actor,
        id: &AgentId,
        status: AgentStatus,
    ) -> Result<Agent, AdminError> {
        let mut agent = self.living_agent(id).await?;
        if agent.status == status {
            return Ok(agent);
        }
        let now = self.now();
        agent.status = status;
        agent.updated_at = now;
        let action = match status {
            AgentStatus::Active => AuditAction::AgentEnable,
            AgentStatus::Disabled => AuditAction::AgentDisable,
            AgentStatus::Deleted => AuditAction::AgentDelete,
        };
        let audit = self.operator_audit(by, action, id, id.as_str(), &Object::new(), now);
        let data = match status {
            AgentStatus::Active => Some(EventData::AgentEnabled {}),
            AgentStatus::Disabled => Some(EventData::AgentDisabled {}),
            // The log ends with its agent.
            AgentStatus::Deleted => None,
        };
        let event = data.and_then(|data| self.event(by, None, data, now));
        self.storage.update_agent(&agent, &Effects::audited(audit).with_event(event)).await?;
        self.authenticator.forget(id);
        Ok(agent)
    }

    /// Removes contents that have become due. What cannot be removed now stays due, for the maintenance.
    async fn purge_now(&self) {
        if let Err(error) = self.purge_due_contents().await {
            tracing::warn!(%error, "failed to remove file contents; retrying later");
        }
    }

    /// The caller as which an operator acts.
    #[must_use]
    pub fn operator(&self, by: &Actor, agent: &AgentId) -> Caller {
        let Origin { address, request_id } = Origin::current();
        let (agent_id, actor) = (agent.clone(), by.clone());
        Caller { agent_id, actor, permissions: Permissions::all(), address, request_id }
    }
}

/// The part of a list after a position, or from its beginning.
fn window_after<P>(after: Option<P>, limit: u32) -> Window<P> {
    match after {
        Some(position) => Window::After { position, limit },
        None => Window::Page { offset: 0, limit },
    }
}

#[async_trait]
impl Admin for Platform {
    async fn create_agent(&self, by: &Actor, new: NewAgent) -> Result<Agent, AdminError> {
        let now = self.now();
        let given = new.id.is_some();
        let id = new.id.unwrap_or_else(|| self.ports.ids.platform_id(now).into());
        let agent =
            Agent { id, name: new.name, status: AgentStatus::Active, created_at: now, updated_at: now };
        let schema = ContactSchema::builtin(agent.id.clone(), now);
        let action = AuditAction::AgentCreate;
        let audit = self.operator_audit(by, action, &agent.id, agent.id.as_str(), &Object::new(), now);
        match self.storage.insert_agent(&agent, &schema, &Effects::audited(audit)).await {
            Ok(()) => Ok(agent),
            Err(error) if given && error.kind == StorageErrorKind::AlreadyExists => {
                Err(AdminError::Conflict(format!(
                    "the id '{}' is or was an agent's; ids are never given twice",
                    agent.id
                )))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn agents(&self) -> Result<Vec<Agent>, AdminError> {
        Ok(self.storage.agents().await?)
    }

    async fn agent(&self, id: &AgentId) -> Result<Agent, AdminError> {
        self.living_agent(id).await
    }

    async fn rename_agent(&self, by: &Actor, id: &AgentId, name: Line<100>) -> Result<Agent, AdminError> {
        let now = self.now();
        let agent = Agent { name, updated_at: now, ..self.living_agent(id).await? };
        let audit = self.operator_audit(by, AuditAction::AgentRename, id, id.as_str(), &Object::new(), now);
        self.storage.update_agent(&agent, &Effects::audited(audit)).await?;
        Ok(agent)
    }

    async fn disable_agent(&self, by: &Actor, id: &AgentId) -> Result<Agent, AdminError> {
        self.set_agent_status(by, id, AgentStatus::Disabled).await
    }

    async fn enable_agent(&self, by: &Actor, id: &AgentId) -> Result<Agent, AdminError> {
        self.set_agent_status(by, id, AgentStatus::Active).await
    }

    async fn delete_agent(&self, by: &Actor, id: &AgentId) -> Result<Agent, AdminError> {
        // A deletion that was interrupted goes on where it stopped.
        let agent = match self.storage.agent(id).await? {
            Some(agent) if agent.status == AgentStatus::Deleted => agent,
            _ => self.set_agent_status(by, id, AgentStatus::Deleted).await?,
        };
        self.announce_deletion(id);
        while self.storage.purge_agent(id, PURGE_ROWS).await? > 0 {}
        self.purge_now().await;
        Ok(agent)
    }

    async fn create_key(&self, by: &Actor, key: NewKey) -> Result<IssuedKey, AdminError> {
        keys::create(self, by, key).await
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<Key>, AdminError> {
        self.living_agent(agent).await?;
        Ok(self.storage.keys(agent).await?.into_iter().map(|stored| stored.key).collect())
    }

    async fn key(&self, key: &KeySelector) -> Result<Key, AdminError> {
        Ok(keys::find(self, key).await?.key)
    }

    async fn edit_key(&self, by: &Actor, key: &KeySelector, edit: KeyEdit) -> Result<Key, AdminError> {
        keys::edit(self, by, key, &edit).await
    }

    async fn rotate_key(
        &self,
        by: &Actor,
        key: &KeySelector,
        grace_millis: u64,
    ) -> Result<IssuedKey, AdminError> {
        keys::rotate(self, by, key, grace_millis).await
    }

    async fn disable_key(&self, by: &Actor, key: &KeySelector) -> Result<Key, AdminError> {
        keys::set_status(self, by, key, KeyStatus::Disabled).await
    }

    async fn enable_key(&self, by: &Actor, key: &KeySelector) -> Result<Key, AdminError> {
        keys::set_status(self, by, key, KeyStatus::Active).await
    }

    async fn revoke_key(&self, by: &Actor, key: &KeySelector) -> Result<Key, AdminError> {
        keys::set_status(self, by, key, KeyStatus::Revoked).await
    }

    async fn contact_schema(&self, agent: &AgentId) -> Result<ContactSchema, AdminError> {
        let schema = self.storage.contact_schema(agent).await?;
        schema.ok_or_else(|| AdminError::NotFound { what: "agent", id: agent.to_string() })
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>, AdminError> {
        self.living_agent(agent).await?;
        Ok(self.storage.contact_schema_history(agent).await?)
    }

    async fn replace_contact_schema(
        &self,
        by: &Actor,
        agent: &AgentId,
        definition: &Object,
    ) -> Result<ContactSchema, AdminError> {
        self.replace_schema(by, agent, definition, None).await?.ok_or_else(lost_race)
    }

    async fn import_contact(
        &self,
        by: &Actor,
        agent: &AgentId,
        contact: &Object,
    ) -> Result<Imported, AdminError> {
        self.living_agent(agent).await?;
        let caller = self.operator(by, agent);
        let external = contact.get("externalReferenceId").filter(|id| **id != Json::Null);
        let Some(Json::String(external)) = external else {
            let request = CreateContact { fields: contact.clone().into(), dry_run: false, idempotency: None };
            return match contacts::create(self, &caller, request).await {
                Ok(Created::New(contact) | Created::Preview(contact)) => Ok(Imported::Created(contact)),
                Ok(Created::Replayed(_)) => {
                    Err(AdminError::Conflict("the import was answered before".to_owned()))
                }
                Err(error) => Err(AdminError::from(&error)),
            };
        };
        let target = ContactTarget::External(external.clone());
        let before = contacts::find(self, agent, &target).await.ok();
        let request = UpdateContact {
            target,
            fields: contact.clone().into(),
            if_match: None,
            upsert: Some(Upsert::CreateOrUpdate),
        };
        match contacts::update(self, &caller, request).await.map_err(|error| AdminError::from(&error))? {
            Updated::Created(contact) => Ok(Imported::Created(contact)),
            Updated::Changed { value, .. }
                if before.is_some_and(|before| before.version == value.version) =>
            {
                Ok(Imported::Unchanged(value))
            }
            Updated::Changed { value, .. } => Ok(Imported::Updated(value)),
        }
    }

    async fn export_contacts(
        &self,
        agent: &AgentId,
        after: Option<SortPosition>,
        limit: u32,
    ) -> Result<Vec<Contact>, AdminError> {
        self.living_agent(agent).await?;
        let window = window_after(after, limit);
        let filter = ContactFilter { include_archived: true, ..ContactFilter::default() };
        let query = ContactQuery { filter, sort: ContactSort::CreatedAt, order: Order::Ascending, window };
        Ok(self.storage.contacts(agent, &query).await?.contacts)
    }

    async fn erase_contact(
        &self,
        by: &Actor,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Contact, AdminError> {
        self.living_agent(agent).await?;
        let not_found = || AdminError::NotFound { what: "contact", id: contact.to_string() };
        let erased = self.storage.contact(agent, contact).await?.ok_or_else(not_found)?;
        let (action, now) = (AuditAction::ContactErase, self.now());
        let audit = self.operator_audit(by, action, agent, &erased.id.to_string(), &Object::new(), now);
        let data = EventData::ContactErased { contact_id: erased.id };
        let effects = Effects::audited(audit).with_event(self.event(by, Some(erased.id), data, now));
        match self.storage.erase_contact(agent, erased.id, now, &effects).await {
            Ok(()) => {
                self.purge_now().await;
                Ok(erased.into_contact())
            }
            Err(error) if error.kind == StorageErrorKind::Missing => Err(not_found()),
            Err(error) => Err(error.into()),
        }
    }

    async fn complete_erasures(&self) -> Result<ErasureState, AdminError> {
        Ok(self.storage.complete_erasures().await?)
    }

    async fn create_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        definition: &Object,
    ) -> Result<FormTemplate, AdminError> {
        forms::create_template(self, by, agent, definition).await
    }

    async fn edit_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
        definition: &Object,
    ) -> Result<FormTemplate, AdminError> {
        forms::edit_template(self, by, agent, template, definition).await
    }

    async fn activate_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<FormTemplate, AdminError> {
        forms::set_template_status(self, by, agent, template, TemplateStatus::Active).await
    }

    async fn archive_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<FormTemplate, AdminError> {
        forms::set_template_status(self, by, agent, template, TemplateStatus::Archived).await
    }

    async fn templates(
        &self,
        agent: &AgentId,
        after: Option<TemplatePosition>,
        limit: u32,
    ) -> Result<Vec<TemplateSummary>, AdminError> {
        self.living_agent(agent).await?;
        let query = TemplateQuery { only_active: false, window: window_after(after, limit) };
        Ok(self.storage.templates(agent, &query).await?.templates)
    }

    async fn template(&self, agent: &AgentId, template: TemplateId) -> Result<FormTemplate, AdminError> {
        self.stored_template(agent, template).await
    }

    async fn submissions(
        &self,
        agent: &AgentId,
        filter: &SubmissionFilter,
        after: Option<SubmissionPosition>,
        limit: u32,
    ) -> Result<Vec<Submission>, AdminError> {
        self.living_agent(agent).await?;
        let query = SubmissionQuery { filter: filter.clone(), window: window_after(after, limit) };
        Ok(self.storage.submissions(agent, &query).await?.submissions)
    }

    async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<(Submission, Vec<FormDataRevision>), AdminError> {
        self.living_agent(agent).await?;
        let stored = self.storage.submission(agent, submission).await?;
        let stored =
            stored.ok_or_else(|| AdminError::NotFound { what: "submission", id: submission.to_string() })?;
        Ok((stored, self.storage.form_data_revisions(agent, submission).await?))
    }

    async fn credits(&self, agent: &AgentId) -> Result<CreditAccount, AdminError> {
        extraction::credits_of(self, agent).await
    }

    async fn change_credits(
        &self,
        by: &Actor,
        agent: &AgentId,
        change: &CreditChange,
    ) -> Result<CreditAccount, AdminError> {
        extraction::change_credits(self, by, agent, change).await
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>, AdminError> {
        self.living_agent(&query.agent).await?;
        Ok(self.storage.credit_entries(query).await?)
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, AdminError> {
        self.living_agent(agent).await?;
        Ok(self.storage.documents(agent, after, limit).await?)
    }

    async fn document(
        &self,
        agent: &AgentId,
        document: FileId,
    ) -> Result<(StoredDocument, Vec<u8>), AdminError> {
        extraction::document(self, agent, document).await
    }

    async fn purge_files(&self, by: &Actor, agent: &AgentId) -> Result<u64, AdminError> {
        self.living_agent(agent).await?;
        let now = self.now();
        let action = AuditAction::FilePurge;
        let audit = self.operator_audit(by, action, agent, agent.as_str(), &Object::new(), now);
        let hastened = self.storage.expedite_purges(agent, now, &Effects::audited(audit)).await?;
        self.purge_due_contents().await?;
        Ok(hastened)
    }

    async fn audit(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>, AdminError> {
        Ok(self.storage.audit_entries(query).await?)
    }
}
