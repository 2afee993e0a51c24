//! The engine that is measured: the built-in one, or a model at an endpoint.

use extraction::document::Document;
use extraction::engine::builtin;
use openapi_core::extraction::ExtractionSchema;

/// What the arguments say about a model.
#[derive(clap::Args)]
pub struct ModelOptions {
    /// Use a model at this endpoint of the chat-completions protocol instead of the built-in engine
    #[arg(long = "llm-url", value_name = "URL")]
    pub endpoint: Option<String>,
    /// The model's name at the endpoint
    #[arg(long = "llm-model", value_name = "NAME")]
    pub model: Option<String>,
    /// Environment variable with the endpoint's API key
    #[arg(long = "llm-key-env", value_name = "VAR")]
    pub key_variable: Option<String>,
    /// Timeout of one document in seconds
    #[arg(long = "llm-timeout", value_name = "SECONDS", default_value_t = 120)]
    pub timeout: u64,
}

/// An engine.
pub enum Engine {
    BuiltIn,
    #[cfg(feature = "model")]
    Model(Box<model::Asked>),
}

impl Engine {
    /// The engine that the arguments name.
    #[cfg(feature = "model")]
    pub fn of(options: &ModelOptions) -> Result<Self, Box<dyn std::error::Error>> {
        match (&options.endpoint, &options.model) {
            (None, None) => Ok(Engine::BuiltIn),
            (Some(endpoint), Some(name)) => {
                Ok(Engine::Model(Box::new(model::Asked::new(endpoint, name, options)?)))
            }
            _ => Err("--llm-url and --llm-model go together".into()),
        }
    }

    /// The engine that the arguments name.
    #[cfg(not(feature = "model"))]
    pub fn of(options: &ModelOptions) -> Result<Self, Box<dyn std::error::Error>> {
        let is_asked =
            options.endpoint.is_some() || options.model.is_some() || options.key_variable.is_some();
        let is_short = options.timeout == 0;
        if is_asked || is_short {
            Err("built without the feature `model`".into())
        } else {
            Ok(Engine::BuiltIn)
        }
    }

    /// What it finds; what is known of single values only of the built-in engine.
    pub fn extract(&self, document: &Document, schema: &ExtractionSchema) -> Result<builtin::Answer, String> {
        match self {
            Engine::BuiltIn => Ok(builtin::extract(document, schema)),
            #[cfg(feature = "model")]
            Engine::Model(asked) => asked.extract(document, schema),
        }
    }
}

#[cfg(feature = "model")]
mod model {
    use std::time::Duration;

    use extraction::engine::model::{ModelConfig, ModelEngine};
    use llm::{ApiKey, EndpointConfig};
    use tokio::runtime::Runtime;

    use super::{Document, ExtractionSchema, ModelOptions, builtin};

    /// A model, and the runtime that its requests need.
    pub struct Asked {
        engine: ModelEngine,
        runtime: Runtime,
        timeout: Duration,
    }

    impl Asked {
        pub fn new(
            endpoint: &str,
            name: &str,
            options: &ModelOptions,
        ) -> Result<Self, Box<dyn std::error::Error>> {
            let mut endpoint = EndpointConfig::parse(endpoint, name)?;
            if let Some(variable) = &options.key_variable {
                let key = std::env::var(variable).map_err(|error| format!("{variable}: {error}"))?;
                endpoint.api_key = Some(ApiKey::new(&key)?);
            }
            Ok(Asked {
                engine: ModelEngine::new(ModelConfig::new(endpoint))?,
                runtime: Runtime::new()?,
                timeout: Duration::from_secs(options.timeout),
            })
        }

        pub fn extract(
            &self,
            document: &Document,
            schema: &ExtractionSchema,
        ) -> Result<builtin::Answer, String> {
            let answer = self.engine.extract(document, &document.images, schema, None, self.timeout);
            let answer = self.runtime.block_on(answer).map_err(|error| error.to_string())?;
            Ok(builtin::Answer {
                findings: answer.findings,
                warnings: answer.warnings,
                language: answer.language,
                features: Vec::new(),
            })
        }
    }
}
