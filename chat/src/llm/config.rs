//! What an operator says about the endpoints that models are asked at.

use std::fmt;
use std::time::Duration;

use reqwest::header::HeaderValue;
use url::Url;

/// The key of an endpoint, sent as a bearer token. Neither `Debug` nor any error shows it.
#[derive(Clone)]
pub struct EndpointKey(HeaderValue);

impl EndpointKey {
    /// Takes a key; white space around it, such as the end of a file's line, is not part of it.
    ///
    /// # Errors
    /// It is empty or has characters that a header cannot hold.
    pub fn new(key: &str) -> Result<Self, EndpointError> {
        let key = key.trim();
        let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| EndpointError::Key)?;
        if key.is_empty() {
            return Err(EndpointError::Key);
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

/// What an endpoint costs, in the currency of the server's prices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// A million tokens of what the model is given.
    pub input: f64,
    /// A million tokens of what it gives.
    pub output: f64,
}

/// Where models are asked. [`LlmEndpoint::new`] gives every setting but two a default.
#[derive(Clone)]
pub struct LlmEndpoint {
    /// The base of the API, such as `https://host/v1`, or the whole address up to `/chat/completions`.
    pub address: Url,
    /// Its key, if it wants one. Over plain `http` the key and what visitors write can be read on the way.
    pub key: Option<EndpointKey>,
    /// The model that is asked where an agent names none.
    pub model: String,
    /// Whether the model can call tools. Default: yes.
    pub tools: bool,
    /// What it costs. Default: nothing.
    pub prices: Prices,
    /// How long a connection may take to be made. Default: 5 s.
    pub connect: Duration,
    /// How long the endpoint may be silent, before its answer and within it. Default: 30 s.
    pub silence: Duration,
    /// The longest pause that an endpoint may ask for before a request is repeated. Default: 5 s.
    pub longest_wait: Duration,
    /// The most bytes of one line of an answer. Default: 256 KiB.
    pub line_bytes: usize,
    /// The most bytes of an answer. Default: 4 MiB.
    pub body_bytes: usize,
}

impl LlmEndpoint {
    /// Defaults for an address and a model.
    #[must_use]
    pub fn new(address: Url, model: impl Into<String>) -> Self {
        LlmEndpoint {
            address,
            key: None,
            model: model.into(),
            tools: true,
            prices: Prices::default(),
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            longest_wait: Duration::from_secs(5),
            line_bytes: 256 << 10,
            body_bytes: 4 << 20,
        }
    }

    /// Defaults for an address that is given as text.
    ///
    /// # Errors
    /// [`EndpointError::Address`], when it is no URL.
    pub fn at(address: &str, model: impl Into<String>) -> Result<Self, EndpointError> {
        let address = Url::parse(address.trim()).map_err(|_| EndpointError::Address)?;
        Ok(LlmEndpoint::new(address, model))
    }

    /// The address that requests go to.
    pub(super) fn completions(&self) -> Result<Url, EndpointError> {
        let mut address = self.address.clone();
        let is_web = matches!(address.scheme(), "http" | "https") && address.has_host();
        if !is_web || !address.username().is_empty() || address.password().is_some() {
            return Err(EndpointError::Address);
        }
        address.set_fragment(None);
        let path = address.path().trim_end_matches('/');
        if !path.ends_with("/chat/completions") {
            let path = format!("{path}/chat/completions");
            address.set_path(&path);
        }
        Ok(address)
    }

    pub(super) fn check(&self) -> Result<(), EndpointError> {
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        let lacking = [
            (self.model.trim().is_empty(), "the model must not be empty"),
            (!is_price(self.prices.input) || !is_price(self.prices.output), "prices must be 0 or more"),
            (self.line_bytes < 1_024, "line_bytes must be at least 1,024"),
            (self.body_bytes < self.line_bytes, "body_bytes must be at least line_bytes"),
        ];
        match lacking.into_iter().find(|(fails, _)| *fails) {
            Some((_, text)) => Err(EndpointError::Setting(text)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for LlmEndpoint {
    /// Without the key and without the query of the address, which may hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format!("{}{}", self.address.origin().ascii_serialization(), self.address.path());
        f.debug_struct("LlmEndpoint")
            .field("address", &address)
            .field("key", &self.key)
            .field("model", &self.model)
            .field("tools", &self.tools)
            .field("prices", &self.prices)
            .finish_non_exhaustive()
    }
}

/// Why an endpoint cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The address is no URL that can be asked.
    #[error(
        "the address must be an absolute http or https URL without user and password, such as https://host/v1"
    )]
    Address,
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
