//! Form templates and what is submitted under them (contract 2.3, 3): definitions, the check of `formData`, the JSON
//! Schema and the legacy structure made from a template, and the states of a submission.

mod status;
mod submission;
mod template;

pub use status::{SubmissionPolicy, SubmissionStatus, TemplateStatus, Transition};
pub use submission::{FormDataRevision, StatusChange, Submission, SubmissionPreview, WithHistory};
pub use template::{
    FormField, FormFieldType, FormTemplate, Operator, ShowIf, TemplateSummary, ValidationRules,
};
