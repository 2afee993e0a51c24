//! Settings of document extraction: the engine of all agents, those of single agents, and the limits of knowledge.

use std::collections::BTreeMap;
use std::time::Duration;

use ::llm::EndpointConfig;
use conversations::admin::KnowledgeLimits;
use openapi_core::values::AgentId;

use super::llm;
use super::reader::Reader;
use super::{Config, ConfigError, values};

/// The engine that needs no network.
const BUILTIN: &str = "builtin";
/// The engine that `extraction_llm` names.
const LLM: &str = "llm";
/// The value that disables extraction.
const OFF: &str = "off";
/// The upper bound of `max_knowledge_size`, in bytes.
const MAX_KNOWLEDGE_BYTES: u64 = 256 << 20;

/// Whether documents are extracted, and how.
#[derive(Clone, Debug)]
pub enum EngineChoice {
    /// Extraction is disabled.
    Off,
    /// Extraction uses these engines.
    On(Engines),
}

/// The engines and the agents that use them.
#[derive(Clone, Debug)]
pub struct Engines {
    /// Languages of text in images, by their tesseract names.
    pub languages: Vec<String>,
    /// The language models by the names of their endpoints.
    pub models: BTreeMap<String, EndpointConfig>,
    /// The engine of agents without an own one.
    pub of_all: Engine,
    /// The engines of single agents.
    pub of_agents: BTreeMap<AgentId, Engine>,
    /// Whether the built-in engine takes over when a language model fails.
    pub fallback: bool,
    /// Whether documents are read where the system confines no process that reads them.
    pub allow_unconfined: bool,
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The built-in engine.
    Builtin,
    /// The language model at the endpoint of this name, a key of [`Engines::models`].
    Model(String),
}

impl EngineChoice {
    /// The choice of a command without a server, and the timeout of an extraction.
    ///
    /// # Errors
    /// Settings that are invalid or contradict each other.
    pub fn of(config: &Config) -> Result<(Self, Duration), ConfigError> {
        let mut reader = Reader::new(config);
        let llms = llm::read(&mut reader);
        let choice = EngineChoice::read(&mut reader, &llms);
        let timeout = reader.positive("extraction_timeout", Duration::from_secs(1));
        reader.finish((choice, timeout))
    }

    pub(super) fn read(reader: &mut Reader<'_>, llms: &BTreeMap<String, EndpointConfig>) -> Self {
        let languages = reader.many("ocr_languages", |text| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
            match !text.is_empty() && text.chars().all(is_name) {
                true => Ok(text.to_owned()),
                false => Err(format!("'{text}' is not a tesseract language; write eng or eng,deu")),
            }
        });
        let models = llms.clone();
        let fallback = reader.one("extraction_fallback", false, values::boolean);
        let allow_unconfined = reader.one("allow_unconfined_documents", false, values::boolean);
        let model = reader.optional("extraction_llm", |text| match engine(text, llms)? {
            Engine::Builtin => Err("builtin is not an LLM endpoint; remove the setting".to_owned()),
            model => Ok(model),
        });
        let of_agents = agents(reader, llms);
        let chosen = reader.optional("extraction_engine", |text| match (text, &model) {
            (OFF, _) => Ok(None),
            (BUILTIN, _) => Ok(Some(Engine::Builtin)),
            (LLM, Some(model)) => Ok(Some(model.clone())),
            (LLM, None) => Err("llm needs extraction_llm, the name of an LLM endpoint".to_owned()),
            _ => Err(format!("'{text}' is not an engine; choose from builtin, llm, off")),
        });
        match chosen.unwrap_or_else(|| Some(model.unwrap_or(Engine::Builtin))) {
            Some(of_all) => {
                EngineChoice::On(Engines { languages, models, of_all, of_agents, fallback, allow_unconfined })
            }
            None => EngineChoice::Off,
        }
    }
}

/// Whether documents are read where the system confines no process that reads them.
///
/// # Errors
/// A value that is no boolean.
pub fn allow_unconfined_documents(config: &Config) -> Result<bool, ConfigError> {
    let mut reader = Reader::new(config);
    let allow = reader.one("allow_unconfined_documents", false, values::boolean);
    reader.finish(allow)
}

/// The limits of an agent's knowledge.
///
/// # Errors
/// Limits out of their range.
pub fn knowledge_limits(config: &Config) -> Result<KnowledgeLimits, ConfigError> {
    let mut reader = Reader::new(config);
    let mut limits = KnowledgeLimits::default();
    limits.bytes = reader.bytes("max_knowledge_size", limits.bytes, 1, MAX_KNOWLEDGE_BYTES);
    limits.pages = reader.count("max_knowledge_pages", 1, u64::from(u32::MAX)) as u32;
    limits.characters = reader.count("max_knowledge_characters", 1, u64::MAX);
    limits.documents = reader.count("knowledge_documents", 1, u64::from(u32::MAX)) as u32;
    limits.passages = reader.count("knowledge_passages", 1, u64::MAX);
    reader.finish(limits)
}

/// The engine of this name.
fn engine(name: &str, llms: &BTreeMap<String, EndpointConfig>) -> Result<Engine, String> {
    match name {
        BUILTIN => Ok(Engine::Builtin),
        _ if llms.contains_key(name) => Ok(Engine::Model(name.to_owned())),
        _ => {
            let known: Vec<&str> = [BUILTIN].into_iter().chain(llms.keys().map(String::as_str)).collect();
            Err(format!("there is no engine '{name}'; choose from {}", known.join(", ")))
        }
    }
}

fn agents(reader: &mut Reader<'_>, llms: &BTreeMap<String, EndpointConfig>) -> BTreeMap<AgentId, Engine> {
    let given = reader.many("agent_engine", |text| {
        let (agent, name) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' is not AGENT=ENGINE, such as acme={BUILTIN}"))?;
        let agent: AgentId = agent.parse().map_err(|error| format!("'{text}': the agent {error}"))?;
        let engine = engine(name, llms).map_err(|message| format!("'{text}': {message}"))?;
        Ok((agent, engine))
    });
    let mut engines = BTreeMap::new();
    for (agent, engine) in given {
        if engines.insert(agent.clone(), engine).is_some() {
            reader.error("agent_engine", &format!("'{agent}' has two engines; remove one"));
        }
    }
    engines
}
