//! The implementation of [`FormStore`].

use async_trait::async_trait;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::storage::{
    Effects, FormStore, LatestQuery, StorageError, SubmissionChange, SubmissionPage, SubmissionQuery,
    SubmissionsWrite, TemplatePage, TemplateQuery,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};
use storage_common::{in_transaction, records};

use super::{read, templates, write};
use crate::error::Result;
use crate::files;
use crate::store::PostgresStorage;

#[async_trait]
impl FormStore for PostgresStorage {
    async fn template(
        &self,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<Option<FormTemplate>, StorageError> {
        self.db.read_one(templates::current(agent, template)?, |r| records::template(agent, r, None)).await
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>, StorageError> {
        // No version exceeds an `i64`.
        let Ok(version) = i64::try_from(version) else { return Ok(None) };
        self.db
            .read_one(templates::at_version(agent, template, version)?, |r| records::template(agent, r, None))
            .await
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage, StorageError> {
        let rows = self.db.read(templates::page(agent, query)?).await?;
        Ok(templates::listed(agent, &rows)?)
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), templates::create(agent, template, effects))
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), templates::replace(agent, template, effects))
    }

    async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Option<Submission>, StorageError> {
        self.db.read_one(read::one(agent, submission)?, |r| records::submission_with_history(agent, r)).await
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
        self.db.read_one(read::head(agent, contact, template)?, |r| records::submission(agent, r)).await
    }

    async fn latest_submission(
        &self,
        agent: &AgentId,
        query: &LatestQuery,
    ) -> Result<Option<Submission>, StorageError> {
        let found = self
            .db
            .read_all(read::latest(agent, query)?, |r| records::submission_with_history(agent, r))
            .await?;
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
        self.db.read_all(files::of_contact(agent, contact, files)?, |r| r.bool()).await
    }

    async fn insert_submissions(
        &self,
        agent: &AgentId,
        write: &SubmissionsWrite,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::create(agent, write))
    }

    async fn update_submission(
        &self,
        agent: &AgentId,
        change: &SubmissionChange,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::update(agent, change))
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>, StorageError> {
        self.db.read_all(read::revisions(agent, submission)?, |r| records::revision(r)).await
    }
}
