//! What an operator says about a model.

use llm::{ConfigError, EndpointConfig};

/// A model and how to ask it. [`ModelConfig::new`] has a default for every setting but the endpoint.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// The endpoint with its model.
    pub endpoint: EndpointConfig,
    /// The name under which the engine answers (contract 12.2, `engine`). Default: that of the model.
    pub name: String,
    /// The maximum number of characters of a document in one request. Longer documents are split into parts that
    /// overlap by some lines. Default: 60,000, at least 1,000.
    pub max_part_characters: usize,
    /// The maximum size of the page images in one request; further images are omitted. Default: 16 MiB.
    pub max_image_bytes: usize,
    /// The maximum number of tokens of one answer. Default: 8,192.
    pub max_output_tokens: u32,
    /// The maximum number of retries of a request that failed for want of a connection, or with 429 or 5xx.
    /// Default: 3.
    pub max_retries: u32,
    /// The maximum number of requests for one document, retries included. Default: 64.
    pub max_requests: u32,
    /// How many parts of a document are asked about at a time. Default: 4.
    pub max_parallel: usize,
    /// The sampling temperature; `None` leaves it to the endpoint. Default: 0.
    pub temperature: Option<f32>,
}

impl ModelConfig {
    /// The defaults for an endpoint.
    #[must_use]
    pub fn new(endpoint: EndpointConfig) -> Self {
        ModelConfig {
            name: endpoint.model.clone(),
            endpoint,
            max_part_characters: 60_000,
            max_image_bytes: 16 << 20,
            max_output_tokens: 8_192,
            max_retries: 3,
            max_requests: 64,
            max_parallel: 4,
            temperature: Some(0.0),
        }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let is_temperature = |value: f32| (0.0..=2.0).contains(&value);
        let checks = [
            (self.name.trim().is_empty(), "name must not be empty"),
            (self.max_part_characters < 1_000, "max_part_characters must be at least 1,000"),
            (self.max_output_tokens == 0, "max_output_tokens must be at least 1"),
            (self.max_requests == 0, "max_requests must be at least 1"),
            (self.max_parallel == 0, "max_parallel must be at least 1"),
            (!self.temperature.is_none_or(is_temperature), "temperature must be 0 to 2"),
        ];
        match checks.into_iter().find(|(fails, _)| *fails) {
            Some((_, message)) => Err(ConfigError::Setting(message)),
            None => Ok(()),
        }
    }
}
