//! Providers: what owners set of each.

use std::collections::BTreeMap;

use openapi_core::json::{Json, JsonSchema};
use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::storage::{RecordId, RecordKind};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url};

use super::seal;
use crate::auth::records::{Body, People, Stored, base64_text};
use crate::capability::Role;
use crate::errors::refused;
use crate::grants::{Grant, Grants};
use crate::input::Member;

const SECRET: &str = "console provider secret";
/// The most providers of an installation.
pub(crate) const MOST_PROVIDERS: usize = 20;
/// The most groups of a provider that give roles.
const MOST_GROUPS: usize = 100;
/// The longest name of a group, in bytes.
const MAX_GROUP: usize = 200;
/// The most domains of a provider, and the most scopes.
const MOST_WORDS: usize = 50;
/// How long the claims of a trial are stored: a day.
const TRIAL_MILLIS: i64 = 86_400_000;
/// The group that every person of a provider is in.
pub(crate) const EVERYONE: &str = "*";

/// A provider; the record's id is the text that owners chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderBody {
    pub(crate) name: String,
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    /// Sealed; empty for a client without one.
    #[serde(with = "base64_text", default)]
    pub(crate) secret: Vec<u8>,
    pub(crate) scopes: Vec<String>,
    pub(crate) groups_claim: String,
    pub(crate) groups: Groups,
    pub(crate) domains: Vec<String>,
    pub(crate) is_enabled: bool,
    /// What the provider said of the owner who tried it last.
    #[serde(default)]
    pub(crate) trial: Option<Trial>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl Body for ProviderBody {
    const KIND: RecordKind = RecordKind::Provider;
}

/// The names of the members that differ, for the audit log; all of a new provider.
pub(crate) fn changed_members(before: Option<&ProviderBody>, after: &ProviderBody) -> Vec<&'static str> {
    let differs =
        |same: fn(&ProviderBody, &ProviderBody) -> bool| before.is_none_or(|before| !same(before, after));
    let members = [
        ("name", differs(|a, b| a.name == b.name)),
        ("issuer", differs(|a, b| a.issuer == b.issuer)),
        ("clientId", differs(|a, b| a.client_id == b.client_id)),
        ("clientSecret", differs(|a, b| a.secret == b.secret)),
        ("scopes", differs(|a, b| a.scopes == b.scopes)),
        ("groupsClaim", differs(|a, b| a.groups_claim == b.groups_claim)),
        ("groups", differs(|a, b| a.groups == b.groups)),
        ("domains", differs(|a, b| a.domains == b.domains)),
        ("isEnabled", differs(|a, b| a.is_enabled == b.is_enabled)),
    ];
    members.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// A sample of claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Trial {
    pub(crate) at: Timestamp,
    /// Names with the JSON of their values, which may be cut.
    pub(crate) claims: Vec<(String, String)>,
}

/// The id of a provider: a word that commands and addresses can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderId(String);

impl ProviderId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn record(&self) -> Result<RecordId, ApiError> {
        RecordId::from_bytes(self.0.as_bytes()).ok_or_else(ApiError::internal)
    }
}

/// The longest id of a provider.
const MAX_ID: usize = 32;

impl Member for ProviderId {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
        let is_word = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if (1..=MAX_ID).contains(&text.len()) && is_word && !text.starts_with('-') {
            return Ok(ProviderId(text.to_owned()));
        }
        let text = format!("must have 1 to {MAX_ID} of a-z, 0-9 and -, and not begin with -");
        Err(ValidationIssue::new(ValidationCode::Pattern, text))
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$" })
    }
}

/// The roles that groups of a provider give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Groups(BTreeMap<String, Grants>);

impl Groups {
    /// The roles of all groups.
    pub(crate) fn all(&self) -> Vec<Grant> {
        self.0.values().flat_map(|grants| grants.as_slice().to_vec()).collect()
    }

    /// What the groups of a person give together.
    pub(crate) fn grants(&self, groups: &[String]) -> Vec<Grant> {
        let applies = |name: &&String| *name == EVERYONE || groups.contains(name);
        let given = self.0.iter().filter(|(name, _)| applies(name));
        let mut grants: Vec<Grant> = given.flat_map(|(_, grants)| grants.as_slice().to_vec()).collect();
        grants.sort();
        grants.dedup();
        grants
    }
}

impl JsonSchema for Groups {
    fn schema() -> Value {
        let items = json!({ "type": "string", "description": "A role on one agent as `inbox@acme`, or on all as `admin`." });
        json!({ "type": "object", "additionalProperties": { "type": "array", "items": items } })
    }
}

impl Member for Groups {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let members = value.as_object().ok_or_else(|| ValidationIssue::wrong_type("an object"))?;
        if members.len() > MOST_GROUPS {
            let text = format!("must have at most {MOST_GROUPS} groups");
            return Err(ValidationIssue::new(ValidationCode::MaxItems, text));
        }
        let mut groups = BTreeMap::new();
        for (name, grants) in members.iter() {
            if name.is_empty() || name.len() > MAX_GROUP {
                let text = format!("must have names of groups with 1 to {MAX_GROUP} bytes");
                return Err(ValidationIssue::new(ValidationCode::MaxLength, text));
            }
            let grants = Grants::read(grants)?;
            if grants.as_slice().iter().any(|grant| grant.role == Role::Owner) {
                let text = "must not give the role owner to a group; grant it to a person under Members";
                return Err(ValidationIssue::new(ValidationCode::Conflict, text));
            }
            groups.insert(name.to_owned(), grants);
        }
        Ok(Groups(groups))
    }

    fn schema() -> Value {
        <Groups as JsonSchema>::schema()
    }
}

/// Words of a list: domains, or scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub(crate) Vec<String>);

impl Member for Words {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let wrong = || ValidationIssue::wrong_type("an array of strings");
        let Json::Array(elements) = value else { return Err(wrong()) };
        if elements.len() > MOST_WORDS {
            let text = format!("must have at most {MOST_WORDS} entries");
            return Err(ValidationIssue::new(ValidationCode::MaxItems, text));
        }
        let words = elements.iter().map(|element| element.as_str().map(str::to_owned).ok_or_else(wrong));
        words.collect::<Result<_, _>>().map(Words)
    }

    fn schema() -> Value {
        json!({ "type": "array", "maxItems": MOST_WORDS, "items": { "type": "string" } })
    }
}

/// Domains of e-mail addresses, in lower case.
pub(crate) fn read_domains(words: Words) -> Result<Vec<String>, ApiError> {
    let mut domains: Vec<String> = words.0.iter().map(|word| word.trim().to_lowercase()).collect();
    domains.sort();
    domains.dedup();
    let is_label = |label: &str| {
        let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && letters && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_domain = |text: &str| text.len() <= 253 && text.contains('.') && text.split('.').all(is_label);
    match domains.iter().find(|domain| !is_domain(domain)) {
        None => Ok(domains),
        Some(wrong) => {
            let text = format!("'{}' is not a domain such as example.com", short(wrong));
            Err(refused("domains", ValidationIssue::new(ValidationCode::Format, text)))
        }
    }
}

/// Scopes, the first of which makes a request one of OpenID Connect.
pub(crate) fn read_scopes(words: Words) -> Result<Vec<String>, ApiError> {
    let is_scope = |word: &String| {
        let is_letter = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        (1..=100).contains(&word.len()) && word.bytes().all(is_letter)
    };
    if let Some(wrong) = words.0.iter().find(|word| !is_scope(word)) {
        let text = format!("'{}' is not a scope", short(wrong));
        return Err(refused("scopes", ValidationIssue::new(ValidationCode::Format, text)));
    }
    let mut scopes = vec!["openid".to_owned()];
    for word in words.0 {
        if !scopes.contains(&word) {
            scopes.push(word);
        }
    }
    Ok(scopes)
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Whether a URL leads to this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether the issuer is one of this machine that speaks plain HTTP.
pub(crate) fn is_plain(issuer: &str) -> bool {
    issuer.starts_with("http://")
}

/// Reads an issuer: `https`, or `http` on this machine.
pub(crate) fn read_issuer(text: &str) -> Result<String, ApiError> {
    let fault =
        |text: &'static str| Err(refused("issuer", ValidationIssue::new(ValidationCode::Format, text)));
    let Ok(url) = Url::parse(text) else { return fault("must be a URL such as https://id.example.com") };
    let is_secure = url.scheme() == "https" || url.scheme() == "http" && is_loopback(&url);
    if !is_secure {
        return fault("must begin with https://; plain http:// is for a provider on this machine");
    }
    let is_bare = url.query().is_none() && url.fragment().is_none();
    if !is_bare || !url.username().is_empty() || url.password().is_some() {
        return fault("must have neither a query, a fragment nor credentials");
    }
    Ok(text.to_owned())
}

/// Whether an endpoint of an issuer may be used: plain HTTP is for issuers of this machine that use it themselves.
pub(crate) fn is_allowed_endpoint(issuer: &str, endpoint: &str) -> bool {
    let Ok(url) = Url::parse(endpoint) else { return false };
    let is_secure =
        url.scheme() == "https" || is_plain(issuer) && url.scheme() == "http" && is_loopback(&url);
    is_secure && url.fragment().is_none() && url.username().is_empty() && url.password().is_none()
}

fn purpose(id: &str) -> String {
    format!("{SECRET} {id}")
}

/// The id of a provider's record.
pub(crate) fn id_of(provider: &Stored<ProviderBody>) -> &str {
    std::str::from_utf8(provider.id.as_bytes()).unwrap_or_default()
}

impl Stored<ProviderBody> {
    /// Seals a new secret of the client.
    pub(crate) fn seal_secret(&mut self, platform: &Platform, secret: &str) -> Result<(), ApiError> {
        let sealed = seal::seal(platform, &purpose(id_of(self)), secret.as_bytes());
        self.body.secret = sealed.ok_or_else(ApiError::internal)?;
        Ok(())
    }

    /// The secret of the client; `Err` if its server key is gone.
    pub(crate) fn secret(&self, platform: &Platform) -> Result<Option<String>, &'static str> {
        if self.body.secret.is_empty() {
            return Ok(None);
        }
        let opened = seal::open(platform, &purpose(id_of(self)), &self.body.secret);
        let text = opened.and_then(|bytes| String::from_utf8(bytes).ok());
        text.map(Some).ok_or("the client secret was sealed with a server key that is gone; enter it again")
    }

    /// The tag of the version that an owner has seen.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}

impl People<'_> {
    /// The provider of an id.
    pub(crate) async fn provider(self, id: &ProviderId) -> Result<Option<Stored<ProviderBody>>, ApiError> {
        self.get(&id.record()?).await
    }

    /// The providers, by id.
    pub(crate) async fn providers(self) -> Result<Vec<Stored<ProviderBody>>, ApiError> {
        self.all().await
    }

    /// Moves secrets of clients under the current server key, and drops the claims of trials that are over.
    pub(crate) async fn maintain_providers(self) -> Result<(), ApiError> {
        let now = self.0.now();
        for mut provider in self.providers().await? {
            let is_over = |trial: &Trial| now.millis_since(trial.at) >= TRIAL_MILLIS;
            let drops = provider.body.trial.take_if(|trial| is_over(trial)).is_some();
            let server_key = seal::server_key(&provider.body.secret);
            let moves = server_key.is_some_and(|key| key != self.0.ports().server_keys.current_id());
            if moves && let Ok(Some(secret)) = provider.secret(self.0) {
                provider.seal_secret(self.0, &secret)?;
            } else if !drops {
                continue;
            }
            self.write(vec![provider.save()?], Vec::new()).await?;
        }
        Ok(())
    }
}

/// The server keys that the secrets of providers' clients are sealed with, one for each secret.
///
/// # Errors
/// When the store fails.
pub async fn server_keys_of_providers(platform: &Platform) -> Result<Vec<String>, ApiError> {
    let providers = People(platform).providers().await?;
    let keys = providers.iter().filter_map(|provider| seal::server_key(&provider.body.secret));
    Ok(keys.map(str::to_owned).collect())
}
