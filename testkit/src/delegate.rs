//! Delegation between stores: [`delegate_storage!`](crate::delegate_storage) implements every storage trait for a type
//! by calls to an inner store. The type overrides a method by an inherent method with the same name and signature.

use std::future::Future;

use conversations::storage::ConversationStorage;
use openapi_core::storage::Result;

/// A store that wraps another one.
pub trait Delegate: Send + Sync {
    /// The type of the inner store.
    type Inner: ConversationStorage + ?Sized;

    /// The inner store.
    fn inner(&self) -> &Self::Inner;

    /// Runs a call to the inner store; `method` is the name of the storage method. Overridden methods do not pass here.
    fn around<T: Send>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> impl Future<Output = Result<T>> + Send {
        let _ = method;
        call
    }
}

/// Passes the signatures of all storage methods to another macro, after the given arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! storage_methods {
    ($callback:path, $($arguments:tt)*) => {
        $callback! { $($arguments)*
            AgentStore {
                insert_agent(agent: &Agent, schema: &ContactSchema, effects: &Effects) -> ();
                agent(id: &AgentId) -> Option<Agent>;
                agents() -> Vec<Agent>;
                update_agent(agent: &Agent, effects: &Effects) -> ();
                purge_agent(id: &AgentId, at_most: u32) -> u64;
            }
            KeyStore {
                look_up_key(api_key: &ApiKey) -> Option<KeyLookup>;
                find_key(selector: &KeySelector) -> Option<StoredKey>;
                keys(agent: &AgentId) -> Vec<StoredKey>;
                server_key_uses() -> ServerKeyUses;
                insert_key(agent: &AgentId, key: &StoredKey, effects: &Effects) -> ();
                update_key(agent: &AgentId, expected_version: u64, key: &StoredKey, effects: &Effects) -> ();
                record_key_use(agent: &AgentId, key: KeyId, at: Timestamp, address: Option<IpAddr>) -> ();
            }
            ContactSchemaStore {
                contact_schema(agent: &AgentId) -> Option<ContactSchema>;
                contact_schema_history(agent: &AgentId) -> Vec<ContactSchema>;
                replace_contact_schema(agent: &AgentId, schema: &ContactSchema, effects: &Effects) -> ();
            }
            ContactStore {
                contact(agent: &AgentId, contact: &ContactRef) -> Option<SharedContact>;
                contacts(agent: &AgentId, query: &ContactQuery) -> ContactPage;
                duplicate_contact(agent: &AgentId, except: Option<ContactId>, external_reference_id: Option<&ExternalId>, unique: &[UniqueValue]) -> Option<Duplicate>;
                insert_contact(agent: &AgentId, write: &ContactWrite) -> ();
                update_contact(agent: &AgentId, expected_version: u64, write: &ContactWrite) -> ();
                erase_contact(agent: &AgentId, contact: ContactId, at: Timestamp, effects: &Effects) -> ();
                complete_erasures() -> ErasureState;
            }
            FileStore {
                file(agent: &AgentId, file: FileId) -> Option<ContactFile>;
                files(agent: &AgentId, query: &FileQuery) -> FilePage;
                file_usage(agent: &AgentId, contact: ContactId) -> FileUsage;
                insert_file(agent: &AgentId, write: &FileWrite) -> ();
                delete_file(agent: &AgentId, deletion: &FileDeletion) -> ();
                file_tombstone(agent: &AgentId, file: FileId) -> Option<FileTombstone>;
                expedite_purges(agent: &AgentId, now: Timestamp, effects: &Effects) -> u64;
                blobs_due_for_deletion(now: Timestamp, at_most: u32) -> Vec<BlobKey>;
                remove_blob_records(keys: &[BlobKey]) -> ();
                existing_blobs(keys: &[BlobKey]) -> Vec<bool>;
                referenced_blobs(after: Option<&BlobKey>, at_most: u32) -> Vec<FileBlob>;
                mark_sealed(key: &BlobKey, server_key: &str) -> ();
            }
            FormStore {
                template(agent: &AgentId, template: TemplateId) -> Option<FormTemplate>;
                template_version(agent: &AgentId, template: TemplateId, version: u64) -> Option<FormTemplate>;
                templates(agent: &AgentId, query: &TemplateQuery) -> TemplatePage;
                insert_template(agent: &AgentId, template: &FormTemplate, effects: &Effects) -> ();
                replace_template(agent: &AgentId, template: &FormTemplate, effects: &Effects) -> ();
                submission(agent: &AgentId, submission: SubmissionId) -> Option<Submission>;
                submissions(agent: &AgentId, query: &SubmissionQuery) -> SubmissionPage;
                head_submission(agent: &AgentId, contact: ContactId, template: TemplateId) -> Option<Submission>;
                latest_submission(agent: &AgentId, query: &LatestQuery) -> Option<Submission>;
                files_of_contact(agent: &AgentId, contact: ContactId, files: &[FileId]) -> Vec<bool>;
                insert_submissions(agent: &AgentId, write: &SubmissionsWrite) -> ();
                update_submission(agent: &AgentId, change: &SubmissionChange) -> ();
                form_data_revisions(agent: &AgentId, submission: SubmissionId) -> Vec<FormDataRevision>;
            }
            CreditStore {
                credit_account(agent: &AgentId) -> Option<CreditAccount>;
                save_credits(agent: &AgentId, write: &CreditWrite) -> ();
                credit_entries(query: &LedgerQuery) -> Vec<CreditEntry>;
            }
            DocumentStore {
                insert_document(agent: &AgentId, write: &DocumentWrite) -> ();
                discard_document(agent: &AgentId, document: FileId, now: Timestamp) -> ();
                document(agent: &AgentId, document: FileId) -> Option<StoredDocument>;
                documents(agent: &AgentId, after: Option<FileId>, at_most: u32) -> Vec<StoredDocument>;
            }
            RecordStore {
                record(scope: Option<&AgentId>, key: &RecordKey) -> Option<StoredRecord>;
                record_by_unique(scope: Option<&AgentId>, kind: RecordKind, unique: &[u8; 32]) -> Option<StoredRecord>;
                records_of(scope: Option<&AgentId>, kind: RecordKind, after: Option<&RecordId>, at_most: u32) -> Vec<StoredRecord>;
                all_records(kind: RecordKind, after: Option<&(Option<AgentId>, RecordId)>, at_most: u32) -> Vec<(Option<AgentId>, StoredRecord)>;
                due_records(kind: RecordKind, now: Timestamp, at_most: u32) -> Vec<(Option<AgentId>, StoredRecord)>;
                save_records(scope: Option<&AgentId>, write: &RecordsWrite) -> ();
            }
            LogStore {
                log(agent: &AgentId, after: u64, at_most: u32) -> LogPage;
                log_heads(agents: &[AgentId]) -> Vec<u64>;
                sweep_log(agent: &AgentId, before: Timestamp, at_most: u32) -> u64;
                scrub_logs(at_most: u32) -> u64;
            }
            QueueStore {
                job(scope: Option<&AgentId>, id: JobId) -> Option<Job>;
                jobs(scope: Option<&AgentId>, query: &JobQuery) -> JobPage;
                count_jobs(scope: Option<&AgentId>, queue: Queue, batch: &str) -> Vec<(JobState, u64)>;
                queue_front(queue: Queue, scope: Option<&AgentId>) -> QueueFront;
                queue_load(queue: Queue) -> QueueLoad;
                claim_jobs(claim: &JobClaim) -> Vec<ScopedJob>;
                renew_jobs(owner: PlatformId, jobs: &[(Option<AgentId>, JobId)], until: Timestamp) -> Vec<bool>;
                wake_jobs(queue: Queue, now: Timestamp, at_most: u32) -> Woken;
                save_jobs(scope: Option<&AgentId>, write: &JobsWrite) -> ();
            }
            IdempotencyStore {
                replay(agent: &AgentId, key: &IdempotencyKey, now: Timestamp) -> Option<IdempotencyRecord>;
                sweep_idempotency_records(now: Timestamp, at_most: u32) -> u64;
            }
            AuditStore {
                append_audit(entry: &SealedEntry) -> ();
                audit_entries(query: &AuditQuery) -> Vec<ChainedEntry>;
                audit_chain(query: &ChainQuery) -> Vec<ChainedEntry>;
                audit_head(chain: Option<&AgentId>) -> ChainHead;
                audit_heads() -> Vec<(Option<AgentId>, ChainHead)>;
                purge_audit(through: &ChainPosition, entry: &SealedEntry) -> u64;
            }
            HealthProbe {
                probe() -> ();
            }
            ConversationStore {
                conversation(agent: &AgentId, conversation: ConversationId) -> Option<Conversation>;
                conversations(agent: &AgentId, query: &ConversationQuery) -> ConversationPage;
                messages(agent: &AgentId, query: &MessageQuery) -> Vec<Message>;
                save_conversation(agent: &AgentId, write: &ConversationWrite) -> ();
                erase_conversation(agent: &AgentId, conversation: ConversationId, at: Timestamp, effects: &Effects) -> ();
                expired_conversations(now: Timestamp, at_most: u32) -> Vec<(AgentId, ConversationId)>;
            }
            KnowledgeStore {
                knowledge(agent: &AgentId) -> Vec<KnowledgeDocument>;
                passages(agent: &AgentId, after: Option<(KnowledgeId, u32)>, at_most: u32) -> Vec<(KnowledgeId, Passage)>;
                change_knowledge(agent: &AgentId, write: &KnowledgeWrite) -> ();
            }
        }
    };
}

macro_rules! fallback {
    ($name:ident $($trait:ident { $($method:ident($($argument:ident: $type:ty),*) -> $output:ty;)* })*) => {
        /// The methods of all storage traits, as calls to the inner store.
        #[doc(hidden)]
        #[async_trait]
        pub trait $name: Delegate {
            $($(
                async fn $method(&self, $($argument: $type),*) -> Result<$output> {
                    let call = self.inner().$method($($argument),*);
                    self.around(stringify!($method), call).await
                }
            )*)*

            fn notifier(&self) -> &ChangeNotifier {
                self.inner().notifier()
            }
        }

        impl<D: Delegate> $name for D {}

        /// The names of all storage methods.
        pub const METHODS: &[&str] = &[$($(stringify!($method),)*)*];
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! implement_storage {
    ($store:ident $($trait:ident { $($method:ident($($argument:ident: $type:ty),*) -> $output:ty;)* })*) => {
        $($(
            // Outside of the implementation, where the storage trait is not in scope: an inherent method takes precedence
            // over the fallback.
            async fn $method(store: &$store, $($argument: $type),*) -> Result<$output> {
                store.$method($($argument),*).await
            }
        )*)*

        fn notifier(store: &$store) -> &ChangeNotifier {
            store.notifier()
        }

        impl storage_traits::ChangeSource for $store {
            fn notifier(&self) -> &ChangeNotifier {
                self::notifier(self)
            }
        }

        $(
            #[async_trait]
            impl storage_traits::$trait for $store {
                $(
                    async fn $method(&self, $($argument: $type),*) -> Result<$output> {
                        self::$method(self, $($argument),*).await
                    }
                )*
            }
        )*
    };
}

/// Implements every storage trait for a type that implements [`Delegate`](crate::delegate::Delegate). A method that the
/// type has as an inherent method calls that one; every other method calls the inner store.
///
/// ```
/// use openapi_core::storage::Result;
/// use storage_memory::MemoryStorage;
/// use testkit::delegate::Delegate;
///
/// /// A store whose health probe counts its calls.
/// pub struct Counting {
///     inner: MemoryStorage,
///     probes: std::sync::atomic::AtomicU64,
/// }
///
/// impl Delegate for Counting {
///     type Inner = MemoryStorage;
///
///     fn inner(&self) -> &MemoryStorage {
///         &self.inner
///     }
/// }
///
/// impl Counting {
///     async fn probe(&self) -> Result<()> {
///         self.probes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         Ok(())
///     }
/// }
///
/// testkit::delegate_storage!(Counting);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! delegate_storage {
    ($store:ident) => {
        /// The storage traits stay out of scope here, so that `self.method()` finds an inherent method or the fallback.
        mod delegated_storage {
            use super::$store;
            #[allow(unused_imports, reason = "a store that overrides every method needs no fallback")]
            use $crate::delegate::Fallback as _;
            use $crate::delegate::names::*;
            use $crate::delegate::storage_traits;

            $crate::storage_methods!($crate::implement_storage, $store);
        }
    };
}

/// What the signatures of the storage methods refer to.
#[doc(hidden)]
pub mod names {
    pub use std::net::IpAddr;

    pub use async_trait::async_trait;
    pub use conversations::storage::{
        ConversationPage, ConversationQuery, ConversationWrite, KnowledgeWrite, MessageQuery,
    };
    pub use conversations::{Conversation, KnowledgeDocument, Message, Passage};
    pub use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
    pub use openapi_core::agents::Agent;
    pub use openapi_core::audit::{ChainHead, ChainedEntry, SealedEntry};
    pub use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
    pub use openapi_core::credits::{CreditAccount, CreditEntry};
    pub use openapi_core::files::ContactFile;
    pub use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
    pub use openapi_core::ports::BlobKey;
    pub use openapi_core::schema::ContactSchema;
    pub use openapi_core::storage::{
        AuditQuery, ChainPosition, ChainQuery, ChangeNotifier, ContactPage, ContactQuery, ContactWrite,
        CreditWrite, DocumentWrite, Duplicate, Effects, ErasureState, FileBlob, FileDeletion, FilePage,
        FileQuery, FileTombstone, FileUsage, FileWrite, IdempotencyKey, IdempotencyRecord, Job, JobClaim,
        JobPage, JobQuery, JobState, JobsWrite, LatestQuery, LedgerQuery, LogPage, Queue, QueueFront,
        QueueLoad, RecordId, RecordKey, RecordKind, RecordsWrite, Result, ScopedJob, ServerKeyUses,
        StoredDocument, StoredRecord, SubmissionChange, SubmissionPage, SubmissionQuery, SubmissionsWrite,
        TemplatePage, TemplateQuery, Woken,
    };
    pub use openapi_core::values::{
        AgentId, ContactId, ConversationId, ExternalId, FileId, JobId, KeyId, KnowledgeId, PlatformId,
        SubmissionId, TemplateId, Timestamp,
    };
}

/// The storage traits.
#[doc(hidden)]
pub mod storage_traits {
    pub use conversations::storage::{ConversationStore, KnowledgeStore};
    pub use openapi_core::storage::{
        AgentStore, AuditStore, ChangeSource, ContactSchemaStore, ContactStore, CreditStore, DocumentStore,
        FileStore, FormStore, HealthProbe, IdempotencyStore, KeyStore, LogStore, QueueStore, RecordStore,
    };
}

mod fallback {
    use super::Delegate;
    use super::names::*;
    use super::storage_traits::*;

    storage_methods!(fallback, Fallback);
}

#[doc(hidden)]
pub use fallback::Fallback;
pub use fallback::METHODS;
