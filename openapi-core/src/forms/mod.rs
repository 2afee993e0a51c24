//! Form templates and their submissions (contract 2.3, 3): definitions, the check of `formData`, the JSON
//! Schema and the legacy structure made from a template, and the states of a submission.

pub(crate) mod body;
mod compiled;
mod definition;
mod document;
mod example;
mod json_schema;
mod status;
mod submission;
mod template;

pub use compiled::{CompiledTemplate, Completeness, MAX_FORM_DATA};
pub use definition::TemplateDefinition;
pub use document::TemplateDocument;
pub use example::Structure;
pub use status::{SubmissionPolicy, SubmissionStatus, TemplateStatus, Transition};
pub use submission::{FormDataRevision, StatusChange, Submission, SubmissionPreview, WithHistory};
pub use template::{
    FormField, FormFieldType, FormTemplate, Operator, ShowIf, TemplateSummary, ValidationRules,
};
