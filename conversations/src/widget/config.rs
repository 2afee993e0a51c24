//! The widget's configuration: the public part of an agent's settings.

use std::collections::BTreeMap;

use openapi_core::json::{Json, Object, parse};
use openapi_core::schema::{CompiledSchema, ContactSchema, FieldOption, FieldType, Identity};
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use serde::Serialize;

use super::direction::turns_text;
use crate::{AgentSettings, ConsentSettings, LeadSettings, Teaser};

/// The most characters of a message.
pub(crate) const MESSAGE_CHARS: usize = 4_000;
/// The most bytes of an upload.
pub(crate) const UPLOAD_BYTES: u64 = 10 * 1024 * 1024;

/// The configuration of an agent's widget.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Configuration<'a> {
    agent_id: &'a AgentId,
    title: &'a str,
    subtitle: Option<&'a str>,
    avatar: Option<&'a str>,
    color: &'a str,
    position: Option<&'a str>,
    theme: &'a str,
    greeting: Option<&'a str>,
    suggestions: &'a [String],
    teaser: Option<&'a Teaser>,
    disclosure: Option<&'a str>,
    privacy_url: Option<&'a str>,
    footer: Option<&'a str>,
    prechat: Option<LeadForm>,
    lead: Option<LeadForm>,
    feedback: bool,
    uploads: bool,
    limits: Limits<'a>,
    locale: &'a str,
    strings: Object,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Limits<'a> {
    message_chars: usize,
    upload_bytes: u64,
    upload_types: &'a [String],
    image_hosts: &'a [String],
    /// The hosts that replies link to; `null` for any that the server lets through.
    link_hosts: Option<&'a [String]>,
}

/// A lead form as visitors see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LeadForm {
    pub(crate) fields: Vec<LeadField>,
    pub(crate) consent: Option<ConsentSettings>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LeadField {
    pub(crate) name: String,
    label: String,
    #[serde(rename = "type")]
    kind: FieldType,
    required: bool,
    options: Option<Vec<FieldOption>>,
    /// What the visitor said of it in the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
}

impl LeadField {
    /// A text as a value of the field, if its contact schema accepts it.
    fn value_of(&self, text: &str, schema: &CompiledSchema, agent: &AgentId, now: Timestamp) -> Option<Json> {
        let text: String = text.chars().filter(|letter| !turns_text(*letter)).collect();
        let value = match self.kind {
            FieldType::Number => {
                parse(text.trim().as_bytes()).ok().filter(|value| matches!(value, Json::Number(_)))?
            }
            FieldType::Boolean => Json::Bool(text.trim().parse().ok()?),
            _ => Json::from(text.trim()),
        };
        let mut fields = Object::new();
        match self.name.strip_prefix("customFields.") {
            Some(name) => {
                let mut custom = Object::new();
                custom.insert(name, value.clone());
                fields.insert("customFields", Json::Object(custom));
            }
            None => {
                fields.insert(self.name.as_str(), value.clone());
            }
        }
        // No contact is made, so the id is none.
        let identity = Identity { id: PlatformId::from_bytes([0; 12]).into(), agent_id: agent.clone(), now };
        let violations = schema.create(&fields, identity).err();
        let is_refused =
            violations.is_some_and(|found| found.listed().iter().any(|one| one.field == self.name));
        (!is_refused).then_some(value)
    }
}

impl LeadForm {
    /// The form of an agent, with the fields that its contact schema still has; [`None`] without fields.
    pub(crate) fn of(settings: &LeadSettings, schema: &ContactSchema) -> Option<Self> {
        let fields: Vec<LeadField> = settings
            .fields
            .iter()
            .filter(|name| !schema.is_sensitive(name))
            .filter_map(|name| {
                let field = schema.field(name)?;
                Some(LeadField {
                    name: name.clone(),
                    label: field.label.clone(),
                    kind: field.kind,
                    required: field.required || name == "primaryEmail",
                    options: field.options.clone(),
                    value: None,
                })
            })
            .collect();
        (!fields.is_empty()).then(|| LeadForm { fields, consent: settings.consent.clone() })
    }

    /// The form with what the visitor has said in the conversation; values that the schema refuses are left out.
    pub(crate) fn filled(
        mut self,
        collected: &BTreeMap<String, String>,
        schema: &CompiledSchema,
        agent: &AgentId,
        now: Timestamp,
    ) -> Self {
        for field in &mut self.fields {
            let said = collected.get(&field.name);
            field.value = said.and_then(|text| field.value_of(text, schema, agent, now));
        }
        self
    }
}

impl<'a> Configuration<'a> {
    pub(crate) fn new(
        agent_id: &'a AgentId,
        agent_name: &'a str,
        settings: &'a AgentSettings,
        schema: &ContactSchema,
        locale: &'a str,
        mut strings: Object,
    ) -> Self {
        let look = &settings.appearance;
        let lead = LeadForm::of(&settings.lead, schema);
        for (name, text) in &look.strings {
            strings.insert(name.as_str(), text.as_str().into());
        }
        Configuration {
            agent_id,
            title: look.title.as_deref().unwrap_or(agent_name),
            subtitle: look.subtitle.as_deref(),
            avatar: look.avatar.as_deref(),
            color: &look.color,
            position: look.position.as_deref(),
            theme: &look.theme,
            greeting: look.greeting.as_deref(),
            suggestions: &look.suggestions,
            teaser: look.teaser.as_ref(),
            disclosure: look.disclosure.as_deref(),
            privacy_url: look.privacy_url.as_deref(),
            footer: look.footer.as_deref(),
            prechat: lead.clone().filter(|_| settings.lead.prechat),
            lead,
            feedback: settings.feedback,
            uploads: settings.uploads.enabled,
            limits: Limits {
                message_chars: MESSAGE_CHARS,
                upload_bytes: UPLOAD_BYTES,
                upload_types: if settings.uploads.enabled { &settings.uploads.types } else { &[] },
                image_hosts: &settings.image_hosts,
                link_hosts: settings.only_link_hosts.then_some(&settings.link_hosts),
            },
            locale,
            strings,
        }
    }
}
