//! The settings of an agent's replies: the member `chat`.

use serde::{Deserialize, Serialize};

/// The settings of an agent's replies. Every member is optional; unknown ones are rejected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChatSettings {
    /// The responder: `knowledge`, `llm`, or the name of one of the host's own.
    pub responder: String,
    /// Instructions to the model, up to 8,000 characters.
    pub instructions: Option<String>,
    /// The share of a question that the documents must cover for an answer, 0 to 1.
    pub min_coverage: f32,
    /// What happens when the responder cannot answer.
    pub fallback: Fallback,
    /// The most turns of a UTC day. Beyond them visitors get the lead form. 0 is no limit.
    pub turns_per_day: u32,
    /// Whether visitors may ask for a person.
    pub handoff: HandoffSettings,
    /// For the responder `llm`.
    pub llm: LlmSettings,
}

impl Default for ChatSettings {
    fn default() -> Self {
        ChatSettings {
            responder: "knowledge".to_owned(),
            instructions: None,
            min_coverage: 0.5,
            fallback: Fallback::Knowledge,
            turns_per_day: 2_000,
            handoff: HandoffSettings::default(),
            llm: LlmSettings::default(),
        }
    }
}

/// What happens when a responder cannot answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// The responder `knowledge` answers from the same passages.
    #[default]
    Knowledge,
    /// The visitor gets an error.
    Error,
}

/// The handoff to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HandoffSettings {
    /// Whether visitors may ask for a person.
    pub enabled: bool,
    /// The minutes without a reply after which the agent answers again, 1 to 1,440.
    pub timeout_minutes: u32,
}

impl Default for HandoffSettings {
    fn default() -> Self {
        HandoffSettings { enabled: false, timeout_minutes: 10 }
    }
}

/// The settings of the responder `llm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LlmSettings {
    /// The name of an endpoint in the server's configuration, which has its address and key.
    pub endpoint: String,
    /// The model; [`None`] for the endpoint's default.
    pub model: Option<String>,
    /// The knowledge that answers may use.
    pub grounding: Grounding,
    /// 0 to 2.
    pub temperature: f32,
    /// Tokens of one reply, 16 to 32,000.
    pub max_output_tokens: u32,
    /// The most tokens of a prompt, 1,000 to 1,000,000.
    pub context_tokens: u32,
    /// Tokens of a UTC day; 0 is no limit.
    pub tokens_per_day: u64,
    /// The most cost of a UTC day, in the currency of the server's prices; [`None`] for no limit.
    pub cost_per_day: Option<f64>,
    /// Fields of a verified visitor's contact that the model may see.
    pub released_fields: Vec<String>,
}

impl Default for LlmSettings {
    fn default() -> Self {
        LlmSettings {
            endpoint: "default".to_owned(),
            model: None,
            grounding: Grounding::Strict,
            temperature: 0.2,
            max_output_tokens: 800,
            context_tokens: 8_000,
            tokens_per_day: 1_000_000,
            cost_per_day: None,
            released_fields: Vec::new(),
        }
    }
}

/// The knowledge that the answers of a model may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grounding {
    /// Only the passages; if they do not answer the question, the reply says so.
    #[default]
    Strict,
    /// General knowledge too, marked as such.
    Open,
}
