//! The settings as the program uses them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use openapi_core::access::KeyTag;
use openapi_core::api::{AddressLimits, Settings};
use openapi_core::files::FileTypes;
use openapi_core::platform::{ExtractionSettings, FileSettings};
use openapi_core::service_info::ServiceInfo;
use tracing_subscriber::filter::Targets;

use super::documents::EngineChoice;
use super::layers::Origin;
use super::widget::WidgetServing;
use super::{Config, ConfigError, values};
use crate::serve::proxies::TrustedProxies;
use crate::serve::timeouts::Timeouts;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// What every command needs besides the store.
#[derive(Clone, Debug)]
pub struct Names {
    /// The service name.
    pub service_name: String,
    /// The id segment.
    pub id_segment: String,
    /// The key tag.
    pub key_tag: KeyTag,
    /// {origin}, if it is configured.
    pub public_url: Option<String>,
    /// The origin of the widget's listener, if it is configured.
    pub widget_public_url: Option<String>,
}

/// What is logged, and how.
#[derive(Clone, Debug)]
pub struct Logging {
    /// Levels by target.
    pub filter: Targets,
    /// The format; unset for what suits standard error.
    pub format: Option<LogFormat>,
}

/// What `serve` needs.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where the operator's listener is, if anywhere.
    pub ops_listen: Option<SocketAddr>,
    /// Certificate and key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The proxies in front.
    pub proxies: TrustedProxies,
    /// Whether clients may use HTTP/2.
    pub http2: bool,
    /// Time limits.
    pub timeouts: Timeouts,
    /// How long running requests may take after SIGTERM.
    pub drain: Duration,
    /// Connections at a time.
    pub max_connections: usize,
    /// Connections at a time from one address.
    pub max_connections_per_address: usize,
    /// What contacts that were read may take in memory, in bytes, where the store is SQLite's.
    pub contact_cache: u64,
    /// What is decided about files.
    pub files: FileSettings,
    /// What is decided about extractions.
    pub extraction: ExtractionSettings,
    /// What reads documents.
    pub engine: EngineChoice,
    /// The widget and its chat.
    pub widget: WidgetServing,
    /// Settings of the API but for its names.
    limits: Limits,
}

#[derive(Clone, Debug)]
struct Limits {
    max_json_bytes: u64,
    max_file_bytes: u64,
    max_document_bytes: u64,
    max_uri_bytes: usize,
    max_header_bytes: usize,
    address_limits: AddressLimits,
    cors_origins: Vec<String>,
}

/// Collects all faults of a set of settings.
pub(super) struct Reader<'a> {
    config: &'a Config,
    faults: Vec<(Origin, String)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(config: &'a Config) -> Self {
        Reader { config, faults: Vec::new() }
    }

    pub(super) fn fault(&mut self, key: &str, words: &str) {
        let value = self.config.value(key);
        let origin = match &value.origin {
            Origin::Default => String::new(),
            origin => format!(" ({origin})"),
        };
        self.faults.push((value.origin.clone(), format!("{key}: {words}{origin}")));
    }

    pub(super) fn many<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let texts = &self.config.value(key).texts;
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            match read(text) {
                Ok(value) => all.push(value),
                Err(words) => self.fault(key, &words),
            }
        }
        all
    }

    pub(super) fn optional<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        self.many(key, read).pop()
    }

    /// The value of a setting with a default; after a fault whatever, because the faults are what counts then.
    pub(super) fn one<T>(&mut self, key: &str, otherwise: T, read: impl Fn(&str) -> Result<T, String>) -> T {
        self.optional(key, read).unwrap_or(otherwise)
    }

    pub(super) fn number<T: FromStr>(&mut self, key: &str, otherwise: T) -> T {
        self.one(key, otherwise, |text| {
            text.parse().map_err(|_| format!("'{text}' is not a whole number in range"))
        })
    }

    pub(super) fn positive(&mut self, key: &str, otherwise: Duration) -> Duration {
        self.one(key, otherwise, |text| match values::duration(text)? {
            Duration::ZERO => Err("must be longer than 0s".to_owned()),
            duration => Ok(duration),
        })
    }

    pub(super) fn count(&mut self, key: &str, least: u64, most: u64) -> u64 {
        self.one(key, least, |text| match text.parse::<u64>() {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            Ok(_) => Err(format!("'{text}' is outside {least} to {most}")),
            Err(_) => Err(format!("'{text}' is not a whole number")),
        })
    }

    pub(super) fn bytes(&mut self, key: &str, otherwise: u64, least: u64, most: u64) -> u64 {
        self.one(key, otherwise, |text| {
            let size = values::size(text)?;
            if (least..=most).contains(&size) {
                return Ok(size);
            }
            Err(format!("'{text}' is outside {} to {}", bytesize::ByteSize(least), bytesize::ByteSize(most)))
        })
    }

    pub(super) fn done<T>(self, value: T) -> Result<T, ConfigError> {
        if self.faults.is_empty() { Ok(value) } else { Err(ConfigError::new(self.faults)) }
    }
}

/// The default is valid in itself; only a value that was given can be at fault.
const PLACEHOLDER_URL: &str = "http://127.0.0.1:8080";

impl Names {
    /// Reads the names.
    ///
    /// # Errors
    /// Every name outside its allowed form (contract 1).
    pub fn of(config: &Config) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(config);
        let service_info =
            ServiceInfo::new(PLACEHOLDER_URL).unwrap_or_else(|_| unreachable!("the placeholder is a URL"));
        let words = |error: openapi_core::values::Invalid| error.to_string();
        let names = Names {
            service_name: reader.one("service_name", "Service".to_owned(), |text| {
                service_info.clone().with_service_name(text).map_err(words).map(|_| text.to_owned())
            }),
            id_segment: reader.one("id_segment", "platformid".to_owned(), |text| {
                service_info.clone().with_id_segment(text).map_err(words).map(|_| text.to_owned())
            }),
            key_tag: reader.one("key_tag", KeyTag::default(), |text| {
                KeyTag::new(text).map_err(|error| format!("the key tag {error}"))
            }),
            public_url: reader.optional("public_url", |text| {
                ServiceInfo::new(text).map_err(words).map(|_| text.to_owned())
            }),
            widget_public_url: reader.optional("widget_public_url", super::widget::public_origin),
        };
        reader.done(names)
    }

    /// The names with {origin} at the configured address, else at `listening`.
    #[must_use]
    pub fn service_info(&self, listening: &str) -> ServiceInfo {
        let url = self.public_url.as_deref().unwrap_or(listening);
        // Every part was checked when it was read; the address of a listener makes a valid URL.
        ServiceInfo::new(url)
            .and_then(|service_info| service_info.with_service_name(&self.service_name))
            .and_then(|service_info| service_info.with_id_segment(&self.id_segment))
            .map(|service_info| service_info.with_key_tag(self.key_tag.clone()))
            .unwrap_or_else(|_| unreachable!("the names were checked when they were read"))
    }

    /// The names for commands that answer no requests.
    #[must_use]
    pub fn brand_without_listener(&self) -> ServiceInfo {
        self.service_info(PLACEHOLDER_URL)
    }
}

impl Logging {
    /// Reads what is logged.
    ///
    /// # Errors
    /// A filter or format that does not exist.
    pub fn of(config: &Config) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(config);
        let logging = Logging {
            filter: reader.one("log", Targets::new(), |text| {
                text.parse().map_err(|_| {
                    format!(
                        "'{text}' is not a filter; write error, warn, info, debug, trace or info,access=off"
                    )
                })
            }),
            format: reader.optional("log_format", |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                _ => Err(format!("'{text}' is not text or json")),
            }),
        };
        reader.done(logging)
    }
}

impl Serving {
    /// Reads what `serve` needs.
    ///
    /// # Errors
    /// Every fault, and an address that would send secrets through the network in plain text.
    pub fn of(config: &Config) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(config);
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let address_limits = AddressLimits {
            health: reader.number("address_limit_health", 0),
            download: reader.number("address_limit_download", 0),
            unrouted: reader.number("address_limit_unrouted", 0),
            failed_authentication: reader.number("address_limit_failed_auth", 0),
        };
        let standard = Timeouts::default();
        let timeouts = Timeouts {
            head: reader.positive("header_timeout", standard.head),
            idle: reader.positive("keep_alive_timeout", standard.idle),
            body_idle: reader.positive("body_idle_timeout", standard.body_idle),
            body_total: reader.positive("body_total_timeout", standard.body_total),
            write: reader.positive("write_timeout", standard.write),
            ..standard
        };
        let mut files = FileSettings::default();
        files.max_files_of_contact = reader.number("files_per_contact", 0);
        files.max_bytes_of_agent = reader.optional("storage_quota", values::size);
        if let Some(types) =
            reader.optional("file_types", |text| text.parse::<FileTypes>().map_err(|error| error.to_string()))
        {
            files.types = types;
        }
        let retention = reader.one("deleted_file_retention", Duration::ZERO, values::duration);
        files.retention_millis = millis(retention);
        files.redirect_downloads = reader.one("redirect_downloads", false, values::switch);
        let mut extraction = ExtractionSettings::default();
        extraction.limits.pages = reader.count("max_document_pages", 1, u64::from(u32::MAX)) as u32;
        extraction.limits.characters = reader.count("max_document_characters", 1, u64::MAX);
        extraction.limits.pixels = reader.count("max_document_pixels", 1, extraction.limits.pixels);
        extraction.max_running_of_key = reader.count("extractions_per_key", 1, u64::from(u32::MAX)) as u32;
        extraction.deadline_millis = millis(reader.positive("extraction_timeout", Duration::from_secs(1)));
        extraction.retention_millis = millis(reader.positive("document_retention", Duration::from_secs(1)));
        let engine = EngineChoice::read(&mut reader);
        let widget = WidgetServing::read(&mut reader);
        let certificate = reader.optional("tls_cert", |text| Ok(PathBuf::from(text)));
        let key = reader.optional("tls_key", |text| Ok(PathBuf::from(text)));
        match (&certificate, &key) {
            (Some(_), None) => reader.fault("tls_cert", "a certificate needs its key: give tls_key as well"),
            (None, Some(_)) => reader.fault("tls_key", "a key needs its certificate: give tls_cert as well"),
            _ => {}
        }
        let serving = Serving {
            listen: reader.one("listen", loopback, values::listen_address),
            ops_listen: reader.one("ops_listen", None, |text| {
                if text == "off" { Ok(None) } else { values::listen_address(text).map(Some) }
            }),
            tls: certificate.zip(key),
            proxies: TrustedProxies::new(reader.many("behind_proxy", values::block)),
            http2: reader.one("http2", false, values::switch),
            timeouts,
            drain: reader.one("drain_timeout", Duration::ZERO, values::duration),
            max_connections: reader.number("max_connections", 1),
            max_connections_per_address: reader.number("max_connections_per_address", 0),
            contact_cache: reader.bytes("contact_cache", 0, 0, 1 << 40),
            files,
            extraction,
            engine,
            widget,
            limits: Limits {
                max_json_bytes: reader.bytes("max_json_size", 0, 1024, 1 << 30),
                max_file_bytes: reader.bytes("max_file_size", 0, 1, Settings::MAX_FILE_BYTES),
                max_document_bytes: reader.bytes("max_document_size", 0, 1, 256 << 20),
                max_uri_bytes: bytes(reader.bytes("max_uri_size", 0, 256, 32 * 1024)),
                max_header_bytes: bytes(reader.bytes("max_header_size", 0, 1024, 60 * 1024)),
                address_limits,
                cors_origins: reader.many("cors_origin", values::web_origin),
            },
        };
        if serving.max_connections == 0 {
            reader.fault("max_connections", "must be at least 1");
        }
        if serving.tls.is_none() && serving.proxies.is_empty() {
            for (key, what, address) in [
                ("listen", "keys and secrets", Some(serving.listen)),
                ("widget_listen", "what visitors write", serving.widget.listen),
            ] {
                let Some(address) = address.filter(|address| !address.ip().is_loopback()) else { continue };
                let words = format!(
                    "{address} can be reached from other machines, and without TLS {what} would cross the network in \
                     plain text; give --tls-cert and --tls-key, or --behind-proxy with the address of the proxy that \
                     ends TLS, or listen on 127.0.0.1"
                );
                reader.fault(key, &words);
            }
        }
        reader.done(serving)
    }

    /// The settings of the API under these names.
    #[must_use]
    pub fn api_settings(&self, service_info: ServiceInfo) -> Settings {
        let mut settings = Settings::new(service_info);
        settings.max_json_bytes = self.limits.max_json_bytes;
        settings.max_file_bytes = self.limits.max_file_bytes;
        settings.max_document_bytes = self.limits.max_document_bytes;
        settings.max_uri_bytes = self.limits.max_uri_bytes;
        settings.max_header_bytes = self.limits.max_header_bytes;
        settings.address_limits = self.limits.address_limits;
        settings.cors_origins.clone_from(&self.limits.cors_origins);
        settings.strict_transport_security = self.tls.is_some();
        settings
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::documents::Engine;
    use crate::config::layers::{FlagValues, Sources};

    fn config(flags: &[(&str, &str)]) -> Config {
        let flags: FlagValues =
            flags.iter().map(|(key, text)| ((*key).to_owned(), vec![(*text).to_owned()])).collect();
        let sources =
            Sources { flags: &flags, environment: &|_| None, file: None, read_file: &|_| Ok(String::new()) };
        Config { values: sources.resolve().unwrap(), warnings: Vec::new() }
    }

    #[test]
    fn the_defaults_are_the_contracts() {
        let config = config(&[]);
        let serving = Serving::of(&config).unwrap();
        let names = Names::of(&config).unwrap();
        let service_info = names.service_info("http://127.0.0.1:1");
        let ours = serving.api_settings(service_info.clone());
        let standard = Settings::new(service_info);
        assert_eq!(format!("{ours:?}"), format!("{standard:?}"));
        assert_eq!(serving.files, FileSettings::default());
        assert_eq!(serving.extraction, ExtractionSettings::default());
        let EngineChoice::On(engines) = serving.engine else { panic!("no engine") };
        assert_eq!((engines.of_all, engines.languages), (Engine::Builtin, vec!["eng".to_owned()]));
        let timeouts = format!("{:?}", Timeouts::default());
        assert_eq!(format!("{:?}", serving.timeouts), timeouts);
        assert_eq!(serving.listen.to_string(), "127.0.0.1:8080");
        assert!(Logging::of(&config).unwrap().format.is_none());
    }

    #[test]
    fn all_faults_are_told_with_their_origin() {
        let config = config(&[
            ("listen", "nowhere"),
            ("max_json_size", "2"),
            ("body_idle_timeout", "0s"),
            ("tls_key", "k"),
        ]);
        let error = Serving::of(&config).unwrap_err();
        assert!(error.is_usage);
        let text = error.to_string();
        for part in [
            "listen: 'nowhere'",
            "(flag --listen)",
            "max_json_size: '2' is outside",
            "longer than 0s",
            "tls_cert as well",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    #[test]
    fn names_have_their_forms() {
        for (key, bad) in [
            ("service_name", "a b"),
            ("id_segment", "schema"),
            ("key_tag", "TAG"),
            ("public_url", "https://x/"),
        ] {
            let error = Names::of(&config(&[(key, bad)])).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{key}: ")), "{error}");
        }
    }

    #[test]
    fn a_public_address_needs_tls_or_a_proxy() {
        let refused =
            |flags: &[(&str, &str)]| Serving::of(&config(flags)).err().map(|error| error.to_string());
        for public in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80"] {
            let reason = refused(&[("listen", public)]).unwrap();
            assert!(reason.contains("--tls-cert") && reason.contains("--behind-proxy"), "{reason}");
            assert_eq!(refused(&[("listen", public), ("behind_proxy", "10.0.0.0/8")]), None);
            assert_eq!(refused(&[("listen", public), ("tls_cert", "c"), ("tls_key", "k")]), None);
        }
        for local in ["127.0.0.1:80", "[::1]:80", ":80"] {
            assert_eq!(refused(&[("listen", local)]), None);
        }
    }
}
