//! The planted faults: the rules that a store can violate.

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A rule that a [`Faulty`](super::Faulty) store violates.
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
    /// A created contact leaves no audit entry.
    InsertWithoutAudit,
    /// A changed contact leaves no audit entry.
    UpdateWithoutAudit,
    /// Of several audit entries of a write of a contact, the first one alone is stored.
    FurtherAuditEntriesLost,
    /// A rejected write leaves an audit entry.
    AuditOfRefusedWrite,
    /// A rejected write stores its contact: it is written before the check.
    WriteBeforeCheck,
    /// Equal external ids are accepted.
    ExternalIdNotUnique,
    /// An archived contact does not hold its external id.
    ArchivedFreesExternalId,
    /// A duplicate is never reported as archived.
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
    /// Milliseconds are truncated.
    SecondsOnly,
    /// `null` comes first in descending order.
    NullsFirstDescending,
    /// Ties are always sorted by ascending id.
    TiesAlwaysAscending,
    /// The total counts the page.
    TotalOfPage,
    /// An offset skips one contact too many.
    OffsetOffByOne,
    /// A page repeats the contact at its position.
    PositionInclusive,
    /// Pages after a position ignore the filter.
    PositionIgnoresFilter,
    /// A position requires its contact, which may be deleted.
    PositionNeedsContact,
    /// Any term of a search suffices.
    AnyTermMatches,
    /// Terms match across fields.
    SearchAcrossFields,
    /// `%` and `_` are wildcards.
    SearchWildcards,
    /// Digits do not match phone numbers.
    SearchIgnoresDigits,
    /// Terms under three characters find nothing.
    ShortTermsFindNothing,
    /// A tag matches by prefix.
    TagMatchesPrefix,
    /// The status filter is dropped when a tag is given.
    TagDropsStatus,
    /// Archived contacts are always shown.
    ArchivedAlwaysShown,
    /// `createdSince` excludes its instant.
    CreatedSinceExclusive,
    /// `updatedSince` compares the creation time.
    UpdatedSinceReadsCreation,
    /// The search index is not updated with the contact.
    SearchNotUpdated,
    /// An erased contact holds its external id.
    EraseKeepsExternalId,
    /// Erasing leaves the payload of audit entries.
    EraseKeepsPayloads,
    /// Erasing empties the payloads of all contacts of the agent.
    EraseEmptiesOtherPayloads,
    /// Erasing leaves stored responses.
    EraseKeepsAnswers,
    /// Stored contacts keep their keys when the schema changes.
    SchemaChangeKeepsKeys,
    /// A field becomes unique despite stored duplicates.
    UniqueWithoutCheck,
    /// Only the latest schema is stored.
    SchemaHistoryLost,
    /// A schema change does not compare versions.
    SchemaVersionIgnored,
    /// The id of a deleted agent can be reused.
    DeletedIdReused,
    /// A deleted agent still works.
    DeletedAgentAnswers,
    /// A purge removes everything in one step.
    PurgeUnbounded,
    /// A key's edit loses its last use.
    KeyEditForgetsUse,
    /// The last use may go back.
    LastUseGoesBack,
    /// A key's edit does not compare versions.
    KeyVersionIgnored,
    /// The grant ignores that the agent is disabled.
    GrantIgnoresAgentStatus,
    /// Keys can be changed under any agent.
    KeyCrossesAgents,
    /// A public key string can be used twice.
    ApiKeyTakenTwice,
    /// Stored responses never expire.
    AnswersNeverExpire,
    /// All agents share stored responses.
    AnswersShared,
    /// A later response replaces a stored one.
    AnswerReplaced,
    /// A sweep ignores its bound.
    SweepUnbounded,
    /// The newest audit entries come first in both directions.
    AuditAlwaysNewestFirst,
    /// The audit log shows all agents.
    AuditCrossesAgents,
    /// Reading on skips audit entries of the same instant.
    AuditSkipsTies,
    /// The chain of an agent has the entries of all.
    ChainCrossesAgents,
    /// The entries of a chain are sorted by time.
    ChainSortedByTime,
    /// The end of a chain is that of the entry before.
    ChainHeadLags,
    /// Entries get the same number when they are written at the same time.
    ChainNumbersTaken,
    /// A purge removes one entry more.
    AuditPurgeRemovesMore,
    /// A purge leaves no entry.
    AuditPurgeNotNoted,
    /// A purge without entries to remove leaves an entry.
    EmptyAuditPurgeNoted,
    /// A purge removes the entries of all agents.
    AuditPurgeCrossesAgents,
    /// An erasure leaves the salt of the payload.
    EraseKeepsSalt,
    /// Entries of agents that never existed are stored.
    AuditOfUnknownAgents,
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
    /// A page repeats the file at its position.
    FilePositionInclusive,
    /// Deleted files count towards the byte quota.
    FileUsageCountsDeleted,
    /// A contact may exceed its file limit by one.
    FileQuotaOffByOne,
    /// The bytes of an agent are unlimited.
    FileQuotaIgnoresBytes,
    /// An upload leaves no audit entry.
    FileInsertWithoutAudit,
    /// A deletion leaves no audit entry.
    FileDeleteWithoutAudit,
    /// A change of files does not compare the version of the contact.
    FileIgnoresContactVersion,
    /// The response to an upload is not stored.
    FileAnswerNotStored,
    /// The name of a file is stored in its sort form.
    FileNameFolded,
    /// A file can be deleted under any contact.
    FileDeletedUnderAnyContact,
    /// A tombstone loses its reason.
    TombstoneLosesReason,
    /// Expediting one agent's purges makes the contents of all agents due.
    HastenCrossesAgents,
    /// Contents are due as soon as their file is deleted.
    ContentsDueAtOnce,
    /// More due contents are returned than requested.
    DueContentsUnbounded,
    /// Contents are due in the order of their keys.
    DueContentsByKey,
    /// Removed contents stay due.
    ForgetsNothing,
    /// The contents of deleted files count as orphans.
    DeletedContentsUnknown,
    /// Referenced contents are listed for the first agent of a page only.
    NeededContentsEndAtAgent,
    /// That the content of a file was sealed is not noted.
    SealedMarkIsLost,
    /// Marking the content of a file marks that of other agents' files with the same id.
    SealedMarkCrossesAgents,
    /// The uses of server keys leave out deleted files.
    ServerKeysOfDeletedFilesForgotten,
    /// Erasing a contact leaves its contents.
    EraseForgetsContents,
    /// Erasing a contact leaves the payloads of audit entries about its files.
    EraseKeepsFilePayloads,
    /// Purging an agent leaves its contents.
    PurgeForgetsContents,
    /// A template is found by its id under any agent.
    TemplateCrossesAgents,
    /// Every version has the content of the version in force.
    VersionsNotStored,
    /// An old version has the state of its time.
    VersionKeepsItsState,
    /// A change of a template does not compare generations.
    TemplateGenerationIgnored,
    /// Templates that are not in use are listed.
    InactiveTemplatesListed,
    /// Templates are sorted by case.
    TemplateNamesSortByCase,
    /// The total of a list of templates counts the page.
    TemplateTotalOfPage,
    /// A page repeats the template at its position.
    TemplatePositionInclusive,
    /// A change of a template leaves no audit entry.
    TemplateChangeWithoutAudit,
    /// A submission is found by its id under any agent.
    SubmissionCrossesAgents,
    /// A submission shows the former external id of its contact.
    SubmissionKeepsContactName,
    /// Superseded submissions are listed.
    SupersededListed,
    /// A filter by client id ignores case.
    ClientIdIgnoresCase,
    /// Submissions are listed oldest first.
    SubmissionsOldestFirst,
    /// The total of a list of submissions counts the page.
    SubmissionTotalOfPage,
    /// A page repeats the submission at its position.
    SubmissionPositionInclusive,
    /// Lists include the history of every submission.
    SubmissionHistoryListed,
    /// Earlier submissions are not superseded.
    NothingSuperseded,
    /// Only the head is superseded.
    OnlyHeadSuperseded,
    /// A submission is stored although the head has changed.
    HeadIgnored,
    /// A submission is stored although its template has changed.
    SubmissionIgnoresTemplate,
    /// A submission is stored although its contact has changed.
    SubmissionIgnoresContact,
    /// Several submissions are stored one by one.
    SubmissionsStoredOneByOne,
    /// The response to a submit is not stored.
    SubmissionAnswerNotStored,
    /// An archived submission is the latest.
    LatestIsArchived,
    /// A draft is the latest, even if drafts are excluded.
    LatestIsDraft,
    /// The head skips archived submissions.
    HeadSkipsArchived,
    /// A change of a submission does not compare versions.
    SubmissionVersionIgnored,
    /// A submission is changed although its template has changed.
    ChangeIgnoresTemplate,
    /// The data before a change is lost.
    RevisionsLost,
    /// Erasing a contact leaves its submissions.
    EraseKeepsSubmissions,
    /// Files of any contact may be referenced.
    FilesOfAnyContact,
    /// Deleted files may be referenced.
    DeletedFilesReferred,
    /// An agent without credits sees those of another one.
    CreditsCrossAgents,
    /// Credits change without a ledger entry.
    CreditsWithoutLedger,
    /// A change of credits leaves no audit entry.
    CreditsWithoutAudit,
    /// The response to a change of credits is not stored.
    CreditAnswerNotStored,
    /// Credits overwrite concurrent changes.
    CreditVersionIgnored,
    /// Credits are saved before the ledger rejects the change.
    CreditsStoredBeforeLedger,
    /// A duplicate ledger entry is silently dropped.
    CreditEntryTakenTwice,
    /// A ledger shows the entries of all agents.
    LedgerCrossesAgents,
    /// A ledger is read oldest first.
    LedgerOldestFirst,
    /// A page repeats the entry at its position.
    LedgerPositionInclusive,
    /// Reading on skips entries of the same instant.
    LedgerSkipsTies,
    /// More entries are returned than requested.
    LedgerUnbounded,
    /// A document is found by its id under any agent.
    DocumentCrossesAgents,
    /// A document loses its digest.
    DocumentLosesDigest,
    /// A document with a duplicate id is silently dropped.
    DocumentIdTakenTwice,
    /// Documents ignore the quota.
    DocumentQuotaIgnored,
    /// The byte quota is off by one.
    DocumentQuotaOffByOne,
    /// Documents do not count when another one is stored.
    DocumentBytesNotCounted,
    /// Documents do not count in the agent's usage.
    UsageIgnoresDocuments,
    /// A page repeats the document at its position.
    DocumentsListedAgain,
    /// More documents are listed than requested.
    DocumentsUnbounded,
    /// A discarded document stays.
    DiscardLeavesDocument,
    /// The content of a discarded document is due at its original time.
    DiscardKeepsTime,
    /// A document can be discarded under any agent.
    DiscardCrossesAgents,
    /// A document is stored although its change is rejected.
    DocumentStoredBeforeCredits,
    /// Contents of documents are never due.
    DocumentsNeverDue,
    /// Removing a document's blob leaves its record.
    ForgetKeepsDocuments,
    /// Contents of documents count as orphans.
    DocumentContentsUnknown,
    /// Contents of documents count as required.
    DocumentContentsNeeded,
    /// Contents of documents are not expedited.
    HastenSkipsDocuments,
    /// A conversation is found by its id under any agent.
    ConversationCrossesAgents,
    /// A list shows the conversations of all agents.
    ConversationListCrossesAgents,
    /// A conversation loses its running turn.
    ConversationForgetsTurn,
    /// A conversation overwrites concurrent changes.
    ConversationVersionIgnored,
    /// A change of a conversation leaves no audit entry.
    ConversationWithoutAudit,
    /// A rejected change of a conversation leaves an audit entry.
    RefusedConversationNoted,
    /// The messages of a rejected change stay.
    MessagesStoredBeforeCheck,
    /// Conversations are sorted by creation time.
    ConversationsByCreation,
    /// Conversations with the oldest message come first.
    ConversationsOldestFirst,
    /// Conversations of one instant are sorted by ascending id.
    ConversationTiesAscending,
    /// The total of a list of conversations counts the page.
    ConversationTotalOfPage,
    /// The total of a list of conversations counts all of the agent.
    ConversationTotalIgnoresFilter,
    /// An offset skips one conversation too many.
    ConversationOffsetOffByOne,
    /// A list ignores the status.
    ConversationStatusIgnored,
    /// A list ignores the mode.
    ConversationModeIgnored,
    /// A list ignores the contact.
    ConversationContactIgnored,
    /// `since` excludes its instant.
    ConversationSinceExclusive,
    /// `since` compares the creation time.
    ConversationSinceReadsCreation,
    /// A message with a known number does not replace the stored one.
    MessagesNotReplaced,
    /// A message loses its follow-up.
    MessageLosesFollowUp,
    /// A conversation shows the messages of the same conversation id under any agent.
    MessagesCrossAgents,
    /// Messages of all conversations of the agent are returned.
    MessagesCrossConversations,
    /// More messages are returned than requested.
    MessagesUnbounded,
    /// A window after a number includes that message.
    MessagesAfterInclusive,
    /// A window before a number includes that message.
    MessagesBeforeInclusive,
    /// A window before a number returns the first messages.
    MessagesBeforeFromStart,
    /// A window before a number is in descending order.
    MessagesBeforeReversed,
    /// Numbers of messages are sorted as text.
    MessagesSortAsText,
    /// Only the first message of a turn is returned.
    TurnEndsAtFirstMessage,
    /// A turn is found whatever its case.
    TurnIgnoresCase,
    /// The messages of an erased conversation stay.
    EraseKeepsMessages,
    /// Documents that a conversation retains still expire.
    RetainedUploadsEnd,
    /// A conversation may retain absent documents.
    AbsentUploadsRetained,
    /// The documents of an erased conversation stay.
    EraseKeepsUploads,
    /// Erasing a contact leaves the documents of its conversations.
    EraseContactKeepsUploads,
    /// A conversation can be erased under any agent.
    EraseConversationCrossesAgents,
    /// Erasing a conversation erases those of its contact.
    EraseConversationErasesContacts,
    /// Erasing a conversation leaves no audit entry.
    EraseConversationWithoutAudit,
    /// Erasing an absent conversation reports success.
    EraseConversationSilent,
    /// Erasing a contact leaves its conversations.
    EraseContactKeepsConversations,
    /// Erasing a contact leaves the messages of its conversations.
    EraseContactKeepsMessages,
    /// Erasing a contact erases the conversations of all contacts of the agent.
    EraseContactErasesOtherConversations,
    /// A conversation expires only after its instant.
    ExpiryExclusive,
    /// Expired conversations are listed by id.
    ExpiredById,
    /// More expired conversations are listed than requested.
    ExpiredUnbounded,
    /// Expired conversations of deleted agents are listed.
    ExpiredOfDeletedAgents,
    /// Closed conversations do not expire.
    ClosedNeverExpire,
    /// Knowledge of all agents is returned.
    KnowledgeCrossesAgents,
    /// A document loses its URL.
    KnowledgeLosesUrl,
    /// A question-and-answer pair loses its questions.
    KnowledgeLosesQuestions,
    /// Documents are sorted by creation time.
    KnowledgeByCreation,
    /// Knowledge overwrites concurrent changes.
    KnowledgeVersionIgnored,
    /// The version of the knowledge is hidden.
    KnowledgeVersionHidden,
    /// A change of knowledge leaves no audit entry.
    KnowledgeWithoutAudit,
    /// A rejected change of knowledge leaves an audit entry.
    RefusedKnowledgeNoted,
    /// The passages of a removed document stay.
    KnowledgeKeepsPassages,
    /// A document with a duplicate id is silently dropped.
    KnowledgeIdTakenTwice,
    /// A rejected change of knowledge still removes documents.
    KnowledgeRemovedOnRefusal,
    /// A document cannot be replaced by one with the same id.
    KnowledgeReplaceRefused,
    /// Removing an absent document fails.
    KnowledgeRemovesStrictly,
    /// Only the first of several documents is removed.
    KnowledgeRemovesFirstOnly,
    /// Passages of all agents are returned.
    PassagesCrossAgents,
    /// A passage loses its headings.
    PassageLosesHeadings,
    /// A page repeats the passage at its position.
    PassagePositionInclusive,
    /// More passages are returned than requested.
    PassagesUnbounded,
    /// A page of passages ends with its first document.
    PassagesEndAtDocument,
    /// The positions of passages are sorted as text.
    PassagesSortAsText,
    /// A record is found in any scope.
    RecordCrossesScopes,
    /// All kinds of records share one record.
    RecordKindsShared,
    /// All records of a kind are one.
    RecordIdsShared,
    /// A record overwrites concurrent changes.
    RecordVersionIgnored,
    /// A record is removed whatever its version.
    RecordRemovalIgnoresVersion,
    /// A change of a record leaves no audit entry.
    RecordWithoutAudit,
    /// A rejected change of a record leaves an audit entry.
    RefusedRecordNoted,
    /// The members of a record are sorted.
    RecordMembersSorted,
    /// A record loses its due time.
    RecordLosesDueTime,
    /// Several records are changed one by one.
    RecordsSavedOneByOne,
    /// Two records may have the same unique value.
    UniqueValueTakenTwice,
    /// A unique value is found in any kind.
    UniqueValueCrossesKinds,
    /// A page repeats the record at its position.
    RecordPositionInclusive,
    /// More records are listed than requested.
    RecordsUnbounded,
    /// The records of the installation are not among those of all scopes.
    RecordsOfInstallationMissing,
    /// Due records are listed by id.
    DueRecordsById,
    /// A record is due only after its instant.
    DueTimeExclusive,
    /// More due records are listed than requested.
    DueRecordsUnbounded,
    /// Erasing a contact leaves its records.
    EraseKeepsRecords,
    /// A change has no event.
    ChangeWithoutEvent,
    /// A rejected change has an event.
    EventOfRefusedChange,
    /// Of several events of a write, the first one alone is stored.
    FurtherEventsLost,
    /// A rejected write uses up a number.
    NumberLost,
    /// Events are numbered by their time.
    EventsNumberedByTime,
    /// Events are numbered over all agents.
    NumbersSharedByAgents,
    /// The first two events are swapped.
    EventsSwapped,
    /// An event loses its actor.
    EventLosesActor,
    /// An agent without events sees those of another one.
    LogCrossesAgents,
    /// A page repeats the event at its position.
    LogPositionInclusive,
    /// More events are returned than requested.
    LogUnbounded,
    /// The end of a log is that of the page.
    LogHeadOfPage,
    /// The beginning of a log is always its first event.
    LogBeginsWithFirst,
    /// The ends of several logs are sorted.
    LogHeadsSorted,
    /// The newest event is swept.
    NewestEventSwept,
    /// A sweep removes events of any age.
    SweepIgnoresTime,
    /// A sweep of events ignores its bound.
    EventSweepUnbounded,
    /// A sweep removes events after a newer one.
    SweepPassesNewer,
    /// The events of an erased contact are shown.
    ErasedEventsShown,
    /// Erasing empties the events of all contacts.
    EraseEmptiesOtherEvents,
    /// Erasing empties the event of the erasure.
    EraseEmptiesItsEvent,
    /// A scrub never ends.
    ScrubNeverEnds,
    /// Commits with events notify nobody.
    NotifierSilent,
    /// A job is found in any scope.
    JobCrossesScopes,
    /// A job loses its lease.
    JobLosesLease,
    /// A job loses the credits that are set aside for it.
    JobLosesReserve,
    /// A list of jobs ignores the states.
    JobStatesIgnored,
    /// A list of jobs ignores the batch.
    JobBatchIgnored,
    /// A list of jobs ignores the client id.
    JobClientIgnored,
    /// The total of a list of jobs counts the page.
    JobTotalOfPage,
    /// Jobs are listed oldest first.
    JobsOldestFirst,
    /// A page repeats the job at its position.
    JobPositionInclusive,
    /// A list of jobs shows their results.
    JobListShowsResults,
    /// The counts of a batch are not sorted.
    BatchCountsUnsorted,
    /// Without ready jobs, the running ones do not count as the head of the queue.
    HeadIgnoresRunning,
    /// An agent that has jobs comes after all of them again.
    AgentsDoNotTakeTurns,
    /// Scheduled jobs do not count for the turn of the next one.
    LastIgnoresScheduled,
    /// The age of the oldest ready job is unknown.
    QueueLoadWithoutAge,
    /// A claim takes more jobs than it asked for.
    ClaimUnbounded,
    /// A job is claimed twice.
    ClaimTwice,
    /// Claimed jobs are sorted by id.
    ClaimIgnoresTurn,
    /// A claim leaves the version.
    ClaimKeepsVersion,
    /// A claim does not note when the job began.
    ClaimWithoutStart,
    /// A lease is renewed by another server.
    RenewalByAnother,
    /// A lease never ends.
    ExpiredLeaseNeverEnds,
    /// Jobs are due only after their instant.
    WakeTimeExclusive,
    /// More jobs are woken than requested.
    WakeUnbounded,
    /// Erased jobs are never returned.
    ErasedJobsForgotten,
    /// Erased jobs lose the credits that are set aside for them.
    ErasedJobsLoseReserve,
    /// Erasing a contact leaves its jobs.
    EraseKeepsJobs,
    /// A job is settled whatever its version.
    SettleIgnoresVersion,
    /// A job is settled without a ledger entry.
    SettleWithoutLedger,
    /// A job is settled without a change of the account.
    SettleWithoutAccount,
    /// The documents of a job are not stored.
    JobDocumentsLost,
    /// The records of a write of jobs are not stored.
    JobRecordsLost,
    /// The records of a write of jobs overwrite concurrent changes.
    JobRecordsIgnoreVersion,
    /// The discarded documents of a job stay.
    JobDocumentsStay,
    /// A change of jobs leaves no audit entry.
    JobsWithoutAudit,
    /// The response to a change of jobs is not stored.
    JobAnswerNotStored,
    /// A queue takes any number of jobs.
    MaxUnfinishedIgnored,
    /// The bound of a queue is off by one.
    MaxUnfinishedOffByOne,
    /// A job does not compare the version of the contact.
    JobContactIgnored,
    /// A write of several jobs compares the version of its first contact only.
    OtherJobContactsIgnored,
    /// Several jobs are changed one by one.
    JobsSavedOneByOne,
}
