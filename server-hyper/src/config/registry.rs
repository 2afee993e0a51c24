//! The registry of all settings: name, default and meaning. Flags, environment variables, keys of the settings file and
//! `config show` are all generated from it.

/// The commands that understand a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every command.
    Global,
    /// `serve` and `demo`.
    Serve,
    /// `serve`, `demo` and `extract`.
    Extract,
    /// `knowledge add`.
    Knowledge,
    /// `serve`, `demo` and `outbound check`.
    Outbound,
    /// `serve`, `demo` and `mail test`.
    Mail,
}

/// The type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A single value.
    Scalar,
    /// `true` or `false`; the flag alone means `true`.
    Bool,
    /// A list: the flag repeats, other sources separate the items by commas.
    List,
    /// A masked value. It has no flag, because other users can see command lines; `…_file` names a file that holds it.
    Secret,
    /// A URL that may contain a password, which is masked. `…_file` names a file that holds the URL.
    SecretUrl,
}

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key in the settings file: the flag in snake case.
    pub key: &'static str,
    /// The commands that understand it.
    pub scope: Scope,
    /// The type of its value.
    pub kind: ValueKind,
    /// The placeholder of the value in help.
    pub value_name: &'static str,
    /// The default; empty for none.
    pub default: &'static str,
    /// The help text.
    pub help: &'static str,
}

impl Setting {
    /// Whether `…_file` may name a file that holds the value.
    #[must_use]
    pub fn allowed_in_file(&self) -> bool {
        matches!(self.kind, ValueKind::Secret | ValueKind::SecretUrl)
    }

    /// The setting with this key. Keys of LLM endpoints have the form `llm.NAME.FIELD`.
    #[must_use]
    pub fn of(key: &str) -> Option<&'static Setting> {
        match llm_key(key) {
            Some((name, field)) if is_llm_name(name) => LLM_SETTINGS.iter().find(|it| it.key == field),
            Some(_) => None,
            None => SETTINGS.iter().find(|it| it.key == key),
        }
    }

    /// The setting to which a source may give a value under this key: its own, or with `_file` appended.
    #[must_use]
    pub fn accepting(key: &str) -> Option<&'static Setting> {
        let in_file = || Setting::of(key.strip_suffix("_file")?).filter(|it| it.allowed_in_file());
        Setting::of(key).or_else(in_file)
    }
}

/// Name and field of a key `llm.NAME.FIELD`.
#[must_use]
pub fn llm_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("llm.")?.split_once('.')
}

/// Whether an LLM endpoint may have this name: environment variables can express it, and the flag can be split.
#[must_use]
pub fn is_llm_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The flag of a key, without the leading dashes: `trusted-proxies`, `llm NAME.url`.
#[must_use]
pub fn flag_of(key: &str) -> String {
    key.strip_prefix("llm.").map_or_else(|| key.replace('_', "-"), |field| format!("llm {field}"))
}

/// The environment variable of a key: `OPENAPI_TRUSTED_PROXIES`, `OPENAPI_LLM_NAME_URL`.
#[must_use]
pub fn variable_of(key: &str) -> String {
    format!("OPENAPI_{}", key.to_uppercase().replace(['.', '-'], "_"))
}

/// The key that an environment variable sets; `llm.NAME.FIELD` for variables of LLM endpoints.
#[must_use]
pub fn key_of_variable(variable: &str) -> Option<String> {
    let key = variable.strip_prefix("OPENAPI_")?.to_lowercase();
    let llm = key.strip_prefix("llm_").and_then(|rest| {
        let fields = LLM_SETTINGS.iter().flat_map(|it| [it.key.to_owned(), format!("{}_file", it.key)]);
        fields.into_iter().find_map(|field| {
            let name = rest.strip_suffix(&field)?.strip_suffix('_')?;
            Some(format!("llm.{}.{field}", name.replace('_', "-")))
        })
    });
    Some(llm.unwrap_or(key))
}

/// The key that the author of an unknown one most likely meant.
#[must_use]
pub fn nearest(key: &str) -> Option<String> {
    // An unknown field of an endpoint: `llm.NAME.…` in files and flags, `llm_NAME_…` in variables.
    let name = llm_key(key).or_else(|| key.strip_prefix("llm_")?.split_once('_')).map(|(name, _)| {
        if is_llm_name(name) { name.to_owned() } else { name.to_lowercase().replace('_', "-") }
    });
    let llm = name
        .into_iter()
        .flat_map(|name| LLM_SETTINGS.iter().map(move |setting| format!("llm.{name}.{}", setting.key)));
    let similarity = |known: &str| strsim::sorensen_dice(&known.replace('.', "_"), &key.replace('.', "_"));
    SETTINGS
        .iter()
        .map(|setting| setting.key.to_owned())
        .chain(llm)
        .map(|known| (similarity(&known), known))
        .filter(|(similarity, _)| *similarity >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Declares settings, by the commands that understand them: `key: Kind "VALUE" = "default", "help";`.
macro_rules! settings {
    ($($scope:ident { $($key:ident: $kind:ident $value_name:literal = $default:literal, $help:literal;)+ })+) => {
        &[$($(Setting {
            key: stringify!($key),
            scope: Scope::$scope,
            kind: ValueKind::$kind,
            value_name: $value_name,
            default: $default,
            help: $help,
        },)+)+]
    };
}

/// The fields of an LLM endpoint: `[llm.NAME]` in the settings file.
pub const LLM_SETTINGS: &[Setting] = settings! {
    Extract {
        url: Scalar "URL" = "", "Base URL of an endpoint with the chat-completions protocol, such as https://models.example.com/v1";
        model: Scalar "MODEL" = "", "Model to use at this endpoint; agents may choose another one";
        api_key: Secret "KEY" = "", "API key of the endpoint";
        price: Scalar "INPUT/OUTPUT" = "", "Price of a million input and output tokens in any currency, such as 0.15/0.60; daily cost budgets use it";
        images: Bool "BOOL" = "false", "Whether the model accepts images: extraction then sends the pages that have no text layer";
    }
};

/// All settings but those of LLM endpoints, in the order of `config show`.
pub const SETTINGS: &[Setting] = settings! {
    Global {
        store: SecretUrl "URL" = "sqlite:./data/openapi.db",
            "Database: sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE, mongodb://USER:PASSWORD@HOST/DATABASE, \
            or memory: for data that is lost on exit";
        wait_for_store: Scalar "DURATION" = "40s",
            "How long a server or a command waits for the process that owns the SQLite file, such as a server that drains";
        blobs: Scalar "URL" = "",
            "Storage for file contents: file:PATH, memory:, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or \
            az://CONTAINER/PREFIX; credentials come from the provider's usual environment variables [default: the \
            folder blobs next to the SQLite database]";
        server_key: Secret "HEX" = "",
            "Server keys, 64 hexadecimal digits each, the current one first, separated by commas [default: the file \
            server-keys next to the SQLite database]";
        audit_anchors: Scalar "FILE" = "",
            "File outside the store to which the server appends the ends of the audit log's chains each minute, and which \
            audit verify compares; or off [default: the file audit-anchors next to the file server-keys]";
        public_url: Scalar "URL" = "",
            "Public base URL of the API, without a trailing slash, such as https://api.example.com [default: the \
            listen address]";
        service_name: Scalar "NAME" = "Service", "Name of the service in the API's documents and messages";
        id_segment: Scalar "SEGMENT" = "platformid", "Path segment before platform contact ids; change it before clients exist";
        api_key_prefix: Scalar "PREFIX" = "svc", "Prefix of newly issued API keys; existing keys keep theirs";
        log: Scalar "FILTER" = "info",
            "Log level: error, warn, info, debug or trace; or levels by target, such as info,access=off";
        log_format: Scalar "FORMAT" = "", "Log format: text or json [default: text on a terminal, otherwise json]";
    }
    Serve {
        listen: Scalar "ADDRESS" = "127.0.0.1:8080", "Address and port of the Open API; port 0 picks a free port";
        ops_listen: Scalar "ADDRESS" = "127.0.0.1:9090",
            "Address and port of /livez, /readyz and /metrics, or off; it requires no credentials, so keep it private";
        widget_listen: Scalar "ADDRESS" = "off", "Address and port of the chat widget, such as 127.0.0.1:8081, or off";
        console_listen: Scalar "ADDRESS" = "127.0.0.1:8082",
            "Address and port of the console, in which operators work with a browser, or off";
        console_public_url: Scalar "URL" = "",
            "Public origin of the console, such as https://console.example.com [default: http://localhost and its port]";
        console_session_idle: Scalar "DURATION" = "12h", "How long an operator stays signed in without use";
        console_session_total: Scalar "DURATION" = "30d", "How long an operator stays signed in at most";
    }
    Global {
        widget_public_url: Scalar "URL" = "",
            "Public origin of the widget listener, such as https://widget.example.com [default: its listen address]";
    }
    Global {
        mail_delay: Scalar "DURATION" = "2m",
            "How long a reply of a person waits to be read before it is sent to the visitor by e-mail, 1s to 24h";
    }
    Serve {
        widget_limit: List "NAME=COUNT/DURATION" = "",
            "Replaces a rate limit of the widget, such as turns=8/60s or turns=off; repeat the flag for several. Per \
            visitor: turns, syncs, leads, uploads. Per address: address_requests (all together), address_turns, \
            address_sessions, address_leads, address_calls, and address_repeats (conversations that begin with the same \
            text). Per agent: agent_turns. Mebibytes of files: address_upload_mib, agent_upload_mib, upload_mib. Open \
            streams: streams=1024, agent_streams, address_streams. Running uploads: open_uploads=128, \
            agent_open_uploads, address_open_uploads";
        answer_timeout: List "NAME=DURATION" = "",
            "Replaces a timeout of replies to visitors; the built-in ones are first_event=10s, first_delta=30s, \
            between_deltas=20s and whole=90s";
        llm_credits: Scalar "COUNT" = "1", "Credits charged for each started block of 1,000 tokens of a reply";
        knowledge_cache_size: Scalar "SIZE" = "256MiB",
            "Memory for the search indexes of agents' documents; the least recently used index is evicted and rebuilt \
            on demand";
        knowledge_embedder: Scalar "NAME" = "built-in",
            "What lets agents' documents be searched by meaning and across languages: built-in, or none for words alone";
        contact_cache: Scalar "SIZE" = "160MiB",
            "Memory for cached contacts of a SQLite or PostgreSQL store; 0 disables the cache";
        tls_cert: Scalar "FILE" = "", "PEM file with the certificate chain; SIGHUP reloads it";
        tls_key: Scalar "FILE" = "", "PEM file with the private key of the certificate; SIGHUP reloads it";
        trusted_proxies: List "CIDR" = "",
            "Addresses of reverse proxies that terminate TLS, such as 10.0.0.0/8; their forwarding header names the \
            client, and only they may send plain HTTP from other machines";
        forwarded_header: Scalar "NAME" = "x-forwarded-for",
            "Header in which the trusted proxies name the client: x-forwarded-for, forwarded, or another one with a list \
            of addresses; all others are ignored";
        http2: Bool "BOOL" = "false", "Accept HTTP/2";
        docs: Bool "BOOL" = "true",
            "Serve the OpenAPI document at /openapi.json and the interactive reference at /docs";
        cors_origin: List "ORIGIN" = "",
            "Origins of web pages that may call the API from a browser, such as https://app.example.com; * allows all";
        max_json_size: Scalar "SIZE" = "1MiB", "Largest JSON request body";
        max_file_size: Scalar "SIZE" = "25MiB", "Largest file of a contact, up to 1GiB";
        files_per_contact: Scalar "COUNT" = "1000", "Files per contact";
        storage_quota: Scalar "SIZE" = "", "Total size of an agent's files [default: unlimited]";
        file_types: Scalar "LIST" = "",
            "Accepted file extensions, such as pdf,docx,png; * accepts every type that the API never refuses [default: \
            documents, text, images, audio, video and zip]";
        deleted_file_retention: Scalar "DURATION" = "30d",
            "How long the content of a deleted file is retained; 0s removes it immediately";
    }
    Extract {
        extraction_engine: Scalar "ENGINE" = "",
            "Engine that extracts fields from documents: builtin, which needs no network; llm, which sends their text to \
            the endpoint of --extraction-llm; or off, which answers extractions with 503 [default: llm if \
            --extraction-llm is set, otherwise builtin]";
        extraction_llm: Scalar "NAME" = "", "LLM endpoint that extracts fields from documents";
        extraction_fallback: Bool "BOOL" = "false", "Use the built-in engine if the language model fails";
        agent_engine: List "AGENT=ENGINE" = "",
            "Extraction engine for the documents of one agent: builtin or the name of an LLM endpoint, such as \
            acme=builtin; repeat the flag for several";
        ocr_languages: List "LANGUAGE" = "eng",
            "Languages of text in images and scanned pages, by their tesseract names (eng, deu, fra); each one adds \
            processing time";
        allow_unconfined_documents: Bool "BOOL" = "false",
            "Read documents even if the system cannot confine the processes that read them (landlock, seccomp): only if \
            you trust every document";
    }
    Serve {
        max_document_size: Scalar "SIZE" = "20MiB", "Largest document of an extraction, up to 256MiB";
        max_document_pages: Scalar "COUNT" = "50", "Pages per document";
        max_document_characters: Scalar "COUNT" = "1000000", "Characters of text per document";
        max_document_pixels: Scalar "COUNT" = "40000000", "Pixels per image, up to 40000000";
        extractions_per_key: Scalar "COUNT" = "5", "Concurrent extractions per API key on this server";
    }
    Extract {
        extraction_timeout: Scalar "DURATION" = "120s", "Timeout of an extraction";
    }
    Serve {
        extraction_workers: Scalar "COUNT" = "",
            "Queued extractions that this server runs at once; 0 leaves them to other servers [default: half the cores]";
        extraction_queue: Scalar "COUNT" = "10000", "Extractions of an agent that may be queued or running on their own";
        extraction_job_timeout: Scalar "DURATION" = "10m", "Timeout of a queued extraction";
        extraction_result_retention: Scalar "DURATION" = "7d",
            "How long queued extractions stay with their results after their end, 1h to 30d";
        document_retention: Scalar "DURATION" = "90d", "How long documents sent with saveToStorage are retained";
        event_retention: Scalar "DURATION" = "7d", "How long events are retained, 1d to 90d";
        audit_retention: Scalar "DURATION" = "", "How long entries of the audit log are retained, such as 400d [default: for good]";
    }
    Serve {
        webhook_concurrency: Scalar "COUNT" = "256", "Webhook messages that this server sends at the same time";
        webhook_endpoints: Scalar "COUNT" = "20", "Webhook endpoints per agent, up to 1000";
    }
    Outbound {
        outbound_allow: List "CIDR|HOST:PORT" = "",
            "Targets of your own network that webhooks and other requests to URLs of tenants may reach: blocks of \
            addresses such as 10.1.0.0/16, or hosts with their port such as hooks.internal:8443; repeat the flag for several";
        outbound_port: List "PORT" = "443", "Ports that requests to URLs of tenants may use";
        outbound_http: Bool "BOOL" = "false",
            "Send requests to URLs of tenants also without TLS; for tests only, because everyone on the way reads and \
            changes them";
    }
    Mail {
        smtp_host: Scalar "HOST" = "",
            "SMTP server that takes e-mail to visitors, such as smtp.example.com [default: no e-mail is sent]";
        smtp_port: Scalar "PORT" = "", "Port of the SMTP server [default: 587, with smtp_tls=tls 465, with none 25]";
        smtp_tls: Scalar "MODE" = "starttls",
            "How connections to the SMTP server are protected: starttls, tls (from the first byte), or none, which \
            sends messages in plain text and no password";
        smtp_user: Scalar "USER" = "", "User at the SMTP server";
        smtp_password: Secret "PASSWORD" = "", "Password at the SMTP server";
        smtp_ca: Scalar "FILE" = "",
            "PEM file with certificates of authorities to trust at the SMTP server, in addition to those of the system";
        mail_from: Scalar "ADDRESS" = "", "Address of the sender, such as support@example.com";
        mail_reply_to: Scalar "ADDRESS" = "", "Address that answers to e-mail go to [default: mail_from]";
    }
    Knowledge {
        max_knowledge_size: Scalar "SIZE" = "25MiB", "Largest document of an agent's knowledge, up to 256MiB";
        max_knowledge_pages: Scalar "COUNT" = "1000", "Pages per document";
        max_knowledge_characters: Scalar "COUNT" = "5000000", "Characters of text per document";
        knowledge_documents: Scalar "COUNT" = "1000", "Documents per agent";
        knowledge_passages: Scalar "COUNT" = "50000", "Passages of all documents of an agent; servers hold them in memory";
    }
    Serve {
        max_uri_size: Scalar "SIZE" = "8KiB", "Longest path and query string";
        max_header_size: Scalar "SIZE" = "16KiB", "Largest header block";
        body_idle_timeout: Scalar "DURATION" = "30s", "Longest pause between two reads of a request body";
        body_total_timeout: Scalar "DURATION" = "300s", "Timeout of a whole request body";
        header_timeout: Scalar "DURATION" = "10s", "Timeout of a request head";
        keep_alive_timeout: Scalar "DURATION" = "75s", "How long an idle connection stays open";
        write_timeout: Scalar "DURATION" = "30s",
            "How long a client may read no byte of a response, in HTTP/2 less than 16 KiB";
        drain_timeout: Scalar "DURATION" = "25s", "How long running requests may continue after SIGTERM";
        max_connections: Scalar "COUNT" = "10000",
            "Concurrent connections to the Open API. A further one replaces an idle one or gets 503. A tenth is reserved \
            for trusted proxies and for addresses that used a valid key in the last hour";
        max_connections_per_address: Scalar "COUNT" = "1000",
            "Concurrent connections to the Open API per address (IPv4, or IPv6 /64) that is not a trusted proxy; 0 for no \
            limit";
        widget_max_connections: Scalar "COUNT" = "8000", "The same for the widget, without a reserve";
        widget_max_connections_per_address: Scalar "COUNT" = "64",
            "The same for the widget, per address that is not a trusted proxy; 0 for no limit";
        address_limit_health: Scalar "COUNT" = "300",
            "Health and description requests per minute and address; 0 for no limit";
        address_limit_download: Scalar "COUNT" = "300", "Downloads per minute and address; 0 for no limit";
        address_limit_unrouted: Scalar "COUNT" = "60",
            "Requests per minute and address with an unknown route, a wrong method or no credentials; 0 for no limit";
        address_limit_failed_auth: Scalar "COUNT" = "20",
            "Failed authentications per minute and address; 0 for no limit";
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_in_snake_case() {
        let mut keys: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
        assert!(
            keys.iter()
                .all(|key| key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))
        );
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), SETTINGS.len());
    }

    #[test]
    fn every_key_has_a_variable_that_leads_back_to_it() {
        let llm = LLM_SETTINGS
            .iter()
            .flat_map(|it| ["main", "my-2", "api-key"].map(|name| format!("llm.{name}.{}", it.key)));
        for key in SETTINGS.iter().map(|it| it.key.to_owned()).chain(llm) {
            let setting = Setting::of(&key).unwrap();
            assert_eq!(key_of_variable(&variable_of(&key)), Some(key.clone()));
            if setting.allowed_in_file() {
                let in_file = format!("{key}_file");
                assert_eq!(key_of_variable(&variable_of(&in_file)), Some(in_file.clone()));
                assert_eq!(Setting::accepting(&in_file), Some(setting));
            }
        }
        assert_eq!(Setting::of("llm.UPPER.url"), None);
        assert_eq!(Setting::of("llm..url"), None);
    }

    #[test]
    fn mistyped_keys_lead_to_the_right_one() {
        assert_eq!(nearest("trusted_proxy").as_deref(), Some("trusted_proxies"));
        assert_eq!(nearest("llm.main.key").as_deref(), Some("llm.main.api_key"));
        assert_eq!(nearest("llm_main_key").as_deref(), Some("llm.main.api_key"));
        assert_eq!(nearest("llm.Main.url").as_deref(), Some("llm.main.url"));
        assert_eq!(nearest("tls"), None);
    }
}
