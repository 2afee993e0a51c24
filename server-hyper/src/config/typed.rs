//! The settings as typed values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ::mail::SmtpMailer;
use ::outbound::Policy;
use events::WebhookSettings;
use openapi_core::access::ApiKeyPrefix;
use openapi_core::api::{AddressLimits, Settings};
use openapi_core::files::FileTypes;
use openapi_core::platform::{ExtractionSettings, FileSettings};
use openapi_core::service_info::ServiceInfo;
use tracing_subscriber::filter::Targets;

use super::console::ConsoleServing;
use super::extraction::EngineChoice;
use super::reader::{Reader, to_millis};
use super::timeouts::Timeouts;
use super::widget::WidgetServing;
use super::{Config, ConfigError, llm, mail, outbound, values};
use crate::proxies::{TrustedProxies, X_FORWARDED_FOR};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The names and addresses of the service, which every command needs.
#[derive(Clone, Debug)]
pub struct Names {
    /// The service name.
    pub service_name: String,
    /// The id segment.
    pub id_segment: String,
    /// The prefix of API keys.
    pub api_key_prefix: ApiKeyPrefix,
    /// The public base URL of the API, if it is configured.
    pub public_url: Option<String>,
    /// The public origin of the widget listener, if it is configured.
    pub widget_public_url: Option<String>,
}

/// Level and format of the log.
#[derive(Clone, Debug)]
pub struct Logging {
    /// Levels by target.
    pub filter: Targets,
    /// The format; `None` chooses by whether standard error is a terminal.
    pub format: Option<LogFormat>,
}

/// The settings of `serve`.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Address of the API.
    pub listen: SocketAddr,
    /// Address of the operator's listener, if it has one.
    pub ops_listen: Option<SocketAddr>,
    /// Files of the certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The trusted reverse proxies.
    pub proxies: TrustedProxies,
    /// Whether clients may use HTTP/2.
    pub http2: bool,
    /// Whether the OpenAPI document and the interactive reference are served.
    pub docs: bool,
    /// Timeouts of connections.
    pub timeouts: Timeouts,
    /// How long running requests may continue after SIGTERM.
    pub drain: Duration,
    /// Concurrent connections to the API.
    pub connections: ConnectionCounts,
    /// Concurrent connections to the widget.
    pub widget_connections: ConnectionCounts,
    /// Size of the contact cache, in bytes.
    pub contact_cache: u64,
    /// File settings.
    pub files: FileSettings,
    /// Extraction settings.
    pub extraction: ExtractionSettings,
    /// How long entries of the audit log are retained, in days; without a number for good.
    pub audit_retention_days: Option<u32>,
    /// How long events are retained, in milliseconds.
    pub event_retention_millis: u64,
    /// The extraction engines.
    pub engine: EngineChoice,
    /// Where requests to URLs of tenants may go.
    pub outbound: Policy,
    /// Sends e-mail to visitors, if there is an SMTP server.
    pub mailer: Option<SmtpMailer>,
    /// How long a reply waits to be read before it is sent by e-mail, in milliseconds.
    pub mail_delay_millis: u32,
    /// Webhooks.
    pub webhooks: WebhookSettings,
    /// The widget and its chat.
    pub widget: WidgetServing,
    /// The console.
    pub console: ConsoleServing,
    /// Limits of the API.
    limits: Limits,
}

/// The most connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// In total.
    pub total: usize,
    /// Per address; 0 for no limit.
    pub per_address: usize,
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

/// Bytes of a head that no setting counts: the method, separators and line ends.
const HEAD_MARGIN: usize = 4 * 1024;
/// The least that is buffered of a head.
const MIN_HEAD_BYTES: usize = 32 * 1024;

/// A valid URL where no public one is needed.
const PLACEHOLDER_URL: &str = "http://127.0.0.1:8080";

impl Names {
    /// Reads the names.
    ///
    /// # Errors
    /// Every invalid name (contract 1).
    pub fn of(config: &Config) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(config);
        let service_info =
            ServiceInfo::new(PLACEHOLDER_URL).unwrap_or_else(|_| unreachable!("the placeholder is a URL"));
        let message = |error: openapi_core::values::Invalid| error.to_string();
        let names = Names {
            service_name: reader.one("service_name", "Service".to_owned(), |text| {
                service_info.clone().with_service_name(text).map_err(message).map(|_| text.to_owned())
            }),
            id_segment: reader.one("id_segment", "platformid".to_owned(), |text| {
                service_info.clone().with_id_segment(text).map_err(message).map(|_| text.to_owned())
            }),
            api_key_prefix: reader.one("api_key_prefix", ApiKeyPrefix::default(), |text| {
                ApiKeyPrefix::new(text).map_err(|error| format!("'{text}' {error}"))
            }),
            public_url: reader.optional("public_url", |text| {
                ServiceInfo::new(text).map_err(message).map(|_| text.to_owned())
            }),
            widget_public_url: reader.optional("widget_public_url", super::widget::public_origin),
        };
        reader.finish(names)
    }

    /// The names of the service at the configured public URL, otherwise at `listening`.
    #[must_use]
    pub fn service_info(&self, listening: &str) -> ServiceInfo {
        let url = self.public_url.as_deref().unwrap_or(listening);
        // `of` has validated every part, and the address of a listener makes a valid URL.
        ServiceInfo::new(url)
            .and_then(|service_info| service_info.with_service_name(&self.service_name))
            .and_then(|service_info| service_info.with_id_segment(&self.id_segment))
            .map(|service_info| service_info.with_api_key_prefix(self.api_key_prefix.clone()))
            .unwrap_or_else(|_| unreachable!("`Names::of` has validated them"))
    }

    /// The names of the service for commands that serve no requests.
    #[must_use]
    pub fn brand_without_listener(&self) -> ServiceInfo {
        self.service_info(PLACEHOLDER_URL)
    }
}

impl Logging {
    /// Reads the settings of the log.
    ///
    /// # Errors
    /// An invalid filter or format.
    pub fn of(config: &Config) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(config);
        let logging = Logging {
            filter: reader.one("log", Targets::new(), |text| {
                text.parse().map_err(|_| {
                    format!(
                        "'{text}' is not a log filter; write error, warn, info, debug, trace or levels by target, such as info,access=off"
                    )
                })
            }),
            format: reader.optional("log_format", |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                _ => Err(format!("'{text}' is not a log format; write text or json")),
            }),
        };
        reader.finish(logging)
    }
}

impl Serving {
    /// Reads the settings of `serve`.
    ///
    /// # Errors
    /// Every invalid setting, and an address that would send secrets over the network in plain text.
    pub fn of(config: &Config) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(config);
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let llms = llm::read(&mut reader);
        let serving = Serving {
            listen: reader.one("listen", loopback, values::listen_address),
            ops_listen: reader.one("ops_listen", None, values::optional_listen_address),
            tls: tls(&mut reader),
            proxies: proxies(&mut reader),
            http2: reader.one("http2", false, values::boolean),
            docs: reader.one("docs", true, values::boolean),
            timeouts: timeouts(&mut reader),
            drain: reader.one("drain_timeout", Duration::ZERO, values::duration),
            connections: connections(&mut reader, "max_connections", "max_connections_per_address"),
            widget_connections: connections(
                &mut reader,
                "widget_max_connections",
                "widget_max_connections_per_address",
            ),
            contact_cache: reader.bytes("contact_cache", 0, 0, 1 << 40),
            files: files(&mut reader),
            extraction: extraction(&mut reader),
            audit_retention_days: audit_retention(&mut reader),
            event_retention_millis: event_retention(&mut reader),
            engine: EngineChoice::read(&mut reader, &llms),
            outbound: outbound::policy(&mut reader),
            mailer: mail::mailer(&mut reader),
            mail_delay_millis: mail::delay(&mut reader),
            webhooks: webhooks(&mut reader),
            widget: WidgetServing::read(&mut reader, &llms),
            console: ConsoleServing::read(&mut reader),
            limits: limits(&mut reader),
        };
        serving.require_encryption(&mut reader);
        if serving.mailer.is_some() && serving.widget.listen.is_none() {
            let message = "the links of e-mail lead to the widget's listener; set widget_listen as well";
            reader.error("smtp_host", message);
        }
        reader.finish(serving)
    }

    /// Refuses public addresses without TLS, in the server or in a proxy.
    fn require_encryption(&self, reader: &mut Reader<'_>) {
        if self.tls.is_some() || !self.proxies.is_empty() {
            return;
        }
        for (key, secret, address) in [
            ("listen", "API keys and secrets", Some(self.listen)),
            ("widget_listen", "visitors' messages", self.widget.listen),
            ("console_listen", "operators' sessions", self.console.listen),
        ] {
            let Some(address) = address.filter(|address| !address.ip().is_loopback()) else { continue };
            let message = format!(
                "other machines can reach {address}, and without TLS {secret} would cross the network in plain text; \
                 set --tls-cert and --tls-key, or --trusted-proxies to the address of the proxy that terminates TLS, \
                 or listen on 127.0.0.1"
            );
            reader.error(key, &message);
        }
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
        settings.serves_document = self.docs;
        settings
    }

    /// The most bytes of a request head that are buffered: room for a head within the limits of the API, whose errors say
    /// more.
    #[must_use]
    pub fn max_head_bytes(&self) -> usize {
        (self.limits.max_uri_bytes + self.limits.max_header_bytes + HEAD_MARGIN).max(MIN_HEAD_BYTES)
    }
}

/// The files of certificate and key: both or none.
fn tls(reader: &mut Reader<'_>) -> Option<(PathBuf, PathBuf)> {
    let certificate = reader.optional("tls_cert", |text| Ok(PathBuf::from(text)));
    let key = reader.optional("tls_key", |text| Ok(PathBuf::from(text)));
    match (&certificate, &key) {
        (Some(_), None) => {
            reader.error("tls_cert", "a certificate needs its private key; set tls_key as well");
        }
        (None, Some(_)) => {
            reader.error("tls_key", "a private key needs its certificate; set tls_cert as well");
        }
        _ => {}
    }
    certificate.zip(key)
}

fn proxies(reader: &mut Reader<'_>) -> TrustedProxies {
    let blocks = reader.many("trusted_proxies", |text| {
        let block = values::block(text)?;
        let least = if block.addr().is_ipv4() { 8 } else { 7 };
        if block.prefix_len() >= least {
            return Ok(block);
        }
        Err(format!(
            "'{text}' trusts the forwarding header of every client in a block larger than any private network; name the \
             addresses of the proxies, such as 10.0.0.0/8 or 192.0.2.7"
        ))
    });
    let header = reader.one("forwarded_header", X_FORWARDED_FOR, |text| {
        text.parse()
            .map_err(|_| format!("'{text}' is not the name of a header; write x-forwarded-for or forwarded"))
    });
    TrustedProxies::new(blocks).writing(header)
}

fn connections(reader: &mut Reader<'_>, total: &str, per_address: &str) -> ConnectionCounts {
    ConnectionCounts {
        total: usize::try_from(reader.count(total, 1, u64::from(u32::MAX))).unwrap_or(usize::MAX),
        per_address: reader.number(per_address, 0),
    }
}

fn timeouts(reader: &mut Reader<'_>) -> Timeouts {
    let standard = Timeouts::default();
    Timeouts {
        head: reader.positive("header_timeout", standard.head),
        idle: reader.positive("keep_alive_timeout", standard.idle),
        body_idle: reader.positive("body_idle_timeout", standard.body_idle),
        body_total: reader.positive("body_total_timeout", standard.body_total),
        write: reader.positive("write_timeout", standard.write),
        ..standard
    }
}

fn files(reader: &mut Reader<'_>) -> FileSettings {
    let mut files = FileSettings::default();
    files.max_files_of_contact = reader.number("files_per_contact", 0);
    files.max_bytes_of_agent = reader.optional("storage_quota", values::size);
    if let Some(types) =
        reader.optional("file_types", |text| text.parse::<FileTypes>().map_err(|error| error.to_string()))
    {
        files.types = types;
    }
    let retention = reader.one("deleted_file_retention", Duration::ZERO, values::duration);
    files.retention_millis = to_millis(retention);
    files
}

fn extraction(reader: &mut Reader<'_>) -> ExtractionSettings {
    let mut extraction = ExtractionSettings::default();
    extraction.limits.pages = reader.count("max_document_pages", 1, u64::from(u32::MAX)) as u32;
    extraction.limits.characters = reader.count("max_document_characters", 1, u64::MAX);
    extraction.limits.pixels = reader.count("max_document_pixels", 1, extraction.limits.pixels);
    extraction.max_running_of_key = reader.count("extractions_per_key", 1, u64::from(u32::MAX)) as u32;
    extraction.deadline_millis = reader.millis("extraction_timeout");
    extraction.retention_millis = reader.millis("document_retention");
    extraction.workers = workers(reader);
    extraction.max_unfinished_jobs = reader.count("extraction_queue", 1, 1_000_000);
    extraction.job_timeout_millis = reader.millis("extraction_job_timeout");
    extraction.result_retention_millis = reader.millis("extraction_result_retention");
    const HOUR_MILLIS: u64 = 3_600_000;
    if !(HOUR_MILLIS..=30 * 24 * HOUR_MILLIS).contains(&extraction.result_retention_millis) {
        reader.error("extraction_result_retention", "must be 1h to 30d");
    }
    extraction
}

/// The workers of queued extractions: half the cores unless set, at least one.
fn workers(reader: &mut Reader<'_>) -> u32 {
    let count = reader.optional("extraction_workers", |text| match text.parse::<u32>() {
        Ok(count) if count <= 256 => Ok(count),
        _ => Err("must be 0 to 256".to_owned()),
    });
    count.unwrap_or_else(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        u32::try_from(cores / 2).unwrap_or(1).max(1)
    })
}

fn audit_retention(reader: &mut Reader<'_>) -> Option<u32> {
    let days = reader.optional("audit_retention", values::duration)?.as_secs() / 86_400;
    if days == 0 {
        reader
            .error("audit_retention", "must be at least 1d; leave the setting out to keep entries for good");
    }
    Some(u32::try_from(days).unwrap_or(u32::MAX))
}

fn event_retention(reader: &mut Reader<'_>) -> u64 {
    const DAY_MILLIS: u64 = 86_400_000;
    let millis = reader.millis("event_retention");
    if !(DAY_MILLIS..=90 * DAY_MILLIS).contains(&millis) {
        reader.error("event_retention", "must be 1d to 90d");
    }
    millis
}

fn webhooks(reader: &mut Reader<'_>) -> WebhookSettings {
    let most = u64::from(WebhookSettings::MAX_ENDPOINTS);
    // `count` has checked both ranges.
    WebhookSettings {
        max_endpoints: reader.count("webhook_endpoints", 1, most) as u32,
        concurrency: reader.count("webhook_concurrency", 1, 10_000) as u32,
    }
}

fn limits(reader: &mut Reader<'_>) -> Limits {
    Limits {
        max_json_bytes: reader.bytes("max_json_size", 0, 1024, 1 << 30),
        max_file_bytes: reader.bytes("max_file_size", 0, 1, Settings::MAX_FILE_BYTES),
        max_document_bytes: reader.bytes("max_document_size", 0, 1, 256 << 20),
        max_uri_bytes: reader.length("max_uri_size", 256, 32 * 1024),
        max_header_bytes: reader.length("max_header_size", 1024, 60 * 1024),
        address_limits: AddressLimits {
            health: reader.number("address_limit_health", 0),
            download: reader.number("address_limit_download", 0),
            unrouted: reader.number("address_limit_unrouted", 0),
            failed_authentication: reader.number("address_limit_failed_auth", 0),
        },
        cors_origins: reader.many("cors_origin", values::web_origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::extraction::Engine;
    use crate::config::layers::{FlagValues, Layer, resolve};

    fn config(flags: &[(&str, &str)]) -> Config {
        let flags: FlagValues =
            flags.iter().map(|(key, text)| ((*key).to_owned(), vec![(*text).to_owned()])).collect();
        let layer = Layer::of_flags(&flags, &mut Vec::new());
        let values = resolve(&[layer], &|_| Ok(String::new())).unwrap();
        Config { values, warnings: Vec::new() }
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
    fn all_errors_are_reported_with_their_origin() {
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
            ("api_key_prefix", "TAG"),
            ("public_url", "https://x/"),
        ] {
            let error = Names::of(&config(&[(key, bad)])).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{key}: ")), "{error}");
        }
    }

    #[test]
    fn a_block_larger_than_private_networks_is_no_proxy() {
        let read = |block: &str| Serving::of(&config(&[("trusted_proxies", block)]));
        for bad in ["0.0.0.0/0", "128.0.0.0/1", "8.0.0.0/7", "::/0", "2000::/3", "fc00::/6"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("name the addresses of the proxies"), "{bad}: {error}");
        }
        for good in ["10.0.0.0/8", "fc00::/7", "192.0.2.7", "2001:db8::/32"] {
            assert!(read(good).is_ok(), "{good}");
        }
        assert!(Serving::of(&config(&[("forwarded_header", "x forwarded")])).is_err());
    }

    #[test]
    fn a_head_within_the_limits_of_the_api_is_buffered() {
        let buffered = |flags: &[(&str, &str)]| Serving::of(&config(flags)).unwrap().max_head_bytes();
        assert_eq!(buffered(&[]), 32 * 1024);
        assert_eq!(buffered(&[("max_uri_size", "32KiB"), ("max_header_size", "60KiB")]), 96 * 1024);
    }

    #[test]
    fn a_public_address_needs_tls_or_a_proxy() {
        let refused =
            |flags: &[(&str, &str)]| Serving::of(&config(flags)).err().map(|error| error.to_string());
        for public in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80"] {
            let reason = refused(&[("listen", public)]).unwrap();
            assert!(reason.contains("--tls-cert") && reason.contains("--trusted-proxies"), "{reason}");
            assert_eq!(refused(&[("listen", public), ("trusted_proxies", "10.0.0.0/8")]), None);
            assert_eq!(refused(&[("listen", public), ("tls_cert", "c"), ("tls_key", "k")]), None);
        }
        for local in ["127.0.0.1:80", "[::1]:80", ":80"] {
            assert_eq!(refused(&[("listen", local)]), None);
        }
    }
}
