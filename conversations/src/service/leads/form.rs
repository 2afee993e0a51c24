//! A submitted lead form and the errors of its fields.

use openapi_core::audit::SealedEntry;
use openapi_core::json::{Json, Object};
use openapi_core::reply::ApiError;
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};

use crate::Consent;
use crate::widget::config::LeadForm;
use crate::widget::direction::turns_text;
use crate::widget::request::Members;

/// A submitted lead form.
#[derive(Clone, Debug)]
pub(crate) struct SentLead {
    pub(super) fields: Object,
    pub(super) consent: Option<Consent>,
    /// The prefix of the names of its fields in errors.
    pub(super) prefix: &'static str,
}

impl SentLead {
    /// The form that comes with the first message.
    pub(crate) fn of_turn(members: &mut Members<'_>) -> Option<Self> {
        let lead = members.object("lead")?;
        let mut inner = Members::new(lead);
        let fields = fields(&mut inner);
        let consent = inner.consent("consent");
        for fault in inner.faults.listed() {
            let at = format!("lead.{}", fault.field);
            members.faults.push(ValidationError { field: at, ..fault.clone() });
        }
        Some(SentLead { fields, consent, prefix: "lead.fields." })
    }

    /// The form that is the body itself.
    pub(super) fn of_body(members: &mut Members<'_>) -> Self {
        let fields = fields(members);
        let consent = members.consent("consent");
        SentLead { fields, consent, prefix: "fields." }
    }

    /// Checks the form against the one that the agent asks for: its fields, and the consent to its text.
    pub(super) fn check(&self, form: Option<&LeadForm>) -> Result<(), ApiError> {
        let mut faults = Violations::new();
        let asked = |name: &str| form.is_some_and(|form| form.fields.iter().any(|field| field.name == name));
        for (name, value) in self.fields.iter().filter(|(name, _)| !asked(name)) {
            let fault = ValidationIssue::new(ValidationCode::Unknown, "is not asked for");
            faults.body(format!("{}{name}", self.prefix), Some(value), fault);
        }
        if let Some(asked) = form.and_then(|form| form.consent.as_ref()) {
            match &self.consent {
                None if asked.required => faults.body("consent", None, ValidationIssue::required()),
                Some(given) if given.version != asked.version => {
                    let message = format!("was given to another text than {}", asked.version);
                    faults.body(
                        "consent",
                        Some(&given.version.as_str().into()),
                        ValidationIssue::new(ValidationCode::Conflict, message),
                    );
                }
                _ => {}
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
    }
}

/// A form that was accepted.
pub(crate) struct FilledForm {
    /// The members of the contact.
    pub(super) fields: Object,
    pub(crate) audit: SealedEntry,
}

/// The fields of a form without the characters that change the direction of text.
fn fields(members: &mut Members<'_>) -> Object {
    let Some(sent) = members.object("fields") else { return Object::new() };
    let shown = |value: &Json| match value {
        Json::String(text) => {
            Json::from(text.chars().filter(|letter| !turns_text(*letter)).collect::<String>().as_str())
        }
        other => other.clone(),
    };
    sent.iter().map(|(name, value)| (name.to_owned(), shown(value))).collect()
}

/// The violations of a contact under the names of the fields in the form.
pub(super) fn renamed(error: &ApiError, prefix: &str) -> ApiError {
    let mut violations = Violations::new();
    for violation in error.violations() {
        let field = format!("{prefix}{}", violation.field);
        let message = match violation.message.strip_prefix(&violation.field) {
            Some(rest) => format!("{field}{rest}"),
            None => violation.message.clone(),
        };
        violations.push(ValidationError { field, message, location: Location::Body, ..violation.clone() });
    }
    violations.into()
}
