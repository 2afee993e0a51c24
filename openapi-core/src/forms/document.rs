//! The document of the schema endpoint (contract 2.3.1).

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::FormTemplate;

/// A template with the JSON Schema made from it.
#[derive(Clone, Copy, Debug)]
pub struct TemplateDocument<'a>(pub &'a FormTemplate);

impl Serialize for TemplateDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let template = self.0;
        let mut document = serializer.serialize_struct("TemplateDocument", 8)?;
        document.serialize_field("templateId", &template.id)?;
        document.serialize_field("name", &template.name)?;
        document.serialize_field("description", &template.description)?;
        document.serialize_field("version", &template.version)?;
        document.serialize_field("status", &template.status)?;
        document.serialize_field("submissionPolicy", &template.submission_policy)?;
        document.serialize_field("fields", &template.fields)?;
        document.serialize_field("jsonSchema", &template.json_schema())?;
        document.end()
    }
}
