//! What an operator says about an endpoint.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;

/// How an endpoint is told the shape of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Structured {
    /// By a JSON Schema first; where the endpoint refuses that, by the next one, and what it took is remembered.
    #[default]
    Auto,
    /// By `response_format` with a strict JSON Schema.
    JsonSchema,
    /// By `response_format` that asks for any JSON object, and words.
    JsonObject,
    /// By words alone.
    Prompt,
}

/// The key of an endpoint, sent as a bearer token. Neither `Debug` nor any error shows it.
#[derive(Clone)]
pub struct EndpointKey(HeaderValue);

impl EndpointKey {
    /// Takes a key; white space around it, such as the end of a file's line, is not part of it.
    ///
    /// # Errors
    /// It is empty or has characters that a header cannot hold.
    pub fn new(key: &str) -> Result<Self, ModelConfigError> {
        let key = key.trim();
        let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| ModelConfigError::Key)?;
        if key.is_empty() {
            return Err(ModelConfigError::Key);
        }
        value.set_sensitive(true);
        Ok(EndpointKey(value))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for EndpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndpointKey(…)")
    }
}

/// Where a model is and how it is asked. [`ModelConfig::new`] gives every setting but three a default.
#[derive(Clone)]
pub struct ModelConfig {
    /// The base of the API, such as `https://host/v1`, or the whole address up to `/chat/completions`.
    pub endpoint: Url,
    /// Its key, if it wants one. Over plain `http` the key and the documents can be read on the way.
    pub key: Option<EndpointKey>,
    /// The model's name at the endpoint.
    pub model: String,
    /// The name under which the engine answers (contract 12.2, `engine`).
    pub name: String,
    /// Whether the model takes images of pages beside their text. Default: no.
    pub images: bool,
    /// How the endpoint is told the shape of its answer.
    pub structured: Structured,
    /// How long a connection may take to be made. Default: 5 s.
    pub connect: Duration,
    /// The most bytes of one answer. Default: 4 MiB.
    pub answer_bytes: usize,
    /// The most characters of a document in one request; longer documents are asked about in parts that overlap by
    /// some lines. Default: 60,000, at least 1,000.
    pub part_characters: usize,
    /// The most bytes of page images in one request; those beyond it are left out. Default: 16 MiB.
    pub image_bytes: usize,
    /// The most tokens of one answer. Default: 8,192.
    pub answer_tokens: u32,
    /// How often a request is repeated that failed for want of a connection or was answered 429 or 5xx. Default: 3.
    pub retries: u32,
    /// The most requests for one document, repetitions included. Default: 64.
    pub requests: u32,
    /// How many parts of a document are asked about at a time. Default: 4.
    pub parallel: usize,
    /// The sampling temperature; none leaves it to the endpoint. Default: 0.
    pub temperature: Option<f32>,
}

impl ModelConfig {
    /// Defaults for an endpoint, a model and a name.
    #[must_use]
    pub fn new(endpoint: Url, model: impl Into<String>, name: impl Into<String>) -> Self {
        ModelConfig {
            endpoint,
            key: None,
            model: model.into(),
            name: name.into(),
            images: false,
            structured: Structured::Auto,
            connect: Duration::from_secs(5),
            answer_bytes: 4 << 20,
            part_characters: 60_000,
            image_bytes: 16 << 20,
            answer_tokens: 8_192,
            retries: 3,
            requests: 64,
            parallel: 4,
            temperature: Some(0.0),
        }
    }

    /// Defaults for an endpoint that is given as text.
    ///
    /// # Errors
    /// [`ModelConfigError::Endpoint`], when it is no URL.
    pub fn at(
        endpoint: &str,
        model: impl Into<String>,
        name: impl Into<String>,
    ) -> Result<Self, ModelConfigError> {
        let endpoint = Url::parse(endpoint.trim()).map_err(|_| ModelConfigError::Endpoint)?;
        Ok(ModelConfig::new(endpoint, model, name))
    }

    /// The address that requests go to.
    ///
    /// # Errors
    /// [`ModelConfigError::Endpoint`], when it is no web address, or has a user or a password in it.
    pub fn address(&self) -> Result<Url, ModelConfigError> {
        let mut address = self.endpoint.clone();
        let is_web = matches!(address.scheme(), "http" | "https") && address.has_host();
        if !is_web || !address.username().is_empty() || address.password().is_some() {
            return Err(ModelConfigError::Endpoint);
        }
        address.set_fragment(None);
        let path = address.path().trim_end_matches('/');
        if !path.ends_with("/chat/completions") {
            let path = format!("{path}/chat/completions");
            address.set_path(&path);
        }
        Ok(address)
    }

    pub(super) fn check(&self) -> Result<(), ModelConfigError> {
        let lacking = [
            (self.model.trim().is_empty(), "model must not be empty"),
            (self.name.trim().is_empty(), "name must not be empty"),
            (self.part_characters < 1_000, "part_characters must be at least 1,000"),
            (self.answer_bytes < 1_024, "answer_bytes must be at least 1,024"),
            (self.answer_tokens == 0, "answer_tokens must be at least 1"),
            (self.requests == 0, "requests must be at least 1"),
            (self.parallel == 0, "parallel must be at least 1"),
            (
                self.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)),
                "temperature must be 0 to 2",
            ),
        ];
        match lacking.into_iter().find(|(fails, _)| *fails) {
            Some((_, text)) => Err(ModelConfigError::Setting(text)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ModelConfig {
    /// Without the key and without the query of the endpoint, which may hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelConfig")
            .field("endpoint", &shown(&self.endpoint))
            .field("key", &self.key)
            .field("model", &self.model)
            .field("name", &self.name)
            .field("images", &self.images)
            .field("structured", &self.structured)
            .finish_non_exhaustive()
    }
}

/// A URL for people: without user, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// Why no engine can be made of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelConfigError {
    /// The endpoint is no URL that can be asked.
    #[error(
        "the endpoint must be an absolute http or https URL without user and password, such as https://host/v1"
    )]
    Endpoint,
    /// The key cannot be sent.
    #[error("the key must be one line of visible characters")]
    Key,
    /// A setting is out of its range.
    #[error("{0}")]
    Setting(&'static str),
    /// The system's certificates cannot be read, which `https` needs.
    #[error("the system's certificates cannot be read; install ca-certificates: {0}")]
    Certificates(String),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(String),
}
