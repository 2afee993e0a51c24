//! The settings of an agent's widget and chat, as an operator writes them.

mod chat;
mod check;
mod origin;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use chat::{ChatSettings, Fallback, Grounding, HandoffSettings, LlmSettings};
pub use origin::OriginRule;

/// The settings of an agent's widget and chat. Every member is optional; what is left out is as built in, and unknown
/// members are refused. [`AgentSettings::read`] reads and checks them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentSettings {
    /// How the widget looks and what it says.
    pub appearance: Appearance,
    /// The origins of pages that may show the widget: `https://host[:port]`, `https://*.host`,
    /// `http://localhost[:port]`. None: every origin.
    pub origins: Vec<OriginRule>,
    /// Hosts that images in replies may come from.
    pub image_hosts: Vec<String>,
    /// Hosts that links in replies of a model may lead to, besides those of the documents.
    pub link_hosts: Vec<String>,
    /// Whether visitors may say what they think of a reply.
    pub feedback: bool,
    /// Days after its last message on which a conversation is erased, 1 to 3,650.
    pub retention_days: u32,
    /// The lead form.
    pub lead: LeadSettings,
    /// What visitors may send along.
    pub uploads: UploadSettings,
    /// How the agent answers.
    pub chat: ChatSettings,
}

impl Default for AgentSettings {
    fn default() -> Self {
        AgentSettings {
            appearance: Appearance::default(),
            origins: Vec::new(),
            image_hosts: Vec::new(),
            link_hosts: Vec::new(),
            feedback: true,
            retention_days: 365,
            lead: LeadSettings::default(),
            uploads: UploadSettings::default(),
            chat: ChatSettings::default(),
        }
    }
}

/// How the widget looks and what it says. `null` is the widget's own default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Appearance {
    /// The title, up to 80 characters; the agent's name where there is none.
    pub title: Option<String>,
    /// What stands under it, up to 120 characters.
    pub subtitle: Option<String>,
    /// The address of an image, on the widget host or one of the image hosts.
    pub avatar: Option<String>,
    /// `#rgb` or `#rrggbb`.
    pub color: String,
    /// `bottom-right` or `bottom-left`.
    pub position: Option<String>,
    /// `auto`, `light` or `dark`.
    pub theme: String,
    /// The first words, up to 1,000 characters.
    pub greeting: Option<String>,
    /// Questions to begin with, at most 6 of up to 80 characters.
    pub suggestions: Vec<String>,
    /// What is shown next to the launcher after a while.
    pub teaser: Option<Teaser>,
    /// What stands at the bottom, up to 200 characters.
    pub footer: Option<String>,
    /// Where the operator says how data are handled.
    pub privacy_url: Option<String>,
    /// What tells visitors that an AI answers, up to 300 characters; the locale's own where there is none.
    pub disclosure: Option<String>,
    /// Texts of the widget in place of its own, by their keys; each up to 300 characters.
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

/// What is shown next to the launcher after a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Teaser {
    /// Up to 200 characters.
    pub text: String,
    /// After how many milliseconds; 4,000 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
}

/// The lead form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeadSettings {
    /// Names of fields of the agent's contact schema, `primaryEmail` among them; none switches the form off.
    pub fields: Vec<String>,
    /// Whether visitors fill it in before their first message.
    pub prechat: bool,
    /// What visitors are asked to agree to.
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

/// What visitors are asked to agree to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsentSettings {
    /// The version of the text, up to 40 characters.
    pub version: String,
    /// The text, up to 1,000 characters.
    pub text: String,
    /// Whether the form needs it.
    #[serde(default)]
    pub required: bool,
}

/// What visitors may send along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UploadSettings {
    /// Whether they may send files.
    pub enabled: bool,
    /// Extensions of the types that are taken.
    pub types: Vec<String>,
}

impl Default for UploadSettings {
    fn default() -> Self {
        UploadSettings { enabled: false, types: ["pdf", "jpeg", "png"].map(str::to_owned).into() }
    }
}
