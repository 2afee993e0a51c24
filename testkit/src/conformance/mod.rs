//! The conformance suite for storage backends: named cases for each rule of the storage ports, random histories
//! compared with the model, and planted faults that test the suite itself.
//!
//! A backend implements [`Backend`] and writes one line in a test file:
//!
//! ```ignore
//! testkit::conformance_suite!(|| MyBackend::fresh());
//! ```

mod agents;
mod audit;
mod audit_chain;
pub mod blobs;
mod chat;
mod contacts;
mod credits;
mod documents;
mod effects;
mod faults;
mod files;
mod fixture;
mod forms;
mod histories;
mod job_histories;
mod jobs;
mod keys;
mod lists;
mod log;
mod races;
mod records;
mod replays;
mod schemas;
mod search;
mod shape_histories;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use chat::histories::chat_deeds;
use chat::{conversations, endings, histories as chat_histories, knowledge, messages, uploads};
pub use faults::{Faulty, PlantedFault, missed_faults};
pub use forms::histories::compare_forms;
use forms::{histories as form_histories, submissions, templates, writes};
pub use histories::{Step, history, replay_history};
use jobs::{endings as job_endings, queue as job_queue, writes as job_writes};

use ::conversations::storage::ConversationStorage;

/// A backend under test, with an empty store.
pub trait Backend: Send + Sync {
    /// The store.
    fn storage(&self) -> Arc<dyn ConversationStorage>;

    /// Closes and reopens the store, as a restart does. Returns `false` if its data does not outlive the process.
    fn reopen(&mut self) -> bool;

    /// The number of random histories; fewer where each step is a round trip to a server.
    fn histories(&self) -> u32 {
        64
    }

    /// Inconsistencies that the store finds in its own data; empty if it cannot check.
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }

    /// Runs a future to completion on the backend's runtime.
    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>);
}

/// A case of the suite.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Runs it on an empty store; panics if the store deviates.
    pub run: fn(&mut dyn Backend),
}

macro_rules! cases {
    ($($module:ident { $($case:ident)* })*) => {
        /// Every case.
        pub const CASES: &[Case] = &[$($(Case { name: stringify!($case), run: $module::$case },)*)*];

        /// Expands to one named test for each case; `$open` makes a [`Backend`] with an empty store.
        #[macro_export]
        macro_rules! conformance_suite {
            ($open:expr) => {
                $($(
                    #[test]
                    fn $case() {
                        $crate::conformance::run(stringify!($case), &mut ($open)());
                    }
                )*)*
            };
        }
    };
}

cases! {
    agents {
        agents_are_stored_and_listed_by_age
        agent_ids_are_never_given_twice
        a_deleted_agent_is_absent_everywhere
        purging_is_bounded_and_complete
        purging_touches_no_living_agent
        a_disabled_agent_keeps_its_data
    }
    keys {
        keys_are_found_by_both_names
        key_ids_are_taken_once
        key_updates_need_the_stored_version
        key_updates_keep_the_last_use
        the_last_use_never_goes_back
        the_grant_tells_the_agents_status
        keys_belong_to_their_agent
    }
    schemas {
        schemas_have_a_history
        schema_changes_need_the_version_before
        a_field_becomes_unique_only_without_collisions
        a_sensitive_field_leaves_the_search
        a_unique_field_is_enforced_for_stored_contacts
        schemas_belong_to_their_agent
    }
    contacts {
        contacts_come_back_as_stored
        text_survives_to_the_byte
        external_ids_are_exact
        external_ids_are_unique_also_when_archived
        unique_values_are_refused_in_order
        a_rename_frees_the_old_id
        updates_need_the_stored_version
        writes_need_the_schema_in_force
        absent_rows_are_missing
        a_refused_write_leaves_nothing
        erasing_removes_everything_of_a_contact
        contacts_belong_to_their_agent
        duplicates_are_found_without_writing
        stored_rows_outlive_a_restart
    }
    lists {
        every_sort_orders_ties_and_nulls
        totals_are_exact_on_every_page
        filters_combine
        times_filter_inclusively
        archived_contacts_are_hidden_unless_asked_for
        positions_outlive_their_contact
        counts_follow_every_change
        lists_show_one_agent_only
    }
    search {
        every_term_must_occur
        terms_ignore_case_and_accents
        terms_never_match_across_fields
        wildcards_are_plain_text
        digits_match_within_phones
        short_terms_are_found
        search_follows_every_change
        search_combines_with_filters_sorts_and_pages
    }
    files {
        files_come_back_as_stored
        file_lists_sort_and_page
        file_quotas_are_exact
        file_writes_need_the_contact_as_read
        uploads_are_noted_and_answered_again
        a_deleted_file_is_absent_everywhere
        contents_are_due_in_their_time
        erasing_makes_contents_due
        contents_of_deleted_agents_are_due
        contents_are_known_and_needed
        contents_are_marked_as_sealed
        files_belong_to_their_agent
    }
    credits {
        credits_come_back_as_saved
        credits_need_the_stored_version
        changes_of_credits_are_stored_as_a_whole
        ledgers_are_read_newest_first
        credits_belong_to_their_agent
        credits_of_deleted_agents_go
        of_equal_credit_versions_one_wins
        credits_are_conserved_among_several
    }
    documents {
        documents_come_back_as_stored
        document_lists_page_by_id
        documents_and_files_share_one_quota
        refused_documents_leave_nothing
        contents_of_documents_are_due_at_their_end
        a_discarded_document_leaves_its_content_due
        contents_of_documents_are_known_and_not_needed
        documents_of_deleted_agents_go
        documents_belong_to_their_agent
    }
    templates {
        templates_come_back_as_stored
        template_versions_are_stored
        template_changes_need_the_generation_before
        template_lists_sort_and_page
    }
    submissions {
        submissions_come_back_as_stored
        submissions_show_the_contact_as_it_is_named_now
        submission_lists_filter_and_page
        a_submission_replaces_the_head
        the_latest_is_handed_in_and_in_use
        erasing_removes_submissions
        forms_of_deleted_agents_go
        files_of_a_contact_are_distinguished
        forms_belong_to_their_agent
    }
    writes {
        writes_of_submissions_need_what_was_read
        several_submissions_are_stored_or_none
        submissions_are_noted_and_answered_again
        changes_of_submissions_keep_the_data_before
        of_equal_heads_one_wins
    }
    conversations {
        conversations_come_back_as_stored
        conversation_changes_need_the_version_before
        refused_conversations_leave_nothing
        conversation_lists_sort_and_page
        conversation_filters_combine
        of_equal_conversation_versions_one_wins
    }
    messages {
        messages_come_back_as_stored
        messages_are_read_in_windows
        messages_are_found_by_id_and_turn
        messages_are_replaced_by_number
    }
    endings {
        erasing_a_conversation_removes_its_messages
        conversations_expire_in_order
        erasing_a_contact_removes_its_conversations
        chats_of_deleted_agents_go
        conversations_belong_to_their_agent
    }
    uploads {
        retained_uploads_do_not_expire
        uploads_go_with_their_conversation
        uploads_go_with_their_contact
    }
    knowledge {
        knowledge_comes_back_as_stored
        knowledge_changes_need_the_version_before
        changes_of_knowledge_are_stored_as_a_whole
        passages_are_read_in_pages
        knowledge_belongs_to_its_agent
        of_equal_knowledge_versions_one_wins
    }
    records {
        records_come_back_as_saved
        records_compare_versions
        records_are_changed_as_a_whole
        unique_values_are_one_records
        records_are_listed_by_id
        due_records_in_order
        records_belong_to_their_scope
        records_go_with_their_subject
        of_equal_record_versions_one_wins
        of_equal_unique_values_one_wins
    }
    log {
        events_come_with_their_change
        a_refused_write_has_no_event
        logs_are_read_in_pages
        logs_belong_to_their_agent
        seq_has_no_gap_under_races
        the_newest_event_is_not_swept
        a_sweep_leaves_the_suffix
        an_erased_contact_is_in_no_read
        a_commit_notifies
    }
    jobs {
        jobs_come_back_as_saved
        jobs_compare_versions
        jobs_are_changed_as_a_whole
        job_lists_filter_and_page
    }
    job_queue {
        jobs_are_claimed_by_turn
        a_job_is_claimed_once
        agents_take_turns
        a_renewal_needs_the_owner
        a_lost_lease_is_ready_again
        a_settle_needs_its_version
        of_equal_job_versions_one_wins
        due_jobs_are_woken
    }
    job_writes {
        a_full_queue_refuses
        credits_and_jobs_agree
        documents_come_with_their_jobs
        records_come_with_their_jobs
        a_job_needs_the_contact_as_read
    }
    job_endings {
        erasing_erases_jobs
        jobs_belong_to_their_scope
        jobs_of_deleted_agents_go
    }
    replays {
        answers_are_stored_with_the_change
        answers_expire
        a_key_holds_one_answer
        answers_belong_to_their_agent
        sweeping_is_bounded
    }
    audit {
        every_change_is_noted_once
        entries_are_read_in_both_directions
        entries_of_an_agent_can_be_distinguished
    }
    audit_chain {
        every_agent_has_a_chain
        an_erasure_leaves_the_chain_sound
        a_purged_chain_begins_after_its_mark
        concurrent_writes_leave_no_gap
        an_unknown_agent_has_no_chain
    }
    effects {
        writes_of_tenants_store_their_effects
        writes_of_contacts_store_their_effects
    }
    races {
        of_equal_external_ids_one_wins
        of_equal_versions_one_wins
        of_equal_idempotency_keys_one_wins
        a_dropped_write_is_whole_or_absent
    }
    histories {
        random_histories_agree_with_the_model
    }
    form_histories {
        random_histories_of_forms_agree_with_the_model
    }
    chat_histories {
        random_histories_of_the_chat_agree_with_the_model
    }
    job_histories {
        random_histories_of_queues_agree_with_the_model
    }
    shape_histories {
        random_histories_of_records_and_logs_agree_with_the_model
    }
}

/// Runs one case by name.
///
/// # Panics
/// If the backend deviates, or there is no such case.
pub fn run(name: &str, backend: &mut dyn Backend) {
    let Some(case) = CASES.iter().find(|case| case.name == name) else { panic!("there is no case '{name}'") };
    (case.run)(backend);
}

/// Runs an async case body on a backend.
fn on<F>(backend: &dyn Backend, body: impl FnOnce(Arc<dyn ConversationStorage>) -> F)
where
    F: Future<Output = ()> + Send,
{
    let storage = backend.storage();
    backend.block_on(Box::pin(body(storage)));
}
