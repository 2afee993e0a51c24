//! Check, repair, backup, restore.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::path::Path;
use std::time::Duration;

use openapi_core::audit::AuditAction;
use openapi_core::contacts::{ContactRef, SearchTerm};
use openapi_core::forms::FormTemplate;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSort, ContactStore, Effects, ErasureState, FormStore, LatestQuery,
    Order, Window,
};
use openapi_core::values::{Tag, TextValue};
use rusqlite::Connection;
use storage_sqlite::{Finding, FindingKind, OpenError, Ownership, SqliteConfig, SqliteStorage};
use support::{Folder, agent_id, contact, contact_id, entry, forms, insert, insert_agent, wait};

/// A store with fifty contacts in two agents.
fn filled(folder: &Folder) -> SqliteStorage {
    let store = folder.open();
    for agent in ["a", "b"] {
        let agent = agent_id(agent);
        let schema: ContactSchema = insert_agent(&store, &agent);
        for number in 0..25 {
            let mut contact = contact(&agent, number);
            contact.first_name = TextValue::parse(&format!("Zoë{number}")).ok();
            contact.tags = vec![Tag::parse("vip").unwrap(), Tag::parse("lead").unwrap()];
            contact.external_reference_id = format!("crm-{number}").parse().ok();
            insert(&store, &contact, &schema);
        }
    }
    store
}

fn found(store: &SqliteStorage, agent: &str, search: &str) -> u64 {
    let filter = ContactFilter { search: SearchTerm::split(search), ..ContactFilter::default() };
    let window = Window::Page { offset: 0, limit: 5 };
    let query = ContactQuery { filter, sort: ContactSort::FirstName, order: Order::Ascending, window };
    wait(store.contacts(&agent_id(agent), &query)).unwrap().total
}

/// Changes the file without the store.
fn damage(path: &Path, sql: &str) {
    let db = Connection::open(path).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db.execute_batch(sql).unwrap();
}

#[test]
fn a_store_in_use_is_found_to_be_well() {
    let folder = Folder::new();
    let store = filled(&folder);
    assert_eq!(store.check().unwrap(), []);
    std::thread::sleep(Duration::from_millis(400));
    let size = store.size().unwrap();
    assert_eq!((size.agents, size.contacts, size.unindexed_contacts), (2, 50, 0));
    assert!(size.file_bytes > 0);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn what_does_not_agree_is_found_and_repaired() {
    use FindingKind as F;
    for (sql, kind) in [
        ("UPDATE contact_count SET total = total + 1", F::Counter),
        ("DELETE FROM contact_count", F::Counter),
        ("UPDATE tag_count SET total = 3 WHERE tag = 'vip'", F::Counter),
        ("UPDATE contact_key SET first_name = 'other' WHERE n % 7 = 0", F::Keys),
        ("UPDATE contact_key SET archived = 1 WHERE n % 7 = 0", F::Keys),
        ("UPDATE contact_key SET search = 'other' WHERE n % 7 = 0", F::Keys),
        ("DELETE FROM contact_tag WHERE n % 7 = 0", F::Keys),
        (
            "INSERT INTO contact_tag SELECT agent, 'extra', archived, status, created_at, id, n FROM contact_tag WHERE tag = 'vip'",
            F::Keys,
        ),
        ("PRAGMA foreign_keys = OFF; DELETE FROM contact_key WHERE n % 7 = 0", F::Record),
        (
            "INSERT INTO search_gram (search_gram, rowid, grams) SELECT 'delete', n, '1:conta' FROM contact_key WHERE n % 7 = 0",
            F::SearchIndex,
        ),
        (
            "INSERT INTO search_gram (rowid, grams) SELECT n, '1:something' FROM contact_key WHERE n % 7 = 0",
            F::SearchIndex,
        ),
        ("INSERT INTO search_gram (search_gram) VALUES ('delete-all')", F::SearchIndex),
    ] {
        let folder = Folder::new();
        drop(filled(&folder));
        damage(&folder.database(), sql);
        let store = folder.open();
        let findings = store.check().unwrap();
        assert!(findings.iter().any(|finding| finding.kind == kind), "{sql}: {findings:?}");
        let repair = wait(store.repair()).unwrap();
        assert_eq!((repair.contacts, repair.left.as_slice()), (50, &[][..]), "{sql}");
        assert_eq!(store.check().unwrap(), [], "{sql}");
        assert_eq!((found(&store, "a", "zoe1"), found(&store, "b", "contact2")), (11, 6), "{sql}");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(store.check().unwrap(), [], "{sql}");
    }
}

/// A store with a template at two versions, and five submissions of each of two contacts, each the successor of the
/// one before.
fn filled_with_forms(folder: &Folder) -> SqliteStorage {
    let store = filled(folder);
    let agent = agent_id("a");
    let first = forms::template(&agent, 1);
    forms::insert_template(&store, &first);
    let mut second = FormTemplate { version: 2, generation: 2, ..first };
    second.fields.push(forms::field("second"));
    let audit = entry(&agent, 1, AuditAction::TemplateEdit, &second.id.to_string());
    wait(store.replace_template(&agent, &second, &Effects::audited(audit))).unwrap();
    for number in 0..10 {
        forms::submit(&store, &contact(&agent, number % 2), &second, number);
    }
    let latest = forms::submission_id(9);
    let stored = wait(store.submission(&agent, latest)).unwrap().unwrap();
    let change = forms::change(&stored, "{}");
    wait(store.update_submission(&agent, &change)).unwrap();
    store
}

#[test]
fn what_does_not_agree_among_forms_is_found() {
    use FindingKind as F;
    let ninth =
        |change: &str| format!("UPDATE form_submission SET {change} WHERE id = X'6553f1000000000000000008'");
    let of = |table: &str, change: &str| format!("UPDATE {table} SET {change}");
    let of_submissions = |change: &str| of("form_submission", change);
    let content = |change: &str| of("form_template_version", change);
    for (sql, kind, words) in [
        (of("form_template", "name_key = 'other'"), F::Keys, "the sort key of template"),
        (content("field_count = 7 WHERE version = 2"), F::Keys, "the number of fields of version 2"),
        (of("form_template", "version = 3"), F::Reference, "the version in force of template"),
        (
            of("form_template", "disabled_transitions = '[1]'"),
            F::Record,
            "template 6553f1000000000000000001 of",
        ),
        (
            content("fields = '[{}]' WHERE version = 1"),
            F::Record,
            "a version of a template of agent a: missing",
        ),
        (content("name = '' WHERE version = 1"), F::Record, "a name or a description that breaks its rule"),
        (
            "DELETE FROM form_template_version WHERE version = 2".to_owned(),
            F::Reference,
            "was made with a version of a template that is not there",
        ),
        (ninth("form_data = '{'"), F::Record, "a submission of agent a: "),
        (ninth("status_history = '[{}]'"), F::Record, "a submission of agent a: missing field"),
        (
            ninth("template_name = ''"),
            F::Record,
            "6553f1000000000000000008 of agent a: a value breaks its rule",
        ),
        (ninth("contact = zeroblob(12)"), F::Reference, "belongs to no contact"),
        (ninth("template = zeroblob(12)"), F::Reference, "was made with a version of a template"),
        (
            "DELETE FROM form_submission WHERE superseded_by IS NULL".to_owned(),
            F::Supersession,
            "is superseded by none of its contact and template",
        ),
        (
            "DELETE FROM form_submission WHERE supersedes IS NULL".to_owned(),
            F::Supersession,
            "supersedes one that is not superseded by it",
        ),
        (
            of_submissions("superseded_by = NULL, superseded_at = NULL WHERE revision = 1"),
            F::Supersession,
            "supersedes one that is not superseded by it",
        ),
        (
            of_submissions("superseded_at = NULL WHERE revision = 2"),
            F::Supersession,
            "superseded without a time",
        ),
        (of_submissions("revision = 3 WHERE revision = 4"), F::Supersession, "has no higher revision"),
        (
            of_submissions("superseded_by = NULL, superseded_at = NULL WHERE revision = 3;")
                + &of_submissions("supersedes = NULL WHERE revision = 4"),
            F::Supersession,
            "is the end of a succession, and another one",
        ),
        (
            "DELETE FROM form_submission WHERE revision = 5".to_owned(),
            F::Reference,
            "a revision belongs to submission 6553f1000000000000000009",
        ),
        (
            of("form_data_revision", "by = '{}'"),
            F::Record,
            "the data of a submission of agent a before a change",
        ),
        (
            of("form_data_revision", "form_data = '['"),
            F::Record,
            "the data of a submission of agent a before",
        ),
    ] {
        let folder = Folder::new();
        drop(filled_with_forms(&folder));
        damage(&folder.database(), &sql);
        let store = folder.open();
        let findings = store.check().unwrap();
        let is_meant = |finding: &Finding| finding.kind == kind && finding.detail.contains(words);
        assert!(findings.iter().any(is_meant), "{sql}: {findings:?}");
        wait(store.repair()).unwrap();
        let left = store.check().unwrap();
        assert_eq!(left.is_empty(), kind.is_repairable(), "{sql}: {left:?}");
    }
}

#[test]
fn forms_come_back_from_a_backup() {
    let folder = Folder::new();
    let store = filled_with_forms(&folder);
    assert_eq!(store.check().unwrap(), []);
    let backup = folder.path().join("backup.db");
    store.backup(&backup, |_, _| {}).unwrap();
    let agent = agent_id("a");
    let query =
        LatestQuery { contact: contact_id(1), template: forms::template_id(1), include_drafts: false };
    let before = wait(store.latest_submission(&agent, &query)).unwrap().unwrap();
    let second = wait(store.template(&agent, query.template)).unwrap().unwrap();
    forms::submit(&store, &contact(&agent, 1), &second, 11);
    drop(store);
    restore(&backup, &SqliteConfig::new(folder.database()), |_, _| {}).unwrap();
    let store = folder.open();
    assert_eq!(wait(store.latest_submission(&agent, &query)).unwrap(), Some(before.clone()));
    assert_eq!((before.id, before.revision), (forms::submission_id(9), 5));
    assert_eq!(wait(store.form_data_revisions(&agent, before.id)).unwrap().len(), 1);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn damage_that_only_a_backup_fixes_is_reported() {
    let folder = Folder::new();
    drop(filled(&folder));
    damage(&folder.database(), "UPDATE contact SET primary_email = 'nobody' WHERE n = (1 << 32) + 3");
    let store = folder.open();
    let findings = store.check().unwrap();
    assert!(findings.iter().any(|finding| finding.kind == FindingKind::Record), "{findings:?}");
    // Stored values are read unchanged, whatever today's rules.
    let read = wait(store.contact(&agent_id("a"), &ContactRef::Id(contact_id(2)))).unwrap().unwrap();
    assert_eq!(read.primary_email.as_str(), "nobody");
    let repair = wait(store.repair()).unwrap();
    assert_eq!((repair.contacts, repair.left.len()), (50, 1), "{:?}", repair.left);
    assert_eq!(store.check().unwrap().len(), 1);

    // A text that is no value at all cannot be read.
    drop(store);
    damage(&folder.database(), "UPDATE contact SET custom_fields = '{' WHERE n = (1 << 32) + 3");
    let store = folder.open();
    let error = wait(store.contact(&agent_id("a"), &ContactRef::Id(contact_id(2)))).unwrap_err();
    assert_eq!(error.kind, openapi_core::storage::StorageErrorKind::Internal);
    assert!(wait(store.contact(&agent_id("a"), &ContactRef::Id(contact_id(3)))).unwrap().is_some());
    let repair = wait(store.repair()).unwrap();
    assert_eq!((repair.contacts, repair.left.len()), (49, 1), "{:?}", repair.left);
    drop(store);

    // A page of zeros in the middle of the file.
    let folder = Folder::new();
    drop(filled(&folder));
    let mut file = std::fs::read(folder.database()).unwrap();
    let middle = file.len() / 2 / 4096 * 4096;
    file[middle..middle + 4096].fill(0);
    std::fs::write(folder.database(), file).unwrap();
    match SqliteStorage::open(SqliteConfig::new(folder.database())) {
        Ok(store) => {
            let findings = store.check().unwrap();
            assert!(findings.iter().any(|finding| finding.kind == FindingKind::File), "{findings:?}");
        }
        Err(error) => assert!(matches!(error, OpenError::Damaged { .. }), "{error}"),
    }
}

#[test]
fn a_backup_is_complete_and_can_replace_the_file() {
    let folder = Folder::new();
    let store = filled(&folder);
    let backup = folder.path().join("backup.db");
    let mut steps = Vec::new();
    let written = store.backup(&backup, |done, all| steps.push((done, all))).unwrap();
    assert_eq!(written.bytes, std::fs::metadata(&backup).unwrap().len());
    assert_eq!(steps.last().map(|(done, all)| done == all), Some(true));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&backup).unwrap().permissions()) & 0o777,
        0o600
    );
    // One file and nothing next to it.
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(
        names.iter().filter(|name| name.to_string_lossy().starts_with("backup")).count(),
        1,
        "{names:?}"
    );
    assert!(matches!(store.backup(&backup, |_, _| {}), Err(OpenError::Exists { .. })));

    // Later changes are not in it.
    let agent = agent_id("a");
    let schema = ContactSchema::builtin(agent.clone(), support::at(0));
    insert(&store, &contact(&agent, 99), &schema);
    let config = SqliteConfig::new(folder.database());
    let refused = Ownership::take(&config.path, "restore");
    assert!(matches!(refused, Err(OpenError::Owned { .. })), "{refused:?}");
    assert!(wait(store.contact(&agent, &ContactRef::Id(contact_id(99)))).unwrap().is_some());
    drop(store);
    restore(&backup, &config, |_, _| {}).unwrap();
    let store = folder.open();
    assert!(wait(store.contact(&agent, &ContactRef::Id(contact_id(99)))).unwrap().is_none());
    assert!(wait(store.contact(&agent, &ContactRef::Id(contact_id(7)))).unwrap().is_some());
    assert_eq!(store.check().unwrap(), []);
    assert_eq!(found(&store, "a", "zoe1"), 11);

    // To a path where nothing was.
    let elsewhere = SqliteConfig::new(folder.path().join("new/folder/openapi.db"));
    restore(&backup, &elsewhere, |_, _| {}).unwrap();
    assert_eq!(SqliteStorage::open(elsewhere).unwrap().size().unwrap().contacts, 50);
}

fn restore(from: &Path, config: &SqliteConfig, progress: impl FnMut(u64, u64)) -> Result<(), OpenError> {
    let ownership = Ownership::take(&config.path, "restore")?;
    SqliteStorage::restore(from, &ownership, progress)
}

#[test]
fn a_restore_over_a_program_that_knows_no_lock_is_refused() {
    let folder = Folder::new();
    let store = filled(&folder);
    let backup = folder.path().join("backup.db");
    store.backup(&backup, |_, _| {}).unwrap();
    drop(store);
    let other = Connection::open(folder.database()).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM contact").unwrap();
    let config = SqliteConfig::new(folder.database());
    let refused = restore(&backup, &config, |_, _| {});
    assert!(matches!(refused, Err(OpenError::Locked { .. })), "{refused:?}");
    drop(other);
    restore(&backup, &config, |_, _| {}).unwrap();
}

#[test]
fn what_is_no_backup_replaces_nothing() {
    let folder = Folder::new();
    drop(filled(&folder));
    let before = std::fs::read(folder.database()).unwrap();
    let config = SqliteConfig::new(folder.database());
    let path = folder.path().join("other.db");
    let refused = |what: &str| {
        let error = restore(&path, &config, |_, _| {}).unwrap_err();
        assert_eq!(std::fs::read(folder.database()).unwrap(), before, "{what}");
        let leftover = folder.path().join("openapi.db.restoring").exists();
        assert!(!leftover, "{what}");
        error
    };
    assert!(matches!(refused("no file"), OpenError::File { .. }));
    std::fs::write(&path, "not a database at all, but long enough to be looked at".repeat(100)).unwrap();
    assert!(matches!(refused("text"), OpenError::Foreign { .. }));
    std::fs::write(&path, "").unwrap();
    assert!(matches!(refused("empty"), OpenError::Foreign { .. }));
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    assert!(matches!(refused("another application"), OpenError::Foreign { .. }));
    let mut copy = before.clone();
    let third = copy.len() / 3 / 4096 * 4096;
    copy[third..third + 8192].fill(0x5a);
    std::fs::write(&path, &copy).unwrap();
    let error = refused("damaged");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    std::fs::write(&path, &before).unwrap();
    damage(&path, "PRAGMA user_version = 99");
    assert!(matches!(refused("newer"), OpenError::Newer { found: 99, .. }));
}

/// The files of the store in whose bytes the text occurs.
fn files_with(folder: &Folder, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.database().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}

/// A store in which a contact with this name was stored, changed and erased.
fn erased(folder: &Folder, name: &str) -> SqliteStorage {
    let store = filled(folder);
    let agent = agent_id("a");
    let schema =
        wait(openapi_core::storage::ContactSchemaStore::contact_schema(&store, &agent)).unwrap().unwrap();
    let mut contact = contact(&agent, 1_000);
    contact.first_name = TextValue::parse(name).ok();
    insert(&store, &contact, &schema);
    assert!(!files_with(folder, name).is_empty());
    let entry = entry(&agent, 1_000, AuditAction::ContactErase, &contact.id.to_string());
    wait(store.erase_contact(&agent, contact.id, entry.at, &Effects::audited(entry))).unwrap();
    store
}

#[test]
fn an_erased_contact_leaves_every_file_of_the_store() {
    let folder = Folder::new();
    let store = erased(&folder, "Xanthippe");
    assert_eq!(
        files_with(&folder, "Xanthippe"),
        ["openapi.db-wal"],
        "the log has earlier states of its pages"
    );
    assert_eq!(wait(store.complete_erasures()).unwrap(), ErasureState::Final);
    assert_eq!(files_with(&folder, "Xanthippe"), [""; 0]);
    assert_eq!(found(&store, "a", "zoe"), 25);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn a_reader_of_an_older_state_delays_the_end_of_an_erasure_and_no_write() {
    let folder = Folder::new();
    let store = erased(&folder, "Xanthippe");
    let reader = Connection::open(folder.database()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM contact").unwrap();
    std::thread::scope(|scope| {
        let end = scope.spawn(|| wait(store.complete_erasures()).unwrap());
        // Writes are committed meanwhile.
        insert_agent(&store, &agent_id("c"));
        assert!(!end.is_finished());
        assert_eq!(files_with(&folder, "Xanthippe"), ["openapi.db-wal"]);
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(end.join().unwrap(), ErasureState::Final);
    });
    assert_eq!(files_with(&folder, "Xanthippe"), [""; 0]);
}
