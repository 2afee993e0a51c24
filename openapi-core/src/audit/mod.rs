//! The audit log: writes, deletions, bulk reads, and failed authentications (contract 14.1).

mod chain;
mod verify;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::access::Actor;
use crate::json::RawObject;
use crate::values::{AgentId, AuditId, ContactId, Timestamp};

pub use chain::{ChainHead, ChainLink, ChainedEntry, SealedEntry, salt};
pub use values::Origin;
pub use verify::{ChainBreak, ChainProblem, ChainVerifier, PurgeMark};

/// One entry of the log. Secrets and signatures are never in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The id; entries sort by `at`, then by id.
    pub id: AuditId,
    /// The agent; unset for a failed authentication with a key that does not exist.
    pub agent_id: Option<AgentId>,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// The operating system's user of the command, who may differ from the name that an operator claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_user: Option<OsUser>,
    /// What was done.
    pub action: AuditAction,
    /// The id of what it was done to: a contact, a file, a submission, a template, a key, an agent.
    pub resource: Option<String>,
    /// The contact that the resource belongs to, where it is something of a contact's: erasing the contact empties the
    /// payload.
    pub contact_id: Option<ContactId>,
    /// The address the request came from.
    pub address: Option<IpAddr>,
    /// The id of the request.
    pub request_id: Option<String>,
    /// The payload: names of changed fields, a reason. Emptied when the contact it is about is erased.
    pub details: RawObject,
}

/// A user of the operating system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OsUser {
    /// The number that the kernel knows.
    pub uid: u32,
    /// The name that the system's list of users gives the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

macro_rules! audit_actions {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum AuditAction {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl AuditAction {
            /// Every action.
            pub const ALL: &'static [AuditAction] = &[$(AuditAction::$name),*];

            /// The word in the log.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(AuditAction::$name => $text,)* }
            }
        }
    };
}

audit_actions! {
    /// A contact was created.
    ContactCreate = "contact.create",
    /// A contact was changed.
    ContactUpdate = "contact.update",
    /// A contact was archived.
    ContactArchive = "contact.archive",
    /// A contact was taken out of the archive.
    ContactUnarchive = "contact.unarchive",
    /// A contact was erased with everything that belongs to it.
    ContactErase = "contact.erase",
    /// A note on a contact was added, edited or removed.
    NoteChange = "note.change",
    /// A file was uploaded.
    FileUpload = "file.upload",
    /// A file was deleted.
    FileDelete = "file.delete",
    /// The contents of all deleted files of an agent were removed before their time.
    FilePurge = "file.purge",
    /// A document was extracted.
    DocumentExtract = "document.extract",
    /// An extraction was queued.
    DocumentQueue = "document.queue",
    /// A queued extraction was cancelled or removed.
    DocumentCancel = "document.cancel",
    /// What was extracted from a document was corrected.
    DocumentCorrect = "document.correct",
    /// A correction was removed with its document.
    DocumentCorrectionRemove = "document.removeCorrection",
    /// The credits of an agent were changed by an operator.
    CreditsChange = "credits.change",
    /// A form was submitted, or a draft of one stored.
    SubmissionCreate = "submission.create",
    /// A submission was changed.
    SubmissionUpdate = "submission.update",
    /// A form template was created.
    TemplateCreate = "template.create",
    /// A form template was edited.
    TemplateEdit = "template.edit",
    /// A form template was activated.
    TemplateActivate = "template.activate",
    /// A form template was archived.
    TemplateArchive = "template.archive",
    /// A contact schema was replaced.
    ContactSchemaReplace = "contactSchema.replace",
    /// The settings of an agent's chat and widget were changed.
    AgentConfigure = "agent.configure",
    /// A document was added to what an agent answers from, or replaced there.
    KnowledgeAdd = "knowledge.add",
    /// A document was removed from what an agent answers from.
    KnowledgeRemove = "knowledge.remove",
    /// A website was added to what an agent answers from.
    KnowledgeSourceAdd = "knowledge.addSource",
    /// A website was to be read at once.
    KnowledgeSourceSync = "knowledge.syncSource",
    /// A website was removed from what an agent answers from, with its documents.
    KnowledgeSourceRemove = "knowledge.removeSource",
    /// A visitor filled in the lead form.
    LeadCreate = "lead.create",
    /// A person took a conversation over, gave it back, answered in it or closed it.
    ConversationChange = "conversation.change",
    /// A conversation was erased.
    ConversationErase = "conversation.erase",
    /// A webhook endpoint was created.
    WebhookCreate = "webhook.create",
    /// A webhook endpoint was changed.
    WebhookEdit = "webhook.edit",
    /// A webhook endpoint was enabled.
    WebhookEnable = "webhook.enable",
    /// A webhook endpoint was disabled.
    WebhookDisable = "webhook.disable",
    /// A webhook endpoint was deleted.
    WebhookDelete = "webhook.delete",
    /// A webhook endpoint got a new secret.
    WebhookRotate = "webhook.rotate",
    /// The secret of a webhook endpoint was shown.
    WebhookReveal = "webhook.reveal",
    /// Events were sent again, or passed over, at an endpoint.
    WebhookReplay = "webhook.replay",
    /// An agent was created.
    AgentCreate = "agent.create",
    /// An agent got another name.
    AgentRename = "agent.rename",
    /// An agent was disabled.
    AgentDisable = "agent.disable",
    /// An agent was enabled.
    AgentEnable = "agent.enable",
    /// An agent was deleted.
    AgentDelete = "agent.delete",
    /// A key was created.
    KeyCreate = "key.create",
    /// A key was edited.
    KeyEdit = "key.edit",
    /// A key got a new secret.
    KeyRotate = "key.rotate",
    /// A key was disabled.
    KeyDisable = "key.disable",
    /// A key was enabled.
    KeyEnable = "key.enable",
    /// A key was revoked.
    KeyRevoke = "key.revoke",
    /// An authentication failed. Repeats within a minute share an entry, whose details have their count.
    AuthenticationFailure = "authentication.failure",
    /// A file was downloaded with a signed URL. Repeats within an hour share an entry, whose details have their count.
    FileDownload = "file.download",
    /// An answer of the API showed more than 100 records.
    BulkRead = "records.read",
    /// Contacts were exported.
    ContactExport = "contact.export",
    /// Contacts were imported.
    ContactImport = "contact.import",
    /// Submissions were exported.
    SubmissionExport = "submission.export",
    /// Conversations were exported.
    ConversationExport = "conversation.export",
    /// A conversation, or a list of more than 100, was shown to an operator.
    ConversationRead = "conversation.read",
    /// A stored document was shown to an operator.
    DocumentRead = "document.read",
    /// Corrected documents were exported.
    DocumentExport = "document.export",
    /// A secret was shown to an operator.
    SecretShow = "secret.show",
    /// The content of a file was written to a file of an operator.
    FileRead = "file.read",
    /// The contents of files were sealed.
    FilesSeal = "files.seal",
    /// A server key was added.
    ServerKeyRotate = "serverKey.rotate",
    /// A server key was removed.
    ServerKeyDrop = "serverKey.drop",
    /// The audit log was exported.
    AuditExport = "audit.export",
    /// The oldest entries of the log were removed. The resource says up to which: the sequence number and the MAC.
    AuditPurge = "audit.purge",
    /// The store was backed up.
    StoreBackup = "store.backup",
    /// The store was replaced with a backup.
    StoreRestore = "store.restore",
    /// The store was copied to another one.
    StoreCopy = "store.copy",
    /// Sensitive values of a contact were shown to an operator.
    ContactReveal = "contact.reveal",
    /// A link that makes the first operator was made.
    OperatorSetupLink = "operator.setupLink",
    /// A link by which an operator recovers an account was made.
    OperatorRecoveryLink = "operator.recoveryLink",
    /// A person was invited to become an operator.
    OperatorInvite = "operator.invite",
    /// An invitation was revoked.
    OperatorRevokeInvitation = "operator.revokeInvitation",
    /// An operator was created.
    OperatorCreate = "operator.create",
    /// An operator got other roles.
    OperatorGrant = "operator.grant",
    /// An operator was disabled.
    OperatorDisable = "operator.disable",
    /// An operator was enabled.
    OperatorEnable = "operator.enable",
    /// An operator was removed.
    OperatorRemove = "operator.remove",
    /// An operator changed their name or address.
    OperatorEdit = "operator.edit",
    /// A passkey or a password of an operator was added, changed or removed.
    OperatorMethod = "operator.method",
    /// One-time codes of an operator were set up or removed, with the password that they go with.
    OperatorTotp = "operator.totp",
    /// An operator got new recovery codes.
    OperatorRecoveryCodes = "operator.recoveryCodes",
    /// An operator used a recovery code to set up another way to sign in.
    OperatorRecover = "operator.recover",
    /// An operator signed in.
    OperatorSignIn = "operator.signIn",
    /// An operator proved their identity again.
    OperatorStepUp = "operator.stepUp",
    /// An operator signed out.
    OperatorSignOut = "operator.signOut",
    /// A session of an operator was ended.
    OperatorEndSession = "operator.endSession",
    /// A service token was created.
    TokenCreate = "token.create",
    /// A service token was revoked.
    TokenRevoke = "token.revoke",
    /// A provider that operators sign in with was added or changed.
    ProviderSave = "provider.save",
    /// An owner signed in at a provider to see what it says about people.
    ProviderTry = "provider.try",
    /// A provider was removed.
    ProviderRemove = "provider.remove",
}
