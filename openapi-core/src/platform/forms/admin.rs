//! The operator's actions on templates (contract 14).

use super::super::Platform;
use super::super::errors::lost_race;
use crate::access::Actor;
use crate::admin::AdminError;
use crate::audit::AuditAction;
use crate::events::EventData;
use crate::forms::{FormTemplate, TemplateDefinition, TemplateStatus};
use crate::json::Object;
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{Effects, StorageErrorKind};
use crate::values::{AgentId, TemplateId};

impl Platform {
    /// The template as it is stored.
    pub(in crate::platform) async fn stored_template(
        &self,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<FormTemplate, AdminError> {
        self.living_agent(agent).await?;
        let stored = self.storage.template(agent, template).await?;
        stored.ok_or_else(|| AdminError::NotFound { what: "template", id: template.to_string() })
    }

    /// What the audit log says of a change of a template.
    fn template_details(template: &FormTemplate) -> Object {
        let mut details = Object::new();
        details.insert("name", template.name.as_str().into());
        details.insert("version", template.version.into());
        details
    }

    /// Replaces a template with what `change` makes of it.
    async fn change_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
        action: AuditAction,
        change: impl Fn(&FormTemplate) -> Option<FormTemplate> + Sync,
    ) -> Result<FormTemplate, AdminError> {
        let change = &change;
        retry_on_conflict(lost_race, |_| async move {
            let current = self.stored_template(agent, template).await?;
            let Some(next) = change(&current) else { return Ok(Some(current)) };
            let resource = template.to_string();
            let details = Platform::template_details(&next);
            let audit = self.operator_audit(by, action, agent, &resource, &details, next.updated_at);
            let (template_id, version) = (template, next.version);
            let data = match action {
                AuditAction::TemplateActivate => EventData::TemplateActivated { template_id, version },
                AuditAction::TemplateArchive => EventData::TemplateArchived { template_id, version },
                _ => EventData::TemplateEdited { template_id, version },
            };
            let effects = Effects::audited(audit).with_event(self.event(by, None, data, next.updated_at));
            let replaced = self.storage.replace_template(agent, &next, &effects).await;
            Ok(replaced.retry_on(&[StorageErrorKind::Stale])?.map(|()| {
                // Requests from now on see the change without first running into the old version.
                self.templates.forget(|(owner, id, _)| owner == agent && *id == template);
                next
            }))
        })
        .await
    }
}

pub(in crate::platform) async fn create_template(
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    definition: &Object,
) -> Result<FormTemplate, AdminError> {
    platform.living_agent(agent).await?;
    let definition = TemplateDefinition::read(definition).map_err(AdminError::Invalid)?;
    let now = platform.now();
    let template = definition.create(platform.ports.ids.platform_id(now).into(), agent.clone(), now);
    let resource = template.id.to_string();
    let details = Platform::template_details(&template);
    let audit = platform.operator_audit(by, AuditAction::TemplateCreate, agent, &resource, &details, now);
    let data = EventData::TemplateCreated { template_id: template.id, version: template.version };
    let effects = Effects::audited(audit).with_event(platform.event(by, None, data, now));
    platform.storage.insert_template(agent, &template, &effects).await?;
    Ok(template)
}

pub(in crate::platform) async fn edit_template(
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    template: TemplateId,
    definition: &Object,
) -> Result<FormTemplate, AdminError> {
    let definition = TemplateDefinition::read(definition).map_err(AdminError::Invalid)?;
    let edit = |current: &FormTemplate| definition.clone().edit(current, platform.now());
    platform.change_template(by, agent, template, AuditAction::TemplateEdit, edit).await
}

pub(in crate::platform) async fn set_template_status(
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    template: TemplateId,
    status: TemplateStatus,
) -> Result<FormTemplate, AdminError> {
    let action = match status {
        TemplateStatus::Archived => AuditAction::TemplateArchive,
        _ => AuditAction::TemplateActivate,
    };
    let change = |current: &FormTemplate| {
        (current.status != status).then(|| FormTemplate {
            status,
            updated_at: platform.now().max(current.updated_at),
            generation: current.generation + 1,
            ..current.clone()
        })
    };
    platform.change_template(by, agent, template, action, change).await
}
