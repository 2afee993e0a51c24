//! The settings of an agent's widget and chat, as an operator writes them.

mod chat;
mod check;
mod origin;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use chat::{ChatSettings, Fallback, Grounding, HandoffSettings, LlmSettings};
pub use origin::OriginRule;

/// The settings of an agent's widget and chat. Absent members have their built-in values; unknown members are rejected.
/// [`AgentSettings::read`] reads and checks them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentSettings {
    /// The appearance and texts of the widget.
    pub appearance: Appearance,
    /// The origins of pages that may show the widget: `https://host[:port]`, `https://*.host`,
    /// `http://localhost[:port]`. Empty for every origin.
    pub origins: Vec<OriginRule>,
    /// The hosts of images in replies.
    pub image_hosts: Vec<String>,
    /// The hosts that replies of a model may link to, besides those of the documents.
    pub link_hosts: Vec<String>,
    /// Whether replies link to these hosts alone, not to those of the documents. The widget enforces it too.
    pub only_link_hosts: bool,
    /// Whether visitors may give feedback on replies.
    pub feedback: bool,
    /// The days for which a conversation is retained after its last message, 1 to 3,650.
    pub retention_days: u32,
    /// The lead form.
    pub lead: LeadSettings,
    /// Whether replies of people that a visitor does not read go to the address that the visitor gave in the form.
    pub email_replies: bool,
    /// The files that visitors may send.
    pub uploads: UploadSettings,
    /// The agent's replies.
    pub chat: ChatSettings,
}

impl Default for AgentSettings {
    fn default() -> Self {
        AgentSettings {
            appearance: Appearance::default(),
            origins: Vec::new(),
            image_hosts: Vec::new(),
            link_hosts: Vec::new(),
            only_link_hosts: false,
            feedback: true,
            retention_days: 365,
            lead: LeadSettings::default(),
            email_replies: false,
            uploads: UploadSettings::default(),
            chat: ChatSettings::default(),
        }
    }
}

/// The appearance and texts of the widget. `null` is the widget's default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Appearance {
    /// The title, up to 80 characters; by default the agent's name.
    pub title: Option<String>,
    /// The subtitle, up to 120 characters.
    pub subtitle: Option<String>,
    /// The address of an image, on the widget host or one of the image hosts.
    pub avatar: Option<String>,
    /// `#rgb` or `#rrggbb`.
    pub color: String,
    /// `bottom-right` or `bottom-left`.
    pub position: Option<String>,
    /// `auto`, `light` or `dark`.
    pub theme: String,
    /// The greeting, up to 1,000 characters.
    pub greeting: Option<String>,
    /// Suggested first questions, at most 6 of up to 80 characters.
    pub suggestions: Vec<String>,
    /// The teaser next to the launcher.
    pub teaser: Option<Teaser>,
    /// The text at the bottom, up to 200 characters.
    pub footer: Option<String>,
    /// The address of the privacy policy.
    pub privacy_url: Option<String>,
    /// The notice that an AI answers, up to 300 characters; by default that of the locale.
    pub disclosure: Option<String>,
    /// Texts that replace those of the widget, by key, each up to 300 characters.
    pub strings: BTreeMap<String, String>,
}

impl Default for Appearance {
    fn default() -> Self {
        Appearance {
            title: None,
            subtitle: None,
            avatar: None,
            color: "#3b5bdb".to_owned(),
            position: None,
            theme: "auto".to_owned(),
            greeting: None,
            suggestions: Vec::new(),
            teaser: None,
            footer: None,
            privacy_url: None,
            disclosure: None,
            strings: BTreeMap::new(),
        }
    }
}

/// The teaser next to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Teaser {
    /// Up to 200 characters.
    pub text: String,
    /// The milliseconds until it appears, by default 4,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
}

/// The lead form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeadSettings {
    /// Names of fields of the contact schema, including `primaryEmail`. Without fields there is no form.
    pub fields: Vec<String>,
    /// Whether visitors fill it in before their first message.
    pub prechat: bool,
    /// The consent that the form asks for.
    pub consent: Option<ConsentSettings>,
}

impl Default for LeadSettings {
    fn default() -> Self {
        LeadSettings {
            fields: vec!["primaryEmail".to_owned(), "firstName".to_owned()],
            prechat: false,
            consent: None,
        }
    }
}

/// The consent that a form asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsentSettings {
    /// The version of the text, up to 40 characters.
    pub version: String,
    /// The text, up to 1,000 characters.
    pub text: String,
    /// Whether the form requires it.
    #[serde(default)]
    pub required: bool,
}

/// The files that visitors may send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UploadSettings {
    /// Whether they may send files.
    pub enabled: bool,
    /// The extensions of the allowed types.
    pub types: Vec<String>,
}

impl Default for UploadSettings {
    fn default() -> Self {
        UploadSettings { enabled: false, types: ["pdf", "jpeg", "png"].map(str::to_owned).into() }
    }
}
