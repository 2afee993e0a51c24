//! Templates and submissions.

use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::Contact;
use openapi_core::forms::{
    FormDataRevision, FormField, FormFieldType, FormTemplate, ShowIf, StatusChange, Submission,
    SubmissionPolicy, SubmissionStatus, TemplateStatus, Transition, ValidationRules,
};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Effects, FormStore, NewSubmission, Result, SubmissionChange, SubmissionsWrite, Supersession,
};
use openapi_core::values::{AgentId, PlatformId, SubmissionId, TemplateId, TextValue};

use super::{at, entry, wait};

pub fn template_id(number: u64) -> TemplateId {
    TemplateId::from(PlatformId::new(at(0), number.to_be_bytes()))
}

pub fn submission_id(number: u64) -> SubmissionId {
    SubmissionId::from(PlatformId::new(at(0), number.to_be_bytes()))
}

/// A field with everything that a stored field may have.
pub fn field(name: &str) -> FormField {
    let json = |text: &str| serde_json::from_str(text).expect("test support");
    FormField {
        name: name.to_owned(),
        label: format!("Field \"{name}\""),
        kind: FormFieldType::Number,
        required: true,
        description: Some("Über alles\nund mehr".to_owned()),
        placeholder: None,
        order: -3,
        section: Some("Eins".to_owned()),
        options: None,
        validation: Some(ValidationRules {
            minimum: serde_json::from_str("0.10").ok(),
            max_length: Some(7),
            ..ValidationRules::default()
        }),
        default_value: Some(json("1.50")),
        example: Some(json(r#"{"b":[1e3,null],"a":"é"}"#)),
        sensitive: false,
        show_if: Some(ShowIf {
            field: "other".to_owned(),
            op: openapi_core::forms::Operator::In,
            value: json(r#"["x",false]"#),
        }),
        fields: None,
    }
}

/// An active template with one field.
pub fn template(agent: &AgentId, number: u64) -> FormTemplate {
    FormTemplate {
        id: template_id(number),
        agent_id: agent.clone(),
        name: TextValue::parse(&format!("Intake {number}")).expect("test support"),
        description: None,
        version: 1,
        status: TemplateStatus::Active,
        submission_policy: SubmissionPolicy::Supersede,
        disabled_transitions: vec![Transition {
            from: SubmissionStatus::Approved,
            to: SubmissionStatus::UnderReview,
        }],
        fields: vec![field("pain")],
        created_at: at(number as i64),
        updated_at: at(number as i64),
        generation: 1,
    }
}

/// What a contact submitted, the first of its template.
pub fn submission(contact: &Contact, template: &FormTemplate, number: u64) -> Submission {
    let by = Actor::User("tests".to_owned());
    let now = at(number as i64);
    Submission {
        id: submission_id(number),
        agent_id: contact.agent_id.clone(),
        template_id: template.id,
        template_name: template.name.clone(),
        template_version: template.version,
        contact_id: contact.id,
        external_reference_id: contact.external_reference_id.clone(),
        status: SubmissionStatus::Submitted,
        form_data: RawObject::from_text(format!(r#"{{"pain":{number}.0}}"#)).expect("an object"),
        submission_notes: None,
        review_notes: None,
        client_id: None,
        revision: 1,
        supersedes: None,
        superseded_by: None,
        superseded_at: None,
        source: "api".to_owned(),
        created_by: by.clone(),
        reviewed_by: None,
        reviewed_at: None,
        submitted_at: Some(now),
        status_history: vec![StatusChange {
            from: None,
            to: SubmissionStatus::Submitted,
            at: now,
            by,
            notes: None,
        }],
        created_at: now,
        updated_at: now,
        version: 1,
    }
}

/// The write of one submission, the successor of `head`.
pub fn submissions_write(
    contact: &Contact,
    template: &FormTemplate,
    submission: Submission,
    head: Option<SubmissionId>,
) -> SubmissionsWrite {
    let number = u64::from_be_bytes(submission.id.as_bytes()[4..].try_into().expect("test support"));
    let (agent, resource) = (&contact.agent_id, submission.id.to_string());
    SubmissionsWrite {
        contact: contact.id,
        contact_version: contact.version,
        at: submission.created_at,
        submissions: vec![NewSubmission {
            template_generation: template.generation,
            succession: submission.submitted_at.map(|_| Supersession { head }),
            submission,
        }],
        effects: Effects::audited(entry(agent, number, AuditAction::SubmissionCreate, &resource)),
    }
}

pub fn insert_template(store: &(impl FormStore + ?Sized), template: &FormTemplate) {
    let audit = entry(&template.agent_id, 0, AuditAction::TemplateCreate, &template.id.to_string());
    wait(store.insert_template(&template.agent_id, template, &Effects::audited(audit)))
        .expect("test support");
}

/// Submits the next revision for a contact and returns it.
///
/// # Errors
/// When another head is stored by then.
pub fn try_submit(
    store: &(impl FormStore + ?Sized),
    contact: &Contact,
    template: &FormTemplate,
    number: u64,
) -> Result<Submission> {
    let agent = &contact.agent_id;
    let head = wait(store.head_submission(agent, contact.id, template.id))?;
    let mut next = submission(contact, template, number);
    next.supersedes = head.as_ref().map(|head| head.id);
    next.revision = head.as_ref().map_or(1, |head| head.revision + 1);
    let write = submissions_write(contact, template, next.clone(), next.supersedes);
    wait(store.insert_submissions(agent, &write))?;
    Ok(next)
}

/// The same where nobody else submits.
pub fn submit(
    store: &(impl FormStore + ?Sized),
    contact: &Contact,
    template: &FormTemplate,
    number: u64,
) -> Submission {
    try_submit(store, contact, template, number).expect("test support")
}

/// A change of the data of a submission to `data`.
pub fn change(submission: &Submission, data: &str) -> SubmissionChange {
    let (version, number) = (submission.version + 1, submission.updated_at.millis_since(at(0)) as u64 + 1);
    let mut changed = Submission { version, updated_at: at(number as i64), ..submission.clone() };
    changed.form_data = RawObject::from_text(data).expect("an object");
    SubmissionChange {
        expected_version: submission.version,
        contact_version: 1,
        template_generation: None,
        succession: None,
        replaced: Some(FormDataRevision {
            version: submission.version,
            at: changed.updated_at,
            by: Actor::User("editor".to_owned()),
            form_data: submission.form_data.clone(),
        }),
        effects: Effects::audited(entry(
            &changed.agent_id,
            number,
            AuditAction::SubmissionUpdate,
            &changed.id.to_string(),
        )),
        submission: changed,
    }
}
