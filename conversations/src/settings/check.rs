//! Reads settings, and checks their members, types and bounds, and the fields of the contact schema that they name.

use std::borrow::Cow;

use openapi_core::files::FileKind;
use openapi_core::json::{Json, Object};
use openapi_core::schema::ContactSchema;
use openapi_core::validation::{ValidationCode, ValidationIssue, Violations};

use super::{AgentSettings, Appearance, LeadSettings};

/// Members whose names are chosen by the operator or absent from the built-in settings.
const OPEN: [&str; 3] = ["appearance.strings", "appearance.teaser", "lead.consent"];

impl AgentSettings {
    /// Reads settings and checks them against the contact schema in force.
    ///
    /// # Errors
    /// All unknown members and exceeded bounds, each with its path; of wrong types the first.
    pub fn read(settings: &Object, schema: &ContactSchema) -> Result<Self, Violations> {
        let mut violations = Violations::new();
        let built_in = serde_json::to_value(AgentSettings::default()).unwrap_or_default();
        unknown(settings, &built_in, "", &mut violations);
        if !violations.is_empty() {
            return Err(violations);
        }
        let text = serde_json::to_string(settings).unwrap_or_default();
        let mut reader = serde_json::Deserializer::from_str(&text);
        let read: AgentSettings = match serde_path_to_error::deserialize(&mut reader) {
            Ok(read) => read,
            Err(error) => {
                let path = error.path().to_string();
                // The message of serde ends with a position in a text that the operator does not see.
                let said = error.inner().to_string();
                let words = said.split(" at line ").next().unwrap_or_default().to_owned();
                let words =
                    if words.starts_with("must ") { words } else { format!("cannot be read: {words}") };
                violations.body(path, None, ValidationIssue::new(ValidationCode::Type, words));
                return Err(violations);
            }
        };
        read.check(schema, &mut violations);
        if violations.is_empty() { Ok(read) } else { Err(violations) }
    }

    fn check(&self, schema: &ContactSchema, violations: &mut Violations) {
        self.appearance.check(violations);
        for (path, hosts) in [("imageHosts", &self.image_hosts), ("linkHosts", &self.link_hosts)] {
            for (at, host) in hosts.iter().enumerate().filter(|(_, host)| !is_host(host)) {
                let message = "must be a host name without scheme, port or path";
                reject(violations, format!("{path}[{at}]"), Some(host), ValidationCode::Format, message);
            }
        }
        within(violations, "retentionDays", u64::from(self.retention_days), 1, 3_650);
        for (at, name) in self.uploads.types.iter().enumerate() {
            if FileKind::of_extension(name).is_none() {
                let message = "is no type of file; give extensions such as pdf, jpeg, png";
                reject(violations, format!("uploads.types[{at}]"), Some(name), ValidationCode::Enum, message);
            }
        }
        if self.uploads.enabled && self.uploads.types.is_empty() {
            let message = "must name a type of file where files are taken";
            reject(violations, "uploads.types", None, ValidationCode::MinItems, message);
        }
        self.lead.check(schema, violations);
        let chat = &self.chat;
        longest(violations, "chat.instructions", chat.instructions.as_deref(), 8_000);
        longest(violations, "chat.responder", Some(&chat.responder), 64);
        if chat.responder.is_empty() {
            violations.body("chat.responder", None, ValidationIssue::required());
        }
        let share = |violations: &mut Violations, path: &str, value: f64, most: u8| {
            if !(0.0..=f64::from(most)).contains(&value) {
                let message = format!("must be from 0 to {most}");
                reject(violations, path, None, ValidationCode::Maximum, message);
            }
        };
        share(violations, "chat.minCoverage", f64::from(chat.min_coverage), 1);
        share(violations, "chat.llm.temperature", f64::from(chat.llm.temperature), 2);
        within(violations, "chat.handoff.timeoutMinutes", u64::from(chat.handoff.timeout_minutes), 1, 1_440);
        within(violations, "chat.llm.maxOutputTokens", u64::from(chat.llm.max_output_tokens), 16, 32_000);
        within(violations, "chat.llm.contextTokens", u64::from(chat.llm.context_tokens), 1_000, 1_000_000);
        longest(violations, "chat.llm.endpoint", Some(&chat.llm.endpoint), 64);
        longest(violations, "chat.llm.model", chat.llm.model.as_deref(), 200);
        if chat.llm.cost_per_day.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
            reject(violations, "chat.llm.costPerDay", None, ValidationCode::Minimum, "must be at least 0");
        }
        for (at, name) in chat.llm.released_fields.iter().enumerate() {
            let (code, message) = match schema.field(name) {
                None => (ValidationCode::Unknown, "is no field of the contact schema"),
                Some(_) if schema.is_sensitive(name) => {
                    (ValidationCode::Enum, "is a sensitive field, which no model may see")
                }
                Some(_) => continue,
            };
            reject(violations, format!("chat.llm.releasedFields[{at}]"), Some(name), code, message);
        }
    }
}

impl Appearance {
    fn check(&self, violations: &mut Violations) {
        let one_of = |violations: &mut Violations, path: &str, value: &str, allowed: &[&str]| {
            if !allowed.contains(&value) {
                violations.body(path, Some(&value.into()), ValidationIssue::not_one_of(allowed));
            }
        };
        for (name, text, most) in [
            ("title", &self.title, 80),
            ("subtitle", &self.subtitle, 120),
            ("greeting", &self.greeting, 1_000),
            ("footer", &self.footer, 200),
            ("disclosure", &self.disclosure, 300),
        ] {
            longest(violations, &format!("appearance.{name}"), text.as_deref(), most);
        }
        let digits = self.color.strip_prefix('#').unwrap_or_default();
        if !matches!(digits.len(), 3 | 6) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            let message = "must be #rgb or #rrggbb";
            reject(violations, "appearance.color", Some(&self.color), ValidationCode::Format, message);
        }
        if let Some(position) = &self.position {
            one_of(violations, "appearance.position", position, &["bottom-right", "bottom-left"]);
        }
        one_of(violations, "appearance.theme", &self.theme, &["auto", "light", "dark"]);
        if self.suggestions.len() > 6 {
            let message = "must have at most 6 elements";
            reject(violations, "appearance.suggestions", None, ValidationCode::MaxItems, message);
        }
        for (at, suggestion) in self.suggestions.iter().enumerate() {
            longest(violations, &format!("appearance.suggestions[{at}]"), Some(suggestion), 80);
        }
        if let Some(teaser) = &self.teaser {
            longest(violations, "appearance.teaser.text", Some(&teaser.text), 200);
        }
        for (name, url) in [("avatar", &self.avatar), ("privacyUrl", &self.privacy_url)] {
            let is_web = |url: &String| {
                url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
                    && url.len() <= 2_000
            };
            if let Some(url) = url.as_ref().filter(|url| !is_web(url)) {
                let message = "must be an absolute http or https URL";
                reject(violations, format!("appearance.{name}"), Some(url), ValidationCode::Format, message);
            }
        }
        if self.strings.len() > 200 {
            let message = "must have at most 200 members";
            reject(violations, "appearance.strings", None, ValidationCode::MaxProperties, message);
        }
        for (name, text) in &self.strings {
            longest(violations, &format!("appearance.strings.{name}"), Some(text), 300);
        }
    }
}

impl LeadSettings {
    fn check(&self, schema: &ContactSchema, violations: &mut Violations) {
        for (at, name) in self.fields.iter().enumerate() {
            let (code, message) = match schema.field(name) {
                None => (ValidationCode::Unknown, "is no field of the contact schema"),
                Some(_) if schema.is_sensitive(name) => {
                    (ValidationCode::Enum, "is a sensitive field, which the form does not ask for")
                }
                Some(_) if self.fields[..at].contains(name) => {
                    (ValidationCode::UniqueItems, "is given twice")
                }
                Some(_) => continue,
            };
            reject(violations, format!("lead.fields[{at}]"), Some(name), code, message);
        }
        if !self.fields.is_empty() {
            let required = |name: &str, required: bool| required || name == "primaryEmail";
            let fields = schema.fields.iter().map(|field| (field.name.clone(), field.required));
            let custom = schema
                .custom_fields
                .iter()
                .map(|field| (format!("customFields.{}", field.name), field.required));
            for (name, _) in fields.chain(custom).filter(|(name, needed)| required(name, *needed)) {
                // The service fills these in.
                let is_filled = matches!(name.as_str(), "source" | "status");
                if !is_filled && !self.fields.contains(&name) {
                    let message = format!("must name {name}, which a contact needs");
                    reject(violations, "lead.fields", None, ValidationCode::Required, message);
                }
            }
        }
        if self.prechat && self.fields.is_empty() {
            let fault = ValidationIssue::new(ValidationCode::Conflict, "needs fields to ask for");
            violations.body("lead.prechat", Some(&Json::Bool(true)), fault);
        }
        if let Some(consent) = &self.consent {
            longest(violations, "lead.consent.version", Some(&consent.version), 40);
            longest(violations, "lead.consent.text", Some(&consent.text), 1_000);
            for (path, text) in [("version", &consent.version), ("text", &consent.text)] {
                if text.trim().is_empty() {
                    violations.body(format!("lead.consent.{path}"), None, ValidationIssue::required());
                }
            }
        }
    }
}

/// Members that the built-in settings do not have.
fn unknown(settings: &Object, built_in: &serde_json::Value, prefix: &str, violations: &mut Violations) {
    for (name, value) in settings.iter() {
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        match (built_in.get(name), value) {
            (None, _) => {
                violations.body(path, None, ValidationIssue::new(ValidationCode::Unknown, "is no setting"));
            }
            (Some(known @ serde_json::Value::Object(_)), Json::Object(members))
                if !OPEN.contains(&path.as_str()) =>
            {
                unknown(members, known, &path, violations);
            }
            _ => {}
        }
    }
}

/// Adds an error of a setting.
fn reject(
    violations: &mut Violations,
    path: impl Into<String>,
    value: Option<&String>,
    code: ValidationCode,
    message: impl Into<Cow<'static, str>>,
) {
    violations.body(
        path,
        value.map(|value| Json::from(value.as_str())).as_ref(),
        ValidationIssue::new(code, message),
    );
}

fn within(violations: &mut Violations, path: &str, value: u64, least: u64, most: u64) {
    if !(least..=most).contains(&value) {
        let rule = if value < least { ValidationCode::Minimum } else { ValidationCode::Maximum };
        violations.body(path, None, ValidationIssue::new(rule, format!("must be from {least} to {most}")));
    }
}

fn longest(violations: &mut Violations, path: &str, text: Option<&str>, most: usize) {
    if text.is_some_and(|text| text.chars().count() > most) {
        violations.body(path, None, ValidationIssue::max_length(most));
    }
}

fn is_host(text: &str) -> bool {
    !text.contains(['/', ':', '@', '?', '#', ' '])
        && url::Url::parse(&format!("https://{text}/")).is_ok_and(|url| url.host_str().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::json::parse;
    use openapi_core::values::Timestamp;

    fn read(text: &str) -> Result<AgentSettings, Vec<String>> {
        let Ok(Json::Object(settings)) = parse(text.as_bytes()) else { panic!("{text}") };
        let schema = ContactSchema::builtin("a".parse().expect("an id"), Timestamp::from_millis(0));
        AgentSettings::read(&settings, &schema)
            .map_err(|violations| violations.listed().iter().map(|it| it.message.clone()).collect())
    }

    #[test]
    fn nothing_is_the_built_in_settings() {
        assert_eq!(read("{}"), Ok(AgentSettings::default()));
        let text = serde_json::to_string(&AgentSettings::default()).expect("JSON");
        assert_eq!(read(&text), Ok(AgentSettings::default()), "and so are they, written out");
    }

    #[test]
    fn every_fault_has_its_path() {
        for (text, said) in [
            (r#"{"looks":{}}"#, "looks is no setting"),
            (r#"{"chat":{"llm":{"modelName":"x"}}}"#, "chat.llm.modelName is no setting"),
            (r#"{"chat":{"llm":{"temperature":3}}}"#, "chat.llm.temperature must be from 0 to 2"),
            (r#"{"chat":{"fallback":"none"}}"#, "chat.fallback cannot be read"),
            (r#"{"origins":["example.com"]}"#, "origins[0] must be https://host[:port]"),
            (r#"{"uploads":{"types":["pdf","shoe"]}}"#, "uploads.types[1] is no type of file"),
            (r#"{"uploads":{"enabled":true,"types":[]}}"#, "uploads.types must name a type of file"),
            (r#"{"retentionDays":0}"#, "retentionDays must be from 1 to 3650"),
            (r#"{"lead":{"fields":["firstName"]}}"#, "lead.fields must name primaryEmail"),
            (r#"{"lead":{"fields":["primaryEmail","shoeSize"]}}"#, "lead.fields[1] is no field"),
            (r#"{"appearance":{"color":"red"}}"#, "appearance.color must be #rgb"),
            (r#"{"appearance":{"teaser":{"text":"x","delay":1}}}"#, "appearance.teaser"),
            (r#"{"imageHosts":["https://x.example"]}"#, "imageHosts[0] must be a host name"),
        ] {
            let faults = read(text).expect_err(text);
            assert!(faults.iter().any(|fault| fault.contains(said)), "{text}: {faults:?}");
        }
    }

    #[test]
    fn what_an_operator_writes_is_read() {
        let text = r##"{"appearance":{"strings":{"open":"Ask us"},"teaser":{"text":"Hi"},"color":"#abc"},
            "lead":{"fields":["primaryEmail"],"consent":{"version":"1","text":"You may write to me.","required":true}},
            "origins":["https://*.example.com"],"chat":{"responder":"llm","llm":{"model":"m"}}}"##;
        let read = read(text).expect("settings");
        assert_eq!(read.chat.llm.model.as_deref(), Some("m"));
        assert_eq!(read.chat.llm.max_output_tokens, 800, "what is left out is as built in");
    }
}
