//! How the console is set up, and what it needs of its host.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use conversations::admin::NewKnowledge;
use events::Webhooks;
use openapi_core::ports::{BlockingExecutor, Inline, NoOutbound, Outbound};
use openapi_core::values::AgentId;

use crate::live::LiveStreams;

/// The path of the console's API below its base path.
pub const API_PATH: &str = "/console/v1";

/// The settings of a [`Console`](crate::Console).
#[derive(Clone)]
pub struct ConsoleSettings {
    /// The path before `/console/v1`, without a trailing slash; empty at the root.
    pub base_path: String,
    /// The origin of the pages that may call the console, such as `https://app.example.com`.
    pub origin: String,
    /// Further values of `Host` that name the console; empty where the host application decides.
    pub hosts: Vec<String>,
    /// Accounts of the console's own; none where a host application signs people in.
    pub accounts: Option<AccountSettings>,
    /// Turns files into passages that agents answer from.
    pub reader: Option<Arc<dyn DocumentReader>>,
    /// Puts agents on web pages; none where no widget is served.
    pub widget: Option<Arc<dyn WidgetTags>>,
    /// What reads the event logs for live updates; none if pages read again every few seconds.
    pub live: Option<LiveStreams>,
    /// The webhooks of agents, as the server that delivers them has them; none where nothing is sent.
    pub webhooks: Option<Webhooks>,
    /// Sends requests to the providers that operators sign in with.
    pub outbound: Arc<dyn Outbound>,
    /// The version of the program.
    pub build: &'static str,
}

/// How operators sign in.
#[derive(Clone)]
pub struct AccountSettings {
    /// Whether browsers reach the console by plain HTTP on this machine. Cookies then carry the port in their names
    /// instead of the prefix `__Host-`, and each session needs a secret of its pages.
    pub is_plain: bool,
    /// How long a session lives without use, in milliseconds.
    pub idle_millis: i64,
    /// How long a session lives at most, in milliseconds.
    pub total_millis: i64,
    /// What the hash of a password costs.
    pub password_cost: PasswordCost,
    /// Where passwords are hashed: one hash takes about 150 ms.
    pub hasher: Arc<dyn BlockingExecutor>,
}

impl Default for AccountSettings {
    fn default() -> Self {
        const HOUR: i64 = 3_600_000;
        AccountSettings {
            is_plain: false,
            idle_millis: 12 * HOUR,
            total_millis: 30 * 24 * HOUR,
            password_cost: PasswordCost::default(),
            hasher: Arc::new(Inline),
        }
    }
}

impl fmt::Debug for AccountSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountSettings").field("is_plain", &self.is_plain).finish_non_exhaustive()
    }
}

/// The parameters of argon2id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordCost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
}

impl Default for PasswordCost {
    fn default() -> Self {
        PasswordCost { memory_kib: 64 * 1024, passes: 3 }
    }
}

/// Turns a file into passages that an agent answers from.
#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// Reads a file.
    ///
    /// # Errors
    /// Why the file cannot be read, as a sentence for the operator.
    async fn read(&self, file_name: &str, content: Bytes) -> Result<NewKnowledge, String>;
}

/// How web pages embed the widget.
pub trait WidgetTags: Send + Sync {
    /// The origin of the widget host.
    fn origin(&self) -> String;

    /// The object that the script defines, such as `ServiceWidget`.
    fn global(&self) -> String;

    /// The tag of an agent. It follows the server's version.
    fn tag(&self, agent: &AgentId) -> String;

    /// The tag of this build alone, with its integrity value.
    fn pinned_tag(&self, agent: &AgentId) -> String;

    /// The Content Security Policy directives that a page needs.
    fn policy(&self) -> String;
}

impl ConsoleSettings {
    /// A console below `base_path` of an application whose pages have `origin`, and which signs people in itself.
    #[must_use]
    pub fn mounted(base_path: &str, origin: &str) -> Self {
        ConsoleSettings {
            base_path: base_path.trim_end_matches('/').to_owned(),
            origin: origin.trim_end_matches('/').to_owned(),
            hosts: Vec::new(),
            accounts: None,
            reader: None,
            widget: None,
            live: None,
            webhooks: None,
            outbound: Arc::new(NoOutbound),
            build: env!("CARGO_PKG_VERSION"),
        }
    }

    /// A console at the root of an origin of its own, with accounts.
    #[must_use]
    pub fn with_accounts(origin: &str, accounts: AccountSettings) -> Self {
        ConsoleSettings { accounts: Some(accounts), ..ConsoleSettings::mounted("", origin) }
    }

    /// The host of the origin, with its port unless the scheme implies it.
    pub(crate) fn authority(&self) -> &str {
        self.origin.split_once("://").map_or(self.origin.as_str(), |(_, authority)| authority)
    }

    /// The page of a link. The token is in the fragment, which no server and no log sees.
    pub(crate) fn link(&self, page: &str, token: &str) -> String {
        format!("{}{}/{page}#{token}", self.origin, self.base_path)
    }

    /// The relying party of passkeys: the host of the origin; none for an address, which browsers refuse.
    pub(crate) fn relying_party(&self) -> Option<&str> {
        let authority = self.authority();
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        (!is_address && !host.is_empty()).then_some(host)
    }
}

impl fmt::Debug for ConsoleSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleSettings").field("origin", &self.origin).finish_non_exhaustive()
    }
}
