//! How an agent answers: the member `chat` of its settings.

use serde::{Deserialize, Serialize};

/// How an agent answers visitors. Every member is optional; unknown ones are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChatSettings {
    /// Which responder answers: `knowledge`, `llm`, or the name of one that the host has brought.
    pub responder: String,
    /// What the operator wants the agent to be and to do; for responders with a model. Up to 8,000 characters.
    pub instructions: Option<String>,
    /// How much of a question the documents must cover to be answered from, 0 to 1.
    pub min_coverage: f32,
    /// What happens when the responder cannot answer.
    pub fallback: Fallback,
    /// Turns a UTC day; beyond them visitors get the lead form. 0 is no limit.
    pub turns_per_day: u32,
    /// Whether visitors may ask for a human.
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

/// Whether humans take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HandoffSettings {
    /// Whether visitors may ask for a human.
    pub enabled: bool,
    /// After how many minutes without a human's reply the agent answers again, 1 to 1,440.
    pub timeout_minutes: u32,
}

impl Default for HandoffSettings {
    fn default() -> Self {
        HandoffSettings { enabled: false, timeout_minutes: 10 }
    }
}

/// How the responder `llm` asks its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LlmSettings {
    /// The name of an endpoint in the server's configuration. Its address and its key are not an agent's to choose.
    pub endpoint: String,
    /// The model; none is the endpoint's own choice.
    pub model: Option<String>,
    /// What the answers may be made of.
    pub grounding: Grounding,
    /// 0 to 2.
    pub temperature: f32,
    /// Tokens of one reply, 16 to 32,000.
    pub max_output_tokens: u32,
    /// Tokens of what the model is given, 1,000 to 1,000,000.
    pub context_tokens: u32,
    /// Tokens of a UTC day; 0 is no limit.
    pub tokens_per_day: u64,
    /// What a UTC day may cost, in the currency of the server's prices; none is no limit.
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

/// What the answers of a model may be made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grounding {
    /// Only the passages; if they do not answer the question, the reply says so.
    #[default]
    Strict,
    /// General knowledge too, said to be such.
    Open,
}
