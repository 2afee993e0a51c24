//! The writes of a history: they start from stored data, and provoke every possible error.

use super::super::super::fixture::{self, at, object, parsed};
use super::super::{submission_of, template_of};
use super::{Draw, Outcome, Run, same};
use openapi_core::access::Actor;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, SharedContact};
use openapi_core::forms::{
    FormDataRevision, FormTemplate, StatusChange, Submission, SubmissionPolicy, SubmissionStatus,
    TemplateStatus, Transition,
};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    AgentStore, ContactStore, ContactWrite, Effects, FileDeletion, FileQuota, FileStore, FileTombstone,
    FileWrite, FormStore, IdempotencyKey, IdempotencyRecord, NewSubmission, SubmissionChange,
    SubmissionFilter, SubmissionQuery, SubmissionsWrite, Supersession, Window,
};

impl Run<'_> {
    fn stored_contact(&mut self) -> Contact {
        let id = self.random.contact();
        let stored = self
            .known(self.memory.contact(&self.agent, &ContactRef::Id(id)))
            .map(SharedContact::into_contact);
        stored.unwrap_or_else(|| Contact {
            id,
            ..self.known(async {
                Ok(self.world.contact_of(&self.schema, r#"{"primaryEmail":"a@example.com"}"#, 0))
            })
        })
    }

    fn stored_template(&mut self) -> Option<FormTemplate> {
        let id = self.random.template();
        self.known(self.memory.template(&self.agent, id))
    }

    pub(super) fn change_contact(&mut self) -> Outcome<()> {
        let mut contact = self.stored_contact();
        let known = self.known(self.memory.contact(&self.agent, &ContactRef::Id(contact.id))).is_some();
        let number = self.random.below(9);
        contact.external_reference_id = (number > 2).then(|| parsed(&format!("crm-{number}")));
        let before = contact.version;
        contact.version += u64::from(known);
        let write = ContactWrite {
            keys: ContactKeys::of(&contact, &self.schema),
            schema_version: self.schema.version,
            at: at(self.clock),
            effects: self.effects(AuditAction::ContactUpdate, &contact.id.to_string()),
            contact: contact.clone(),
        };
        if known {
            both!(self, update_contact(&self.agent, before, &write))?;
        } else {
            both!(self, insert_contact(&self.agent, &write))?;
        }
        Ok(())
    }

    pub(super) fn change_template(&mut self) -> Outcome<()> {
        let id = self.random.template();
        let stored = self.known(self.memory.template(&self.agent, id));
        let is_new = stored.is_none() || self.random.one_in(10);
        let mut next = stored.unwrap_or_else(|| template_of(&self.agent, id.as_bytes()[0], 0));
        let name = self.random.pick(&["Aufnahme", "aufnahme", "Zoë", "zoe", "Intake", "客户"]);
        next.name = parsed(name);
        next.description = self.random.one_in(2).then(|| parsed("What\nit is for"));
        next.status = self.random.pick(&TemplateStatus::ALL);
        next.submission_policy = self.random.pick(&SubmissionPolicy::ALL);
        let transition = |to| Transition { from: SubmissionStatus::Submitted, to };
        next.disabled_transitions = SubmissionStatus::ALL[2..]
            .iter()
            .filter(|_| self.random.one_in(3))
            .map(|to| transition(*to))
            .collect();
        next.fields = template_of(&self.agent, 0, 0).fields;
        next.fields.truncate(self.random.below(5) as usize);
        next.created_at = self.instant();
        next.updated_at = self.instant();
        let resource = next.id.to_string();
        if is_new {
            let effects = self.effects(AuditAction::TemplateCreate, &resource);
            both!(self, insert_template(&self.agent, &next, &effects))?;
        } else {
            next.generation += if self.random.one_in(8) { self.random.pick(&[0, 2]) } else { 1 };
            next.version += self.random.below(2);
            let effects = self.effects(AuditAction::TemplateEdit, &resource);
            both!(self, replace_template(&self.agent, &next, &effects))?;
        }
        Ok(())
    }

    /// Fills properties that stores do not interpret.
    fn fill(&mut self, submission: &mut Submission) {
        let number = self.random.below(50);
        submission.form_data = match self.random.below(3) {
            0 => RawObject::default(),
            1 => RawObject::new(&object(r#"{"a":"é\u0000","n":1.50}"#)),
            _ => RawObject::new(&object(&format!(r#"{{"n":{number},"g":{{}}}}"#))),
        };
        submission.submission_notes = self.random.one_in(2).then(|| parsed("Two\nlines"));
        submission.review_notes = self.random.one_in(3).then(|| parsed("Gut"));
        let reviewed = submission.status.is_review();
        submission.reviewed_by = reviewed.then(|| Actor::Operator("reviewer".to_owned()));
        submission.reviewed_at = reviewed.then(|| self.instant());
        submission.updated_at = self.instant();
    }

    /// The head that the caller has read; seldom another one.
    fn succession(&mut self, of: &Submission) -> (Supersession, Option<Submission>) {
        let head = self.known(self.memory.head_submission(&self.agent, of.contact_id, of.template_id));
        let seen = head.as_ref().map(|head| head.id);
        let any = self.random.submission();
        let other = self.random.pick(&[None, Some(any)]);
        (Supersession { head: if self.random.one_in(10) { other } else { seen } }, head)
    }

    pub(super) fn submit(&mut self) -> Outcome<()> {
        let contact = self.stored_contact();
        let (mut submissions, mut effects) = (Vec::<NewSubmission>::new(), Effects::default());
        for _ in 0..self.random.pick(&[0, 1, 1, 1, 1, 2, 3]) {
            let template = match self.stored_template() {
                Some(template) => template,
                None if self.random.one_in(5) => {
                    template_of(&self.agent, self.random.template().as_bytes()[0], 0)
                }
                None => continue,
            };
            let (id, status) =
                (self.random.submission().as_bytes()[0], self.random.pick(&SubmissionStatus::ALL));
            let mut new = submission_of(&contact, &template, id, status, 0);
            new.created_at = self.instant();
            let instant = self.instant();
            new.submitted_at = (new.status != SubmissionStatus::Draft).then_some(instant);
            new.client_id =
                self.random.one_in(2).then(|| parsed(["x", "X y", "é"][self.random.below(3) as usize]));
            self.fill(&mut new);
            if submissions.iter().any(|other| other.submission.id == new.id) {
                continue;
            }
            let mut succession = None;
            let is_first = submissions.iter().all(|other| other.submission.template_id != template.id);
            if new.submitted_at.is_some() && is_first && !self.random.one_in(4) {
                let (seen, head) = self.succession(&new);
                succession = Some(seen);
                new.supersedes = head.as_ref().map(|head| head.id);
                new.revision = head.map_or(1, |head| head.revision + 1);
            } else if !is_first {
                new.submitted_at = None;
            }
            effects.audit.extend(self.effects(AuditAction::SubmissionCreate, &new.id.to_string()).audit);
            submissions.push(NewSubmission {
                template_generation: template.generation + u64::from(self.random.one_in(15)),
                succession,
                submission: new,
            });
        }
        effects.replay = self.random.one_in(4).then(|| IdempotencyRecord {
            key: IdempotencyKey([self.random.below(5) as u8; 32]),
            fingerprint: [7; 32],
            status: 201,
            location: None,
            body: "{}".into(),
            resource: Some(contact.id),
            expires_at: at(self.clock + self.random.below(60) as i64),
        });
        let write = SubmissionsWrite {
            contact: contact.id,
            contact_version: contact.version + u64::from(self.random.one_in(12)),
            submissions,
            at: at(self.clock),
            effects,
        };
        both!(self, insert_submissions(&self.agent, &write))?;
        Ok(())
    }

    /// A stored submission; seldom an absent one.
    fn stored_submission(&mut self) -> Option<Submission> {
        let query = SubmissionQuery {
            filter: SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() },
            window: Window::Page { offset: self.random.below(12), limit: 1 },
        };
        let listed = self.known(self.memory.submissions(&self.agent, &query)).submissions;
        let id = listed.first()?.id;
        self.known(self.memory.submission(&self.agent, id))
    }

    pub(super) fn update(&mut self) -> Outcome<()> {
        let Some(stored) = self.stored_submission() else { return Ok(()) };
        let mut next = stored.clone();
        if self.random.one_in(20) {
            next.id = self.random.submission();
            next = self.known(self.memory.submission(&self.agent, next.id)).map_or(next, |_| stored.clone());
        }
        let mut succession = None;
        if next.submitted_at.is_none() && !next.is_superseded() && self.random.one_in(2) {
            next.status = SubmissionStatus::Submitted;
            next.submitted_at = Some(self.instant());
            if !self.random.one_in(4) {
                let (seen, head) = self.succession(&next);
                succession = Some(seen);
                next.supersedes = head.as_ref().map(|head| head.id);
                next.revision = head.map_or(1, |head| head.revision + 1);
            }
        } else {
            next.status = self.random.pick(&SubmissionStatus::ALL);
            if next.is_head() && self.random.one_in(6) {
                succession = Some(self.succession(&next).0);
            }
        }
        self.fill(&mut next);
        next.version += 1;
        let by = Actor::User("editor".to_owned());
        next.status_history.push(StatusChange {
            from: Some(stored.status),
            to: next.status,
            at: next.updated_at,
            by: by.clone(),
            notes: next.review_notes.clone(),
        });
        if self.random.one_in(9) {
            next.status_history.clear();
        }
        let contact = self.known(self.memory.contact(&self.agent, &ContactRef::Id(next.contact_id)));
        let template = self.known(self.memory.template(&self.agent, next.template_id));
        let generation = template.map_or(1, |template| template.generation);
        let change = SubmissionChange {
            template_generation: self
                .random
                .one_in(2)
                .then(|| generation + u64::from(self.random.one_in(12))),
            expected_version: stored.version + u64::from(self.random.one_in(12)),
            contact_version: contact.map_or(1, |contact| contact.version) + u64::from(self.random.one_in(12)),
            succession,
            replaced: self.random.one_in(2).then(|| FormDataRevision {
                version: stored.version,
                at: next.updated_at,
                by,
                form_data: stored.form_data.clone(),
            }),
            effects: self.effects(AuditAction::SubmissionUpdate, &next.id.to_string()),
            submission: next,
        };
        both!(self, update_submission(&self.agent, &change))?;
        both!(self, form_data_revisions(&self.agent, change.submission.id))?;
        Ok(())
    }

    pub(super) fn change_file(&mut self) -> Outcome<()> {
        let contact = self.stored_contact();
        let id = self.random.file();
        let effects = self.effects(AuditAction::FileUpload, &id.to_string());
        if self.random.one_in(2) {
            let file = super::super::super::files::file_of(&contact, id.as_bytes()[0], "a.pdf", 1, 0);
            let quota = FileQuota { files_of_contact: 99, bytes_of_agent: None };
            let write = FileWrite::new(file, &contact, quota, effects);
            both!(self, insert_file(&self.agent, &write))?;
        } else {
            let by = Actor::User("tests".to_owned());
            let deletion = FileDeletion {
                contact: contact.id,
                contact_version: contact.version,
                tombstone: FileTombstone { file: id, at: at(1), by, reason: None },
                purge_at: at(9),
                effects,
            };
            both!(self, delete_file(&self.agent, &deletion))?;
        }
        Ok(())
    }

    pub(super) fn delete_agent(&mut self) -> Outcome<()> {
        let deleted = Agent { status: AgentStatus::Deleted, ..fixture::agent(&self.agent, 0) };
        let effects = self.effects(AuditAction::AgentDelete, self.agent.as_str());
        both!(self, update_agent(&deleted, &effects))?;
        self.read()?;
        for step in 0..1_000 {
            if step == 2 {
                self.check()?;
            }
            let at_most = self.random.pick(&[1, 3, 7, 20]);
            if both!(self, purge_agent(&self.agent, at_most))? == Some(0) {
                break;
            }
        }
        self.next_agent();
        Ok(())
    }
}
