//! The actions of an operator (contract 14): agents, keys, contact schemas, credits, erasure, import and export, audit.

mod error;
mod requests;

use async_trait::async_trait;

pub use error::AdminError;
pub use requests::{CreditChange, Imported, IssuedKey, KeyEdit, NewAgent, NewKey};

use crate::access::{Actor, Key, KeySelector};
use crate::agents::Agent;
use crate::audit::ChainedEntry;
use crate::contacts::{Contact, ContactRef};
use crate::credits::{CreditAccount, CreditEntry};
use crate::forms::{FormDataRevision, FormTemplate, Submission, TemplateSummary};
use crate::json::Object;
use crate::schema::ContactSchema;
use crate::storage::{
    AuditQuery, ErasureState, LedgerQuery, SortPosition, StoredDocument, SubmissionFilter,
    SubmissionPosition, TemplatePosition,
};
use crate::values::{AgentId, FileId, Line, SubmissionId, TemplateId};

/// The operator's capabilities; the Open API has no endpoint for them. `by` is noted in the audit log.
///
/// # Errors
/// Every method fails with [`AdminError::NotFound`] for an agent, key or contact that is not there, and with
/// [`AdminError::Storage`] when the store fails. What else a method refuses stands with it.
#[async_trait]
pub trait Admin: Send + Sync {
    /// Creates an agent with the built-in contact schema.
    ///
    /// # Errors
    /// [`AdminError::Conflict`] when the id is or ever was an agent's.
    async fn create_agent(&self, by: &Actor, agent: NewAgent) -> Result<Agent, AdminError>;

    /// All agents that are not deleted, oldest first.
    async fn agents(&self) -> Result<Vec<Agent>, AdminError>;

    /// One agent.
    async fn agent(&self, id: &AgentId) -> Result<Agent, AdminError>;

    /// Gives an agent another name.
    async fn rename_agent(&self, by: &Actor, id: &AgentId, name: Line<100>) -> Result<Agent, AdminError>;

    /// Disables an agent: every key of it is answered INVALID_CREDENTIALS.
    async fn disable_agent(&self, by: &Actor, id: &AgentId) -> Result<Agent, AdminError>;

    /// Enables a disabled agent.
    async fn enable_agent(&self, by: &Actor, id: &AgentId) -> Result<Agent, AdminError>;

    /// Deletes an agent with everything it has. The id is never given again.
    async fn delete_agent(&self, by: &Actor, id: &AgentId) -> Result<Agent, AdminError>;

    /// Creates a key; its secret is in the answer and nowhere else.
    ///
    /// # Errors
    /// [`AdminError::Refused`] without a permission or with an expiry in the past.
    async fn create_key(&self, by: &Actor, key: NewKey) -> Result<IssuedKey, AdminError>;

    /// The keys of an agent, oldest first.
    async fn keys(&self, agent: &AgentId) -> Result<Vec<Key>, AdminError>;

    /// One key.
    async fn key(&self, key: &KeySelector) -> Result<Key, AdminError>;

    /// Changes properties of a key.
    async fn edit_key(&self, by: &Actor, key: &KeySelector, edit: KeyEdit) -> Result<Key, AdminError>;

    /// Gives a key a new secret. The old one stays valid for `grace_millis`, 0 to 7 days; at most two secrets live, of
    /// three the oldest ends at once.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a longer grace or a revoked key.
    async fn rotate_key(
        &self,
        by: &Actor,
        key: &KeySelector,
        grace_millis: u64,
    ) -> Result<IssuedKey, AdminError>;

    /// Disables a key.
    async fn disable_key(&self, by: &Actor, key: &KeySelector) -> Result<Key, AdminError>;

    /// Enables a disabled key.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a revoked key: revoking is final.
    async fn enable_key(&self, by: &Actor, key: &KeySelector) -> Result<Key, AdminError>;

    /// Revokes a key for good.
    async fn revoke_key(&self, by: &Actor, key: &KeySelector) -> Result<Key, AdminError>;

    /// The contact schema in force.
    async fn contact_schema(&self, agent: &AgentId) -> Result<ContactSchema, AdminError>;

    /// All versions of the contact schema, oldest first.
    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>, AdminError>;

    /// Replaces the operator's changes to the built-in schema as a whole. `definition` has `fields` (an array of
    /// changes to standard fields, each with its `name`), `customFields` (definitions) and
    /// `allowUndeclaredCustomFields` (contract 2.1.4); what is left out is as built in.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with every fault of the definition, [`AdminError::Conflict`] when stored contacts share
    /// a value of a field that becomes `unique`.
    async fn replace_contact_schema(
        &self,
        by: &Actor,
        agent: &AgentId,
        definition: &Object,
    ) -> Result<ContactSchema, AdminError>;

    /// Creates or updates one contact as the Open API would: by its external id, or always a new one without.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with every violation, [`AdminError::Conflict`] for a used value or an archived contact.
    async fn import_contact(
        &self,
        by: &Actor,
        agent: &AgentId,
        contact: &Object,
    ) -> Result<Imported, AdminError>;

    /// Up to `limit` contacts, archived ones included, by creation, after `after`. The next call continues after
    /// the last one: `SortPosition { key: SortKey::Time(last.created_at), id: last.id }`.
    async fn export_contacts(
        &self,
        agent: &AgentId,
        after: Option<SortPosition>,
        limit: u32,
    ) -> Result<Vec<Contact>, AdminError>;

    /// Erases a contact with everything that belongs to it, the contents of its files included; audit entries stay,
    /// emptied of their payload. Contents that cannot be removed at once are removed later.
    async fn erase_contact(
        &self,
        by: &Actor,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Contact, AdminError>;

    /// Waits, at most a minute, until what was erased before has left the store's own files.
    async fn complete_erasures(&self) -> Result<ErasureState, AdminError>;

    /// Creates a form template: a draft at version 1. `definition` has `name`, `description`, `submissionPolicy`,
    /// `disabledTransitions` and `fields` (contract 2.3.1); see
    /// [`TemplateDefinition::read`](crate::forms::TemplateDefinition::read).
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with every fault of the definition.
    async fn create_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        definition: &Object,
    ) -> Result<FormTemplate, AdminError>;

    /// Replaces the definition of a form template as a whole. A template that was ever active gets a new version;
    /// submissions stay with theirs. What changes nothing makes no version.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with every fault of the definition.
    async fn edit_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
        definition: &Object,
    ) -> Result<FormTemplate, AdminError>;

    /// Puts a form template to use, be it a draft or archived.
    async fn activate_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<FormTemplate, AdminError>;

    /// Takes a form template out of use. Its submissions stay and can be reviewed.
    async fn archive_template(
        &self,
        by: &Actor,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<FormTemplate, AdminError>;

    /// Up to `limit` form templates in every state, by name, after `after`
    /// ([`TemplatePosition::of`](crate::storage::TemplatePosition::of) the last one).
    async fn templates(
        &self,
        agent: &AgentId,
        after: Option<TemplatePosition>,
        limit: u32,
    ) -> Result<Vec<TemplateSummary>, AdminError>;

    /// One form template.
    async fn template(&self, agent: &AgentId, template: TemplateId) -> Result<FormTemplate, AdminError>;

    /// Up to `limit` submissions of an agent that the filter lets through, newest first, after `after`
    /// ([`SubmissionPosition::of`](crate::storage::SubmissionPosition::of) the last one). Their `status_history` is
    /// left empty; [`Admin::submission`] has it.
    async fn submissions(
        &self,
        agent: &AgentId,
        filter: &SubmissionFilter,
        after: Option<SubmissionPosition>,
        limit: u32,
    ) -> Result<Vec<Submission>, AdminError>;

    /// One submission, and what its data was before each change.
    async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<(Submission, Vec<FormDataRevision>), AdminError>;

    /// The credits of an agent. One that was never given any has an account that nothing is charged to.
    async fn credits(&self, agent: &AgentId) -> Result<CreditAccount, AdminError>;

    /// Changes the credits of an agent and returns the account as it is then.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a number beyond its bounds.
    async fn change_credits(
        &self,
        by: &Actor,
        agent: &AgentId,
        change: &CreditChange,
    ) -> Result<CreditAccount, AdminError>;

    /// Entries of the ledger of an agent's credits, the newest first.
    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>, AdminError>;

    /// Up to `limit` retained documents of extractions, by id, after `after`.
    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, AdminError>;

    /// One retained document and its content.
    ///
    /// # Errors
    /// [`AdminError::Contents`] when its content cannot be read, [`AdminError::Conflict`] when it cannot be opened: the
    /// server key that it was sealed with is gone, or it is damaged.
    async fn document(
        &self,
        agent: &AgentId,
        document: FileId,
    ) -> Result<(StoredDocument, Vec<u8>), AdminError>;

    /// Removes the contents of all deleted files of an agent and all retained documents of extractions now, before
    /// their retention is over; returns how many.
    ///
    /// # Errors
    /// [`AdminError::Contents`] when the store of file contents fails: the rest is removed when it is back.
    async fn purge_files(&self, by: &Actor, agent: &AgentId) -> Result<u64, AdminError>;

    /// Reads the audit log.
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>, AdminError>;
}
