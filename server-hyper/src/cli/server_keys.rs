//! `server-key`: the server keys, and what still needs each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;

use clap::Subcommand;
use openapi_core::access::KeyStatus;
use openapi_core::audit::AuditAction;
use openapi_core::ports::{BlobKey, BlobStore, Clock};
use openapi_core::seal::{HEAD_BYTES, key_of_head};
use openapi_core::values::Timestamp;
use serde::Serialize;

use super::context::CommandContext;
use super::output::optional;
use crate::assemble::{Contents, OpenStore, StoreUrl};
use crate::error::CliError;
use crate::ports::{SystemClock, SystemRandom};
use crate::server_keys::{Entry, KeySource};

/// Documents that one step reads.
const BATCH: u32 = 500;

/// How long visitors' tokens live, which do not name their key. Signed URLs and cursors live shorter.
const TOKEN_LIFE_MILLIS: i64 = 30 * 24 * 3_600_000;

#[derive(Debug, Subcommand)]
pub enum ServerKeyCommand {
    /// List the keys by their ids, the current one first, with the number of things that still need each
    #[command(after_help = "Examples:\n  openapi-server server-key list\n\n\
        Secrets are those of API keys and identity secrets; they move to the current key when they are rotated, as \
        those of webhook endpoints do. Operators are counted for one-time codes and for recovery codes. Files move with `openapi-server files seal`. Documents go when their retention ends. An audit entry verifies only \
        under the key of its time. A key with the use `missing` is needed and not here: restore the copy of it.")]
    List,
    /// Add a new current key; the previous keys continue to verify
    #[command(after_help = "Examples:\n  \
        openapi-server server-key rotate\n\n\
        The secret of an API key is hashed with the server key of its time: it changes to the new one when it is rotated \
        (`openapi-server keys rotate`). Running servers take the new key over within 5 s.")]
    Rotate,
    /// Remove a former key, if nothing needs it any more
    #[command(after_help = "Examples:\n  \
        openapi-server server-key drop \"$SERVER_KEY\"\n\n\
        With --force it removes a key that is still needed. What the key sealed cannot be read any more then, and the \
        secrets that it hashed are refused. Backups are not looked at: they need the keys of their time.")]
    Drop {
        /// The id of the key
        key: String,
        /// Remove it although something needs it
        #[arg(long)]
        force: bool,
    },
}

/// How many things need a server key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Uses {
    secrets: u64,
    webhook_secrets: u64,
    files: u64,
    documents: u64,
    operators: u64,
    tokens: u64,
    providers: u64,
    audit_entries: u64,
}

/// The uses of all server keys of a store, by id.
#[derive(Default)]
struct AllUses {
    by_key: BTreeMap<String, Uses>,
    unsealed_files: u64,
    /// Documents of former releases whose content could not be looked at.
    unknown_documents: u64,
}

/// The printed form of a server key.
#[derive(Serialize)]
struct Shown {
    id: String,
    current: bool,
    /// Whether the store needs the key and it is not here.
    missing: bool,
    made: Option<String>,
    uses: Option<Uses>,
}

impl ServerKeyCommand {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let config = context.config()?;
        let store = StoreUrl::parse(config.store())?;
        let source = store.key_source(&config);
        let (entries, uses) = match self {
            ServerKeyCommand::List => match &source {
                KeySource::File(path) if !path.exists() => {
                    context.info(&format!(
                        "{} is made when a server or a command first needs it",
                        path.display()
                    ));
                    (Vec::new(), None)
                }
                source => {
                    let entries = source.entries(&SystemClock, &SystemRandom)?;
                    let is_there = !matches!(&store, StoreUrl::Sqlite(sqlite) if !sqlite.path.exists());
                    let uses = if is_there {
                        Some(context.run(async { count(context, &context.store().await?).await })?)
                    } else {
                        None
                    };
                    (entries, uses)
                }
            },
            ServerKeyCommand::Rotate => (rotate(context, &source)?, None),
            ServerKeyCommand::Drop { key, force } => (drop_key(context, &source, &key, force)?, None),
        };
        if let Some(AllUses { unsealed_files, unknown_documents, .. }) = uses {
            if unsealed_files > 0 {
                context.info(&format!(
                    "the contents of {unsealed_files} file(s), deleted ones included, are not sealed: `openapi-server files seal` \
                     seals those of the others"
                ));
            }
            if unknown_documents > 0 {
                context.info(&format!(
                    "{unknown_documents} document(s) of a former release are not counted, because their contents cannot be \
                     read here"
                ));
            }
        }
        let shown = shown(&entries, uses.as_ref());
        let heads = [
            "id",
            "use",
            "made",
            "secrets",
            "webhook secrets",
            "files",
            "documents",
            "operators",
            "tokens",
            "providers",
            "audit entries",
        ];
        let heads = if uses.is_some() { &heads[..] } else { &heads[..3] };
        context.print_table(context.json(), &shown, heads, |key| {
            let usage = match key {
                Shown { current: true, .. } => "hashes and verifies",
                Shown { missing: true, .. } => "missing",
                _ => "verifies",
            };
            let mut row = vec![key.id.clone(), usage.to_owned(), optional(key.made.as_ref())];
            if let Some(uses) = key.uses {
                let counts = [
                    uses.secrets,
                    uses.webhook_secrets,
                    uses.files,
                    uses.documents,
                    uses.operators,
                    uses.tokens,
                    uses.providers,
                    uses.audit_entries,
                ];
                row.extend(counts.map(|count| count.to_string()));
            }
            row
        })
    }
}

/// The keys, and after them those that the store needs and that are not here.
fn shown(entries: &[Entry], uses: Option<&AllUses>) -> Vec<Shown> {
    let uses_of = |id: &str| uses.map(|uses| uses.by_key.get(id).copied().unwrap_or_default());
    let mut shown: Vec<Shown> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let id = entry.id();
        let made = entry.made.map(|made| made.to_string());
        shown.push(Shown { uses: uses_of(&id), id, current: at == 0, missing: false, made });
    }
    let known: BTreeSet<String> = entries.iter().map(Entry::id).collect();
    let missing = uses.into_iter().flat_map(|uses| uses.by_key.iter()).filter(|(id, _)| !known.contains(*id));
    shown.extend(missing.map(|(id, uses)| Shown {
        id: id.clone(),
        current: false,
        missing: true,
        made: None,
        uses: Some(*uses),
    }));
    shown
}

/// Adds a key, and notes in the audit log that it was added.
fn rotate(context: &CommandContext, source: &KeySource) -> Result<Vec<Entry>, CliError> {
    // Opens the store first: a key is not added without its entry.
    context.run(async {
        let store = context.store().await?;
        let entries = source.rotate(&SystemClock, &SystemRandom)?;
        let conversations = context.conversations(&store, Contents::Closed)?;
        let resource = entries.first().map(Entry::id).unwrap_or_default();
        let platform = conversations.platform();
        context.note(platform, AuditAction::ServerKeyRotate, None, &resource, []).await?;
        Ok(entries)
    })
}

/// Removes a former key, and notes in the audit log that it was removed.
fn drop_key(
    context: &CommandContext,
    source: &KeySource,
    id: &str,
    force: bool,
) -> Result<Vec<Entry>, CliError> {
    let all = source.entries(&SystemClock, &SystemRandom)?;
    let Some(at) = all.iter().position(|entry| entry.id() == id) else {
        return Ok(source.drop_key(id)?);
    };
    if at == 0 {
        return Ok(source.drop_key(id)?);
    }
    context.run(async {
        let store = context.store().await?;
        let reasons =
            if force { Vec::new() } else { reasons(&count(context, &store).await?, id, &all[at - 1]) };
        if !reasons.is_empty() {
            return Err(CliError::new(format!(
                "the server key {id} is still needed for {}; --force removes it all the same",
                reasons.join("; ")
            )));
        }
        let conversations = context.conversations(&store, Contents::Closed)?;
        let entries = source.drop_key(id)?;
        let details = [("forced", force.into())];
        context.note(conversations.platform(), AuditAction::ServerKeyDrop, None, id, details).await?;
        Ok(entries)
    })
}

/// What needs a key; `newer` is the key that was added after it.
fn reasons(uses: &AllUses, id: &str, newer: &Entry) -> Vec<String> {
    let mut reasons = uses.by_key.get(id).map(Uses::reasons).unwrap_or_default();
    if uses.unknown_documents > 0 {
        reasons.push(format!("perhaps some of {} documents of a former release", uses.unknown_documents));
    }
    if let Some(until) = signs_until(newer) {
        reasons.push(format!("visitors' tokens that it may have signed, until {until}"));
    }
    reasons
}

/// Until when tokens live that were signed with the key before this one; `None` if they are over.
fn signs_until(newer: &Entry) -> Option<Timestamp> {
    let until = newer.made?.plus_millis(TOKEN_LIFE_MILLIS);
    (until > SystemClock.now()).then_some(until)
}

impl Uses {
    /// What needs the key, and what to do about it.
    fn reasons(&self) -> Vec<String> {
        [
            (
                self.secrets,
                "secret(s): rotate the API keys (`keys rotate`) and the identity secrets of agents",
            ),
            (
                self.webhook_secrets,
                "secret(s) of webhook endpoints: `webhooks rotate` each, and wait for the end of the grace",
            ),
            (self.files, "content(s) of files: `files seal`, and `files purge` for deleted files"),
            (self.documents, "document(s): wait for the end of their retention, or `files purge`"),
            (
                self.operators,
                "operators' one-time and recovery codes: each sets them up again under Profile in the console",
            ),
            (self.tokens, "service token(s): use each once, or create another one with `tokens create`"),
            (
                self.providers,
                "secret(s) of providers that operators sign in with: a running console moves them within a minute",
            ),
            (self.audit_entries, "audit entries, which verify under no other key: `audit purge`"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

/// Counts what needs each server key.
async fn count(context: &CommandContext, store: &OpenStore) -> Result<AllUses, CliError> {
    let conversations = context.conversations(store, Contents::Closed)?;
    let (storage, now) = (store.storage(), SystemClock.now());
    let stored = storage.server_key_uses().await?;
    let mut all = AllUses { unsealed_files: stored.unsealed_files, ..AllUses::default() };
    let mut of = |key: &str, add: &dyn Fn(&mut Uses)| add(all.by_key.entry(key.to_owned()).or_default());
    for (key, count) in &stored.files {
        of(key, &|uses| uses.files += count);
    }
    for (key, count) in &stored.audit_entries {
        of(key, &|uses| uses.audit_entries += count);
    }
    // The contents are opened only where a document of a former release does not say which key it needs.
    let mut blobs = None;
    for key in events::webhooks::secret_keys(&*storage, now).await? {
        of(&key, &|uses| uses.webhook_secrets += 1);
    }
    let of_operators = console::server_keys_of_codes(conversations.platform()).await;
    for key in of_operators.map_err(|error| CliError::new(error.message()))? {
        of(&key, &|uses| uses.operators += 1);
    }
    let of_tokens = console::server_keys_of_tokens(conversations.platform()).await;
    for key in of_tokens.map_err(|error| CliError::new(error.message()))? {
        of(&key, &|uses| uses.tokens += 1);
    }
    let of_providers = console::server_keys_of_providers(conversations.platform()).await;
    for key in of_providers.map_err(|error| CliError::new(error.message()))? {
        of(&key, &|uses| uses.providers += 1);
    }
    for agent in storage.agents().await? {
        for stored in storage.keys(&agent.id).await? {
            if stored.key.status == KeyStatus::Revoked {
                continue;
            }
            for secret in stored.secrets.iter().filter(|secret| secret.expires_at.is_none_or(|end| end > now))
            {
                of(&secret.server_key, &|uses| uses.secrets += 1);
            }
        }
        for key in conversations.identity_secret_keys(&agent.id).await? {
            of(&key, &|uses| uses.secrets += 1);
        }
        let mut after = None;
        loop {
            let documents = storage.documents(&agent.id, after, BATCH).await?;
            let Some(last) = documents.last() else { break };
            after = Some(last.id);
            for document in documents {
                let key = match document.server_key {
                    Some(key) => Some(key),
                    None => {
                        let blobs = blobs.get_or_insert_with(|| context.blobs(store).ok());
                        let key = BlobKey::new(agent.id.clone(), document.id);
                        match blobs {
                            Some(blobs) => key_of_content(&**blobs, &key).await,
                            None => None,
                        }
                    }
                };
                match key {
                    Some(key) => of(&key, &|uses| uses.documents += 1),
                    None => all.unknown_documents += 1,
                }
            }
        }
    }
    Ok(all)
}

/// The server key that a content names.
async fn key_of_content(blobs: &dyn BlobStore, key: &BlobKey) -> Option<String> {
    let mut stream = blobs.read(key, 0..HEAD_BYTES as u64).await.ok()?;
    let mut head = Vec::new();
    while let Some(bytes) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await.transpose().ok()? {
        head.extend_from_slice(&bytes);
    }
    key_of_head(&head).map(str::to_owned)
}
