//! The implementation of [`FormStore`].

use async_trait::async_trait;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::storage::{
    Effects, FormStore, LatestQuery, StorageError, SubmissionChange, SubmissionPage, SubmissionQuery,
    SubmissionsWrite, TemplatePage, TemplateQuery,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};
use storage_common::in_transaction;

use super::{read, templates, write};
use crate::files;
use crate::store::MongoStorage;

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
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), templates::create(agent, template, effects))
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), templates::replace(agent, template, effects))
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
        in_transaction!(self.writer.write(agent), write::create(agent, write))
    }

    async fn update_submission(
        &self,
        agent: &AgentId,
        change: &SubmissionChange,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), write::update(agent, change))
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>, StorageError> {
        Ok(self.handle.list(read::revisions(&self.handle, agent, submission)).await?)
    }
}
