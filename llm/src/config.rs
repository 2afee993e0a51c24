//! What an operator says about an endpoint.

use std::fmt;
use std::time::Duration;

use reqwest::header::HeaderValue;
use url::Url;

/// The path of the chat-completions operation, relative to the base URL of the API.
const COMPLETIONS_PATH: &str = "/chat/completions";

/// The API key of an endpoint, sent as a bearer token. Neither `Debug` nor any error shows it.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// Parses a key. White space around it, such as the newline at the end of a file, is dropped.
    ///
    /// # Errors
    /// [`ConfigError::ApiKey`] if the key is empty or has characters that a header cannot hold.
    pub fn new(key: &str) -> Result<Self, ConfigError> {
        let key = key.trim();
        let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| ConfigError::ApiKey)?;
        if key.is_empty() {
            return Err(ConfigError::ApiKey);
        }
        value.set_sensitive(true);
        Ok(ApiKey(value))
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// What an endpoint charges for a million tokens, in the currency of the operator's prices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// A million input tokens.
    pub input: f64,
    /// A million output tokens.
    pub output: f64,
}

impl Price {
    /// The cost of so many tokens.
    #[must_use]
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.input + output_tokens as f64 * self.output) / 1_000_000.0
    }
}

/// How the client asks for a JSON response of a given schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Structured {
    /// Starts with [`Structured::JsonSchema`], falls back to the next way when the endpoint rejects one, and remembers
    /// the way that worked.
    #[default]
    Auto,
    /// `response_format` with a strict JSON Schema.
    JsonSchema,
    /// `response_format` that asks for any JSON object, and the schema in the prompt.
    JsonObject,
    /// The schema in the prompt alone.
    Prompt,
}

/// An endpoint and how to use it. [`EndpointConfig::new`] has a default for every setting but two.
#[derive(Clone)]
pub struct EndpointConfig {
    /// The base URL of the API, such as `https://host/v1`, or the whole URL up to `/chat/completions`.
    pub url: Url,
    /// The model to use unless a request names another.
    pub model: String,
    /// The API key, if the endpoint requires one. Plain `http` exposes the key and all requests to the network.
    pub api_key: Option<ApiKey>,
    /// What tokens cost. Default: nothing.
    pub price: Price,
    /// Whether the model accepts images. Default: no.
    pub images: bool,
    /// Whether the model can call tools. Default: yes.
    pub tools: bool,
    /// How to ask for JSON of a schema. Default: [`Structured::Auto`].
    pub structured: Structured,
    /// The timeout for establishing a connection. Default: 5 s.
    pub connect_timeout: Duration,
    /// The longest silence of a streaming response, before its first byte and between two. Default: 30 s.
    pub idle_timeout: Duration,
    /// The maximum size of one event of a streaming response. Default: 256 KiB.
    pub max_event_bytes: usize,
    /// The maximum size of a response. Default: 4 MiB.
    pub max_response_bytes: usize,
}

impl EndpointConfig {
    /// The defaults for a URL and a model.
    #[must_use]
    pub fn new(url: Url, model: impl Into<String>) -> Self {
        EndpointConfig {
            url,
            model: model.into(),
            api_key: None,
            price: Price::default(),
            images: false,
            tools: true,
            structured: Structured::Auto,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(30),
            max_event_bytes: 256 << 10,
            max_response_bytes: 4 << 20,
        }
    }

    /// The defaults for a URL given as text.
    ///
    /// # Errors
    /// [`ConfigError::Url`] if the text is no URL that the client can use.
    pub fn parse(url: &str, model: impl Into<String>) -> Result<Self, ConfigError> {
        let url = Url::parse(url.trim()).map_err(|_| ConfigError::Url)?;
        let config = EndpointConfig::new(url, model);
        config.completions_url().map(|_| config)
    }

    /// The URL that requests go to.
    pub(crate) fn completions_url(&self) -> Result<Url, ConfigError> {
        let mut url = self.url.clone();
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_web || !url.username().is_empty() || url.password().is_some() {
            return Err(ConfigError::Url);
        }
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        if !path.ends_with(COMPLETIONS_PATH) {
            let path = format!("{path}{COMPLETIONS_PATH}");
            url.set_path(&path);
        }
        Ok(url)
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        let checks = [
            (self.model.trim().is_empty(), "model must not be empty"),
            (!is_price(self.price.input) || !is_price(self.price.output), "prices must be 0 or more"),
            (self.max_event_bytes < 1_024, "max_event_bytes must be at least 1,024"),
            (
                self.max_response_bytes < self.max_event_bytes,
                "max_response_bytes must be at least max_event_bytes",
            ),
        ];
        match checks.into_iter().find(|(fails, _)| *fails) {
            Some((_, message)) => Err(ConfigError::Setting(message)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for EndpointConfig {
    /// Omits the key and the query of the URL, which may hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = format!("{}{}", self.url.origin().ascii_serialization(), self.url.path());
        f.debug_struct("EndpointConfig")
            .field("url", &url)
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("price", &self.price)
            .field("images", &self.images)
            .field("tools", &self.tools)
            .field("structured", &self.structured)
            .finish_non_exhaustive()
    }
}

/// Why an endpoint cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The URL is not one that the client can use.
    #[error(
        "the endpoint must be an absolute http or https URL without user and password, such as https://host/v1"
    )]
    Url,
    /// A header cannot hold the key.
    #[error("the key must be one line of visible characters")]
    ApiKey,
    /// A setting is out of range.
    #[error("{0}")]
    Setting(&'static str),
    /// `https` needs the system's certificates, and they cannot be read.
    #[error("the system's certificates cannot be read; install ca-certificates: {0}")]
    Certificates(String),
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built: {0}")]
    Client(String),
}
