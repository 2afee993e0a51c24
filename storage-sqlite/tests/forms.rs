//! Concurrent submissions, and erased submissions.

mod support;

use std::collections::HashSet;

use openapi_core::audit::AuditAction;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    ContactStore, Effects, FormStore, StorageErrorKind, SubmissionFilter, SubmissionQuery, Window,
};
use openapi_core::values::TextValue;
use support::{Folder, agent_id, contact, contact_id, entry, forms, insert, insert_agent, wait};

#[test]
fn one_stands_however_many_are_submitted_at_once() {
    let folder = Folder::new();
    let store = folder.open();
    let agent = agent_id("a");
    let schema = insert_agent(&store, &agent);
    let (contact, template) = (contact(&agent, 1), forms::template(&agent, 1));
    insert(&store, &contact, &schema);
    forms::insert_template(&store, &template);
    let (threads, each) = (8, 25);
    let refused: u64 = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (store, contact, template) = (&store, &contact, &template);
                scope.spawn(move || {
                    let mut refused = 0;
                    for round in 0..each {
                        let number = thread as u64 * each + round;
                        while let Err(error) = forms::try_submit(store, contact, template, number) {
                            assert_eq!(error.kind, StorageErrorKind::Stale, "{error:?}");
                            refused += 1;
                        }
                    }
                    refused
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(refused > 0, "nothing was submitted at the same time");
    let all = threads as u64 * each;
    let query = |include_superseded| SubmissionQuery {
        filter: SubmissionFilter {
            contact: Some(contact.id),
            include_superseded,
            ..SubmissionFilter::default()
        },
        window: Window::Page { offset: 0, limit: 1_000 },
    };
    let stored = wait(store.submissions(&agent, &query(true))).unwrap();
    assert_eq!((stored.total, stored.submissions.len() as u64), (all, all));
    let standing = wait(store.submissions(&agent, &query(false))).unwrap();
    assert_eq!((standing.total, standing.submissions[0].revision), (1, all));
    let revisions: HashSet<u64> = stored.submissions.iter().map(|submission| submission.revision).collect();
    assert_eq!(revisions.len() as u64, all);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn nothing_of_an_erased_submission_stays_in_the_file() {
    let folder = Folder::new();
    let store = folder.open();
    let agent = agent_id("a");
    let schema = insert_agent(&store, &agent);
    let template = forms::template(&agent, 1);
    forms::insert_template(&store, &template);
    for number in 1..=2 {
        let contact = contact(&agent, number);
        insert(&store, &contact, &schema);
        let mut submission = forms::submission(&contact, &template, number);
        // Long ones do not fit into one page.
        let data = format!(r#"{{"answer":"secret{number} {}"}}"#, "x".repeat(9_000));
        submission.form_data = RawObject::from_text(data).unwrap();
        submission.submission_notes = TextValue::parse(&format!("notes{number}")).ok();
        submission.client_id = TextValue::parse(&format!("client{number}")).ok();
        let write = forms::submissions_write(&contact, &template, submission.clone(), None);
        wait(store.insert_submissions(&agent, &write)).unwrap();
        let change = forms::change(&submission, &format!(r#"{{"answer":"changed{number}"}}"#));
        wait(store.update_submission(&agent, &change)).unwrap();
    }
    let audit = entry(&agent, 9, AuditAction::ContactErase, &contact_id(1).to_string());
    wait(store.erase_contact(&agent, contact_id(1), audit.at, &Effects::audited(audit))).unwrap();
    assert_eq!(store.check().unwrap(), []);
    // Closing the last connection moves the log into the file.
    drop(store);
    let file = std::fs::read(folder.database()).unwrap();
    let holds = |text: &str| file.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    for text in ["secret", "notes", "client", "changed"] {
        assert!(!holds(&format!("{text}1")), "{text}");
        assert!(holds(&format!("{text}2")), "{text}");
    }
}
