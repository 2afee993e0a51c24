//! Planted faults: a store that breaks one rule on purpose. Each must make the suite fail, or the suite is blind there.

mod access;
mod chat;
mod contacts;
mod extraction;
mod files;
mod forms;
mod knowledge;
mod missed;
mod records;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use conversations::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationWrite, KnowledgeWrite, MessageQuery,
    WhichMessages,
};
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::access::{ApiKey, KeyGrant, KeySelector, StoredKey};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, SharedContact, UniqueValue};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::files::ContactFile;
use openapi_core::forms::{FormTemplate, Submission, SubmissionStatus, TemplateStatus, TemplateSummary};
use openapi_core::json::RawObject;
use openapi_core::ports::{BlobEntry, BlobKey};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AgentRecord, AgentRecordKind, AuditQuery, ContactPage, ContactQuery, ContactWrite, CreditWrite,
    DocumentWrite, Duplicate, FileDeletion, FilePage, FileQuery, FileSort, FileUsage, FileWrite, LatestQuery,
    LedgerQuery, Order, RateWindow, Replay, ReplayKey, Result, SortKey, SortPosition, StorageErrorKind,
    StoredDocument, SubmissionChange, SubmissionFilter, SubmissionPage, SubmissionPosition, SubmissionQuery,
    SubmissionsWrite, Succession, TemplatePage, TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{
    AgentId, ContactId, ConversationId, ExternalId, FileId, KeyId, KnowledgeId, PlatformId, SubmissionId,
    TemplateId, Timestamp,
};
use storage_common::transfer::{TransferKind, TransferRow, TransferStore};
use storage_memory::MemoryStorage;

use crate::delegate::Delegate;

pub use missed::missed_faults;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A rule that a [`Faulty`] store breaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PlantedFault {
            $($(#[$doc])* $name,)*
        }

        impl PlantedFault {
            /// Every fault.
            pub const ALL: &'static [PlantedFault] = &[$(PlantedFault::$name),*];
        }
    };
}

faults! {
    /// A created contact is not noted in the audit log.
    InsertWithoutAudit,
    /// A changed contact is not noted in the audit log.
    UpdateWithoutAudit,
    /// A refused write is noted in the audit log.
    AuditOfRefusedWrite,
    /// The answer of a refused write is stored: its contact is written before the check.
    WriteBeforeCheck,
    /// Equal external ids are let through.
    ExternalIdNotUnique,
    /// An archived contact does not hold its external id.
    ArchivedFreesExternalId,
    /// A duplicate is never said to be archived.
    ArchivedHolderUnmarked,
    /// External ids are found whatever their case.
    ExternalIdIgnoresCase,
    /// A 24-digit external id is read as a platform id too.
    ExternalIdReadAsPlatformId,
    /// A contact is found by its id under any agent.
    IdCrossesAgents,
    /// A list shows another agent's contacts too.
    ListCrossesAgents,
    /// A contact can be erased under any agent.
    EraseCrossesAgents,
    /// An update does not compare versions.
    UpdateIgnoresVersion,
    /// A write does not compare schema versions.
    WriteIgnoresSchemaVersion,
    /// A rename leaves the old external id taken.
    RenameKeepsOldId,
    /// Text is stored in composed form.
    TextComposed,
    /// The order of custom members is lost.
    MembersSorted,
    /// Milliseconds are cut off.
    SecondsOnly,
    /// `null` comes first in descending order.
    NullsFirstDescending,
    /// Ties are always sorted by ascending id.
    TiesAlwaysAscending,
    /// The total counts the page.
    TotalOfPage,
    /// An offset passes over one contact too many.
    OffsetOffByOne,
    /// A position's own contact is shown again.
    PositionInclusive,
    /// Pages behind a position ignore the filter.
    PositionIgnoresFilter,
    /// A position is found by its contact, which may be gone.
    PositionNeedsContact,
    /// Any term of a search suffices.
    AnyTermMatches,
    /// Terms match across fields.
    SearchAcrossFields,
    /// `%` and `_` are wildcards.
    SearchWildcards,
    /// Digits are not looked for in phones.
    SearchIgnoresDigits,
    /// Terms under three characters find nothing.
    ShortTermsFindNothing,
    /// A tag matches its beginning.
    TagMatchesPrefix,
    /// The status filter is dropped when a tag is given.
    TagDropsStatus,
    /// Archived contacts are always shown.
    ArchivedAlwaysShown,
    /// `createdSince` excludes its instant.
    CreatedSinceExclusive,
    /// `updatedSince` looks at the creation.
    UpdatedSinceReadsCreation,
    /// The search index is not updated with the contact.
    SearchNotUpdated,
    /// An erased contact holds its external id.
    EraseKeepsExternalId,
    /// Erasing leaves the payload of audit entries.
    EraseKeepsPayloads,
    /// Erasing empties the payloads of all contacts of the agent.
    EraseEmptiesOtherPayloads,
    /// Erasing leaves stored answers.
    EraseKeepsAnswers,
    /// Stored contacts keep their keys when the schema changes.
    SchemaChangeKeepsKeys,
    /// A field becomes unique whatever is stored.
    UniqueWithoutCheck,
    /// Only the latest schema is kept.
    SchemaHistoryLost,
    /// A schema change does not compare versions.
    SchemaVersionIgnored,
    /// The id of a deleted agent can be given again.
    DeletedIdReused,
    /// A deleted agent still answers.
    DeletedAgentAnswers,
    /// A purge removes everything in one step.
    PurgeUnbounded,
    /// A key's edit forgets its last use.
    KeyEditForgetsUse,
    /// The last use may go back.
    LastUseGoesBack,
    /// A key's edit does not compare versions.
    KeyVersionIgnored,
    /// The grant does not tell that the agent is disabled.
    GrantIgnoresAgentStatus,
    /// Keys can be changed under any agent.
    KeyCrossesAgents,
    /// A public key string can be given twice.
    ApiKeyTakenTwice,
    /// Rate windows are shared by the keys of an agent.
    RateWindowShared,
    /// Rate windows are saved whatever was saved since they were read.
    RateWindowOverwritten,
    /// Answers never expire.
    AnswersNeverExpire,
    /// Answers are shared by all agents.
    AnswersShared,
    /// A later answer replaces an earlier one.
    AnswerReplaced,
    /// A sweep ignores its bound.
    SweepUnbounded,
    /// The newest audit entries come first in either direction.
    AuditAlwaysNewestFirst,
    /// The audit log shows all agents.
    AuditCrossesAgents,
    /// Audit entries of one instant are passed over when reading on.
    AuditSkipsTies,
    /// Unique values are compared whatever their field.
    UniqueIgnoresField,
    /// A file is found by its id under any agent.
    FileCrossesAgents,
    /// A deleted file is still found.
    DeletedFileAnswers,
    /// Deleted files are listed.
    DeletedFilesListed,
    /// A list shows the files of all contacts.
    FilesOfAllContactsListed,
    /// File names are sorted by case.
    FileNamesSortByCase,
    /// Ties of files are always sorted by ascending id.
    FileTiesAlwaysAscending,
    /// The total of a list of files counts the page.
    FileTotalOfPage,
    /// A position's own file is shown again.
    FilePositionInclusive,
    /// Deleted files count as octets.
    FileUsageCountsDeleted,
    /// A contact may have a file too many.
    FileQuotaOffByOne,
    /// The octets of an agent have no bound.
    FileQuotaIgnoresOctets,
    /// An upload is not noted in the audit log.
    FileInsertWithoutAudit,
    /// A deletion is not noted in the audit log.
    FileDeleteWithoutAudit,
    /// A change of files does not compare the version of the contact.
    FileIgnoresContactVersion,
    /// The answer to an upload is not stored.
    FileAnswerNotStored,
    /// The name of a file is stored in its sort form.
    FileNameFolded,
    /// A file can be deleted under any contact.
    FileDeletedUnderAnyContact,
    /// A tombstone does not tell why.
    TombstoneLosesReason,
    /// Contents of all agents become due when one agent's are hastened.
    HastenCrossesAgents,
    /// Contents are due as soon as their file is deleted.
    ContentsDueAtOnce,
    /// More contents are due than were asked for.
    DueContentsUnbounded,
    /// Contents are due in the order of their keys.
    DueContentsByKey,
    /// Contents that are gone stay due.
    ForgetsNothing,
    /// The contents of deleted files are taken for orphans.
    DeletedContentsUnknown,
    /// Needed contents are listed for the first agent of a page only.
    NeededContentsEndAtAgent,
    /// Erasing a contact leaves its contents.
    EraseForgetsContents,
    /// Erasing a contact leaves the payloads of audit entries about its files.
    EraseKeepsFilePayloads,
    /// Purging an agent leaves its contents.
    PurgeForgetsContents,
    /// A template is found by its id under any agent.
    TemplateCrossesAgents,
    /// The content of a version is that in force.
    VersionsNotKept,
    /// An old version comes with the state it had then.
    VersionKeepsItsState,
    /// A change of a template does not compare generations.
    TemplateGenerationIgnored,
    /// Templates that are not in use are listed.
    InactiveTemplatesListed,
    /// Templates are sorted by case.
    TemplateNamesSortByCase,
    /// The total of a list of templates counts the page.
    TemplateTotalOfPage,
    /// A position's own template is shown again.
    TemplatePositionInclusive,
    /// A change of a template is not noted in the audit log.
    TemplateChangeWithoutAudit,
    /// A submission is found by its id under any agent.
    SubmissionCrossesAgents,
    /// A submission shows the name that its contact had.
    SubmissionKeepsContactName,
    /// Superseded submissions are listed.
    SupersededListed,
    /// A filter by the caller's reference ignores case.
    ClientIdIgnoresCase,
    /// Submissions are listed oldest first.
    SubmissionsOldestFirst,
    /// The total of a list of submissions counts the page.
    SubmissionTotalOfPage,
    /// A position's own submission is shown again.
    SubmissionPositionInclusive,
    /// Lists come with the history of every submission.
    SubmissionHistoryListed,
    /// Earlier submissions are not superseded.
    NothingSuperseded,
    /// Only the head is superseded.
    OnlyHeadSuperseded,
    /// A submission is stored whatever the head is.
    HeadIgnored,
    /// A submission is stored whatever the template has become.
    SubmissionIgnoresTemplate,
    /// A submission is stored whatever its contact has become.
    SubmissionIgnoresContact,
    /// Of several submissions those that can be stored are.
    SubmissionsStoredOneByOne,
    /// The answer to a submit is not stored.
    SubmissionAnswerNotStored,
    /// An archived submission is the latest.
    LatestIsArchived,
    /// A draft is the latest whether asked for or not.
    LatestIsDraft,
    /// The head is the latest one in use.
    HeadSkipsArchived,
    /// A change of a submission does not compare versions.
    SubmissionVersionIgnored,
    /// A submission is changed whatever the template has become.
    ChangeIgnoresTemplate,
    /// The data before a change is not kept.
    RevisionsLost,
    /// Erasing a contact leaves its submissions.
    EraseKeepsSubmissions,
    /// Files of any contact may be referred to.
    FilesOfAnyContact,
    /// Deleted files may be referred to.
    DeletedFilesReferred,
    /// The credits of any agent are answered where there are none.
    CreditsCrossAgents,
    /// Credits are taken without an entry of the ledger.
    CreditsWithoutLedger,
    /// A change of credits is not noted in the audit log.
    CreditsWithoutAudit,
    /// The answer to a change of credits is not stored.
    CreditAnswerNotStored,
    /// Credits are saved whatever was saved since they were read.
    CreditVersionIgnored,
    /// Credits are saved before their ledger refuses the change.
    CreditsStoredBeforeLedger,
    /// An entry of a time and id that are taken is left out, and nothing said.
    CreditEntryTakenTwice,
    /// A ledger shows the entries of all agents.
    LedgerCrossesAgents,
    /// A ledger is read oldest first.
    LedgerOldestFirst,
    /// A position's own entry is shown again.
    LedgerPositionInclusive,
    /// Entries of one instant are passed over when reading on.
    LedgerSkipsTies,
    /// More entries are read than were asked for.
    LedgerUnbounded,
    /// A document is found by its id under any agent.
    DocumentCrossesAgents,
    /// A document comes back with another digest.
    DocumentLosesDigest,
    /// A document is refused without a word when its id is taken.
    DocumentIdTakenTwice,
    /// Documents are stored whatever the quota is.
    DocumentQuotaIgnored,
    /// An octet too many may be stored.
    DocumentQuotaOffByOne,
    /// Documents do not count when another one is stored.
    DocumentOctetsNotCounted,
    /// Documents do not count as octets of their agent.
    UsageIgnoresDocuments,
    /// A position's own document is listed again.
    DocumentsListedAgain,
    /// More documents are listed than were asked for.
    DocumentsUnbounded,
    /// A document that is discarded stays.
    DiscardLeavesDocument,
    /// The content of a discarded document is due when it would have been.
    DiscardKeepsTime,
    /// A document can be discarded under any agent.
    DiscardCrossesAgents,
    /// A document is stored although the change it came with is refused.
    DocumentStoredBeforeCredits,
    /// Contents of documents are never due.
    DocumentsNeverDue,
    /// Forgetting the content of a document leaves its record.
    ForgetKeepsDocuments,
    /// Contents of documents are taken for orphans.
    DocumentContentsUnknown,
    /// Contents of documents must be there.
    DocumentContentsNeeded,
    /// Contents of documents are not hastened.
    HastenSkipsDocuments,
    /// A conversation is found by its id under any agent.
    ConversationCrossesAgents,
    /// A list shows the conversations of all agents.
    ConversationListCrossesAgents,
    /// A conversation comes back without the turn that is being answered.
    ConversationForgetsTurn,
    /// A conversation is saved whatever was saved since it was read.
    ConversationVersionIgnored,
    /// A change of a conversation is not noted in the audit log.
    ConversationWithoutAudit,
    /// A refused change of a conversation is noted in the audit log.
    RefusedConversationNoted,
    /// The messages of a refused change stay.
    MessagesStoredBeforeCheck,
    /// Conversations are listed by their creation.
    ConversationsByCreation,
    /// Conversations with the oldest message come first.
    ConversationsOldestFirst,
    /// Conversations of one instant are sorted by ascending id.
    ConversationTiesAscending,
    /// The total of a list of conversations counts the page.
    ConversationTotalOfPage,
    /// The total of a list of conversations counts all of the agent.
    ConversationTotalIgnoresFilter,
    /// An offset passes over one conversation too many.
    ConversationOffsetOffByOne,
    /// A list ignores the status.
    ConversationStatusIgnored,
    /// A list ignores the mode.
    ConversationModeIgnored,
    /// A list ignores the contact.
    ConversationContactIgnored,
    /// `since` excludes its instant.
    ConversationSinceExclusive,
    /// `since` looks at the creation.
    ConversationSinceReadsCreation,
    /// A message of a known number leaves the one that is there.
    MessagesNotReplaced,
    /// A message comes back without what followed it.
    MessageLosesFollowUp,
    /// Messages are found by the number of their conversation in any agent.
    MessagesCrossAgents,
    /// Messages of all conversations of the agent are answered.
    MessagesCrossConversations,
    /// More messages are answered than were asked for.
    MessagesUnbounded,
    /// A window behind a number holds the number's own message.
    MessagesAfterInclusive,
    /// A window before a number holds the number's own message.
    MessagesBeforeInclusive,
    /// A window before a number holds the first messages.
    MessagesBeforeFromStart,
    /// A window before a number is answered the last one first.
    MessagesBeforeReversed,
    /// Numbers of messages are sorted as text.
    MessagesSortAsText,
    /// Of a turn only the first message is answered.
    TurnEndsAtFirstMessage,
    /// A turn is found whatever its case.
    TurnIgnoresCase,
    /// The messages of an erased conversation stay.
    EraseKeepsMessages,
    /// What a step of a conversation keeps goes at its own time.
    KeptUploadsEnd,
    /// A step of a conversation may keep what is not there.
    AbsentUploadsKept,
    /// The documents of an erased conversation stay.
    EraseKeepsUploads,
    /// Erasing a contact leaves the documents of its conversations.
    EraseContactKeepsUploads,
    /// A conversation can be erased under any agent.
    EraseConversationCrossesAgents,
    /// Erasing a conversation erases those of its contact.
    EraseConversationErasesContacts,
    /// Erasing a conversation is not noted in the audit log.
    EraseConversationWithoutAudit,
    /// Nothing is said when the conversation to erase is not there.
    EraseConversationSilent,
    /// Erasing a contact leaves its conversations.
    EraseContactKeepsConversations,
    /// Erasing a contact leaves the messages of its conversations.
    EraseContactKeepsMessages,
    /// Erasing a contact erases the conversations of all contacts of the agent.
    EraseContactErasesOtherConversations,
    /// A conversation expires only behind its instant.
    ExpiryExclusive,
    /// Expired conversations are listed by id.
    ExpiredById,
    /// More expired conversations are listed than were asked for.
    ExpiredUnbounded,
    /// Expired conversations of deleted agents are listed.
    ExpiredOfDeletedAgents,
    /// Closed conversations do not expire.
    ClosedNeverExpire,
    /// The documents of all agents are answered from.
    KnowledgeCrossesAgents,
    /// A document comes back without its address.
    KnowledgeLosesUrl,
    /// Documents are listed by their creation.
    KnowledgeByCreation,
    /// Knowledge is changed whatever was changed since it was read.
    KnowledgeVersionIgnored,
    /// The version of the knowledge is not to be read.
    KnowledgeVersionHidden,
    /// A change of knowledge is not noted in the audit log.
    KnowledgeWithoutAudit,
    /// A refused change of knowledge is noted in the audit log.
    RefusedKnowledgeNoted,
    /// The passages of a document that goes stay.
    KnowledgeKeepsPassages,
    /// A document is refused without a word when its id is taken.
    KnowledgeIdTakenTwice,
    /// What a refused change of knowledge removes is gone.
    KnowledgeRemovedOnRefusal,
    /// A document cannot be replaced by one of its id.
    KnowledgeReplaceRefused,
    /// A document to remove that is not there is missing.
    KnowledgeRemovesStrictly,
    /// Only the first document to remove goes.
    KnowledgeRemovesFirstOnly,
    /// Passages of all agents are answered.
    PassagesCrossAgents,
    /// A passage comes back without its headings.
    PassageLosesHeadings,
    /// A position's own passage is answered again.
    PassagePositionInclusive,
    /// More passages are answered than were asked for.
    PassagesUnbounded,
    /// A page of passages ends with its first document.
    PassagesEndAtDocument,
    /// The positions of passages are sorted as text.
    PassagesSortAsText,
    /// A small record is found under any agent.
    RecordCrossesAgents,
    /// All kinds of small records are one.
    RecordKindsShared,
    /// A small record is saved whatever was saved since it was read.
    RecordVersionIgnored,
    /// A change of a small record is not noted in the audit log.
    RecordWithoutAudit,
    /// A refused change of a small record is noted in the audit log.
    RefusedRecordNoted,
    /// The members of a small record are sorted.
    RecordMembersSorted,
}

/// A store with one planted fault.
pub struct Faulty {
    inner: Arc<dyn TransferStore>,
    fault: Option<PlantedFault>,
    agents: Mutex<Vec<AgentId>>,
    held: Mutex<Vec<(AgentId, ExternalId)>>,
    deleted_files: Mutex<Vec<ContactFile>>,
    submissions: Mutex<Vec<Submission>>,
    /// Entries of the audit that are read in place of those that the store holds.
    entries: Mutex<Vec<AuditEntry>>,
}

impl Delegate for Faulty {
    type Inner = dyn TransferStore;

    fn inner(&self) -> &Self::Inner {
        &*self.inner
    }
}

crate::delegate_storage!(Faulty);

impl Faulty {
    /// The memory backend, empty, with a rule that it breaks.
    #[must_use]
    pub fn new(fault: PlantedFault) -> Self {
        Faulty::over(Arc::new(MemoryStorage::new()), Some(fault))
    }

    /// The memory backend without a fault: the control, which must pass.
    #[must_use]
    pub fn sound() -> Self {
        Faulty::over(Arc::new(MemoryStorage::new()), None)
    }

    /// A store, empty, with a rule that it breaks, or without one.
    #[must_use]
    pub fn over(inner: Arc<dyn TransferStore>, fault: Option<PlantedFault>) -> Self {
        Faulty {
            inner,
            fault,
            agents: Mutex::default(),
            held: Mutex::default(),
            deleted_files: Mutex::default(),
            submissions: Mutex::default(),
            entries: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<AuditEntry>> {
        self.entries.lock().expect("lock")
    }

    fn is(&self, fault: PlantedFault) -> bool {
        self.fault == Some(fault)
    }

    fn others(&self, agent: &AgentId) -> Vec<AgentId> {
        let agents = self.agents.lock().expect("lock");
        agents.iter().filter(|other| *other != agent).cloned().collect()
    }

    /// Every agent, the one asked for first.
    fn every_agent(&self, agent: &AgentId) -> Vec<AgentId> {
        std::iter::once(agent.clone()).chain(self.others(agent)).collect()
    }
}
