//! Form templates and submissions.

pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod templates;
pub(crate) mod write;

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::storage::{
    FormStore, LatestQuery, StorageError, SubmissionChange, SubmissionPage, SubmissionQuery,
    SubmissionsWrite, TemplatePage, TemplateQuery,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};

#[cfg(test)]
pub(crate) use read::{find as find_submissions, newest};
#[cfg(test)]
pub(crate) use templates::find as find_templates;
pub(crate) use write::erase_of;

use crate::error::Result;
use crate::transaction::Transaction;
use crate::{MongoStorage, files};

#[async_trait]
impl FormStore for MongoStorage {
    async fn template(
        &self,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<Option<FormTemplate>, StorageError> {
        Ok(self.handle.read(templates::current(&self.handle, agent, template)).await?)
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>, StorageError> {
        Ok(self.handle.read(templates::at_version(&self.handle, agent, template, version)).await?)
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage, StorageError> {
        Ok(self.handle.list(templates::page(&self.handle, agent, query)).await?)
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), template.clone(), audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, template, audit)| {
                Box::pin(templates::insert(tx, agent, template, audit))
            })
            .await
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), template.clone(), audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, template, audit)| {
                Box::pin(templates::replace(tx, agent, template, audit))
            })
            .await
    }

    async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Option<Submission>, StorageError> {
        Ok(self.handle.read(read::one(&self.handle, agent, submission)).await?)
    }

    async fn submissions(
        &self,
        agent: &AgentId,
        query: &SubmissionQuery,
    ) -> Result<SubmissionPage, StorageError> {
        Ok(self.handle.list(read::page(&self.handle, agent, query)).await?)
    }

    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>, StorageError> {
        Ok(self.handle.read(read::head(&self.handle, agent, contact, template)).await?)
    }

    async fn latest_submission(
        &self,
        agent: &AgentId,
        query: &LatestQuery,
    ) -> Result<Option<Submission>, StorageError> {
        Ok(self.handle.read(read::latest(&self.handle, agent, query)).await?)
    }

    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>, StorageError> {
        Ok(self.handle.read(files::of_contact(&self.handle, agent, contact, files)).await?)
    }

    async fn insert_submissions(
        &self,
        agent: &AgentId,
        write: &SubmissionsWrite,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), write.clone());
        self.writer.write(agent, input, |tx, (agent, write)| Box::pin(write::insert(tx, agent, write))).await
    }

    async fn update_submission(
        &self,
        agent: &AgentId,
        change: &SubmissionChange,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), change.clone());
        self.writer
            .write(agent, input, |tx, (agent, change)| Box::pin(write::update(tx, agent, change)))
            .await
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>, StorageError> {
        Ok(self.handle.list(read::revisions(&self.handle, agent, submission)).await?)
    }
}

/// Removes up to `at_most` submissions, then templates of a deleted agent and returns how many.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let removed = write::purge(tx, agent, at_most).await?;
    let left = u32::try_from(u64::from(at_most).saturating_sub(removed)).unwrap_or(u32::MAX);
    Ok(removed + if left > 0 { templates::purge(tx, agent, left).await? } else { 0 })
}
