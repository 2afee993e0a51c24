//! What finds values in documents, as the operator chooses it: for all agents, and for some of them.

use std::collections::BTreeMap;
use std::time::Duration;

use conversations::admin::KnowledgeLimits;
use llm::{ApiKey, EndpointConfig};
use openapi_core::values::AgentId;

use super::typed::Reader;
use super::{Config, ConfigError, endpoints, values};

/// The engine that needs no network.
const BUILTIN: &str = "builtin";
/// No engine at all.
const OFF: &str = "off";
/// The largest document that may be allowed for an agent to answer from, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// What an endpoint without a name is called.
const MODEL: &str = "model";

/// What finds values in documents.
#[derive(Clone, Debug)]
pub enum EngineChoice {
    /// Nothing.
    Off,
    /// These engines.
    On(Engines),
}

/// Engines, and whose documents each one gets.
#[derive(Clone, Debug)]
pub struct Engines {
    /// Languages of text in pictures, as tesseract names them.
    pub languages: Vec<String>,
    /// The models, by the names of their endpoints.
    pub models: BTreeMap<String, EndpointConfig>,
    /// What answers for agents without a choice of their own.
    pub of_all: Engine,
    /// What answers for these agents.
    pub of_agents: BTreeMap<AgentId, Engine>,
    /// Whether the built-in engine answers where a model gives no answer.
    pub fallback: bool,
}

/// One engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The built-in one.
    Builtin,
    /// The model of this name, which is among [`Engines::models`].
    Model(String),
}

impl EngineChoice {
    /// What a command that is no server goes by, and how long an extraction may take.
    ///
    /// # Errors
    /// When the settings contradict each other or cannot be used.
    pub fn of(config: &Config) -> Result<(Self, Duration), ConfigError> {
        let mut reader = Reader::new(config);
        let choice = EngineChoice::read(&mut reader);
        let patience = reader.positive("extraction_timeout", Duration::from_secs(1));
        reader.done((choice, patience))
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let languages = reader.many("ocr_languages", |text| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
            match !text.is_empty() && text.chars().all(is_name) {
                true => Ok(text.to_owned()),
                false => Err(format!("'{text}' is no language; write such as eng or eng,deu")),
            }
        });
        let models = models(reader);
        let fallback = reader.one("model_fallback", false, values::switch);
        let of_all = reader.one("extraction_engine", None, |text| match text {
            OFF => Ok(None),
            MODEL if !models.contains_key(MODEL) => Err("a model needs model_endpoint and model".to_owned()),
            _ => engine(text, &models, &[BUILTIN, OFF]).map(Some),
        });
        let of_agents = agents(reader, &models);
        match of_all {
            Some(of_all) => EngineChoice::On(Engines { languages, models, of_all, of_agents, fallback }),
            None => EngineChoice::Off,
        }
    }
}

/// How much an agent may answer from.
///
/// # Errors
/// When a limit is no number in range.
pub fn knowledge_limits(config: &Config) -> Result<KnowledgeLimits, ConfigError> {
    let mut reader = Reader::new(config);
    let mut limits = KnowledgeLimits::default();
    limits.bytes = reader.bytes("max_knowledge_size", limits.bytes, 1, MAX_BYTES);
    limits.pages = reader.count("max_knowledge_pages", 1, u64::from(u32::MAX)) as u32;
    limits.characters = reader.count("max_knowledge_characters", 1, u64::MAX);
    limits.documents = reader.count("knowledge_documents", 1, u64::from(u32::MAX)) as u32;
    limits.passages = reader.count("knowledge_passages", 1, u64::MAX);
    reader.done(limits)
}

/// The engine of this name. `builtin` are the words that are no model.
fn engine(name: &str, models: &BTreeMap<String, EndpointConfig>, builtin: &[&str]) -> Result<Engine, String> {
    if name == BUILTIN {
        return Ok(Engine::Builtin);
    }
    if models.contains_key(name) {
        return Ok(Engine::Model(name.to_owned()));
    }
    let known: Vec<&str> = builtin.iter().copied().chain(models.keys().map(String::as_str)).collect();
    let are = if known.len() == 1 { "is" } else { "are" };
    Err(format!("there is no engine '{name}'; there {are} {}", known.join(", ")))
}

fn agents(reader: &mut Reader<'_>, models: &BTreeMap<String, EndpointConfig>) -> BTreeMap<AgentId, Engine> {
    let given = reader.many("agent_engine", |text| {
        let (agent, name) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' is not AGENT=ENGINE, such as acme={BUILTIN}"))?;
        let agent: AgentId = agent.parse().map_err(|error| format!("'{text}': the agent {error}"))?;
        let engine = engine(name, models, &[BUILTIN]).map_err(|words| format!("'{text}': {words}"))?;
        Ok((agent, engine))
    });
    let mut engines = BTreeMap::new();
    for (agent, engine) in given {
        if engines.insert(agent.clone(), engine).is_some() {
            reader.fault("agent_engine", &format!("'{agent}' is given twice"));
        }
    }
    engines
}

/// The endpoints, each with its model, its key and whether it takes images.
fn models(reader: &mut Reader<'_>) -> BTreeMap<String, EndpointConfig> {
    let addresses = reader.many("model_endpoint", |text| {
        let (name, address) = endpoints::named(text);
        let name = name.unwrap_or(MODEL);
        if matches!(name, BUILTIN | OFF) {
            return Err(format!("an endpoint cannot be called '{name}'"));
        }
        let config = EndpointConfig::parse(address, "");
        config.map(|config| (name.to_owned(), config)).map_err(|error| error.to_string())
    });
    let mut models: BTreeMap<String, EndpointConfig> = BTreeMap::new();
    for (name, config) in addresses {
        if models.insert(name.clone(), config).is_some() {
            reader.fault("model_endpoint", &format!("'{name}' is given twice"));
        }
    }
    let names = reader.many("model", |text| {
        let (name, model) = endpoints::named(text);
        let name = name.unwrap_or(MODEL).to_owned();
        if model.trim().is_empty() {
            Err(format!("'{text}' names no model"))
        } else {
            Ok((name, model.to_owned()))
        }
    });
    let keys = reader.many("model_key", |text| {
        let keys = endpoints::keys(text, ApiKey::new)?;
        Ok(keys.into_iter().map(|(name, key)| (name.map(str::to_owned), key)).collect::<Vec<_>>())
    });
    let images = reader.many("model_images", |text| Ok(text.to_owned()));
    for (name, model) in names {
        match models.get_mut(&name) {
            Some(config) if !config.model.is_empty() => {
                reader.fault("model", &format!("the model of '{name}' is given twice"));
            }
            Some(config) => config.model = model,
            None => reader.fault("model", &no_endpoint(&name)),
        }
    }
    for (at, (name, key)) in keys.into_iter().flatten().enumerate() {
        let shown = name.as_deref().map_or_else(|| MODEL.to_owned(), str::to_owned);
        match models.get_mut(&shown) {
            Some(config) if config.api_key.is_some() => {
                reader.fault("model_key", &format!("the key of '{shown}' is given twice"));
            }
            Some(config) => config.api_key = Some(key),
            // What stands in front of an equals sign may be a part of a key: it is not shown.
            None => reader.fault("model_key", &format!("there is no endpoint for key {}", at + 1)),
        }
    }
    for name in images {
        match models.get_mut(&name) {
            Some(config) => config.images = true,
            None => reader.fault("model_images", &no_endpoint(&name)),
        }
    }
    for name in models.iter().filter(|(_, config)| config.model.is_empty()).map(|(name, _)| name) {
        reader.fault("model_endpoint", &format!("'{name}' needs a model: give model as well"));
    }
    models
}

fn no_endpoint(name: &str) -> String {
    format!("there is no endpoint '{name}'; give model_endpoint as well")
}
