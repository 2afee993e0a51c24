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
use sqlx::PgConnection;

pub(crate) use write::erase_of;

use crate::error::Result;
use crate::{PostgresStorage, files};

#[async_trait]
impl FormStore for PostgresStorage {
    async fn template(
        &self,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<Option<FormTemplate>, StorageError> {
        let row = self.db.read_one(templates::current(agent, template)?).await?;
        Ok(row.map(|row| templates::template(agent, &row)).transpose()?)
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>, StorageError> {
        // No version is as high as what does not fit.
        let Ok(version) = i64::try_from(version) else { return Ok(None) };
        let row = self.db.read_one(templates::at_version(agent, template, version)?).await?;
        Ok(row.map(|row| templates::template(agent, &row)).transpose()?)
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage, StorageError> {
        let rows = self.db.read(templates::page(agent, query)?).await?;
        Ok(templates::listed(agent, &rows)?)
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), template.clone(), audit.clone()), |db, (agent, template, audit)| {
                Box::pin(templates::insert(db, agent, template, audit))
            })
            .await
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), template.clone(), audit.clone()), |db, (agent, template, audit)| {
                Box::pin(templates::replace(db, agent, template, audit))
            })
            .await
    }

    async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Option<Submission>, StorageError> {
        let row = self.db.read_one(read::one(agent, submission)?).await?;
        Ok(row.map(|row| row::with_history(agent, &row)).transpose()?)
    }

    async fn submissions(
        &self,
        agent: &AgentId,
        query: &SubmissionQuery,
    ) -> Result<SubmissionPage, StorageError> {
        let rows = self.db.read(read::page(agent, query)?).await?;
        Ok(read::listed(agent, &rows)?)
    }

    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>, StorageError> {
        let row = self.db.read_one(read::head(agent, contact, template)?).await?;
        Ok(row.map(|row| row::without_history(agent, &row)).transpose()?)
    }

    async fn latest_submission(
        &self,
        agent: &AgentId,
        query: &LatestQuery,
    ) -> Result<Option<Submission>, StorageError> {
        let rows = self.db.read(read::latest(agent, query)?).await?;
        let found = rows.iter().map(|row| row::with_history(agent, row)).collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().max_by_key(|submission| query.rank(submission)))
    }

    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>, StorageError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.db.read(files::of_contact(agent, contact, files)?).await?;
        Ok(files::truths(&rows)?)
    }

    async fn insert_submissions(
        &self,
        agent: &AgentId,
        write: &SubmissionsWrite,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), write.clone()), |db, (agent, write)| {
                Box::pin(write::insert(db, agent, write))
            })
            .await
    }

    async fn update_submission(
        &self,
        agent: &AgentId,
        change: &SubmissionChange,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), change.clone()), |db, (agent, change)| {
                Box::pin(write::update(db, agent, change))
            })
            .await
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>, StorageError> {
        let rows = self.db.read(read::revisions(agent, submission)?).await?;
        Ok(rows.iter().map(read::revision).collect::<Result<_>>()?)
    }
}

/// Removes up to `at_most` submissions, then templates of a deleted agent and returns how many.
pub(crate) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let removed = write::purge(db, agent, at_most).await?;
    let left = at_most - removed;
    Ok(removed + if left > 0 { templates::purge(db, agent, left).await? } else { 0 })
}
