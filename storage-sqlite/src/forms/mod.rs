//! Form templates and submissions.

mod read;
mod row;
mod templates;
mod write;

use async_trait::async_trait;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::storage::{
    Effects, FormStore, LatestQuery, StorageError, SubmissionChange, SubmissionPage, SubmissionQuery,
    SubmissionsWrite, TemplatePage, TemplateQuery,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};
use rusqlite::Connection;

#[cfg(test)]
pub(crate) use read::Chosen;
pub(crate) use read::{EVERY_OF_AGENT as EVERY_SUBMISSION_OF_AGENT, REVISIONS_OF_AGENT};
pub(crate) use row::{broken_rule, insert as put_new};
pub(crate) use templates::{
    Content, EVERY_CONTENT_OF_AGENT, EVERY_OF_AGENT as EVERY_TEMPLATE_OF_AGENT, put_content, put_standing,
    repair, repair_name_keys,
};
pub(crate) use write::{erase_of, keep};

use crate::error::Result;
use crate::readers::snapshot;
use crate::store::SqliteStorage;
use crate::{files, tenant};

#[async_trait]
impl FormStore for SqliteStorage {
    async fn template(
        &self,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<Option<FormTemplate>, StorageError> {
        self.readers.read_blocking(|db| templates::current(db, agent, template))
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>, StorageError> {
        self.readers.read_blocking(|db| templates::at_version(db, agent, template, version))
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage, StorageError> {
        self.readers.read_blocking(|db| snapshot(db, |db| templates::page(db, agent, query)))
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, template, effects) = (agent.clone(), template.clone(), effects.clone());
        self.writer.write(move |db| templates::insert(db, &agent, &template, &effects)).await
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, template, effects) = (agent.clone(), template.clone(), effects.clone());
        self.writer.write(move |db| templates::replace(db, &agent, &template, &effects)).await
    }

    async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Option<Submission>, StorageError> {
        self.readers.read_blocking(|db| read::one(db, agent, submission))
    }

    async fn submissions(
        &self,
        agent: &AgentId,
        query: &SubmissionQuery,
    ) -> Result<SubmissionPage, StorageError> {
        // It counts all submissions of the contact, or even of the agent.
        let (agent, query) = (agent.clone(), query.clone());
        self.readers.read(move |db, _| snapshot(db, |db| read::page(db, &agent, &query))).await
    }

    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>, StorageError> {
        self.readers.read_blocking(|db| {
            snapshot(db, |db| match tenant::living(db, agent)? {
                Some(living) => read::head(db, agent, living.number, contact, template),
                None => Ok(None),
            })
        })
    }

    async fn latest_submission(
        &self,
        agent: &AgentId,
        query: &LatestQuery,
    ) -> Result<Option<Submission>, StorageError> {
        self.readers.read_blocking(|db| {
            snapshot(db, |db| match tenant::living(db, agent)? {
                Some(living) => read::latest(db, agent, living.number, query),
                None => Ok(None),
            })
        })
    }

    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>, StorageError> {
        self.readers.read_blocking(|db| snapshot(db, |db| files::of_contact(db, agent, contact, files)))
    }

    async fn insert_submissions(
        &self,
        agent: &AgentId,
        write: &SubmissionsWrite,
    ) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| write::insert(db, &agent, &write)).await
    }

    async fn update_submission(
        &self,
        agent: &AgentId,
        change: &SubmissionChange,
    ) -> Result<(), StorageError> {
        let (agent, change) = (agent.clone(), change.clone());
        self.writer.write(move |db| write::update(db, &agent, &change)).await
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>, StorageError> {
        let agent = agent.clone();
        self.readers.read(move |db, _| read::revisions(db, &agent, submission)).await
    }
}

/// Removes up to `at_most` submissions, then templates of a deleted agent and returns how many.
pub(crate) fn purge(db: &Connection, agent: i64, at_most: u32) -> Result<u64> {
    let removed = write::purge(db, agent, at_most)?;
    let left = u32::try_from(u64::from(at_most).saturating_sub(removed)).unwrap_or(u32::MAX);
    Ok(removed + if left > 0 { templates::purge(db, agent, left)? } else { 0 })
}
