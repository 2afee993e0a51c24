//! Every setting of the server, once: its name, its default, and what it means. Flags, environment variables, keys of
//! the settings file and `config show` come out of this table.

/// Where a setting is understood.
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
}

/// What kind of value a setting has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One value.
    One,
    /// `true` or `false`; the flag alone means `true`.
    Switch,
    /// Any number of values: the flag repeats, elsewhere they are separated by commas.
    Many,
    /// One value that is shown to nobody. It has no flag, because command lines are visible to others; a file that
    /// holds it may be named instead.
    Secret,
    /// One value that may contain a password: shown without it, and it may stand in a file.
    WithPassword,
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The key in the settings file: the flag in snake case.
    pub key: &'static str,
    /// Where it is understood.
    pub scope: Scope,
    /// The kind of its value.
    pub kind: Kind,
    /// What the value is called in help.
    pub value_name: &'static str,
    /// The value when nothing is given; empty for none.
    pub default: &'static str,
    /// What it means.
    pub help: &'static str,
}

impl Setting {
    /// The flag, without dashes in front.
    #[must_use]
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// The environment variable.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("OPENAPI_{}", self.key.to_uppercase())
    }

    /// Whether the value may stand in a file that is named instead: `…_file`, `…_FILE`.
    #[must_use]
    pub fn may_stand_in_file(&self) -> bool {
        matches!(self.kind, Secret | WithPassword)
    }

    /// The setting of this key.
    #[must_use]
    pub fn of(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

const fn every(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, scope: Scope::Global, kind, value_name, default, help }
}

const fn serving(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, scope: Scope::Serve, kind, value_name, default, help }
}

const fn extracting(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, scope: Scope::Extract, kind, value_name, default, help }
}

const fn knowledge(
    key: &'static str,
    value_name: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, scope: Scope::Knowledge, kind: One, value_name, default, help }
}

use Kind::{Many, One, Secret, Switch, WithPassword};

/// All settings, in the order they are shown.
pub const SETTINGS: &[Setting] = &[
    every(
        "store",
        WithPassword,
        "URL",
        "sqlite:./data/openapi.db",
        "Where everything is stored: sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE, mongodb://USER:PASSWORD@HOST/DATABASE or memory:",
    ),
    every(
        "wait_for_store",
        One,
        "DURATION",
        "40s",
        "How long a server or a command waits for the process that owns the SQLite file of the store, such as a server that drains",
    ),
    every(
        "blobs",
        One,
        "URL",
        "",
        "Where contents of files are kept: file:PATH, memory:, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX, with credentials in the usual variables; by default the folder blobs beside the database file",
    ),
    every(
        "server_key",
        Secret,
        "HEX",
        "",
        "Keys of the server, 64 hexadecimal digits each, the current one first; by default in the file server-keys beside the database file",
    ),
    every(
        "public_url",
        One,
        "URL",
        "",
        "The address that clients use, without a trailing slash; by default the listen address",
    ),
    every("service_name", One, "NAME", "Service", "The name of the service"),
    every("id_segment", One, "SEGMENT", "platformid", "The path segment in front of platform contact ids"),
    every("key_tag", One, "TAG", "svc", "The prefix of keys issued from now on"),
    every(
        "log",
        One,
        "FILTER",
        "info",
        "What is logged: error, warn, info, debug, trace, or levels by target, such as info,access=off",
    ),
    every("log_format", One, "FORMAT", "", "text or json; by default text on a terminal, else json"),
    serving(
        "listen",
        One,
        "ADDRESS",
        "127.0.0.1:8080",
        "Where the Open API listens; port 0 takes a free one",
    ),
    serving(
        "ops_listen",
        One,
        "ADDRESS",
        "127.0.0.1:9090",
        "Where /livez, /readyz and /metrics are answered; off for nowhere",
    ),
    serving(
        "widget_listen",
        One,
        "ADDRESS",
        "off",
        "Where the chat widget and what it talks to are answered, such as 127.0.0.1:8081; off for nowhere",
    ),
    every(
        "widget_public_url",
        One,
        "URL",
        "",
        "The origin of the widget's listener as web pages see it, such as https://widget.example.com; by default the listen address",
    ),
    serving(
        "widget_limit",
        Many,
        "NAME=COUNT/DURATION",
        "",
        "Limits of the widget in place of the built-in ones of that name, such as turns=8/60s; off for none. turns, syncs, leads and uploads are of a visitor; address_turns, address_sessions, address_leads, address_repeats (conversations with one text) and address_calls of an address; agent_turns of an agent. address_streams, agent_streams and streams are open streams, such as streams=1024",
    ),
    serving(
        "answer_timeout",
        Many,
        "NAME=DURATION",
        "",
        "How long an answer to a visitor may take, in place of the built-in first_event=10s, first_delta=30s, between_deltas=20s and whole=90s",
    ),
    serving(
        "llm_endpoint",
        Many,
        "[NAME=]URL",
        "",
        "Endpoints of the chat-completions protocol that agents may answer with, such as https://models.example.com/v1; without a name it is called default",
    ),
    serving("llm_model", Many, "[NAME=]MODEL", "", "The model of an endpoint where an agent names none"),
    serving("llm_key", Secret, "[NAME=]KEY,...", "", "The keys of the endpoints"),
    serving(
        "llm_price",
        Many,
        "[NAME=]INPUT/OUTPUT",
        "",
        "What a million tokens of an endpoint cost, in any currency: for the daily budgets of agents",
    ),
    serving("llm_credits", One, "COUNT", "1", "Credits for each 1,000 tokens of an answer that are begun"),
    serving(
        "knowledge_memory",
        One,
        "SIZE",
        "256MiB",
        "What the search indexes of agents' documents may take; those used longest ago are dropped and made anew when they are needed",
    ),
    serving(
        "contact_cache",
        One,
        "SIZE",
        "160MiB",
        "What contacts that were read may take in memory, so that they are not read again from a SQLite or PostgreSQL store; 0 keeps none",
    ),
    serving("tls_cert", One, "FILE", "", "PEM file with the certificate chain; read again on SIGHUP"),
    serving("tls_key", One, "FILE", "", "PEM file with the private key of the certificate"),
    serving(
        "behind_proxy",
        Many,
        "CIDR",
        "",
        "Addresses of proxies that end TLS and whose Forwarded or X-Forwarded-For is believed",
    ),
    serving("http2", Switch, "BOOL", "false", "Whether clients may use HTTP/2"),
    serving(
        "cors_origin",
        Many,
        "ORIGIN",
        "",
        "Origins of web pages that may call the API from a browser; * for all",
    ),
    serving("max_json_size", One, "SIZE", "1MiB", "The largest JSON body"),
    serving("max_file_size", One, "SIZE", "25MiB", "The largest file of a contact, up to 1GiB"),
    serving("files_per_contact", One, "COUNT", "1000", "Files that a contact may have"),
    serving("storage_quota", One, "SIZE", "", "What all files of an agent may take; by default any size"),
    serving(
        "file_types",
        One,
        "LIST",
        "",
        "Extensions of the file types that are accepted, such as pdf,docx,png; * for all that are never refused; by default documents, text, images, audio, video and zip",
    ),
    serving(
        "deleted_file_retention",
        One,
        "DURATION",
        "30d",
        "How long the content of a deleted file is kept; 0s removes it at once",
    ),
    serving(
        "redirect_downloads",
        Switch,
        "BOOL",
        "false",
        "Whether downloads are redirected to the store of file contents; then revoking a key or deleting a file does not end a download link that was followed already",
    ),
    extracting(
        "extraction_engine",
        One,
        "ENGINE",
        "builtin",
        "What finds values in documents: builtin, which needs no network; the name of an endpoint of model_endpoint (model for the one without a name), which is sent their text; or off, so that extractions are answered 503",
    ),
    serving(
        "agent_engine",
        Many,
        "AGENT=ENGINE",
        "",
        "What finds values in the documents of an agent, in place of extraction_engine, such as acme=builtin or acme=model",
    ),
    extracting(
        "model_endpoint",
        Many,
        "[NAME=]URL",
        "",
        "Endpoints of the chat-completions protocol that documents may be sent to, such as https://models.example.com/v1; without a name it is called model",
    ),
    extracting("model", Many, "[NAME=]MODEL", "", "The model at an endpoint"),
    extracting("model_key", Secret, "[NAME=]KEY,...", "", "The keys of the endpoints of documents"),
    extracting(
        "model_images",
        Many,
        "NAME",
        "",
        "Endpoints whose model takes images: it is sent those of pages that have no text of their own, beside what was recognised",
    ),
    extracting(
        "model_fallback",
        Switch,
        "BOOL",
        "false",
        "Whether the built-in engine answers where a model gives no answer",
    ),
    extracting(
        "ocr_languages",
        Many,
        "LANGUAGE",
        "eng",
        "Languages of text in pictures and scanned pages, as tesseract names them (eng, deu, fra); more take more time",
    ),
    serving("max_document_size", One, "SIZE", "20MiB", "The largest document of an extraction, up to 256MiB"),
    serving("max_document_pages", One, "COUNT", "50", "Pages that a document may have"),
    serving(
        "max_document_characters",
        One,
        "COUNT",
        "1000000",
        "Characters that the text of a document may have",
    ),
    serving(
        "max_document_pixels",
        One,
        "COUNT",
        "40000000",
        "Pixels that a picture may have, up to 40000000",
    ),
    serving("extractions_per_key", One, "COUNT", "5", "Extractions of one key that a server runs at a time"),
    extracting("extraction_timeout", One, "DURATION", "120s", "How long an extraction may take"),
    serving(
        "document_retention",
        One,
        "DURATION",
        "90d",
        "How long documents are kept that were sent with saveToStorage",
    ),
    knowledge(
        "max_knowledge_size",
        "SIZE",
        "25MiB",
        "The largest document that an agent answers from, up to 256MiB",
    ),
    knowledge("max_knowledge_pages", "COUNT", "1000", "Pages that such a document may have"),
    knowledge(
        "max_knowledge_characters",
        "COUNT",
        "5000000",
        "Characters that the text of such a document may have",
    ),
    knowledge("knowledge_documents", "COUNT", "1000", "Documents that an agent may answer from"),
    knowledge(
        "knowledge_passages",
        "COUNT",
        "50000",
        "Passages of all documents of an agent together, which a server keeps in memory",
    ),
    serving("max_uri_size", One, "SIZE", "8KiB", "The longest path and query"),
    serving("max_header_size", One, "SIZE", "16KiB", "The largest header block"),
    serving("body_idle_timeout", One, "DURATION", "30s", "How long a request body may stall"),
    serving("body_total_timeout", One, "DURATION", "300s", "How long a request body may take in all"),
    serving("header_timeout", One, "DURATION", "10s", "How long a request head may take"),
    serving(
        "keep_alive_timeout",
        One,
        "DURATION",
        "75s",
        "How long a connection may wait for its next request",
    ),
    serving("write_timeout", One, "DURATION", "30s", "How long a client may take no byte of its answer"),
    serving("drain_timeout", One, "DURATION", "25s", "How long running requests may take after SIGTERM"),
    serving("max_connections", One, "COUNT", "10000", "Connections at a time; further ones are answered 503"),
    serving(
        "max_connections_per_address",
        One,
        "COUNT",
        "1000",
        "Connections at a time from one address that is no proxy; 0 for any number",
    ),
    serving(
        "address_limit_health",
        One,
        "COUNT",
        "300",
        "Health and description requests a minute and address; 0 for any number",
    ),
    serving(
        "address_limit_download",
        One,
        "COUNT",
        "300",
        "Downloads a minute and address; 0 for any number",
    ),
    serving(
        "address_limit_unrouted",
        One,
        "COUNT",
        "60",
        "Requests a minute and address to unknown routes, with wrong methods or without credentials; 0 for any number",
    ),
    serving(
        "address_limit_failed_auth",
        One,
        "COUNT",
        "20",
        "Failed authentications a minute and address; 0 for any number",
    ),
];

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
}
